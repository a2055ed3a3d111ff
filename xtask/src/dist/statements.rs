//! What goes with the packages: checksums, the list of libraries (`CycloneDX`), and how they were made (SLSA provenance).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::Release;
use crate::process::{cargo, output, program};

/// The SHA-256 of bytes, as hexadecimal digits.
pub(super) fn digest(bytes: &[u8]) -> String {
    let digits = Sha256::digest(bytes);
    digits.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

pub(super) fn file_digest(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    Ok(digest(&bytes))
}

/// The SHA-256 as the `RECORD` of a wheel writes it: base64 for addresses, without padding.
pub(super) fn base64_digest(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let sum = Sha256::digest(bytes);
    let mut out = String::new();
    for part in sum.chunks(3) {
        let byte = |at: usize| u32::from(part.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..=part.len() {
            let letter = bits >> (18 - 6 * at) & 63;
            out.push(LETTERS.get(letter as usize).map_or('A', |it| char::from(*it)));
        }
    }
    out
}

/// Writes all statements beside the packages.
pub(super) fn write(release: &Release, packages: &BTreeMap<String, String>) -> Result<(), String> {
    let sums: Vec<_> = packages.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
    let put = |name: &str, text: String| {
        fs::write(release.directory.join(name), text).map_err(|error| error.to_string())
    };
    put("SHA256SUMS", sums.concat())?;
    put("agentry.cdx.json", format!("{:#}\n", materials(release)?))?;
    put("provenance.json", format!("{:#}\n", provenance(release, packages)?))
}

/// The libraries in the program, as `CycloneDX`.
fn materials(release: &Release) -> Result<Value, String> {
    let metadata = output(&mut cargo("metadata --format-version 1 --locked"))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    let lock = fs::read_to_string("Cargo.lock").map_err(|error| error.to_string())?;
    let used = used(&metadata)?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut components: Vec<Value> = list(&metadata["packages"])
        .iter()
        .filter(|package| package["id"].as_str().is_some_and(|id| used.contains(id)))
        .filter(|package| !package["source"].is_null())
        .map(|package| component(package, &lock))
        .collect();
    components.sort_by_key(|component| component["purl"].to_string());
    Ok(json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": {
            "type": "application", "name": "agentry", "version": release.version,
            "licenses": [{"expression": "MIT OR Apache-2.0"}],
            "properties": [{"name": "commit", "value": release.commit}],
        }},
        "components": components,
    }))
}

/// The packages that the program is made of: no tests and no build scripts' libraries.
fn used(metadata: &Value) -> Result<BTreeSet<String>, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let nodes: BTreeMap<String, Value> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .map(|node| (text(&node["id"]), node))
        .collect();
    let packages = list(&metadata["packages"]);
    let root = packages.iter().find(|it| it["name"] == "agentry").ok_or("no package `agentry`")?;
    let (mut used, mut open) = (BTreeSet::new(), vec![text(&root["id"])]);
    while let Some(id) = open.pop() {
        if !used.insert(id.clone()) {
            continue;
        }
        let Some(node) = nodes.get(&id) else { continue };
        for dependency in list(&node["deps"]) {
            let is_normal = |kind: &Value| {
                let target = kind["target"].as_str().unwrap_or_default();
                kind["kind"].is_null() && !target.contains("windows") && !target.contains("macos")
            };
            if list(&dependency["dep_kinds"]).iter().any(is_normal) {
                open.push(text(&dependency["pkg"]));
            }
        }
    }
    Ok(used)
}

fn component(package: &Value, lock: &str) -> Value {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    let (name, version) = (text("name"), text("version"));
    let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
    let sum = lock.split("[[package]]\n").find(|it| it.starts_with(&entry)).and_then(|it| {
        let line = it.lines().find_map(|line| line.strip_prefix("checksum = \""))?;
        Some(line.trim_end_matches('"').to_owned())
    });
    let hashes: Vec<Value> =
        sum.into_iter().map(|sum| json!({"alg": "SHA-256", "content": sum})).collect();
    let licence = text("license").replace('/', " OR ");
    let licences: Vec<Value> =
        if licence.is_empty() { Vec::new() } else { vec![json!({"expression": licence})] };
    json!({
        "type": "library", "name": name, "version": version,
        "purl": format!("pkg:cargo/{name}@{version}"),
        "licenses": licences, "hashes": hashes,
    })
}

/// How the packages were made, as an in-toto statement. It is not signed: the publisher signs it.
fn provenance(release: &Release, packages: &BTreeMap<String, String>) -> Result<Value, String> {
    let compiler = output(&mut program("rustc --version --verbose"))?;
    let subject: Vec<Value> = packages
        .iter()
        .map(|(name, sum)| json!({"name": name, "digest": {"sha256": sum}}))
        .collect();
    Ok(json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subject,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "cargo xtask dist",
                "externalParameters": {"version": release.version},
                "internalParameters": {"compiler": compiler.trim()},
                "resolvedDependencies": [
                    {"name": "source", "digest": {"gitCommit": release.commit}},
                    {"name": "Cargo.lock", "digest": {"sha256": file_digest(Path::new("Cargo.lock"))?}},
                ],
            },
            "runDetails": {"builder": {"id": "cargo xtask dist"}},
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_have_the_standard_encodings() {
        assert!(digest(b"").starts_with("e3b0c44298fc1c149afbf4c8996fb924"));
        assert_eq!(base64_digest(b""), "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
    }
}
