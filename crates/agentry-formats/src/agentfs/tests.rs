//! Tests of AgentFS: fixtures as snapshots, the examples of every rule, and round trips.

use std::fmt::Write as _;
use std::path::Path;

use agentry_model::{Agent, Format, MemoryFile, Schedule, SkillPack, tree};
use agentry_text::{Data, FileId, Findings, Severity, SourceFiles, Span, Spanned, json};
use proptest::prelude::*;

use super::INFO;
use crate::{AgentPackage, MemoryFiles, OutputShape, WriteTarget, convert};

type Texts = Vec<(String, String)>;

/// Reads the agent of `files`; returns it with its findings and the files read.
fn read(files: &Texts) -> (Agent, Findings, SourceFiles) {
    let mut memory = MemoryFiles::new(files.clone());
    let mut findings = Findings::default();
    let mut package = AgentPackage {
        main: "agent.json".to_owned(),
        dir_name: "folder".to_owned(),
        dir: String::new(),
        files: &mut memory,
    };
    let agent = (INFO.read)(&mut package, &mut findings);
    (agent, findings, memory.sources)
}

/// Returns the findings as `path:line:column CODE message`, in source order.
fn shown(findings: Findings, sources: &SourceFiles) -> Vec<String> {
    let line = |found: &agentry_text::Diagnostic| {
        let place = sources.start(found.span);
        let path = sources.path(found.span);
        let code = found.rule.code;
        format!("{path}:{}:{} {code} {}", place.line, place.column, found.message)
    };
    findings.into_sorted().iter().map(line).collect()
}

/// Returns the messages of the errors.
fn errors(findings: &Findings) -> Vec<&str> {
    let error = |found: &&agentry_text::Diagnostic| found.severity == Severity::Error;
    findings.iter().filter(error).map(|found| found.message.as_str()).collect()
}

fn problems(files: &Texts) -> Vec<String> {
    let (_, findings, sources) = read(files);
    shown(findings, &sources)
}

/// Makes a complete agent with this `agent.json`.
fn around(definition: &str) -> Texts {
    let text = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    vec![
        text("agent.json", definition),
        text("persona.md", "Be brief.\n"),
        text("principles.md", "## Never Do\n- Lie\n"),
    ]
}

/// Splits a fixture into files; each starts with a line `==> path`.
#[expect(clippy::disallowed_methods, reason = "a test reads its fixtures")]
fn fixture(path: &Path) -> Texts {
    let text = std::fs::read_to_string(path).expect("a fixture");
    let mut files: Texts = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("==> "), files.last_mut()) {
            (Some(path), _) => files.push((path.to_owned(), String::new())),
            (None, Some((_, text))) => {
                let _ = writeln!(text, "{line}");
            }
            (None, None) => {}
        }
    }
    files
}

fn target() -> WriteTarget {
    WriteTarget {
        name: "folder".to_owned(),
        shape: OutputShape::Directory,
        ..WriteTarget::default()
    }
}

#[test]
fn fixtures_match_their_snapshots() {
    crate::tests::each_fixture("agentfs/fixtures", "txt", |path| {
        let files = fixture(path);
        let (agent, findings, sources) = read(&files);
        let broken = findings.has_errors();
        let model = tree::tree(&agent).to_data();
        let mut out = shown(findings, &sources).join("\n");
        let _ = write!(out, "\n\n== model\n{}", json::emit(&model));
        let converted = convert(&agent, Format::AgentFs, &target());
        for (path, text) in &converted.files {
            let _ = write!(out, "\n== {path}\n{text}");
        }
        for loss in &converted.losses {
            let _ = write!(out, "\n== lost: {} {}: {}", loss.field, loss.kind, loss.detail);
        }
        insta::assert_snapshot!(out);
        assert_eq!(errors(&converted.findings), Vec::<&str>::new());
        if !broken {
            let again = tree::tree(&converted.agent).to_data();
            assert_eq!(sorted(&again), sorted(&model), "{}", path.display());
        }
    });
}

/// Returns the data with sorted keys, for comparison.
fn sorted(data: &Data) -> serde_json::Value {
    let text = data.to_json().to_string();
    let map: std::collections::BTreeMap<String, serde_json::Value> =
        serde_json::from_str(&text).expect("a map");
    serde_json::to_value(map).expect("json")
}

#[test]
fn every_rule_matches_its_examples() {
    for rule in INFO.rules {
        for (example, expected) in [(&rule.bad, vec![rule.code]), (&rule.good, vec![])] {
            let text = |(path, bytes): (String, Vec<u8>)| {
                let path = path.trim_start_matches("helper/").to_owned();
                (path, String::from_utf8(bytes).expect("text"))
            };
            let (_, findings, _) = read(&example.files().into_iter().map(text).collect());
            let codes: Vec<_> = findings.iter().map(|found| found.rule.code).collect();
            assert_eq!(codes, expected, "{}", rule.name);
        }
    }
}

#[test]
fn rule_codes_are_sorted_and_unique() {
    let codes: Vec<_> = INFO.rules.iter().map(|rule| rule.code).collect();
    let mut sorted = codes.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(codes, sorted);
}

#[test]
fn both_generations_of_agent_json_are_read() {
    let cases = [
        // A bare name is the newer generation.
        (r#"{"name": "X"}"#, vec![]),
        (r#"{"name": "X", "llm": {}}"#, vec![]),
        // The generation of the specification requires name, version and role.
        (r#"{"name": "X", "version": "1.0.0", "role": "Y"}"#, vec![]),
        (
            r#"{"name": "X", "role": "Y"}"#,
            vec!["agent.json:1:2 AG0102 `agent.json` has no `version`"],
        ),
        (
            r#"{"version": "1.0.0", "role": "Y"}"#,
            vec!["agent.json:1:2 AG0102 `agent.json` has no `name`"],
        ),
        (
            r#"{"name": "X", "risk_level": "low"}"#,
            vec![
                "agent.json:1:2 AG0102 `agent.json` has no `role`",
                "agent.json:1:2 AG0102 `agent.json` has no `version`",
            ],
        ),
        // One newer field makes it the newer generation.
        (r#"{"name": "X", "role": "Y", "llm": {}}"#, vec![]),
        (r#"{"name": "X", "role": "Y", "heartbeat": {"enabled": false}}"#, vec![]),
        (r#"{"llm": {}}"#, vec!["agent.json:1:2 AG0102 `agent.json` has no `name`"]),
        ("null", vec!["agent.json:1:1 AG0102 `agent.json` has no `name`"]),
        ("[]", vec!["agent.json:1:1 AG0110 `agent.json` holds a list, not fields"]),
    ];
    for (text, expected) in cases {
        assert_eq!(problems(&around(text)), expected, "{text}");
    }
}

#[test]
fn invalid_field_values_are_reported() {
    let cases = [
        (r#""version": "1.0""#, "AG0109 `version: 1.0` is not a semantic version"),
        (r#""version": 1"#, "AG0109 `version: 1` is a number, not a version"),
        (r#""role": 3"#, "AG0103 `role` is a whole number, expected a string"),
        (r#""traits": "Calm""#, "AG0103 `traits` is a string, expected a list"),
        (r#""traits": [1]"#, "AG0103 `traits` is a whole number, expected a string"),
        (r#""risk_level": "huge""#, "AG0104 `risk_level` cannot be `huge`"),
        (r#""access_control": []"#, "AG0103 `access_control` is a list, expected a map"),
        (r#""access_control": {"ownr": "me"}"#, "AG0101 `access_control` has no field `ownr`"),
        (r#""greting": "Hi""#, "AG0101 `agent.json` has no field `greting`"),
        (r#""max_concurrent_sessions": 0"#, "AG0106 `max_concurrent_sessions` is out of range"),
        (r#""llm": {"maxRetryDelayMs": -1}"#, "AG0106 `maxRetryDelayMs` is out of range"),
        (
            r#""heartbeat": {"enabled": "no"}"#,
            "AG0103 `enabled` is a string, expected `true` or `false`",
        ),
        (r#""x-own": 1"#, ""),
        (r#""extensions": {"a": 1}"#, ""),
        (r#""description": null"#, ""),
    ];
    for (field, expected) in cases {
        let found = problems(&around(&format!("{{\"name\": \"X\", \"id\": \"x\", {field}}}")));
        let found: Vec<_> = found.iter().filter_map(|line| line.split_once(' ')).collect();
        let found: Vec<_> = found.iter().map(|(_, rest)| *rest).collect();
        let expected: Vec<_> = Some(expected).into_iter().filter(|text| !text.is_empty()).collect();
        assert_eq!(found, expected, "{field}");
    }
}

#[test]
fn names_come_from_the_id_the_name_or_the_folder() {
    let uuid = r#"{"id": "0f8fad5b-d9cb-469f-a165-70867728950e", "name": "Legal Advisor"}"#;
    let cases = [
        (r#"{"name": "Legal Advisor"}"#, "legal-advisor"),
        (r#"{"id": "counsel", "name": "Legal Advisor"}"#, "counsel"),
        (r#"{"id": "Not A Slug", "name": "Legal Advisor"}"#, "legal-advisor"),
        (uuid, "legal-advisor"),
        (r#"{"name": "法律顾问"}"#, "folder"),
        ("{}", "folder"),
    ];
    for (text, expected) in cases {
        assert_eq!(read(&around(text)).0.name(), expected, "{text}");
    }
}

#[test]
fn missing_texts_are_reported_only_where_required() {
    let text = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let agent = || text("agent.json", r#"{"name": "X"}"#);
    let persona = || text("persona.md", "Be brief.");
    let cases = [
        (
            vec![agent(), text("principles.md", "# Never\n- x")],
            vec!["agent.json:1:1 AG4001 `persona.md` is missing"],
        ),
        (
            vec![agent(), text("persona.md", " \n"), text("principles.md", "# 绝不做\n- x")],
            vec!["persona.md:1:1 AG4001 `persona.md` is empty"],
        ),
        (vec![agent(), persona()], vec!["agent.json:1:1 AG4002 `principles.md` is missing"]),
        (
            vec![agent(), persona(), text("principles.md", "\n## Must Do\n- x")],
            vec![
                "principles.md:1:1 AG4003 `principles.md` has no section `Never Do`, so nothing in it is protected",
            ],
        ),
        (
            vec![agent(), persona(), text("principles.md", "## Must Do\n- x\n## Nevr Do\n- y")],
            vec![
                "principles.md:3:4 AG4003 `principles.md` has no section `Never Do`, so nothing in it is protected",
            ],
        ),
        (
            vec![agent(), persona(), text("principles.md", "## Never Do\n\n## Must Do\n- x")],
            vec!["principles.md:1:1 AG4014 nothing stands under this heading"],
        ),
        (vec![agent(), persona(), text("principles.md", "#### MUST NOT\n- x")], vec![]),
    ];
    for (files, expected) in cases {
        assert_eq!(problems(&files), expected, "{files:?}");
    }
}

#[test]
fn memory_findings_have_positions() {
    let cases = [
        ("plain text", vec![]),
        ("---\ntype: rule\n---\ntext", vec![]),
        ("---\ntype: lesson\n---\ntext", vec!["AG0105 `type` is `lesson`, which has no meaning"]),
        ("---\nimportance: urgent\n---\ntext", vec!["AG0104 `importance` cannot be `urgent`"]),
        (
            "---\nsource: rumour\n---\ntext",
            vec!["AG0105 `source` is `rumour`, which has no meaning"],
        ),
        (
            "---\ncreated: 2026-01-15\n---\ntext",
            vec!["AG6051 `created: 2026-01-15` is not a time of RFC 3339"],
        ),
        ("---\ncreated: 2026-01-15T10:30:00Z\n---\ntext", vec![]),
        ("---\nmood: good\n---\ntext", vec!["AG0101 the memory has no field `mood`"]),
        ("---\ntype: fact\n---\n", vec!["AG6052 the memory has no text"]),
        ("---\n- a\n---\ntext", vec!["AG0110 the memory holds a list, not fields"]),
    ];
    for (text, expected) in cases {
        let mut files = around(r#"{"name": "X"}"#);
        files.push(("memory/a/b.md".to_owned(), text.to_owned()));
        let found = problems(&files);
        let found: Vec<_> = found.iter().filter_map(|line| line.split_once(' ')).collect();
        let found: Vec<_> = found.iter().map(|(_, rest)| *rest).collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn finished_schedules_are_read_as_disabled() {
    let schedule = |more: &str| {
        let mut files = around(r#"{"name": "X"}"#);
        let text = format!(
            r#"{{{more} "schedule": {{"kind": "cron", "cron": "0 9 * * *"}}, "action": {{"type": "query", "prompt": "x"}}}}"#
        );
        files.push(("schedules/daily.json".to_owned(), text));
        let (agent, findings, _) = read(&files);
        assert!(findings.is_empty(), "{findings:?}");
        let schedule = agent.schedules.into_iter().next().expect("a schedule");
        (schedule.name.map(|name| name.value), schedule.enabled.map(|enabled| enabled.value))
    };
    let cases = [
        ("", Some("daily"), None),
        (r#""id": "x", "enabled": true,"#, Some("x"), Some(true)),
        (r#""enabled": true, "status": "paused","#, Some("daily"), Some(false)),
        (r#""status": "active","#, Some("daily"), None),
    ];
    for (more, name, enabled) in cases {
        assert_eq!(schedule(more), (name.map(str::to_owned), enabled), "{more}");
    }
}

fn at<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Span::start_of(FileId(0)))
}

/// Makes an agent in which every text is `text`.
fn agent_of(text: &str) -> Agent {
    let field = || Some(at(text.to_owned()));
    let mut agent = Agent::default();
    agent.identity.name = field();
    agent.identity.version = field();
    agent.identity.role = field();
    agent.identity.icon = field();
    agent.instructions.system = field();
    agent.instructions.rules = field();
    agent.model.preferred = field().map(|model| vec![model]);
    let path = text.to_owned();
    agent.skill_packs.push(SkillPack { path, text: field(), ..SkillPack::default() });
    agent.memories.push(MemoryFile {
        path: text.to_owned(),
        kind: field(),
        importance: None,
        created: field(),
        source: None,
        pinned: None,
        text: field(),
    });
    agent.schedules.push(Schedule { name: field(), cron: field(), ..Schedule::default() });
    agent.settings.push(("heartbeat".to_owned(), at(Data::str(text))));
    agent.extensions.push((text.to_owned(), at(Data::str(text))));
    agent
}

#[test]
fn missing_fields_are_filled_in_on_conversion() {
    let cases = ["x", "My Agent", "1.0", "---", "../..", "", "法", "a/b", "README.md", "_index.md"];
    for text in cases {
        let converted = convert(&agent_of(text), Format::AgentFs, &target());
        assert_eq!(errors(&converted.findings), Vec::<&str>::new(), "{text}");
        assert_eq!(converted.agent.memories.len(), 1, "{text}");
        assert_eq!(converted.agent.skill_packs.len(), 1, "{text}");
        let safe = |path: &str| !path.contains("..") && !path.starts_with('/');
        assert!(converted.files.iter().all(|(path, _)| safe(path)), "{:?}", converted.files);
    }
}

#[test]
fn filling_in_defaults_is_idempotent() {
    let mut agent = Agent::default();
    (INFO.defaults)(&mut agent);
    let filled = agent.clone();
    (INFO.defaults)(&mut agent);
    assert_eq!(agent, filled);
    assert_eq!(agent.settings.first().map(|(name, _)| name.as_str()), Some("heartbeat"));
}

proptest! {
    #[test]
    fn reading_never_fails(text in "\\PC{0,200}|[-\\[\\]{}:,\"# \\n0-9a-zL()]{0,300}") {
        let paths = ["agent.json", "persona.md", "principles.md", "memory/a.md", "skills/a/SKILL.md",
            "schedules/a.json", "runs/1/receipts/a.yaml"];
        let files: Texts = paths.iter().map(|path| ((*path).to_owned(), text.clone())).collect();
        let (agent, findings, sources) = read(&files);
        for found in findings.iter() {
            let length = sources.get(found.span.file).map_or(0, |source| source.text.len());
            prop_assert!(found.span.range().end <= length, "{found:?}");
        }
        convert(&agent, Format::AgentFs, &target());
    }

    #[test]
    fn written_agents_read_without_errors(text in "\\PC{0,40}") {
        let converted = convert(&agent_of(&text), Format::AgentFs, &target());
        prop_assert_eq!(errors(&converted.findings), Vec::<&str>::new(), "{:?}", converted.files);
    }
}
