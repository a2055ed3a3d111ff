//! Rules: what a finding refers to. The source of a rule is its page, `docs/reference/rules/CODE.md`.
//!
//! The head of a page is read at compile time, so a page of another shape does not compile.
//! The examples are read when they are shown or run.

use std::borrow::Cow;
use std::iter;

use crate::diagnostic::Severity;

/// One thing that can be wrong, with its documentation.
///
/// Readers and checks report a finding with a reference to its `LintRule`. Every crate lists its
/// rules in one `RULES` table. The tables together are the registry for the reference pages and their tests.
#[derive(Debug)]
pub struct LintRule {
    /// `AG0103`: stable, greppable, never reused.
    pub code: &'static str,
    /// Used in settings, as in «allow»: `unknown-field`.
    pub name: &'static str,
    /// The severity, unless `agentry.toml` changes it.
    pub severity: Severity,
    /// Why it matters, in one or two sentences of Markdown.
    pub why: &'static str,
    /// The smallest agent that breaks the rule.
    pub bad: RuleExample,
    /// The same agent, repaired.
    pub good: RuleExample,
}

impl PartialEq for LintRule {
    fn eq(&self, other: &Self) -> bool {
        // The code alone identifies a rule.
        self.code == other.code
    }
}

impl Eq for LintRule {}

/// Makes the rule with this code from its page: `rule!("AG0103")`.
#[macro_export]
macro_rules! rule {
    ($code:literal) => {
        $crate::LintRule::from_page(include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/reference/rules/",
            $code,
            ".md"
        )))
    };
}

/// Declares a table of rules and a static for each of them, one line a rule: `UNKNOWN_FIELD: "AG0101",`.
/// An example that its page only describes has a function: `TOO_DEEP: "AG0055".make_bad(nested_lists),`.
#[macro_export]
macro_rules! rules {
    (
        $(#[$about:meta])*
        $vis:vis $table:ident = [$($name:ident: $code:literal $(.$make:ident($files:expr))*,)+]
    ) => {
        $(#[$about])*
        $vis const $table: &[&$crate::LintRule] = &[$(&$name),+];
        $(
            #[doc = concat!("Documented in `docs/reference/rules/", $code, ".md`.")]
            $vis static $name: $crate::LintRule = $crate::rule!($code)$(.$make($files))*;
        )+
    };
}

impl LintRule {
    /// Reads a page. Its parts are fixed: `# name`, `CODE, severity. why`, and the two examples.
    ///
    /// # Panics
    ///
    /// If the page lacks one of its parts; in a `static` that is an error of the compiler.
    pub const fn from_page(page: &'static str) -> Self {
        let (_, page) = cut(page, "# ");
        let (name, page) = cut(page, "\n\n");
        let (code, page) = cut(page, ", ");
        let (severity, page) = cut(page, ". ");
        let (why, page) = cut(page, "\n\nThis breaks it:\n\n");
        let (bad, good) = cut(page, "\nUse instead:\n\n");
        let severity = match severity.as_bytes() {
            b"error" => Severity::Error,
            b"warning" => Severity::Warning,
            b"note" => Severity::Note,
            _ => panic!("the page of a rule has an unknown severity"),
        };
        let (bad, good) = (RuleExample::new(bad), RuleExample::new(good));
        Self { code, name, severity, why, bad, good }
    }

    /// Sets the function that makes the files of the bad example, which the page only describes.
    #[must_use]
    pub const fn make_bad(mut self, make: MakeFiles) -> Self {
        self.bad.make = Some(make);
        self
    }

    /// Sets the function that makes the files of the good example, which the page only describes.
    #[must_use]
    pub const fn make_good(mut self, make: MakeFiles) -> Self {
        self.good.make = Some(make);
        self
    }
}

/// Splits a text at the first `mark`, and drops the mark.
const fn cut<'a>(text: &'a str, mark: &str) -> (&'a str, &'a str) {
    let mut at = 0;
    while at < text.len() {
        if starts_with(text.as_bytes().split_at(at).1, mark.as_bytes()) {
            let (before, after) = text.split_at(at);
            return (before, after.split_at(mark.len()).1);
        }
        at += 1;
    }
    panic!("the page of a rule lacks one of its parts")
}

const fn starts_with(mut text: &[u8], mut mark: &[u8]) -> bool {
    while let [expected, mark_rest @ ..] = mark {
        match text {
            [byte, text_rest @ ..] if *byte == *expected => (text, mark) = (text_rest, mark_rest),
            _ => return false,
        }
    }
    true
}

/// Makes the files of an example, as paths and bytes.
pub type MakeFiles = fn() -> Vec<(String, Vec<u8>)>;

/// One of the examples on the page of a rule.
#[derive(Debug, Clone, Copy)]
pub struct RuleExample {
    /// The files as the page shows them, or a description of files that cannot be shown (too large, not UTF-8).
    page: &'static str,
    /// Makes the files that are only described.
    make: Option<MakeFiles>,
}

impl RuleExample {
    const fn new(page: &'static str) -> Self {
        Self { page, make: None }
    }

    /// Returns the description of files that cannot be shown.
    pub fn description(&self) -> Option<&'static str> {
        self.make.map(|_| self.page.trim_end())
    }

    /// Returns the files that the page shows, as paths and texts.
    pub fn texts(&self) -> Vec<(&'static str, Cow<'static, str>)> {
        let mut page = self.page;
        let next = || {
            let (file, rest) = first_file(page)?;
            page = rest;
            Some(file)
        };
        iter::from_fn(next).collect()
    }

    /// Returns the files as paths and bytes.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let owned =
            |(path, text): (&str, Cow<'_, str>)| (path.to_owned(), text.into_owned().into());
        self.make.map_or_else(|| self.texts().into_iter().map(owned).collect(), |make| make())
    }

    /// Returns the files that the page shows, with `old` replaced by `new` in their texts.
    pub fn replace(&self, old: &str, new: &str) -> Vec<(String, Vec<u8>)> {
        let texts = self.texts().into_iter();
        texts.map(|(path, text)| (path.to_owned(), text.replace(old, new).into_bytes())).collect()
    }
}

/// Reads a path in backticks and the code block below it. Returns them with the rest of the page.
fn first_file(page: &'static str) -> Option<((&'static str, Cow<'static, str>), &'static str)> {
    let (path, block) = page.strip_prefix('`')?.split_once("`\n\n")?;
    let (opening, _) = block.split_once('\n')?;
    let fence = opening.trim_end_matches(|c| c != '`');
    let closing = format!("\n{fence}\n");
    // The search starts at the end of the first line: an empty block has no line of its own.
    let body = block.get(opening.len()..)?;
    let end = body.find(&closing)?;
    let text = body.get(1..=end)?;
    let text = if opening.ends_with(" escaped") { unescape(text).into() } else { text.into() };
    Some(((path, text), body.get(end + closing.len()..)?.trim_start()))
}

/// Replaces each `\u{…}` by its character: a page shows no invisible characters.
fn unescape(text: &str) -> String {
    let mut parts = text.split("\\u{");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_once('}').unwrap_or((part, ""));
        out.extend(u32::from_str_radix(digits, 16).ok().and_then(char::from_u32));
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    static PAGE: LintRule = LintRule::from_page(
        "# bidi-text\n\nAG0999, note. Two texts. They differ.\n\nThis breaks it:\n\n\
         `a/x.md`\n\n````md escaped\n```\na\\u{202e}b\\c\n```\n````\n\n`b.agent`\n\n```yaml\n```\n\n\
         Use instead:\n\na file of 2 MiB\n",
    )
    .make_good(|| vec![("c".to_owned(), vec![0xFF])]);

    #[test]
    fn a_rule_page_is_parsed_into_its_parts() {
        let LintRule { code, name, severity, why, bad, good } = &PAGE;
        assert_eq!((*code, *name, *severity), ("AG0999", "bidi-text", Severity::Note));
        assert_eq!(*why, "Two texts. They differ.");
        let texts = bad.texts();
        let expected = [("a/x.md", "```\na\u{202e}b\\c\n```\n"), ("b.agent", "")];
        assert_eq!(texts.iter().map(|(path, text)| (*path, &**text)).collect::<Vec<_>>(), expected);
        assert_eq!((bad.description(), good.description()), (None, Some("a file of 2 MiB")));
        assert_eq!(bad.files()[1], ("b.agent".to_owned(), Vec::new()));
        assert_eq!(good.files(), [("c".to_owned(), vec![0xFF])]);
        assert_eq!(bad.replace("\u{202e}", "-")[0].1, b"```\na-b\\c\n```\n");
    }
}
