//! What a command does, computed from its argument list and the facts of its program.
//!
//! Policy, protected names and approval scope all use this one interface.

use std::fmt;

use crate::argv::{self, ShellArg, ShellWord};
use crate::data::program;
use crate::hazard::{CommandHazard, DELETES, RUNS, own_rules};
use crate::hidden_names::{HiddenExceptions, hidden_exceptions};
use crate::operands::{self, FileUse, OperandKind};
use crate::options::subcommand;
use crate::program::{FileRow, InnerSyntax, ProgramFacts, ProgramTrait, ShellKind};
use crate::searched_names::searched_ends;
use crate::{base_name, git};

/// The options of a shell that leave its program what it is: `sh -eux FILE`.
const SHELL_OPTIONS: &str = "euvx";

/// The effects of one command; each answer is computed on demand.
#[derive(Debug, Clone, Copy)]
pub struct CommandEffects<'a> {
    argv: &'a [ShellArg],
    facts: Option<&'static ProgramFacts>,
}

/// What a command does to files, besides those that its arguments name as read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileEffect {
    /// It only reads.
    Reads,
    /// It may change the files in its arguments.
    Changes,
    /// It makes a checkout in its last operand.
    Checkout,
    /// It copies or moves its operands into the last one.
    Copies {
        /// Whether the sources are removed.
        moves: bool,
    },
    /// It creates the files that an archive or a patch names, in the current directory.
    Unpacks,
    /// It changes some files below the given directories, or below the current one.
    TakesSome,
    /// It changes everything below the given directories.
    TakesAll,
    /// It writes files that Agentry manages.
    Own,
    /// It changes files of a checkout.
    Tree {
        /// Whether it may change any file. Otherwise its operands name the paths. The order of the two
        /// decides which effect is the worse one.
        whole: bool,
    },
    /// It changes git settings, or installs hooks from a directory.
    Configures,
}

/// Returns the effects of the command `argv`.
pub fn effects(argv: &[ShellArg]) -> CommandEffects<'_> {
    let name = argv.first().and_then(ShellArg::literal).map_or("", base_name);
    CommandEffects { argv, facts: program(name) }
}

impl<'a> CommandEffects<'a> {
    /// Returns the facts of its program, if it is in the data files.
    pub fn facts(self) -> Option<&'static ProgramFacts> {
        self.facts
    }

    /// Whether its program has this trait.
    pub fn has(self, wanted: ProgramTrait) -> bool {
        self.facts.is_some_and(|facts| facts.has(wanted))
    }

    /// Whether it reads everything in a directory that it is given.
    pub fn walks(self) -> bool {
        self.facts.is_some_and(|facts| operands::walks(facts, &self.texts()))
    }

    /// Whether it reads the contents of every file in a directory that it is given.
    pub fn searches(self) -> bool {
        let Some(facts) = self.facts.filter(|_| self.walks()) else { return false };
        let verb = || subcommand(facts.name, self.argv).and_then(|at| self.argv.get(at)?.literal());
        facts.searches.is_empty() || verb().is_some_and(|verb| facts.searches.has(verb))
    }

    /// Returns the ends of the names that it reads in a directory; `None` if it may read any file there.
    pub fn searched_ends(self) -> Option<Vec<String>> {
        searched_ends(self.facts.filter(|_| self.searches())?, self.argv)
    }

    /// Returns what decides which hidden files it reads in a directory all the same, if it leaves them out; `None` if
    /// it may read all of them.
    pub fn hidden_exceptions(self) -> Option<HiddenExceptions> {
        hidden_exceptions(self.facts.filter(|_| self.searches())?, self.argv)
    }

    /// Whether it may delete files that its arguments only select.
    pub fn deletes(self) -> bool {
        self.own_rules().iter().any(|hazard| hazard.does == DELETES)
    }

    /// Lists the files that it reads or writes and the addresses that it fetches, in order.
    pub fn uses(self) -> Vec<(FileUse, ShellWord)> {
        self.facts.map_or_else(Vec::new, |facts| operands::files(facts, self.argv))
    }

    /// Lists words that may be files, if it is not known which of its arguments are.
    pub fn possible_uses(self) -> Vec<(FileUse, ShellWord)> {
        operands::possible_files(self.facts, self.argv)
    }

    /// Lists the options that an allow rule has to name; of an unknown word, its literal start counts.
    pub fn own_rules(self) -> Vec<&'static CommandHazard> {
        own_rules(&self.texts()).collect()
    }

    /// Whether it runs a program named in its arguments, or an argument is itself a program text.
    pub fn runs(self) -> bool {
        let Some(facts) = self.facts else { return false };
        let reads_commands = matches!(facts.syntax, Some(InnerSyntax::Input | InnerSyntax::Later));
        let texts = self.texts();
        let has = |word: &str| texts.contains(&word);
        let wraps = facts
            .wrappers
            .iter()
            .any(|row| row.subcommands.is_empty() || row.subcommands.iter().any(has));
        let starts = facts.runners.iter().any(|row| row.subcommand.iter().all(has));
        facts.shell.is_some()
            || facts.has(ProgramTrait::Interpreter)
            || reads_commands
            || wraps
            || starts
            || own_rules(&texts).any(|hazard| hazard.does == RUNS)
    }

    /// Returns the index of the argument with the program that a shell or an interpreter reads: `sh -e FILE a`.
    /// With any other than the harmless options its meaning may differ, so the result is `None`.
    pub fn program_file(self) -> Option<usize> {
        let facts = self.facts?;
        let is_shell = matches!(facts.shell, Some(ShellKind::Posix | ShellKind::Bash));
        if !is_shell && !facts.has(ProgramTrait::RunsFile) {
            return None;
        }
        let is_harmless = |option: &str| {
            let letters = option.strip_prefix('-').unwrap_or_default();
            is_shell && !letters.is_empty() && letters.chars().all(|c| SHELL_OPTIONS.contains(c))
        };
        let words = self.argv.iter().enumerate().skip(1);
        let mut words = words.skip_while(|(_, word)| word.literal().is_some_and(is_harmless));
        let (at, file) = words.next()?;
        file.literal().filter(|file| !file.starts_with(['-', '+'])).map(|_| at)
    }

    /// Whether it changes git settings, or installs hooks.
    pub fn configures(self) -> bool {
        self.files() == FileEffect::Configures
    }

    /// Returns what it does to files; an unknown program may change the files in its arguments.
    pub fn files(self) -> FileEffect {
        let Some(facts) = self.facts else { return FileEffect::Changes };
        let texts = self.texts();
        if facts.syntax == Some(InnerSyntax::Git) {
            return git::files(facts, &texts);
        }
        let words = texts.get(1..).unwrap_or_default();
        let name = words.iter().find(|word| !word.starts_with('-')).copied();
        match facts.file_row(name) {
            Some(FileRow::TakesAll) => FileEffect::TakesAll,
            Some(FileRow::Copies) => FileEffect::Copies { moves: false },
            Some(FileRow::Moves) => FileEffect::Copies { moves: true },
            // Making or listing an archive creates no file that only the archive names.
            Some(FileRow::Unpacks) if lists(facts, words) => FileEffect::Changes,
            Some(FileRow::Unpacks) => FileEffect::Unpacks,
            Some(FileRow::Checkout | FileRow::NewRepository) => FileEffect::Checkout,
            Some(FileRow::NamedTree) => FileEffect::Tree { whole: false },
            Some(FileRow::Tree) => FileEffect::Tree { whole: true },
            // Without a subcommand the program only prints its help.
            Some(FileRow::Own) if name.is_none() => FileEffect::Reads,
            Some(FileRow::Own) => FileEffect::Own,
            Some(FileRow::Reads) if writes(facts, words) => FileEffect::Own,
            Some(FileRow::Reads) if own_rules(&texts).next().is_none() => FileEffect::Reads,
            // `find` with a hazard such as `-delete` changes some of the files below.
            Some(FileRow::Reads) if facts.syntax == Some(InnerSyntax::Find) => {
                FileEffect::TakesSome
            }
            None | Some(FileRow::Reads | FileRow::Writes | FileRow::Repository) => {
                FileEffect::Changes
            }
        }
    }

    /// Returns what an approval covers besides this exact command: the program or subcommand, if its other
    /// arguments without hazards only read, build or test.
    pub fn approval(self) -> Option<String> {
        let words = argv::literal(self.argv)?;
        let (facts, name) = (self.facts?, *words.first()?);
        // A path such as `./cargo` may be any program, so only the plain name counts.
        if name != facts.name || own_rules(&words).next().is_some() {
            return None;
        }
        if facts.approval.is_empty() {
            return facts.has(ProgramTrait::ApprovedWhole).then(|| name.to_owned());
        }
        let word = words.get(subcommand(name, self.argv)?)?;
        facts.approval.has(word).then(|| format!("{name} {word}"))
    }

    /// Returns the literal start of each argument.
    fn texts(self) -> Vec<&'a str> {
        self.argv.iter().map(known_start).collect()
    }
}

/// Returns the literal text that an argument starts with.
fn known_start(arg: &ShellArg) -> &str {
    arg.word().start()
}

/// Whether an option makes a subcommand write that otherwise reads.
fn writes(facts: &ProgramFacts, words: &[&str]) -> bool {
    words.iter().any(|word| facts.writing.iter().any(|option| word.starts_with(option)))
}

/// Whether an archive is only made or listed, not unpacked.
fn lists(facts: &ProgramFacts, words: &[&str]) -> bool {
    if facts.operands.iter().all(|row| row.kind != OperandKind::Tar) {
        return words.iter().any(|word| facts.lists.has(word));
    }
    let has = |long: &[&str]| words.iter().any(|word| long.contains(word));
    // The first word of `tar` may be option letters without a dash: `tar xf`.
    let first = words.first().map_or("", |word| word.trim_start_matches('-'));
    let is_long = words.first().is_some_and(|word| word.starts_with("--"));
    let mode = !is_long && first.contains(['c', 't']) && !first.contains('x');
    // A later `-x` wins even if the first word says `c` or `t`.
    let is_short = |word: &&str| word.starts_with('-') && !word.starts_with("--");
    let mut later = words.iter().skip(1).filter(|word| is_short(word));
    let extracts = has(&["--extract", "--get"]) || later.any(|word| word.contains('x'));
    (mode || has(&["--create", "--list"])) && !extracts
}

impl fmt::Display for CommandEffects<'_> {
    /// Writes the effects in the form that the examples in the data files use.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        for (used, word) in self.uses() {
            parts.push(format!("{} {}", used.verb(), word.literal().unwrap_or("?")));
        }
        let mut does: Vec<&str> = self.own_rules().iter().map(|hazard| hazard.does).collect();
        does.dedup();
        parts.extend(does.iter().map(|does| format!("can {does}")));
        parts.extend((self.runs() && !does.contains(&RUNS)).then(|| "runs".to_owned()));
        let files = match self.files() {
            FileEffect::Changes => None,
            FileEffect::Reads => Some("changes nothing"),
            FileEffect::Checkout => Some("makes a checkout"),
            FileEffect::Copies { moves: false } => Some("copies"),
            FileEffect::Copies { moves: true } => Some("moves"),
            FileEffect::Unpacks => Some("unpacks"),
            FileEffect::TakesSome => Some("takes some below"),
            FileEffect::TakesAll => Some("takes all below"),
            FileEffect::Own => Some("writes what Agentry keeps"),
            FileEffect::Tree { whole: true } => Some("changes the checkout"),
            FileEffect::Tree { whole: false } => Some("changes files of the checkout"),
            FileEffect::Configures => Some("configures"),
        };
        parts.extend(files.map(str::to_owned));
        parts.extend(self.approval().map(|name| format!("approved as {name}")));
        let text = if parts.is_empty() { "nothing known".to_owned() } else { parts.join(", ") };
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests;
