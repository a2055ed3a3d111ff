//! The lines about refused agents: refusals that differ only in names and numbers are one line.

use agentry_compile::text::report::counted;
use serde_json::Value;

use super::loss_text::{names, unnamed};

/// The most equal refusals that get a line each.
const FEW: usize = 2;

/// Refusals with their hints. Those that differ only in names and numbers are one line, except for a few and
/// with `verbose`.
pub(super) fn refusal_rows(refused: &[Value], verbose: bool) -> Vec<(String, Option<String>)> {
    let text = |it: &Value, key: &str| it.get(key).and_then(Value::as_str).map(str::to_owned);
    let message = |it: &Value| text(it, "message").unwrap_or_default();
    let mut groups: Vec<(String, Vec<&Value>)> = Vec::new();
    for it in refused {
        let key = unnumbered(&unnamed(&message(it)));
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) if !verbose => group.push(it),
            _ => groups.push((key, vec![it])),
        }
    }
    let row = |group: &[&Value]| {
        let agents: Vec<String> = group.iter().filter_map(|it| text(it, "agent")).collect();
        let agents: Vec<&str> = agents.iter().map(String::as_str).collect();
        let first = group.first().map(|it| (message(it), text(it, "hint")));
        let (message, hint) = first.unwrap_or_default();
        match agents.as_slice() {
            [] => (message, hint),
            [one] => (format!("{one}: {message}"), hint),
            some => {
                let count = counted(some.len(), "agent");
                (format!("{count} ({}): e.g. {message}", names(some)), hint)
            }
        }
    };
    let (few, many): (Vec<_>, Vec<_>) = groups.into_iter().partition(|(_, it)| it.len() <= FEW);
    let few = few.iter().flat_map(|(_, group)| group.iter().map(|it| row(&[it])));
    few.chain(many.iter().map(|(_, group)| row(group))).collect()
}

/// A text without its numbers, such as the size of a prompt that is too long.
fn unnumbered(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}
