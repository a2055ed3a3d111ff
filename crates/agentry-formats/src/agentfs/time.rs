//! Times in the form of RFC 3339.

use chrono::DateTime;

/// Whether `text` is a date and time of RFC 3339: `2026-01-15T10:30:00Z`.
pub(super) fn is_rfc3339(text: &str) -> bool {
    // `chrono` also accepts the typographic minus sign U+2212.
    text.is_ascii() && DateTime::parse_from_rfc3339(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::is_rfc3339;

    #[test]
    fn rfc_3339_times_are_recognised() {
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
