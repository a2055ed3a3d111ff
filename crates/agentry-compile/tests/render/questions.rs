//! What the source asks about is asked by the harness where its ordinary mode asks, and denied where it never
//! asks. What the source denies stays denied in every mode.

use agentry_compile::targets::{LossKind, RenderedAgent, TARGETS};

use crate::{Wish, agent, file, one, rendering, report_of};

/// Asks about everything, as an imported agent without a list of tools does.
const ASKS: &str = "";

/// The file of an agent in each harness, and the tools to change files and to run commands there.
const PLACES: &[(&str, &str, &[&str])] = &[
    ("opencode", ".opencode/agents/helper.md", &["bash: ask", "edit:"]),
    ("claude-code", ".claude/agents/helper.md", &["Bash", "Edit", "Write", "WebFetch"]),
    ("codex", ".codex/agents/helper.toml", &["approval_policy = \"on-request\""]),
    ("gemini", ".gemini/agents/helper.md", &["run_shell_command", "write_file", "replace"]),
    ("copilot", ".github/agents/helper.agent.md", &["execute", "edit"]),
];

/// The text of a file without the tools that it removes.
fn granted(text: &str) -> String {
    let is_grant = |line: &&str| !line.starts_with("disallowedTools");
    text.lines().filter(is_grant).collect::<Vec<_>>().join("\n")
}

fn losses<'a>(rendered: &'a RenderedAgent, kind: LossKind, field: &str) -> Vec<&'a str> {
    let losses = rendered.losses.iter().filter(|it| it.kind == kind && it.field == field);
    losses.map(|loss| loss.detail.as_str()).collect()
}

#[test]
fn an_ask_is_left_to_the_harness_question() {
    for (harness, path, expected) in PLACES {
        for unshared in [true, false] {
            let rendered = one(harness, ASKS, Wish { unshared, ..Wish::default() });
            let text = granted(file(&rendered, path));
            for word in *expected {
                assert!(text.contains(word), "{harness} {word}:\n{text}\n{}", report_of(&rendered));
            }
            // The modes that skip the question are one gap.
            let gaps = losses(&rendered, LossKind::Gap, "permissions");
            let modes = gaps.iter().filter(|it| it.contains("in its ordinary mode")).count();
            assert_eq!(modes, 1, "{harness}: {gaps:?}");
        }
    }
}

#[test]
fn unattended_renders_an_ask_as_deny() {
    for (harness, path, kept) in PLACES {
        let wish = Wish { unattended: true, unshared: true, ..Wish::default() };
        let rendered = one(harness, ASKS, wish);
        let text = granted(file(&rendered, path));
        for word in kept.iter().filter(|word| **word != "edit:") {
            assert!(!text.contains(word), "{harness} {word}:\n{text}");
        }
        assert!(!text.contains(": ask"), "{harness}:\n{text}");
        assert!(report_of(&rendered).contains("`--unattended`"), "{}", report_of(&rendered));
    }
}

#[test]
fn a_harness_without_questions_drops_ask_tools() {
    let rendered = one("pi", ASKS, Wish::default());
    let text = file(&rendered, ".pi/agents/helper.md");
    assert!(text.contains("tools: read, grep, find, ls\n"), "{text}");
    let report = report_of(&rendered);
    assert!(report.contains("gap permissions.read: "), "{report}");
    let accepted = &["permissions.bash", "permissions.edit"];
    let rendered = one("pi", ASKS, Wish { accepted, ..Wish::default() });
    let text = file(&rendered, ".pi/agents/helper.md");
    assert!(text.contains("tools: read, grep, find, ls, bash, edit, write\n"), "{text}");
    assert!(rendered.losses.iter().all(|loss| loss.field != "permissions.bash"));
    let known = rendered.accepted.iter().find(|loss| loss.field == "permissions.bash");
    assert!(known.is_some_and(|it| it.detail.contains("never asks")), "{:?}", rendered.accepted);
    // A denial stays a wall.
    let denies = "[permissions.bash]\nintent = \"ask\"\nrules = [\"rm *:deny\"]\n";
    let rendered = one("pi", denies, Wish { accepted, ..Wish::default() });
    let text = file(&rendered, ".pi/agents/helper.md");
    assert!(text.contains("tools: read, grep, find, ls, edit, write\n"), "{text}");
    // Codex runs commands in its sandbox without a question.
    let path = ".codex/agents/helper.toml";
    let has_shell = |lines: &str, accepted| {
        let rendered = one("codex", lines, Wish { accepted, ..Wish::default() });
        !file(&rendered, path).contains("shell_tool = false")
    };
    assert!(!has_shell(ASKS, &[]));
    assert!(has_shell(ASKS, &["permissions.bash"]));
    let all = "[permissions.bash]\nintent = \"ask\"\nrules = [\"**rm**:deny\"]\n";
    assert!(!has_shell(all, &["permissions.bash"]));
    // Searching the web is never asked about in Codex and Gemini either.
    for (harness, path, on) in [
        ("codex", ".codex/agents/helper.toml", "web_search = \"cached\""),
        ("gemini", ".gemini/agents/helper.md", "google_web_search"),
    ] {
        let plain = one(harness, ASKS, Wish::default());
        assert!(!file(&plain, path).contains(on), "{harness}");
        let accepted = &["permissions.websearch"];
        let kept = one(harness, ASKS, Wish { accepted, ..Wish::default() });
        assert!(file(&kept, path).contains(on), "{harness}:\n{}", file(&kept, path));
    }
}

#[test]
fn commands_that_a_harness_runs_unasked_are_a_gap() {
    for harness in ["claude-code", "gemini"] {
        let rendered = one(harness, ASKS, Wish { unshared: true, ..Wish::default() });
        let gaps = losses(&rendered, LossKind::Gap, "permissions.bash");
        assert!(gaps.iter().any(|it| it.contains("`ls` is ask")), "{harness}: {gaps:?}");
        let denies = "[permissions.bash]\nintent = \"ask\"\nrules = [\"ls *:deny\"]\n";
        let rendered = one(harness, denies, Wish { unshared: true, ..Wish::default() });
        let text = granted(rendered.files.first().map_or("", |it| it.text()));
        let has_shell = ["Bash", "run_shell_command"].iter().any(|tool| text.contains(tool));
        assert!(!has_shell, "{harness}:\n{text}");
    }
}

/// A manifest with this trust and these further lines.
fn manifest(trust: &str, more: &str) -> Vec<(String, String)> {
    let text = format!(
        "apiVersion: agent/v1\nname: helper\nversion: 1.0.0\ndescription: Answers questions\n\
         trust: {trust}\n{more}"
    );
    vec![
        ("agents/helper/agent.yaml".to_owned(), text),
        ("agents/helper/SOUL.md".to_owned(), "You answer questions.\n".to_owned()),
    ]
}

const SHELLS: &[(&str, &[&str])] = &[
    ("opencode", &["bash: allow", "bash: ask"]),
    ("claude-code", &["Bash"]),
    ("pi", &["bash"]),
    ("copilot", &["execute"]),
    ("gemini", &["run_shell_command"]),
];

#[test]
fn sandboxed_exec_gives_no_shell_without_a_sandbox() {
    let files = manifest("{filesystem: full, network: allowed, exec: sandboxed}", "");
    let full = manifest("{filesystem: full, network: allowed, exec: full}", "");
    for (harness, words) in SHELLS {
        let main = |files: &[(String, String)], guard: bool| {
            let wish = Wish { unshared: true, guard, ..Wish::default() };
            let rendered = rendering(harness, files, wish).agents.remove(0);
            let own = rendered.files.iter().find(|it| it.path.contains("agents/helper"));
            let text = granted(own.map_or("", |it| it.text()));
            let tools = text.lines().filter(|line| !line.starts_with("excludeTools"));
            (tools.collect::<Vec<_>>().join("\n"), report_of(&rendered))
        };
        let has = |text: &str| words.iter().any(|word| text.contains(word));
        let (text, report) = main(&files, false);
        assert!(!has(&text), "{harness}:\n{text}");
        assert!(report.contains("only in Agentry's sandbox"), "{harness}:\n{report}");
        assert!(has(&main(&full, false).0), "{harness}");
        // Only the hook of Claude Code can start a command in the sandbox.
        let (text, report) = main(&files, true);
        let wraps = *harness == "claude-code";
        assert_eq!(has(&text), wraps, "{harness}:\n{text}");
        assert_eq!(report.contains("only in Agentry's sandbox"), !wraps, "{harness}:\n{report}");
    }
}

#[test]
fn the_trait_ask_before_writing_grants_no_tool() {
    let traits = "behavior: {persona: helper, traits: [ask-before-writing]}\n";
    let plain = "behavior: {persona: helper}\n";
    let trusts = [
        "{filesystem: none, network: none, exec: none}",
        "{filesystem: read-only, network: none, exec: none}",
        "{filesystem: full, network: allowed, exec: full}",
    ];
    let tools = ["Skill", "Agent", "Bash", "agent", "execute", "edit", "web", "bash", "todo"];
    for trust in trusts {
        for harness in ["opencode", "claude-code", "pi", "codex", "gemini", "copilot"] {
            let text = |more: &str| {
                let files = manifest(trust, more);
                let rendered = rendering(harness, &files, Wish::default()).agents.remove(0);
                let own = rendered.files.iter().find(|it| it.path.contains("agents/helper"));
                own.map_or(String::new(), |it| granted(it.text()))
            };
            let (with, without) = (text(traits), text(plain));
            for tool in tools {
                let has = |text: &str| {
                    let tools = text.lines().find(|line| line.starts_with("tools:"));
                    let mut words = tools.unwrap_or_default().split([' ', ',', '[', ']', ':']);
                    words.any(|word| word == tool)
                };
                assert!(!has(&with) || has(&without), "{harness} {trust} {tool}:\n{with}");
            }
        }
    }
}

#[test]
fn required_variables_need_the_guard_or_acceptance() {
    let text = "---\ntitle: Helper\nversion: \"1.0.0\"\nrequired:\n  env: [TOKEN]\n---\n\
                # Helper\n\nAnswers questions.\n\n## System\n\nYou answer.\n";
    let files = vec![("agents/tools_helper.agent.md".to_owned(), text.to_owned())];
    for target in TARGETS {
        let render = |wish| rendering(target.name, &files, wish).agents.remove(0);
        let refused = render(Wish::default()).refused.expect(target.name);
        assert_eq!(refused.field, "required");
        let accepted = render(Wish { accepted: &["required"], ..Wish::default() });
        assert_eq!(accepted.refused, None, "{}", target.name);
        assert!(accepted.accepted.iter().any(|it| it.field == "required"), "{}", target.name);
        let guarded = render(Wish { guard: true, ..Wish::default() });
        let is_checked = target.guard.is_some();
        assert_eq!(
            guarded.refused.is_none(),
            is_checked,
            "{}: {}",
            target.name,
            report_of(&guarded)
        );
        assert!(guarded.losses.iter().all(|it| it.field != "required"), "{}", target.name);
    }
}

/// The guard runs no tool, so it would deny every call of an agent with a start-up tool.
#[test]
fn a_start_up_tool_is_refused_with_the_guard() {
    let text = "---\ntitle: Helper\nversion: \"1.0.0\"\nrequired:\n  startup: ping\n---\n\
                # Helper\n\nAnswers questions.\n\n## System\n\nYou answer.\n\n## Tools\n\n```js\n\
                const scheme = {name: 'ping', description: 'Pings.', parameters: {type: 'object', \
                properties: {}}};\nreturn {ping: {fn: () => true, scheme}};\n```\n";
    let files = vec![("agents/tools_helper.agent.md".to_owned(), text.to_owned())];
    for target in TARGETS {
        for (guard, accepted, is_refused) in [
            (false, &[][..], true),
            (true, &[], true),
            (false, &["required"], false),
            (true, &["required"], target.guard.is_some()),
        ] {
            let wish = Wish { guard, accepted, ..Wish::default() };
            let rendered = rendering(target.name, &files, wish).agents.remove(0);
            let refused = rendered.refused.as_ref().map(|it| it.field.as_str());
            let name = target.name;
            assert_eq!(refused, is_refused.then_some("required"), "{name} {guard} {accepted:?}");
        }
    }
}

#[test]
fn a_description_with_both_quotes_is_written_for_pi() {
    let mut files = agent("helper", "");
    for (_, text) in &mut files {
        *text = text.replace("\"Answers questions\"", r#""Say \"it's: x\" # or not""#);
    }
    let rendered = rendering("pi", &files, Wish::default()).agents.remove(0);
    let text = file(&rendered, ".pi/agents/helper.md");
    assert!(text.contains("description: >-\n  Say \"it's: x\" # or not\n"), "{text}");
}
