//! Scalars with a tag for their type. YAML 1.1 then parses numbers with Python's functions, which
//! accept white space around them and forms that a plain scalar cannot have.

use num_bigint::BigInt;

use super::YamlVersion;
use super::date::{self, DateForm};
use super::scalar::{plain, sign, switch};
use crate::tree::TreeValue;

/// The most digits of a number; Python has the same limit.
const DIGITS: usize = 4300;

/// Returns the value of `text` under a tag such as `!!int`, in quotes or not; `None` if it does not fit.
pub(super) fn tagged(name: &str, text: &str, version: YamlVersion) -> Option<TreeValue> {
    let natural = || plain(text, version).ok();
    match (name, version) {
        ("str", _) => Some(TreeValue::Str(text.to_owned())),
        // `PyYAML` makes every text null here.
        ("null", YamlVersion::V1_1) => Some(TreeValue::Null),
        ("null", YamlVersion::V1_2) => natural().filter(|value| *value == TreeValue::Null),
        ("bool", YamlVersion::V1_1) => {
            let text = text.to_lowercase();
            switch(&text).or_else(|| text.parse().ok()).map(TreeValue::Bool)
        }
        ("bool", YamlVersion::V1_2) => {
            natural().filter(|value| matches!(value, TreeValue::Bool(_)))
        }
        ("int", YamlVersion::V1_1) => old_int(text),
        ("int", YamlVersion::V1_2) => {
            natural().filter(|value| matches!(value, TreeValue::Int(_) | TreeValue::Big(_)))
        }
        ("float", YamlVersion::V1_1) => old_float(text).map(TreeValue::Float),
        ("float", YamlVersion::V1_2) => match natural() {
            Some(TreeValue::Float(value)) => Some(TreeValue::Float(value)),
            _ => any_float(text).map(TreeValue::Float),
        },
        ("timestamp", _) => date::read(text, DateForm::Tagged)?.ok().map(TreeValue::Date),
        _ => None,
    }
}

/// Parses any number as a float: with the tag, it needs no dot.
fn any_float(text: &str) -> Option<f64> {
    let numeric =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    text.bytes().all(numeric).then(|| text.parse().ok()).flatten()
}

fn old_int(text: &str) -> Option<TreeValue> {
    let text = text.replace('_', "");
    let (negative, body) = sign(&text);
    let value = if let Some(digits) = body.strip_prefix("0b") {
        whole(digits, 2)?
    } else if let Some(digits) = body.strip_prefix("0x") {
        whole(digits, 16)?
    // `PyYAML` takes every leading zero as octal, also that of `0:30`.
    } else if body.starts_with('0') {
        whole(body, 8)?
    } else {
        let mut sum = BigInt::default();
        for part in body.split(':') {
            sum = sum * 60 + whole(part, 10)?;
        }
        sum
    };
    let value = if negative { -value } else { value };
    Some(i64::try_from(&value).map_or(TreeValue::Big(value), TreeValue::Int))
}

/// Parses an integer as Python's `int` does.
fn whole(text: &str, radix: u32) -> Option<BigInt> {
    let (negative, body) = sign(text.trim());
    let prefix = match radix {
        2 => "0b",
        8 => "0o",
        16 => "0x",
        _ => "",
    };
    let prefixed = body.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    let digits = body.get(if prefixed { prefix.len() } else { 0 }..)?;
    let fits = digits.len() <= DIGITS && digits.chars().all(|digit| digit.is_digit(radix));
    let value = BigInt::parse_bytes(digits.as_bytes(), radix).filter(|_| fits)?;
    Some(if negative { -value } else { value })
}

fn old_float(text: &str) -> Option<f64> {
    let text = text.replace('_', "").to_lowercase();
    let (negative, body) = sign(&text);
    let value = match body {
        ".inf" => f64::INFINITY,
        ".nan" => f64::NAN,
        body => {
            // In the order of `PyYAML`, so that the last bit is the same.
            let (mut sum, mut base) = (0.0, 1.0);
            for part in body.rsplit(':') {
                sum += part.trim().parse::<f64>().ok()? * base;
                base *= 60.0;
            }
            sum
        }
    };
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::YamlVersion::{V1_1, V1_2};
    use super::*;

    #[test]
    fn tagged_scalars_are_parsed_by_their_tag() {
        let int = |value| Some(TreeValue::Int(value));
        let float = |value| Some(TreeValue::Float(value));
        let cases = [
            ("str", "12", Some(TreeValue::Str("12".to_owned()))),
            ("int", "1_2", int(12)),
            ("int", " 3\n", int(3)),
            ("int", "-017", int(-15)),
            ("int", "0o17", int(15)),
            ("int", "0x1F", int(31)),
            ("int", "1:30", int(90)),
            ("int", "1:90", int(150)),
            ("int", "", None),
            ("int", "x", None),
            ("int", "08", None),
            ("float", "1", float(1.0)),
            ("float", "1e3", float(1000.0)),
            ("float", " 1:30.5 ", float(90.5)),
            ("float", "-.INF", float(f64::NEG_INFINITY)),
            ("float", "Infinity", float(f64::INFINITY)),
            ("float", "x", None),
            ("bool", "YeS", Some(TreeValue::Bool(true))),
            ("bool", "maybe", None),
            ("null", "anything", Some(TreeValue::Null)),
            ("timestamp", "2024-2-9", Some(TreeValue::Date("2024-02-09".to_owned()))),
            ("binary", "aGk=", None),
        ];
        for (name, text, expected) in cases {
            assert_eq!(tagged(name, text, V1_1), expected, "!!{name} {text}");
        }
        for (name, text) in [("int", " 3"), ("float", "nan"), ("float", "1_0"), ("bool", "yes")] {
            assert_eq!(tagged(name, text, V1_2), None, "!!{name} {text}");
        }
    }
}
