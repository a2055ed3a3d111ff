//! An import is limited by what a harness surely permits, not by what it may permit.

use agentry_compile::policy::Section;
use agentry_compile::targets::ImportedAgent;

use crate::back::imported;

/// The rules of a section, and its intent.
pub(crate) fn rules_of(found: &ImportedAgent, section: Section) -> String {
    let permissions = found.agent.policy.permissions.as_ref().expect("permissions");
    let rules = permissions.get(section).unwrap_or_else(|| panic!("{section}"));
    let list: Vec<String> = rules.rules.iter().map(|rule| rule.value.to_string()).collect();
    let intent = rules.intent.expect("an intent").value;
    [list, vec![intent.to_string()]].concat().join(" ")
}

pub(crate) fn report_of(found: &ImportedAgent) -> String {
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
fn codex_sandbox_allows_are_imported_as_ask() {
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
        assert_eq!(sections.map(|section| rules_of(&found, section)), expected, "{lines}");
    }
    let report = report_of(&codex("sandbox_mode = \"read-only\"\n", &[]));
    assert!(report.contains("run in the sandbox `read-only` in Codex"), "{report}");
}

/// A profile in the settings takes precedence over a role, if it is stricter.
#[test]
fn stricter_codex_profiles_narrow_the_import() {
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
            assert_eq!(rules_of(&found, Section::Bash), *expected, "{path} {settings}");
        }
    }
}

#[test]
fn codex_web_search_modes_are_imported() {
    for (word, search, fetch) in
        [("live", "allow", "allow"), ("cached", "allow", "deny"), ("disabled", "deny", "deny")]
    {
        let found = codex(&format!("web_search = \"{word}\"\n"), &[]);
        assert_eq!(rules_of(&found, Section::Websearch), search, "{word}");
        assert_eq!(rules_of(&found, Section::Webfetch), fetch, "{word}");
    }
}

#[test]
fn codex_user_settings_narrow_the_import_and_are_reported() {
    let settings = "approval_policy = \"never\"\nsandbox_mode = \"read-only\"\n";
    let rules = "prefix_rule(pattern = [\"git\", \"push\"], decision = \"forbidden\")\n\
                 prefix_rule(pattern = [\"ls\"])\n";
    let more = [("~/.codex/config.toml", settings), ("~/.codex/rules/x.rules", rules)];
    let found = codex("sandbox_mode = \"workspace-write\"\n", &more);
    assert_eq!(rules_of(&found, Section::Edit), "**/*:allow .:allow deny");
    assert_eq!(rules_of(&found, Section::Bash), "git push *:deny deny");
    let report = report_of(&found);
    for line in [
        "changed approval_policy: it is taken over from your own `~/.codex/config.toml`",
        "changed permissions.bash: `git push` in your own `~/.codex/rules/x.rules`",
        "changed permissions.bash: `ls` in your own `~/.codex/rules/x.rules` and its like: not taken over",
    ] {
        assert!(report.contains(line), "{line}\n{report}");
    }
}

#[test]
fn skills_and_servers_disabled_in_codex_are_denied() {
    let lines = "[[skills.config]]\npath = \"/x/pdf/SKILL.md\"\nenabled = false\n\
                 [sandbox_workspace_write]\nwritable_roots = [\"/x\"]\n\
                 [mcp_servers.docs]\ncommand = \"docs\"\ndisabled_tools = [\"drop\"]\n\
                 [mcp_servers.off]\ncommand = \"off\"\nenabled = false\n";
    let found = codex(&format!("sandbox_mode = \"workspace-write\"\n{lines}"), &[]);
    assert_eq!(rules_of(&found, Section::Skill), "pdf:deny allow");
    assert_eq!(rules_of(&found, Section::Mcp), "docs/drop:deny docs/*:ask deny");
    let report = report_of(&found);
    assert!(report.contains("dropped skills: `config`"), "{report}");
    assert!(report.contains("`writable_roots`: they count as outside"), "{report}");
}

#[test]
fn one_gemini_server_tool_does_not_grant_the_server() {
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
        assert_eq!(rules_of(&found, Section::Mcp), expected, "{tools}");
        assert_eq!(rules_of(&found, Section::Read), "allow", "{tools}");
        assert_eq!(rules_of(&found, Section::ExternalDirectory), "deny", "{tools}");
    }
    // File names are not file contents.
    let text = "---\nname: x\ndescription: y\ntools: [glob]\n---\nx\n";
    let found = imported("gemini", &[(path, text)], path).expect("an agent");
    assert_eq!(rules_of(&found, Section::Read), "deny");
    assert!(report_of(&found).contains("show names only"));
}

#[test]
fn gemini_user_rules_narrow_the_import() {
    let path = ".gemini/agents/x.md";
    let text = "---\nname: x\ndescription: y\ntools: [google_web_search]\n---\nx\n";
    let deny = "[[rule]]\ntoolName = \"google_web_search\"\ndecision = \"deny\"\npriority = 5\n";
    for rules in [deny, "[[rule]]\ndecision = 1\n"] {
        let files = [(path, text), ("~/.gemini/policies/x.toml", rules)];
        let found = imported("gemini", &files, path).expect("an agent");
        assert_eq!(rules_of(&found, Section::Websearch), "deny", "{rules}");
        assert!(report_of(&found).contains("`~/.gemini/policies/x.toml`"), "{rules}");
    }
}

/// If more rules are too mild than are checked one by one, all of them become stricter.
#[test]
fn many_unknown_tools_are_imported_as_ask() {
    let path = ".claude/agents/x.md";
    let tools: Vec<String> = (0..150).map(|number| format!("Tool{number}")).collect();
    let text = format!("---\nname: x\ndescription: y\ntools: {}\n---\nx\n", tools.join(", "));
    let found = imported("claude-code", &[(path, &text)], path).expect("an agent");
    let rules = rules_of(&found, Section::Tool);
    assert_eq!(rules.matches(":ask").count(), 150, "{rules}");
    assert!(rules.ends_with(" deny"), "{rules}");
}

#[test]
fn vs_code_tool_names_are_imported_for_copilot() {
    let path = ".github/agents/x.agent.md";
    let tools =
        "[search/codebase, edit/editFiles, githubRepo, usages, github/get_issue, docs/*, fetch]";
    let text = format!("---\ndescription: y\ntools: {tools}\n---\nx\n");
    let found = imported("copilot", &[(path, &text)], path).expect("an agent");
    assert_eq!(rules_of(&found, Section::Read), "allow");
    assert_eq!(rules_of(&found, Section::ExternalDirectory), "ask");
    assert_eq!(rules_of(&found, Section::Edit), "ask");
    assert_eq!(rules_of(&found, Section::Bash), "deny");
    assert_eq!(rules_of(&found, Section::Webfetch), "ask");
    assert_eq!(rules_of(&found, Section::Websearch), "deny");
    assert_eq!(rules_of(&found, Section::Mcp), "github/get_issue:ask docs/*:ask deny");
    let report = report_of(&found);
    assert_eq!(rules_of(&found, Section::Tool), "githubRepo:ask deny");
    assert!(report.contains("some programs ask before `edit`"), "{report}");
}

#[test]
fn sections_without_a_listed_tool_are_denied() {
    for (harness, path, text) in [
        ("codex", CODEX, "name = \"x\"\ndescription = \"y\"\ndeveloper_instructions = \"x\"\n"),
        ("gemini", ".gemini/agents/x.md", "---\nname: x\ndescription: y\ntools: []\n---\nx\n"),
        ("copilot", ".github/agents/x.md", "---\ndescription: y\ntools: []\n---\nx\n"),
        ("pi", ".pi/agents/x.md", "---\nname: x\ndescription: y\ntools:\n---\nx\n"),
        ("claude-code", ".claude/agents/x.md", "---\nname: x\ndescription: y\ntools: []\n---\nx\n"),
    ] {
        let found = imported(harness, &[(path, text)], path).expect("an agent");
        for section in [Section::Question, Section::Tool, Section::Delegate, Section::Mcp] {
            assert_eq!(rules_of(&found, section), "deny", "{harness} {section}");
        }
    }
}

#[test]
fn a_denied_file_does_not_deny_all_reads() {
    let path = ".claude/agents/x.md";
    let text = "---\nname: x\ndescription: y\ntools: Read, Edit, Write, Bash\n---\nx\n";
    let settings = r#"{"permissions": {"deny": ["Read(./.env)"]}}"#;
    let files = [(path, text), (".claude/settings.json", settings)];
    let found = imported("claude-code", &files, path).expect("an agent");
    let env = "**/.env:deny **/.env/**:deny /**/.env:deny /**/.env/**:deny";
    assert_eq!(rules_of(&found, Section::Edit), format!("{env} ask"));
    assert_eq!(rules_of(&found, Section::Read), format!("{env} allow"));
    assert_eq!(report_of(&found), "");
    let files = crate::back::definition(&found);
    let again = crate::rendering("claude-code", &files, crate::Wish::default());
    let file = crate::file(&again.agents[0], "x.md");
    assert!(file.contains("tools: Read, Edit, Write, Bash"), "{file}");
}

#[test]
fn a_claude_code_tools_wildcard_is_imported_as_ask() {
    let path = ".claude/agents/x.md";
    for tools in ["\"*\"", "[\"*\"]"] {
        let text = format!("---\nname: x\ndescription: y\ntools: {tools}\n---\nx\n");
        let found = imported("claude-code", &[(path, &text)], path).expect("an agent");
        for section in [Section::Bash, Section::Mcp, Section::Tool] {
            assert_eq!(rules_of(&found, section), "ask", "{tools} {section}");
        }
    }
}

#[test]
fn listed_skills_are_allowed() {
    for (harness, path, text) in [
        ("claude-code", ".claude/agents/x.md", "tools: Read\nskills: pdf, git"),
        ("pi", ".pi/agents/x.md", "tools: read\nskills: pdf, git"),
    ] {
        let text = format!("---\nname: x\ndescription: y\n{text}\n---\nx\n");
        let found = imported(harness, &[(path, &text)], path).expect("an agent");
        assert_eq!(rules_of(&found, Section::Skill), "pdf:allow git:allow deny", "{harness}");
        assert_eq!(found.agent.skills.as_ref().map(Vec::len), Some(2), "{harness}");
        assert_eq!(report_of(&found), "", "{harness}");
    }
}

#[test]
fn a_partial_claude_code_tool_does_not_grant_its_section() {
    let path = ".claude/agents/x.md";
    for (tools, read, edit) in
        [("Glob, NotebookEdit", "deny", "deny"), ("Grep, NotebookEdit, Write", "allow", "ask")]
    {
        let text = format!("---\nname: x\ndescription: y\ntools: {tools}\n---\nx\n");
        let found = imported("claude-code", &[(path, &text)], path).expect("an agent");
        assert_eq!(rules_of(&found, Section::Read), read, "{tools}");
        assert_eq!(rules_of(&found, Section::Edit), edit, "{tools}");
        let partly = report_of(&found).contains("permissions.read: `Glob` is a part of it");
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
fn claude_code_tool_lists_split_at_blanks() {
    let found = claude("disallowedTools: Write Edit Bash NotebookEdit\n", "{}");
    for section in [Section::Bash, Section::Edit] {
        assert_eq!(rules_of(&found, section), "deny");
    }
    let found = claude("tools: Read  Grep Bash(git log *)\n", "{}");
    assert_eq!(rules_of(&found, Section::Read), "allow");
    assert_eq!(rules_of(&found, Section::Bash), "ask");
    assert_eq!(rules_of(&found, Section::Webfetch), "deny");
}

/// Unknown names in a list are reported.
#[test]
fn unknown_claude_code_tools_are_reported() {
    let cases = [
        ("All tools", "changed tools: `All` is known by its name only"),
        ("mcp__*, Read", "dropped tools: `mcp__*` names no server"),
    ];
    for (tools, expected) in cases {
        let report = report_of(&claude(&format!("tools: {tools}\n"), "{}"));
        assert!(report.contains(expected), "{report}");
    }
    let report = report_of(&claude("tools: Read, TodoWrite, Task, mcp__github\n", "{}"));
    assert!(
        !report.contains("known by its name") && !report.contains("names no server"),
        "{report}"
    );
}

/// Names with wildcards deny and ask about everything they may match, and `domain:*` about every host.
#[test]
fn claude_code_wildcard_rules_deny_all_matching_sections() {
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
        let rules_text = rules_of(&claude("", &settings), section);
        assert!(
            rules_text.ends_with("deny") && !rules_text.contains("allow"),
            "{rule} {section}: {rules_text}"
        );
    }
}

/// A pattern about secrets denies what it matches, and nothing else.
#[test]
fn claude_code_secret_patterns_deny_only_their_matches() {
    for rule in ["Read(./.env.*)", "Read(.env*)", "Read(./secrets/*)", "Read(**/*.pem)"] {
        let settings = format!("{{\"permissions\": {{\"deny\": [\"{rule}\"]}}}}");
        let found = claude("tools: Read, Edit\n", &settings);
        let read = rules_of(&found, Section::Read);
        assert!(
            read.ends_with("**/*:allow .:allow ask") || read.ends_with(" allow"),
            "{rule}: {read}"
        );
        let edit = rules_of(&found, Section::Edit);
        assert!(edit.ends_with(" ask"), "{rule}: {edit}");
    }
}
