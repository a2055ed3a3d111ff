//! `agentry rules`: lists the rules of `check` and explains them.

use std::borrow::Cow;

use agentry_compile::text::report::visible;
use agentry_compile::text::{LintRule, RuleExample};
use agentry_compile::{registry, rule};
use serde_json::{Value, json};

use super::suggestion::one_of;
use crate::args::{ResultFormat, RulesArguments};
use crate::output::{CliFailure, CliOutcome, ExitKind, columns, print, print_json};

pub(crate) fn run(args: &RulesArguments) -> CliOutcome {
    let rules = match &args.rule {
        None => registry().to_vec(),
        Some(name) => vec![named(name).ok_or_else(|| unknown(name))?],
    };
    match (args.format, &args.rule) {
        (ResultFormat::Json, _) => {
            print_json(&Value::Array(rules.iter().map(|rule| value(rule)).collect()));
        }
        (ResultFormat::Human, None) => {
            let row = |rule: &&LintRule| {
                vec![rule.code.to_owned(), rule.severity.to_string(), rule.name.to_owned()]
            };
            print(&columns(&rules.iter().map(row).collect::<Vec<_>>()));
        }
        (ResultFormat::Human, Some(_)) => rules.iter().for_each(|rule| print(&explain(rule))),
    }
    Ok(ExitKind::Done)
}

/// The rule with this name or code, in upper or lower case.
fn named(name: &str) -> Option<&'static LintRule> {
    rule(name).or_else(|| rule(&name.to_uppercase())).or_else(|| rule(&name.to_lowercase()))
}

fn unknown(name: &str) -> CliFailure {
    let known = registry().iter().flat_map(|rule| [rule.name, rule.code]);
    let hint = one_of(name, known, "`agentry rules` lists them all");
    CliFailure::new(format!("there is no rule `{name}`")).hint(hint)
}

fn value(rule: &LintRule) -> Value {
    json!({"code": rule.code, "name": rule.name, "severity": rule.severity.to_string(), "why": rule.why})
}

fn explain(rule: &LintRule) -> String {
    let LintRule { code, name, severity, why, bad, good } = rule;
    let why = wrapped(why, 80);
    format!(
        "{name} ({code}, {severity})\n\n{why}\n\nThis breaks it:\n\n{}\nUse instead:\n\n{}",
        shown(bad),
        shown(good)
    )
}

fn shown(example: &RuleExample) -> String {
    let file = |(path, text): &(&str, Cow<'_, str>)| {
        let lines: Vec<_> = text.lines().map(|line| format!("    {}", visible(line))).collect();
        format!("  {path}\n{}\n", lines.join("\n").trim_end())
    };
    match example.description() {
        Some(what) => format!("  {what}\n"),
        None => example.texts().iter().map(file).collect::<Vec<_>>().join("\n"),
    }
}

/// A text in lines of at most `width` characters, broken between words.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.extend([" ", word]);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}
