//! Tests of the whole format, only through `read`, `write` and `ag1`.
#![expect(clippy::disallowed_methods, reason = "tests read their own fixtures")]

mod examples;
mod reading;
mod round_trip;
mod vectors;

use std::path::{Path, PathBuf};

use agentry_model::Agent;
use agentry_text::{Diagnostic, Findings};

use super::{HashRefusal, INFO, ManifestHash, load, try_ag1};
use crate::{AgentPackage, MemoryFiles};

/// The result of reading a manifest.
struct Outcome {
    agent: Agent,
    found: Vec<Diagnostic>,
    hash: Result<ManifestHash, HashRefusal>,
    files: MemoryFiles,
}

impl Outcome {
    /// Returns the findings, each as `2:7 AG3001 message`.
    fn report(&self) -> Vec<String> {
        let line = |found: &Diagnostic| {
            let at = self.files.sources.start(found.span);
            let hint = found.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            let Diagnostic { rule, severity, message, .. } = found;
            format!("{}:{} {severity} {}: {message}{hint}", at.line, at.column, rule.code)
        };
        self.found.iter().map(line).collect()
    }

    fn codes(&self) -> Vec<&'static str> {
        self.found.iter().map(|found| found.rule.code).collect()
    }
}

/// Reads an agent from files with paths relative to its directory.
fn read(files: &[(&str, &str)]) -> Outcome {
    let owned = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    let mut memory = MemoryFiles::new(owned);
    let main = files.iter().map(|(path, _)| *path).find(|path| load::MAIN_FILES.contains(path));
    let main = main.unwrap_or_else(|| files.first().map_or("", |(path, _)| path));
    let mut package = AgentPackage {
        main: main.to_owned(),
        dir_name: String::new(),
        dir: String::new(),
        files: &mut memory,
    };
    let hash = try_ag1(&mut package, &mut Findings::default());
    let mut findings = Findings::default();
    let agent = (INFO.read)(&mut package, &mut findings);
    Outcome { agent, found: findings.into_sorted(), hash, files: memory }
}

fn read_one(text: &str) -> Outcome {
    read(&[("helper.agent", text)])
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/manifest/fixtures")
}

/// Returns the text of a file, or of all files below a directory, with their paths.
fn texts(path: &Path) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut waiting = vec![path.to_owned()];
    let root = if path.is_dir() { path } else { path.parent().expect("a parent") };
    while let Some(next) = waiting.pop() {
        if next.is_dir() {
            let entries = std::fs::read_dir(&next).expect("a readable directory");
            waiting.extend(entries.map(|entry| entry.expect("an entry").path()));
        } else {
            let name = next.strip_prefix(root).expect("below the root");
            let text = std::fs::read_to_string(&next).expect("a readable fixture");
            out.push((name.to_str().expect("UTF-8").to_owned(), text));
        }
    }
    out.sort();
    out
}

fn read_path(path: &Path) -> Outcome {
    let texts = texts(path);
    let files: Vec<_> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    read(&files)
}
