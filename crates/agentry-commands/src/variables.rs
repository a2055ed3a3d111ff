//! Classifies environment variables: those without a relevant effect, and those that change what runs. The
//! names are in `data/variables.txt`.

use std::sync::LazyLock;

use crate::data::blocks;
use crate::program::{WordList, words};
use crate::row::{DataRow, rows};

/// What it means if a command line sets a variable for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableEffect {
    /// It only changes how output looks, or how much is printed, so that it needs no rule.
    Harmless,
    /// It may change what runs, what is loaded, or where data goes; a plain rule never allows it.
    Dangerous,
    /// The `env` section decides.
    Other,
}

/// Classifies the variable `name` with an unknown value: the worst effect of any value.
pub fn setting(name: &str) -> VariableEffect {
    setting_to(name, None)
}

/// Classifies the variable `name` with this value, or with an unknown one. A harmless name with a value
/// outside its harmless set is dangerous. An exact harmless name wins over a dangerous pattern that matches
/// it.
pub fn setting_to(name: &str, value: Option<&str>) -> VariableEffect {
    let exactly = NAMES.harmless.iter().find(|(pattern, _)| *pattern == name);
    let dangerous = || NAMES.dangerous.iter().any(|pattern| matches(pattern, name));
    let covered = || NAMES.harmless.iter().find(|(pattern, _)| matches(pattern, name));
    let harmless = match exactly {
        None if dangerous() => return VariableEffect::Dangerous,
        None => covered(),
        found => found,
    };
    match harmless {
        Some((_, values)) if values.take(value) => VariableEffect::Harmless,
        Some(_) => VariableEffect::Dangerous,
        None => VariableEffect::Other,
    }
}

/// Whether a variable changes how the rest of a line is parsed, or is set by the shell itself.
pub fn is_special(name: &str) -> bool {
    NAMES.special.has(name)
}

words! {
    /// The set of values with which a variable is harmless.
    HarmlessValues {
        /// All values, because programs only parse them.
        Any = "any",
        /// Letters, digits and `_`, because some programs evaluate the value as code.
        Word = "word",
        /// Also `.`, `@`, `:`, `+` and `-`: no path, and no code.
        Plain = "plain",
        /// The name of a time zone: `Europe/Berlin`.
        Zone = "zone",
        /// No pager at all: nothing, or `cat`.
        Pager = "pager",
        /// An editor that changes nothing: `true` or `:`.
        Editor = "editor",
    }
}

impl HarmlessValues {
    fn take(self, value: Option<&str>) -> bool {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let plain = |c: char| word(c) || ".@:+-".contains(c);
        match (self, value) {
            (Self::Any, _) => true,
            (_, None) => false,
            (Self::Word, Some(value)) => value.chars().all(word),
            (Self::Plain, Some(value)) => value.chars().all(plain),
            (Self::Pager, Some(value)) => matches!(value, "" | "cat"),
            (Self::Editor, Some(value)) => matches!(value, "true" | ":"),
            (Self::Zone, Some(value)) => value.split('/').enumerate().all(|(at, part)| {
                let named = part.starts_with(|c: char| c.is_ascii_alphabetic());
                // An absolute path and `..` fail here, because each segment has to start with a letter.
                (named || (at == 0 && value.is_empty())) && part.chars().all(plain)
            }),
        }
    }
}

/// Whether `name` matches `pattern`, in which `*` is any number of characters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut pieces: Vec<_> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some((_, after)) = name.split_once(piece) else { return false };
        name = after;
    }
    name.ends_with(last)
}

/// The parsed rows of the data file.
#[derive(Debug, Default)]
struct VariableNames {
    harmless: Vec<(&'static str, HarmlessValues)>,
    dangerous: Vec<&'static str>,
    special: WordList,
    malformed: Vec<&'static str>,
}

static NAMES: LazyLock<VariableNames> = LazyLock::new(|| {
    let mut names = VariableNames::default();
    for row in blocks(include_str!("../data/variables.txt")).flat_map(rows) {
        let key = row.as_ref().map_or("", |row| row.key);
        match (key.split_once(' ').unwrap_or((key, "")), row) {
            (("harmless", kind), Ok(DataRow { values, .. })) => {
                let Some(kind) = HarmlessValues::read(kind) else {
                    names.malformed.push(key);
                    continue;
                };
                names.harmless.extend(values.iter().map(|name| (name, kind)));
            }
            (("dangerous", ""), Ok(DataRow { values, .. })) => {
                names.dangerous.extend(values.iter());
            }
            (("special", ""), Ok(DataRow { values, .. })) => names.special = values,
            (_, row) => names.malformed.push(row.map_or_else(|text| text, |row| row.key)),
        }
    }
    names
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_rows_are_valid_and_unique() {
        assert_eq!(NAMES.malformed, [""; 0]);
        let harmless: Vec<&str> = NAMES.harmless.iter().map(|(name, _)| *name).collect();
        for table in [&harmless, &NAMES.dangerous] {
            let mut sorted = table.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), table.len());
            assert!(table.len() > 80, "{}", table.len());
        }
        assert!(is_special("IFS") && !is_special("X"));
    }

    #[test]
    fn variables_are_classified_by_name() {
        let harmless = "RUST_BACKTRACE RUST_LOG CI NO_COLOR FORCE_COLOR CARGO_TERM_COLOR LANG LC_ALL \
                        LC_CTYPE TZ TERM NODE_ENV PYTHONUNBUFFERED COLUMNS GOOS DEBIAN_FRONTEND";
        let dangerous = "PATH LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES BASH_ENV ENV IFS PYTHONPATH \
                         PYTHONSTARTUP NODE_OPTIONS NODE_PATH GIT_SSH_COMMAND GIT_PAGER GIT_DIR GIT_CONFIG_COUNT \
                         PROMPT_COMMAND RSYNC_CONNECT_PROG PAGER MANPAGER EDITOR VISUAL BROWSER PERL5OPT PERL5LIB \
                         RUBYOPT RUSTC RUSTC_WRAPPER CARGO_BUILD_RUSTC CARGO_HOME \
                         CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER RUSTFLAGS CC CXX MAKEFLAGS \
                         JAVA_TOOL_OPTIONS HTTP_PROXY https_proxy ALL_PROXY HOME SHELL PS4 SHELLOPTS BASHOPTS \
                         BASH_FUNC_ls%% TERMINFO LESSOPEN LESS SSH_ASKPASS XDG_CONFIG_HOME GOFLAGS ZDOTDIR \
                         npm_config_script_shell VIMINIT KUBECONFIG DOCKER_HOST AGENTRY_HOME TAR_OPTIONS \
                         GREP_OPTIONS RIPGREP_CONFIG_PATH FZF_DEFAULT_COMMAND SYSTEMD_EDITOR";
        let other =
            "FOO MY_VAR DATABASE_URL DEBUG VERBOSE TMPDIR PORT x _ LCALL ENVIRONMENT PATHS XPATH";
        let groups = [
            (harmless, VariableEffect::Harmless),
            (dangerous, VariableEffect::Dangerous),
            (other, VariableEffect::Other),
        ];
        for (names, expected) in groups {
            for name in names.split_whitespace() {
                assert_eq!(setting_to(name, Some("C")), expected, "{name}");
                let worst = if expected == VariableEffect::Harmless && name != "RUST_LOG" {
                    VariableEffect::Dangerous
                } else {
                    expected
                };
                assert_eq!(setting(name), worst, "{name}");
            }
        }
    }

    #[test]
    fn variables_are_classified_by_value() {
        let harmless = [
            ("CI", ""),
            ("LC_ALL", "de_DE.UTF-8@euro"),
            ("LANGUAGE", "en_GB:en"),
            ("TZ", ""),
            ("TZ", "UTC"),
            ("TZ", "America/Argentina/Buenos_Aires"),
            ("TERM", "xterm-256color"),
            ("DEBIAN_FRONTEND", "noninteractive"),
            ("RUST_LOG", "a::b=debug,[span{x=1}]=info"),
            ("LS_COLORS", "di=1;34:*.rs=0;31"),
        ];
        let dangerous = [
            ("CI", "a[$(id)]"),
            ("CI", "1 2"),
            ("COLUMNS", "a[$(id)]"),
            ("LANG", "../evil"),
            ("LANGUAGE", "../../tmp/evil"),
            ("LC_MESSAGES", "/tmp/evil"),
            ("TERM", "../x"),
            ("TZ", ":/etc/shadow"),
            ("TZ", "/etc/shadow"),
            ("TZ", "./x"),
            ("TZ", "Europe/../../x"),
            ("TZ", "a//b"),
            ("NODE_ENV", "../evil"),
            ("DEBIAN_FRONTEND", "x; system(1)"),
            ("DEBIAN_FRONTEND", "Noninteractive-exec@ARGV"),
            ("DEBIAN_FRONTEND", "A::B"),
            ("NPM_CONFIG_LOGLEVEL", "${X}"),
        ];
        for (cases, expected) in
            [(&harmless[..], VariableEffect::Harmless), (&dangerous[..], VariableEffect::Dangerous)]
        {
            for (name, value) in cases {
                assert_eq!(setting_to(name, Some(value)), expected, "{name}={value}");
            }
        }
    }

    #[test]
    fn variable_patterns_match_names() {
        let cases = [
            ("A", "A", true),
            ("A", "AB", false),
            ("A*", "AB", true),
            ("*B", "AB", true),
            ("A*C", "ABC", true),
            ("A*C", "AC", true),
            ("AB*BC", "ABC", false),
            ("A*B*C", "AxByC", true),
            ("A*B*C", "AxyC", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
