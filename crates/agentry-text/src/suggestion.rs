//! «Did you mean»: the known word that is nearest to a misspelt one.

/// Returns the word of `known` that is nearest to `written`, if it is near enough.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let written = written.to_lowercase();
    // One typing error in three letters; with more, unrelated short words would be suggested.
    let allowed = (written.chars().count() / 3).clamp(1, 3);
    let length = written.chars().count();
    known
        .into_iter()
        // The lengths alone rule out most words before the slower distance is computed.
        .filter(|word| word.chars().count().abs_diff(length) <= allowed)
        .map(|word| (strsim::damerau_levenshtein(&written, &word.to_lowercase()), word))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// Returns the hint for a misspelt word: ``did you mean `x`?``.
pub fn did_you_mean<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(written, known).map(|word| format!("did you mean `{word}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_words_get_the_nearest_suggestion() {
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
