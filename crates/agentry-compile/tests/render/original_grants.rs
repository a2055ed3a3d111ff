//! An imported agent gets its original grants back where a definition can only ask. It never gets more: what
//! the definition denies stays denied, and original grants that contradict the definition are ignored.

use agentry_compile::policy::{Action, RuleList, Section};
use agentry_compile::targets::memo::RenderMemo;
use agentry_compile::targets::proof::{PolicyProof, within};
use agentry_compile::targets::{
    HarnessTool, LossKind, ProjectRendering, RenderSubject, RenderedAgent, target,
};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::{Config, TestRunner};

use crate::back::{definition, imported};
use crate::policies::cases;
use crate::property::read_back;
use crate::{GUARD, Wish, file, one, rendering, report_of, subjects};

const COPILOT: &str = ".github/agents/helper.agent.md";
const WRITTEN: &str =
    "---\nname: helper\ndescription: d\ntools: [read, edit, execute, agent]\n---\nHi.\n";

/// The definition of an imported Copilot agent, with one text changed.
fn changed(from: &str, to: &str) -> Vec<(String, String)> {
    let found = imported("copilot", &[(COPILOT, WRITTEN)], COPILOT).expect("an agent");
    let mut files = definition(&found);
    let (_, text) = files.iter_mut().find(|(path, _)| path.ends_with("agent.toml")).expect("it");
    assert!(text.contains(from), "{text}");
    *text = text.replace(from, to);
    files
}

/// The rendered list of tools for Copilot.
fn tools(files: &[(String, String)], wish: Wish<'_>) -> String {
    let rendered = rendering("copilot", files, wish).agents.remove(0);
    let lines = file(&rendered, COPILOT).lines().skip_while(|line| !line.starts_with("tools:"));
    let mut lines = lines.take_while(|line| line.starts_with("tools:") || line.starts_with("  - "));
    let first = lines.next().expect("a list").to_owned();
    let items: Vec<&str> = lines.filter_map(|line| line.strip_prefix("  - ")).collect();
    if items.is_empty() { first } else { format!("{first} [{}]", items.join(", ")) }
}

#[test]
fn restored_tools_that_run_unasked_are_a_gap() {
    let rendered = rendering("copilot", &changed("", ""), Wish::default()).agents.remove(0);
    assert!(file(&rendered, COPILOT).contains("tools: [read, edit, execute, agent]"));
    let report = report_of(&rendered);
    // Copilot asks about commands and changes, but not about other agents.
    let expected = "gap permissions.delegate: as it was written: `reviewer` is ask in the source and not \
                    asked about in GitHub Copilot";
    assert!(report.contains(expected), "{report}");
    assert!(
        report.contains("gap permissions: GitHub Copilot asks in its ordinary mode"),
        "{report}"
    );
    assert!(!report.contains("narrowed permissions"), "{report}");
}

#[test]
fn guard_and_close_gaps_write_no_original_grants() {
    let files = changed("", "");
    assert_eq!(tools(&files, Wish { close_gaps: true, ..Wish::default() }), "tools: []");
    assert_eq!(tools(&files, GUARD), "tools: [execute, read, edit]");
}

#[test]
fn original_grants_hold_while_the_definition_agrees() {
    let own = "tools: [read, edit, execute, agent]";
    let bash = |action: &str| format!("[permissions.bash]\nintent = \"{action}\"");
    let edit = |action: &str| format!("[permissions.edit]\nintent = \"{action}\"");
    let read = |action: &str| format!("[permissions.read]\nintent = \"{action}\"");
    let question = |action: &str| format!("[permissions.question]\nintent = \"{action}\"");
    let rule = |rule: &str| format!("{}\nrules = [\"{rule}\"]", bash("ask"));
    let cases = [
        (String::new(), String::new(), own),
        // Denied since: the others stay.
        (bash("ask"), bash("deny"), "tools: [read, edit, agent]"),
        (edit("ask"), edit("deny"), "tools: [read, execute, agent]"),
        (read("allow"), read("deny"), "tools: [edit, execute, agent]"),
        (bash("ask"), rule("rm *:deny"), "tools: [read, edit, agent]"),
        // Changed to `ask` since: only the definition counts. Copilot asks about commands anyway.
        (read("allow"), read("ask"), "tools: [execute, edit]"),
        (bash("ask"), rule("ls *:allow"), own),
        // Unrelated to the original grants.
        (bash("ask"), bash("allow"), own),
        (question("deny"), question("ask"), own),
        // The same meaning, written differently.
        (bash("ask"), rule("rm *:ask"), own),
    ];
    for (from, to, expected) in cases {
        assert_eq!(tools(&changed(&from, &to), Wish::default()), expected, "{to}");
    }
}

/// One tool that Claude Code would not limit to its list does not remove the others, and no second list
/// below it undoes the first.
#[test]
fn a_tool_that_cannot_be_restored_keeps_the_others() {
    let path = ".claude/agents/helper.md";
    let settings = r#"{"permissions": {"allow": ["Bash(git log:*)"], "deny": ["Bash(rm:*)"]}}"#;
    let text = "---\nname: helper\ndescription: d\ntools: Read, Grep, Bash(git diff:*), Agent(x)\n---\nHi.\n";
    let around = [(".claude/settings.json", settings), (path, text)];
    let found = imported("claude-code", &around, path).expect("an agent");
    let wish = Wish { existing: &[(".claude/settings.json", settings)], ..Wish::default() };
    let rendered = rendering("claude-code", &definition(&found), wish).agents.remove(0);
    let lines = file(&rendered, path).lines().filter(|line| line.contains("ools:"));
    assert_eq!(lines.collect::<Vec<_>>(), ["tools: Read, Grep, Bash(git diff:*)"]);
    let report = report_of(&rendered);
    assert!(report.contains("of `tools`, `Agent(x)` may do what is denied"), "{report}");
    assert!(!report.contains("narrowed permissions.bash"), "{report}");
}

/// Definitions that try to gain more than they declare.
#[test]
fn forged_original_grants_never_lift_a_denial() {
    let asks = "[permissions.bash]\nintent = \"ask\"\n[permissions.edit]\nintent = \"ask\"\n";
    let denies = "[permissions.bash]\nintent = \"deny\"\n[permissions.edit]\nintent = \"deny\"\n";
    let cases = [
        ("copilot", denies, "tools = [\"execute\", \"edit\"]", ["execute", "edit"]),
        ("copilot", denies, "tools = [\"runCommands\", \"Write\"]", ["runCommands", "Write"]),
        ("copilot", denies, "tools = [\"*\"]", ["execute", "\"*\""]),
        ("claude-code", denies, "tools = \"Bash, Edit\"", ["tools: Bash", "tools: Edit"]),
        ("claude-code", denies, "tools = \"PowerShell\"", ["tools: PowerShell", "tools: Power"]),
        (
            "claude-code",
            asks,
            "permissionMode = \"bypassPermissions\"",
            ["bypass", "permissionMode"],
        ),
        ("codex", asks, "sandbox_mode = \"danger-full-access\"", ["danger", "full-access"]),
        (
            "codex",
            asks,
            "sandbox_mode = \"workspace-write\"\nsandbox_workspace_write = {network_access = true}",
            ["network", "access"],
        ),
        (
            "codex",
            denies,
            "approval_policy = \"never\"\nfeatures = {x = true}",
            ["x = true", "[features]\nx"],
        ),
        ("gemini", denies, "tools = [\"run_shell_command\"]", ["run_shell", "- run_shell"]),
        ("pi", denies, "tools = \"bash, write, ./x.ts\"", ["bash,", "x.ts"]),
        ("pi", denies, "output = \"/etc/passwd\"", ["output", "passwd"]),
    ];
    for (harness, lines, words, never) in cases {
        let lines = format!("{lines}[x-harness.{harness}.as-written]\n{words}\n");
        let rendered = one(harness, &lines, Wish::default());
        assert_eq!(rendered.refused, None, "{lines}");
        let text = rendered.files[0].text();
        for never in never {
            assert!(!text.contains(never), "{never}\n{text}");
        }
    }
}

/// All sections denied, except these.
fn denying(but: &[(&str, &str)]) -> String {
    let action =
        |section: &str| but.iter().find(|(known, _)| *known == section).map_or("deny", |it| it.1);
    let section = |section: &Section| {
        format!("[permissions.{section}]\nintent = \"{}\"\n", action(section.as_str()))
    };
    Section::ALL.iter().map(section).collect()
}

/// A harness, what is not denied, original grants, and what they must not grant.
type Forged = (&'static str, &'static [(&'static str, &'static str)], &'static str, &'static str);

/// Ways around a denial that a reader of the harness's code would try.
#[test]
fn original_grants_with_side_effects_are_ignored() {
    let reads = &[("read", "allow"), ("external_directory", "ask")][..];
    let fetches = &[("read", "allow"), ("external_directory", "ask"), ("webfetch", "ask")][..];
    let all = &[
        ("read", "allow"),
        ("external_directory", "ask"),
        ("edit", "ask"),
        ("bash", "ask"),
        ("webfetch", "ask"),
        ("websearch", "ask"),
        ("delegate", "ask"),
        ("mcp", "ask"),
    ][..];
    let cases: &[Forged] = &[
        // Tools that come with others, and have no rules.
        ("claude-code", &[], "tools = \"Monitor\"", "tools: Monitor"),
        ("claude-code", reads, "tools = \"Read, Monitor, MultiEdit\"", "tools: Read, Monitor"),
        ("claude-code", &[], "tools = \"Monitor(x) Bash Edit Write\"", "tools: Monitor"),
        // Text in brackets is parsed in more than one way.
        ("claude-code", fetches, "tools = \"Read, WebFetch(x) Bash\"", "WebFetch(x)"),
        ("claude-code", fetches, "tools = \"Read, WebFetch((a), Bash, x)\"", "WebFetch("),
        ("claude-code", fetches, "tools = \"Read, WebFetch(\\n\\u0007x: y)\"", "WebFetch("),
        ("claude-code", reads, "tools = [\"Read\", [\"Bash\"], 5]", "- Bash"),
        // `every tool` is more than the known ones.
        ("copilot", all, "tools = [\"*\"]", "\"*\""),
        ("gemini", all, "tools = [\"*\"]", "\"*\""),
        // Unknown names, or tools that run any command.
        ("copilot", reads, "tools = [\"read\", \"run_in_terminal\"]", "run_in_terminal"),
        ("copilot", reads, "tools = [\"read\", \"vscode/runCommand\"]", "runCommand"),
        ("copilot", reads, "tools = [\"read\", \"vscode\"]", "vscode"),
        ("copilot", reads, "tools = [\"read\", \"runTests\"]", "runTests"),
        ("copilot", &[], "tools = [[\"execute\"]]", "execute"),
        ("copilot", reads, "tools = [\"read\", 5, {\"k\\n\" = \"v\"}]", "k"),
        ("copilot", all, "\"no words\" = 1", "questions\n---"),
        // Behind a link, a project file lies elsewhere.
        ("pi", &[("read", "allow"), ("edit", "allow")], "output = \"link/passwd\"", "output: link"),
    ];
    for (harness, but, words, never) in cases {
        let tool = "[permissions.tool]\nintent = \"deny\"\nrules = [\"run_in_terminal:ask\"]\n";
        let named = denying(but).replace("[permissions.tool]\nintent = \"deny\"\n", tool);
        for lines in [denying(but), named] {
            let lines = format!("{lines}[x-harness.{harness}.as-written]\n{words}\n");
            let rendered = one(harness, &lines, Wish::default());
            assert_eq!(rendered.refused, None, "{lines}");
            let text = rendered.files[0].text();
            assert!(!text.contains(never), "{never}\n{text}");
        }
    }
}

/// What the file of a Codex agent omits, its parent session decides.
#[test]
fn omitted_codex_fields_are_decided_by_the_session() {
    let edit = "[permissions.edit]\nintent = \"ask\"\nrules = [\"/etc/**:deny\"]\n";
    let but = [
        ("read", "allow"),
        ("external_directory", "allow"),
        ("websearch", "allow"),
        ("skill", "allow"),
    ];
    let lines = denying(&but).replace("[permissions.edit]\nintent = \"deny\"\n", edit);
    for words in ["", "approval_policy = \"never\"\n"] {
        let lines = format!("{lines}[x-harness.codex.as-written]\n{words}");
        let rendered = one("codex", &lines, Wish::default());
        assert!(
            file(&rendered, ".toml").contains("sandbox_mode = "),
            "{}",
            rendered.files[0].text()
        );
    }
    let edit = "[permissions.edit]\nintent = \"allow\"\nrules = [\"/var/**:deny\"]\n";
    let lines = denying(&but).replace("[permissions.edit]\nintent = \"deny\"\n", edit);
    let lines = format!(
        "{lines}[x-harness.codex.as-written]\nsandbox_mode = \"workspace-write\"\n\
         sandbox_workspace_write = {{exclude_slash_tmp = true, exclude_tmpdir_env_var = false}}\n"
    );
    let rendered = one("codex", &lines, Wish::default());
    assert!(!file(&rendered, ".toml").contains("env_var = false"), "{}", rendered.files[0].text());
}

/// Copilot asks about the tools of servers. What Claude Code gives to an agent with memory is reported.
#[test]
fn extra_ways_of_restored_grants_are_reported() {
    let text = "---\nname: helper\ndescription: d\ntools: [read, 'alpha/*', 'beta/*']\n---\nHi.\n";
    let files = definition(&imported("copilot", &[(COPILOT, text)], COPILOT).expect("an agent"));
    let rendered = rendering("copilot", &files, Wish::default()).agents.remove(0);
    for server in ["alpha/*", "beta/*"] {
        assert!(file(&rendered, COPILOT).contains(server), "{}", file(&rendered, COPILOT));
    }
    assert!(report_of(&rendered).contains("asks in its ordinary mode"), "{}", report_of(&rendered));
    let memory =
        "---\nname: helper\ndescription: d\ntools: Read, Edit, Write\nmemory: user\n---\nHi.\n";
    let path = ".claude/agents/helper.md";
    let files = definition(&imported("claude-code", &[(path, memory)], path).expect("an agent"));
    let rendered = rendering("claude-code", &files, Wish::default()).agents.remove(0);
    assert!(file(&rendered, path).contains("memory: user"));
    let report = crate::report_of(&rendered);
    assert!(report.contains("/.claude/agent-memory"), "{report}");
}

/// Lists of tools that VS Code writes into new files, and those of older files.
#[test]
fn vs_code_tool_lists_are_restored_whole() {
    for tools in [
        "['vscode', 'execute', 'read', 'agent', 'edit', 'search', 'web', 'todo']",
        "['changes', 'codebase', 'editFiles', 'fetch', 'problems', 'runCommands', 'search', 'vscodeAPI']",
        "['read', 'todo', 'problems', 'think']",
    ] {
        let text = format!("---\nname: helper\ndescription: d\ntools: {tools}\n---\nHi.\n");
        let files =
            definition(&imported("copilot", &[(COPILOT, &text)], COPILOT).expect("an agent"));
        assert_eq!(tools_of(&files), tools.replace('\'', ""), "{tools}");
    }
    // A grant that is not restored does not widen the name for the rest.
    let text =
        "---\ndescription: d\ntools: ['search/codebase', 'problems', 'secret_tool']\n---\nHi.\n";
    let files = definition(&imported("copilot", &[(COPILOT, text)], COPILOT).expect("an agent"));
    assert_eq!(tools_of(&files), "[search/codebase, problems]");
}

fn tools_of(files: &[(String, String)]) -> String {
    tools(files, Wish::default()).trim_start_matches("tools: ").to_owned()
}

#[test]
fn malformed_original_grants_are_ignored() {
    let long = format!("tools = [{}]", "\"edit\", \"Read\", ".repeat(5_000));
    let values = [
        "as-written = 1",
        "as-written = \"tools\"",
        "as-written = [\"tools\"]",
        "[x-harness.H.as-written]\ntools = 5",
        "[x-harness.H.as-written]\ntools = {a = {b = {c = []}}}",
        "[x-harness.H.as-written]\ntools = [[\"execute\"]]",
        "[x-harness.H.as-written]\ntools = [\"edit\\n---\\nhooks: x\"]",
        "[x-harness.H.as-written]\ntools = \"Read\\npermissionMode: bypassPermissions\"",
        "[x-harness.H.as-written]\nname = \"other\"\nhooks = {PreToolUse = []}",
        &format!("[x-harness.H.as-written]\n{long}"),
    ];
    for harness in ["copilot", "claude-code", "codex", "gemini", "pi"] {
        let plain = one(harness, "", Wish::default());
        for value in values {
            let head = if value.starts_with('[') { "" } else { "[x-harness.H]\n" };
            let lines =
                format!("{head}{value}\n").replace("x-harness.H", &format!("x-harness.{harness}"));
            let rendered = one(harness, &lines, Wish::default());
            assert_eq!(rendered.refused, None, "{harness} {value:.80}");
            assert_eq!(rendered.files, plain.files, "{harness} {value:.80}");
        }
    }
}

/// Two agents that share settings: if one cannot get its original grants beside the other, it is rendered
/// without them, and not refused.
#[test]
fn conflicting_original_grants_are_dropped_not_refused() {
    let text =
        |name: &str, more: &str| format!("---\nname: {name}\ndescription: d\n{more}---\nHi.\n");
    let (open, shut) = (text("open", ""), text("shut", "disallowedTools: Bash\n"));
    let files =
        [(".claude/agents/open.md", open.as_str()), (".claude/agents/shut.md", shut.as_str())];
    let both =
        files.map(|(path, _)| definition(&imported("claude-code", &files, path).expect("it")));
    let rendering = rendering("claude-code", &both.concat(), Wish::default());
    for (rendered, tools) in rendering.agents.iter().zip(["", "Bash"]) {
        assert_eq!(rendered.refused, None);
        let text = rendered.files[0].text();
        assert!(!text.contains("\ntools:"), "{text}");
        assert_eq!(
            text.contains(&format!("disallowedTools: {tools}")),
            !tools.is_empty(),
            "{text}"
        );
    }
}

/// What the user's settings allow beyond the original grants is still reported.
#[test]
fn user_settings_are_reported_beside_original_grants() {
    let path = ".codex/agents/x.toml";
    let text = "name = \"x\"\ndescription = \"d\"\ndeveloper_instructions = \"Hi.\"\n\
        sandbox_mode = \"workspace-write\"\napproval_policy = \"on-request\"\n";
    let files = definition(&imported("codex", &[(path, text)], path).expect("an agent"));
    let mine = "prefix_rule(pattern=[\"npm\", \"publish\"], decision=\"allow\")\n";
    let existing = &[("~/.codex/rules/mine.rules", mine)];
    let rendered =
        rendering("codex", &files, Wish { existing, ..Wish::default() }).agents.remove(0);
    assert!(file(&rendered, path).contains("sandbox_mode = \"workspace-write\""));
    let report = report_of(&rendered);
    assert!(report.contains("your own settings"), "{report}");
}

/// Codex rules apply to every session: an agent with its original grants needs no rules that ask.
#[test]
fn original_codex_grants_write_no_shared_rules() {
    let path = ".codex/agents/x.toml";
    let text = "name = \"x\"\ndescription = \"d\"\ndeveloper_instructions = \"Hi.\"\n\
        sandbox_mode = \"workspace-write\"\n";
    let files = definition(&imported("codex", &[(path, text)], path).expect("an agent"));
    let rendering = rendering("codex", &files, Wish::default());
    assert!(file(&rendering.agents[0], path).contains("sandbox_mode = \"workspace-write\""));
    assert_eq!(rendering.shared, []);
}

/// A listed tool is not denied in the same file.
#[test]
fn pi_has_no_tool_that_it_denies() {
    for (tools, expected) in [("find", "tools: contact_supervisor"), ("read, edit", "tools: read")]
    {
        let path = ".pi/agents/x.md";
        let text = format!("---\nname: x\ndescription: d\ntools: {tools}\n---\nHi.\n");
        let files = definition(&imported("pi", &[(path, &text)], path).expect("an agent"));
        let rendered = rendering("pi", &files, Wish::default()).agents.remove(0);
        let line = file(&rendered, path).lines().find(|line| line.starts_with("tools: "));
        assert_eq!(line, Some(expected), "{tools}");
    }
}

/// Ignored original grants are reported.
#[test]
fn ignored_original_grants_are_reported() {
    let files =
        changed("[permissions.read]\nintent = \"allow\"", "[permissions.read]\nintent = \"ask\"");
    let rendered = rendering("copilot", &files, Wish::default()).agents.remove(0);
    let report = report_of(&rendered);
    assert!(
        report.contains("narrowed x-harness.copilot.as-written: it does not match"),
        "{report}"
    );
}

/// The tools of some harnesses, and the file of an agent with some of them.
const HARNESSES: &[(&str, &str, &[&str])] = &[
    (
        "copilot",
        ".github/agents/helper.agent.md",
        &[
            "read", "search", "edit", "execute", "web", "fetch", "agent", "todo", "deploy",
            "github/*",
        ],
    ),
    (
        "claude-code",
        ".claude/agents/helper.md",
        &["Read", "Grep", "Edit", "Write", "Bash", "WebFetch", "Agent", "deploy", "mcp__github__x"],
    ),
    (
        "gemini",
        ".gemini/agents/helper.md",
        &["read_file", "write_file", "run_shell_command", "web_fetch", "mcp_github_x", "*"],
    ),
    (
        "pi",
        ".pi/agents/helper.md",
        &["read", "grep", "edit", "write", "bash", "subagent", "deploy", "mcp:github"],
    ),
];

/// Some tools of a harness, and a later change of the definition.
fn edited() -> impl Strategy<Value = (usize, Vec<&'static str>, Vec<(Section, Action)>)> {
    let tools = (0..HARNESSES.len()).prop_flat_map(|at| {
        let all = HARNESSES[at].2.to_vec();
        (Just(at), subsequence(all.clone(), 0..=all.len()))
    });
    let edit = (select(Section::ALL), select(Action::ALL));
    let edits = prop::collection::vec(edit, 0..3);
    (tools, edits).prop_map(|((at, tools), edits)| (at, tools, edits))
}

/// For any tools and any change: nothing denied may be done, and nothing with the verdict `ask` without a
/// report.
#[test]
fn a_denial_is_never_lifted() {
    let mut runner = TestRunner::new(Config {
        cases: cases(200),
        failure_persistence: None,
        ..Config::default()
    });
    let given = std::cell::Cell::new(0_u32);
    let property = |(at, tools, edits): (usize, Vec<&str>, Vec<(Section, Action)>)| {
        let (harness, path, _) = HARNESSES[at];
        let quoted = || tools.iter().map(|tool| format!("'{tool}'")).collect::<Vec<_>>();
        let list = match harness {
            _ if tools.is_empty() => String::new(),
            "pi" => format!("tools: {}\n", tools.join(", ")),
            _ => format!("tools: [{}]\n", quoted().join(", ")),
        };
        let text = format!("---\nname: helper\ndescription: d\n{list}---\nHi.\n");
        let mut found = imported(harness, &[(path, &text)], path).expect("an agent");
        let permissions = found.agent.policy.permissions.as_mut().expect("permissions");
        for (section, action) in edits {
            let rules = permissions.sections.iter_mut().find(|it| it.section.value == section);
            if let Some(intent) = rules.and_then(|rules| rules.intent.as_mut()) {
                intent.value = action;
            }
        }
        let files = definition(&found);
        let subject = subjects(&files, None).remove(0);
        let rendering = rendering(harness, &files, Wish::default());
        prop_assert_eq!(&rendering.agents[0].refused, &None);
        given.set(given.get() + u32::from(reports_changed_permissions(&rendering.agents[0])));
        let wider = wider(harness, &subject, &rendering);
        prop_assert!(wider.is_none(), "{wider:?}\n{text}{}", rendering.agents[0].files[0].text());
        Ok(())
    };
    runner.run(&edited(), property).expect("denials hold");
    assert!(given.get() > 20, "words were given back {} times", given.get());
}

fn reports_changed_permissions(rendered: &RenderedAgent) -> bool {
    let is_gap = |loss: &agentry_compile::targets::RenderLoss| {
        loss.kind == LossKind::Gap && loss.detail.starts_with("as it was written: ")
    };
    rendered.losses.iter().any(is_gap)
}

/// A way to do what is denied, or what has the verdict `ask` without a report.
fn wider(harness: &str, subject: &RenderSubject, rendering: &ProjectRendering) -> Option<String> {
    let model = read_back(target(harness).expect("a target"), rendering)?.in_session(true);
    let RenderedAgent { unasked, losses, .. } = &rendering.agents[0];
    let bounds = |section: Section| {
        let mut bounds = subject.bounds(section).to_vec();
        let field = format!("permissions.{section}");
        let mut losses = losses.iter().filter(|loss| loss.field == field);
        let report =
            unasked.contains(&section) || losses.any(|it| it.detail.contains("never asks"));
        for rule in bounds.iter_mut().flat_map(RuleList::all_mut).filter(|_| report) {
            if rule.action == Action::Ask {
                rule.action = Action::Allow;
            }
        }
        bounds
    };
    let is_wider = |way: &&HarnessTool| {
        within(&RenderMemo::default(), &way.layers, &bounds(way.section)) != PolicyProof::Holds
    };
    model.ways.iter().find(is_wider).map(|way| format!("{} {}", way.section, way.tool))
}
