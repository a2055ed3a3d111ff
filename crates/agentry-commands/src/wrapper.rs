//! Programs that run another command: where among their arguments it stands, and what the options
//! before it do.

use crate::program::{WordList, words};

/// One such program, or one of its subcommands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrapperRow {
    /// Only with one of these subcommands; empty for all.
    pub subcommands: WordList,
    /// Whether it changes who runs the command, or where.
    pub reach: WrapperReach,
    /// Options without a value.
    pub flags: WordList,
    /// Options with a value.
    pub valued: WordList,
    /// How many operands come before the command.
    pub operands: usize,
    /// Whether a `--` may stand behind the operands: `kubectl exec pod -- command`.
    pub operands_first: bool,
    /// Whether `NAME=value` before the command sets a variable.
    pub assigns: bool,
    /// How the command is given.
    pub inner: InnerForm,
    /// Whether it starts a shell if no command is given.
    pub starts_shell: bool,
    /// Where an option with a text may stand.
    pub text_place: TextPlace,
    /// Options that do something besides.
    pub effects: Vec<(WrapperOption, WordList)>,
}

words! {
    /// How far a wrapper reaches.
    WrapperReach {
        /// The same user, machine and files: only the inner command is judged.
        Same = "same",
        /// Another user: the wrapper needs a rule of its own.
        User = "user",
        /// Another machine or other files: so it does, and the directory is unknown.
        Place = "place",
    }
}

words! {
    /// How a wrapper's command is given.
    InnerForm {
        /// As words.
        Words = "words",
        /// As words that a shell gets, joined by spaces.
        Text = "text",
        /// As words to which unknown ones are added: `xargs`.
        Fed = "fed",
        /// By an option with a text: `su -c`.
        Option = "option",
        /// As a template: `parallel`.
        Template = "template",
    }
}

words! {
    /// Where an option with a text for a shell may stand.
    TextPlace {
        /// Before the operands.
        Front = "text-before",
        /// Behind them too: `su user -c text`.
        Behind = "text-behind",
        /// Behind them too, unless an option names the user.
        BehindUser = "text-behind-user",
    }
}

words! {
    /// What an option of a wrapper does besides.
    WrapperOption {
        /// Reads the file that it names.
        Read = "read",
        /// Writes it.
        Write = "write",
        /// Runs the command in this directory.
        Enter = "enter",
        /// Runs this text with a shell.
        Text = "text",
        /// Splits this text into further arguments.
        Split = "split",
        /// Replaces this word in the command by input.
        Replace = "replace",
        /// Runs no command at all.
        Nothing = "nothing",
        /// Starts a shell if no command is given.
        Shell = "shell",
        /// Does not join the words for a shell.
        Exact = "exact",
        /// Names the command, whose arguments come later.
        Entry = "entry",
    }
}

impl WrapperRow {
    /// `words user operands 1 assigns shell`: the form first, the others in any order.
    pub(crate) fn read(subcommands: WordList, values: WordList) -> Option<Self> {
        let mut words = values.iter();
        let mut row = Self {
            subcommands,
            reach: WrapperReach::Same,
            flags: WordList::default(),
            valued: WordList::default(),
            operands: 0,
            operands_first: false,
            assigns: false,
            inner: InnerForm::read(words.next()?)?,
            starts_shell: false,
            text_place: TextPlace::Front,
            effects: Vec::new(),
        };
        while let Some(word) = words.next() {
            match word {
                "operands" => row.operands = words.next()?.parse().ok()?,
                "operands-first" => row.operands_first = true,
                "assigns" => row.assigns = true,
                "shell" => row.starts_shell = true,
                word => match (WrapperReach::read(word), TextPlace::read(word)) {
                    (Some(reach), _) => row.reach = reach,
                    (_, Some(place)) => row.text_place = place,
                    (None, None) => return None,
                },
            }
        }
        Some(row)
    }

    /// What an option does besides.
    pub fn effect(&self, option: &str) -> Option<WrapperOption> {
        self.effects.iter().find(|(_, options)| options.has(option)).map(|(effect, _)| *effect)
    }
}

/// A program that runs another command somewhere behind its options: which words those take is not
/// known, so every word that may be the command is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunnerRow {
    /// The subcommand, in one word or more; empty if there is none.
    pub subcommand: WordList,
    /// How many operands may come before the command.
    pub operands: usize,
    /// What a rule for the program itself is worth.
    pub trust: RunnerTrust,
}

words! {
    /// What a rule for such a program says about the command that it runs.
    RunnerTrust {
        /// Nothing: the command is judged as well.
        Same = "same",
        /// Nothing either, and the command runs in another place.
        Elsewhere = "elsewhere",
        /// To allow the program is to allow what it runs: only rules against the command count.
        Package = "package",
    }
}

impl RunnerRow {
    /// `same 0`, `elsewhere 1`, `package any`
    pub(crate) fn read(subcommand: WordList, values: WordList) -> Option<Self> {
        /// Options with several values: every word may be the command.
        const ANY: usize = 64;
        let mut words = values.iter();
        let trust = RunnerTrust::read(words.next()?)?;
        let operands = match words.next()? {
            "any" => ANY,
            count => count.parse().ok()?,
        };
        words.next().is_none().then_some(Self { subcommand, operands, trust })
    }
}

#[cfg(test)]
mod tests {
    use crate::data::{names, program};

    #[test]
    fn a_program_runs_one_command_in_one_way() {
        for name in names() {
            let facts = program(name).unwrap();
            for (at, row) in facts.runners.iter().enumerate() {
                let same = |it: &&super::RunnerRow| it.subcommand == row.subcommand;
                assert_eq!(facts.runners.iter().filter(same).count(), 1, "{at} {name}");
            }
            for row in &facts.wrappers {
                let is_own = |word: &str| row.flags.has(word) || row.valued.has(word);
                let mut options = row.effects.iter().flat_map(|(_, list)| list.iter());
                // An option of one row may stand for all of the program's subcommands.
                let is_known = |option| is_own(option) || !row.subcommands.is_empty();
                assert!(options.all(is_known), "{name}: {row:?}");
            }
        }
    }
}
