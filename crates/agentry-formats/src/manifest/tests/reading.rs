//! Tests of the reader: fixtures with their models and findings.

use agentry_model::tree;
use agentry_text::yaml;

use super::{fixtures, read, read_one, read_path};

/// Returns a fixture as read: the tree of the model, the findings and the hash.
#[test]
fn fixtures_match_their_snapshots() {
    for name in ["full.agent", "documented.agent", "odd.agent", "broken.agent", "directory"] {
        let outcome = read_path(&fixtures().join("read").join(name));
        let hash = match &outcome.hash {
            Ok(hash) => hash.hash.clone(),
            Err(refusal) => format!("no hash: `{}` is not {}", refusal.field, refusal.reason),
        };
        let tree = yaml::emit(&tree::tree(&outcome.agent).to_data());
        let shown = format!("{tree}---\n{}\n---\n{hash}\n", outcome.report().join("\n"));
        insta::with_settings!({ snapshot_path => "../fixtures/snapshots", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(name.replace('.', "-"), shown);
        });
    }
}

#[test]
fn findings_have_positions() {
    let cases: &[(&str, &[&str])] = &[
        ("name: a\nversion: banana\n", &["2:10 AG3001"]),
        ("name: ''\n", &["1:7 AG3002"]),
        ("name: \"a\\nb\"\n", &["1:7 AG3002"]),
        ("name: a/b\n", &["1:7 AG3002"]),
        ("name: ..\n", &["1:7 AG3002"]),
        ("name: deep researcher\n", &[]),
        ("apiVersion: agent/v2\nname: a\n", &["1:13 AG0105"]),
        (
            "name: a\nmodel: {context: potato, fallback: whatever}\n",
            &["2:18 AG0105", "2:36 AG0105"],
        ),
        (
            "name: a\nmodel: {preferred: [gpt, /x, y/, a/b]}\n",
            &["2:21 AG3018", "2:26 AG3018", "2:30 AG3018"],
        ),
        ("name: a\nbehavior: {temperature: -1, max_steps: -1}\n", &["2:25 AG0106", "2:40 AG0106"]),
        ("name: a\nbehavior: {temperature: .nan}\n", &["2:25 AG0106"]),
        (
            "name: a\nobservability: {cost_limit: -1, step_limit: -5}\n",
            &["2:29 AG0106", "2:45 AG0106"],
        ),
        ("name: a\nobservability: {cost_limit: .inf}\n", &["2:29 AG0106"]),
        ("name: a\nobservability: {cost_limit: .nan}\n", &["2:29 AG0106"]),
        ("name: a\nbehavior: {max_steps: 20.5}\n", &["2:23 AG0103"]),
        ("name: a\nbehavior: {max_steps: '1_0'}\n", &[]),
        ("name: a\nbehavior: {max_steps: 99999999999999999999}\n", &["2:23 AG0106"]),
        ("name: a\nversion:\n", &["2:9 AG0103"]),
        ("name: a\nauthor:\n", &[]),
        ("name: a\ntags:\n", &["2:6 AG0103"]),
        ("name:\n", &["1:1 AG0102"]),
        ("", &["1:1 AG0102"]),
        ("name: a\nname: b\n", &["2:1 AG0053"]),
        ("name: a\nmemory: {shared: on}\n", &["2:18 AG3006"]),
        ("name: a\nmemory: {shared: 'on'}\n", &[]),
        ("name: on\n", &["1:7 AG0103"]),
        (
            "name: a\nextensions: {x: {a: 017, b: 12:30, c: 1e3, d: 2024-01-01, on: 1}}\n",
            &["2:21 AG3006", "2:29 AG3006", "2:39 AG3006", "2:59 AG3006"],
        ),
        ("name: a\ntrust: {gpu: full}\n", &["2:9 AG0101"]),
        ("name: a\ninherits: x\nx-mine: 1\n", &["2:1 AG0101"]),
        ("name: a\ntools: {mcp: [{1: x}]}\n", &["2:16 AG3005", "2:19 AG0110"]),
        ("name: a\nauth: {providers: {x: {from: sk-123}}}\n", &["2:30 AG3015"]),
        (
            "name: a\nauth: {providers: {x: {from: $KEY}, y: {from: env.KEY}, z: {from_: env.KEY}}}\n",
            &["2:30 AG3015"],
        ),
        ("name: a\nauth: {providers: {x: env.FOO}}\n", &["2:23 AG0103"]),
        ("name: a\nbase: ./b.agent\ntrust: {scope: [./x]}\n", &[]),
        ("name: a\nbase: ./b.agent\npipeline: [{call: x.y}]\n", &[]),
        ("name: a\nexpose: [{name: x}]\npipeline: [{call: x}, {call: y.z}]\n", &["3:30 AG3020"]),
        ("name: a\nagents: {b: {ref: 'https://example.org/b'}}\n", &["2:19 AG3021"]),
        ("name: a\nbase: ''\n", &["2:7 AG3021"]),
        ("name: a\ntools: {mcp: [{name: x, urll: y}]}\n", &["2:25 AG0101"]),
        ("name: a\ntools: {mcp: [{x: {transport: ftp}}]}\n", &["2:31 AG0104"]),
        ("name: a\nskills: [{web-search: {optional: true}}, {}]\n", &["2:42 AG3023"]),
        ("name: a\nbehavior: {persona: x, system_override: y}\n", &["2:21 AG3029"]),
        // Beside a soul, the override follows persona and traits.
        ("name: a\nsoul: x\nbehavior: {persona: x, system_override: y}\n", &[]),
    ];
    for (text, expected) in cases {
        let outcome = read_one(text);
        let short = |line: &String| {
            let mut words = line.splitn(4, ' ');
            let place = words.next().unwrap_or_default();
            let code = words.nth(1).unwrap_or_default().trim_end_matches(':');
            format!("{place} {code}")
        };
        let mut found: Vec<_> = outcome.report().iter().map(short).collect();
        let mut expected: Vec<_> = expected.iter().map(|line| (*line).to_owned()).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{text}{:#?}", outcome.report());
    }
}

#[test]
fn a_literal_key_is_not_in_findings() {
    let outcome = read_one("name: a\nauth: {providers: {x: {from: sk-live-1234}}}\n");
    assert!(!format!("{:?}", outcome.found).contains("sk-live"), "{:?}", outcome.found);
}

#[test]
fn files_of_a_directory_override_fields() {
    let yaml = "name: a\nsoul: inline\nrules: inline\n";
    let outcome =
        read(&[("agent.yaml", yaml), ("SOUL.md", "\r\nI am.\r\nSo.\r\n"), ("RULES.md", "\n")]);
    let instructions = &outcome.agent.instructions;
    assert_eq!(instructions.system.as_ref().map(|text| text.as_str()), Some("I am.\nSo."));
    assert_eq!(instructions.rules, None);
    assert_eq!(outcome.codes(), ["AG3007", "AG3007", "AG3008"]);
}
