//! Where else a harness would find an agent of the same name: other files of the project, and the
//! directories above it up to the root of the repository.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::HarnessFiles;

/// How deep directories of agents are looked into.
const DEPTH: usize = 4;
/// Directories in which no harness looks for agents.
const NEVER: &[&str] = &[".git", "node_modules"];
/// The most directories above a project.
const ABOVE: usize = 32;

/// Files of agents by the names that these have.
pub(crate) type FilesByName = BTreeMap<String, Vec<String>>;

/// What an agent is written in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentLanguage {
    Markdown,
    Toml,
}

impl AgentLanguage {
    fn ending(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Toml => "toml",
        }
    }
}

/// Every file in a language below a directory, with its text. Skills in `.agents` are no agents.
fn written(files: &dyn HarnessFiles, dir: &str, language: AgentLanguage) -> Vec<(String, String)> {
    let mut paths = Vec::new();
    collect(files, dir, (language.ending(), DEPTH), &mut paths);
    paths.into_par_iter().filter_map(|path| files.text(&path).map(|text| (path, text))).collect()
}

fn collect(
    files: &dyn HarnessFiles,
    dir: &str,
    (ending, depth): (&str, usize),
    out: &mut Vec<String>,
) {
    for name in files.names(dir).unwrap_or_default() {
        let path = format!("{dir}{name}");
        let is_skills = dir.ends_with(".agents/") && name.eq_ignore_ascii_case("skills");
        if name.rsplit_once('.').is_some_and(|(_, end)| end == ending) {
            out.push(path);
        } else if depth > 0 && !is_skills && !NEVER.contains(&name.as_str()) {
            collect(files, &format!("{path}/"), (ending, depth - 1), out);
        }
    }
}

/// The files of agents below some directories, by the name that `name` reads in them.
pub(crate) fn by_name(
    files: &dyn HarnessFiles,
    language: AgentLanguage,
    dirs: &[&str],
    name: impl Fn(&str) -> Option<String>,
) -> FilesByName {
    let mut out = FilesByName::new();
    for (path, text) in dirs.iter().flat_map(|dir| written(files, dir, language)) {
        if let Some(name) = name(&text) {
            out.entry(name).or_default().push(path);
        }
    }
    out
}

/// The directories above the project that belong to its repository, the nearest first: `../`, `../../`.
pub(crate) fn above(files: &dyn HarnessFiles) -> impl Iterator<Item = String> {
    let dirs = (1..=ABOVE).map(|steps| "../".repeat(steps));
    dirs.take_while(|dir| files.names(dir).is_some())
}
