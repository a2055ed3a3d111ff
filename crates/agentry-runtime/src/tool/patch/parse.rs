//! Parses a patch into the changes of each file.

/// The part of a patch about one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FilePatch {
    /// Creates the file.
    Add { path: String, text: String },
    /// Deletes the file.
    Delete { path: String },
    /// Changes the file, and may move it.
    Update { path: String, to: Option<String>, hunks: Vec<PatchHunk> },
}

/// Lines that change together.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PatchHunk {
    /// Lines above it, to find it.
    pub(super) anchors: Vec<String>,
    /// The lines that stay, go and come.
    pub(super) lines: Vec<(PatchLineKind, String)>,
    /// Whether it ends the file.
    pub(super) at_end: bool,
}

/// What happens to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatchLineKind {
    Stays,
    Goes,
    Comes,
}

impl FilePatch {
    /// Returns every path that it changes.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        let (path, to) = match self {
            Self::Add { path, .. } | Self::Delete { path } => (path, None),
            Self::Update { path, to, .. } => (path, to.as_deref()),
        };
        std::iter::once(path.as_str()).chain(to)
    }
}

/// Parses a patch, or returns what is wrong with it.
pub(super) fn parse(patch: &str) -> Result<Vec<FilePatch>, String> {
    let mut lines = patch.trim().lines();
    if lines.next().map(str::trim) != Some("*** Begin Patch") {
        return Err("a patch begins with the line `*** Begin Patch`".to_owned());
    }
    if lines.next_back().map(str::trim) != Some("*** End Patch") {
        return Err("a patch ends with the line `*** End Patch`".to_owned());
    }
    let mut parts = Vec::new();
    for (at, line) in lines.enumerate() {
        // The first line was taken above, and lines count from 1.
        let at = at + 2;
        match part(line) {
            Some(part) => parts.push(part),
            None => match parts.last_mut() {
                Some(part) => body(part, line).map_err(|why| format!("line {at}: {why}"))?,
                None if line.trim().is_empty() => {}
                None => return Err(format!("line {at}: no file is named yet")),
            },
        }
    }
    match parts.iter().find_map(|part| is_idle(part).then(|| part.paths().next())).flatten() {
        Some(idle) => Err(format!("there is no change for `{idle}`")),
        None if parts.is_empty() => Err("the patch names no file".to_owned()),
        None => Ok(parts),
    }
}

/// Returns the file part that a line begins.
fn part(line: &str) -> Option<FilePatch> {
    let path = |prefix: &str| line.strip_prefix(prefix).map(|path| path.trim().to_owned());
    if let Some(path) = path("*** Add File:") {
        return Some(FilePatch::Add { path, text: String::new() });
    }
    if let Some(path) = path("*** Delete File:") {
        return Some(FilePatch::Delete { path });
    }
    let path = path("*** Update File:")?;
    Some(FilePatch::Update { path, to: None, hunks: Vec::new() })
}

/// Adds a line to the part of a file.
fn body(part: &mut FilePatch, line: &str) -> Result<(), String> {
    match part {
        FilePatch::Add { text, .. } => {
            let added = line.strip_prefix('+').ok_or("a line of a new file begins with `+`")?;
            text.push_str(added);
            text.push('\n');
            Ok(())
        }
        FilePatch::Delete { .. } if line.trim().is_empty() => Ok(()),
        FilePatch::Delete { .. } => Err("nothing comes after a file that is deleted".to_owned()),
        FilePatch::Update { to, hunks, .. } => match line.strip_prefix("*** Move to:") {
            Some(path) if to.is_none() && hunks.is_empty() => {
                *to = Some(path.trim().to_owned());
                Ok(())
            }
            Some(_) => Err("`*** Move to:` comes right after its file, once".to_owned()),
            None => hunk_line(hunks, line),
        },
    }
}

fn hunk_line(hunks: &mut Vec<PatchHunk>, line: &str) -> Result<(), String> {
    if let Some(anchor) = line.strip_prefix("@@") {
        // Several anchors in a row belong to one hunk.
        if hunks.last().is_none_or(|hunk| !hunk.lines.is_empty()) {
            hunks.push(PatchHunk::default());
        }
        let anchor = anchor.strip_prefix(' ').unwrap_or(anchor);
        if let Some(hunk) = hunks.last_mut().filter(|_| !anchor.trim().is_empty()) {
            hunk.anchors.push(anchor.to_owned());
        }
        return Ok(());
    }
    if hunks.last().is_none_or(|hunk| hunk.at_end) {
        hunks.push(PatchHunk::default());
    }
    let Some(hunk) = hunks.last_mut() else { return Ok(()) };
    if line.trim_end() == "*** End of File" {
        hunk.at_end = true;
        return Ok(());
    }
    let mut characters = line.chars();
    let fate = match characters.next() {
        // Models often leave out the space of an empty line.
        None | Some(' ') => PatchLineKind::Stays,
        Some('-') => PatchLineKind::Goes,
        Some('+') => PatchLineKind::Comes,
        Some(_) => return Err("a line begins with a space, `-`, `+` or `@@`".to_owned()),
    };
    hunk.lines.push((fate, characters.as_str().to_owned()));
    Ok(())
}

/// Returns whether an update neither changes nor moves anything.
fn is_idle(part: &FilePatch) -> bool {
    let changes =
        |hunk: &PatchHunk| hunk.lines.iter().any(|(fate, _)| *fate != PatchLineKind::Stays);
    match part {
        FilePatch::Update { to, hunks, .. } => to.is_none() && !hunks.iter().any(changes),
        FilePatch::Add { .. } | FilePatch::Delete { .. } => false,
    }
}
