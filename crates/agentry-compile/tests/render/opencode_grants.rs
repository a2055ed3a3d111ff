//! An imported OpenCode agent gets its original `permission` and `tools` back if the rendered ones would mean
//! something else, but never anything that its definition denies.

use crate::back::{definition, imported};
use crate::{GUARD, Wish, one, rendering, report_of};

const PATH: &str = ".opencode/agents/x.md";

fn definition_of(lines: &str) -> Vec<(String, String)> {
    let text = format!("---\ndescription: d\n{lines}\n---\nHi.\n");
    definition(&imported("opencode", &[(PATH, &text)], PATH).expect("an agent"))
}

fn rendered(files: &[(String, String)], wish: Wish<'_>) -> String {
    let rendered = rendering("opencode", files, wish).agents.remove(0);
    assert_eq!(rendered.refused, None, "{files:?}");
    rendered.files[0].text().to_owned()
}

#[test]
fn original_grants_are_restored_where_rendering_differs() {
    let cases = [
        // OpenCode itself asks about `.env`, and about repeated identical calls.
        ("permission:\n  read: allow", true),
        ("permission:\n  \"*\": allow", true),
        ("permission:\n  doom_loop: allow", true),
        ("permission:\n  plan_enter: allow", true),
        ("permission:\n  grep: ask", true),
        ("tools:\n  plan_exit: true", true),
        ("permission:\n  bash: ask\n  edit: deny", false),
        ("permission:\n  bash:\n    \"*\": ask\n    git *: allow\n    git push*: deny", false),
        ("permission:\n  edit:\n    \"*\": deny\n    src/*: allow\n    src/a*b: ask", false),
        ("tools:\n  write: false\n  bash: false", false),
        ("permission: deny", false),
    ];
    for (lines, is_kept) in cases {
        let files = definition_of(&format!("mode: primary\n{lines}"));
        assert_eq!(files[0].1.contains("as-written"), is_kept, "{lines}\n{}", files[0].1);
        let text = rendered(&files, Wish::default());
        let block = text.split("mode: primary\n").nth(1).and_then(|it| it.split("---").next());
        assert_eq!(block.map(str::trim_end) == Some(lines), is_kept, "{lines}\n{text}");
    }
}

/// A subagent may start agents or write a to-do list only if a rule has exactly that key.
#[test]
fn a_subagent_gets_task_and_todo_only_by_exact_rules() {
    let (deny, allow) = ("deny", "allow");
    let cases = [
        ("mode: subagent", deny, "\n  task: deny\n", deny),
        ("mode: subagent\npermission:\n  \"*\": allow", deny, "", deny),
        ("mode: subagent\npermission:\n  edit: deny", deny, "\n  task: deny\n", deny),
        ("mode: subagent\npermission:\n  task: allow", allow, "\n  task: allow\n", deny),
        ("mode: subagent\npermission:\n  todowrite: ask", deny, "\n  task: deny\n", "ask"),
        ("mode: subagent\ntools:\n  task: true", allow, "\n  task: allow\n", deny),
        ("mode: primary", allow, "\n  task: allow\n", allow),
        // Neither the original nor the result mentions it.
        ("mode: all", allow, "", allow),
        ("permission:\n  edit: deny", allow, "", allow),
        ("permission:\n  \"*\": deny", deny, "\n  task: deny\n", deny),
    ];
    for (lines, delegate, back, todos) in cases {
        let files = definition_of(lines);
        let intent = format!("[permissions.delegate]\nintent = \"{delegate}\"\n");
        assert!(files[0].1.contains(&intent), "{lines}\n{}", files[0].1);
        let rule = (todos != allow).then(|| format!("\"todowrite:{todos}\""));
        let tools = files[0].1.split("[permissions.tool]\n").nth(1).expect("tools");
        let tools = tools.split("\n[").next().expect("a section");
        let is_listed = rule.as_ref().is_none_or(|rule| tools.contains(rule));
        assert!(is_listed || tools.starts_with("intent = \"deny\""), "{lines}\n{tools}");
        let text = rendered(&files, Wish::default());
        match back {
            "" => assert!(!text.contains("task"), "{lines}\n{text}"),
            back => assert!(text.contains(back), "{lines}\n{text}"),
        }
    }
}

/// The last rule counts, and a definition may put single verdicts before maps.
#[test]
fn the_original_order_of_rules_is_restored() {
    let lines = "permission:\n  bash:\n    git *: ask\n  \"*\": allow\n  edit:\n    src/*: ask\n  doom_loop: deny";
    let text = rendered(&definition_of(lines), Wish::default());
    assert!(text.contains(lines), "{text}");
}

#[test]
fn later_denials_hold_beside_restored_original_grants() {
    let mut files = definition_of("permission:\n  \"*\": allow\n  read: allow");
    let (from, to) =
        ("[permissions.bash]\nintent = \"allow\"", "[permissions.bash]\nintent = \"deny\"");
    assert!(files[0].1.contains(from), "{}", files[0].1);
    files[0].1 = files[0].1.replace(from, to);
    let text = rendered(&files, Wish::default());
    for line in ["  bash: deny\n", "  read: allow\n", "  doom_loop: allow\n"] {
        assert!(text.contains(line), "{line}{text}");
    }
    // Keys that are not tools are restored too, if tools have the verdict `ask`.
    let mut asks = definition_of("permission:\n  \"*\": ask\n  doom_loop: deny\n  bash: allow");
    asks[0].1 = asks[0].1.replace(from, to);
    let text = rendered(&asks, Wish::default());
    assert!(text.contains("  bash: deny\n") && text.contains("  doom_loop: deny\n"), "{text}");
    // Changed to `ask` since: only the definition counts, and a loss is reported.
    files[0].1 = files[0].1.replace(to, "[permissions.bash]\nintent = \"ask\"");
    let rendered = rendering("opencode", &files, Wish::default()).agents.remove(0);
    let text = rendered.files[0].text();
    assert!(text.contains("  bash: ask\n") && text.contains("\"*.env\": ask"), "{text}");
    assert!(
        report_of(&rendered).contains("x-harness.opencode.as-written"),
        "{}",
        report_of(&rendered)
    );
}

#[test]
fn guard_and_close_gaps_write_no_original_grants() {
    let files = definition_of("permission:\n  read: allow\n  doom_loop: allow");
    for wish in [GUARD, Wish { close_gaps: true, ..Wish::default() }] {
        let text = rendered(&files, wish);
        assert!(text.contains("doom_loop: ask") && !text.contains("read: allow"), "{text}");
    }
}

/// Definitions that try to gain more than they declare, or files that OpenCode refuses to load.
#[test]
fn forged_original_grants_give_nothing() {
    let denies = "[permissions.bash]\nintent = \"deny\"\n[permissions.edit]\nintent = \"ask\"\n";
    let cases = [
        ("permission = \"allow\"", "\"*\": allow\n---"),
        ("permission = {bash = \"allow\"}", "bash: allow"),
        ("permission = {\"b*\" = \"allow\"}", "b*"),
        ("permission = {edit = \"allow\"}", "edit: allow"),
        ("tools = {bash = true}", "tools:"),
        ("permission = {question = {x = \"allow\"}}", "x: allow"),
        ("permission = {bash = {\"1\" = \"allow\"}}", "1: allow"),
        ("permission = {bash = \"yes\"}", "yes"),
        ("permission = [\"bash\"]", "- bash"),
        ("permission = 5", "permission: 5"),
        ("tools = [\"bash\"]", "tools:"),
    ];
    for (words, never) in cases {
        let lines = format!("{denies}[x-harness.opencode.as-written]\n{words}\n");
        let rendered = one("opencode", &lines, Wish::default());
        assert_eq!(rendered.refused, None, "{lines}");
        let text = rendered.files[0].text();
        assert!(text.contains("bash: deny") && text.contains("edit: ask"), "{words}\n{text}");
        assert!(!text.contains(never), "{never}\n{text}");
    }
}

#[test]
fn original_provider_options_are_restored() {
    let lines = "reasoningEffort: high\ntextVerbosity: low\nfallback_models: [a/b, c/d]\nthinking:\n  type: enabled\n  budgetTokens: 16000\noptions:\n  store: false";
    let text = rendered(&definition_of(lines), Wish::default());
    assert!(text.contains(lines), "{text}");
    let hostile = "[x-harness.opencode.fields]\npermission = \"allow\"\ntools = {bash = true}\nmode = \"primary\"\nname = \"build\"\ndisable = true\nprompt = \"x\"\neffort = \"low\"\n[permissions.bash]\nintent = \"deny\"\n";
    let text = one("opencode", hostile, Wish::default()).files[0].text().to_owned();
    for never in ["tools", "primary", "name: build", "disable", "prompt", "permission: allow"] {
        assert!(!text.contains(never), "{never}\n{text}");
    }
    assert!(text.contains("effort: low\n") && text.contains("  bash: deny\n"), "{text}");
}
