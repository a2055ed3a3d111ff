//! Round trips: a written manifest is read back as the same agent.

use agentry_model::{Agent, Format, tree};
use agentry_text::Severity;
use proptest::prelude::*;

use super::{fixtures, read_one, read_path};
use crate::{OutputShape, WriteTarget, convert};

fn target(shape: OutputShape) -> WriteTarget {
    let name = if shape == OutputShape::File { "helper.agent" } else { "helper" };
    WriteTarget { name: name.to_owned(), shape, ..WriteTarget::default() }
}

#[test]
fn fixtures_are_written_and_read_back() {
    for (name, shape) in [("full.agent", OutputShape::File), ("directory", OutputShape::Directory)]
    {
        let agent = read_path(&fixtures().join("read").join(name)).agent;
        let converted = convert(&agent, Format::Manifest, &target(shape));
        assert_eq!(converted.losses, [], "{name}");
        let (before, after) =
            (tree::tree(&agent).to_data(), tree::tree(&converted.agent).to_data());
        assert_eq!(before, after, "{name}");
        let files = converted.files.iter().map(|(path, text)| format!("=== {path}\n{text}"));
        insta::with_settings!({ snapshot_path => "../fixtures/snapshots", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("written-{}", name.replace('.', "-")), files.collect::<String>());
        });
    }
}

#[test]
fn small_manifests_round_trip() {
    let cases = [
        "name: a\n",
        "apiVersion: agent/v9\nname: a\n",
        "name: 'on'\nversion: '1.0'\ndescription: \"a: b\\nc\"\n",
        "name: a\ntags: []\nskills: []\ntools: {mcp: [], native: []}\nexpose: []\n",
        "name: a\nskills: [{web-search: {x: 1}}, {name: git, optional: true}, {files: true}, plain]\n",
        "name: a\ntools: {mcp: [{name: x, transport: sse, url: u}, {y: {mode: 1, command: z}}, w]}\n",
        "name: a\ntools: {mcp: [{name: x, command: c, args: [a], env: {A: b}, requires: {pip: [p]}}]}\n",
        "name: a\ntools: {mcp: [{name: x, enabled: false, timeout: 5}, {command: {a: 1}, z: {}}]}\n",
        "name: a\nauth: {strategy: explicit, providers: {x: {}, y: {from: env.Y}}}\n",
        "name: a\nx-mine: {a: 1}\nextensions: {x-other: [1, {b: null}], d: 2024-01-01}\n",
        "name: a\nagents: {b: {ref: ./b.agent, role: validator}}\npipeline: [{call: b.c, output: d}]\n",
        "name: a\ntrust: {filesystem: scoped, scope: [./x], network: scoped, hosts: [h]}\n",
        "name: a\nbase: ./b.agent\nmerge: {skills: restrict, trust: restrict}\n",
        "name: a\nsoul: |\n  # Soul\n\n  I am.\nrules: one\n",
    ];
    for text in cases {
        let agent = read_one(text).agent;
        for shape in [OutputShape::File, OutputShape::Directory] {
            let converted = convert(&agent, Format::Manifest, &target(shape));
            assert_eq!(converted.losses, [], "{text}");
            let (before, after) =
                (tree::tree(&agent).to_data(), tree::tree(&converted.agent).to_data());
            assert_eq!(before, after, "{text}");
            let errors: Vec<_> = converted
                .findings
                .iter()
                .filter(|found| found.severity == Severity::Error)
                .collect();
            assert!(errors.is_empty(), "{text}: {errors:?}");
        }
    }
}

#[test]
fn missing_required_fields_are_filled_in() {
    let converted = convert(&Agent::default(), Format::Manifest, &target(OutputShape::Directory));
    let losses: Vec<_> = converted.losses.iter().map(|loss| loss.detail.as_str()).collect();
    assert_eq!(losses, ["`\"helper\"` is not in the source"]);
    assert_eq!(converted.agent.name(), "helper");
}

/// Lines of manifests, combined at random; most combinations are invalid.
fn any_manifest() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("name: a".to_owned()),
        Just("trust: {filesystem: scoped, scope: [x]}".to_owned()),
        Just("tools: {mcp: [a, {b: {c: 1}}, {name: d, url: e}]}".to_owned()),
        Just("soul: |\n  one\n\n   two".to_owned()),
        "(skills|tags|behavior|extensions|auth|expose|agents|base|x-y): [a-z0-9:{}\\[\\], '\"&*!|>~.#-]{0,30}",
        "\\PC{0,30}",
    ];
    proptest::collection::vec(line, 0..6).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// No input makes the reader panic, and its result can be written and read again.
    #[test]
    fn any_text_is_read_without_a_panic(text in any_manifest()) {
        let outcome = read_one(&text);
        for shape in [OutputShape::File, OutputShape::Directory] {
            let first = convert(&outcome.agent, Format::Manifest, &target(shape));
            let second = convert(&first.agent, Format::Manifest, &target(shape));
            prop_assert_eq!(&second.losses, &[], "{}", text);
            prop_assert_eq!(first.files, second.files, "{}", text);
        }
    }
}
