//! A run as text to keep or to send: what was said, which calls were made, how it ended.

use std::fmt::Write as _;

use serde_json::Value;

use super::run_feed::RunFeed;

/// The transcript of a run as Markdown. Texts of the run stand in fences or quotes, so that they cannot pretend to be
/// a part of the transcript.
pub(super) fn transcript(id: &str, feed: &RunFeed) -> String {
    let about = &feed.about;
    let mut out = format!("# {} ({id})\n\n", one_line(&about.name));
    let _ = writeln!(out, "- agent: {}\n- digest: {}", one_line(&about.agent), about.digest);
    let _ = writeln!(out, "- models: {}\n", one_line(&about.models.join(", ")));
    for (_, event) in &feed.events {
        add(&mut out, event);
    }
    let ended = feed.ended();
    let _ = writeln!(out, "## {}", ended["state"].as_str().unwrap_or_default());
    out
}

fn add(out: &mut String, event: &Value) {
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    match text("type") {
        "said" => {
            let _ = writeln!(out, "## user\n\n{}\n", quoted(text("text")));
        }
        "turn" if !text("text").is_empty() => {
            let _ = writeln!(out, "## {}\n\n{}\n", one_line(text("model")), quoted(text("text")));
        }
        "call" => {
            let arguments = serde_json::to_string_pretty(&event["arguments"]).unwrap_or_default();
            let (tool, verdict) = (one_line(text("tool")), text("verdict"));
            let _ = writeln!(out, "### {tool}: {verdict}\n\n{}\n", fenced(&arguments));
        }
        "result" => {
            let _ = writeln!(out, "{}\n", fenced(text("text")));
        }
        "answer" => {
            let _ =
                writeln!(out, "A person answered: {}\n", one_line(&event["answer"].to_string()));
        }
        _ => {}
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let _ = writeln!(out, "> {line}");
    }
    out
}

/// A block that its text cannot close.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_leave_its_block() {
        assert_eq!(fenced("a\n```\n# b"), "````\na\n```\n# b\n````");
        assert_eq!(quoted("a\n# b"), "> a\n> # b\n");
    }
}
