//! The text from which the `ag1:` hash of a manifest is computed: JSON exactly as the reference prints it,
//! with sorted keys, a space after each comma and colon, ASCII only, and floats in their shortest form.

use std::fmt::Write as _;

use agentry_text::Data;

/// Prints `data`. Keys are sorted by code point; the keys of one map are distinct.
pub(super) fn print(data: &Data) -> String {
    let mut out = String::new();
    value(data, &mut out);
    out
}

fn value(data: &Data, out: &mut String) {
    match data {
        // A call never gets here, because `schema` rejects it.
        Data::Null | Data::Call(..) => out.push_str("null"),
        Data::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Data::Int(value) => drop(write!(out, "{value}")),
        Data::Big(value) => drop(write!(out, "{value}")),
        Data::Float(value) => out.push_str(&float(*value)),
        Data::Str(text) => string(text, out),
        Data::List(items) => {
            let print = |item: &Data, out: &mut String| value(item, out);
            listed(items.iter(), out, ('[', ']'), print);
        }
        Data::Map(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            let print = |(key, item): &(String, Data), out: &mut String| {
                string(key, out);
                out.push_str(": ");
                value(item, out);
            };
            listed(entries.into_iter(), out, ('{', '}'), print);
        }
    }
}

fn listed<'d, T: 'd>(
    items: impl Iterator<Item = &'d T>,
    out: &mut String,
    (open, close): (char, char),
    print: impl Fn(&T, &mut String),
) {
    out.push(open);
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        print(item, out);
    }
    out.push(close);
}

fn string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            other => {
                // Characters beyond U+FFFF become two escapes, a surrogate pair.
                for unit in other.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

/// Returns the shortest decimal that reads back as `value`, with an exponent from 10¹⁶ on and below 10⁻⁴.
pub(super) fn float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let shortest = format!("{value:e}");
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // In this range `{:?}` prints a decimal point and no exponent.
    if (-4..16).contains(&exponent) {
        return format!("{value:?}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_the_reference_prints_them() {
        let cases = [
            (0.5, "0.5"),
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (100.0, "100.0"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e16, "1.5e+16"),
            (1e20, "1e+20"),
            (123_456_789_012_345.67, "123456789012345.67"),
            (9_007_199_254_740_993.0, "9007199254740992.0"),
            (1e22, "1e+22"),
            (1e100, "1e+100"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (value, expected) in cases {
            assert_eq!(float(value), expected);
        }
    }

    #[test]
    fn canonical_json_escapes_text_and_sorts_keys() {
        let text = "\"\\/\n\r\t\u{8}\u{c}\u{0}\u{7f}é\u{fffd}\u{1f680}";
        let keys = ["b", "a", "\u{1f680}", "\u{fffd}", "B"];
        let map = keys.iter().map(|key| ((*key).to_owned(), Data::Null)).collect();
        let cases = [
            (Data::str(text), r#""\"\\/\n\r\t\b\f\u0000\u007f\u00e9\ufffd\ud83d\ude80""#),
            (
                Data::Map(map),
                r#"{"B": null, "a": null, "b": null, "\ufffd": null, "\ud83d\ude80": null}"#,
            ),
            (Data::List(vec![Data::Int(1), Data::Bool(true), Data::List(vec![])]), "[1, true, []]"),
        ];
        for (data, expected) in cases {
            assert_eq!(print(&data), expected);
        }
    }
}
