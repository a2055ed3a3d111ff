//! Times as RFC 3339 writes them, and whether a date exists.

/// Whether `text` is a date and time of RFC 3339: `2026-01-15T10:30:00Z`.
pub(super) fn is_rfc3339(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else { return false };
    let clock_end = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(clock_end);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut parts = clock.split(':');
    let fits = is_date(date)
        && two(parts.next(), 23)
        && two(parts.next(), 59)
        && two(parts.next(), 60)
        && parts.next().is_none();
    let fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    fits && fraction && is_zone(zone)
}

/// Whether `text` is a day that exists: `2026-01-15`.
pub(super) fn is_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let (Some(year), Some(month), Some(day), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let number = |text: &str, length: usize| {
        let digits = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u32>().ok()).flatten()
    };
    match (number(year, 4), number(month, 2), number(day, 2)) {
        (Some(year), Some(month), Some(day)) => (1..=days(year, month)).contains(&day),
        _ => false,
    }
}

/// How many days a month has; none if there is no such month.
fn days(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => 0,
    }
}

/// Two digits of at most `most`.
pub(super) fn two(text: Option<&str>, most: u32) -> bool {
    let digits = |text: &&str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.filter(digits).and_then(|text| text.parse::<u32>().ok()).is_some_and(|n| n <= most)
}

fn is_zone(text: &str) -> bool {
    let offset = |text: &str| {
        let (hours, minutes) = text.split_once(':')?;
        Some(two(Some(hours), 23) && two(Some(minutes), 59))
    };
    let after = text.strip_prefix(['+', '-']).and_then(offset);
    matches!(text, "Z" | "z") || after == Some(true)
}

#[cfg(test)]
mod tests {
    use super::is_rfc3339;

    #[test]
    fn times() {
        let good = [
            "2026-01-15T10:30:00Z",
            "2026-01-15t10:30:00.123z",
            "2026-01-15 10:30:00+02:00",
            "2024-02-29T23:59:60-05:30",
        ];
        let bad = [
            "",
            "2026-01-15",
            "2026-01-15T10:30Z",
            "2026-01-15T10:30:00",
            "2026-02-29T10:30:00Z",
            "2026-13-01T10:30:00Z",
            "2026-01-15T24:00:00Z",
            "2026-01-15T10:30:00.Z",
            "2026-01-15T10:30:00+0200",
            "26-01-15T10:30:00Z",
            "yesterday",
            "2026-01-15T10:30:00Zé",
        ];
        for (texts, expected) in [(&good[..], true), (&bad[..], false)] {
            for text in texts {
                assert_eq!(is_rfc3339(text), expected, "{text}");
            }
        }
    }
}
