use proptest::prelude::*;
use serde_json::json;

use super::*;

const TOKEN: &str = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
const KEY: &str = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n\
    MIIEpAIBAAKCAQEAy8Dbv8prpJ/0kKhlGeJYozo2t60EG8L0561g13R29LvMR5hy\nvGZlGJ==\n\
    -----END RSA PRIVATE KEY-----";

fn redactor() -> Arc<Redactor> {
    let secrets = [
        ("PASSWORD", "correct horse"),
        ("TOKEN", "s3cr3t+/=value"),
        ("SHORT", "ab"),
        ("LINES", "first line of it, long\nsecond line of it, long"),
    ];
    let secrets = secrets.into_iter().filter_map(|(name, value)| KnownSecret::new(name, value));
    Arc::new(Redactor::new(secrets))
}

#[test]
fn secrets_are_replaced_by_marks() {
    let cases = [
        ("nothing to see".to_owned(), "nothing to see"),
        ("the correct horse runs".to_owned(), "the [redacted: PASSWORD] runs"),
        ("correct horsecorrect horse".to_owned(), "[redacted: PASSWORD][redacted: PASSWORD]"),
        ("?t=s3cr3t%2B%2F%3Dvalue&x".to_owned(), "?t=[redacted: TOKEN]&x"),
        // Base 64 of `me:correct horse` and of the secret alone; the first and last digits depend on the
        // neighbours.
        ("Basic bWU6Y29ycmVjdCBob3JzZQ==".to_owned(), "Basic bWU6[redacted: PASSWORD]Q=="),
        ("eHljb3JyZWN0IGhvcnNl".to_owned(), "eHl[redacted: PASSWORD]"),
        ("636f727265637420686f727365".to_owned(), "[redacted: PASSWORD]"),
        ("ab is short".to_owned(), "ab is short"),
        ("second line of it, long!".to_owned(), "[redacted: LINES]!"),
        (format!("with {TOKEN}."), "with [redacted: a GitHub token]."),
        (format!("x {KEY} y"), "x [redacted: a private key] y"),
        (format!("x {}", KEY.replace('\n', "\\n")), "x [redacted: a private key]"),
        (
            "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEAy8Dbv8prpJ\nand so on".to_owned(),
            "[redacted: a private key]\nand so on",
        ),
        ("-----BEGIN PUBLIC KEY-----\nMIIE".to_owned(), "-----BEGIN PUBLIC KEY-----\nMIIE"),
    ];
    for (text, expected) in cases {
        assert_eq!(redactor().text(&text), expected, "{text}");
    }
}

#[test]
fn secrets_are_redacted_everywhere_in_a_value() {
    let value = json!({"correct horse": [1, {"a": "correct horse"}], "b": null});
    let expected = json!({"[redacted: PASSWORD]": [1, {"a": "[redacted: PASSWORD]"}], "b": null});
    assert!(!is_redacted(&value));
    let redacted = redactor().value(value);
    assert!(is_redacted(&redacted));
    assert_eq!(redacted, expected);
}

#[test]
fn redaction_marks_match_any_text() {
    let cases = [
        ("plain", "plain", true),
        ("plain", "plainer", false),
        ("key [redacted: KEY].", "key abc.", true),
        ("key [redacted: KEY].", "key .", true),
        ("key [redacted: KEY].", "key abc", false),
        ("[redacted: A] and [redacted: B] too", "x and y too", true),
        ("[redacted: A] and [redacted: B] too", "x or y too", false),
        ("[redacted: A]", "", true),
        ("[redacted: never closed", "[redacted: never closed", true),
    ];
    for (redacted, text, expected) in cases {
        assert_eq!(equals_redacted(redacted, text), expected, "{redacted} / {text}");
    }
}

/// Joins all pieces of a stream.
fn streamed<'a>(redactor: &Arc<Redactor>, pieces: impl IntoIterator<Item = &'a str>) -> String {
    let mut stream = redactor.stream();
    let mut out = String::new();
    for piece in pieces {
        out.push_str(&stream.push(piece));
    }
    out + &stream.finish()
}

#[test]
fn streams_emit_each_complete_line() {
    let redactor = redactor();
    let secrets = [KnownSecret::new("PASSWORD", "correct horse")];
    let one = Arc::new(Redactor::new(secrets.into_iter().flatten()));
    let mut stream = one.stream();
    let cases = [
        ("compiling a\ncompi", "compiling a\n"),
        ("ling b: correct ho", ""),
        ("rse\n50 %\r", "compiling b: [redacted: PASSWORD]\n50 %\r"),
        ("60 %\r70", "60 %\r"),
    ];
    for (piece, expected) in cases {
        assert_eq!(stream.push(piece), expected, "{piece}");
    }
    assert_eq!(stream.finish(), "70");
    assert_eq!(
        streamed(&redactor, ["first line of", " it, long\nsecond line of it, long\n"]),
        "[redacted: LINES]\n"
    );
}

#[test]
fn word_streams_emit_text_early() {
    let redactor = Arc::new(Redactor::new([KnownSecret::new("KEY", "s3cr3t-value").unwrap()]));
    let mut stream = redactor.words();
    let pieces = [
        ("Hello, ", "Hello, "),
        ("the key is s3cr3t", "the key is "),
        ("-value", ""),
        (" now", "[redacted: KEY] "),
        (" -- and", "now "),
    ];
    for (piece, expected) in pieces {
        assert_eq!(stream.push(piece), expected, "{piece}");
    }
    assert_eq!(stream.finish(), "-- and");
}

#[test]
fn an_endless_line_is_buffered_within_a_limit() {
    let redactor = redactor();
    let mut stream = redactor.stream();
    let (mut out, mut most) = (0, 0);
    for _ in 0..2_000 {
        out += stream.push(&"x".repeat(997)).len();
        most = most.max(stream.held_bytes());
    }
    assert!(most < 100 << 10, "{most}");
    assert_eq!(out + stream.finish().len(), 2_000 * 997);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// The result does not depend on how a text is split.
    #[test]
    fn redaction_is_independent_of_chunk_sizes(
        parts in prop::collection::vec(prop::sample::select(vec![
            "correct horse", "correct ", "horse", "s3cr3t+/=value", TOKEN, KEY, "\n", "\n", " ", "é",
            "-----BEGIN RSA PRIVATE KEY-----\n", "-----END RSA PRIVATE KEY-----", "MIIEpAIBAAKCAQEAy8",
            "first line of it, long", "second line of it, long", "word", "\"", "sk-", "eyJ",
        ]), 0..12),
        sizes in prop::collection::vec(1_usize..40, 1..40),
    ) {
        let text = parts.concat();
        let redactor = redactor();
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        let mut sizes = sizes.into_iter().cycle();
        while !rest.is_empty() {
            let at = rest.ceil_char_boundary(sizes.next().unwrap_or(1).min(rest.len()));
            let (piece, after) = rest.split_at(at);
            pieces.push(piece);
            rest = after;
        }
        prop_assert_eq!(streamed(&redactor, pieces.iter().copied()), redactor.text(&text));
        let mut words = redactor.words();
        let mut out: String = pieces.into_iter().map(|piece| words.push(piece)).collect();
        out.push_str(&words.finish());
        prop_assert_eq!(out, redactor.text(&text));
    }

    /// No part of a secret gets through, whatever is around it.
    #[test]
    fn no_part_of_a_secret_remains(before in "[a-z \n]{0,20}", after in "[a-z \n]{0,20}") {
        let text = format!("{before}correct horse{after}");
        prop_assert!(!redactor().text(&text).contains("correct horse"));
    }
}
