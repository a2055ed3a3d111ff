//! Renders agents for Pi: their files, their guards, and the list of subagents.

use agentry_policy::path::NoLinks;
use agentry_policy::{Action, RuleList, Section, SectionCall};
use agentry_text::Data;
use agentry_text::path::is_plain;
use serde_json::json;

use super::agent_file::{self, PiValue};
use super::extension;
use super::fields::{FALLBACKS, FIELDS};
use super::main_session::{PiRole, parts};
use super::rivals::PiRivals;
use super::tools::{BUILT_IN, TOOLS, granted, is_used, report};
use super::{NAME, PiPaths, place, specialists};
use crate::fields::report_losses;
use crate::front_matter::list_items;
use crate::model::HarnessModel;
use crate::original::{self, OriginalFrontMatter, OriginalGrant};
use crate::render::each_of;
use crate::render_result::{
    LossKind, ProjectRendering, RenderScope, RenderSettings, RenderedAgent, RenderedFile,
};
use crate::subject::RenderSubject;
use crate::{loss, skills};

/// Directories of a project in which Pi finds skills itself.
const SKILLS: &[&str] = &[".pi/skills", ".agents/skills"];

pub(super) fn render(
    subjects: &[RenderSubject],
    settings: &RenderSettings<'_>,
) -> ProjectRendering {
    let mut agents: Vec<RenderedAgent> =
        subjects.iter().map(|_| RenderedAgent::default()).collect();
    let parts = parts(subjects, settings, &mut agents);
    let rivals = PiRivals::of(settings);
    let unwritten = subjects.iter().zip(parts.iter().zip(agents));
    let mut agents = each_of(unwritten, |subject, (part, mut out)| {
        rivals.report(&subject.name, settings, &mut out);
        agent(subject, *part, settings, &mut out);
        out
    });
    let shared = specialists::file(subjects, &parts, settings, &mut agents);
    let shared = shared.into_iter().collect();
    ProjectRendering { agents, shared, lines: Vec::new() }
}

fn agent(
    subject: &RenderSubject,
    part: PiRole,
    settings: &RenderSettings<'_>,
    out: &mut RenderedAgent,
) {
    let place = place(settings.scope, &subject.name);
    let mut fields = vec![
        ("name", PiValue::Text(subject.name.clone())),
        ("description", PiValue::Text(one_line(subject.description()))),
    ];
    let can_read = if settings.guard {
        guarded(subject, settings, &place, &mut fields, out)
    } else {
        plain(subject, settings, &mut fields, out)
    };
    // Pi's metadata is lines and not data, so restored grants are added here.
    for OriginalGrant { key, value } in subject.grants.iter().filter(|it| it.key != "tools") {
        let items = value.as_ref().and_then(list_items);
        fields.extend(items.map(|items| (*key, raw(items.join(", ")))));
    }
    fields.extend(model(subject, out));
    fields.extend(prompting(subject));
    fields.extend(shown(subject, can_read, &place, out));
    fields.extend(budget(subject, out));
    report_losses(FIELDS, subject, out);
    let body = subject.prompt();
    let body = body.trim_start_matches('\u{feff}');
    match agent_file::write(&subject.origin(), &fields, body) {
        Ok(text) => out.files.push(RenderedFile::new(place.agent.clone(), text)),
        Err(key) => {
            let message =
                format!("Pi cannot read `{key}`: it holds a line end or an odd character");
            out.refuse(&key, message, Some("write it on one line, with ordinary characters"));
        }
    }
    if part == PiRole::Main {
        out.files.push(RenderedFile::new(place.system, format!("{body}\n")));
        if settings.guard {
            out.files.push(RenderedFile::new(place.session, extension::main(subject)));
        }
    }
}

/// Writes how the prompt is used, and the other original preferences.
fn prompting(subject: &RenderSubject) -> Vec<(&'static str, PiValue)> {
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

fn raw(text: impl Into<String>) -> PiValue {
    PiValue::Raw(text.into())
}

/// Joins a text to one line.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes the tools of an agent without the guard; returns whether it can read.
fn plain(
    subject: &RenderSubject,
    settings: &RenderSettings<'_>,
    fields: &mut Vec<(&str, PiValue)>,
    out: &mut RenderedAgent,
) -> bool {
    let mut tools = granted(subject, settings);
    let given = original::given(subject, "tools").and_then(|grant| grant.value.as_ref());
    let given = given.and_then(list_items);
    if let Some(given) = &given {
        tools = given.iter().map(String::as_str).collect();
    }
    report(subject, &tools, out);
    if tools.is_empty() {
        loss::toolless(subject, &HarnessModel::default(), Some(loss::BY_GUARD), out);
    }
    // A list is always written, because Pi gives an agent without one all tools. Contacting the caller is
    // always allowed.
    let listed = if tools.is_empty() { "contact_supervisor".to_owned() } else { tools.join(", ") };
    fields.push(("tools", raw(listed)));
    // pi-subagents does not load an agent whose rules name `bash`.
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

/// Writes the tools of an agent with the guard; returns whether it can read.
fn guarded(
    subject: &RenderSubject,
    settings: &RenderSettings<'_>,
    place: &PiPaths,
    fields: &mut Vec<(&str, PiValue)>,
    out: &mut RenderedAgent,
) -> bool {
    fields.push(("excludeTools", raw(BUILT_IN.join(", "))));
    fields.push(("extensions", raw(format!("../guard/{}.ts", subject.name))));
    out.files.push(RenderedFile::new(place.guard.clone(), extension::child(subject)));
    if settings.scope == RenderScope::User {
        let hint = "render it with the scope `project`, or without the guard";
        out.refuse("permissions", "the guard needs the definition beside its files", Some(hint));
    }
    let detail = "Pi protects no file: a process that may write `.pi/` can replace the guard \
                  before the agent is started";
    out.lose("permissions", LossKind::Gap, detail);
    if asks(subject) {
        let detail = "an ask is refused where no user can be asked, as in every subagent of Pi";
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

/// Whether the policy asks about anything.
fn asks(subject: &RenderSubject) -> bool {
    let sections = [Section::Bash, Section::Edit, Section::Read];
    let asks = |rules: &RuleList| rules.all().any(|rule| rule.action == Action::Ask);
    sections.into_iter().any(|section| subject.bounds(section).iter().any(asks))
}

/// Writes the models to try.
fn model(subject: &RenderSubject, out: &mut RenderedAgent) -> Vec<(&'static str, PiValue)> {
    let preferred = subject.agent.model.preferred.as_ref();
    let names = preferred.into_iter().flatten().map(|model| model.value.clone());
    let (names, wrong): (Vec<_>, Vec<_>) =
        names.partition(|name| !name.contains([',', '\n', '"', '\'']) && !name.is_empty());
    for name in wrong {
        out.lose("model", LossKind::Dropped, format!("`{name}` cannot be written in Pi's lists"));
    }
    if OriginalFrontMatter::of(&subject.agent, NAME).has(FALLBACKS, &Data::str(names.join(", "))) {
        return vec![(FALLBACKS, PiValue::Text(names.join(", ")))];
    }
    let Some((first, rest)) = names.split_first() else { return Vec::new() };
    let mut fields = vec![("model", PiValue::Text(first.clone()))];
    if !rest.is_empty() {
        fields.push((FALLBACKS, PiValue::Text(rest.join(", "))));
    }
    fields
}

/// Writes the skills of the agent; Pi would give it `read` to load them.
fn shown(
    subject: &RenderSubject,
    can_read: bool,
    place: &PiPaths,
    out: &mut RenderedAgent,
) -> Option<(&'static str, PiValue)> {
    let mut names = Vec::new();
    for skill in &subject.skills {
        let directory = &subject.judge.places().workspace;
        let call = SectionCall { section: Section::Skill, subject: &skill.name, directory };
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
    (!names.is_empty()).then(|| ("skills", PiValue::Text(names.join(", "))))
}

/// Writes the limit of turns; releases of pi-subagents without turns count calls.
fn budget(subject: &RenderSubject, out: &mut RenderedAgent) -> Vec<(&'static str, PiValue)> {
    let Some(turns) = subject.agent.behaviour.max_turns else { return Vec::new() };
    let turns = turns.value;
    if turns < 1 {
        out.refuse("max_turns", format!("`{turns}` is not a number of turns"), None);
    }
    vec![
        ("toolBudget", raw(json!({ "hard": turns, "block": "*" }).to_string())),
        ("turnBudget", raw(json!({ "maxTurns": turns, "graceTurns": 1 }).to_string())),
    ]
}
