//! Options that stand between a command and its subcommand: `git -C dir push`.

/// One such option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GlobalOption {
    /// How it is written: `-C`, `--git-dir`.
    pub spelling: &'static str,
    /// Where its value stands.
    pub takes: Takes,
}

/// Where the value of an option stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// It has none.
    Nothing,
    /// In the next word: `-C dir`.
    Next,
    /// Behind an equals sign: `--exec-path=dir`.
    Joined,
    /// In either place.
    Either,
}

/// The table: commands and their options.
pub const GLOBAL_OPTIONS: &[(&str, &[GlobalOption])] = &[(
    "git",
    &[
        GlobalOption { spelling: "-C", takes: Takes::Next },
        GlobalOption { spelling: "-c", takes: Takes::Next },
        GlobalOption { spelling: "--git-dir", takes: Takes::Either },
        GlobalOption { spelling: "--work-tree", takes: Takes::Either },
        GlobalOption { spelling: "--no-pager", takes: Takes::Nothing },
        GlobalOption { spelling: "-p", takes: Takes::Nothing },
    ],
)];

/// The options of `command`, a base name; none for a command that is not in the table.
pub fn global_options(command: &str) -> &'static [GlobalOption] {
    let named = |(name, _): &&(&str, _)| *name == command;
    GLOBAL_OPTIONS.iter().find(named).map_or(&[], |(_, options)| options)
}
