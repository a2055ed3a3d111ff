//! Compares versions by their text, never by the time of the push.

use std::cmp::Ordering;

use semver::Version;

/// Compares two versions: semver after all others, then by semver order, then as text.
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    let parsed = |text: &str| Version::parse(text).ok();
    let (a, b) = (parsed(left), parsed(right));
    let by_meaning = match (&a, &b) {
        // `Ord` of semver also compares build metadata, so the order is total.
        (Some(a), Some(b)) => a.cmp(b),
        _ => a.is_some().cmp(&b.is_some()),
    };
    by_meaning.then_with(|| left.cmp(right))
}

/// The version that a bare name means: the last release, or the last version if there is no release.
pub(crate) fn latest<'v>(versions: impl Iterator<Item = &'v str>) -> Option<&'v str> {
    let is_release = |text: &str| Version::parse(text).is_ok_and(|version| version.pre.is_empty());
    versions.max_by(|left, right| {
        is_release(left).cmp(&is_release(right)).then_with(|| compare(left, right))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_version_is_the_greatest_release() {
        let cases: [(&[&str], Option<&str>); 6] = [
            (&[], None),
            (&["0.9.0", "0.10.0", "0.2.0"], Some("0.10.0")),
            (&["1.0.0", "2.0.0-rc.1"], Some("1.0.0")),
            (&["2.0.0-rc.1", "2.0.0-rc.2"], Some("2.0.0-rc.2")),
            (&["zzz", "0.0.1"], Some("0.0.1")),
            (&["1.0", "1.1"], Some("1.1")),
        ];
        for (versions, expected) in cases {
            assert_eq!(latest(versions.iter().copied()), expected, "{versions:?}");
            assert_eq!(latest(versions.iter().rev().copied()), expected, "{versions:?}");
        }
    }
}
