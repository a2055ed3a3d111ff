//! One run: its head, and its timeline event by event. The script puts each event at its place.

use agentry_text::report::counted;
use serde_json::{Value, json};

use super::html::{HtmlWriter, dollars, encoded, text_of};
use super::lists;
use crate::scope::TokenScope;

/// The most characters that are shown of one text.
const MOST_SHOWN: usize = 20_000;

/// The head of a run, and the places that the script fills.
pub(crate) fn head(page: &mut HtmlWriter, run: &Value, scope: TokenScope) {
    let id = text_of(run, "id");
    page.within("h1", &[], |page| {
        page.plain(text_of(run, "name"));
        page.text(" ");
        lists::state(page, run);
    });
    if !text_of(run, "detail").is_empty() {
        page.element("p", &[("class", "question")], text_of(run, "detail"));
    }
    page.within("p", &[("class", "meta")], |page| {
        page.text(&format!("{id}, started "));
        lists::time(page, text_of(run, "started"));
        page.plain(&format!(", {}, ", models(run)));
        page.text(&spent(&run["spent"]));
        if let Some(parent) = run["parent"].as_str() {
            page.text(", works for ");
            page.link("runs", parent, parent);
        }
    });
    let stream = format!("/page/runs/{}/events", encoded(id));
    page.within(
        "ol",
        &[("class", "timeline"), ("data-stream", &stream), ("aria-live", "polite")],
        |_| {},
    );
    page.element("p", &[("class", "live"), ("data-live", "")], "");
    // What this run waits for, which the script fills while the run goes on.
    let waiting = format!("/page/runs/{}/waiting", encoded(id));
    page.within("div", &[("data-waiting", &waiting), ("aria-live", "polite")], |_| {});
    let changes = format!("/page/runs/{}/changes", encoded(id));
    // At the end the changes are what a person wants to see.
    let is_over = run["waiting"] != true && !matches!(text_of(run, "state"), "running" | "parked");
    let open: &[_] = if is_over { &[("open", "")] } else { &[] };
    page.within("details", &[&[("data-load", &*changes)], open].concat(), |page| {
        page.element("summary", &[], "Changes of all files");
    });
    if scope.covers(TokenScope::Run) && run["parent"].is_null() {
        controls(page, run);
    }
}

fn models(run: &Value) -> String {
    let models = run["models"].as_array().into_iter().flatten().filter_map(Value::as_str);
    models.collect::<Vec<_>>().join(", ")
}

fn controls(page: &mut HtmlWriter, run: &Value) {
    let path = |verb: &str| format!("/v1/runs/{}/{verb}", encoded(text_of(run, "id")));
    page.within("div", &[("class", "controls")], |page| {
        match text_of(run, "state") {
            "running" => page.button("Cancel", &path("cancel"), &json!({})),
            "parked" | "interrupted" | "over-budget" | "cancelled" => {
                page.button("Continue", &path("resume"), &json!({}));
            }
            _ => {}
        }
        if text_of(run, "state") != "running" {
            page.button("Undo its changes", &path("undo"), &json!({}));
        }
    });
    let messages = path("messages");
    page.within("form", &[("data-post", &messages), ("class", "start")], |page| {
        page.within("label", &[("class", "grow")], |page| {
            page.text("Message ");
            let attributes = [("name", "text"), ("required", ""), ("rows", "2")];
            page.within("textarea", &attributes, |_| {});
        });
        page.element("button", &[("type", "submit"), ("class", "main")], "Send");
    });
}

/// What a run has spent, in a few words.
fn spent(spent: &Value) -> String {
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let usage = &spent["usage"];
    let tokens = counted(number(&usage["input"]) + number(&usage["output"]), "token");
    let (turns, calls) =
        (counted(number(&spent["turns"]), "turn"), counted(number(&spent["steps"]), "call"));
    let cost = cost_of(usage);
    let cost = if cost.is_empty() { cost } else { format!(", {cost}") };
    format!("{turns}, {calls}, {tokens}{cost}, {} s", number(&spent["time"]) / 1_000)
}

/// The cost of a usage, which is in millionths of a dollar.
fn cost_of(usage: &Value) -> String {
    match usage["cost"].as_f64() {
        Some(cost) => dollars(&json!(cost / 1_000_000.0)),
        None => String::new(),
    }
}

/// An event of the stream as the page gets it: HTML with its place, or a piece of text.
pub(crate) fn as_fragment(sequence: Option<u64>, event: &Value) -> Option<String> {
    let message = match (sequence, text_of(event, "type")) {
        (None, "text") => json!({ "text": text_of(event, "text") }),
        (None, _) => return None,
        (Some(_), kind) => {
            let mut page = HtmlWriter::default();
            item(&mut page, kind, event);
            let within = event["within"].as_str().or_else(|| match kind {
                "result" | "started" | "answer" | "skill" | "delegated" => event["id"].as_str(),
                _ => None,
            });
            json!({ "html": page.into_text(), "into": within, "ended": kind == "ended", "turn": kind == "turn" })
        }
    };
    Some(crate::events::as_json(sequence, &message))
}

/// One event of the timeline.
fn item(page: &mut HtmlWriter, kind: &str, event: &Value) {
    match kind {
        "said" => line(page, "said", text_of(event, "text")),
        "turn" => turn(page, event),
        "call" => call(page, event),
        "result" => {
            let failed = event["failed"] == true;
            let class = if failed { "result failed" } else { "result" };
            page.element("pre", &[("class", class)], &shown(text_of(event, "text")));
        }
        "answer" => {
            let answer = match &event["answer"] {
                Value::String(word) => word.clone(),
                Value::Object(map) if map.contains_key("always") => "always".to_owned(),
                Value::Object(map) => match map.get("no").and_then(Value::as_str) {
                    Some(why) => format!("no: {why}"),
                    None => "no".to_owned(),
                },
                _ => String::new(),
            };
            match answer.as_str() {
                "park" => line(page, "answer", "it waits for a person"),
                answer => line(page, "answer", &format!("a person answered: {answer}")),
            }
        }
        "delegated" => {
            let run = text_of(event, "run");
            let stream = format!("/page/runs/{}/events", encoded(run));
            page.within("details", &[("class", "delegate"), ("data-delegate", &stream)], |page| {
                page.within("summary", &[], |page| {
                    page.text("delegate ");
                    page.link("runs", run, run);
                });
            });
        }
        "model_failed" => {
            let text = format!("{}: {}", text_of(event, "model"), text_of(event, "message"));
            line(page, "failed", &text);
        }
        "compacted" => line(page, "note", "older messages were compacted"),
        "ended" => {
            let why = [text_of(event, "why"), text_of(event, "limit"), text_of(event, "question")]
                .concat();
            let text = format!("{} {why} ({})", text_of(event, "state"), spent(&event["spent"]));
            line(page, "ended", &text);
        }
        // The call says already that it runs.
        "started" => {}
        other => line(page, "note", &format!("{other} {}", text_of(event, "text"))),
    }
}

fn line(page: &mut HtmlWriter, class: &'static str, text: &str) {
    page.element("li", &[("class", class)], &shown(text));
}

fn turn(page: &mut HtmlWriter, event: &Value) {
    let text = text_of(event, "text");
    page.within("li", &[("class", "turn")], |page| {
        if !text.is_empty() {
            page.element("div", &[("class", "answer-text")], &shown(text));
        }
        let usage = &event["usage"];
        let number = |name: &str| usage[name].as_u64().unwrap_or(0);
        let meta = format!(
            "{}: {} + {} tokens",
            text_of(event, "model"),
            number("input"),
            number("output")
        );
        let cost = cost_of(usage);
        let cost = if cost.is_empty() { cost } else { format!(", {cost}") };
        page.element("p", &[("class", "meta")], &format!("{meta}{cost}"));
    });
}

/// A call, folded. What belongs to it is put into it by the script.
fn call(page: &mut HtmlWriter, event: &Value) {
    let verdict = text_of(event, "verdict");
    page.within("li", &[("class", "call")], |page| {
        page.within("details", &[("data-call", text_of(event, "id"))], |page| {
            page.within("summary", &[], |page| {
                page.element("code", &[], text_of(event, "tool"));
                page.text(" ");
                let first = event["arguments"].as_object().and_then(|it| it.values().next());
                let first =
                    first.map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned));
                let first: String = first.unwrap_or_default().chars().take(80).collect();
                page.element("span", &[("class", "first")], &first.replace('\n', "⏎"));
                page.text(" ");
                let class =
                    format!("verdict {}", verdict.replace(|c: char| !c.is_ascii_alphabetic(), ""));
                page.element("span", &[("class", &class)], verdict);
            });
            arguments(page, &event["arguments"]);
            page.element("p", &[("class", "rule")], text_of(event, "reason"));
        });
    });
}

/// The arguments of a call, each by its name, with nothing left out.
pub(crate) fn arguments(page: &mut HtmlWriter, arguments: &Value) {
    let Some(fields) = arguments.as_object() else {
        if !arguments.is_null() {
            page.element("pre", &[("class", "arguments")], &arguments.to_string());
        }
        return;
    };
    page.within("dl", &[("class", "arguments")], |page| {
        for (name, value) in fields {
            page.element("dt", &[], name);
            page.within("dd", &[], |page| match value.as_str() {
                Some(text) => page.element("pre", &[], text),
                None => page.element("pre", &[], &value.to_string()),
            });
        }
    });
}

/// A diff with its lines marked.
pub(crate) fn diff(page: &mut HtmlWriter, diff: &str) {
    if diff.is_empty() {
        return page.element("p", &[("class", "empty")], "No recorded change.");
    }
    page.within("pre", &[("class", "diff")], |page| {
        for line in diff.lines() {
            let class = match line.as_bytes() {
                [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => "file",
                [b'+', ..] => "added",
                [b'-', ..] => "removed",
                [b'@', ..] => "place",
                _ => "same",
            };
            // A line of its own, so that its colour goes to the edge.
            page.element("span", &[("class", class)], if line.is_empty() { " " } else { line });
        }
    });
}

/// A text, cut if it is too long for a page.
fn shown(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}\n… {} more bytes", &text[..at], text.len() - at),
    }
}
