//! «Did you mean»: the known word nearest to a misspelt one.

/// The word of `known` nearest to `written`, if one is near enough to be meant.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let written = written.to_lowercase();
    let allowed = (written.chars().count() / 3).clamp(1, 3);
    let length = written.chars().count();
    known
        .into_iter()
        .filter(|word| word.chars().count().abs_diff(length) <= allowed)
        .map(|word| (strsim::damerau_levenshtein(&written, &word.to_lowercase()), word))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// The hint for a misspelt word: `did you mean `x`?`.
pub fn did_you_mean<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(written, known).map(|word| format!("did you mean `{word}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses() {
        let known = ["description", "display_name", "mode", "tags"];
        let cases = [
            ("descripton", Some("description")),
            ("Mode", Some("mode")),
            ("displayname", Some("display_name")),
            ("tag", Some("tags")),
            ("colour", None),
            ("", None),
        ];
        for (written, expected) in cases {
            assert_eq!(nearest(written, known), expected, "{written}");
        }
    }
}
