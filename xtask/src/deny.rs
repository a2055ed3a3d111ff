//! `cargo xtask deny`: licences, wildcards and sources of the dependencies, by the rules in `deny.toml`.
//!
//! `cargo deny` does it where it is installed. It takes minutes to build, so that a fresh machine has it checked here: by
//! what Cargo knows of each package. The texts of licences are not read.

use std::collections::BTreeSet;

use serde_json::Value;
use toml::Table;

use crate::process::{self, cargo, output};

/// The settings of `deny.toml` that count here, and those that only `cargo deny` needs. Any other one is an error: it
/// would be followed on one machine and not on the other.
const SETTINGS: &[(&str, &[&str], &[&str])] = &[
    ("graph", &[], &["all-features"]),
    ("licenses", &["allow"], &["confidence-threshold", "unused-allowed-license"]),
    ("bans", &["wildcards", "allow-wildcard-paths"], &["multiple-versions"]),
    ("sources", &["allow-registry", "allow-git"], &["unknown-registry", "unknown-git"]),
];

/// Checks the dependencies.
pub(crate) fn run() -> Result<(), String> {
    if process::succeeds(&mut cargo("deny --version")) {
        let arguments = "deny check --hide-inclusion-graph licenses bans sources";
        return process::run(&mut cargo(arguments));
    }
    let rules = std::fs::read_to_string("deny.toml").map_err(|error| error.to_string())?;
    let rules = DependencyRules::parse(&rules)?;
    let metadata = output(&mut cargo("metadata --format-version 1 --locked --all-features"))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let problems: Vec<String> = packages.iter().flat_map(|package| rules.check(package)).collect();
    if problems.is_empty() {
        println!("{} packages keep to `deny.toml`, by their own words", packages.len());
        return Ok(());
    }
    Err(problems.join("\n"))
}

/// What packages may be.
#[derive(Debug, Default, PartialEq, Eq)]
struct DependencyRules {
    licences: BTreeSet<String>,
    sources: BTreeSet<String>,
    forbids_wildcards: bool,
    allows_wildcard_paths: bool,
}

impl DependencyRules {
    fn parse(text: &str) -> Result<Self, String> {
        let rules: Table = text.parse().map_err(|error| format!("`deny.toml`: {error}"))?;
        for (section, settings) in &rules {
            let known = SETTINGS.iter().find(|(name, ..)| name == section);
            let (_, read, unread) = known.ok_or_else(|| {
                format!("`deny.toml` has `[{section}]`, which is not checked here")
            })?;
            let settings = settings.as_table().into_iter().flat_map(Table::keys);
            let is_known = |key: &&String| [*read, *unread].concat().contains(&key.as_str());
            if let Some(key) = settings.into_iter().find(|key| !is_known(key)) {
                return Err(format!(
                    "`deny.toml` has `{section}.{key}`, which is not checked here"
                ));
            }
        }
        let get = |section: &str, key: &str| rules.get(section).and_then(|it| it.get(key));
        let list = |section: &str, key: &str, start: &str| -> Vec<String> {
            let all = get(section, key).and_then(toml::Value::as_array).into_iter().flatten();
            all.filter_map(toml::Value::as_str).map(|text| format!("{start}{text}")).collect()
        };
        let sources =
            [list("sources", "allow-registry", "registry+"), list("sources", "allow-git", "git+")];
        Ok(Self {
            licences: list("licenses", "allow", "").into_iter().collect(),
            sources: sources.concat().into_iter().collect(),
            forbids_wildcards: get("bans", "wildcards").and_then(toml::Value::as_str)
                == Some("deny"),
            allows_wildcard_paths: get("bans", "allow-wildcard-paths")
                .and_then(toml::Value::as_bool)
                .unwrap_or_default(),
        })
    }

    fn check(&self, package: &Value) -> Vec<String> {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        let name = format!("{} {}", text("name"), text("version"));
        let mut problems = Vec::new();
        if !LicenceExpression::new(text("license")).evaluate(&self.licences) {
            problems.push(format!("{name}: its licence `{}` is not allowed", text("license")));
        }
        let source = text("source");
        // The commit that a Git source is at comes after its address.
        let place = source.split(['?', '#']).next().unwrap_or_default();
        if !source.is_empty() && !self.sources.contains(place) {
            problems.push(format!("{name}: its source `{source}` is not allowed"));
        }
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let wild = dependencies.filter(|it| it["req"] == "*" && self.forbids_wildcards);
        let wild = wild.filter(|it| !(self.allows_wildcard_paths && it["path"].is_string()));
        problems.extend(wild.map(|it| format!("{name}: any version of {} will do", it["name"])));
        problems
    }
}

/// A licence as packages name it: `MIT OR (Apache-2.0 AND ISC)`.
struct LicenceExpression<'a> {
    words: Vec<&'a str>,
    at: usize,
}

impl<'a> LicenceExpression<'a> {
    fn new(text: &'a str) -> Self {
        // Old packages write a slash for OR.
        let parts = text.split_inclusive(['(', ')', '/', ' ']).flat_map(|part| {
            let (word, mark) = match part.char_indices().next_back() {
                Some((at, '(' | ')' | '/')) => part.split_at(at),
                _ => (part, ""),
            };
            [word.trim(), mark]
        });
        Self { words: parts.filter(|word| !word.is_empty()).collect(), at: 0 }
    }

    /// Whether these licences are enough. What is not understood is not.
    fn evaluate(mut self, allowed: &BTreeSet<String>) -> bool {
        self.either(allowed) == Some(true) && self.at == self.words.len()
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.at).copied();
        self.at += 1;
        word
    }

    fn takes(&mut self, words: &[&str]) -> bool {
        let is_next = self.words.get(self.at).is_some_and(|word| words.contains(word));
        self.at += usize::from(is_next);
        is_next
    }

    fn either(&mut self, allowed: &BTreeSet<String>) -> Option<bool> {
        let mut is_met = self.both(allowed)?;
        while self.takes(&["OR", "/"]) {
            is_met |= self.both(allowed)?;
        }
        Some(is_met)
    }

    fn both(&mut self, allowed: &BTreeSet<String>) -> Option<bool> {
        let mut is_met = self.one(allowed)?;
        while self.takes(&["AND"]) {
            is_met &= self.one(allowed)?;
        }
        Some(is_met)
    }

    fn one(&mut self, allowed: &BTreeSet<String>) -> Option<bool> {
        if self.takes(&["("]) {
            let is_met = self.either(allowed)?;
            return self.takes(&[")"]).then_some(is_met);
        }
        let licence = self.next()?;
        if self.takes(&["WITH"]) {
            let licence = format!("{licence} WITH {}", self.next()?);
            return Some(allowed.contains(&licence));
        }
        Some(allowed.contains(licence))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn licences_are_judged_as_written() {
        let allowed: BTreeSet<String> = ["MIT", "ISC", "Zlib"].map(str::to_owned).into();
        let cases = [
            ("MIT", true),
            ("", false),
            ("GPL-3.0-only", false),
            ("MIT OR GPL-3.0-only", true),
            ("GPL-3.0-only/MIT", true),
            ("GPL-3.0-only / MIT", true),
            ("MIT AND GPL-3.0-only", false),
            ("MIT AND ISC", true),
            ("(MIT OR GPL-3.0-only) AND Zlib", true),
            ("(MIT AND GPL-3.0-only) OR (ISC)", true),
            ("GPL-3.0-only OR MIT AND ISC", true),
            ("MIT WITH Some-exception", false),
            ("MIT WITH Some-exception OR ISC", true),
            ("(MIT", false),
            ("MIT ISC", false),
            ("MIT OR", false),
            ("AND MIT", false),
        ];
        for (text, expected) in cases {
            assert_eq!(LicenceExpression::new(text).evaluate(&allowed), expected, "{text}");
        }
    }

    #[test]
    fn each_rule_is_broken_by_a_package() {
        type Change = fn(&mut Value);
        let rules = "[licenses]\nallow = [\"MIT\"]\n[bans]\nwildcards = \"deny\"\nallow-wildcard-paths = true\n\
            [sources]\nallow-registry = [\"https://a\"]\nallow-git = [\"https://b\"]\n";
        let rules = DependencyRules::parse(rules).expect("rules");
        let package = |change: Change| {
            let mut package = json!({
                "name": "p", "version": "1.0.0", "license": "MIT", "source": "registry+https://a",
                "dependencies": [{"name": "d", "req": "^1"}, {"name": "own", "req": "*", "path": "/own"}],
            });
            change(&mut package);
            rules.check(&package)
        };
        assert_eq!(package(|_| {}), [""; 0]);
        assert_eq!(package(|it| it["source"] = json!("git+https://b?branch=x#0123")), [""; 0]);
        assert_eq!(package(|it| it["source"] = Value::Null), [""; 0]);
        let broken: [(Change, &str); 4] = [
            (|it| it["license"] = Value::Null, "p 1.0.0: its licence `` is not allowed"),
            (
                |it| it["source"] = json!("git+https://c#0123"),
                "p 1.0.0: its source `git+https://c#0123` is not allowed",
            ),
            (
                |it| it["source"] = json!("registry+https://evil"),
                "p 1.0.0: its source `registry+https://evil` is not allowed",
            ),
            (
                |it| it["dependencies"][0]["req"] = json!("*"),
                "p 1.0.0: any version of \"d\" will do",
            ),
        ];
        for (change, expected) in broken {
            assert_eq!(package(change), [expected]);
        }
    }

    #[test]
    fn a_setting_that_is_not_checked_is_an_error() {
        for text in ["[advisories]\nignore = []\n", "[licenses]\nexceptions = []\n"] {
            let error = DependencyRules::parse(text).expect_err("an unknown setting");
            assert!(error.ends_with("which is not checked here"), "{error}");
        }
        let own = include_str!("../../deny.toml");
        assert!(DependencyRules::parse(own).is_ok_and(|rules| rules.licences.contains("MIT")));
    }
}
