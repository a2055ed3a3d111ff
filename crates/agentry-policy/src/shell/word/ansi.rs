//! Decodes the escapes of `$'…'`.

/// Decodes the text between the quotes; `None` if it is no valid text, or bash would truncate it.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..)?;
        if c == '\\' {
            rest = escape(rest, &mut bytes)?;
        } else {
            let mut buffer = [0; 4];
            bytes.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    (!text.contains('\0')).then_some(text)
}

/// Decodes one escape after its backslash, and returns the rest of the text.
fn escape<'t>(text: &'t str, bytes: &mut Vec<u8>) -> Option<&'t str> {
    let c = text.chars().next()?;
    let rest = text.get(c.len_utf8()..)?;
    let plain = match c {
        'a' => 7,
        'b' => 8,
        'e' | 'E' => 27,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' | '\'' | '"' | '?' => u8::try_from(c).ok()?,
        'x' => return hexadecimal(rest, bytes),
        'u' => return unicode(rest, 4, bytes),
        'U' => return unicode(rest, 8, bytes),
        '0'..='7' => return octal(text, bytes),
        // Control characters, and escapes in which shells differ.
        _ => return None,
    };
    bytes.push(plain);
    Some(rest)
}

fn digits(text: &str, most: usize, radix: u32) -> (u32, &str) {
    let count =
        text.bytes().take(most).take_while(|byte| char::from(*byte).is_digit(radix)).count();
    let (number, rest) = text.split_at(count);
    (u32::from_str_radix(number, radix).unwrap_or_default(), rest)
}

fn hexadecimal<'t>(text: &'t str, bytes: &mut Vec<u8>) -> Option<&'t str> {
    let (number, rest) = digits(text, 2, 16);
    // Bash ends the text at a zero byte.
    bytes.push(u8::try_from(number).ok().filter(|number| *number != 0)?);
    Some(rest)
}

fn octal<'t>(text: &'t str, bytes: &mut Vec<u8>) -> Option<&'t str> {
    let (number, rest) = digits(text, 3, 8);
    bytes.push(u8::try_from(number).ok().filter(|number| *number != 0)?);
    Some(rest)
}

fn unicode<'t>(text: &'t str, most: usize, bytes: &mut Vec<u8>) -> Option<&'t str> {
    let (number, rest) = digits(text, most, 16);
    let c = char::from_u32(number).filter(|c| *c != '\0')?;
    let mut buffer = [0; 4];
    bytes.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ansi_c_escapes_are_decoded() {
        let cases = [
            (r"\x72m", Some("rm")),
            (r"\162m", Some("rm")),
            (r"a\nb\'\\", Some("a\nb'\\")),
            (r"\u00e9", Some("é")),
            (r"\xc3\xa9", Some("é")),
            (r"\xff", None),
            (r"a\0b", None),
            (r"\q", None),
            (r"\", None),
        ];
        for (text, expected) in cases {
            assert_eq!(decode(text).as_deref(), expected, "{text}");
        }
    }
}
