//! Searches that leave out hidden files, whose names start with a dot: `rg x` does, `rg --hidden x` does not.
//!
//! Only options that certainly keep it that way count; with any other one, hidden files are read too.

use crate::argv::ShellArg;
use crate::program::{ProgramFacts, WordList};

/// When a program leaves out hidden files: its `hidden …:` rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct HiddenRows {
    /// `hidden kept:` the only options with which hidden files stay left out.
    kept: WordList,
    /// `hidden ignore:` the names of the ignore files in which a line such as `!.env` admits a hidden file.
    ignore: WordList,
    /// `hidden settings:` the variable that names a file with further options, and the first option without which
    /// it counts.
    settings: WordList,
}

/// What decides which hidden files a search reads all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HiddenExceptions {
    /// The names of the ignore files in which a line such as `!.env` admits one.
    pub ignore_files: WordList,
    /// The variable that may name a file with further options.
    pub settings: Option<&'static str>,
}

impl HiddenRows {
    /// Adds a row; returns `None` if there is no such row.
    pub(crate) fn add(&mut self, kind: &str, values: WordList) -> Option<()> {
        let field = match kind {
            "kept" => &mut self.kept,
            "ignore" => &mut self.ignore,
            "settings" => &mut self.settings,
            _ => return None,
        };
        *field = values;
        Some(())
    }
}

/// Returns the exceptions of a search that leaves out hidden files; `None` if it may read all of them.
pub(crate) fn hidden_exceptions(
    facts: &ProgramFacts,
    argv: &[ShellArg],
) -> Option<HiddenExceptions> {
    let HiddenRows { kept, ignore, settings } = facts.hidden;
    let mut words = argv.get(1..)?.iter();
    if kept.is_empty() || !words.all(|arg| is_kept(facts, arg)) {
        return None;
    }
    let mut settings = settings.iter();
    let variable = settings.next();
    // As the first word, the option cannot be the value of another one.
    let is_without = settings
        .next()
        .is_some_and(|option| argv.get(1).and_then(ShellArg::literal) == Some(option));
    Some(HiddenExceptions { ignore_files: ignore, settings: variable.filter(|_| !is_without) })
}

/// Whether a word is certainly no option with which hidden files are read. A word after `--` counts too, because `--`
/// may be the value of an option.
fn is_kept(facts: &ProgramFacts, arg: &ShellArg) -> bool {
    let kept = facts.hidden.kept;
    let (start, is_literal) = (arg.word().start(), arg.literal().is_some());
    let Some(option) = start.strip_prefix('-') else { return !start.is_empty() || is_literal };
    if let Some(name) = option.strip_prefix('-') {
        return match start.split_once('=') {
            Some((name, _)) => kept.has(name),
            None => is_literal && (name.is_empty() || kept.has(start)),
        };
    }
    for letter in option.chars() {
        let letter = format!("-{letter}");
        if !kept.has(&letter) {
            return false;
        }
        // The rest of the word is its value.
        if has_value(facts, &letter) {
            return true;
        }
    }
    is_literal
}

fn has_value(facts: &ProgramFacts, option: &str) -> bool {
    let lists = facts.operands.iter().flat_map(|row| [row.valued, row.instead, row.reads]);
    lists.into_iter().any(|list| list.has(option))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argv::ShellWord;
    use crate::data::program;

    fn found(argv: &[ShellArg]) -> Option<HiddenExceptions> {
        hidden_exceptions(program(argv.first()?.literal()?)?, argv)
    }

    fn words(line: &str) -> Vec<ShellArg> {
        line.split(' ').map(ShellArg::text).collect()
    }

    #[test]
    fn a_search_leaves_out_hidden_files_with_certain_options_only() {
        let kept = [
            "rg x",
            "rg x src",
            "rg -n x .",
            "rg -niw -A3 -C 2 x",
            "rg -lF -e x -- src",
            "rg --files",
            "rg --line-number --max-count=3 x",
            "rg --color never -T rust x",
            "rg -l x ../other",
            "ag x",
            "ag -il x src",
            "ag --nocolor -C 3 x",
        ];
        for line in kept {
            assert!(found(&words(line)).is_some(), "{line}");
        }
        let read = [
            "rg --hidden x",
            "rg -. x",
            "rg -n. x",
            "rg -u x",
            "rg -uuu x",
            "rg -nuu x",
            "rg --unrestricted x",
            "rg -g .env x",
            "rg --glob=* x",
            "rg --iglob * x",
            "rg -t all x",
            "rg -L x",
            "rg --follow x",
            "rg --ignore-file f x",
            "rg --no-ignore x",
            "rg --pre cat x",
            "rg -z x",
            "rg --new-option x",
            // `--` and the option are the values of other options, or not.
            "rg -e -- --hidden .",
            "rg x -- --hidden",
            "rg -e --hidden .",
            "ag --hidden x",
            "ag --hid x",
            "ag -u x",
            "ag -U x",
            "ag -f x",
            "ag -a x",
            "ag --unr x",
            "grep -rn x",
            "rgrep x",
            "ugrep -r x",
        ];
        for line in read {
            assert_eq!(found(&words(line)), None, "{line}");
        }
    }

    #[test]
    fn an_unknown_word_may_be_any_option() {
        for open in [ShellArg::Many(ShellWord::any()), ShellArg::One(ShellWord::any())] {
            let argv: Vec<ShellArg> = words("rg x").into_iter().chain([open]).collect();
            assert_eq!(found(&argv), None);
        }
    }

    #[test]
    fn settings_count_unless_the_first_option_turns_them_off() {
        let cases = [
            ("rg x", Some("RIPGREP_CONFIG_PATH")),
            ("rg --no-config x", None),
            ("rg -e --no-config x", Some("RIPGREP_CONFIG_PATH")),
            ("ag x", None),
        ];
        for (line, expected) in cases {
            assert_eq!(found(&words(line)).unwrap().settings, expected, "{line}");
        }
    }
}
