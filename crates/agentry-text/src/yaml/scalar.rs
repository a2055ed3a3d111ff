//! The value of a plain scalar: by the core schema of YAML 1.2, or by YAML 1.1 exactly as
//! `PyYAML`'s safe loader reads it, because digests of manifests depend on every detail.

use num_bigint::BigInt;

use super::YamlVersion;
use super::date::{self, DateForm};
use crate::tree::TreeValue;

/// The most digits of a number; Python has the same limit.
const NUMBER_LENGTH: usize = 4300;

/// Returns the value of the plain scalar `text`; a string if the version rejects it.
pub fn resolve(text: &str, version: YamlVersion) -> TreeValue {
    plain(text, version).unwrap_or_else(|_| TreeValue::Str(text.to_owned()))
}

/// Reports whether YAML 1.1 and 1.2 read the plain scalar `text` differently.
pub fn ambiguous(text: &str) -> bool {
    if !is_special(text) {
        return false;
    }
    match (plain(text, YamlVersion::V1_1), plain(text, YamlVersion::V1_2)) {
        // By bits, because NaN is not equal to itself.
        (Ok(TreeValue::Float(old)), Ok(TreeValue::Float(new))) => old.to_bits() != new.to_bits(),
        (old, new) => old != new,
    }
}

/// Returns the value of the plain scalar `text`, or why the version rejects it.
pub(super) fn plain(text: &str, version: YamlVersion) -> Result<TreeValue, String> {
    if text.is_empty() {
        return Ok(TreeValue::Null);
    }
    let value = match version {
        _ if !is_special(text) => None,
        YamlVersion::V1_1 => old(text)?,
        YamlVersion::V1_2 => core(text)?,
    };
    Ok(value.unwrap_or_else(|| TreeValue::Str(text.to_owned())))
}

/// Reports whether a scalar starts like anything but a string. This skips the slow tests for most text.
pub(super) fn is_special(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(b'0'..=b'9' | b'+' | b'-' | b'.' | b'~' | b'<' | b'=') => true,
        // `false` is the longest special word.
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O') => {
            text.len() <= 5
        }
        _ => false,
    }
}

/// Reports whether a scalar starts with a letter, which numbers and dates do not.
fn starts_with_letter(text: &str) -> bool {
    text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
}

/// Returns the value of the words that both versions read the same.
fn common(text: &str) -> Option<TreeValue> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => TreeValue::Null,
        "true" | "True" | "TRUE" => TreeValue::Bool(true),
        "false" | "False" | "FALSE" => TreeValue::Bool(false),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => TreeValue::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => TreeValue::Float(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => TreeValue::Float(f64::NAN),
        _ => return None,
    })
}

/// Reads YAML 1.1; `None` is a string.
fn old(text: &str) -> Result<Option<TreeValue>, String> {
    if let Some(value) = common(text).or_else(|| switch(text).map(TreeValue::Bool)) {
        return Ok(Some(value));
    }
    if matches!(text, "=" | "<<") {
        return Err(format!("`{text}` has a meaning of its own and is not a value"));
    }
    if starts_with_letter(text) {
        return Ok(None);
    }
    // In the order of `PyYAML`'s resolvers: float, integer, timestamp.
    if let Some(value) = old_float(text) {
        return Ok(Some(TreeValue::Float(value)));
    }
    if let Some(value) = old_int(text) {
        return value.map(Some);
    }
    match date::read(text, DateForm::Implicit) {
        Some(Ok(date)) => Ok(Some(TreeValue::Date(date))),
        Some(Err(())) => Err(format!("`{text}` is not a date that exists")),
        None => Ok(None),
    }
}

pub(super) fn switch(text: &str) -> Option<bool> {
    match text {
        "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// Reads an integer of YAML 1.1: binary, octal, decimal, hexadecimal or sexagesimal, with underscores.
fn old_int(text: &str) -> Option<Result<TreeValue, String>> {
    let (negative, body) = sign(text);
    let all = |part: &str, wanted: fn(u8) -> bool| {
        !part.is_empty() && part.bytes().all(|byte| byte == b'_' || wanted(byte))
    };
    let (digits, radix) = if let Some(part) = body.strip_prefix("0b") {
        (all(part, |byte| matches!(byte, b'0' | b'1')).then_some(part)?, 2)
    } else if let Some(part) = body.strip_prefix("0x") {
        (all(part, |byte| byte.is_ascii_hexdigit()).then_some(part)?, 16)
    // A leading zero makes it octal, so `09` is a string.
    } else if body.starts_with('0') {
        (all(body, |byte| matches!(byte, b'0'..=b'7')).then_some(body)?, 8)
    } else if !body.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    } else if all(body, |byte| byte.is_ascii_digit()) {
        (body, 10)
    } else {
        let (first, rest) = sexagesimal(body)?;
        let wanted = |part: &str| all(part, |byte| byte.is_ascii_digit());
        return (wanted(first) && rest.clone().all(is_sixty))
            .then(|| sum_of_sixties(negative, first, rest));
    };
    Some(whole(negative, digits, radix))
}

/// Returns the number of `digits` in `radix`, ignoring underscores.
fn whole(negative: bool, digits: &str, radix: u32) -> Result<TreeValue, String> {
    let digits: std::borrow::Cow<'_, str> =
        if digits.contains('_') { digits.replace('_', "").into() } else { digits.into() };
    if digits.is_empty() {
        return Err("the number has no digits".to_owned());
    }
    if digits.len() > NUMBER_LENGTH {
        return Err(format!("the number has more than {NUMBER_LENGTH} digits"));
    }
    if let Ok(value) = i128::from_str_radix(&digits, radix) {
        let value = if negative { -value } else { value };
        return Ok(
            i64::try_from(value).map_or_else(|_| TreeValue::Big(value.into()), TreeValue::Int)
        );
    }
    let value = BigInt::parse_bytes(digits.as_bytes(), radix);
    value
        .map(|value| TreeValue::Big(if negative { -value } else { value }))
        .ok_or_else(|| "the number has characters that are no digits".to_owned())
}

/// Splits `12:30:45` into its first part and the others.
fn sexagesimal(body: &str) -> Option<(&str, std::str::Split<'_, char>)> {
    let (first, rest) = body.split_once(':')?;
    Some((first, rest.split(':')))
}

/// Reports whether `part` is a sexagesimal digit: `0` to `59`.
fn is_sixty(part: &str) -> bool {
    match part.as_bytes() {
        [only] => only.is_ascii_digit(),
        [first, second] => matches!(first, b'0'..=b'5') && second.is_ascii_digit(),
        _ => false,
    }
}

fn sum_of_sixties<'t>(
    negative: bool,
    first: &str,
    rest: impl Iterator<Item = &'t str>,
) -> Result<TreeValue, String> {
    let mut sum = match whole(false, first, 10)? {
        TreeValue::Int(value) => BigInt::from(value),
        TreeValue::Big(value) => value,
        _ => BigInt::default(),
    };
    for (index, part) in rest.enumerate() {
        if index > NUMBER_LENGTH {
            return Err("the number has too many parts".to_owned());
        }
        sum = sum * 60 + part.parse::<u32>().unwrap_or(0);
    }
    let sum = if negative { -sum } else { sum };
    Ok(i64::try_from(&sum).map_or(TreeValue::Big(sum), TreeValue::Int))
}

/// Reads a float of YAML 1.1: it needs a dot, and its exponent needs a sign.
fn old_float(text: &str) -> Option<f64> {
    let (negative, body) = sign(text);
    let signed = body.len() < text.len();
    let (before, after) = body.split_once('.')?;
    let (fraction, exponent) = match after.find(['e', 'E']) {
        Some(at) => (after.get(..at)?, after.get(at..)?),
        None => (after, ""),
    };
    let digits = |part: &str| part.bytes().all(|byte| byte == b'_' || byte.is_ascii_digit());
    if !digits(fraction) || !(exponent.is_empty() || is_signed_exponent(exponent)) {
        return None;
    }
    let leads = |part: &str| part.starts_with(|first: char| first.is_ascii_digit());
    let value = match sexagesimal(before) {
        // `PyYAML` quirk: `.5` is a float, `+.5` is a string.
        _ if before.is_empty() => (!signed && leads(fraction)).then(|| number(body))?,
        None => (leads(before) && digits(before)).then(|| number(body))?,
        Some((first, mut parts)) => {
            let fits = leads(first) && digits(first) && parts.all(is_sixty) && exponent.is_empty();
            fits.then(|| float_of_sixties(body))?
        }
    };
    Some(if negative { -value } else { value })
}

fn is_signed_exponent(text: &str) -> bool {
    let digits = text.get(1..).and_then(|rest| rest.strip_prefix(['+', '-']));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns the float of `text`, ignoring underscores.
fn number(text: &str) -> f64 {
    text.replace('_', "").parse().unwrap_or(f64::NAN)
}

/// Adds up in the order that `PyYAML` does, so that the last bit is the same.
fn float_of_sixties(body: &str) -> f64 {
    let (mut sum, mut base) = (0.0, 1.0);
    for part in body.rsplit(':') {
        sum += number(part) * base;
        base *= 60.0;
    }
    sum
}

/// Splits off a sign; returns whether it is a minus, and the rest.
pub(super) fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Reads the core schema of YAML 1.2; `None` is a string.
fn core(text: &str) -> Result<Option<TreeValue>, String> {
    if let Some(value) = common(text) {
        return Ok(Some(value));
    }
    if starts_with_letter(text) {
        return Ok(None);
    }
    let all = |part: &str, wanted: fn(&u8) -> bool| {
        !part.is_empty() && part.as_bytes().iter().all(wanted)
    };
    if let Some(digits) = text.strip_prefix("0o") {
        let octal = all(digits, |byte| matches!(byte, b'0'..=b'7'));
        return octal.then(|| whole(false, digits, 8)).transpose();
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return all(digits, u8::is_ascii_hexdigit).then(|| whole(false, digits, 16)).transpose();
    }
    let (negative, body) = sign(text);
    if all(body, u8::is_ascii_digit) {
        return whole(negative, body, 10).map(Some);
    }
    let numeric =
        |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    let leads = body.starts_with(|first: char| first == '.' || first.is_ascii_digit());
    // Rust's parser accepts `inf`, `nan` and more, hence the test of the characters before.
    let float = (leads && all(body, numeric)).then(|| text.parse().ok()).flatten();
    Ok(float.map(TreeValue::Float))
}

#[cfg(test)]
mod tests {
    use super::YamlVersion::{V1_1, V1_2};
    use super::*;

    fn show(text: &str, version: YamlVersion) -> String {
        match plain(text, version) {
            Ok(TreeValue::Null) => "null".to_owned(),
            Ok(TreeValue::Bool(value)) => format!("bool {value}"),
            Ok(TreeValue::Int(value)) => format!("int {value}"),
            Ok(TreeValue::Big(value)) => format!("big {value}"),
            Ok(TreeValue::Float(value)) => format!("float {value:?}"),
            Ok(TreeValue::Date(date)) => format!("date {date}"),
            Ok(_) => "str".to_owned(),
            Err(_) => "error".to_owned(),
        }
    }

    /// The first column has the values of `PyYAML` 6.0.3.
    const TABLE: &[(&str, &str, &str)] = &[
        ("", "null", "null"),
        ("~", "null", "null"),
        ("null", "null", "null"),
        ("nULL", "str", "str"),
        ("true", "bool true", "bool true"),
        ("tRue", "str", "str"),
        ("yes", "bool true", "str"),
        ("Off", "bool false", "str"),
        ("oN", "str", "str"),
        ("y", "str", "str"),
        ("n", "str", "str"),
        ("0", "int 0", "int 0"),
        ("-0", "int 0", "int 0"),
        ("00", "int 0", "int 0"),
        ("0_", "int 0", "str"),
        ("017", "int 15", "int 17"),
        ("-017", "int -15", "int -17"),
        ("018", "str", "int 18"),
        ("0o17", "str", "int 15"),
        ("0x1F", "int 31", "int 31"),
        ("+0x1_F", "int 31", "str"),
        ("-0x1F", "int -31", "str"),
        ("0X1F", "str", "str"),
        ("0x_", "error", "str"),
        ("0b1010_0111", "int 167", "str"),
        ("0b_", "error", "str"),
        ("0b2", "str", "str"),
        ("1_000", "int 1000", "str"),
        ("1__", "int 1", "str"),
        ("_1", "str", "str"),
        ("+12", "int 12", "int 12"),
        ("12:30", "int 750", "str"),
        ("-12:30", "int -750", "str"),
        ("190:20:30", "int 685230", "str"),
        ("12:60", "str", "str"),
        ("12:300", "str", "str"),
        ("012:30", "str", "str"),
        ("0:30", "str", "str"),
        ("1_:30", "int 90", "str"),
        ("1:30.5", "float 90.5", "str"),
        ("0:30.5", "float 30.5", "str"),
        ("1:30.", "float 90.0", "str"),
        ("1:30.5e+1", "str", "str"),
        ("9223372036854775807", "int 9223372036854775807", "int 9223372036854775807"),
        ("9223372036854775808", "big 9223372036854775808", "big 9223372036854775808"),
        ("-9223372036854775808", "int -9223372036854775808", "int -9223372036854775808"),
        ("0x8000000000000000", "big 9223372036854775808", "big 9223372036854775808"),
        ("1.5", "float 1.5", "float 1.5"),
        ("1.", "float 1.0", "float 1.0"),
        (".5", "float 0.5", "float 0.5"),
        ("-.5", "str", "float -0.5"),
        ("+.5", "str", "float 0.5"),
        ("-0.0", "float -0.0", "float -0.0"),
        ("1e3", "str", "float 1000.0"),
        ("1.0e3", "str", "float 1000.0"),
        ("1e+3", "str", "float 1000.0"),
        ("1.0e+3", "float 1000.0", "float 1000.0"),
        ("1.e+3", "float 1000.0", "float 1000.0"),
        (".5E-1", "float 0.05", "float 0.05"),
        ("1_0.5_0", "float 10.5", "str"),
        ("1.5e+", "str", "str"),
        ("1.5.2", "str", "str"),
        (".", "str", "str"),
        ("-", "str", "str"),
        ("+", "str", "str"),
        ("1+1", "str", "str"),
        ("1.0e+999", "float inf", "float inf"),
        (".inf", "float inf", "float inf"),
        ("-.INF", "float -inf", "float -inf"),
        (".nan", "float NaN", "float NaN"),
        ("+.nan", "str", "str"),
        (".iNf", "str", "str"),
        ("inf", "str", "str"),
        ("nan", "str", "str"),
        ("infinity", "str", "str"),
        ("2024-02-29", "date 2024-02-29", "str"),
        ("2023-02-29", "error", "str"),
        ("2024-2-29", "str", "str"),
        ("2024-02-29T12:30:45Z", "date 2024-02-29T12:30:45Z", "str"),
        ("=", "error", "str"),
        ("<<", "error", "str"),
        ("٣", "str", "str"),
        ("name", "str", "str"),
    ];

    #[test]
    fn plain_scalars_follow_the_yaml_version() {
        for (text, old, new) in TABLE {
            assert_eq!(show(text, V1_1), *old, "1.1 {text:?}");
            assert_eq!(show(text, V1_2), *new, "1.2 {text:?}");
            assert_eq!(ambiguous(text), old != new, "{text:?}");
        }
    }

    #[test]
    fn overlong_numbers_are_errors_or_strings() {
        for text in ["9".repeat(5000), format!("0x{}", "f".repeat(5000)), "1:1".repeat(9000)] {
            let shown = show(&text, V1_1);
            assert!(shown == "error" || shown == "str", "{shown:.40}");
        }
    }
}
