//! Judges what a patch changes: `git apply x.patch` writes the files that `x.patch` names.
//!
//! The text counts only if it is certainly the one that will be applied: nothing in the line may write it
//! before. Otherwise the patch may change any file.

use agentry_commands::{FileEffect, FileUse, effects};

use crate::argv::{ShellArg, ShellWord};
use crate::path::{LinkResolver, absolute};
use crate::shell::{CurrentDirs, LinePart, PartEffect};
use crate::verdict::LayerDecision;

use super::line::{JudgedLine, at};
use super::{Judge, SectionCall};
use crate::PathAnchors;

/// A patch that a part of a line applies, and where its text may come from.
#[derive(Clone, Copy)]
pub(super) struct AppliedPatch<'a> {
    /// The line in which it is applied.
    pub(super) line: &'a JudgedLine<'a>,
    /// The part of the line that applies it.
    pub(super) part: &'a LinePart,
    /// The directories in which the command may run.
    pub(super) bases: &'a CurrentDirs,
    /// The call of the tool.
    pub(super) call: SectionCall<'a>,
    /// What relative paths refer to.
    pub(super) places: &'a PathAnchors,
    /// Reads the file.
    pub(super) resolver: &'a dyn LinkResolver,
}

impl Judge {
    /// Returns the strictest decision against what the patches of a command change.
    pub(super) fn patches(
        &self,
        argv: &[ShellArg],
        input: AppliedPatch<'_>,
    ) -> Option<LayerDecision> {
        let AppliedPatch { bases, call, resolver, .. } = input;
        let decisions = effects(argv).uses().into_iter().filter_map(|(used, word)| {
            let FileUse::Patch { strip } = used else { return None };
            let names = input.text(&word).and_then(|text| changed_names(&text, strip));
            let Some(names) = names else {
                let decision = self.patched(None, argv, bases, call, resolver)?;
                let note = Some("it is not known what the patch changes".to_owned());
                return Some(LayerDecision { note, ..decision });
            };
            let against = names.iter().filter_map(|name| {
                let decision = self.patched(Some(name), argv, bases, call, resolver)?;
                let note = Some(format!("the patch changes `{name}`"));
                Some(LayerDecision { note, ..decision })
            });
            against.reduce(LayerDecision::strictest)
        });
        decisions.reduce(LayerDecision::strictest)
    }
}

impl AppliedPatch<'_> {
    /// Returns the text of a patch, if it is certain.
    fn text(self, word: &ShellWord) -> Option<String> {
        if word.literal() != Some("-") {
            return self.file(word).filter(|_| self.is_undisturbed());
        }
        let others = || self.line.parts.iter().filter(|part| !std::ptr::eq(*part, self.part));
        if others().any(|part| matches!(part.what, PartEffect::Command(_))) {
            return None;
        }
        let mut read = others().filter_map(|part| match &part.what {
            PartEffect::Read(word) => Some(word),
            _ => None,
        });
        match (read.next(), read.next()) {
            (Some(word), None) => self.file(word).filter(|_| self.is_undisturbed()),
            (None, _) => quoted_document(self.call.subject),
            _ => None,
        }
    }

    /// Reads a file, if only one is meant.
    fn file(self, word: &ShellWord) -> Option<String> {
        let CurrentDirs::Known(directories) = self.bases else { return None };
        let [base] = &**directories else { return None };
        let directory = at(base, self.call.directory);
        let path = absolute(word.literal()?, &directory, self.places)?;
        self.resolver.text(&self.resolver.resolve(&path)?)
    }

    /// Whether no part of the line can change a file before the patch is applied.
    fn is_undisturbed(self) -> bool {
        let is_quiet = |part: &LinePart| match &part.what {
            PartEffect::Command(command) => {
                let effects = effects(&command.argv);
                effects.files() == FileEffect::Reads && !effects.runs()
            }
            PartEffect::Read(_) | PartEffect::Enter(_) | PartEffect::Set { .. } => true,
            PartEffect::Write(_) | PartEffect::Lasting { .. } | PartEffect::Unclear { .. } => false,
        };
        let before = self.line.parts.iter().take_while(|part| !std::ptr::eq(*part, self.part));
        // What comes later in the text may come earlier in a loop, a function or a background job.
        let words = self.call.subject.split(|c: char| c.is_whitespace() || c == ';');
        let is_repeated = words.into_iter().any(|word| {
            matches!(word, "while" | "until" | "for" | "select" | "function" | "&")
                || word.contains("()")
                || (word.ends_with('&') && !word.ends_with("&&"))
        });
        !is_repeated && before.into_iter().all(is_quiet)
    }
}

/// Returns a line whose only here-document is its text: quoted, so that the shell changes nothing in it.
fn quoted_document(line: &str) -> Option<String> {
    let (_, document) = line.split_once("<<")?;
    let document = document.strip_prefix('-').unwrap_or(document).trim_start_matches([' ', '\t']);
    let is_quoted = document.starts_with(['\'', '"', '\\']);
    let is_plain = !line.contains(['$', '`', '\\']) && !document.starts_with('<');
    let is_only = !document.lines().next().is_some_and(|command| command.contains("<<"));
    ((is_quoted || is_plain) && is_only).then(|| line.to_owned())
}

/// Lists every name that a patch may change; `None` if some are not certain, or if there are none. A line of a
/// changed file that looks like a name counts too.
fn changed_names(text: &str, strip: Option<u8>) -> Option<Vec<String>> {
    const MARKS: &[&str] = &[
        "--- ",
        "+++ ",
        "*** ",
        "Index: ",
        "rename from ",
        "rename to ",
        "rename old ",
        "rename new ",
        "copy from ",
        "copy to ",
    ];
    let mut names = Vec::new();
    for line in text.lines() {
        // `patch` also reads a patch that is indented, or quoted in a mail.
        let line = line.trim_start();
        let line = line.strip_prefix("- ").unwrap_or(line);
        if let Some(both) = line.strip_prefix("diff --git ") {
            for word in both.split_whitespace() {
                add_name(word, strip, &mut names)?;
            }
        } else if let Some(name) = MARKS.iter().find_map(|mark| line.strip_prefix(mark)) {
            // A date may follow; a name may contain blanks.
            let name = name.split('\t').next().unwrap_or(name).trim_end();
            let is_whole = line.starts_with("rename ") || line.starts_with("copy ");
            // These have no `a/` or `b/`.
            let strip = strip.map(|count| count.saturating_sub(u8::from(is_whole)));
            add_name(name, strip, &mut names)?;
            if let Some((start, _)) = name.split_once(' ') {
                add_name(start, strip, &mut names)?;
            }
        }
    }
    names.sort();
    names.dedup();
    (!names.is_empty()).then_some(names)
}

/// Adds a name without its first directories, or every such name if their number is not known. `None` for a
/// name with escapes.
fn add_name(name: &str, strip: Option<u8>, names: &mut Vec<String>) -> Option<()> {
    if name.starts_with('"') || name.contains('\\') {
        return None;
    }
    if name == "/dev/null" {
        return Some(());
    }
    let suffixes = std::iter::successors(Some(name), |rest| {
        rest.split_once('/').map(|(_, rest)| rest.trim_start_matches('/'))
    });
    let is_file = |name: &&str| !name.is_empty();
    match strip {
        Some(count) => names.extend(suffixes.skip(count.into()).find(is_file).map(str::to_owned)),
        None => names.extend(suffixes.filter(is_file).map(str::to_owned)),
    }
    Some(())
}
