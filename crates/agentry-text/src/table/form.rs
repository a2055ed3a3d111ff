//! Texts of a certain form: names, rules, icons. What is wrong with one, a format's own rule says
//! better than a table could; the table knows the form, for the reader, the schema and the page.

/// What a text must look like.
#[derive(Debug)]
pub struct TextForm {
    /// What a person calls such a text, without an article: `kebab-case name`.
    pub title: &'static str,
    /// What a person calls several of them.
    pub many: &'static str,
    /// Whether a text has the form; white space around it is taken off first where `trims` says so.
    pub fits: fn(&str) -> bool,
    /// The form as a regular expression of JSON Schema, without anchors. It may let more pass than
    /// `fits`, never less.
    pub pattern: &'static str,
    /// Whether white space around the text does not matter.
    pub trims: bool,
    /// Texts that have the form.
    pub examples: &'static [&'static str],
    /// Texts that do not, neither for the reader nor for the schema.
    pub others: &'static [&'static str],
}

impl TextForm {
    /// The expression for a text that is one value.
    pub fn one(&self) -> String {
        let space = if self.trims { "\\s*" } else { "" };
        format!("^{space}(?:{}){space}$", self.pattern)
    }

    /// The expression for a text that is a list, with commas or line breaks between the values.
    pub fn list(&self) -> String {
        let one = format!("\\s*(?:{})?\\s*", self.pattern);
        format!("^{one}(?:[,\\n]{one})*$")
    }

    /// Whether `text` has the form.
    pub fn is(&self, text: &str) -> bool {
        (self.fits)(if self.trims { text.trim() } else { text })
    }
}
