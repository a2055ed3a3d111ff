//! The timestamps of YAML 1.1, printed as JSON readers of the reference print them: ISO 8601, with
//! a `T`, six digits of a fraction or none, and `Z` for an offset of nothing.

use std::fmt::Write as _;

/// How strictly a date without a time is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Two digits for month and day: what makes a plain scalar a date.
    Implicit,
    /// One digit is enough: what `!!timestamp` takes.
    Tagged,
}

/// Reads a date or a time: `None` if `text` has not the form of one, and an error if it has the
/// form but names no day, hour or offset that exists.
pub(super) fn read(text: &str, form: Form) -> Option<Result<String, ()>> {
    let mut cursor = Cursor { rest: text.as_bytes() };
    let date = Date {
        year: cursor.digits(4, 4)?,
        month: cursor.byte(b'-').then(|| cursor.digits(1, 2))??,
        day: cursor.byte(b'-').then(|| cursor.digits(1, 2))??,
    };
    if cursor.rest.is_empty() {
        let fits = form == Form::Tagged || text.len() == "2024-02-29".len();
        return fits.then(|| date.print().ok_or(()));
    }
    if !cursor.byte(b'T') && !cursor.byte(b't') && !cursor.blanks() {
        return None;
    }
    let time = Time::read(&mut cursor)?;
    let offset = Offset::read(&mut cursor)?;
    if !cursor.rest.is_empty() {
        return None;
    }
    let parts = (date.print(), time.print(), offset.print());
    let (Some(date), Some(time), Some(offset)) = parts else { return Some(Err(())) };
    Some(Ok(format!("{date}T{time}{offset}")))
}

struct Date {
    year: u32,
    month: u32,
    day: u32,
}

impl Date {
    fn print(&self) -> Option<String> {
        let Self { year, month, day } = *self;
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            4 | 6 | 9 | 11 => 30,
            2 if leap => 29,
            2 => 28,
            _ => return None,
        };
        let exists = year >= 1 && (1..=days).contains(&day);
        exists.then(|| format!("{year:04}-{month:02}-{day:02}"))
    }
}

struct Time {
    hour: u32,
    minute: u32,
    second: u32,
    microsecond: u32,
}

impl Time {
    fn read(cursor: &mut Cursor<'_>) -> Option<Self> {
        let hour = cursor.digits(1, 2)?;
        let minute = cursor.byte(b':').then(|| cursor.digits(2, 2))??;
        let second = cursor.byte(b':').then(|| cursor.digits(2, 2))??;
        let microsecond = if cursor.byte(b'.') { cursor.fraction() } else { 0 };
        Some(Self { hour, minute, second, microsecond })
    }

    fn print(&self) -> Option<String> {
        let Self { hour, minute, second, microsecond } = *self;
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let mut out = format!("{hour:02}:{minute:02}:{second:02}");
        if microsecond > 0 {
            let _ = write!(out, ".{microsecond:06}");
        }
        Some(out)
    }
}

/// How far a time is from universal time, if it says so.
enum Offset {
    Unknown,
    Minutes { sign: char, minutes: u32 },
}

impl Offset {
    fn read(cursor: &mut Cursor<'_>) -> Option<Self> {
        if cursor.rest.is_empty() {
            return Some(Self::Unknown);
        }
        cursor.blanks();
        if cursor.byte(b'Z') {
            return Some(Self::Minutes { sign: '+', minutes: 0 });
        }
        let sign = match (cursor.byte(b'+'), cursor.byte(b'-')) {
            (true, _) => '+',
            (_, true) => '-',
            _ => return None,
        };
        let hours = cursor.digits(1, 2)?;
        let minutes = if cursor.byte(b':') { cursor.digits(2, 2)? } else { 0 };
        Some(Self::Minutes { sign, minutes: hours * 60 + minutes })
    }

    fn print(&self) -> Option<String> {
        match self {
            Self::Unknown => Some(String::new()),
            Self::Minutes { minutes: 0, .. } => Some("Z".to_owned()),
            Self::Minutes { sign, minutes } if *minutes < 24 * 60 => {
                Some(format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60))
            }
            Self::Minutes { .. } => None,
        }
    }
}

struct Cursor<'t> {
    rest: &'t [u8],
}

impl Cursor<'_> {
    /// Takes `wanted` if it is next.
    fn byte(&mut self, wanted: u8) -> bool {
        match self.rest.split_first() {
            Some((first, rest)) if *first == wanted => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// Takes spaces and tabs, and says whether there were any.
    fn blanks(&mut self) -> bool {
        let before = self.rest.len();
        while self.byte(b' ') || self.byte(b'\t') {}
        self.rest.len() < before
    }

    /// Takes a number of `least` to `most` digits.
    fn digits(&mut self, least: usize, most: usize) -> Option<u32> {
        let (mut value, mut count) = (0, 0);
        while let Some(digit) = self.digit().filter(|_| count < most) {
            value = value * 10 + digit;
            count += 1;
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
        (count >= least).then_some(value)
    }

    /// Takes all digits of a fraction of a second; those after the sixth do not count.
    fn fraction(&mut self) -> u32 {
        let (mut value, mut unit) = (0, 100_000);
        while let Some(digit) = self.digit() {
            value += digit * unit;
            unit /= 10;
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
        value
    }

    fn digit(&self) -> Option<u32> {
        self.rest.first().filter(|byte| byte.is_ascii_digit()).map(|byte| u32::from(byte - b'0'))
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
            assert_eq!(read(text, Form::Implicit), Some(Ok(expected.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_has_the_form_of_a_date_must_be_one() {
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
            assert_eq!(read(text, Form::Implicit), Some(Err(())), "{text}");
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
            assert_eq!(read(text, Form::Implicit), None, "{text}");
        }
        assert_eq!(read("2024-2-9", Form::Tagged), Some(Ok("2024-02-09".to_owned())));
    }
}
