//! Converts HTML to Markdown, with limits against hostile pages.
//!
//! An HTML parser repairs errors, and a page can make that very expensive: elements that are never closed
//! nest without end, or are created again in each paragraph. So the page is cleaned first: tags in order,
//! few attributes, limited depth.

use std::fmt::Write as _;

use htmd::HtmlToMarkdown;
use url::Url;

/// The most bytes of a page that are read.
const MOST_BYTES: usize = 2 << 20;
/// The deepest nesting.
const MOST_DEPTH: usize = 64;
/// The most nested formatting elements.
const MOST_LOOKS: usize = 8;
/// The most bytes of an address.
const MOST_OF_ADDRESS: usize = 2_000;

/// Formatting elements; parsers create them again where they were cut off.
const LOOKS: &[&str] = &["a", "b", "code", "em", "i", "s", "strike", "strong"];
/// Elements whose content is not readable text.
const SKIPPED: &[&str] = &[
    "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas",
    "audio", "video", "select", "textarea", "title", "noembed", "noframes", "xmp",
];
/// Elements that are kept; of all others, only the content.
const KEPT: &[&str] = &[
    "a",
    "b",
    "blockquote",
    "code",
    "dd",
    "div",
    "dl",
    "dt",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "i",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "strike",
    "strong",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "ul",
];
/// Elements without content.
const EMPTY: &[&str] = &["br", "hr", "img"];
/// Elements that are blocks, like a paragraph.
const BLOCKS: &[&str] =
    &["section", "article", "main", "header", "footer", "nav", "aside", "figure"];

/// Converts a page to Markdown, with absolute addresses.
pub(super) fn markdown(page: &str, base: &Url) -> String {
    let clean = HtmlCleaner::clean(super::super::output_cap::start(page, MOST_BYTES), base);
    let converted = HtmlToMarkdown::new().convert(&clean);
    let text = converted.unwrap_or_else(|_| "the page could not be read".to_owned());
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.dedup_by(|next, line| next.is_empty() && line.is_empty());
    lines.join("\n")
}

/// Writes a cleaned page.
struct HtmlCleaner<'a> {
    rest: &'a str,
    base: &'a Url,
    out: String,
    /// The open elements.
    open: Vec<&'static str>,
}

impl<'a> HtmlCleaner<'a> {
    fn clean(page: &'a str, base: &'a Url) -> String {
        let mut cleaner = Self { rest: page, base, out: String::new(), open: Vec::new() };
        while let Some(at) = cleaner.rest.find('<') {
            let (text, rest) = cleaner.rest.split_at(at);
            cleaner.out.push_str(text);
            cleaner.rest = rest;
            cleaner.markup();
        }
        let rest = cleaner.rest;
        cleaner.out.push_str(rest);
        cleaner.close_from(0);
        cleaner.out
    }

    /// Handles what begins with `<`.
    fn markup(&mut self) {
        let after = self.rest.get(1..).unwrap_or_default();
        if after.starts_with("!--") {
            return self.skip_past("-->");
        }
        if after.starts_with(['!', '?']) {
            return self.skip_past(">");
        }
        let (closes, name) = match after.strip_prefix('/') {
            Some(name) => (true, name),
            None => (false, after),
        };
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            // A `<` without a tag is text, and must not start one in the parser.
            self.out.push_str("&lt;");
            self.rest = after;
            return;
        }
        let (tag, rest) = HtmlTag::read(name);
        self.rest = rest;
        if closes { self.close(&tag.name) } else { self.open(&tag) }
    }

    fn skip_past(&mut self, end: &str) {
        self.rest = self.rest.split_once(end).map_or("", |(_, rest)| rest);
    }

    fn open(&mut self, tag: &HtmlTag<'_>) {
        if SKIPPED.contains(&tag.name.as_str()) {
            return self.skip_element(&tag.name);
        }
        let known = |names: &[&'static str]| names.iter().copied().find(|name| *name == tag.name);
        if let Some(name) = known(EMPTY) {
            return self.write(name, tag);
        }
        let name = if BLOCKS.contains(&tag.name.as_str()) { Some("div") } else { known(KEPT) };
        let Some(name) = name else { return };
        self.make_room(name);
        let looks = self.open.iter().filter(|open| LOOKS.contains(open)).count();
        let too_many = LOOKS.contains(&name) && looks >= MOST_LOOKS;
        if self.open.len() < MOST_DEPTH && !too_many {
            self.write(name, tag);
            self.open.push(name);
        }
    }

    /// Closes the elements that end where `name` begins.
    fn make_room(&mut self, name: &str) {
        let ends: &[&str] = match name {
            "li" => &["li"],
            "dt" | "dd" => &["dt", "dd"],
            "tr" => &["tr"],
            "td" | "th" => &["td", "th"],
            _ if LOOKS.contains(&name) => return,
            _ => &["p"],
        };
        // An item in an inner list does not close an item of the outer one.
        let holds = |open: &str| matches!(open, "ul" | "ol" | "dl" | "table" | "blockquote");
        let from = self.open.iter().rposition(|open| holds(open)).map_or(0, |at| at + 1);
        let inner = self.open.get(from..).unwrap_or_default();
        if let Some(at) = inner.iter().position(|open| ends.contains(open)) {
            self.close_from(from + at);
        }
    }

    fn close(&mut self, name: &str) {
        let name = if BLOCKS.contains(&name) { "div" } else { name };
        if let Some(at) = self.open.iter().rposition(|open| *open == name) {
            self.close_from(at);
        }
    }

    fn close_from(&mut self, at: usize) {
        for name in self.open.drain(at.min(self.open.len())..).rev() {
            self.out.push_str("</");
            self.out.push_str(name);
            self.out.push('>');
        }
    }

    /// Skips an element with its content.
    fn skip_element(&mut self, name: &str) {
        let mut rest = self.rest;
        while let Some((_, after)) = rest.split_once("</") {
            let is_end = after.get(..name.len()).is_some_and(|it| it.eq_ignore_ascii_case(name));
            if is_end {
                self.rest = after;
                return self.skip_past(">");
            }
            rest = after;
        }
        self.rest = "";
    }

    fn write(&mut self, name: &str, tag: &HtmlTag<'_>) {
        self.out.push('<');
        self.out.push_str(name);
        for (key, value) in &tag.attributes {
            let value = match (name, key.as_str()) {
                ("a", "href") | ("img", "src") => self.whole(value),
                ("img", "alt") | ("a", "title") | ("code", "class") => Some((*value).to_owned()),
                _ => None,
            };
            if let Some(value) = value {
                let value = value.replace('"', "&quot;").replace('<', "&lt;");
                let _ = write!(self.out, " {key}=\"{value}\"");
            }
        }
        self.out.push('>');
    }

    /// Returns an absolute address.
    fn whole(&self, address: &str) -> Option<String> {
        if address.len() > MOST_OF_ADDRESS {
            return None;
        }
        let url = self.base.join(&address.replace("&amp;", "&")).ok()?;
        let web = matches!(url.scheme(), "http" | "https" | "mailto");
        web.then(|| url.as_str().replace('&', "&amp;"))
    }
}

/// A tag, as written.
struct HtmlTag<'a> {
    name: String,
    attributes: Vec<(String, &'a str)>,
}

impl<'a> HtmlTag<'a> {
    /// Parses a tag from its name on, and returns what comes after it.
    fn read(text: &'a str) -> (Self, &'a str) {
        let ends = |c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>');
        let (name, mut rest) = text.split_at(text.find(ends).unwrap_or(text.len()));
        let mut tag = Self { name: name.to_ascii_lowercase(), attributes: Vec::new() };
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
            if let Some(rest) = rest.strip_prefix('>') {
                return (tag, rest);
            }
            if rest.is_empty() {
                return (tag, rest);
            }
            rest = tag.attribute(rest);
        }
    }

    /// Parses one attribute; consumes at least one character.
    fn attribute(&mut self, text: &'a str) -> &'a str {
        let ends = |c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>' | '=');
        let first = text.chars().next().map_or(0, char::len_utf8);
        let after = text.get(first..).unwrap_or_default();
        let length = first + after.find(ends).unwrap_or(after.len());
        let (name, rest) = text.split_at(length);
        let Some(rest) = rest.trim_start().strip_prefix('=') else { return rest };
        let rest = rest.trim_start();
        let quoted = ['"', '\''].into_iter().find_map(|quote| {
            rest.strip_prefix(quote).map(|rest| rest.split_once(quote).unwrap_or((rest, "")))
        });
        let (value, rest) = quoted.unwrap_or_else(|| {
            let ends = |c: char| c.is_ascii_whitespace() || c == '>';
            rest.split_at(rest.find(ends).unwrap_or(rest.len()))
        });
        self.attributes.push((name.to_ascii_lowercase(), value));
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(page: &str) -> String {
        markdown(page, &Url::parse("https://example.org/dir/page").unwrap())
    }

    #[test]
    fn html_is_converted_to_markdown() {
        let cases = [
            ("<h1>Title</h1><p>One<p>Two", "# Title\n\nOne\n\nTwo"),
            ("<a href='../x?a=1&amp;b=2'>link</a>", "[link](https://example.org/x?a=1&b=2)"),
            ("<a href='javascript:alert(1)'>bad</a>", "bad"),
            ("<ul><li>a<li>b<ul><li>c</ul></ul>", "*   a\n*   b\n    *   c"),
            ("<script>if (a < b) {}</script>x<style>p{}</style>", "x"),
            ("<!-- <p>no --><?php x ?><!doctype html>yes", "yes"),
            ("<b>bold <i>both</b></i>", "**bold *both***"),
            (
                "<pre><code class=\"language-rust\">fn a() {\n}</code></pre>",
                "```rust\nfn a() {\n}\n```",
            ),
            ("1 < 2 && 3 > 2", "1 < 2 && 3 > 2"),
            ("&lt;p&gt; grün &amp; 🦀", "\\<p> grün & 🦀"),
            ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "| a | b |\n| - | - |\n| 1 | 2 |"),
            ("<a title='>' href=\"/y\">z</a>", "[z](https://example.org/y \">\")"),
            ("<p", ""),
            ("<", "<"),
            ("", ""),
        ];
        for (page, expected) in cases {
            assert_eq!(converted(page), expected, "{page}");
        }
    }

    #[test]
    fn hostile_html_is_converted_within_limits() {
        let cases = [
            "<div>".repeat(30_000),
            "<b>".repeat(30_000),
            "<blockquote><ul><li>".repeat(8_000),
            "<b><table><td></b></table><p>".repeat(4_000),
            "<a href=x><p>".repeat(8_000),
            "</div>".repeat(20_000),
            "<a ".repeat(30_000),
            "<a b=\"".repeat(20_000),
            "<script>".repeat(20_000),
            "<!--".repeat(30_000),
            "&".repeat(100_000),
            "<p><b><div>x</div>".repeat(8_000),
        ];
        for page in cases {
            // In a thread like the real one.
            let start = page.get(..20).unwrap().to_owned();
            let thread = std::thread::Builder::new().stack_size(32 << 20);
            let text = thread.spawn(move || converted(&page)).unwrap().join().unwrap();
            assert!(text.len() < 40 << 20, "{start}: {}", text.len());
        }
    }

    proptest::proptest! {
        #[test]
        fn cleaned_html_is_always_balanced(page in "(<|</|>|!--|-->|a|b|li|ul|p|table|td|div|script|img| href=|\"|'|/|ü| |x){0,60}") {
            let clean = HtmlCleaner::clean(&page, &Url::parse("https://example.org/").unwrap());
            let mut open: Vec<String> = Vec::new();
            for tag in clean.split('<').skip(1) {
                let name = tag.split(['>', ' ']).next().unwrap();
                match name.strip_prefix('/') {
                    Some(name) => assert_eq!(open.pop().as_deref(), Some(name), "{clean}"),
                    None if EMPTY.contains(&name) => {}
                    None => open.push(name.to_owned()),
                }
            }
            assert!(open.is_empty(), "{clean}");
        }
    }
}
