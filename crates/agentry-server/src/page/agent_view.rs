//! One agent: what it may do, its schedules, its runs with cost and outcome, its memory and its proposals.

use agentry_text::report::counted;
use serde_json::{Value, json};

use super::html::{HtmlWriter, dollars, encoded, text_of};
use super::{lists, run_view};
use crate::scope::TokenScope;

/// The state of a proposal that waits for a person.
const PENDING: &str = "pending";

/// The page of an agent.
pub(crate) fn show(
    page: &mut HtmlWriter,
    agent: &Value,
    (runs, receipts): (&[Value], &[Value]),
    scope: TokenScope,
) {
    page.element("h1", &[], text_of(agent, "name"));
    page.element("p", &[], text_of(agent, "description"));
    let meta = [text_of(agent, "path"), text_of(agent, "format"), text_of(agent, "digest")];
    page.element("p", &[("class", "meta")], &meta.join(", "));
    if !text_of(agent, "problem").is_empty() {
        return page.element("p", &[("class", "question")], text_of(agent, "problem"));
    }
    consent(page, agent, scope);
    if agent["consented"] == true && scope.covers(TokenScope::Run) {
        lists::start_form(page, |page| {
            let id = [("type", "hidden"), ("name", "agent"), ("value", text_of(agent, "id"))];
            page.within("input", &id, |_| {});
        });
    }
    page.element("h2", &[], "What it may do");
    permissions(page, &agent["may"]);
    if has(agent, "schedules") {
        page.element("h2", &[], "Schedules");
        rows(page, &agent["schedules"], &["schedule", "state", "cron", "upcoming"]);
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
    page.element("h2", &[], "Cost and outcome");
    plot(page, runs);
    page.element("h2", &[], "Runs");
    lists::table(page, runs);
    if !receipts.is_empty() {
        page.element("h2", &[], "Receipts");
        table_of_receipts(page, receipts);
    }
}

/// Receipts, each with the run that it is about.
fn table_of_receipts(page: &mut HtmlWriter, receipts: &[Value]) {
    page.within("table", &[], |page| {
        heads(page, &["receipt", "outcome", "started", "cost"]);
        for receipt in receipts {
            page.within("tr", &[], |page| {
                page.within("td", &[("data-label", "receipt")], |page| {
                    page.link("runs", text_of(receipt, "run"), text_of(receipt, "id"));
                });
                page.element("td", &[("data-label", "outcome")], text_of(receipt, "status"));
                page.within("td", &[("data-label", "started")], |page| {
                    lists::time(page, text_of(receipt, "started"));
                });
                page.element("td", &[("data-label", "cost")], &dollars(&receipt["cost"]));
            });
        }
    });
}

fn heads(page: &mut HtmlWriter, names: &[&'static str]) {
    page.within("thead", &[], |page| {
        page.within("tr", &[], |page| {
            names.iter().for_each(|name| page.element("th", &[("scope", "col")], name));
        });
    });
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
            page.main_button("I agree", &path, &json!({ "digest": text_of(agent, "digest") }));
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
        page.main_button("Accept", &path, &json!({ "decision": "accept" }));
        let reject = [("type", "hidden"), ("name", "decision"), ("value", "reject")];
        page.within("input", &reject, |_| {});
        page.within("label", &[("class", "grow")], |page| {
            page.text("Reason ");
            page.within("input", &[("name", "reason"), ("autocomplete", "off")], |_| {});
        });
        page.element("button", &[("type", "submit"), ("class", "no")], "Reject");
    });
}

/// The most rules about one thing that are not folded.
const MOST_RULES: usize = 6;

/// What an agent may do: a row for each thing, with all rules about it. A rule without a name is about the same thing
/// as the one before.
fn permissions(page: &mut HtmlWriter, list: &Value) {
    let mut things: Vec<(&str, Vec<&str>)> = Vec::new();
    for entry in list.as_array().into_iter().flatten() {
        let (what, rule) = (text_of(entry, "what"), text_of(entry, "rule"));
        match things.last_mut() {
            Some((_, rules)) if what.is_empty() => rules.push(rule),
            _ => things.push((what, vec![rule])),
        }
    }
    page.within("table", &[], |page| {
        heads(page, &["what", "rule"]);
        for (what, rules) in things {
            page.within("tr", &[], |page| {
                page.element("td", &[("data-label", "what")], what);
                page.within("td", &[("data-label", "rule")], |page| {
                    let (shown, folded) = rules.split_at(rules.len().min(MOST_RULES));
                    shown.iter().for_each(|rule| page.element("div", &[], rule));
                    if !folded.is_empty() {
                        page.within("details", &[], |page| {
                            page.element("summary", &[], &format!("{} more", folded.len()));
                            folded.iter().for_each(|rule| page.element("div", &[], rule));
                        });
                    }
                });
            });
        }
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
        heads(page, columns);
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

/// The most bars of the plot.
const BARS: usize = 60;
/// The height of the plot.
const HEIGHT: f64 = 80.0;

/// The last runs as bars, the oldest first: the height is the cost, the colour the outcome.
fn plot(page: &mut HtmlWriter, runs: &[Value]) {
    let ended: Vec<&Value> =
        runs.iter().filter(|run| run["state"] != "running").take(BARS).collect();
    if ended.is_empty() {
        return page.element("p", &[("class", "empty")], "No run has ended yet.");
    }
    let cost = |run: &Value| run["cost"].as_f64().unwrap_or(0.0);
    let total: f64 = ended.iter().map(|run| cost(run)).sum();
    let most = ended.iter().map(|run| cost(run)).fold(0.0, f64::max);
    let done = ended.iter().filter(|run| run["state"] == "done").count();
    let summary = format!(
        "The last {}: {done} done, {} together.",
        counted(ended.len() as u64, "run"),
        dollars(&json!(total))
    );
    page.element("p", &[("class", "meta")], &summary);
    let view = format!("0 0 {} {HEIGHT}", ended.len().max(20) * 12);
    let attributes = [
        ("class", "plot"),
        ("viewBox", &*view),
        ("preserveAspectRatio", "xMinYMax"),
        ("role", "img"),
    ];
    page.within("svg", &[&attributes[..], &[("aria-label", &*summary)]].concat(), |page| {
        for (at, run) in ended.iter().rev().enumerate() {
            // A run without a cost has an outcome nevertheless.
            let part = if most > 0.0 { cost(run) / most } else { 0.0 };
            let height = 4.0 + part * (HEIGHT - 4.0);
            let (x, y) = ((at * 12).to_string(), format!("{:.1}", HEIGHT - height));
            let height = format!("{height:.1}");
            let class = lists::state_class(text_of(run, "state"));
            let bar =
                [("class", &*class), ("x", &x), ("y", &y), ("width", "9"), ("height", &height)];
            page.within("rect", &bar, |page| {
                let title = format!("{} {}", text_of(run, "state"), dollars(&run["cost"]));
                page.element("title", &[], &title);
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_with_consent_can_be_started_on_its_page() {
        let cases = [
            (true, TokenScope::Run, true),
            (false, TokenScope::Run, false),
            (true, TokenScope::Approve, false),
        ];
        for (consented, scope, expected) in cases {
            let agent = json!({ "id": "a\"b", "name": "helper", "consented": consented });
            let mut page = HtmlWriter::default();
            show(&mut page, &agent, (&[], &[]), scope);
            let html = page.into_text();
            let field = "name=\"agent\" value=\"a&quot;b\"";
            assert_eq!(html.contains(field), expected, "{consented} {scope}: {html}");
        }
    }
}
