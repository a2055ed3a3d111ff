//! Writes HTML. Tags and names of attributes are constants of this program; every other text is escaped on its way
//! in. There is no way to add a text as it is.

use std::fmt::Write as _;

use agentry_text::report::visible;
use serde_json::Value;

/// Attributes of an element.
pub(crate) type Attributes<'a> = &'a [(&'static str, &'a str)];

/// A piece of HTML.
#[derive(Debug, Default)]
pub(crate) struct HtmlWriter(String);

impl HtmlWriter {
    /// The written HTML.
    pub(crate) fn into_text(self) -> String {
        self.0
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c => self.0.push(c),
            }
        }
    }

    /// Adds a text line by line. What is invisible, or would turn the direction of writing, is shown as its code:
    /// a call must not look like another one.
    pub(crate) fn plain(&mut self, text: &str) {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.0.push('\n');
            }
            // A tab is as visible as a line break.
            for (at, part) in line.trim_end_matches('\r').split('\t').enumerate() {
                if at > 0 {
                    self.0.push('\t');
                }
                self.text(&visible(part));
            }
        }
    }

    /// Adds an element and what is in it.
    pub(crate) fn within(
        &mut self,
        tag: &'static str,
        attributes: Attributes<'_>,
        inside: impl FnOnce(&mut Self),
    ) {
        let _ = write!(self.0, "<{tag}");
        for (name, value) in attributes {
            let _ = write!(self.0, " {name}=\"");
            self.text(value);
            self.0.push('"');
        }
        self.0.push('>');
        inside(self);
        // These elements have no end.
        if !matches!(tag, "input" | "br") {
            let _ = write!(self.0, "</{tag}>");
        }
    }

    /// Adds an element with a text.
    pub(crate) fn element(&mut self, tag: &'static str, attributes: Attributes<'_>, text: &str) {
        self.within(tag, attributes, |inside| inside.plain(text));
    }

    /// Adds a link to a part of the page.
    pub(crate) fn link(&mut self, part: &'static str, id: &str, text: &str) {
        let href = format!("#/{part}/{}", encoded(id));
        self.element("a", &[("href", &href)], text);
    }

    /// Adds a button that sends a request and loads the part again.
    pub(crate) fn button(&mut self, text: &str, path: &str, body: &Value) {
        self.classed_button("plain", (text, path), body);
    }

    /// The same for what a person most likely came for.
    pub(crate) fn main_button(&mut self, text: &str, path: &str, body: &Value) {
        self.classed_button("main", (text, path), body);
    }

    fn classed_button(&mut self, class: &'static str, (text, path): (&str, &str), body: &Value) {
        let body = body.to_string();
        let attributes =
            [("type", "button"), ("class", class), ("data-post", path), ("data-body", &body)];
        self.element("button", &attributes, text);
    }
}

/// A text as one segment of a path.
pub(crate) fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// A field that is a text, or nothing.
pub(crate) fn text_of<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// An amount of dollars.
pub(crate) fn dollars(value: &Value) -> String {
    value.as_f64().map_or(String::new(), |cost| format!("${cost:.4}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_escaped() {
        let hostile = "<script>alert(1)</script>\"'&\u{202e}\u{1b}[31m";
        let mut page = HtmlWriter::default();
        page.element("p", &[("title", hostile)], hostile);
        page.link("runs", "\"><script>/../é", hostile);
        page.button(hostile, hostile, &Value::String(hostile.to_owned()));
        let html = page.into_text();
        assert!(!html.contains("<script") && !html.contains("alert(1)</"), "{html}");
        assert_eq!(html.matches('<').count(), html.matches('>').count(), "{html}");
        assert_eq!(html.matches('<').count(), 6, "{html}");
        assert!(html.contains("href=\"#/runs/%22%3E%3Cscript%3E%2F%2E%2E%2F%C3%A9\""), "{html}");
        assert!(!html.contains("p title=\"<"), "{html}");
        assert!(html.split('>').nth(1).is_some_and(|text| !text.contains('\u{202e}')), "{html}");
    }
}
