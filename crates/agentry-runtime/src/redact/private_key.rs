//! A private key is more than its first line: everything up to its last goes with it.

const END: &str = "-----END ";
const CLOSING: &str = "-----";
/// The most bytes between the first and the last line.
pub(super) const LONGEST: usize = 32 << 10;

/// What kind of secret the first line of a private key is.
pub(super) const KIND: &str = "a private key";

/// Bytes after the first line that belong to the key, and whether more of it may follow the text.
pub(super) fn rest(text: &str) -> (usize, bool) {
    let len = body(text);
    let body = text.get(..len).unwrap_or_default();
    let Some(at) = body.find(END) else {
        return (lines(body), len == text.len() && len < LONGEST);
    };
    let after = body.get(at + END.len()..).unwrap_or_default();
    let close = after.find(CLOSING).map_or(after.len(), |close| close + CLOSING.len());
    (at + END.len() + close, false)
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
