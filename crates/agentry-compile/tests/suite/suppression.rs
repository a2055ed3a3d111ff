//! Suppressions, severities and excludes.

use agentry_compile::Baseline;

use crate::world::{report, world};

const GOOD: &str = "description: Answers questions\nsoul: You answer questions.\n";

#[test]
fn a_suppression_hides_its_rule_on_its_line_or_the_next() {
    let cases: &[(&str, &[&str])] = &[
        ("team: x\n", &["AG0101"]),
        ("team: x # agentry: allow(unknown-field) ours\n", &[]),
        ("team: x # agentry: allow(AG0101) ours\n", &[]),
        ("# agentry: allow(unknown-field) ours\nteam: x\n", &[]),
        ("# agentry: allow(unknown-field) ours\n\n# another comment\nteam: x\n", &[]),
        ("# agentry: allow(unknown-field) ours\nteam: x\nteam2: x\n", &["AG0101"]),
        ("# agentry: allow-file(unknown-field) ours\nteam: x\nteam2: x\n", &[]),
        ("# agentry: allow(unknown-field)\nteam: x\n", &["AG0007"]),
        ("# agentry: allow(unknwon-field) ours\nteam: x\n", &["AG0007", "AG0101"]),
        ("# agentry: allow(unknown-field) ours\ntags: [x]\n", &["AG0008"]),
        ("team: 'agentry: allow(unknown-field) not a comment'\n", &["AG0101"]),
        ("team: 'x # agentry: allow(unknown-field) text'\n", &["AG0101"]),
        ("team: \"x\n  # agentry: allow(unknown-field) text\"\n", &["AG0101"]),
        ("team: 'x' # agentry: allow(unknown-field) it's ours\n", &[]),
    ];
    for (text, expected) in cases {
        let manifest = format!("name: helper\n{GOOD}{text}");
        let found = report(&world(&[("helper.agent", &manifest)]));
        let codes: Vec<_> = found.iter().filter_map(|line| line.split(['[', ']']).nth(1)).collect();
        assert_eq!(codes, *expected, "{text}\n{found:#?}");
    }
}

#[test]
fn configuration_changes_severities_and_excludes_paths() {
    let manifest = format!("name: helper\n{GOOD}team: x\n");
    let cases: &[(&str, &[&str])] = &[
        ("", &["warning", "warning"]),
        ("[check]\nseverity = { unknown-field = 'error' }\n", &["error", "error"]),
        ("[check]\nseverity = { AG0101 = 'note' }\n", &["note", "note"]),
        ("[check]\nseverity = { unknown-field = 'off' }\n", &[]),
        ("[check]\nexclude = ['vendor']\n", &["warning"]),
        ("[check]\nexclude = ['**/*.agent']\n", &[]),
    ];
    for (config, expected) in cases {
        let other = manifest.replace("helper", "other");
        let found = report(&world(&[
            ("agentry.toml", config),
            ("helper.agent", &manifest),
            ("vendor/other.agent", &other),
        ]));
        let severities: Vec<_> =
            found.iter().filter_map(|line| line.split([' ', '[']).nth(1)).collect();
        assert_eq!(severities, *expected, "{config}\n{found:#?}");
    }
}

#[test]
fn a_baseline_reads_back_what_it_writes_and_refuses_other_versions() {
    let text = Baseline::default().to_text();
    assert_eq!(Baseline::parse(&text), Ok(Baseline::default()));
    assert_eq!(
        Baseline::parse(r#"{"version": 2, "findings": []}"#),
        Err("version 2 is not known; this program reads 1".to_owned())
    );
    assert!(Baseline::parse("{").is_err());
    assert!(Baseline::parse(r#"{"version": 1, "findings": [{"path": "x"}]}"#).is_err());
}
