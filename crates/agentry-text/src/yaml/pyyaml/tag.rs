//! Names of anchors and aliases, tags, and directives (`%YAML`, `%TAG`).

use std::borrow::Cow;

use super::YamlRefusal;
use super::reader::{is_break, is_gap};
use super::scan::{YamlScanner, YamlToken};

const NO_DIRECTIVE: &str = "this is not a directive of YAML";
const NO_TAG: &str = "this is not a tag";

impl<'t> YamlScanner<'t> {
    /// Reads the name of an anchor or alias.
    pub(super) fn name(&mut self) -> Result<&'t str, YamlRefusal> {
        self.reader.forward();
        let name = self.reader.take_while(is_word);
        let ends =
            self.reader.is_gap() || self.reader.peek().is_some_and(|c| "?:,]}%@`".contains(c));
        if name.is_empty() || !ends {
            return Err(self.reader.refuse("this is not a name for an anchor"));
        }
        Ok(name)
    }

    pub(super) fn tag(&mut self) -> Result<YamlToken<'t>, YamlRefusal> {
        let tag = match self.reader.second() {
            Some('<') => {
                self.reader.take(2);
                let suffix = self.uri()?;
                if self.reader.peek() != Some('>') {
                    return Err(self.reader.refuse(NO_TAG));
                }
                self.reader.forward();
                YamlToken::Tag(None, suffix)
            }
            // `!` alone is the non-specific tag.
            next if is_gap(next) => {
                self.reader.forward();
                YamlToken::Tag(None, "!".to_owned())
            }
            _ => {
                let handle = if self.has_handle() { self.handle()? } else { self.reader.take(1) };
                YamlToken::Tag(Some(handle), self.uri()?)
            }
        };
        self.expect_space(NO_TAG)?;
        Ok(tag)
    }

    /// Reports whether a second `!` follows in the word.
    fn has_handle(&self) -> bool {
        let word = self.reader.rest().get(1..).unwrap_or("");
        let end = word.find(|c| c == '!' || c == ' ' || is_break(c));
        end.and_then(|end| word.get(end..)).is_some_and(|rest| rest.starts_with('!'))
    }

    /// Reads a handle: `!`, `!!` or `!name!`.
    fn handle(&mut self) -> Result<&'t str, YamlRefusal> {
        let rest = self.reader.rest();
        let body = rest.strip_prefix('!').ok_or(self.reader.refuse(NO_TAG))?;
        if body.starts_with(' ') {
            return Ok(self.reader.take(1));
        }
        let end = body.find(|c| !is_word(c)).unwrap_or(body.len());
        let closed = body.get(end..).is_some_and(|rest| rest.starts_with('!'));
        if closed { Ok(self.reader.take(end + 2)) } else { Err(self.reader.refuse(NO_TAG)) }
    }

    fn uri(&mut self) -> Result<String, YamlRefusal> {
        let is_uri = |c: char| c.is_ascii_alphanumeric() || "-;/?:@&=+$,_.!~*'()[]%".contains(c);
        let written = self.reader.take_while(is_uri);
        let refusal = self.reader.refuse(NO_TAG);
        if written.is_empty() {
            return Err(refusal);
        }
        unescaped(written).map(Cow::into_owned).ok_or(refusal)
    }

    fn expect_space(&self, message: &'static str) -> Result<(), YamlRefusal> {
        let fits = self.reader.peek().is_none_or(|c| c == ' ' || is_break(c));
        if fits { Ok(()) } else { Err(self.reader.refuse(message)) }
    }

    pub(super) fn directive(&mut self) -> Result<(), YamlRefusal> {
        self.unwind(None);
        self.forget_key()?;
        self.allow_key = false;
        let start = self.reader.at;
        self.reader.forward();
        let name = self.reader.take_while(is_word);
        if name.is_empty() {
            return Err(self.reader.refuse(NO_DIRECTIVE));
        }
        self.expect_space(NO_DIRECTIVE)?;
        let token = match name {
            "YAML" => YamlToken::YamlDirective(self.version()?),
            "TAG" => {
                self.reader.skip_spaces();
                let handle = self.handle()?;
                if self.reader.peek() != Some(' ') {
                    return Err(self.reader.refuse(NO_DIRECTIVE));
                }
                self.reader.skip_spaces();
                let prefix = self.uri()?;
                self.expect_space(NO_DIRECTIVE)?;
                YamlToken::TagDirective(handle, prefix)
            }
            _ => {
                // `PyYAML` ignores unknown directives.
                self.reader.take_while(|_| true);
                YamlToken::OtherDirective
            }
        };
        self.push(token, start);
        self.reader.rest_of_line(NO_DIRECTIVE)
    }

    /// Returns the number before the dot of a version.
    fn version(&mut self) -> Result<&'t str, YamlRefusal> {
        self.reader.skip_spaces();
        let major = self.reader.take_while(|c| c.is_ascii_digit());
        let has_dot = self.reader.peek() == Some('.');
        self.reader.forward();
        let minor = self.reader.take_while(|c| c.is_ascii_digit());
        if major.is_empty() || !has_dot || minor.is_empty() {
            return Err(self.reader.refuse(NO_DIRECTIVE));
        }
        self.expect_space(NO_DIRECTIVE)?;
        Ok(major)
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// Replaces escapes such as `%41`; `None` if the result is not UTF-8.
fn unescaped(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        let digits =
            part.get(..2).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(part.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}
