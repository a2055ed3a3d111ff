//! Texts of a certain form: names, rules, icons. The table has the form for readers, schema and
//! reference. A rule of the format reports text that does not fit, with a better message.

/// The form of a text.
#[derive(Debug)]
pub struct TextForm {
    /// The name of such a text in messages, without an article: `kebab-case name`.
    pub title: &'static str,
    /// The plural of the name.
    pub many: &'static str,
    /// Tests a text, which is trimmed first if `trims` is set.
    pub fits: fn(&str) -> bool,
    /// A regular expression of JSON Schema, without anchors. It may accept more than `fits`, never less.
    pub pattern: &'static str,
    /// Whether white space around the text is ignored.
    pub trims: bool,
    /// Texts that have the form.
    pub examples: &'static [&'static str],
    /// Texts that do not have the form, for the reader and the schema.
    pub others: &'static [&'static str],
}

impl TextForm {
    /// Returns the pattern for a text that is one value.
    pub fn one(&self) -> String {
        let space = if self.trims { "\\s*" } else { "" };
        format!("^{space}(?:{}){space}$", self.pattern)
    }

    /// Returns the pattern for a text that is a list, separated by commas or line breaks.
    pub fn list(&self) -> String {
        let one = format!("\\s*(?:{})?\\s*", self.pattern);
        format!("^{one}(?:[,\\n]{one})*$")
    }

    /// Reports whether `text` has the form.
    pub fn is(&self, text: &str) -> bool {
        (self.fits)(if self.trims { text.trim() } else { text })
    }
}
