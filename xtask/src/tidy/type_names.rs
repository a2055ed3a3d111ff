//! Checks the names of types and modules: a type's name is unique in the workspace, so that it is
//! understood without its module, and a module is a thing or an act of this field, not a participle.

use std::collections::BTreeMap;

use crate::files::File;

/// The keywords that declare a type.
const KEYWORDS: &[&str] = &["struct", "enum", "trait", "union", "type"];

/// Participles that do not end in `-ed`, and names that do not describe the content of a module.
const FORBIDDEN: &[&str] = &[
    "again",
    "alike",
    "belongs",
    "done",
    "elsewhere",
    "found",
    "given",
    "ground",
    "held",
    "hold",
    "kept",
    "known",
    "lax",
    "left",
    "look",
    "lost",
    "made",
    "meant",
    "mend",
    "near",
    "outer",
    "own",
    "own_words",
    "pairs",
    "said",
    "seen",
    "shown",
    "taken",
    "told",
    "unseen",
    "wishes",
    "words",
    "written",
];

/// Words that end like participles and are not.
const NO_PARTICIPLES: &[&str] = &["embed", "feed", "need", "seed", "shed", "speed"];

/// Types that share their name with another one, and modules with a forbidden name.
pub(super) fn check(files: &[File]) -> Vec<String> {
    let code: Vec<&File> = files.iter().filter(|file| is_code(file)).collect();
    let modules = code.iter().filter_map(|file| {
        let name = forbidden_module(&file.path)?;
        Some(format!("{}: `{name}` does not say what the module is or does", file.path))
    });
    shared_types(&code).into_iter().chain(modules).collect()
}

/// Whether a file is shipped code.
fn is_code(file: &File) -> bool {
    let is_source = file.path.starts_with("crates/") && file.path.contains("/src/");
    let is_test =
        file.is_test() || file.path.contains("_tests.rs") || file.path.contains("_tests/");
    is_source && file.is_rust() && !is_test
}

fn shared_types(files: &[&File]) -> Vec<String> {
    let mut first: BTreeMap<&str, String> = BTreeMap::new();
    let mut problems = Vec::new();
    for file in files {
        for (line, text) in file.statements() {
            let Some(name) = type_name(text) else { continue };
            let place = format!("{}:{line}", file.path);
            match first.get(name) {
                Some(other) => {
                    problems.push(format!("{place}: the type `{name}` has a namesake in {other}"));
                }
                None => drop(first.insert(name, place)),
            }
        }
    }
    problems
}

/// The name of the type that `line` declares. An indented `type` belongs to a trait.
fn type_name(line: &str) -> Option<&str> {
    let is_indented = line.starts_with(' ');
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
    let keyword = words.next().filter(|word| KEYWORDS.contains(word))?;
    let name = words.next()?.split(|sign: char| !sign.is_alphanumeric()).next()?;
    let is_type = name.starts_with(char::is_uppercase) && !(is_indented && keyword == "type");
    is_type.then_some(name)
}

/// The part of a path below `src` that is a forbidden name of a module.
fn forbidden_module(path: &str) -> Option<&str> {
    let (_, below) = path.split_once("/src/")?;
    let mut names = below.strip_suffix(".rs")?.split('/');
    names.find(|name| {
        // `locked_agent` is a thing; only the bare participle is not.
        let is_participle = name.ends_with("ed") && !name.contains('_');
        FORBIDDEN.contains(name) || (is_participle && !NO_PARTICIPLES.contains(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file;

    #[test]
    fn duplicate_type_names_are_reported() {
        let first = file("crates/a/src/lib.rs", "pub struct Place {\n}\n");
        let namesake = |text: &str| {
            let path = "crates/b/src/lib.rs";
            vec![format!("{path}:1: the type `{text}` has a namesake in crates/a/src/lib.rs:1")]
        };
        let cases = [
            ("crates/b/src/lib.rs", "enum Place<'a> {", namesake("Place")),
            ("crates/b/src/lib.rs", "pub(crate) struct Place(u8);", namesake("Place")),
            ("crates/b/src/lib.rs", "type Place = u8;", namesake("Place")),
            ("crates/b/src/lib.rs", "pub trait Place: Send {", namesake("Place")),
            ("crates/b/src/lib.rs", "    type Place = u8;", vec![]),
            ("crates/b/src/lib.rs", "struct Places;", vec![]),
            ("crates/b/src/lib.rs", "// struct Place;", vec![]),
            (
                "crates/b/src/lib.rs",
                "fn one() {}\n\n#[cfg(test)]\nmod tests {\n    struct Place;",
                vec![],
            ),
            ("crates/b/tests/suite.rs", "struct Place;", vec![]),
            ("crates/b/src/read_tests.rs", "struct Place;", vec![]),
            ("xtask/src/main.rs", "struct Place;", vec![]),
        ];
        for (path, text, expected) in cases {
            assert_eq!(check(&[first.clone(), file(path, text)]), expected, "{path}: {text}");
        }
    }

    #[test]
    fn vague_module_names_are_reported() {
        let cases = [
            ("crates/a/src/memo.rs", None),
            ("crates/a/src/known.rs", Some("known")),
            ("crates/a/src/words/mod.rs", Some("words")),
            ("crates/a/src/masked.rs", Some("masked")),
            ("crates/a/src/quoted_scalar.rs", None),
            ("crates/a/src/seed.rs", None),
            ("crates/a/tests/known.rs", None),
        ];
        for (path, expected) in cases {
            let expected: Vec<String> = expected
                .map(|name| format!("{path}: `{name}` does not say what the module is or does"))
                .into_iter()
                .collect();
            assert_eq!(check(&[file(path, "")]), expected, "{path}");
        }
    }
}
