//! The rows of the report about the files of a target: one for each file, or one for each directory where
//! there are very many files.

use std::collections::BTreeMap;

use agentry_compile::render::{PlannedChange, PlannedChangeKind};
use agentry_compile::targets::RenderScope;
use agentry_compile::text::report::{counted, visible};

use super::project::ProjectOutcome;

/// The most files of all targets together that get a row each.
const LISTED: usize = 20;

/// The most directories that the other files are counted by.
const DIRECTORIES: usize = 5;

/// The files of a target with their changes. Files not written by Agentry and shared files are always named.
pub(super) fn rows(done: &ProjectOutcome, target: &str, verbose: bool) -> Vec<Vec<String>> {
    let changed = done.plan.changes.iter().filter(|it| it.kind != PlannedChangeKind::Keep).count();
    // Where all targets together have many files, those of one change in one target are counted.
    let most = if verbose || changed <= LISTED { usize::MAX } else { 1 };
    let of_target = done.plan.changes.iter().filter(|change| change.target == target);
    let (kept, touched): (Vec<&PlannedChange>, Vec<&PlannedChange>) =
        of_target.partition(|change| change.kind == PlannedChangeKind::Keep);
    let files: Vec<ChangedOutput> =
        touched.into_iter().map(|change| ChangedOutput::of(done, change)).collect();
    let mut rows = listed(&files, most);
    if !kept.is_empty() {
        rows.push(row(word(PlannedChangeKind::Keep, done.written), counted(kept.len(), "file")));
    }
    rows
}

/// A file that changes.
struct ChangedOutput {
    word: &'static str,
    path: String,
    /// A remark on the file.
    note: &'static str,
    /// Whether it may be counted together with others.
    plain: bool,
}

impl ChangedOutput {
    fn of(done: &ProjectOutcome, change: &PlannedChange) -> Self {
        let note = if change.forced { FORCED } else { reach(done, change) };
        Self {
            word: word(change.kind, done.written),
            path: done.place.shown(&change.path),
            note,
            plain: note.is_empty(),
        }
    }
}

/// The remark on a file that was edited after rendering, or never rendered.
const FORCED: &str = " (by force: not agentry's own text)";

/// One row for each file; many files with the same change share one row, at the position of the first.
fn listed(files: &[ChangedOutput], most: usize) -> Vec<Vec<String>> {
    let mut alike: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.plain) {
        alike.entry(file.word).or_default().push(&file.path);
    }
    alike.retain(|_, paths| paths.len() > most);
    let mut rows = Vec::new();
    let mut counted: Vec<&str> = Vec::new();
    for ChangedOutput { word, path, note, plain } in files {
        match alike.get(word).filter(|_| *plain) {
            None => rows.push(row(word, format!("{}{note}", visible(path)))),
            // Its group was counted at the position of the first file.
            Some(_) if counted.contains(word) => {}
            Some(paths) => {
                counted.push(word);
                rows.extend(directories(paths).into_iter().map(|row_text| row(word, row_text)));
            }
        }
    }
    rows
}

fn row(word: &str, what: String) -> Vec<String> {
    vec![format!("  {word}"), what]
}

/// The number of files in each directory. Where there are too many directories, the deepest are counted
/// with their parents.
fn directories(paths: &[&str]) -> Vec<String> {
    let depth = |dir: &str| dir.matches('/').count();
    let above = |path: &str| {
        let end = path.trim_end_matches('/').rfind('/').map_or(0, |at| at + 1);
        path.get(..end).unwrap_or_default().to_owned()
    };
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for path in paths {
        groups.entry(above(path)).or_default().push(path);
    }
    while groups.len() > DIRECTORIES {
        let deepest = groups.keys().map(|dir| depth(dir)).max().unwrap_or(0);
        let mut lifted: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (dir, files) in groups {
            let dir = if depth(&dir) == deepest { above(&dir) } else { dir };
            lifted.entry(dir).or_default().extend(files);
        }
        groups = lifted;
    }
    let row_text = |(dir, files): (&String, &Vec<&str>)| match files.as_slice() {
        [one] => visible(one).into_owned(),
        files if dir.is_empty() => counted(files.len(), "file"),
        files => format!("{} in {}", counted(files.len(), "file"), visible(dir)),
    };
    groups.iter().map(row_text).collect()
}

/// The audience of a file, where it applies to more than its agent.
fn reach(done: &ProjectOutcome, change: &PlannedChange) -> &'static str {
    let is_shared = change.agent.is_empty() && change.kind != PlannedChangeKind::Remove;
    match (is_shared, done.place.scope) {
        (false, _) => "",
        (true, RenderScope::Project) => " (shared: holds for every session of the project)",
        (true, RenderScope::User) => " (shared: holds for every session of the user)",
    }
}

/// The verb for a change, in the past tense if it is `done`.
pub(super) fn word(kind: PlannedChangeKind, done: bool) -> &'static str {
    match (kind, done) {
        (PlannedChangeKind::Create, true) => "created",
        (PlannedChangeKind::Update, true) => "updated",
        (PlannedChangeKind::Remove, true) => "removed",
        (PlannedChangeKind::Create, false) => "would create",
        (PlannedChangeKind::Update, false) => "would update",
        (PlannedChangeKind::Remove, false) => "would remove",
        (PlannedChangeKind::Keep, _) => "unchanged",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(files: &[(&'static str, String, &'static str)]) -> Vec<String> {
        let file = |(word, path, note): &(&'static str, String, &'static str)| ChangedOutput {
            word,
            path: path.clone(),
            note,
            plain: note.is_empty(),
        };
        let files: Vec<ChangedOutput> = files.iter().map(file).collect();
        listed(&files, 1).iter().map(|row| row.join(" ").trim().to_owned()).collect()
    }

    #[test]
    fn many_files_are_counted_by_directory() {
        let agents = |count| (0..count).map(|at| ("created", format!(".x/agents/a{at}.md"), ""));
        assert_eq!(shown(&agents(1).collect::<Vec<_>>()), ["created .x/agents/a0.md"]);
        let skills = |at: usize| {
            let dir = format!(".x/skills/s{at}");
            [("created", format!("{dir}/SKILL.md"), ""), ("created", format!("{dir}/a/b.sh"), "")]
        };
        let mut many: Vec<_> = agents(300).chain((0..50).flat_map(skills)).collect();
        many.push(("created", ".x/settings.json".to_owned(), " (shared)"));
        many.push(("updated", ".x/agents/old.md".to_owned(), ""));
        many.push(("updated", ".x/agents/mine.md".to_owned(), FORCED));
        many.extend((0..30).map(|at| ("removed", format!(".x/agents/r{at}.md"), "")));
        many.push(("created", "AGENTS.md".to_owned(), ""));
        assert_eq!(
            shown(&many),
            [
                "created AGENTS.md",
                "created 300 files in .x/agents/",
                "created 100 files in .x/skills/",
                "created .x/settings.json (shared)",
                "updated .x/agents/old.md",
                "updated .x/agents/mine.md (by force: not agentry's own text)",
                "removed 30 files in .x/agents/",
            ]
        );
    }

    #[test]
    fn many_directories_are_summarised_by_their_root() {
        let spread: Vec<String> = (0..60).map(|at| format!("p{at}/a.md")).collect();
        let rooted: Vec<String> = (0..60).map(|at| format!("/p{at}/x/a.md")).collect();
        for (paths, expected) in [(spread, "60 files"), (rooted, "60 files in /")] {
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            assert_eq!(directories(&paths), [expected], "{paths:?}");
        }
    }
}
