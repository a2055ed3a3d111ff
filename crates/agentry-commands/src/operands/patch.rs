//! The files of programs that apply a patch: the patch itself, and what it names.

use super::{FileUse, OperandKind, UsedFile};
use crate::argv::ShellWord;

/// The options of a command that applies a patch.
#[derive(Debug, Default)]
pub(super) struct PatchOptions {
    /// How many directories are removed from the names in it; `None` if that is not known.
    strip: Option<u8>,
    /// The file that is given by an option.
    input: Option<ShellWord>,
    /// Whether the names are relative to another directory.
    is_elsewhere: bool,
}

impl PatchOptions {
    /// Takes note of an option with its value.
    pub(super) fn option(&mut self, name: &str, value: &ShellWord) {
        match name {
            "-p" | "--strip" => self.strip = value.literal().and_then(|count| count.parse().ok()),
            "-i" | "--input" => self.input = Some(value.clone()),
            "-d" | "--directory" => self.is_elsewhere = true,
            _ => {}
        }
    }

    /// The options before any is read.
    pub(super) fn of(kind: OperandKind) -> Self {
        // git removes `a/` and `b/`; `patch` takes the name that fits best.
        Self { strip: (kind == OperandKind::Patch).then_some(1), ..Self::default() }
    }

    /// Lists how the operands are used.
    pub(super) fn uses(self, kind: OperandKind, operands: &[ShellWord]) -> Vec<UsedFile> {
        let strip = self.strip;
        let patch = |word: ShellWord| {
            let names = if self.is_elsewhere {
                (FileUse::Write, ShellWord::any())
            } else {
                (FileUse::Patch { strip }, word.clone())
            };
            [(FileUse::Read, word), names]
        };
        let input = || self.input.clone().unwrap_or_else(|| ShellWord::text("-"));
        match (kind, operands) {
            (OperandKind::Patch | OperandKind::Patched, []) => patch(input()).into(),
            (OperandKind::Patch, patches) => patches.iter().cloned().flat_map(patch).collect(),
            // With the file to change as an operand, the names in the patch do not matter.
            (OperandKind::Patched, [changed, patches @ ..]) => {
                let both = [FileUse::Read, FileUse::Write].map(|used| (used, changed.clone()));
                let read = patches.iter().map(|patch| (FileUse::Read, patch.clone()));
                both.into_iter().chain(read).collect()
            }
            _ => Vec::new(),
        }
    }
}
