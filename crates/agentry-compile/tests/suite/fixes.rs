//! A finding that offers a fix is repaired by the option that it names, and nothing else changes.

use std::sync::Arc;

use agentry_compile::model::Format;
use agentry_compile::text::edit::apply;
use agentry_compile::text::{Applicability, Diagnostic, Fix, SourceFiles};
use agentry_compile::{
    FixMode, MemoryWorld, WorkspaceConfig, check, check_harness, fix, fix_harness, registry,
};

use crate::examples::format_of;
use crate::world::{agents, harness_files, world};

/// The option that a fix names.
fn mode(fix: &Fix) -> FixMode {
    match fix.applicability {
        Applicability::Safe => FixMode::Safe,
        Applicability::Unsafe => FixMode::Unsafe,
    }
}

fn is_same(one: &Diagnostic, other: &Diagnostic) -> bool {
    one.rule.code == other.rule.code && one.message == other.message
}

/// The result of a check, or of a fix.
struct Checked {
    diagnostics: Vec<Diagnostic>,
    sources: SourceFiles,
    files: Vec<(String, Vec<u8>)>,
    count: usize,
}

/// Checks one agent or file, or fixes it.
type CheckOrFix<'w> = Box<dyn Fn(Option<FixMode>) -> Checked + 'w>;

/// The agents and the files of harnesses of a world, with what checks and fixes each of them.
fn checks(world: &MemoryWorld, format: Option<Format>) -> Vec<(String, CheckOrFix<'_>)> {
    let mut all: Vec<(String, CheckOrFix<'_>)> = Vec::new();
    let config = Arc::new(WorkspaceConfig::read(world, ""));
    for found in agents(world, format) {
        let config = Arc::clone(&config);
        let path = found.path.clone();
        let run = move |mode: Option<FixMode>| {
            let (files, count, compiled) = match mode {
                Some(mode) => {
                    let fixed = fix(world, &found, &config, mode);
                    (fixed.files, fixed.count, fixed.compiled)
                }
                None => (Vec::new(), 0, check(world, &found, &config)),
            };
            let (diagnostics, sources) = (compiled.diagnostics, compiled.sources);
            Checked { diagnostics, sources, files, count }
        };
        all.push((path, Box::new(run)));
    }
    for found in harness_files(world, format) {
        let config = Arc::clone(&config);
        let path = found.path.clone();
        let run = move |mode: Option<FixMode>| {
            let (files, count, checked) = match mode {
                Some(mode) => {
                    let fixed = fix_harness(world, &found, &config, mode);
                    (fixed.files, fixed.count, fixed.checked)
                }
                None => (Vec::new(), 0, check_harness(world, &found, &config)),
            };
            let (diagnostics, sources) = (checked.diagnostics, checked.sources);
            Checked { diagnostics, sources, files, count }
        };
        all.push((path, Box::new(run)));
    }
    all
}

/// What is wrong with the fixes of one world. The fix of an only finding must be the only change.
fn problems(world: &MemoryWorld, format: Option<Format>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, run) in checks(world, format) {
        let before = run(None);
        let offered = before.diagnostics.iter().filter_map(|it| Some((it, it.fix.as_ref()?)));
        for (finding, offer) in offered {
            let fixed = run(Some(mode(offer)));
            let problem = |what: &str| format!("{} {}: {what}", finding.rule.code, finding.message);
            if fixed.diagnostics.iter().any(|left| is_same(left, finding)) {
                wrong.push(problem(&format!("the fix `{}` does not work", offer.title)));
            }
            // A fix may reveal other findings, whose fixes are applied as well.
            if before.diagnostics.len() > 1 || fixed.count > 1 {
                continue;
            }
            let source = before.sources.get(finding.span.file).expect("a file");
            let (expected, _) = apply(&source.text, [offer]);
            let changed = fixed.files.first().map(|(_, bytes)| String::from_utf8_lossy(bytes));
            if changed.as_deref() != Some(expected.as_str()) || fixed.files.len() != 1 {
                wrong.push(problem(&format!("more or less changed: {changed:?}")));
            }
        }
        // An unsafe fix is not applied by `--fix`.
        let safe = run(Some(FixMode::Safe));
        let has_safe = before
            .diagnostics
            .iter()
            .any(|it| it.fix.as_ref().is_some_and(|fix| fix.applicability == Applicability::Safe));
        if !has_safe && !safe.files.is_empty() {
            wrong.push(format!("{path}: `--fix` changed a file"));
        }
    }
    wrong
}

#[test]
fn the_fix_of_every_rule_works() {
    let mut wrong = Vec::new();
    for rule in registry() {
        let files = rule.bad.files();
        wrong.extend(problems(&MemoryWorld::new(files), format_of(rule)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The fixes of findings about published agents, which are longer than examples.
#[test]
fn the_fixes_of_real_agents_work() {
    let mut wrong = Vec::new();
    for agent in crate::corpus::agents() {
        wrong.extend(problems(&world(&[(agent.path.as_str(), agent.text.as_str())]), None));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A word in quotes stays in quotes, in every syntax.
#[test]
fn a_fix_keeps_the_quotes_of_a_word() {
    let cases: &[(&str, &str, &str)] = &[
        (".claude/settings.json", r#"{"permisions": {"deny": ["Read(./x)"]}}"#, r#""permissions""#),
        ("opencode.json", r#"{"permision": {"edit": "deny"}}"#, r#""permission""#),
        ("opencode.json", r#"{"permission": {"edit": "denny"}}"#, r#""deny""#),
        (
            "opencode.json",
            r#"{"agent": {"a": {"desciption": "A", "prompt": "x"}}}"#,
            r#""description""#,
        ),
        (
            "helper/agent.json",
            r#"{"name": "helper", "desciption": "A", "role": "r", "version": "1.0.0"}"#,
            r#""description""#,
        ),
        ("helper.agent", "name: helper\n'desciption': Helps\nsoul: You help.\n", "'description'"),
        ("helper/agent.toml", "name = \"helper\"\n\"desciption\" = \"Helps\"\n", "\"description\""),
        (
            ".claude/agents/a.md",
            "---\nname: a\n\"desciption\": Helps with it\n---\nHelp.\n",
            "\"description\"",
        ),
        (".mcp.json", r#"{"mcpServers": {"a": {"comand": "npx"}}}"#, r#""command""#),
    ];
    for (path, text, expected) in cases {
        let sibling = format!("{}/system-prompt.md", path.rsplit_once('/').map_or("", |it| it.0));
        let mut files = vec![(*path, *text)];
        if path.ends_with("agent.toml") {
            files.push((&sibling, "You help.\n"));
        }
        let world = world(&files);
        let changed = checks(&world, None).iter().any(|(_, run)| {
            let fixed = run(Some(FixMode::Unsafe));
            fixed.files.iter().any(|(_, bytes)| String::from_utf8_lossy(bytes).contains(expected))
        });
        assert!(changed, "{path}: {expected} is not written");
        let wrong = problems(&world, None);
        assert!(wrong.is_empty(), "{path}: {wrong:#?}");
    }
}

/// A fix works beside other findings, behind syntax errors, and many times in one file.
#[test]
fn many_fixes_apply_to_one_file() {
    let lines: Vec<String> = (0..14).map(|at| format!("x-{at}: a: b\n")).collect();
    let lines = lines.concat();
    let manifest = format!("name: helper\ndescription: Helps\nsoul: You help.\n{lines}");
    let broken = "---\ntitle: a: b\nicon: robot\nversion: 1\n---\n# A: b\n\nHelps.\n";
    let toml = "name = \"Helper\"\ndescription = \"Helps.\"\nteam = 1\n\
        [permissions.bash]\nintent = \"ask\"\nrules = [\"git log*:Allow\", \"ls *:allow\", \"ls *:allow\", \"x\"]\n";
    let cases: &[&[(&str, &str)]] = &[
        &[("helper.agent", &manifest)],
        &[("agents/x_helper.agent.md", broken)],
        &[("helper/agent.toml", toml), ("helper/system-prompt.md", "You help.\n")],
    ];
    for files in cases {
        let wrong = problems(&world(files), None);
        assert!(wrong.is_empty(), "{files:?}\n{wrong:#?}");
    }
}

/// A fix that makes the file worse is undone, and does not keep others from being applied.
#[test]
fn a_failing_fix_is_undone_alone() {
    // `nmae` cannot be renamed, because `name` is there already.
    let text = "name: helper\nnmae: other\ndescription: Helps\nsoul: You help.\nlicence: MIT\n";
    let world = world(&[("helper.agent", text)]);
    let found = agents(&world, None).remove(0);
    let fixed = fix(&world, &found, &WorkspaceConfig::default(), FixMode::Unsafe);
    let (_, bytes) = fixed.files.first().expect("a changed file");
    assert_eq!(String::from_utf8_lossy(bytes), text.replace("licence", "license"));
    let left = &fixed.compiled.diagnostics;
    assert!(left.iter().all(|found| found.fix.is_none()), "{left:#?}");
}
