//! Pi with the guard: its own tools are removed, and their replacements ask first.

use agentry_compile::targets::ListedFiles;
use agentry_compile::targets::{RenderScope, RenderSettings, render, target};

use crate::pi::subjects;
use crate::{GUARD, agent, file, one, rendering, report_of};

const LINES: &str = r#"
[permissions.bash]
intent = "deny"
rules = ["git push --force*:deny", "git *:allow"]
[permissions.edit]
intent = "deny"
"#;

#[test]
fn t51_with_the_guard_bash_rules_hold() {
    let rendered = one("pi", LINES, GUARD);
    let text = file(&rendered, ".pi/agents/helper.md");
    let own = "excludeTools: read, grep, find, ls, bash, powershell, edit, write\n\
               extensions: ../guard/helper.ts\n";
    assert!(text.contains(own), "{text}");
    assert!(!text.contains("\ntools:"), "{text}");
    let extension = file(&rendered, ".pi/guard/helper.ts");
    let mark = "// rendered by agentry from agents/helper/agent.toml\n";
    assert!(extension.starts_with(mark), "{extension}");
    assert!(extension.contains("const AGENT = \"helper\";\n"));
    assert!(extension.contains(
        "const GUARD = [\"agentry\",\"guard\",\"pi\",\"agents/helper/agent.toml\",\"--digest\",\""
    ));
    // A tool that is never allowed is not present.
    assert!(extension.contains(" = { read: pi.createReadTool, bash: pi.createBashTool };\n"));
    assert!(!extension.contains('@') || extension.contains("@earendil-works"), "{extension}");
}

#[test]
fn limits_of_the_guard_are_reported() {
    let report = report_of(&one("pi", LINES, GUARD));
    assert!(report.contains("gap permissions: Pi protects no file"), "{report}");
    assert!(report.contains("narrowed permissions: an ask is refused"), "{report}");
    assert!(!report.contains("permissions.bash"), "{report}");
}

#[test]
fn a_modified_guard_is_not_trusted() {
    let rendered = one("pi", LINES, GUARD);
    let agent = file(&rendered, "agents/helper.md").to_owned();
    let guard = file(&rendered, "guard/helper.ts").to_owned();
    let opened = [
        guard.replace("await permit(name, id, call, ctx);", ""),
        guard.replace("if (decision === \"allow\") return;", "return;"),
        guard.replace("\"agentry\",\"guard\"", "\"true\",\"guard\""),
        guard.replace("{ read:", "{ eval: eval(\"1\"), read:"),
        guard.replace("AGENT = \"helper\"", "AGENT = \"other\""),
        format!("{guard}process.exit(0);\n"),
        "// mine".to_owned(),
    ];
    let model = target("pi").expect("a target").model;
    let ways = |guard: Option<&str>, agent: &str| {
        let guard = guard.map(|text| (".pi/guard/helper.ts", text));
        let files: Vec<_> = [(".pi/agents/helper.md", agent)].into_iter().chain(guard).collect();
        model(&ListedFiles(&files), "helper").expect("an agent").ways.len()
    };
    assert_eq!(ways(Some(&guard), &agent), 0);
    for open in opened {
        assert_ne!(open, guard);
        assert!(ways(Some(&open), &agent) > 0, "{open}");
    }
    let less = agent.replace("excludeTools: read, ", "excludeTools: ");
    assert!(ways(Some(&guard), &less) > 0);
}

#[test]
fn the_main_session_is_guarded() {
    let lines = format!("mode = \"primary\"\n{LINES}");
    let rendered = one("pi", &lines, GUARD);
    assert_eq!(file(&rendered, ".pi/SYSTEM.md"), "You answer questions.\n");
    assert!(
        file(&rendered, ".pi/extensions/agentry-guard.ts").contains("const AGENT = \"helper\"")
    );
    let report = report_of(&rendered);
    assert!(report.contains("gap permissions: the main session has no limits where"), "{report}");
    assert!(rendered.refused.is_none(), "{report}");
}

#[test]
fn hostile_paths_inject_no_code_into_the_guard() {
    let mut files = agent("helper", LINES);
    for (path, _) in &mut files {
        *path = path.replace("agents/", "ag\nents\"]; process.exit(0); @TOOLS@/");
    }
    let rendered = rendering("pi", &files, GUARD).agents.remove(0);
    let text = file(&rendered, "guard/helper.ts");
    assert!(text.starts_with("// rendered by agentry from ag?ents\"]; process"), "{text}");
    let guards = text.lines().filter(|line| line.starts_with("const GUARD = [\"agentry\"")).count();
    assert_eq!(guards, 1, "{text}");
    assert!(!text.contains("\nents"), "{text}");
}

#[test]
fn the_guard_is_refused_in_the_user_scope() {
    let existing_files = ListedFiles::default();
    let settings = RenderSettings {
        scope: RenderScope::User,
        guard: true,
        shared: true,
        ..RenderSettings::new(&existing_files)
    };
    let subjects = subjects(&agent("helper", LINES));
    let rendering = render(target("pi").expect("a target"), &subjects, &settings);
    assert!(report_of(&rendering.agents[0]).contains("refused permissions: the guard needs"));
}

#[test]
fn renders_the_chiron_sample_with_the_guard() {
    let rendering = rendering("pi", &crate::chiron::files(), GUARD);
    insta::assert_snapshot!(crate::chiron::shown(&rendering));
}
