//! The digest of an agent: SHA-256 of its canonical JSON (RFC 8785).

use agentry_text::{Data, digest};

/// Returns the canonical JSON of `data`: sorted keys, and one form for each number and string.
pub fn canonical_json(data: &Data) -> Vec<u8> {
    let mut out = Vec::new();
    write(data, &mut out);
    out
}

/// Writes lists, maps and strings directly, because they are nearly all of the data.
/// `serde_jcs` writes the rest.
fn write(data: &Data, out: &mut Vec<u8>) {
    match data {
        Data::Null => out.extend(b"null"),
        Data::Bool(value) => out.extend(value.to_string().bytes()),
        Data::Str(text) => write_text(text, out),
        Data::List(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        }
        Data::Map(entries) => {
            // RFC 8785 sorts by UTF-16 units; for ASCII that is the order of the bytes.
            let mut sorted: Vec<_> = entries.iter().collect();
            sorted.sort_by(|(one, _), (other, _)| {
                if one.is_ascii() && other.is_ascii() {
                    one.cmp(other)
                } else {
                    one.encode_utf16().cmp(other.encode_utf16())
                }
            });
            out.push(b'{');
            for (at, (key, value)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_text(key, out);
                out.push(b':');
                write(value, out);
            }
            out.push(b'}');
        }
        Data::Int(_) | Data::Big(_) | Data::Float(_) | Data::Call(..) => {
            out.extend(serde_jcs::to_vec(&data.to_json()).unwrap_or_default());
        }
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    // RFC 8785 escapes only these characters; the text between them is copied as a whole.
    while let Some(at) = rest.iter().position(|byte| matches!(byte, 0..b' ' | b'"' | b'\\')) {
        let (plain, special) = rest.split_at(at);
        out.extend_from_slice(plain);
        let Some((byte, after)) = special.split_first() else { break };
        match byte {
            b'"' => out.extend(b"\\\""),
            b'\\' => out.extend(b"\\\\"),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            0x08 => out.extend(b"\\b"),
            0x0c => out.extend(b"\\f"),
            byte => out.extend(format!("\\u{byte:04x}").bytes()),
        }
        rest = after;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Returns `sha256:` and the digest of the canonical JSON of `data`.
pub fn full(data: &Data) -> String {
    digest::of(canonical_json(data))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The direct writer gives the same bytes as `serde_jcs`.
    #[test]
    fn canonical_json_matches_serde_jcs() {
        let text = |text: &str| Data::str(text);
        let map = |entries: &[(&str, Data)]| {
            Data::Map(entries.iter().map(|(key, data)| ((*key).to_owned(), data.clone())).collect())
        };
        let texts = [
            "",
            "a",
            "\"",
            "\\",
            "/",
            "\n\r\t",
            "\u{0}\u{1f}\u{8}\u{c}",
            "\u{7f}\u{80}",
            "é\u{2028}",
            "\u{1F680}\u{fffe}",
        ];
        let mut cases: Vec<Data> = texts.iter().map(|it| text(it)).collect();
        cases.extend([Data::Null, Data::Bool(true), Data::Int(-3), Data::Int(1 << 60)]);
        cases.extend([0.0, -0.0, 1.5, 1e21, 1e-7, 100.0, f64::NAN].map(Data::Float));
        cases.push(Data::Big("123456789012345678901234567890".parse().unwrap_or_default()));
        cases.push(Data::Call("env".to_owned(), vec![text("X\"")]));
        cases.push(Data::List(cases.clone()));
        let keys = ["b", "a", "B", "", "\u{1F680}", "\u{fffd}", "é", "aa", "\n"];
        let entries: Vec<_> = keys.iter().map(|key| (*key, text(key))).collect();
        cases.push(map(&entries));
        cases.push(map(&[("list", Data::List(cases.clone())), ("empty", map(&[]))]));
        for case in cases {
            let expected = serde_jcs::to_vec(&case.to_json()).unwrap_or_default();
            assert_eq!(canonical_json(&case), expected, "{case:?}");
        }
    }
}
