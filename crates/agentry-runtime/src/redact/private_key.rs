//! A private key is more than its first line: everything up to its last goes with it.

const END: &str = "-----END ";
const CLOSING: &str = "-----";
/// The most bytes between the first and the last line.
pub(super) const LONGEST: usize = 32 << 10;

/// What kind of secret the first line of a private key is.
pub(super) const KIND: &str = "a private key";

/// What follows the first line of a key.
pub(super) struct KeyRest {
    /// Bytes that belong to the key.
    pub(super) len: usize,
    /// Bytes that decided about it.
    pub(super) reach: usize,
    /// Whether more of it may follow the text.
    pub(super) is_open: bool,
}

/// What of a text behind the first line of a key belongs to it.
pub(super) fn rest(text: &str) -> KeyRest {
    let reach = body(text);
    let body = text.get(..reach).unwrap_or_default();
    let Some(at) = body.find(END) else {
        let is_open = reach == text.len() && reach < LONGEST;
        return KeyRest { len: lines(body), reach, is_open };
    };
    let after = body.get(at + END.len()..).unwrap_or_default();
    let close = after.find(CLOSING).map_or(after.len(), |close| close + CLOSING.len());
    let len = at + END.len() + close;
    KeyRest { len, reach: len, is_open: false }
}

/// Bytes that may belong to a key: base 64, headers, line breaks and how JSON writes them.
fn body(rest: &str) -> usize {
    let fits = |c: char| c.is_ascii_alphanumeric() || "+/=\\ \t\r\n:,.-".contains(c);
    let len = rest.find(|c| !fits(c)).unwrap_or(rest.len());
    // All of them are one byte each.
    len.min(LONGEST)
}

/// Bytes of the first lines that are nothing but base 64.
fn lines(body: &str) -> usize {
    let mut len = 0;
    for line in body.split_inclusive('\n') {
        let text = line.trim();
        let is_code = |c: char| c.is_ascii_alphanumeric() || "+/=\\".contains(c);
        let is_first = len == 0 && text.is_empty();
        if !is_first && (text.len() < 16 || !text.chars().all(is_code)) {
            break;
        }
        len += line.trim_end_matches(['\n', '\r']).len().max(usize::from(is_first));
        if !line.ends_with('\n') {
            break;
        }
    }
    len
}
