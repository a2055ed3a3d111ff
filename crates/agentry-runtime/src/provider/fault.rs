//! Interprets failures: which status or error in a stream is temporary, and how long to wait.

use agentry_compile::text::report::cut;
use chrono::NaiveDateTime;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::{items, text};
use crate::event::{ModelFailure, ModelFailureKind};

/// The most characters of a server's message that are shown.
const MOST_WORDS: usize = 400;

/// Texts of servers that mean: the conversation does not fit the context window.
const TOO_LONG: &[&str] = &[
    "context_length",
    "context length",
    "context window",
    "context size",
    "context limit",
    "exceeds the context",
    "exceed_context",
    "prompt is too long",
    "input is too long",
    "prompt too long",
    "input token count",
    "request_too_large",
    "too many tokens",
];
/// Texts of servers that mean: no credit is left, so a retry does not help.
const NO_MONEY: &[&str] =
    &["insufficient_quota", "credit balance", "billing", "insufficient balance", "out of credits"];
/// Codes of permanent errors in a stream.
const LASTING: &[&str] = &[
    "invalid_request",
    "invalid_prompt",
    "authentication",
    "permission",
    "not_found",
    "invalid_argument",
    "failed_precondition",
    "unauthenticated",
];

/// Creates a temporary failure.
pub(super) fn temporary(message: impl Into<String>) -> ModelFailure {
    ModelFailure::new(ModelFailureKind::Temporary, message)
}

/// Creates a permanent failure.
pub(super) fn permanent(message: impl Into<String>) -> ModelFailure {
    ModelFailure::new(ModelFailureKind::Permanent, message)
}

/// Creates the failure of a stream that ended before the answer did.
pub(super) fn broke_off() -> ModelFailure {
    temporary("the answer broke off")
}

/// Interprets an error in a stream: an object with `message` and a code, or a text.
pub(super) fn in_stream(error: &Value) -> ModelFailure {
    let ReportedFault { code, message, wait } = reported_fault(error);
    let words = format!("{code} {message}").to_lowercase();
    let status = code.parse::<u16>().ok().or_else(|| number(error));
    let lasting = LASTING.iter().any(|known| code.to_lowercase().contains(known))
        || status.is_some_and(|status| (400..500).contains(&status) && !passes(status));
    let kind = match () {
        () if contains_any(&words, TOO_LONG) => ModelFailureKind::TooLong,
        () if lasting || contains_any(&words, NO_MONEY) => ModelFailureKind::Permanent,
        () => ModelFailureKind::Temporary,
    };
    let message = format!("the server broke off with an error: {}", shown(&message));
    ModelFailure { retry_after: wait, ..ModelFailure::new(kind, message) }
}

fn number(error: &Value) -> Option<u16> {
    error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok())
}

/// Interprets a status other than success.
pub(super) fn refused(status: StatusCode, headers: &HeaderMap, body: &str) -> ModelFailure {
    let parsed: Value = serde_json::from_str(body).unwrap_or_default();
    // Some servers wrap the error in a list.
    let parsed = parsed.get(0).unwrap_or(&parsed);
    let error = parsed.get("error").unwrap_or(parsed);
    let ReportedFault { code, message, wait } = reported_fault(error);
    let message = if message.is_empty() { body } else { &message };
    let words = format!("{code} {message}").to_lowercase();
    let kind = match status.as_u16() {
        // Before the status: some servers send 429 when no credit is left.
        _ if contains_any(&words, NO_MONEY) => ModelFailureKind::Permanent,
        429 => ModelFailureKind::Temporary,
        413 => ModelFailureKind::TooLong,
        _ if contains_any(&words, TOO_LONG) => ModelFailureKind::TooLong,
        status if passes(status) => ModelFailureKind::Temporary,
        _ => ModelFailureKind::Permanent,
    };
    // Some servers use numbers of their own, such as 529, which have no name.
    let name = status.canonical_reason().map_or(String::new(), |name| format!(" {name}"));
    let message = format!("the server answered {}{name}: {}", status.as_u16(), shown(message));
    ModelFailure { retry_after: retry_after(headers).or(wait), ..ModelFailure::new(kind, message) }
}

/// Returns whether a status is temporary.
fn passes(status: u16) -> bool {
    matches!(status, 408 | 409 | 425 | 429 | 500 | 502..=504 | 506..=599)
}

fn contains_any(words: &str, known: &[&str]) -> bool {
    known.iter().any(|known| words.contains(known))
}

/// What a server reports about an error.
#[derive(Debug, Default, PartialEq, Eq)]
struct ReportedFault {
    code: String,
    message: String,
    /// The milliseconds to wait before a retry.
    wait: Option<u64>,
}

fn reported_fault(error: &Value) -> ReportedFault {
    if let Some(message) = error.as_str() {
        return ReportedFault { message: message.to_owned(), ..ReportedFault::default() };
    }
    let codes = ["type", "code", "status"].map(|name| text(error, name));
    let delay = |detail: &Value| milliseconds(text(detail, "retryDelay").strip_suffix('s')?);
    ReportedFault {
        code: codes.join(" ").trim().to_owned(),
        message: text(error, "message").to_owned(),
        wait: items(error, "details").iter().find_map(delay),
    }
}

/// Returns how long the server wants clients to wait, in milliseconds, by its own clock.
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(time) = header("retry-after-ms").and_then(|value| value.parse::<u64>().ok()) {
        return Some(time);
    }
    let after = header("retry-after")?;
    milliseconds(after).or_else(|| {
        // Compared with the server's `date`, because the clock of this machine may be wrong.
        let wait = http_date(after)? - http_date(header("date")?)?;
        Some(u64::try_from(wait.num_milliseconds()).unwrap_or(0))
    })
}

/// Parses a date in one of the three HTTP formats; all are in UTC.
fn http_date(text: &str) -> Option<NaiveDateTime> {
    const FORMS: [&str; 3] =
        ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];
    FORMS.iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok())
}

/// Parses decimal seconds into milliseconds.
fn milliseconds(seconds: &str) -> Option<u64> {
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, ""));
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    let whole = whole.parse::<u64>().ok().filter(|_| digits(part))?;
    let part = format!("{part:0<3}").get(..3)?.parse::<u64>().ok()?;
    whole.checked_mul(1_000)?.checked_add(part)
}

/// Removes the key from a server's text; some servers repeat it.
pub(super) fn without(words: &str, key: Option<&str>) -> String {
    // A very short key would mask ordinary text.
    let key = key.filter(|key| key.len() >= 4);
    key.map_or_else(|| words.to_owned(), |key| words.replace(key, "[key]"))
}

/// Shortens a server's text to one line for the user.
pub(super) fn shown(words: &str) -> String {
    let words: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words = words.trim();
    if words.is_empty() {
        return "it gives no reason".to_owned();
    }
    cut(words, MOST_WORDS)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use ModelFailureKind::{Permanent, Temporary, TooLong};

    /// Status, headers and body; the kind of failure and the time to wait.
    type Case<'a> = (u16, &'a [(&'a str, &'a str)], &'a str, ModelFailureKind, Option<u64>);

    #[test]
    fn http_statuses_map_to_failure_kinds() {
        let long =
            r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 9"}}"#;
        let code = r#"{"error":{"code":"context_length_exceeded","message":"m"}}"#;
        let money = r#"{"error":{"code":"insufficient_quota","message":"m"}}"#;
        let gemini = r#"[{"error":{"code":429,"details":[{"retryDelay":"2.5s"}]}}]"#;
        let cases: &[Case<'_>] = &[
            (429, &[("retry-after", "3")], "", Temporary, Some(3_000)),
            (429, &[("retry-after", "0.25")], "", Temporary, Some(250)),
            (429, &[("retry-after-ms", "70"), ("retry-after", "1")], "", Temporary, Some(70)),
            (429, &[("retry-after", "-1")], "", Temporary, None),
            (429, &[("retry-after", "soon")], "", Temporary, None),
            (
                503,
                &[
                    ("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT"),
                    ("date", "Wed, 21 Oct 2015 07:28:00 GMT"),
                ],
                "",
                Temporary,
                Some(30_000),
            ),
            (
                503,
                &[
                    ("retry-after", "Wednesday, 21-Oct-15 07:28:10 GMT"),
                    ("date", "Wed Oct 21 07:28:00 2015"),
                ],
                "",
                Temporary,
                Some(10_000),
            ),
            (503, &[("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT")], "", Temporary, None),
            (429, &[], gemini, Temporary, Some(2_500)),
            (429, &[], money, Permanent, None),
            (429, &[], long, Temporary, None),
            (400, &[], long, TooLong, None),
            (400, &[], code, TooLong, None),
            (413, &[], "", TooLong, None),
            (400, &[], "", Permanent, None),
            (401, &[], "", Permanent, None),
            (403, &[], "", Permanent, None),
            (404, &[], "", Permanent, None),
            (302, &[], "", Permanent, None),
            (408, &[], "", Temporary, None),
            (500, &[], "<html>", Temporary, None),
            (501, &[], "", Permanent, None),
            (529, &[], "", Temporary, None),
        ];
        for (status, headers, body, kind, wait) in cases {
            let mut map = HeaderMap::new();
            for (name, value) in *headers {
                map.insert(*name, value.parse().unwrap());
            }
            let failure = refused(StatusCode::from_u16(*status).unwrap(), &map, body);
            assert_eq!((failure.kind, failure.retry_after), (*kind, *wait), "{status} {body}");
        }
    }

    #[test]
    fn stream_errors_map_to_failure_kinds() {
        let cases = [
            (json!({ "type": "overloaded_error", "message": "busy" }), Temporary),
            (json!({ "type": "api_error", "message": "oh" }), Temporary),
            (json!({ "type": "invalid_request_error", "message": "no" }), Permanent),
            (json!({ "code": "rate_limit_exceeded", "message": "slow down" }), Temporary),
            (json!({ "code": 400, "message": "no" }), Permanent),
            (json!({ "code": "401", "message": "no" }), Permanent),
            (json!({ "code": 429, "message": "slow down" }), Temporary),
            (json!({ "code": 502, "message": "upstream" }), Temporary),
            (json!({ "code": "context_length_exceeded", "message": "no" }), TooLong),
            (json!("the model runner stopped"), Temporary),
            (json!(null), Temporary),
        ];
        for (error, kind) in cases {
            assert_eq!(in_stream(&error).kind, kind, "{error}");
        }
    }

    #[test]
    fn server_messages_are_sanitised_and_shortened() {
        let long = "x".repeat(1_000);
        let cases = [
            ("", None, "it gives no reason".to_owned()),
            (
                "bad key sk-abcdef\n\u{1b}[31m!",
                Some("sk-abcdef"),
                "bad key [key]  [31m!".to_owned(),
            ),
            (&long, None, format!("{}…", "x".repeat(MOST_WORDS))),
        ];
        for (words, key, expected) in cases {
            assert_eq!(shown(&without(words, key)), expected, "{words}");
        }
    }
}
