//! Run ids: `20261115-150033-482-k7f3`. They sort by the start of the runs, and each is unique, even if the
//! clock was set back.

use std::fmt;

use chrono::{DateTime, NaiveDateTime, Utc};

/// Letters and digits that are not confused with each other.
const SIGNS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// The last millisecond of the year 9999.
const LAST: u64 = 253_402_300_799_999;
/// The format of the start of an id: date, time of day and millisecond, in UTC.
const FORM: &str = "%Y%m%d-%H%M%S-%3f";

/// Returns the id of a run that begins now. It sorts after `newest`, even if the clock was set back.
pub(super) fn new(now: u64, newest: Option<&str>, chance: u32) -> String {
    let after = newest.and_then(time_of).map_or(0, |time| time.saturating_add(1));
    let sign = |shift: u32| {
        let at = usize::try_from((chance >> shift) & 31).unwrap_or(0);
        char::from(SIGNS.get(at).copied().unwrap_or(b'0'))
    };
    let chance: String = [0, 5, 10, 15].map(sign).iter().collect();
    format!("{}-{chance}", moment(now.max(after)).format(FORM))
}

/// Returns whether a text could be a run id or a part of one; never true for a path.
pub(super) fn is_part(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte == b'-' || SIGNS.contains(&byte))
}

/// Returns whether a text has the form of a run id.
pub fn is_run_id(text: &str) -> bool {
    is_part(text) && time_of(text).is_some()
}

/// Returns the time in an id, in milliseconds since the Unix epoch.
pub(super) fn time_of(id: &str) -> Option<u64> {
    let written = id.get(.."20261115-150033-482".len())?;
    let time = NaiveDateTime::parse_from_str(written, FORM).ok()?;
    u64::try_from(time.and_utc().timestamp_millis()).ok()
}

/// A time in the form `2026-11-15T15:00:33Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DisplayTime(pub u64);

impl fmt::Display for DisplayTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", moment(self.0).format("%FT%TZ"))
    }
}

/// Converts milliseconds since the Unix epoch, limited to years of four digits.
fn moment(time: u64) -> DateTime<Utc> {
    let time = i64::try_from(time.min(LAST)).unwrap_or(0);
    DateTime::from_timestamp_millis(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_ids_contain_the_start_time() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_794_754_833_482, "2026-11-15T15:00:33Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59Z"),
            (u64::MAX, "9999-12-31T23:59:59Z"),
        ];
        for (time, expected) in cases {
            assert_eq!(DisplayTime(time).to_string(), expected, "{time}");
            let id = new(time, None, 7);
            assert_eq!(time_of(&id), Some(time.min(LAST)), "{id}");
        }
    }

    #[test]
    fn run_ids_sort_by_creation() {
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
    fn paths_are_no_parts_of_run_ids() {
        let cases = [("20261115-150033-482-k7f3", true), ("k7f3", true), ("", false)];
        let paths = [("..", false), ("a/b", false), ("A", false), (".", false)];
        for (text, expected) in cases.into_iter().chain(paths) {
            assert_eq!(is_part(text), expected, "{text:?}");
        }
    }
}
