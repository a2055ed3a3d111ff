//! One agent: what it may do, its schedules, its runs with cost and outcome, its memory and its proposals.

use serde_json::{Value, json};

use super::html::{HtmlWriter, encoded, text_of};
use super::{lists, run_view};
use crate::scope::TokenScope;

/// The state of a proposal that waits for a person.
const PENDING: &str = "pending";

/// The page of an agent.
pub(crate) fn show(page: &mut HtmlWriter, agent: &Value, runs: &[Value], scope: TokenScope) {
    page.element("h1", &[], text_of(agent, "name"));
    page.element("p", &[], text_of(agent, "description"));
    let meta = [text_of(agent, "path"), text_of(agent, "format"), text_of(agent, "digest")];
    page.element("p", &[("class", "meta")], &meta.join(", "));
    if !text_of(agent, "problem").is_empty() {
        return page.element("p", &[("class", "question")], text_of(agent, "problem"));
    }
    consent(page, agent, scope);
    page.element("h2", &[], "What it may do");
    rows(page, &agent["may"], &["what", "rule"]);
    if has(agent, "schedules") {
        page.element("h2", &[], "Schedules");
        rows(page, &agent["schedules"], &["schedule", "state", "cron", "next"]);
    }
    if has(agent, "proposals") {
        page.element("h2", &[], "Proposals");
        for proposal in agent["proposals"].as_array().into_iter().flatten() {
            page.within("article", &[("class", "approval")], |page| {
                self::proposal(page, (agent, proposal), scope);
            });
        }
    }
    if has(agent, "memory") {
        page.element("h2", &[], "Memory");
        rows(page, &agent["memory"], &["type", "importance", "text"]);
    }
    page.element("h2", &[], "Runs");
    plot(page, runs);
    lists::table(page, runs);
}

fn has(agent: &Value, name: &str) -> bool {
    agent[name].as_array().is_some_and(|list| !list.is_empty())
}

fn consent(page: &mut HtmlWriter, agent: &Value, scope: TokenScope) {
    if agent["consented"] == true {
        return page.element("p", &[("class", "meta")], "You agreed to what it may do.");
    }
    page.within("p", &[("class", "question")], |page| {
        page.text("Nobody agreed yet to what is listed below, so it does not run. ");
        if scope.covers(TokenScope::Approve) {
            let path = format!("/v1/agents/{}/consent", encoded(text_of(agent, "id")));
            page.button("I agree", &path, &json!({ "digest": text_of(agent, "digest") }));
        }
    });
}

/// A change that the agent proposes to itself. What is decided has no buttons and is folded.
fn proposal(page: &mut HtmlWriter, (agent, proposal): (&Value, &Value), scope: TokenScope) {
    let (id, state) = (text_of(proposal, "id"), text_of(proposal, "state"));
    let risk = format!("{} risk", text_of(proposal, "risk"));
    page.element("h3", &[], &format!("{id}: {state}, {risk}, {}", listed(&proposal["files"])));
    page.element("p", &[], text_of(proposal, "reason"));
    if state != PENDING {
        page.element("p", &[("class", "meta")], text_of(proposal, "outcome"));
        return page.within("details", &[], |page| {
            page.element("summary", &[], "The change");
            run_view::diff(page, text_of(proposal, "diff"));
        });
    }
    run_view::diff(page, text_of(proposal, "diff"));
    if !scope.covers(TokenScope::Approve) {
        let note = "This token may not decide; it needs the scope `approve`.";
        return page.element("p", &[("class", "meta")], note);
    }
    let agent = encoded(text_of(agent, "id"));
    let path = format!("/v1/agents/{agent}/proposals/{}", encoded(id));
    page.within("form", &[("data-post", &path), ("class", "answers")], |page| {
        page.button("Accept", &path, &json!({ "decision": "accept" }));
        let reject = [("type", "hidden"), ("name", "decision"), ("value", "reject")];
        page.within("input", &reject, |_| {});
        page.within("label", &[("class", "grow")], |page| {
            page.text("Reason ");
            page.within("input", &[("name", "reason"), ("autocomplete", "off")], |_| {});
        });
        page.element("button", &[("type", "submit"), ("class", "no")], "Reject");
    });
}

/// Texts in one line.
fn listed(items: &Value) -> String {
    let items = items.as_array().into_iter().flatten().filter_map(Value::as_str);
    items.collect::<Vec<_>>().join(", ")
}

/// A table of objects, with these fields as columns.
fn rows(page: &mut HtmlWriter, list: &Value, columns: &[&'static str]) {
    page.within("table", &[], |page| {
        for entry in list.as_array().into_iter().flatten() {
            page.within("tr", &[], |page| {
                for name in columns {
                    let value = &entry[*name];
                    let text = match value {
                        Value::String(text) => text.clone(),
                        Value::Null => String::new(),
                        Value::Array(_) => listed(value),
                        other => other.to_string(),
                    };
                    page.element("td", &[("data-label", name)], &text);
                }
            });
        }
    });
}

/// The cost of the last runs as bars, the oldest first, each in the colour of its outcome.
fn plot(page: &mut HtmlWriter, runs: &[Value]) {
    let most = runs.iter().filter_map(|run| run["cost"].as_f64()).fold(0.0, f64::max);
    if most <= 0.0 {
        return;
    }
    page.within(
        "div",
        &[("class", "plot"), ("role", "img"), ("aria-label", "cost of the last runs")],
        |page| {
            for run in runs.iter().take(60).rev() {
                let cost = run["cost"].as_f64().unwrap_or(0.0);
                let value = format!("{:.3}", cost / most);
                let title = format!("{} ${cost:.4}", text_of(run, "state"));
                page.within("meter", &[("value", &value), ("title", &title)], |_| {});
            }
        },
    );
}
