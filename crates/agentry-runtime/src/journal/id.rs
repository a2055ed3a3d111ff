//! Names of runs: `20261115-150033-482-k7f3`. They sort by when the runs began, and none comes twice,
//! whatever the clock shows.

use std::fmt;

/// Letters and digits that are not taken for each other.
const SIGNS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// The end of the last year that has four digits.
const LAST: u64 = 253_402_300_799_999;

/// The name of a run that begins now. It sorts behind `newest`, even if the clock was set back since.
pub(super) fn new(now: u64, newest: Option<&str>, chance: u32) -> String {
    let after = newest.and_then(time_of).map_or(0, |time| time.saturating_add(1));
    let Civil { year, month, day, hour, minute, second, millisecond } =
        Civil::of(now.max(after).min(LAST));
    let sign = |shift: u32| {
        let at = usize::try_from((chance >> shift) & 31).unwrap_or(0);
        char::from(SIGNS.get(at).copied().unwrap_or(b'0'))
    };
    let chance: String = [0, 5, 10, 15].map(sign).iter().collect();
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}-{millisecond:03}-{chance}")
}

/// Whether a text could be the name of a run, or a part of one: never a path.
pub(super) fn is_part(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte == b'-' || SIGNS.contains(&byte))
}

/// The time in a name, in milliseconds since the Unix epoch.
pub(super) fn time_of(id: &str) -> Option<u64> {
    let mut parts = id.split('-');
    let (date, time, milli) = (parts.next()?, parts.next()?, parts.next()?);
    let number = |text: &str, from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let days = days(number(date, 0, 4)?, number(date, 4, 6)?, number(date, 6, 8)?)?;
    let hours = days * 24 + number(time, 0, 2)?;
    let seconds = (hours * 60 + number(time, 2, 4)?) * 60 + number(time, 4, 6)?;
    Some(seconds * 1_000 + number(milli, 0, 3)?)
}

/// A time as people write it: `2026-11-15T15:00:33Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written(pub u64);

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil { year, month, day, hour, minute, second, .. } = Civil::of(self.0.min(LAST));
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// A time in UTC, part by part.
struct Civil {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
    millisecond: u64,
}

impl Civil {
    fn of(time: u64) -> Self {
        let mut rest = time / 86_400_000;
        let mut year = 1970;
        // Four hundred years at a time, then one by one.
        year += rest / 146_097 * 400;
        rest %= 146_097;
        while rest >= length_of_year(year) {
            rest -= length_of_year(year);
            year += 1;
        }
        let mut month = 1;
        while rest >= length_of_month(year, month) {
            rest -= length_of_month(year, month);
            month += 1;
        }
        Self {
            year,
            month,
            day: rest + 1,
            hour: time / 3_600_000 % 24,
            minute: time / 60_000 % 60,
            second: time / 1_000 % 60,
            millisecond: time % 1_000,
        }
    }
}

/// Days from the Unix epoch to a date; nothing if there is no such date.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let real = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=length_of_month(year, month)).contains(&day);
    let years = (1970..year).map(length_of_year).sum::<u64>();
    let months = (1..month).map(|month| length_of_month(year, month)).sum::<u64>();
    real.then(|| years + months + day - 1)
}

fn length_of_year(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn length_of_month(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_794_754_833_482, "2026-11-15T15:00:33Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59Z"),
            (u64::MAX, "9999-12-31T23:59:59Z"),
        ];
        for (time, expected) in cases {
            assert_eq!(Written(time).to_string(), expected, "{time}");
            let id = new(time, None, 7);
            assert_eq!(time_of(&id), Some(time.min(LAST)), "{id}");
        }
    }

    #[test]
    fn names_sort_by_when_they_were_given() {
        let first = new(1_794_754_833_482, None, 0x000F_1234);
        assert_eq!(first, "20261115-150033-482-mh4y");
        let cases = [
            ("a second later", 1_794_754_834_482, "20261115-150034-482-1000"),
            ("the same millisecond", 1_794_754_833_482, "20261115-150033-483-1000"),
            ("set back by a year", 1_763_218_833_482, "20261115-150033-483-1000"),
        ];
        for (case, now, expected) in cases {
            let id = new(now, Some(&first), 1);
            assert_eq!(id, expected, "{case}");
            assert!(id > first, "{case}");
        }
        assert_eq!(new(0, Some("no run"), 0), "19700101-000000-000-0000");
    }

    #[test]
    fn parts_of_names_are_no_paths() {
        let cases = [("20261115-150033-482-k7f3", true), ("k7f3", true), ("", false)];
        let paths = [("..", false), ("a/b", false), ("A", false), (".", false)];
        for (text, expected) in cases.into_iter().chain(paths) {
            assert_eq!(is_part(text), expected, "{text:?}");
        }
    }
}
