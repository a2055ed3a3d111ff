//! Writes the files of agents for Pi.

use agentry_policy::path::NoLinks;
use agentry_policy::{Action, Call, Rules, Section};
use agentry_text::Data;
use agentry_text::path::is_plain;
use serde_json::json;

use super::extension;
use super::fields::{FALLBACKS, FIELDS};
use super::front::{self, Value};
use super::primary::{Part, parts};
use super::rivals::Rivals;
use super::tools::{BUILT_IN, TOOLS, granted, is_used, report};
use super::{NAME, Place, place, specialists};
use crate::fields::report_losses;
use crate::front_matter::list_items;
use crate::model::Model;
use crate::original::{self, OriginalFrontMatter, OriginalGrant};
use crate::render::each_of;
use crate::rendering::{File, LossKind, Rendered, Rendering, Scope, Settings};
use crate::subject::{PartKind, Subject};
use crate::{loss, skills};

/// Directories of a project in which Pi finds skills by itself.
const SKILLS: &[&str] = &[".pi/skills", ".agents/skills"];

pub(super) fn render(subjects: &[Subject], settings: &Settings<'_>) -> Rendering {
    let mut agents: Vec<Rendered> = subjects.iter().map(|_| Rendered::default()).collect();
    let parts = parts(subjects, settings, &mut agents);
    let rivals = Rivals::of(settings);
    let unwritten = subjects.iter().zip(parts.iter().zip(agents));
    let mut agents = each_of(unwritten, |subject, (part, mut out)| {
        rivals.report(&subject.name, settings, &mut out);
        agent(subject, *part, settings, &mut out);
        out
    });
    let shared = specialists::file(subjects, &parts, settings, &mut agents);
    Rendering { agents, shared: shared.into_iter().collect() }
}

fn agent(subject: &Subject, part: Part, settings: &Settings<'_>, out: &mut Rendered) {
    let place = place(settings.scope, &subject.name);
    let mut fields = vec![
        ("name", Value::Text(subject.name.clone())),
        ("description", Value::Text(one_line(subject.description()))),
    ];
    let can_read = if settings.guard {
        guarded(subject, settings, &place, &mut fields, out)
    } else {
        plain(subject, settings, &mut fields, out)
    };
    // The metadata of Pi is lines and no data: what is given back goes in by hand.
    for OriginalGrant { key, value } in subject.grants.iter().filter(|it| it.key != "tools") {
        let items = value.as_ref().and_then(list_items);
        fields.extend(items.map(|items| (*key, raw(items.join(", ")))));
    }
    fields.extend(model(subject, out));
    fields.extend(prompting(subject));
    fields.extend(shown(subject, can_read, &place, out));
    fields.extend(budget(subject, out));
    report_losses(FIELDS, subject, out);
    let body = subject.prompt(&[PartKind::Prompt, PartKind::Context, PartKind::Rules]);
    let body = body.trim_start_matches('\u{feff}');
    match front::write(&subject.origin(), &fields, body) {
        Ok(text) => out.files.push(File::new(place.agent.clone(), text)),
        Err(key) => {
            let message =
                format!("Pi cannot read `{key}`: it holds both kinds of quotes, or ends a line");
            out.refuse(&key, message, Some("use one kind of quotes"));
        }
    }
    if part == Part::Main {
        out.files.push(File::new(place.system, format!("{body}\n")));
        if settings.guard {
            out.files.push(File::new(place.session, extension::main(subject)));
        }
    }
}

/// How the prompt is used, and the other preferences of the original front matter.
fn prompting(subject: &Subject) -> Vec<(&'static str, Value)> {
    let mut fields = vec![
        ("systemPromptMode", raw("replace")),
        ("inheritProjectContext", raw("false")),
        ("inheritSkills", raw("false")),
    ];
    let original = OriginalFrontMatter::of(&subject.agent, NAME);
    for field in FIELDS {
        let Some(value) = original.preference(field) else { continue };
        fields.retain(|(known, _)| *known != field.name);
        fields.push((field.name, raw(value.as_str().unwrap_or_default())));
    }
    fields
}

fn raw(text: impl Into<String>) -> Value {
    Value::Raw(text.into())
}

/// A text on one line.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The tools of an agent without a guard; whether it can read.
fn plain(
    subject: &Subject,
    settings: &Settings<'_>,
    fields: &mut Vec<(&str, Value)>,
    out: &mut Rendered,
) -> bool {
    let mut tools = granted(subject, settings);
    let given = original::given(subject, "tools").and_then(|grant| grant.value.as_ref());
    let given = given.and_then(list_items);
    if let Some(given) = &given {
        tools = given.iter().map(String::as_str).collect();
    }
    report(subject, &tools, out);
    if tools.is_empty() {
        loss::toolless(subject, &Model::default(), Some(loss::BY_GUARD), out);
    }
    // A list is always written: Pi would give an agent without one all that it has. Who starts the
    // agent can always be spoken to.
    let listed = if tools.is_empty() { "contact_supervisor".to_owned() } else { tools.join(", ") };
    fields.push(("tools", raw(listed)));
    let denied = TOOLS.iter().filter(|tool| {
        tool.name != "bash"
            && !tools.contains(&tool.name)
            && tool.reaches.iter().all(|section| !is_used(subject, *section))
    });
    let denied: serde_json::Map<_, _> =
        denied.map(|tool| (tool.name.to_owned(), json!("deny"))).collect();
    if !denied.is_empty() {
        fields.push(("permission", raw(json!(denied).to_string())));
    }
    for (tool, section) in
        [("fetch_content", Section::Webfetch), ("web_search", Section::Websearch)]
    {
        if tools.contains(&tool) {
            let detail = format!("`{tool}` comes with pi-web-access; without it there is none");
            out.lose(format!("permissions.{section}"), LossKind::Narrowed, detail);
        }
    }
    tools.contains(&"read")
}

/// The tools of an agent with the guard; whether it can read.
fn guarded(
    subject: &Subject,
    settings: &Settings<'_>,
    place: &Place,
    fields: &mut Vec<(&str, Value)>,
    out: &mut Rendered,
) -> bool {
    fields.push(("excludeTools", raw(BUILT_IN.join(", "))));
    fields.push(("extensions", raw(format!("../guard/{}.ts", subject.name))));
    out.files.push(File::new(place.guard.clone(), extension::child(subject)));
    if settings.scope == Scope::User {
        let hint = "render it with the scope `project`, or without the guard";
        out.refuse("permissions", "the guard needs the definition beside its files", Some(hint));
    }
    let detail = "Pi protects no file: whoever may write `.pi/` can replace the guard before the \
                  agent is started";
    out.lose("permissions", LossKind::Gap, detail);
    if asks(subject) {
        let detail = "an ask is refused where nobody can be asked, as in every subagent of Pi";
        out.lose("permissions", LossKind::Narrowed, detail);
    }
    for section in [Section::Webfetch, Section::Websearch] {
        if is_used(subject, section) {
            let detail = "the guard brings no tool for it";
            out.lose(format!("permissions.{section}"), LossKind::Narrowed, detail);
        }
    }
    is_used(subject, Section::Read)
}

/// Whether there is anything that a person is asked about.
fn asks(subject: &Subject) -> bool {
    let sections = [Section::Bash, Section::Edit, Section::Read];
    let asks = |rules: &Rules| rules.all().any(|rule| rule.action == Action::Ask);
    sections.into_iter().any(|section| subject.bounds(section).iter().any(asks))
}

/// The models to try.
fn model(subject: &Subject, out: &mut Rendered) -> Vec<(&'static str, Value)> {
    let preferred = subject.agent.model.preferred.as_ref();
    let names = preferred.into_iter().flatten().map(|model| model.value.clone());
    let (names, wrong): (Vec<_>, Vec<_>) =
        names.partition(|name| !name.contains([',', '\n', '"', '\'']) && !name.is_empty());
    for name in wrong {
        out.lose("model", LossKind::Dropped, format!("`{name}` cannot be written in Pi's lists"));
    }
    if OriginalFrontMatter::of(&subject.agent, NAME).has(FALLBACKS, &Data::str(names.join(", "))) {
        return vec![(FALLBACKS, Value::Text(names.join(", ")))];
    }
    let Some((first, rest)) = names.split_first() else { return Vec::new() };
    let mut fields = vec![("model", Value::Text(first.clone()))];
    if !rest.is_empty() {
        fields.push((FALLBACKS, Value::Text(rest.join(", "))));
    }
    fields
}

/// The skills that the agent is shown; Pi would give it `read` to load them.
fn shown(
    subject: &Subject,
    can_read: bool,
    place: &Place,
    out: &mut Rendered,
) -> Option<(&'static str, Value)> {
    let mut names = Vec::new();
    for skill in &subject.skills {
        let directory = &subject.judge.places().workspace;
        let call = Call { section: Section::Skill, subject: &skill.name, directory };
        if !can_read {
            let detail =
                format!("`{}` is loaded with `read`, which the agent does not have", skill.name);
            out.lose("skills", LossKind::Dropped, detail);
        } else if subject.judge.judge(call, &NoLinks).action == Action::Deny {
            out.lose(
                "skills",
                LossKind::Dropped,
                format!("`{}` is denied in the source", skill.name),
            );
        } else if !is_plain(&skill.name) || skill.name.contains(['/', ',', '"', '\'']) {
            let detail = format!("`{}` cannot be written in Pi's lists", skill.name);
            out.lose("skills", LossKind::Dropped, detail);
        } else {
            skills::copy_one(skill, SKILLS, &place.skills, out);
            names.push(skill.name.as_str());
        }
    }
    (!names.is_empty()).then(|| ("skills", Value::Text(names.join(", "))))
}

/// The limit of rounds: releases of pi-subagents that know no rounds count calls.
fn budget(subject: &Subject, out: &mut Rendered) -> Vec<(&'static str, Value)> {
    let Some(turns) = subject.agent.behaviour.max_turns else { return Vec::new() };
    let turns = turns.value;
    if turns < 1 {
        out.refuse("max_turns", format!("`{turns}` is no number of turns"), None);
    }
    vec![
        ("toolBudget", raw(json!({ "hard": turns, "block": "*" }).to_string())),
        ("turnBudget", raw(json!({ "maxTurns": turns, "graceTurns": 1 }).to_string())),
    ]
}
