//! The names that a search through directories is limited to: `grep -r --include='*.rs' x`, `rg -t rust x`.
//!
//! Only an option that certainly is one counts. A word after an unknown option may be its value, and a word that is not
//! literal may be any option; with one of these, the search may read any file.

use crate::argv::{ShellArg, ShellWord, WordPiece};
use crate::program::{ProgramFacts, ProgramTrait, WordList};

/// The options that limit a search: the `names …:` rows of a program.
#[derive(Debug, Clone, Copy, Default)]
pub struct NameOptions {
    /// `names glob:` options with a pattern of the names that are read.
    globs: WordList,
    /// `names type:` options with a type of files.
    types: WordList,
    /// `names except:` options that exclude files. Before the first pattern they also admit all others.
    except: WordList,
    /// `names open:` options with which the names are not known.
    open: WordList,
    /// `names flags:` options without a value.
    flags: WordList,
    /// `names of-type:` the ends of names of each type: `rust=.rs`.
    of_type: WordList,
}

impl NameOptions {
    /// Adds a row; returns `None` if there is no such row.
    pub(crate) fn add(&mut self, kind: &str, values: WordList) -> Option<()> {
        let field = match kind {
            "glob" => &mut self.globs,
            "type" => &mut self.types,
            "except" => &mut self.except,
            "open" => &mut self.open,
            "flags" => &mut self.flags,
            "of-type" => &mut self.of_type,
            _ => return None,
        };
        *field = values;
        Some(())
    }

    /// Returns the ends of the names of a type of files.
    fn of_type(self, name: &str) -> Option<Vec<String>> {
        let row = self.of_type.iter().find_map(|row| row.strip_prefix(name)?.strip_prefix('='))?;
        Some(row.split(',').map(str::to_owned).collect())
    }
}

/// What an option means for the names that are read.
enum NameOption {
    Glob,
    Type,
    Except,
    Open,
    /// It has no value, so that the next word is an option or an operand.
    Flag,
    Unknown,
}

/// Returns the ends of the names that a search reads; `None` if it may read any file.
pub(crate) fn searched_ends(facts: &ProgramFacts, argv: &[ShellArg]) -> Option<Vec<String>> {
    if facts.names.globs.is_empty() {
        return None;
    }
    let mut reader = NameReader { facts, is_free: true, globs: Vec::new(), types: Vec::new() };
    let mut words = argv.get(1..)?.iter();
    while let Some(arg) = words.next() {
        let start = arg.word().start();
        if arg.literal() == Some("--") {
            break;
        } else if start.is_empty() {
            return None;
        } else if !start.starts_with('-') || start == "-" {
            reader.is_free = true;
        } else if start.starts_with("--") {
            reader.long(arg, &mut words)?;
        } else {
            reader.short(arg, &mut words)?;
        }
    }
    // A pattern takes precedence over a type.
    let ends = [reader.globs, reader.types].concat();
    (!ends.is_empty()).then_some(ends)
}

/// Reads the options of one command; `None` means that the names are not known.
struct NameReader<'f> {
    facts: &'f ProgramFacts,
    /// Whether the next word is certainly no value of an option.
    is_free: bool,
    globs: Vec<String>,
    types: Vec<String>,
}

impl NameReader<'_> {
    fn long<'w>(
        &mut self,
        arg: &ShellArg,
        rest: &mut impl Iterator<Item = &'w ShellArg>,
    ) -> Option<()> {
        let (name, value) = match arg.word().start().split_once('=') {
            Some((name, _)) => (name, Some(after(arg.word(), name.len() + 1)?)),
            // A word that goes on with unknown text may be any option.
            None => (arg.literal()?, None),
        };
        let option = self.meaning(name);
        let has_value = value.is_some();
        self.option(&option, value.as_deref(), rest)?;
        self.is_free |= has_value;
        Some(())
    }

    fn short<'w>(
        &mut self,
        arg: &ShellArg,
        rest: &mut impl Iterator<Item = &'w ShellArg>,
    ) -> Option<()> {
        let start = arg.word().start();
        for (at, letter) in start.char_indices().skip(1) {
            let option = self.meaning(&format!("-{letter}"));
            if matches!(option, NameOption::Flag) {
                continue;
            }
            let value = after(arg.word(), at + letter.len_utf8())?;
            return self.option(&option, Some(value.as_str()).filter(|it| !it.is_empty()), rest);
        }
        arg.literal()?;
        self.is_free = true;
        Some(())
    }

    /// Adds the names of an option; its value is the next word if it has none of its own.
    fn option<'w>(
        &mut self,
        option: &NameOption,
        value: Option<&str>,
        rest: &mut impl Iterator<Item = &'w ShellArg>,
    ) -> Option<()> {
        let was_free = std::mem::replace(&mut self.is_free, true);
        let mut text = || value.map(str::to_owned).or_else(|| after(rest.next()?.word(), 0));
        match option {
            NameOption::Flag => {}
            // Letters after an unknown one may be options too, and the last may have a value.
            NameOption::Unknown => self.is_free = false,
            NameOption::Except if !self.globs.is_empty() => drop(text()?),
            NameOption::Glob if was_free => self.globs.extend(ends(&text()?)?),
            NameOption::Type if was_free => self.types.extend(self.facts.names.of_type(&text()?)?),
            NameOption::Open | NameOption::Except | NameOption::Glob | NameOption::Type => {
                return None;
            }
        }
        Some(())
    }

    fn meaning(&self, name: &str) -> NameOption {
        let names = self.facts.names;
        let is_short = !self.facts.has(ProgramTrait::ExactOptions) && name.starts_with("--");
        let has = |list: WordList| {
            list.has(name) || (is_short && list.iter().any(|option| option.starts_with(name)))
        };
        match () {
            () if has(names.open) => NameOption::Open,
            () if has(names.except) => NameOption::Except,
            () if has(names.globs) => NameOption::Glob,
            () if has(names.types) => NameOption::Type,
            () if names.flags.has(name) => NameOption::Flag,
            () => NameOption::Unknown,
        }
    }
}

/// Returns the text of a word from a place in its literal start on, with `*` for a wildcard of the shell: what it becomes
/// matches the same pattern.
fn after(word: &ShellWord, at: usize) -> Option<String> {
    let mut text = String::new();
    for piece in &word.pieces {
        match piece {
            WordPiece::Text(own) => text.push_str(own),
            WordPiece::Segment => text.push('*'),
            _ => return None,
        }
    }
    text.get(at..).map(str::to_owned)
}

/// Returns the ends of the names that a pattern such as `*.rs` or `*.{ts,tsx}` matches; an empty list for one that only
/// excludes names, and `None` for every other pattern.
fn ends(glob: &str) -> Option<Vec<String>> {
    if glob.starts_with('!') {
        return Some(Vec::new());
    }
    let end = glob.strip_prefix('*')?;
    let all: Vec<String> = match end.strip_suffix('}').and_then(|end| end.split_once('{')) {
        Some((start, list)) => list.split(',').map(|it| format!("{start}{it}")).collect(),
        None => vec![end.to_owned()],
    };
    let is_plain = |end: &String| {
        !end.is_empty() && end.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    all.iter().all(is_plain).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::program;

    fn found(line: &str) -> Option<Vec<String>> {
        let argv: Vec<ShellArg> = line.split(' ').map(ShellArg::text).collect();
        searched_ends(program(argv.first()?.literal()?)?, &argv)
    }

    #[test]
    fn a_search_is_limited_to_certain_names_only() {
        let cases: &[(&str, &[&str])] = &[
            ("grep -rn x --include=*.rs .", &[".rs"]),
            ("grep -rn --include *.rs x src", &[".rs"]),
            ("grep -r --inc=*.rs --exclude=*_test.rs x", &[".rs"]),
            ("grep -r --include=*.ts --include=*.tsx x", &[".ts", ".tsx"]),
            ("grep -r --exclude-dir=target --include=*.rs x", &[".rs"]),
            ("grep -r --exclude-dir target --include=*.rs x", &[".rs"]),
            ("rg -t rust x", &[".rs"]),
            ("rg -trust x src", &[".rs"]),
            ("rg --type=rust --type go x", &[".rs", ".go"]),
            ("rg -ng *.{ts,tsx} x", &[".ts", ".tsx"]),
            ("rg x src -g !*_test.go -g *.go", &[".go"]),
            ("rg --glob=*.go -t rust x", &[".go", ".rs"]),
        ];
        for (line, expected) in cases {
            let found = found(line).unwrap_or_default();
            assert_eq!(found, *expected, "{line}");
        }
    }

    #[test]
    fn in_doubt_a_search_reads_any_name() {
        let cases = [
            "grep -rn x .",
            "ag --include=*.rs x",
            // The value of another option.
            "grep -r -e --include=*.rs .",
            "grep -r --group-separator --include=*.rs x .",
            "grep -rA --include=*.rs x .",
            "grep -rTe --include=*.rs .",
            "rg -Ke -trust .",
            "rg -e -trust .",
            "rg --replace --type=rust x",
            // An operand.
            "grep -r x -- --include=*.rs",
            "rg x -- -g *.rs",
            // Other names are read too.
            "grep -r --exclude=*.md --include=*.rs x",
            "grep -r --exc=*.md --include=*.rs x",
            "grep -r --include=*.rs --include=* x",
            "grep -r --include=*.rs --inc=* x",
            "grep -r --include=*.rs --include=.e* x",
            "grep -r --include=*.[re]* x",
            "rg -t rust -g .env x",
            "rg -t rust --glob=* x",
            "rg -t rust --iglob *.ENV x",
            "rg -t rust --type-add rust:* x",
            "rg -t all x",
            "rg -g !*.rs x",
            "rg -g **/*.rs x",
            "rg -g *.{rs,{env,x}} x",
        ];
        for line in cases {
            assert_eq!(found(line), None, "{line}");
        }
        let open = ShellArg::Many(ShellWord::any());
        let argv = ["grep", "-r", "--include=*.rs", "x"].map(ShellArg::text);
        let argv: Vec<ShellArg> = argv.into_iter().chain([open]).collect();
        assert_eq!(searched_ends(program("grep").unwrap(), &argv), None);
    }
}
