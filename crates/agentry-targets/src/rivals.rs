//! Other files in which a harness would find an agent of the same name: in the project, and in the
//! directories above it up to the root of the repository.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::HarnessFiles;

/// How many levels of directories are searched for agents.
const DEPTH: usize = 4;
/// Directories in which no harness looks for agents.
const NEVER: &[&str] = &[".git", "node_modules"];
/// The most directories above a project that are searched.
const ABOVE: usize = 32;

/// Agent files by the names of their agents.
pub(crate) type FilesByName = BTreeMap<String, Vec<String>>;

/// The language of an agent file.
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

/// Returns every file of a language below a directory, with its text.
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
        // Skills in `.agents` are not agents.
        let is_skills = dir.ends_with(".agents/") && name.eq_ignore_ascii_case("skills");
        if name.rsplit_once('.').is_some_and(|(_, end)| end == ending) {
            out.push(path);
        } else if depth > 0 && !is_skills && !NEVER.contains(&name.as_str()) {
            collect(files, &format!("{path}/"), (ending, depth - 1), out);
        }
    }
}

/// Returns the agent files below some directories, by the name that `name` finds in their text.
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

/// Returns the directories above the project within its repository, nearest first: `../`, `../../`.
pub(crate) fn above(files: &dyn HarnessFiles) -> impl Iterator<Item = String> {
    let dirs = (1..=ABOVE).map(|steps| "../".repeat(steps));
    // A directory outside the repository cannot be listed, which ends the search.
    dirs.take_while(|dir| files.names(dir).is_some())
}
