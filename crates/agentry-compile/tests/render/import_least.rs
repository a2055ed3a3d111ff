//! An import is limited by what a harness surely permits, not by what it may permit.

use agentry_compile::policy::Section;
use agentry_compile::targets::ImportedAgent;

use crate::back::imported;

/// The rules of a section, and its intent.
pub(crate) fn said(found: &ImportedAgent, section: Section) -> String {
    let permissions = found.agent.policy.permissions.as_ref().expect("permissions");
    let rules = permissions.get(section).unwrap_or_else(|| panic!("{section}"));
    let list: Vec<String> = rules.rules.iter().map(|rule| rule.value.to_string()).collect();
    let intent = rules.intent.expect("an intent").value;
    [list, vec![intent.to_string()]].concat().join(" ")
}

pub(crate) fn told(found: &ImportedAgent) -> String {
    let line = |it: &agentry_compile::targets::ImportLoss| {
        format!("{} {}: {}", it.kind, it.field, it.detail)
    };
    found.losses.iter().map(line).collect::<Vec<_>>().join("\n")
}

const CODEX: &str = ".codex/agents/helper.toml";

fn codex(lines: &str, more: &[(&str, &str)]) -> ImportedAgent {
    let head = "name = \"helper\"\ndescription = \"x\"\ndeveloper_instructions = \"x\"\n";
    let text = format!("{head}{lines}");
    let files = [&[(CODEX, text.as_str())], more].concat();
    imported("codex", &files, CODEX).expect("an agent")
}

#[test]
fn what_a_sandbox_of_codex_holds_is_not_allowed_where_there_is_none() {
    let sections = [Section::Bash, Section::Edit, Section::Read];
    let inside = "**/*:allow .:allow ask";
    let cases = [
        ("", ["ask", "ask", "allow"]),
        ("sandbox_mode = \"read-only\"\n", ["ask", "ask", "allow"]),
        ("sandbox_mode = \"workspace-write\"\n", ["ask", inside, "allow"]),
        ("sandbox_mode = \"read-only\"\napproval_policy = \"never\"\n", ["deny", "deny", "allow"]),
        ("approval_policy = {granular = {}}\n", ["deny", "deny", "allow"]),
        ("sandbox_mode = \"what\"\n", ["ask", "ask", "allow"]),
        ("sandbox_mode = \"danger-full-access\"\n", ["rm *:ask allow", "allow", "allow"]),
        (
            "sandbox_mode = \"danger-full-access\"\napproval_policy = \"untrusted\"\n",
            ["rm *:ask ask", "ask", "allow"],
        ),
        ("[features]\nshell_tool = false\n", ["deny", "ask", "deny"]),
    ];
    for (lines, expected) in cases {
        let found = codex(lines, &[]);
        assert_eq!(sections.map(|section| said(&found, section)), expected, "{lines}");
    }
    let told = told(&codex("sandbox_mode = \"read-only\"\n", &[]));
    assert!(told.contains("run in the sandbox `read-only` in Codex"), "{told}");
}

/// A profile in the settings takes precedence over a role, if it is stricter.
#[test]
fn profiles_of_codex_count() {
    let role = "sandbox_mode = \"danger-full-access\"\n";
    let settings = |name: &str, mode: &str| {
        format!("profile = \"{name}\"\n[profiles.p]\nsandbox_mode = \"{mode}\"\n")
    };
    let cases = [
        (settings("p", "read-only"), "ask"),
        (settings("other", "read-only"), "rm *:ask allow"),
        (settings("p", "danger-full-access"), "rm *:ask allow"),
    ];
    for path in [".codex/config.toml", "~/.codex/config.toml"] {
        for (settings, expected) in &cases {
            let found = codex(role, &[(path, settings)]);
            assert_eq!(said(&found, Section::Bash), *expected, "{path} {settings}");
        }
    }
}

#[test]
fn searches_of_codex_stay_what_they_are() {
    for (word, search, fetch) in
        [("live", "allow", "allow"), ("cached", "allow", "deny"), ("disabled", "deny", "deny")]
    {
        let found = codex(&format!("web_search = \"{word}\"\n"), &[]);
        assert_eq!(said(&found, Section::Websearch), search, "{word}");
        assert_eq!(said(&found, Section::Webfetch), fetch, "{word}");
    }
}

#[test]
fn the_users_own_settings_of_codex_count_and_are_told() {
    let settings = "approval_policy = \"never\"\nsandbox_mode = \"read-only\"\n";
    let rules = "prefix_rule(pattern = [\"git\", \"push\"], decision = \"forbidden\")\n\
                 prefix_rule(pattern = [\"ls\"])\n";
    let more = [("~/.codex/config.toml", settings), ("~/.codex/rules/x.rules", rules)];
    let found = codex("sandbox_mode = \"workspace-write\"\n", &more);
    assert_eq!(said(&found, Section::Edit), "**/*:allow .:allow deny");
    assert_eq!(said(&found, Section::Bash), "git push *:deny deny");
    let told = told(&found);
    for line in [
        "changed approval_policy: it is taken over from your own `~/.codex/config.toml`",
        "changed permissions.bash: `git push` in your own `~/.codex/rules/x.rules`",
        "changed permissions.bash: `ls` in your own `~/.codex/rules/x.rules` and its like: not taken over",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
}

#[test]
fn what_codex_switches_off_is_denied() {
    let lines = "[[skills.config]]\npath = \"/x/pdf/SKILL.md\"\nenabled = false\n\
                 [sandbox_workspace_write]\nwritable_roots = [\"/x\"]\n\
                 [mcp_servers.docs]\ncommand = \"docs\"\ndisabled_tools = [\"drop\"]\n\
                 [mcp_servers.off]\ncommand = \"off\"\nenabled = false\n";
    let found = codex(&format!("sandbox_mode = \"workspace-write\"\n{lines}"), &[]);
    assert_eq!(said(&found, Section::Skill), "pdf:deny allow");
    assert_eq!(said(&found, Section::Mcp), "docs/drop:deny docs/*:ask deny");
    let told = told(&found);
    assert!(told.contains("dropped skills: `config`"), "{told}");
    assert!(told.contains("`writable_roots`: they count as outside"), "{told}");
}

#[test]
fn one_tool_of_a_server_of_gemini_is_not_all_of_them() {
    let path = ".gemini/agents/x.md";
    let cases = [
        ("[read_file, mcp_github_get_issue]", "github/get_issue:ask deny"),
        ("[read_file, mcp_github_*]", "github/*:ask deny"),
        ("[read_file, \"mcp_*\"]", "ask"),
        ("[read_file]", "deny"),
    ];
    for (tools, expected) in cases {
        let text = format!("---\nname: x\ndescription: y\ntools: {tools}\n---\nx\n");
        let found = imported("gemini", &[(path, &text)], path).expect("an agent");
        assert_eq!(said(&found, Section::Mcp), expected, "{tools}");
        assert_eq!(said(&found, Section::Read), "allow", "{tools}");
        assert_eq!(said(&found, Section::ExternalDirectory), "deny", "{tools}");
    }
    // File names are not file contents.
    let text = "---\nname: x\ndescription: y\ntools: [glob]\n---\nx\n";
    let found = imported("gemini", &[(path, text)], path).expect("an agent");
    assert_eq!(said(&found, Section::Read), "deny");
    assert!(told(&found).contains("show names only"));
}

#[test]
fn rules_of_the_user_of_gemini_count() {
    let path = ".gemini/agents/x.md";
    let text = "---\nname: x\ndescription: y\ntools: [google_web_search]\n---\nx\n";
    let deny = "[[rule]]\ntoolName = \"google_web_search\"\ndecision = \"deny\"\npriority = 5\n";
    for rules in [deny, "[[rule]]\ndecision = 1\n"] {
        let files = [(path, text), ("~/.gemini/policies/x.toml", rules)];
        let found = imported("gemini", &files, path).expect("an agent");
        assert_eq!(said(&found, Section::Websearch), "deny", "{rules}");
        assert!(told(&found).contains("`~/.gemini/policies/x.toml`"), "{rules}");
    }
}

/// If more rules are too mild than are checked one by one, all of them become stricter.
#[test]
fn many_tools_that_nobody_knows_are_asked_about() {
    let path = ".claude/agents/x.md";
    let tools: Vec<String> = (0..150).map(|number| format!("Tool{number}")).collect();
    let text = format!("---\nname: x\ndescription: y\ntools: {}\n---\nx\n", tools.join(", "));
    let found = imported("claude-code", &[(path, &text)], path).expect("an agent");
    let rules = said(&found, Section::Tool);
    assert_eq!(rules.matches(":ask").count(), 150, "{rules}");
    assert!(rules.ends_with(" deny"), "{rules}");
}

#[test]
fn tools_of_copilot_by_the_names_of_vs_code() {
    let path = ".github/agents/x.agent.md";
    let tools =
        "[search/codebase, edit/editFiles, githubRepo, usages, github/get_issue, docs/*, fetch]";
    let text = format!("---\ndescription: y\ntools: {tools}\n---\nx\n");
    let found = imported("copilot", &[(path, &text)], path).expect("an agent");
    assert_eq!(said(&found, Section::Read), "allow");
    assert_eq!(said(&found, Section::ExternalDirectory), "ask");
    assert_eq!(said(&found, Section::Edit), "ask");
    assert_eq!(said(&found, Section::Bash), "deny");
    assert_eq!(said(&found, Section::Webfetch), "ask");
    assert_eq!(said(&found, Section::Websearch), "deny");
    assert_eq!(said(&found, Section::Mcp), "github/get_issue:ask docs/*:ask deny");
    let told = told(&found);
    assert_eq!(said(&found, Section::Tool), "githubRepo:ask deny");
    assert!(told.contains("some programs ask before `edit`"), "{told}");
}

#[test]
fn nothing_is_granted_that_no_tool_is_for() {
    for (harness, path, text) in [
        ("codex", CODEX, "name = \"x\"\ndescription = \"y\"\ndeveloper_instructions = \"x\"\n"),
        ("gemini", ".gemini/agents/x.md", "---\nname: x\ndescription: y\ntools: []\n---\nx\n"),
        ("copilot", ".github/agents/x.md", "---\ndescription: y\ntools: []\n---\nx\n"),
        ("pi", ".pi/agents/x.md", "---\nname: x\ndescription: y\ntools:\n---\nx\n"),
        ("claude-code", ".claude/agents/x.md", "---\nname: x\ndescription: y\ntools: []\n---\nx\n"),
    ] {
        let found = imported(harness, &[(path, text)], path).expect("an agent");
        for section in [Section::Question, Section::Tool, Section::Delegate, Section::Mcp] {
            assert_eq!(said(&found, section), "deny", "{harness} {section}");
        }
    }
}

#[test]
fn one_file_that_must_not_be_read_is_not_all_files() {
    let path = ".claude/agents/x.md";
    let text = "---\nname: x\ndescription: y\ntools: Read, Edit, Write, Bash\n---\nx\n";
    let settings = r#"{"permissions": {"deny": ["Read(./.env)"]}}"#;
    let files = [(path, text), (".claude/settings.json", settings)];
    let found = imported("claude-code", &files, path).expect("an agent");
    let env = "**/.env:deny **/.env/**:deny /**/.env:deny /**/.env/**:deny";
    assert_eq!(said(&found, Section::Edit), format!("{env} ask"));
    assert_eq!(said(&found, Section::Read), format!("{env} allow"));
    assert_eq!(told(&found), "");
    let files = crate::back::definition(&found);
    let again = crate::rendering("claude-code", &files, crate::Wish::default());
    let file = crate::file(&again.agents[0], "x.md");
    assert!(file.contains("tools: Read, Edit, Write, Bash"), "{file}");
}

#[test]
fn every_tool_of_claude_code() {
    let path = ".claude/agents/x.md";
    for tools in ["\"*\"", "[\"*\"]"] {
        let text = format!("---\nname: x\ndescription: y\ntools: {tools}\n---\nx\n");
        let found = imported("claude-code", &[(path, &text)], path).expect("an agent");
        for section in [Section::Bash, Section::Mcp, Section::Tool] {
            assert_eq!(said(&found, section), "ask", "{tools} {section}");
        }
    }
}

#[test]
fn skills_that_an_agent_is_given_are_not_denied() {
    for (harness, path, text) in [
        ("claude-code", ".claude/agents/x.md", "tools: Read\nskills: pdf, git"),
        ("pi", ".pi/agents/x.md", "tools: read\nskills: pdf, git"),
    ] {
        let text = format!("---\nname: x\ndescription: y\n{text}\n---\nx\n");
        let found = imported(harness, &[(path, &text)], path).expect("an agent");
        assert_eq!(said(&found, Section::Skill), "pdf:allow git:allow deny", "{harness}");
        assert_eq!(found.agent.skills.as_ref().map(Vec::len), Some(2), "{harness}");
        assert_eq!(told(&found), "", "{harness}");
    }
}

#[test]
fn a_part_of_a_tool_of_claude_code_is_not_all_of_it() {
    let path = ".claude/agents/x.md";
    for (tools, read, edit) in
        [("Glob, NotebookEdit", "deny", "deny"), ("Grep, NotebookEdit, Write", "allow", "ask")]
    {
        let text = format!("---\nname: x\ndescription: y\ntools: {tools}\n---\nx\n");
        let found = imported("claude-code", &[(path, &text)], path).expect("an agent");
        assert_eq!(said(&found, Section::Read), read, "{tools}");
        assert_eq!(said(&found, Section::Edit), edit, "{tools}");
        let partly = told(&found).contains("permissions.read: `Glob` is a part of it");
        assert_eq!(partly, read == "deny", "{tools}");
    }
}

/// An agent of Claude Code with these lines, and settings of the project around it.
fn claude(lines: &str, settings: &str) -> ImportedAgent {
    let path = ".claude/agents/x.md";
    let text = format!("---\nname: x\ndescription: y\n{lines}---\nx\n");
    let files = [(path, text.as_str()), (".claude/settings.json", settings)];
    imported("claude-code", &files, path).expect("an agent")
}

/// Blanks separate tools like commas.
#[test]
fn lists_of_claude_code_with_blanks() {
    let found = claude("disallowedTools: Write Edit Bash NotebookEdit\n", "{}");
    for section in [Section::Bash, Section::Edit] {
        assert_eq!(said(&found, section), "deny");
    }
    let found = claude("tools: Read  Grep Bash(git log *)\n", "{}");
    assert_eq!(said(&found, Section::Read), "allow");
    assert_eq!(said(&found, Section::Bash), "ask");
    assert_eq!(said(&found, Section::Webfetch), "deny");
}

/// Unknown names in a list are reported.
#[test]
fn tools_of_claude_code_that_nobody_knows() {
    let cases = [
        ("All tools", "changed tools: `All` is known by its name only"),
        ("mcp__*, Read", "dropped tools: `mcp__*` names no server"),
    ];
    for (tools, expected) in cases {
        let told = told(&claude(&format!("tools: {tools}\n"), "{}"));
        assert!(told.contains(expected), "{told}");
    }
    let told = told(&claude("tools: Read, TodoWrite, Task, mcp__github\n", "{}"));
    assert!(!told.contains("known by its name") && !told.contains("names no server"), "{told}");
}

/// Names with wildcards deny and ask about everything they may match, and `domain:*` about every host.
#[test]
fn rules_of_claude_code_about_many_tools() {
    let cases = [
        ("\"*\"", Section::Bash),
        ("\"*\"", Section::Mcp),
        ("\"B*\"", Section::Bash),
        ("\"Web*\"", Section::Webfetch),
        ("\"Web*\"", Section::Websearch),
        ("\"*Edit\"", Section::Edit),
        ("\"WebFetch(domain:*)\"", Section::Webfetch),
    ];
    for (rule, section) in cases {
        let allow = "\"allow\": [\"Bash\", \"WebFetch\", \"WebSearch\", \"Edit(/**)\"]";
        let settings = format!("{{\"permissions\": {{{allow}, \"deny\": [{rule}]}}}}");
        let said = said(&claude("", &settings), section);
        assert!(said.ends_with("deny") && !said.contains("allow"), "{rule} {section}: {said}");
    }
}

/// A pattern about secrets denies what it matches, and nothing else.
#[test]
fn secrets_of_claude_code_are_not_everything() {
    for rule in ["Read(./.env.*)", "Read(.env*)", "Read(./secrets/*)", "Read(**/*.pem)"] {
        let settings = format!("{{\"permissions\": {{\"deny\": [\"{rule}\"]}}}}");
        let found = claude("tools: Read, Edit\n", &settings);
        let read = said(&found, Section::Read);
        assert!(
            read.ends_with("**/*:allow .:allow ask") || read.ends_with(" allow"),
            "{rule}: {read}"
        );
        let edit = said(&found, Section::Edit);
        assert!(edit.ends_with(" ask"), "{rule}: {edit}");
    }
}
