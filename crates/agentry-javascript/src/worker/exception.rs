//! What was thrown, as a message and a place. The code of a job can forge both.

use rquickjs::{Ctx, Error, Object, Value};

use crate::protocol::ThrownError;

/// The file name of the job's code in stacks; a module has its path after it.
pub(super) const FILE: &str = "agent-file";
/// The most characters of a message.
const MOST_CHARACTERS: usize = 4_000;

/// Converts an error of the engine.
pub(super) fn thrown(ctx: &Ctx<'_>, error: &Error) -> ThrownError {
    match error {
        Error::Exception => thrown_value(ctx, &ctx.catch()),
        other => ThrownError { message: plain(&other.to_string()), ..ThrownError::default() },
    }
}

fn thrown_value(ctx: &Ctx<'_>, value: &Value<'_>) -> ThrownError {
    let Some(object) = value.as_object() else {
        // Also what the engine throws when it has no memory for an error.
        let message = match value.as_string().and_then(|text| text.to_string().ok()) {
            Some(text) => cut(&text),
            None if value.is_null() => {
                "it failed without a message: out of memory, or nested too deeply".to_owned()
            }
            None => format!("it threw a value of type {}", value.type_name()),
        };
        return ThrownError { message, ..ThrownError::default() };
    };
    let text = |key: &str| property(ctx, object, key);
    let message = text("message").unwrap_or_default();
    let name = text("name").filter(|name| !name.is_empty() && name != "Error");
    let message = match name {
        Some(name) if message.is_empty() => name,
        Some(name) => format!("{name}: {message}"),
        None if message.is_empty() => "it failed without a message".to_owned(),
        None => message,
    };
    let (file, at) = text("stack").and_then(|stack| place(&stack)).unzip();
    ThrownError { message: cut(&plain(&message)), at, file: file.unwrap_or_default() }
}

/// Returns a property that is text. A getter may throw, which is ignored.
fn property(ctx: &Ctx<'_>, object: &Object<'_>, key: &str) -> Option<String> {
    match object.get::<_, Value<'_>>(key) {
        Ok(value) => value.as_string()?.to_string().ok(),
        Err(_) => {
            drop(ctx.catch());
            None
        }
    }
}

/// Returns the first frame in the job's code: its module, and its place there.
fn place(stack: &str) -> Option<(String, (u32, u32))> {
    let frame = |line: &str| {
        let (_, frame) = line.rsplit_once(FILE)?;
        let (rest, column) = frame.trim_end_matches(')').rsplit_once(':')?;
        let (module, line) = rest.rsplit_once(':')?;
        let module = module.trim_start_matches('/').to_owned();
        Some((module, (line.parse().ok()?, column.parse().ok()?)))
    };
    stack.lines().find_map(frame)
}

/// Shows modules by their paths.
fn plain(message: &str) -> String {
    message.replace(&format!("{FILE}/"), "")
}

fn cut(text: &str) -> String {
    text.chars().take(MOST_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_is_the_first_stack_frame_of_the_file() {
        let cases = [
            ("    at f (agent-file:12:5)\n    at agent-file:20:1\n", Some(("", (12, 5)))),
            ("    at request (agentry:3:1)\n    at agent-file:20:1", Some(("", (20, 1)))),
            ("    at f (agent-file/a b/c.mjs:12:5)", Some(("a b/c.mjs", (12, 5)))),
            ("    at agent-file/c.mjs:1:2", Some(("c.mjs", (1, 2)))),
            ("    at native", None),
            ("agent-file:x:1", None),
            ("agent-file:99999999999:1", None),
            ("", None),
        ];
        for (stack, expected) in cases {
            let expected = expected.map(|(file, at): (&str, _)| (file.to_owned(), at));
            assert_eq!(place(stack), expected, "{stack}");
        }
    }
}
