//! Writes agents to measure with: all five formats, as large as real ones, the same in every run.

mod formats;
mod prose;

use std::path::{Path, PathBuf};

use prose::Prose;

/// The formats of a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All five, in turn.
    Mixed,
    /// All five, in turn, with unique skill names, because they are rendered into one project.
    Together,
    /// Manifests with a single file only.
    Manifests,
    /// Manifests that inherit from each other, three levels deep.
    Inherited,
}

/// Agents on disk.
#[derive(Debug)]
pub(crate) struct Corpus {
    /// Their directory.
    pub(crate) dir: PathBuf,
    /// The number of agents.
    pub(crate) agents: usize,
    /// Every file.
    pub(crate) files: Vec<PathBuf>,
    /// The total size of all files.
    pub(crate) bytes: u64,
}

/// The number of agents in one directory; real projects do not have thousands side by side.
const FOLDER: usize = 100;

impl Corpus {
    /// Writes `count` agents below `dir`.
    pub(crate) fn write(dir: &Path, count: usize, kind: Kind) -> Result<Self, String> {
        let mut corpus = Self { dir: dir.to_owned(), agents: count, files: Vec::new(), bytes: 0 };
        for number in 0..count {
            let folder = dir.join(format!("team-{:03}", number / FOLDER));
            for (path, text) in agent(number, kind) {
                corpus.file(folder.join(path), &text)?;
            }
        }
        Ok(corpus)
    }

    fn file(&mut self, path: PathBuf, text: &str) -> Result<(), String> {
        let folder = path.parent().unwrap_or(&self.dir);
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
        written.map_err(|error| format!("`{}` cannot be written: {error}", path.display()))?;
        self.bytes += text.len() as u64;
        self.files.push(path);
        Ok(())
    }
}

/// The files of the agent with this number: paths and texts.
fn agent(number: usize, kind: Kind) -> Vec<(String, String)> {
    let prose = &mut Prose::new(number as u64);
    let name = format!("agent-{number:05}");
    let files = match (kind, number % 5) {
        (Kind::Inherited, _) => inherited(number, &name, prose),
        (Kind::Manifests, _) | (_, 0) => formats::manifest(&name, prose),
        (_, 1) => formats::agent_md(&name, prose),
        (_, 2) => formats::agent_toml(&name, prose),
        (_, 3) => formats::agentfs(&name, prose),
        (_, _) => formats::agent_dir(&name, prose),
    };
    if kind == Kind::Together { together(&name, files) } else { files }
}

/// The same files, with skills named after the agent.
fn together(name: &str, files: Vec<(String, String)>) -> Vec<(String, String)> {
    let renamed = |(path, text): (String, String)| {
        let mut path = path;
        for skill in ["summary", "comparison"] {
            path = path.replace(&format!("/skills/{skill}"), &format!("/skills/{name}"));
        }
        (path, text.replace("id: comparison", &format!("id: {name}")))
    };
    files.into_iter().map(renamed).collect()
}

/// Of every fifty agents, the first has no base, the next five inherit from it, the rest from those five.
fn inherited(number: usize, name: &str, prose: &mut Prose) -> Vec<(String, String)> {
    let place = number % 50;
    let base = match place {
        0 => None,
        1..=5 => Some(number - place),
        _ => Some(number - place + 1 + place % 5),
    };
    let mut files = formats::manifest(name, prose);
    for (_, text) in &mut files {
        // A manifest with skills that cannot be found would have findings.
        *text = text.replace("  - web-search\n", "").replace("  - cite-sources\n", "  - git\n");
        if let Some(base) = base {
            *text = format!("base: ./agent-{base:05}.agent\n{text}");
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_agents_have_realistic_sizes_and_are_stable() {
        for number in 0..500 {
            let files = agent(number, Kind::Mixed);
            let size: usize = files.iter().map(|(_, text)| text.len()).sum();
            assert!((1_000..=9_000).contains(&size), "agent {number} has {size} bytes");
            assert_eq!(files, agent(number, Kind::Mixed), "agent {number}");
        }
    }
}
