//! Repairs requests that a server rejected: not every model accepts every field, or as many output tokens as
//! requested.

use serde_json::Value;

/// The fewest output tokens that a repair asks for.
const FEWEST: u64 = 256;
/// The fields with the output limit, by wire.
const OUTPUT: [&str; 4] = [
    "/max_tokens",
    "/max_completion_tokens",
    "/max_output_tokens",
    "/generationConfig/maxOutputTokens",
];

/// Removes the fields of `body` that a complaint, in lower case, names; returns whether there were any.
pub(super) fn remove(body: &mut Value, complaint: &str, names: &[&str]) -> bool {
    let Some(body) = body.as_object_mut() else { return false };
    let blamed = names.iter().filter(|name| complaint.contains(**name));
    blamed.filter(|name| body.shift_remove(**name).is_some()).count() > 0
}

/// Renames a field, if the server's complaint names both the old and the new name.
pub(super) fn rename(body: &mut Value, complaint: &str, from: &str, to: &str) -> bool {
    // Only quoted names count: the complaint must name the fields exactly.
    let mentions = |name: &str| {
        complaint.contains(&format!("'{name}'")) || complaint.contains(&format!("`{name}`"))
    };
    let Some(body) = body.as_object_mut().filter(|_| mentions(from) && mentions(to)) else {
        return false;
    };
    let Some(value) = body.shift_remove(from) else { return false };
    body.insert(to.to_owned(), value);
    true
}

/// Lowers the output limit to what the server allows, if that is its complaint.
pub(super) fn lower_output(body: &mut Value, complaint: &str) -> bool {
    let plain = complaint.replace(['_', ' '], "");
    if !["maxtokens", "maxcompletiontokens", "maxoutputtokens"].iter().any(|it| plain.contains(it))
    {
        return false;
    }
    let Some(path) = OUTPUT.iter().find(|path| body.pointer(path).is_some()) else { return false };
    let Some(place) = body.pointer_mut(path) else { return false };
    let now = place.as_u64().unwrap_or_default();
    let numbers = complaint.split(|c: char| !c.is_ascii_digit()).filter_map(|it| it.parse().ok());
    // The complaint names the requested number and the limit; the limit is the largest below the
    // requested one.
    let Some(most) = numbers.filter(|number: &u64| *number < now).max() else { return false };
    let most = if complaint.contains("exclusive") { most.saturating_sub(1) } else { most };
    // A smaller number in the complaint is probably not the limit.
    if most < FEWEST {
        return false;
    }
    *place = most.into();
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rejected_fields_are_removed() {
        let cases = [
            ("'temperature' is not supported", json!({ "model": "m" }), true),
            ("top_p and temperature", json!({ "model": "m" }), true),
            ("model is unknown", json!({ "model": "m", "temperature": 1 }), false),
        ];
        for (complaint, expected, changed) in cases {
            let mut body = json!({ "model": "m", "temperature": 1 });
            assert_eq!(remove(&mut body, complaint, &["temperature", "top_p"]), changed);
            assert_eq!(body, expected, "{complaint}");
        }
    }

    #[test]
    fn rejected_fields_are_renamed() {
        let cases = [
            (
                "use 'max_completion_tokens' instead of 'max_tokens'",
                json!({ "max_completion_tokens": 9 }),
            ),
            ("'max_tokens' is too large", json!({ "max_tokens": 9 })),
            ("'max_completion_tokens' is too large", json!({ "max_tokens": 9 })),
        ];
        for (complaint, expected) in cases {
            let mut body = json!({ "max_tokens": 9 });
            rename(&mut body, complaint, "max_tokens", "max_completion_tokens");
            assert_eq!(body, expected, "{complaint}");
        }
    }

    #[test]
    fn max_tokens_is_lowered_to_the_reported_maximum() {
        let cases = [
            ("max_tokens: 16000 > 8192, which is the maximum allowed", Some(8_192)),
            ("`max_tokens` must be less than or equal to `4096`", Some(4_096)),
            ("max output tokens from 1 (inclusive) to 8193 (exclusive)", Some(8_192)),
            ("max_tokens must be at least 1", None),
            ("the message has 300 parts", None),
            ("max_tokens: 99999999999999999999999", None),
        ];
        for (complaint, expected) in cases {
            let mut body = json!({ "max_tokens": 16_000 });
            assert_eq!(lower_output(&mut body, complaint), expected.is_some(), "{complaint}");
            assert_eq!(body, json!({ "max_tokens": expected.unwrap_or(16_000) }), "{complaint}");
        }
        let mut body = json!({ "generationConfig": { "maxOutputTokens": 16_000 } });
        assert!(lower_output(&mut body, "maxoutputtokens: at most 8192"));
        assert_eq!(body, json!({ "generationConfig": { "maxOutputTokens": 8_192 } }));
    }
}
