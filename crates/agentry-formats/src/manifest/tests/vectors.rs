//! Test vectors of the reference implementation: exact hashes, and the fields that it rejects.

use serde_json::Value as Json;

use super::{fixtures, read_path};

fn expected(file: &str) -> Vec<(String, Json)> {
    let path = fixtures().join("vectors").join(file);
    let text = std::fs::read_to_string(path).expect("a readable fixture");
    let json: Json = serde_json::from_str(&text).expect("JSON");
    json.as_object().expect("an object").clone().into_iter().collect()
}

#[test]
fn hashes_are_those_of_the_reference() {
    for (name, json) in expected("expected-hashes.json") {
        let outcome = read_path(&fixtures().join("vectors/hash").join(&name));
        let hash = outcome.hash.unwrap_or_else(|refusal| panic!("{name}: {refusal:?}"));
        assert_eq!(hash.canonical, json["canonical"].as_str().expect("a text"), "{name}");
        assert_eq!(hash.hash, json["hash"].as_str().expect("a text"), "{name}");
    }
}

#[test]
fn hashes_of_parents_and_children_match_the_reference() {
    for (name, json) in expected("expected-merge.json") {
        let outcome = read_path(&fixtures().join("vectors/merge").join(&name));
        let hash = outcome.hash.map(|hash| hash.hash);
        assert_eq!(hash.as_deref().ok(), json["hash"].as_str(), "{name}");
    }
}

#[test]
fn manifests_refused_by_the_reference_have_no_hash() {
    for (name, json) in expected("expected-validation.json") {
        let outcome = read_path(&fixtures().join("vectors/invalid").join(&name));
        if json["accepted"] == Json::Bool(true) {
            let hash = outcome.hash.map(|hash| hash.hash);
            assert_eq!(hash.as_deref().ok(), json["hash"].as_str(), "{name}");
            continue;
        }
        let refusal = outcome.hash.as_ref().expect_err(&name).clone();
        // A file without the name of a manifest is rejected before it is read.
        if ["22-dir-no-yaml", "24-other.yaml"].contains(&name.as_str()) {
            continue;
        }
        let errors: Vec<_> =
            outcome.report().into_iter().filter(|line| line.contains(" error ")).collect();
        assert!(!errors.is_empty(), "{name} has no error");
        let Some(first) = json["errors"].get(0).map(|error| &error["field"]) else { continue };
        let parts: Vec<_> =
            first.as_array().expect("a path").iter().filter_map(Json::as_str).collect();
        let field = parts.join(".");
        assert!(refusal.field.starts_with(&field), "{name}: {refusal:?}, not {field}");
        let last = parts.iter().rfind(|part| part.parse::<usize>().is_err()).expect("a name");
        let named = |line: &String| {
            line.contains(&format!("`{last}")) || line.contains(&format!("{last}`"))
        };
        let by_key = errors.iter().any(|line| line.contains("AG3005"));
        assert!(by_key || errors.iter().any(named), "{name}: {errors:?} do not name {last}");
    }
}

/// Tests one field at a time against the reference; `null` marks a value that it rejects.
#[test]
fn field_values_match_the_reference() {
    let path = fixtures().join("reference.json");
    let text = std::fs::read_to_string(path).expect("a readable fixture");
    let json: Json = serde_json::from_str(&text).expect("JSON");
    for (field, values) in json.as_object().expect("fields") {
        for (value, expected) in values.as_object().expect("values") {
            let manifest = manifest(field, value);
            let hash = super::read_one(&manifest).hash;
            match (expected.as_str(), hash) {
                (None, hash) => assert!(hash.is_err(), "{field}: {value} has a hash"),
                (Some(_), Err(refusal)) => panic!("{field}: {value} is refused: {refusal:?}"),
                (Some(expected), Ok(hash)) => {
                    let key = field.rsplit('.').next().unwrap_or(field);
                    let wanted = format!("\"{key}\": {expected}");
                    let found = [',', '}']
                        .iter()
                        .any(|end| hash.canonical.contains(&format!("{wanted}{end}")));
                    assert!(found, "{field}: {value} is not {expected} in {}", hash.canonical);
                }
            }
        }
    }
}

/// Makes a manifest with one field: `{name: n, behavior: {max_steps: '12'}}`.
fn manifest(field: &str, value: &str) -> String {
    let opening = field.replace('.', ": {");
    let closing = "}".repeat(field.matches('.').count() + 1);
    format!("{{name: n, {opening}: {value}{closing}\n")
}

/// Tests corner cases of YAML in which parsers differ, with the hashes of the reference.
#[test]
fn corners_of_yaml_hash_as_in_the_reference() {
    let cases = [
        ("name: a\ntags: [x, -, y]\n", "ag1:34f2b3c364bd"),
        ("name: a\ntags: [nev -]\n", "ag1:2315981272fa"),
        ("name: a\ntags: !!set {x}\n", "ag1:2d0d709cad34"),
        (
            "name: a\nextensions: {x: !!omap [b: 1, c: 2], y: !!pairs [b: 1, b: 2]}\n",
            "ag1:7bbde18e30ab",
        ),
        ("name: a\u{85}description: b\u{2028}  c\n", "ag1:4b9b475cf737"),
        ("name: a\nskills:\n    - b\n    -   c: d\n        e: f\n", "ag1:3dfbd5ae970e"),
        ("name: a\nextensions: {b:[c], \"d\":e}\n", "ag1:894d812023c0"),
        ("name: \"a\\ud83d\\ude80\"\n", "ag1:525d3f739473"),
        ("name: a\nextensions: {x: !!int \" 3\", y: !!float nan}\n", "ag1:35c3cbaaab90"),
        ("name: \"a\"#b\n", "ag1:7cac02f423e5"),
        ("name: a\ndescription: 'b\nc'\n", "ag1:9adc786f812c"),
    ];
    for (text, expected) in cases {
        let hash = super::read_one(text).hash.map(|hash| hash.hash);
        assert_eq!(hash.as_deref(), Ok(expected), "{text:?}");
    }
    let long = format!("name: a\nextensions: {{{}: 1}}\n", "k".repeat(1025));
    let refused = ["name: a\nextensions: {:x: 1}\n", "name: a\nextensions: {b\n: c}\n", &long];
    for text in refused {
        assert!(super::read_one(text).hash.is_err(), "{text:?}");
    }
}
