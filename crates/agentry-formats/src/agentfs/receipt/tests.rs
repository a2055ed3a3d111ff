//! Tests of receipts, by example.

use agentry_text::{Findings, SourceFiles};

use super::{check, is_receipt_id};

fn look(text: &str) -> Vec<String> {
    let mut sources = SourceFiles::default();
    let source = sources.add("runs/1/receipts/a.yaml", text);
    let mut findings = Findings::default();
    check(&source, &mut findings);
    let line = |found: &agentry_text::Diagnostic| {
        let place = sources.start(found.span);
        format!("{}:{} {} {}", place.line, place.column, found.rule.code, found.message)
    };
    findings.into_sorted().iter().map(line).collect()
}

const ID: &str = "receipt_id: rcpt_20260115_143022_abc123\n";

#[test]
fn a_full_receipt_has_no_findings() {
    let findings = look(
        "receipt_id: rcpt_20260115_143022_abc123\nrepo_ref: a1b2\nsession: {session_id: s, agent_id: a, \
         user_id: u}\ntask:\n  input_summary: in\n  output_summary: out\n  outcome: {status: needs escalation, \
         auto_completed: true, user_edits: 2}\nstep_types: {deterministic: 3, adaptive: 5, human_gate: \
         1}\ntime_metrics: {agent_execution_time: 45, actual_human_time: 120.5}\ntool_calls: []\n",
    );
    assert_eq!(findings, Vec::<String>::new());
}

#[test]
fn invalid_receipt_fields_are_reported() {
    let with = |text: &str| format!("{ID}{text}");
    let evolution = |text: &str| format!("receipt:\n  type: self-evolution\n  {text}\n");
    let items = "timestamp: 2026-01-15T10:30:00Z\n  learning_items:\n  - {status: applied}\n  - {status: \
                 user_rejected}\n  metadata: ";
    let cases = [
        ("repo_ref: x\n".to_owned(), vec!["1:1 AG0102 the receipt has no `receipt_id`"]),
        ("receipt_id: r1\n".to_owned(), vec!["1:13 AG6071 `r1` is not an id of a receipt"]),
        (with("step_types: {adaptive: -1}"), vec!["2:24 AG0106 `adaptive` is out of range"]),
        (with("task: {outcome: {status: done}}"), vec!["2:26 AG0104 `status` cannot be `done`"]),
        (
            with("time_metrics: {actual_human_time: soon}"),
            vec!["2:35 AG0103 `actual_human_time` is a string, expected a number"],
        ),
        (with("session: x"), vec!["2:10 AG0103 `session` is a string, expected a map"]),
        (
            evolution("timestamp: today"),
            vec!["3:14 AG6072 `timestamp: today` is not a time of RFC 3339"],
        ),
        (
            evolution(&format!("{items}{{total_items: 2, applied: 1, rejected: 1, skipped: 0}}")),
            vec![],
        ),
        (
            evolution(&format!("{items}{{total_items: 3, applied: 2}}")),
            vec![
                "7:27 AG6073 `total_items` says 3, but `learning_items` has 2",
                "7:39 AG6073 `applied` says 2, but `learning_items` has 1",
            ],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(look(&text), expected, "{text}");
    }
}

#[test]
fn receipt_ids_are_validated() {
    let cases = [
        ("rcpt_20260115_143022_abc123", true),
        ("rcpt_20240229_235959_000000", true),
        ("rcpt_20260230_143022_abc123", false),
        ("rcpt_20260115_250000_abc123", false),
        ("rcpt_20260115_143022_abc12", false),
        ("rcpt_20260115_143022_abc12é", false),
        ("rcpt_20260115_143022", false),
        ("rcpt_2026é115_143022_abc123", false),
        ("", false),
    ];
    for (text, expected) in cases {
        assert_eq!(is_receipt_id(text), expected, "{text}");
    }
}
