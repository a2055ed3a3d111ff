//! The lists: runs, what waits for a person, agents.

use serde_json::{Value, json};

use super::html::{HtmlWriter, dollars, encoded, text_of};
use super::run_view;

/// The most approvals on the page; those that wait longest come first.
const MOST_APPROVALS: usize = 100;

/// All runs, and a box to start one if the token may. `next` is the last run, if there are older ones.
pub(crate) fn runs(
    page: &mut HtmlWriter,
    (runs, next): (&[Value], Option<&str>),
    agents: Option<&[Value]>,
) {
    page.element("h1", &[], "Runs");
    if let Some(agents) = agents {
        start_box(page, agents);
    }
    table(page, runs);
    if let Some(next) = next {
        let href = format!("#/runs?before={}", encoded(next));
        page.within("p", &[], |page| page.element("a", &[("href", &href)], "Older runs"));
    }
}

/// A table of runs.
pub(crate) fn table(page: &mut HtmlWriter, runs: &[Value]) {
    if runs.is_empty() {
        return page.element("p", &[("class", "empty")], "There are no runs yet.");
    }
    page.within("table", &[("class", "runs")], |page| {
        page.within("thead", &[], |page| {
            page.within("tr", &[], |page| {
                ["State", "Agent", "Prompt", "Started", "Cost"]
                    .into_iter()
                    .for_each(|head| page.element("th", &[("scope", "col")], head));
            });
        });
        page.within("tbody", &[], |page| runs.iter().for_each(|run| row(page, run)));
    });
}

fn row(page: &mut HtmlWriter, run: &Value) {
    page.within("tr", &[], |page| {
        page.within("td", &[("data-label", "State")], |page| state(page, run));
        page.element("td", &[("data-label", "Agent")], text_of(run, "name"));
        page.within("td", &[("data-label", "Prompt")], |page| {
            let prompt = match text_of(run, "prompt") {
                "" => text_of(run, "id"),
                prompt => prompt,
            };
            page.link("runs", text_of(run, "id"), prompt);
        });
        page.within("td", &[("data-label", "Started")], |page| time(page, text_of(run, "started")));
        page.element("td", &[("data-label", "Cost")], &dollars(&run["cost"]));
    });
}

/// The state of a run as a badge.
pub(crate) fn state(page: &mut HtmlWriter, run: &Value) {
    let state = if run["waiting"] == true { "waiting" } else { text_of(run, "state") };
    let class = format!("state {}", state_class(state));
    page.element("span", &[("class", &class)], state);
}

/// The class of a state: its letters, whatever else is in it.
pub(crate) fn state_class(state: &str) -> String {
    state.replace(|c: char| !c.is_ascii_alphabetic(), "")
}

/// A time, which the script shows in the zone of the reader.
pub(crate) fn time(page: &mut HtmlWriter, time: &str) {
    page.element("time", &[("datetime", time)], time);
}

fn start_box(page: &mut HtmlWriter, agents: &[Value]) {
    start_form(page, |page| {
        page.within("label", &[], |page| {
            page.text("Agent ");
            page.within("select", &[("name", "agent"), ("required", "")], |page| {
                for agent in agents {
                    let id = text_of(agent, "id");
                    page.element("option", &[("value", id)], text_of(agent, "name"));
                }
            });
        });
    });
}

/// A box to start a run. `agent` writes the field that names the agent.
pub(crate) fn start_form(page: &mut HtmlWriter, agent: impl FnOnce(&mut HtmlWriter)) {
    let form = [("data-post", "/v1/runs"), ("data-goto", "runs"), ("class", "start")];
    page.within("form", &form, |page| {
        agent(page);
        page.within("label", &[("class", "grow")], |page| {
            page.text("Prompt ");
            let attributes = [
                ("name", "prompt"),
                ("required", ""),
                ("rows", "2"),
                ("placeholder", "What should it do?"),
            ];
            page.within("textarea", &attributes, |_| {});
        });
        page.element("button", &[("type", "submit"), ("class", "main")], "Start");
    });
}

/// What waits for a person.
pub(crate) fn approvals(page: &mut HtmlWriter, waiting: &[Value], may_answer: bool) {
    page.element("h1", &[], "Waiting for you");
    if waiting.is_empty() {
        return page.element("p", &[("class", "empty")], "Nothing waits for a person.");
    }
    cards(page, waiting, may_answer);
    if let Some(more) = waiting.len().checked_sub(MOST_APPROVALS).filter(|more| *more > 0) {
        let note = format!("{more} more wait, and are shown when these are answered.");
        page.element("p", &[("class", "empty")], &note);
    }
}

/// A card for each approval.
pub(crate) fn cards(page: &mut HtmlWriter, waiting: &[Value], may_answer: bool) {
    for approval in waiting.iter().take(MOST_APPROVALS) {
        page.within("article", &[("class", "approval")], |page| {
            self::approval(page, approval, may_answer);
        });
    }
}

fn approval(page: &mut HtmlWriter, approval: &Value, may_answer: bool) {
    let is_question = text_of(approval, "kind") == "question";
    page.within("h2", &[], |page| {
        page.plain(text_of(approval, "agent"));
        page.text(if is_question { " asks" } else { " wants to run " });
        if !is_question {
            page.element("code", &[], text_of(approval, "tool"));
        }
    });
    page.within("p", &[("class", "meta")], |page| {
        page.link("runs", text_of(approval, "run"), "the run");
        page.text(", since ");
        time(page, text_of(approval, "since"));
    });
    if !text_of(approval, "question").is_empty() {
        page.element("p", &[("class", "question")], text_of(approval, "question"));
    }
    run_view::arguments(page, &approval["arguments"]);
    if !text_of(approval, "diff").is_empty() {
        run_view::diff(page, text_of(approval, "diff"));
    }
    if !text_of(approval, "rule").is_empty() {
        page.within("p", &[("class", "rule")], |page| {
            page.text("Why you are asked: ");
            page.plain(text_of(approval, "rule"));
            for place in approval["places"].as_array().into_iter().flatten() {
                page.text(" — ");
                page.element("code", &[], place.as_str().unwrap_or_default());
            }
        });
    }
    if may_answer {
        answers(page, approval);
    } else {
        let note = "This token may not answer; it needs the scope `approve`.";
        page.element("p", &[("class", "meta")], note);
    }
}

/// The buttons of an approval: yes and no side by side, then what lasts longer. What a button covers stands on it.
fn answers(page: &mut HtmlWriter, approval: &Value) {
    let path = format!("/v1/approvals/{}", encoded(text_of(approval, "id")));
    let covers: Vec<_> =
        approval["covers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let is_question = text_of(approval, "kind") == "question";
    page.within("form", &[("data-post", &path), ("class", "answers")], |page| {
        if !is_question {
            page.main_button("Yes", &path, &json!({ "answer": "yes" }));
        }
        let (answer, class, label, button) = if is_question {
            ("yes", "main", "Answer ", "Send")
        } else {
            ("no", "no", "Reason, if no ", "No")
        };
        page.within("input", &[("type", "hidden"), ("name", "answer"), ("value", answer)], |_| {});
        page.within("label", &[("class", "grow")], |page| {
            page.text(label);
            page.within("input", &[("name", "reason"), ("autocomplete", "off")], |_| {});
        });
        page.element("button", &[("type", "submit"), ("class", class)], button);
    });
    if !covers.is_empty() {
        page.within("div", &[("class", "controls always")], |page| {
            let text = format!("Always in this run: {}", covers.join("; "));
            page.button(&text, &path, &json!({ "answer": "always" }));
            page.button("Always this exact call", &path, &json!({ "answer": "exact" }));
        });
    }
}

/// All agents.
pub(crate) fn agents(page: &mut HtmlWriter, agents: &[Value]) {
    page.element("h1", &[], "Agents");
    page.within("ul", &[("class", "agents")], |page| {
        for agent in agents {
            page.within("li", &[], |page| {
                page.link("agents", text_of(agent, "id"), text_of(agent, "name"));
                page.element("p", &[], text_of(agent, "description"));
                page.element("p", &[("class", "meta")], text_of(agent, "path"));
            });
        }
    });
}
