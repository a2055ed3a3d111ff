//! Checks the dependencies between crates: each crate may use the crates in its row, and what those use.
//!
//! Dependencies of tests are free; the layout is about shipped code.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::process::{cargo, output};

/// Every crate and those it may use directly. A row may exist before its crate does.
const ROOMS: &[(&str, &[&str])] = &[
    ("agentry-text", &[]),
    ("agentry-posix", &[]),
    ("agentry-commands", &[]),
    ("agentry-policy", &["agentry-text", "agentry-commands"]),
    ("agentry-model", &["agentry-policy"]),
    ("agentry-formats", &["agentry-model"]),
    ("agentry-targets", &["agentry-model"]),
    ("agentry-check", &["agentry-formats", "agentry-targets"]),
    ("agentry-compile", &["agentry-formats", "agentry-targets", "agentry-check"]),
    ("agentry-sandbox", &["agentry-posix"]),
    ("agentry-javascript", &["agentry-sandbox"]),
    ("agentry-rpc", &[]),
    ("agentry-mcp", &["agentry-text", "agentry-rpc", "agentry-posix"]),
    ("agentry-acp", &["agentry-rpc"]),
    ("agentry-runtime", &["agentry-compile", "agentry-javascript", "agentry-mcp"]),
    ("agentry-home", &["agentry-runtime", "agentry-registry"]),
    ("agentry-registry", &["agentry-compile"]),
    ("agentry-engine", &["agentry-runtime"]),
    ("agentry-server", &["agentry-home", "agentry-registry"]),
    ("agentry-lsp", &["agentry-compile"]),
    ("agentry", &["agentry-server", "agentry-engine", "agentry-lsp", "agentry-acp"]),
    ("agentry-conformance", &[]),
    ("xtask", &[]),
];

/// A crate of the workspace, and the workspace crates that it depends on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Package {
    name: String,
    uses: Vec<String>,
}

/// The packages of this workspace.
pub(super) fn read() -> Result<Vec<Package>, String> {
    let text = output(&mut cargo("metadata --format-version 1 --no-deps --offline"))?;
    let metadata =
        serde_json::from_str(&text).map_err(|error| format!("`cargo metadata`: {error}"))?;
    Ok(packages(&metadata))
}

/// Every dependency that the table does not have.
pub(super) fn check(packages: &[Package]) -> Vec<String> {
    packages.iter().flat_map(check_package).collect()
}

fn check_package(package: &Package) -> Vec<String> {
    let Package { name, uses } = package;
    let Some(allowed) = reachable(name) else {
        return vec![format!(
            "{name}: no row of `ROOMS` in xtask/src/tidy/arrows.rs has this crate"
        )];
    };
    let wrong = uses.iter().filter(|used| !allowed.contains(used.as_str()));
    wrong.map(|used| format!("{name}: must not use `{used}`; see `ROOMS`")).collect()
}

/// All crates that the crate `name` may use, directly or not.
fn reachable(name: &str) -> Option<BTreeSet<&'static str>> {
    let row = |name: &str| ROOMS.iter().find(|(room, _)| *room == name).map(|(_, uses)| *uses);
    let mut found = BTreeSet::new();
    let mut open = row(name)?.to_vec();
    while let Some(room) = open.pop() {
        if found.insert(room) {
            open.extend(row(room).unwrap_or_default());
        }
    }
    Some(found)
}

/// The crates of the workspace with their dependencies, from `cargo metadata --no-deps`.
fn packages(metadata: &Value) -> Vec<Package> {
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
    let packages = list(metadata, "packages");
    let members: BTreeSet<String> = packages.iter().map(name).collect();
    let uses = |package: &Value| {
        let dependencies = list(package, "dependencies").into_iter();
        // `kind` is null for ordinary dependencies.
        let shipped = dependencies.filter(|dependency| dependency["kind"] != "dev");
        shipped.map(|dependency| name(&dependency)).filter(|used| members.contains(used)).collect()
    };
    packages.iter().map(|package| Package { name: name(package), uses: uses(package) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, uses: &[&str]) -> Package {
        Package { name: name.to_owned(), uses: uses.iter().map(|&used| used.to_owned()).collect() }
    }

    #[test]
    fn dependencies_outside_the_table_are_reported() {
        let cases = [
            ("agentry-model", &["agentry-policy", "agentry-text"][..], &[][..]),
            ("agentry", &["agentry-text", "agentry-sandbox", "agentry-home"], &[]),
            (
                "agentry-text",
                &["agentry-model"],
                &["agentry-text: must not use `agentry-model`; see `ROOMS`"],
            ),
            ("agentry-check", &["agentry-formats", "agentry-targets"], &[]),
            (
                "agentry-formats",
                &["agentry-targets"],
                &["agentry-formats: must not use `agentry-targets`; see `ROOMS`"],
            ),
            (
                "agentry-javascript",
                &["agentry-sandbox", "agentry-policy"],
                &["agentry-javascript: must not use `agentry-policy`; see `ROOMS`"],
            ),
            ("xtask", &["agentry-text"], &["xtask: must not use `agentry-text`; see `ROOMS`"]),
            (
                "utils",
                &[],
                &["utils: no row of `ROOMS` in xtask/src/tidy/arrows.rs has this crate"],
            ),
        ];
        for (name, uses, expected) in cases {
            assert_eq!(check(&[package(name, uses)]), expected, "{name} uses {uses:?}");
        }
    }

    #[test]
    fn test_and_external_dependencies_are_allowed() {
        let metadata = serde_json::json!({ "packages": [
            { "name": "agentry-text", "dependencies": [
                { "name": "serde_json", "kind": null },
                { "name": "agentry-model", "kind": "dev" },
            ] },
            { "name": "agentry-model", "dependencies": [
                { "name": "agentry-text", "kind": null },
                { "name": "agentry-text", "kind": "build" },
            ] },
        ] });
        let expected = [
            package("agentry-text", &[]),
            package("agentry-model", &["agentry-text", "agentry-text"]),
        ];
        assert_eq!(packages(&metadata), expected);
    }

    #[test]
    fn the_dependency_table_has_no_cycle() {
        for (room, _) in ROOMS {
            let reached = reachable(room).expect("a row of the table");
            assert!(!reached.contains(room), "{room}");
        }
    }
}
