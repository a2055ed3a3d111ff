//! The hidden names that a search reads although it leaves out hidden files: `rg x` reads `.env` if some ignore file
//! has a line `!.env`. An agent may write such a file, so every call looks again.

use agentry_policy::commands::HiddenExceptions;
use agentry_text::path::{join, split};

use super::file_search::fits;
use super::gitignore::{IgnoredFiles, last};
use crate::world::{EntryKind, World};

/// How many names are looked at. With more, any hidden file may be read.
const NAMES: usize = 100_000;
/// The most bytes of an ignore file; a larger one may admit anything.
const MOST: u64 = 256 * 1024;

/// Returns patterns of the hidden names that a search through a directory reads; `None` if it may read any of them.
pub(crate) fn admitted(
    world: &dyn World,
    directory: &str,
    exceptions: HiddenExceptions,
) -> Option<Vec<String>> {
    let HiddenExceptions { ignore_files, settings } = exceptions;
    if settings.is_some_and(|variable| world.services().has_env(variable)) {
        return None;
    }
    let files: Vec<&str> = ignore_files.iter().collect();
    let mut found = HiddenNames { world, files, patterns: Vec::new() };
    if !found.files.is_empty() {
        found.of_user()?;
        let directory = directory.trim_end_matches('/');
        let ends = directory.match_indices('/').filter_map(|(at, _)| directory.get(..at));
        ends.into_iter().try_for_each(|above| found.of_directory(above))?;
        found.below(directory)?;
    }
    Some(found.patterns)
}

/// The admitted names that were found so far. `None` of a function means that any name may be admitted.
struct HiddenNames<'a> {
    world: &'a dyn World,
    /// The names of ignore files.
    files: Vec<&'a str>,
    patterns: Vec<String>,
}

impl HiddenNames<'_> {
    /// Adds what the ignore file of the user admits.
    fn of_user(&mut self) -> Option<()> {
        let machine = self.world.machine();
        let home = machine.home.as_deref().unwrap_or_default();
        let config = machine.user_config.as_deref().map(|path| split(split(path).0).0);
        let settings = config.map(|config| join(config, "git/config"));
        let mut files: Vec<String> =
            config.map(|config| join(config, "git/ignore")).into_iter().collect();
        for settings in settings.into_iter().chain([join(home, ".gitconfig")]) {
            let text = self.text(&settings)?;
            files.extend(text.lines().filter_map(|line| {
                let (key, value) = line.split_once('=')?;
                let is_meant = key.trim().eq_ignore_ascii_case("excludesfile");
                let value = value.trim().trim_matches('"');
                let value =
                    value.strip_prefix("~/").map_or(value.to_owned(), |rest| join(home, rest));
                is_meant.then_some(value)
            }));
        }
        files.iter().try_for_each(|file| self.of_file(file))
    }

    /// Adds what the ignore files in a directory admit.
    fn of_directory(&mut self, directory: &str) -> Option<()> {
        for name in self.files.clone() {
            self.of_file(&format!("{directory}/{name}"))?;
        }
        let git = format!("{directory}/.git");
        match self.world.kind(&git) {
            EntryKind::Missing => Some(()),
            EntryKind::Directory => self.of_file(&join(&git, "info/exclude")),
            // The repository of a second checkout lies elsewhere.
            _ => {
                let text = self.text(&git)?;
                let own = text.lines().next()?.strip_prefix("gitdir: ")?.to_owned();
                let own = if own.starts_with('/') { own } else { format!("{directory}/{own}") };
                let both = [format!("{own}/info/exclude"), format!("{own}/../../info/exclude")];
                both.iter().try_for_each(|file| self.of_file(file))
            }
        }
    }

    fn of_file(&mut self, path: &str) -> Option<()> {
        let text = self.text(path)?;
        let admitting = text.lines().filter_map(|line| line.trim().strip_prefix('!'));
        self.patterns.extend(admitting.map(last));
        Some(())
    }

    /// The text of a file, empty if there is none.
    fn text(&self, path: &str) -> Option<String> {
        match self.world.kind(path) {
            EntryKind::Missing => Some(String::new()),
            _ => {
                let bytes = self.world.read("/", path, MOST).ok()?;
                Some(String::from_utf8_lossy(&bytes).into_owned())
            }
        }
    }

    /// Adds what the ignore files in and below a directory admit, as far as a search comes to them.
    fn below(&mut self, directory: &str) -> Option<()> {
        let mut open = vec![(directory.to_owned(), IgnoredFiles::at(self.world, directory))];
        let mut names = 0;
        while let Some((directory, ignored)) = open.pop() {
            let entries = self.world.list("/", &directory).unwrap_or_default();
            names += entries.len();
            if names > NAMES {
                return None;
            }
            let known: Vec<&str> = self.files.iter().copied().chain([".git"]).collect();
            if entries.iter().any(|entry| known.contains(&entry.name.as_str())) {
                self.of_directory(&directory)?;
            }
            for entry in entries {
                let is_directory = entry.kind == EntryKind::Directory;
                let path = format!("{}/{}", directory.trim_end_matches('/'), entry.name);
                let is_hidden = entry.name.starts_with('.')
                    && !self.patterns.iter().any(|pattern| fits(pattern, &entry.name));
                if is_directory && !is_hidden && !ignored.has(&path, &entry.name) {
                    let below = ignored.below(self.world, &path);
                    open.push((path, below));
                }
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use agentry_policy::commands::WordList;

    use super::*;
    use crate::MemoryWorld;

    /// What a search through `/w/src` reads of hidden files.
    fn found(files: &[(&str, &str)], settings: Option<&'static str>) -> Option<String> {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        let start = ("w/src/main.rs".to_owned(), String::new());
        let world = MemoryWorld::new(files.chain([start]));
        let ignore_files = WordList(".gitignore .ignore .rgignore");
        let exceptions = HiddenExceptions { ignore_files, settings };
        let mut patterns = admitted(&world, "/w/src", exceptions)?;
        patterns.sort();
        Some(patterns.join(" "))
    }

    #[test]
    fn ignore_files_admit_hidden_names() {
        let git = ("w/.git/config", "");
        let cases: &[(&[(&str, &str)], &str)] = &[
            (&[], ""),
            (&[("w/src/.gitignore", "target\n.env\n")], ""),
            (&[("w/src/.gitignore", ".env*\n!.env.example\n")], ".env.example"),
            (&[("w/src/.ignore", " !.env\n")], ".env"),
            (&[("w/src/.rgignore", "!/a/.env/\n")], ".env"),
            (&[("w/src/.ignore", "!.[e]nv\n")], ".*nv"),
            (&[("w/src/a/b/.gitignore", "!.env\n")], ".env"),
            (&[("w/.gitignore", "!.env\n")], ".env"),
            (&[(".ignore", "!.env\n")], ".env"),
            (&[("w/other/.gitignore", "!.env\n")], ""),
            // A search enters neither a hidden directory nor an ignored one, unless it is admitted.
            (&[("w/src/.a/.ignore", "!.env\n")], ""),
            (&[("w/src/.a/.ignore", "!.env\n"), ("w/.ignore", "!.a\n")], ".a .env"),
            (&[git, ("w/.gitignore", "out\n"), ("w/src/out/.ignore", "!.env\n")], ""),
            (&[("w/.gitignore", "out\n"), ("w/src/out/.ignore", "!.env\n")], ".env"),
            (&[git, ("w/.git/info/exclude", "!.env\n")], ".env"),
            (
                &[
                    ("w/.git", "gitdir: ../r/.git/worktrees/w\n"),
                    ("r/.git/info/exclude", "!.env\n"),
                ],
                ".env",
            ),
            (&[("home/user/.config/git/ignore", "!.env\n")], ".env"),
            (
                &[
                    ("home/user/.gitconfig", "[core]\n\texcludesFile = \"~/mine\"\n"),
                    ("home/user/mine", "!.env\n"),
                ],
                ".env",
            ),
        ];
        for (files, expected) in cases {
            assert_eq!(found(files, None).as_deref(), Some(*expected), "{files:?}");
        }
    }

    #[test]
    fn settings_and_unreadable_files_may_admit_any_name() {
        assert_eq!(found(&[], Some("SOME_CONFIG")), None);
        assert_eq!(found(&[], Some("UNSET_CONFIG")).as_deref(), Some(""));
        assert_eq!(found(&[("w/src/.ignore", "-> /etc/rules")], None), None);
        let large = "# x\n".repeat(100_000);
        assert_eq!(found(&[("w/src/.ignore", &large)], None), None);
        assert_eq!(found(&[("w/.git", "nonsense")], None), None);
    }
}
