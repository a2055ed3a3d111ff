//! Finds the end of a private key: the lines after its first line are secret, too.

const END: &str = "-----END ";
const CLOSING: &str = "-----";
/// The most bytes between the first and the last line.
pub(super) const LONGEST: usize = 32 << 10;

/// The kind of secret that the first line of a private key is.
pub(super) const KIND: &str = "a private key";

/// What follows the first line of a key.
pub(super) struct KeyRest {
    /// The bytes that belong to the key.
    pub(super) len: usize,
    /// The bytes that were needed to decide.
    pub(super) reach: usize,
    /// Whether more of it may follow the text.
    pub(super) is_open: bool,
}

/// Returns how much of the text after the first line belongs to the key.
pub(super) fn rest(text: &str) -> KeyRest {
    let reach = body(text);
    let body = text.get(..reach).unwrap_or_default();
    let Some(at) = body.find(END) else {
        // Without an end line, the key may continue in the next piece.
        let is_open = reach == text.len() && reach < LONGEST;
        return KeyRest { len: lines(body), reach, is_open };
    };
    let after = body.get(at + END.len()..).unwrap_or_default();
    let close = after.find(CLOSING).map_or(after.len(), |close| close + CLOSING.len());
    let len = at + END.len() + close;
    KeyRest { len, reach: len, is_open: false }
}

/// Counts the bytes that may belong to a key: base 64, headers, line breaks and their JSON escapes.
fn body(rest: &str) -> usize {
    let fits = |c: char| c.is_ascii_alphanumeric() || "+/=\\ \t\r\n:,.-".contains(c);
    let len = rest.find(|c| !fits(c)).unwrap_or(rest.len());
    // All of these characters have one byte, so the cut is between characters.
    len.min(LONGEST)
}

/// Counts the bytes of the first lines that are only base 64.
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
