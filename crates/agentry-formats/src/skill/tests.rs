//! Tests of skills: every rule by example, and conversions between dialects.

use agentry_model::SkillPack;
use agentry_text::{Findings, SourceFiles};

use super::{RULES, SkillDialect, check_names, folder_path, read, write};

/// Reads a skill; returns it with its findings as `CODE line:column message`.
fn look(path: &str, dialect: SkillDialect, text: &str) -> (SkillPack, Vec<String>) {
    let mut sources = SourceFiles::default();
    let mut findings = Findings::default();
    let source = sources.add(&format!("skills/{path}"), text);
    let pack = read(source, path, dialect, &mut findings);
    let line = |found: &agentry_text::Diagnostic| {
        let place = sources.start(found.span);
        format!("{} {}:{} {}", found.rule.code, place.line, place.column, found.message)
    };
    (pack, findings.into_sorted().iter().map(line).collect())
}

fn codes(path: &str, dialect: SkillDialect, text: &str) -> Vec<String> {
    look(path, dialect, text).1
}

const DOCUMENT: &str = "\
---
metadata:
  id: contract-review
  version: 1.0.0
  name: Contract Review
  description: Reviews contracts
  author: The Team
  tags: [Legal]
  dependencies: []
  requiredTools: [Read, Write]
---

# Contract Review

## Execution Steps

### 1. File Parsing (Hardened Step)
- Read the file

### 2. Clause Analysis (Flexible Step)
- Look at each clause

### 3. User Confirmation (Human Gate)
- Wait
";

#[test]
fn the_documented_skill_is_read() {
    let (pack, findings) = look("contract-review/SKILL.md", SkillDialect::AgentFs, DOCUMENT);
    assert_eq!(findings, Vec::<String>::new());
    let text = |field: &Option<agentry_text::Spanned<String>>| {
        field.as_ref().map(|text| text.value.clone()).unwrap_or_default()
    };
    assert_eq!(text(&pack.name), "contract-review");
    assert_eq!(text(&pack.display_name), "Contract Review");
    assert_eq!(text(&pack.description), "Reviews contracts");
    assert_eq!(text(&pack.version), "1.0.0");
    assert_eq!(text(&pack.text), DOCUMENT);
    assert_eq!(pack.allowed_tools, None);
}

#[test]
fn fields_are_read_at_the_top_or_under_metadata() {
    let name = "contract-review/SKILL.md";
    let cases = [
        ("---\nname: contract-review\ndescription: x\n---\ntext", vec![]),
        (
            "---\nname: contract-review\ndescription: x\nversion: 1.0.0\nmetadata:\n  author: y\n---\ntext",
            vec![],
        ),
        (
            "---\nname: contract-review\n---\ntext",
            vec!["AG0102 2:1 the skill has no `description`"],
        ),
        ("---\ndescription: x\n---\ntext", vec!["AG0102 2:1 the skill has no `name`"]),
        (
            "---\nmetadata:\n  id: contract-review\n  name: Review\n---\ntext",
            vec![
                "AG0102 3:3 `metadata` has no `description`",
                "AG0102 3:3 `metadata` has no `version`",
            ],
        ),
        (
            "---\nmetadata: {id: a, version: 0.1, name: b, description: c}\n---\ntext",
            vec!["AG0109 2:28 `version: 0.1` is a number, not a version"],
        ),
        ("text only", vec!["AG6001 1:1 the skill has no metadata"]),
        (
            "---\nname: contract-review\ndescription: x\nallowed_tools: Read\n---\ntext",
            vec!["AG0101 4:1 the skill has no field `allowed_tools`"],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(codes(name, SkillDialect::AgentFs, text), expected, "{text}");
    }
}

#[test]
fn enumerated_fields_accept_the_values_of_all_readers() {
    let cases = [
        ("status: experimental", None),
        ("status: enabled", None),
        ("status: on", Some("AG0104 4:9 `status` cannot be `on`")),
        ("risk_level: critical", None),
        ("risk_level: extreme", Some("AG0104 4:13 `risk_level` cannot be `extreme`")),
        ("allowed-tools: Read, Write", None),
        ("allowed-tools: [Read, Write]", None),
        (
            "allowed-tools: 3",
            Some("AG0103 4:16 `allowed-tools` is a whole number, expected a list"),
        ),
        ("disable_model_invocation: true", None),
        ("disable-model-invocation: true", None),
        ("context: fork", None),
        ("x-own: 1", None),
        ("version: 1.0.0", None),
    ];
    for (line, expected) in cases {
        let text = format!("---\nname: a\ndescription: x\n{line}\n---\ntext");
        let expected: Vec<_> = expected.into_iter().collect();
        assert_eq!(codes("a/SKILL.md", SkillDialect::AgentFs, &text), expected, "{line}");
    }
}

#[test]
fn a_skill_of_an_agent_directory_needs_no_fields() {
    let cases = [
        ("review.md", "---\ndescription: x\n---\ntext", "review", vec![]),
        ("a/SKILL.md", "---\ndescription: x\nversion: 1.0\n---\ntext", "a", vec![]),
        (
            "review.md",
            "---\nname: other\n---\ntext",
            "other",
            vec!["AG6010 2:1 the skill has no description"],
        ),
        ("review.md", "text", "review", vec!["AG6001 1:1 the skill has no metadata"]),
    ];
    for (path, text, name, expected) in cases {
        let (pack, findings) = look(path, SkillDialect::AgentDir, text);
        assert_eq!(pack.name.map(|name| name.value).as_deref(), Some(name), "{text}");
        assert_eq!(findings, expected, "{text}");
    }
}

#[test]
fn invalid_names_and_descriptions_are_reported() {
    let long = format!("---\nname: a\ndescription: {}\n---\ntext", "x".repeat(1025));
    let most = format!("---\nname: a\ndescription: {}\n---\ntext", "é".repeat(1024));
    let cases = [
        (
            "---\nname: b\ndescription: x\n---\ntext",
            vec!["AG6003 2:7 the skill `b` lies in the folder `a`"],
        ),
        (
            "---\nname: Big Name\ndescription: x\n---\ntext",
            vec!["AG6002 2:7 `Big Name` holds `B`; only `a-z`, `0-9` and `-` are allowed"],
        ),
        ("---\nname: claude\ndescription: x\n---\ntext", vec!["AG6002 2:7 `claude` is reserved"]),
        (
            "---\nname: ''\ndescription: x\n---\ntext",
            vec!["AG6005 2:7 `name` of the skill is empty"],
        ),
        (
            "---\nname: a\ndescription: ' '\n---\ntext",
            vec!["AG6005 3:14 `description` of the skill is empty"],
        ),
        ("---\nname: a\ndescription: x\n---\n \n", vec!["AG6006 1:1 the skill has no text"]),
        (&long, vec!["AG6004 3:14 the description has 1025 characters"]),
        (&most, vec![]),
    ];
    for (text, expected) in cases {
        assert_eq!(codes("a/SKILL.md", SkillDialect::AgentFs, text), expected, "{text}");
    }
}

#[test]
fn steps_are_headings_and_list_items() {
    let steps = |body: &str| -> (Vec<String>, Vec<String>) {
        let text = format!("---\nname: a\ndescription: x\n---\n{body}\n");
        let (pack, findings) = look("a/SKILL.md", SkillDialect::AgentFs, &text);
        let shown = |step: &agentry_text::Spanned<agentry_model::SkillStep>| {
            format!("{}: {}", step.kind, step.title)
        };
        (pack.steps.iter().map(shown).collect(), findings)
    };
    let cases = [
        ("### 1. Parse (Hardened Step)", vec!["deterministic: Parse"], vec![]),
        ("## 2. Look (flexible step)", vec!["adaptive: Look"], vec![]),
        ("1. Parse (deterministic step): reads it", vec!["deterministic: Parse"], vec![]),
        ("2) Look (adaptive step)", vec!["adaptive: Look"], vec![]),
        ("3. **Ask** (human gate): wait", vec!["human_gate: Ask"], vec![]),
        ("3. **Ask (human gate)**: wait", vec!["human_gate: Ask"], vec![]),
        ("1. Ask (Human Gate) before sending", vec!["human_gate: Ask"], vec![]),
        ("### Ask (Human Gate)", vec!["human_gate: Ask"], vec![]),
        ("1. Read (all of it) now (adaptive step)", vec!["adaptive: Read (all of it) now"], vec![]),
        (
            "### 1. A (Human Gate)\n1. B (adaptive step)",
            vec!["human_gate: A", "adaptive: B"],
            vec![],
        ),
        ("```\n1. Parse (Hardened Step)\n```", vec![], vec![]),
        ("1. Parse (optional)", vec![], vec![]),
        ("Ask (Humane Gate)", vec![], vec![]),
        (
            "### 1. Ask (Humane Gate)",
            vec![],
            vec!["AG6007 5:13 `(Humane Gate)` is not a kind of step"],
        ),
        (
            "1. Ask (hardend step): x",
            vec![],
            vec!["AG6007 5:9 `(hardend step)` is not a kind of step"],
        ),
        ("1. Ask (first step): x", vec![], vec!["AG6007 5:9 `(first step)` is not a kind of step"]),
        ("1. Ask (see the next step) and go on", vec![], vec![]),
        ("1. (", vec![], vec![]),
    ];
    for (body, expected, findings) in cases {
        let expected = expected.into_iter().map(str::to_owned).collect();
        let findings = findings.into_iter().map(str::to_owned).collect();
        assert_eq!(steps(body), (expected, findings), "{body}");
    }
}

#[test]
fn allowed_tools_are_split() {
    let cases = [
        ("allowed-tools: Read, Bash(git log, git diff)", vec!["Read", "Bash(git log, git diff)"]),
        ("allowed-tools: Read Bash(git log)", vec!["Read", "Bash(git log)"]),
        ("allowed-tools: [Read, 'Bash(git *)']", vec!["Read", "Bash(git *)"]),
        ("allowed-tools: ''", vec![]),
        ("allowed-tools: []", vec![]),
    ];
    for (line, expected) in cases {
        let text = format!("---\nname: a\ndescription: x\n{line}\n---\ntext");
        let (pack, _) = look("a/SKILL.md", SkillDialect::AgentFs, &text);
        let tools = pack.allowed_tools.expect("written");
        let tools: Vec<_> = tools.iter().map(|tool| tool.value.as_str()).collect();
        assert_eq!(tools, expected, "{line}");
    }
    let text = "---\nname: a\ndescription: x\nallowed-tools: Read, Write\n---\ntext";
    let (pack, _) = look("a/SKILL.md", SkillDialect::AgentFs, text);
    let write = pack.allowed_tools.and_then(|tools| tools.last().map(|tool| tool.span.range()));
    assert_eq!(write.and_then(|range| text.get(range)), Some("Write"));
}

#[test]
fn duplicate_skill_names_are_reported() {
    let text = "---\nname: a\ndescription: x\n---\ntext";
    let packs = ["a/SKILL.md", "b/SKILL.md"].map(|path| look(path, SkillDialect::AgentFs, text).0);
    let mut findings = Findings::default();
    check_names(&packs, &mut findings);
    let messages: Vec<_> = findings.iter().map(|found| found.message.as_str()).collect();
    assert_eq!(messages, ["two skills are called `a`"]);
}

#[test]
fn converting_a_skill_rewrites_its_metadata() {
    let cases = [
        ("a/SKILL.md", DOCUMENT, "a/SKILL.md", DOCUMENT),
        (
            "tone.md",
            "Be kind.\n",
            "tone/SKILL.md",
            "---\nname: tone\ndescription: Be kind.\n---\n\nBe kind.\n",
        ),
        (
            "tone.md",
            "---\nname: tone\nallowed-tools: Read Write\n---\n# Tone\n\nBe kind.\n",
            "tone/SKILL.md",
            "---\nname: tone\ndescription: Tone\nallowed-tools: [Read, Write]\n---\n\n# Tone\n\nBe kind.\n",
        ),
        (
            "../../x.md",
            "---\ndescription: x\n---\nBe kind.\n",
            "x/SKILL.md",
            "---\nname: x\ndescription: x\n---\n\nBe kind.\n",
        ),
    ];
    for (path, text, folder, expected) in cases {
        let (pack, _) = look(path, SkillDialect::AgentDir, text);
        assert_eq!(folder_path(&pack), folder, "{text}");
        let written = write(&pack, SkillDialect::AgentFs);
        assert_eq!(written, expected, "{text}");
        let findings = codes(folder, SkillDialect::AgentFs, &written);
        assert_eq!(findings, Vec::<String>::new(), "{written}");
    }
}

#[test]
fn a_skill_without_text_is_written_from_its_fields() {
    let (mut pack, _) = look("contract-review/SKILL.md", SkillDialect::AgentFs, DOCUMENT);
    pack.text = None;
    let written = write(&pack, SkillDialect::AgentFs);
    let (again, findings) = look("contract-review/SKILL.md", SkillDialect::AgentFs, &written);
    assert_eq!(findings, Vec::<String>::new(), "{written}");
    let plain =
        |pack: &SkillPack| -> Vec<_> { pack.steps.iter().map(|s| s.value.clone()).collect() };
    assert_eq!(plain(&again), plain(&pack));
}

#[test]
fn every_rule_matches_its_examples() {
    for rule in RULES {
        for (example, expected) in [(&rule.bad, vec![rule.code]), (&rule.good, vec![])] {
            let mut found = Vec::new();
            let mut files =
                crate::MemoryFiles::new(example.files().into_iter().map(|(path, bytes)| {
                    (
                        path.trim_start_matches("helper/").to_owned(),
                        String::from_utf8(bytes).expect("text"),
                    )
                }));
            let mut findings = Findings::default();
            let dir = rule.code == "AG6010";
            let dialect = if dir { SkillDialect::AgentDir } else { SkillDialect::AgentFs };
            let (main, dir_name, dir) = Default::default();
            let mut package = crate::AgentPackage { main, dir_name, dir, files: &mut files };
            super::read_all(&mut package, "skills", dialect, &mut findings);
            found.extend(findings.iter().map(|found| found.rule.code));
            assert_eq!(found, expected, "{}", rule.name);
        }
    }
}
