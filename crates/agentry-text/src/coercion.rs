//! Conversion of scalars to another type: `"12"` to an integer, `"yes"` to a boolean.
//! The rules are exactly those of the manifest's reference, because digests depend on them.

use num_bigint::BigInt;

/// The most digits of an integer; the reference rejects longer ones.
const DIGITS: usize = 4300;
/// From here on, positive or negative, the reference does not take a float as an integer.
const WHOLE_LIMIT: f64 = 9_223_372_036_854_775_808.0;

/// Converts `text` to a boolean.
pub fn bool_of_text(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "t" | "true" | "y" | "yes" | "on" => Some(true),
        "0" | "f" | "false" | "n" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Converts `text` to an integer: digits with single underscores between them, an optional sign,
/// white space around it, and a fraction of zeros.
pub fn int_of_text(text: &str) -> Option<BigInt> {
    let text = text.trim();
    let text = match text.split_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|b| b == b'0') => whole,
        Some(_) => return None,
        None => text,
    };
    let (negative, body) = match text.strip_prefix('-') {
        Some(body) => (true, body),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digit_or_line = |byte: u8| byte == b'_' || byte.is_ascii_digit();
    if body.is_empty() || !body.bytes().all(digit_or_line) || !well_placed_underscores(body) {
        return None;
    }
    let digits = body.replace('_', "");
    // Leading zeros do not count towards the limit.
    let digits = digits.trim_start_matches('0');
    if digits.len() > DIGITS {
        return None;
    }
    let value = if digits.is_empty() {
        BigInt::default()
    } else {
        BigInt::parse_bytes(digits.as_bytes(), 10)?
    };
    Some(if negative { -value } else { value })
}

/// Converts `text` to a number, including `nan` and `inf`.
pub fn float_of_text(text: &str) -> Option<f64> {
    let plain = text.trim().parse().ok();
    plain.or_else(|| {
        (text.contains('_') && well_placed_underscores(text))
            .then(|| text.replace('_', "").parse().ok())
            .flatten()
    })
}

/// Returns the integer that is exactly equal to a float.
#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
pub fn int_of_float(value: f64) -> Option<i64> {
    let in_range = value.fract() == 0.0 && value.abs() < WHOLE_LIMIT;
    in_range.then_some(value as i64)
}

/// Returns the float nearest to an integer of any size, if it is finite.
pub fn float_of_big(value: &BigInt) -> Option<f64> {
    value.to_string().parse().ok().filter(|value: &f64| value.is_finite())
}

fn well_placed_underscores(text: &str) -> bool {
    !text.starts_with('_') && !text.ends_with('_') && !text.contains("__")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values from the reference (pydantic 2.14).
    #[test]
    fn texts_are_coerced_to_integers() {
        let cases = [
            ("12", Some("12")),
            (" 12 ", Some("12")),
            ("\u{85}12\u{3000}", Some("12")),
            ("+5", Some("5")),
            ("-007", Some("-7")),
            ("-0", Some("0")),
            ("1_000", Some("1000")),
            ("0_1", Some("1")),
            ("12.0", Some("12")),
            ("1_000.00", Some("1000")),
            ("12345678901234567890123.0", Some("12345678901234567890123")),
            ("", None),
            ("+", None),
            ("++5", None),
            ("- 5", None),
            ("_1", None),
            ("1_", None),
            ("-_1", None),
            ("1__0", None),
            ("12.", None),
            (".0", None),
            ("12.5", None),
            ("12.0_0", None),
            ("1e3", None),
            ("0x10", None),
            ("٣", None),
            ("\u{1c}5", None),
        ];
        for (text, expected) in cases {
            let found = int_of_text(text).map(|value| value.to_string());
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
        assert!(int_of_text(&"9".repeat(4300)).is_some());
        assert!(int_of_text(&"9".repeat(4301)).is_none());
        assert!(int_of_text(&"0".repeat(5000)).is_some());
    }

    #[test]
    fn texts_are_coerced_to_floats() {
        let cases = [
            (" 0.5 ", Some("0.5")),
            ("1e3", Some("1000.0")),
            ("5.", Some("5.0")),
            ("-0", Some("-0.0")),
            ("1_000.5_5", Some("1000.55")),
            ("-_5", Some("-5.0")),
            ("1e_5", Some("100000.0")),
            ("nan", Some("NaN")),
            ("-Infinity", Some("-inf")),
            ("1e400", Some("inf")),
            ("", None),
            (".", None),
            (" 1_0 ", None),
            ("1__0", None),
            ("1_", None),
            ("_.5", None),
            ("0x10", None),
            ("1f", None),
            ("٣", None),
        ];
        for (text, expected) in cases {
            let found = float_of_text(text).map(|value| format!("{value:?}"));
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn whole_floats_are_coerced_to_integers() {
        let cases = [
            (30.0, Some(30)),
            (-0.0, Some(0)),
            (20.5, None),
            (9_223_372_036_854_774_784.0, Some(9_223_372_036_854_774_784)),
            (9_223_372_036_854_775_808.0, None),
            (-9_223_372_036_854_775_808.0, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
        ];
        for (value, expected) in cases {
            assert_eq!(int_of_float(value), expected, "{value}");
        }
    }
}
