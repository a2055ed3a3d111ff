//! Import from OpenCode, and the way back.

use agentry_compile::policy::Section;

use crate::back::{assert_stable, definition, imported};
use crate::import_least::rules_of;
use crate::{Wish, chiron, one, rendering};

#[test]
fn a_rendered_sample_imports_and_renders_the_same() {
    let rendered = rendering("opencode", &chiron(), Wish::default()).agents.remove(0);
    let files: Vec<_> = rendered.files.iter().map(|f| (f.path.as_str(), f.text())).collect();
    let agent = imported("opencode", &files, files[0].0).expect("an agent");
    let again = rendering("opencode", &definition(&agent), Wish::default()).agents.remove(0);
    assert_eq!(again.files[0].text(), rendered.files[0].text());
}

#[test]
fn rendered_rules_import_and_render_the_same() {
    for lines in [
        "",
        "[permissions.bash]\nintent = \"ask\"\nrules = [\"git push --force*:deny\", \"git *:allow\", \"ls *:allow\"]\n",
        "[permissions.bash]\nintent = \"allow\"\nrules = [\"rm *:deny\", \"git push*:ask\"]\n",
        "[permissions.edit]\nintent = \"deny\"\nrules = [\"src/**:allow\", \"**/*.md:allow\"]\n",
        "[permissions.edit]\nintent = \"allow\"\nrules = [\"secret/**:deny\", \"docs/**/*.md:ask\"]\n",
        "[permissions.delegate]\nintent = \"deny\"\nrules = [\"rev*:allow\"]\n",
        "[permissions.skill]\nintent = \"deny\"\nrules = [\"git-*:allow\"]\n",
        "[permissions.mcp]\nintent = \"deny\"\nrules = [\"github/*:allow\"]\n",
        "[permissions.tool]\nintent = \"allow\"\nrules = [\"todowrite:deny\"]\n[permissions.mcp]\nintent = \"allow\"\n",
        "[permissions.external_directory]\nintent = \"deny\"\nrules = [\"~/p/**:allow\"]\n[permissions.read]\nintent = \"allow\"\n[permissions.edit]\nintent = \"allow\"\n",
        "[permissions.webfetch]\nintent = \"allow\"\n[permissions.question]\nintent = \"deny\"\n",
    ] {
        let rendered = one("opencode", lines, Wish::default());
        assert_stable("opencode", &rendered, Wish::default());
    }
}

#[test]
fn import_reads_common_agent_files() {
    let text = "---\r\ndescription: Use this: always\r\ntools:\r\n  write: false\r\n  bash: false\r\ncolor: \"#ff0000\"\r\nmaxSteps: 5\r\nmodel: anthropic/claude\r\n---\r\nYou review.\r\n";
    let agent =
        imported("opencode", &[(".opencode/agent/review.md", text)], ".opencode/agent/review.md")
            .expect("an agent");
    let losses: Vec<_> = agent.losses.iter().map(|loss| loss.field.as_str()).collect();
    assert!(!losses.contains(&"color") && losses.contains(&"metadata"), "{losses:?}");
    let files = definition(&agent);
    let toml = &files[0].1;
    for line in [
        "name = \"review\"",
        "description = \"Use this: always\"",
        "max_turns = 5",
        "[x-harness.opencode]\ncolor = \"#ff0000\"",
        "[permissions.bash]\nintent = \"deny\"",
        "[permissions.edit]\nintent = \"deny\"",
        "[permissions.question]\nintent = \"deny\"",
        "[permissions.webfetch]\nintent = \"allow\"",
    ] {
        assert!(toml.contains(line), "{line}\n{toml}");
    }
}

#[test]
fn import_reads_permissions_for_all_agents() {
    let files = [
        (
            "opencode.json",
            "{\"permission\": {\"bash\": {\"*\": \"ask\", \"git *\": \"allow\"}, \"edit\": \"deny\"}}",
        ),
        (
            ".opencode/agents/review.md",
            "---\npermission:\n  bash:\n    git push*: deny\n---\nYou review.\n",
        ),
    ];
    let agent = imported("opencode", &files, ".opencode/agents/review.md").expect("an agent");
    let toml = definition(&agent).remove(0).1;
    let bash = "[permissions.bash]\nintent = \"ask\"\nrules = [\n  \"git push*:deny\",\n  \"git *:allow\",\n]\n";
    assert!(toml.contains(bash), "{toml}");
    assert!(toml.contains("[permissions.edit]\nintent = \"deny\"\n"), "{toml}");
}

#[test]
fn a_single_deny_denies_every_section() {
    let text = "---\ndescription: d\npermission: deny\n---\nx\n";
    let path = ".opencode/agents/x.md";
    let agent = imported("opencode", &[(path, text)], path).expect("an agent");
    // A name that no tool has is not a loss.
    assert_eq!(agent.losses.iter().map(|it| it.detail.as_str()).collect::<Vec<_>>(), [""; 0]);
    let permissions = agent.agent.policy.permissions.expect("permissions");
    for section in permissions.sections {
        let intent = section.intent.map(|intent| intent.value.as_str());
        assert_eq!(intent, Some("deny"), "{}", section.section.value);
        assert_eq!(section.rules, [], "{}", section.section.value);
    }
}

#[test]
fn files_that_are_no_agents_are_refused() {
    let cases = [
        (
            ".opencode/agents/x.md",
            "---\ndescription: [x\n---\n",
            "2:14: its metadata is not YAML: the `[` is never closed",
        ),
        (
            ".opencode/agents/x.md",
            "---\ndisable: true\n---\n",
            "1:1: it is switched off (`disable`)",
        ),
        ("notes/x.md", "---\n---\n", "1:1: it is not where OpenCode looks for agents"),
    ];
    for (path, text, expected) in cases {
        assert_eq!(imported("opencode", &[(path, text)], path).err().as_deref(), Some(expected));
    }
}

#[test]
fn rules_without_effect_are_reported() {
    let path = ".opencode/agents/x.md";
    let rules = "write: deny\n  bash:\n    \"rm *\": deny\n    \"*\": allow\n    \"rm -rf ?\": deny\n  lsp: deny\n  \"*\": allow";
    let text = format!("---\ndescription: x\npermission:\n  {rules}\n---\nx\n");
    let found = imported("opencode", &[(path, &text)], path).expect("an agent");
    let report: Vec<String> =
        found.losses.iter().map(|it| format!("{} {}: {}", it.kind, it.field, it.detail)).collect();
    for line in [
        "dropped permission.write: deny does nothing: OpenCode asks `edit` about it",
        "dropped permission.bash: `rm *` to deny does nothing: `bash: allow` comes later",
        "dropped permission.lsp: `*` to deny does nothing: `*: allow` comes later",
    ] {
        assert!(report.iter().any(|it| it == line), "{line}\n{report:#?}");
    }
    let rules = "bash:\n    \"*\": allow\n    \"rm -rf ?\": deny";
    let text = format!("---\ndescription: x\npermission:\n  {rules}\n---\nx\n");
    let found = imported("opencode", &[(path, &text)], path).expect("an agent");
    let line = "`rm -rf` is allow in OpenCode and deny here";
    assert!(found.losses.iter().any(|it| it.detail == line), "{:#?}", found.losses);
    // A difference between one agent and the shared settings is not a loss.
    let files = [
        ("opencode.json", "{\"permission\": {\"bash\": \"ask\"}}"),
        (path, "---\npermission:\n  bash: allow\n---\nx\n"),
    ];
    let found = imported("opencode", &files, path).expect("an agent");
    assert_eq!(found.losses.iter().filter(|it| it.field.starts_with("permission.")).count(), 0);
}

#[test]
fn differing_verdicts_of_reading_tools_are_reported() {
    let path = ".opencode/agents/x.md";
    let cases = [
        ("\"*\": deny\n  read: allow\n  grep: allow\n  glob: allow", None),
        (
            "grep:\n    \"*\": allow\n    \"TODO*\": deny",
            Some("is deny for `grep` and allow for `read` in OpenCode; one list is for all here"),
        ),
        ("grep: ask", Some("is ask for `grep` and allow for `read` in OpenCode")),
        (
            "\"*\": deny\n  read: allow\n  grep: allow\n  glob: allow\n  list: allow\n  lsp: allow",
            None,
        ),
        ("read: deny", None),
        ("bash: deny", None),
    ];
    for (rules, expected) in cases {
        let text = format!("---\ndescription: x\npermission:\n  {rules}\n---\nx\n");
        let found = imported("opencode", &[(path, &text)], path).expect("an agent");
        let about = found.losses.iter().find(|it| it.detail.contains("for `read`"));
        let report = about.map(|it| format!("{} {}: {}", it.kind, it.field, it.detail));
        match (&report, expected) {
            (Some(report), Some(expected)) => {
                assert!(report.starts_with("narrowed permissions.read: "), "{report}");
                assert!(report.contains(expected), "{report}");
            }
            (report, expected) => assert_eq!(report.as_deref(), expected, "{rules}"),
        }
    }
}

/// A tool that the older `tools` switches on grants nothing that `permission` denies.
#[test]
fn the_older_tools_field_never_overrides_permission() {
    let path = ".opencode/agents/x.md";
    let cases = [
        ("tools: {write: true, edit: true}\npermission: {edit: deny}", "\"deny\"\n"),
        ("permission: {edit: deny}\ntools: {edit: true, write: true}", "\"deny\"\n"),
        ("tools: {write: true, patch: true}\npermission: {edit: ask}", "\"ask\"\n"),
        ("tools: {write: false, edit: false}\npermission: {edit: allow}", "\"allow\"\n"),
        (
            "tools: {write: true, edit: true}\npermission: {edit: {'*': deny, 'docs/*': allow}}",
            "\"deny\"\nrules = [\n  \"docs/**:allow\",\n]\n",
        ),
        ("tools: {apply_patch: true}\npermission: {'*': deny}", "\"deny\"\n"),
    ];
    for (lines, expected) in cases {
        let text = format!("---\ndescription: x\n{lines}\n---\nx\n");
        let found = imported("opencode", &[(path, &text)], path).expect("an agent");
        let toml = definition(&found).remove(0).1;
        let expected = format!("[permissions.edit]\nintent = {expected}");
        assert!(toml.contains(&expected), "{lines}\n{toml}");
    }
}

/// `read` decides; which of the others are denied as a whole is kept for OpenCode.
#[test]
fn denied_reading_tools_stay_denied() {
    let path = ".opencode/agents/x.md";
    let cases = [
        ("\"*\": deny\n  read: allow\n  grep: allow\n  glob: allow", "allow", &["list", "lsp"][..]),
        ("grep: deny", "allow", &["grep"]),
        ("\"*\": deny\n  read: ask", "ask", &["glob", "grep", "list", "lsp"]),
        (
            "\"*\": deny\n  read: allow\n  grep: {x: deny}",
            "allow",
            &["glob", "grep", "list", "lsp"],
        ),
        ("\"*\": allow", "allow", &[]),
        ("read: deny", "deny", &["read", "glob", "grep", "list", "lsp"]),
    ];
    for (rules, intent, denied) in cases {
        let text = format!("---\ndescription: x\npermission:\n  {rules}\n---\nx\n");
        let found = imported("opencode", &[(path, &text)], path).expect("an agent");
        let mut files = definition(&found);
        // The original would be restored, and does not mention some of them.
        let own = files[0].1.split("[x-harness.opencode.as-written").next().map(str::to_owned);
        files[0].1 = own.expect("a text");
        let expected = format!("[permissions.read]\nintent = \"{intent}\"\n");
        assert!(files[0].1.contains(&expected), "{rules}\n{}", files[0].1);
        let rendered = rendering("opencode", &files, Wish::default()).agents.remove(0);
        let text = rendered.files[0].text();
        for tool in ["read", "glob", "grep", "list", "lsp"] {
            let is_denied = text.contains(&format!("\n  {tool}: deny\n"));
            assert_eq!(is_denied, denied.contains(&tool), "{tool}\n{text}");
        }
    }
}

/// The rules of an agent in agent-toml, and what OpenCode gets back, one a line.
fn there_and_back(section: &str, rules: &str) -> (String, String) {
    let path = ".opencode/agents/x.md";
    let text = format!("---\ndescription: x\nmode: primary\npermission:\n  {rules}\n---\nx\n");
    let found = imported("opencode", &[(path, &text)], path).expect("an agent");
    let files = definition(&found);
    let own = format!("[permissions.{section}]\n");
    let of_section = files[0].1.split(&own).nth(1).and_then(|it| it.split("\n\n").next());
    let lines = of_section.expect("a section").replace("rules = [\n", "").replace("\n]", "");
    let lines = lines.trim().replace("\n  ", " ").replace('\n', " ").replace(',', "");
    let rendered = rendering("opencode", &files, Wish::default()).agents.remove(0);
    assert_eq!(rendered.refused, None, "{rules}");
    (lines.replace('"', ""), rendered.files[0].text().to_owned())
}

/// A pattern that has no exact form loses as little as possible, never a whole tool.
#[test]
fn an_inexact_pattern_narrows_only_its_matches() {
    let cases = [
        ("bash", "bash: {'*': allow, 'rm*': deny}", "intent = allow rm**:deny", "    rm*: deny\n"),
        (
            "bash",
            "bash: {'*': allow, '* sudo *': deny}",
            "intent = allow ** **sudo** **:deny",
            "    \"* *sudo* *\": deny\n",
        ),
        (
            "bash",
            "bash: {'*': deny, 'npm run *': ask}",
            "intent = deny **/npm run *:deny npm -* ** run *:deny npm run *:ask",
            "  bash:\n    \"*\": deny\n    npm run *: ask\n  skill",
        ),
        (
            "bash",
            "bash: {'*': deny, 'git add tests/*': allow}",
            "intent = deny git add tests/** *:allow",
            "    git add tests/* *: allow\n    git add tests/*..* *: deny\n  skill",
        ),
        (
            "bash",
            "bash: {'*': ask, '*sudo*': deny, 'cargo publish*': ask}",
            "intent = ask ** *sudo*:deny cargo publish*:ask ** *sudo*:deny",
            "    cargo publish*: ask\n    \"* *sudo*\": deny\n    \"*sudo*\": deny\n  skill",
        ),
        (
            "edit",
            "edit: {'*': allow, '**/node_modules/**': deny}",
            "intent = allow */**/node_modules/**:deny **/*:allow .:allow /**/node_modules/**:deny",
            "  edit:\n    \"*\": allow\n    \"*/node_modules/*\": deny\n  read",
        ),
        (
            "edit",
            "edit: {'*': deny, '*.md': allow}",
            "intent = deny **/*.md:allow /**/*.md:allow",
            "    \"*.md\": allow\n  read",
        ),
        ("mcp", "github*: deny", "intent = allow github*/*:deny", "\n  github*_*: deny\n"),
        (
            "mcp",
            "{'*': deny, github_get_issue: allow}",
            "intent = deny github/get_issue:allow github_get/issue:allow",
            "\n  github_get_issue: allow\n",
        ),
    ];
    for (section, rules, expected, back) in cases {
        let (lines, text) = there_and_back(section, rules);
        assert_eq!(lines, expected, "{rules}");
        assert!(text.contains(back), "{rules}\n{text}");
        let outside = !text.contains("external_directory: deny") && !text.contains("    /*: deny");
        assert!(outside || rules.starts_with('{'), "{text}");
    }
}

/// How secrets are hidden from agents: a name in any directory, with or without a suffix.
#[test]
fn secret_name_patterns_deny_only_their_matches() {
    let exact =
        |name: &str| format!("intent = allow */**/{name}:deny **/*:allow .:allow /**/{name}:deny");
    let open = |name: &str| {
        let start = format!("intent = allow */**/{name}:deny */**/{name}/**:deny");
        format!("{start} **/*:allow .:allow /**/{name}:deny /**/{name}/**:deny")
    };
    let cases = [
        ("**/.env", exact(".env")),
        ("*/.env", exact(".env")),
        ("**/.env*", open(".env*")),
        ("**/secrets*", open("secrets*")),
        ("**/x", exact("x")),
        ("**/work", exact("work")),
        ("**/*.pem", exact("*.pem")),
        ("**/*secret*", open("*secret*")),
        ("**/.ssh/**", exact(".ssh/**")),
    ];
    for section in ["edit", "read"] {
        for (pattern, expected) in &cases {
            let rules = format!("{section}: {{'*': allow, '{pattern}': deny}}");
            let (lines, text) = there_and_back(section, &rules);
            assert_eq!(&lines, expected, "{rules}");
            let plain = pattern.replace("**", "*");
            let is_there = |pattern: &str| text.contains(&format!("\"{pattern}\": deny\n"));
            assert!(is_there(pattern) || is_there(&plain), "{rules}\n{text}");
            assert!(text.contains("    \"*\": allow\n"), "{rules}\n{text}");
            assert!(!text.contains("    /*: deny\n"), "{rules}\n{text}");
        }
    }
}

/// The order in which OpenCode merges: modes in settings last, `.opencode` of the home directory after the
/// project's, and all `tools` in settings below all `permission`.
#[test]
fn import_follows_the_merge_order_of_settings() {
    let path = ".opencode/agents/r.md";
    let file = |bash: &str| format!("---\ndescription: d\npermission:\n  bash: {bash}\n---\nHi.\n");
    let (allows, denies) = (file("allow"), file("deny"));
    let none = "---\ndescription: d\n---\nHi.\n".to_owned();
    let mode = "{\"mode\": {\"r\": {\"permission\": {\"bash\": \"deny\"}}}}";
    let settings = "{\"agent\": {\"r\": {\"permission\": {\"bash\": \"deny\"}}}}";
    let cases: &[(&str, &str, &str, &str)] = &[
        (&allows, "opencode.json", mode, "deny"),
        (&allows, "opencode.json", settings, "allow"),
        (&allows, ".opencode/opencode.json", settings, "allow"),
        (&allows, "~/.opencode/opencode.json", settings, "deny"),
        (&allows, "~/.opencode/agents/r.md", &denies, "deny"),
        (&allows, "~/.config/opencode/agents/r.md", &denies, "allow"),
        (&none, "opencode.json", settings, "deny"),
    ];
    for (text, other, around, expected) in cases {
        let files = [(path, *text), (*other, *around)];
        let found = imported("opencode", &files, path).expect("an agent");
        assert_eq!(rules_of(&found, Section::Bash), *expected, "{other} {around}");
    }
    let user = ("~/.config/opencode/opencode.json", "{\"permission\": {\"bash\": \"deny\"}}");
    let files = [(path, none.as_str()), user, ("opencode.json", "{\"tools\": {\"bash\": true}}")];
    let found = imported("opencode", &files, path).expect("an agent");
    assert_eq!(rules_of(&found, Section::Bash), "deny");
}

/// A setting elsewhere that takes precedence is not overruled by the rendered file.
#[test]
fn a_milder_setting_that_takes_precedence_is_refused() {
    let allows = "---\ndescription: d\npermission:\n  bash: allow\n---\nHi.\n";
    let mode = "{\"mode\": {\"x\": {\"permission\": {\"bash\": \"allow\"}}}}";
    let files = crate::agent("x", "[permissions.bash]\nintent = \"deny\"\n");
    for (path, text) in [("opencode.json", mode), ("~/.opencode/agents/x.md", allows)] {
        let wish = crate::Wish { existing: &[(path, text)], ..crate::Wish::default() };
        let rendered = crate::rendering("opencode", &files, wish).agents.remove(0);
        assert!(rendered.refused.is_some(), "{path}");
    }
}
