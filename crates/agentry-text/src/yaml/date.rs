//! Timestamps of YAML 1.1, written as the reference writes them in JSON: ISO 8601 with a `T`, six
//! digits of a fraction or none, and `Z` for a zero offset. `chrono` decides which dates exist; it
//! has no parser for this syntax.

use chrono::{NaiveDate, NaiveDateTime, Timelike as _};

/// How strict the syntax of a date without a time is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateForm {
    /// Two digits for month and day, as in a plain scalar.
    Implicit,
    /// One digit is enough, as with the tag `!!timestamp`.
    Tagged,
}

/// Parses a date or a time. Returns `None` if `text` is neither, and an error if the day, time or
/// offset does not exist.
pub(super) fn read(text: &str, form: DateForm) -> Option<Result<String, ()>> {
    let mut cursor = DateCursor { rest: text.as_bytes() };
    let year = 100 * cursor.digits(2)? + cursor.digits(2)?;
    let (month, day) = (cursor.after(b'-', 1)?, cursor.after(b'-', 1)?);
    // Python has no year 0.
    let year = i32::try_from(year).ok().filter(|year| *year > 0);
    let date = year.and_then(|year| NaiveDate::from_ymd_opt(year, month, day));
    if cursor.rest.is_empty() {
        let fits = form == DateForm::Tagged || text.len() == "2024-02-29".len();
        return fits.then(|| date.map(|date| date.to_string()).ok_or(()));
    }
    if !cursor.byte(b'T') && !cursor.byte(b't') && !cursor.blanks() {
        return None;
    }
    let (hour, minute, second) =
        (cursor.digits(1)?, cursor.after(b':', 2)?, cursor.after(b':', 2)?);
    let microsecond = if cursor.byte(b'.') { cursor.fraction() } else { 0 };
    let offset = offset(&mut cursor)?;
    if !cursor.rest.is_empty() {
        return None;
    }
    let moment = date.and_then(|date| date.and_hms_micro_opt(hour, minute, second, microsecond));
    Some(moment.ok_or(()).and_then(|moment| Ok(printed(moment) + &offset?)))
}

fn printed(moment: NaiveDateTime) -> String {
    let form = if moment.nanosecond() > 0 { "%FT%T%.6f" } else { "%FT%T" };
    moment.format(form).to_string()
}

/// Parses the offset from UTC; an empty text if there is none, and an error if it does not exist.
fn offset(cursor: &mut DateCursor<'_>) -> Option<Result<String, ()>> {
    if cursor.rest.is_empty() {
        return Some(Ok(String::new()));
    }
    cursor.blanks();
    if cursor.byte(b'Z') {
        return Some(Ok("Z".to_owned()));
    }
    let sign = match (cursor.byte(b'+'), cursor.byte(b'-')) {
        (true, _) => '+',
        (_, true) => '-',
        _ => return None,
    };
    let hours = cursor.digits(1)?;
    let rest = if cursor.byte(b':') { cursor.digits(2)? } else { 0 };
    // `PyYAML` adds hours and minutes, so `+1:99` is `+02:39`.
    Some(match hours * 60 + rest {
        0 => Ok("Z".to_owned()),
        sum if sum < 24 * 60 => Ok(format!("{sign}{:02}:{:02}", sum / 60, sum % 60)),
        _ => Err(()),
    })
}

struct DateCursor<'t> {
    rest: &'t [u8],
}

impl DateCursor<'_> {
    /// Takes `wanted` if it is next.
    fn byte(&mut self, wanted: u8) -> bool {
        let after = self.rest.strip_prefix(&[wanted]);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// Takes spaces and tabs, and returns whether there were any.
    fn blanks(&mut self) -> bool {
        let before = self.rest.len();
        while self.byte(b' ') || self.byte(b'\t') {}
        self.rest.len() < before
    }

    /// Takes a number of two digits; one digit is enough if `least` is 1.
    fn digits(&mut self, least: usize) -> Option<u32> {
        let first = self.digit()?;
        match self.digit() {
            Some(second) => Some(first * 10 + second),
            None => (least < 2).then_some(first),
        }
    }

    /// Takes `mark` and the number after it.
    fn after(&mut self, mark: u8, least: usize) -> Option<u32> {
        if self.byte(mark) { self.digits(least) } else { None }
    }

    /// Takes all digits of a fraction of a second; digits after the sixth are ignored.
    fn fraction(&mut self) -> u32 {
        let (mut value, mut unit) = (0, 100_000);
        while let Some(digit) = self.digit() {
            value += digit * unit;
            unit /= 10;
        }
        value
    }

    fn digit(&mut self) -> Option<u32> {
        let (first, rest) = self.rest.split_first().filter(|(first, _)| first.is_ascii_digit())?;
        self.rest = rest;
        Some(u32::from(first - b'0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_print_as_the_reference_does() {
        let cases = [
            ("2024-02-29", "2024-02-29"),
            ("0001-01-01", "0001-01-01"),
            ("2024-02-29T12:30:45Z", "2024-02-29T12:30:45Z"),
            ("2024-02-29 12:30:45", "2024-02-29T12:30:45"),
            ("2024-02-29 \t 12:30:45", "2024-02-29T12:30:45"),
            ("2024-2-9t1:30:45.5", "2024-02-09T01:30:45.500000"),
            ("2024-02-29T12:30:45.123456789+02:00", "2024-02-29T12:30:45.123456+02:00"),
            ("2024-02-29T12:30:45 -5", "2024-02-29T12:30:45-05:00"),
            ("2024-02-29T12:30:45+00:00", "2024-02-29T12:30:45Z"),
            ("2024-02-29T12:30:45-00:00", "2024-02-29T12:30:45Z"),
            ("2024-02-29T12:30:45.", "2024-02-29T12:30:45"),
            ("2024-02-29T12:30:45.000", "2024-02-29T12:30:45"),
            ("2024-02-29T12:30:45+1:99", "2024-02-29T12:30:45+02:39"),
            ("2024-02-29T12:30:45.5Z", "2024-02-29T12:30:45.500000Z"),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text, DateForm::Implicit), Some(Ok(expected.to_owned())), "{text}");
        }
    }

    #[test]
    fn impossible_dates_are_errors() {
        let impossible = [
            "2023-02-29",
            "0000-01-01",
            "2024-13-01",
            "2024-00-01",
            "2024-01-00",
            "2024-02-29T24:00:00",
            "2024-02-29T12:60:00",
            "2024-02-29T12:30:45+24:00",
            "2024-02-29T12:30:45+23:60",
        ];
        for text in impossible {
            assert_eq!(read(text, DateForm::Implicit), Some(Err(())), "{text}");
        }
        let other = [
            "",
            "2024",
            "2024-2-9",
            "2024-02-29T",
            "2024-02-29T12:30",
            "2024-02-29T12:30:45 ",
            "2024-02-29T12:30:45z",
            "2024-02-29x",
            "24-02-29",
            "2024-02-291",
        ];
        for text in other {
            assert_eq!(read(text, DateForm::Implicit), None, "{text}");
        }
        assert_eq!(read("2024-2-9", DateForm::Tagged), Some(Ok("2024-02-09".to_owned())));
    }
}
