//! Wrappers, the programs that run another command: where that command is among the arguments, and what the
//! options before it do.

use crate::program::{WordList, words};

/// One wrapper, or some of its subcommands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrapperRow {
    /// The subcommands that the row applies to; empty for all.
    pub subcommands: WordList,
    /// Whether it changes the user, the machine or the files of the command.
    pub reach: WrapperReach,
    /// Options without a value.
    pub flags: WordList,
    /// Options with a value.
    pub valued: WordList,
    /// How many operands come before the command.
    pub operands: usize,
    /// Whether a `--` may come after the operands: `kubectl exec pod -- command`.
    pub operands_first: bool,
    /// Whether `NAME=value` before the command sets a variable.
    pub assigns: bool,
    /// How the command is given.
    pub inner: InnerForm,
    /// Whether it starts a shell if no command is given.
    pub starts_shell: bool,
    /// Where an option with a command text may be.
    pub text_place: TextPlace,
    /// Options with an additional effect.
    pub effects: Vec<(WrapperOption, WordList)>,
}

words! {
    /// How far a wrapper changes the environment of its command.
    WrapperReach {
        /// The same user, machine and files: only the inner command is judged.
        Same = "same",
        /// Another user: the wrapper needs its own rule.
        User = "user",
        /// Another machine or other files: the wrapper needs its own rule, and the directory is unknown.
        Place = "place",
    }
}

words! {
    /// How the command of a wrapper is given.
    InnerForm {
        /// As separate words.
        Words = "words",
        /// As words that are joined by spaces for a shell.
        Text = "text",
        /// As words, with unknown words appended: `xargs`.
        Fed = "fed",
        /// As the value of an option: `su -c`.
        Option = "option",
        /// As a template: `parallel`.
        Template = "template",
    }
}

words! {
    /// Where an option with a text for a shell may be.
    TextPlace {
        /// Before the operands.
        Front = "text-before",
        /// Also after them: `su user -c text`.
        Behind = "text-behind",
        /// Also after them, unless an option names the user.
        BehindUser = "text-behind-user",
    }
}

words! {
    /// The additional effect of an option of a wrapper.
    WrapperOption {
        /// Reads the file in its value.
        Read = "read",
        /// Writes the file in its value.
        Write = "write",
        /// Sets the directory of the command.
        Enter = "enter",
        /// Runs its value with a shell.
        Text = "text",
        /// Splits its value into further arguments.
        Split = "split",
        /// Replaces its value in the command by input.
        Replace = "replace",
        /// Runs no command at all.
        Nothing = "nothing",
        /// Starts a shell if no command is given.
        Shell = "shell",
        /// Keeps the words separate instead of joining them for a shell.
        Exact = "exact",
        /// Names the command, whose arguments come later.
        Entry = "entry",
    }
}

impl WrapperRow {
    /// Parses a row such as `words user operands 1 assigns shell`: the form first, the rest in any order.
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

    /// Returns the additional effect of an option.
    pub fn effect(&self, option: &str) -> Option<WrapperOption> {
        self.effects.iter().find(|(_, options)| options.has(option)).map(|(effect, _)| *effect)
    }
}

/// A program that runs another command somewhere after its options. Which options take a value is unknown,
/// so every word that may be the command is considered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunnerRow {
    /// The subcommand, one or more words; empty if there is none.
    pub subcommand: WordList,
    /// How many operands may come before the command.
    pub operands: usize,
    /// Whether a rule for the program also covers the command.
    pub trust: RunnerTrust,
}

words! {
    /// What a rule for such a program means for the command that it runs.
    RunnerTrust {
        /// Nothing: the command is judged as well.
        Same = "same",
        /// Nothing: the command is judged as well, and it runs in another directory or on another machine.
        Elsewhere = "elsewhere",
        /// An allow rule for the program covers the command too: only rules against the command count.
        Package = "package",
    }
}

impl RunnerRow {
    /// Parses a row such as `same 0`, `elsewhere 1` or `package any`.
    pub(crate) fn read(subcommand: WordList, values: WordList) -> Option<Self> {
        /// Stands for «any number»: some options take several values, so every word may be the command.
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
    fn wrappers_have_one_row_per_subcommand() {
        for name in names() {
            let facts = program(name).unwrap();
            for (at, row) in facts.runners.iter().enumerate() {
                let same = |it: &&super::RunnerRow| it.subcommand == row.subcommand;
                assert_eq!(facts.runners.iter().filter(same).count(), 1, "{at} {name}");
            }
            for row in &facts.wrappers {
                let is_own = |word: &str| row.flags.has(word) || row.valued.has(word);
                let mut options = row.effects.iter().flat_map(|(_, list)| list.iter());
                // An option of one row may apply to all subcommands of the program.
                let is_known = |option| is_own(option) || !row.subcommands.is_empty();
                assert!(options.all(is_known), "{name}: {row:?}");
            }
        }
    }
}
