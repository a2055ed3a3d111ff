//! Renders agents for Cursor. An agent of Cursor has every tool of its session. Only `readonly` takes some away,
//! so an agent whose denials would be lost becomes a rule: text that a session reads, with its own tools.

use agentry_policy::Section;
use agentry_text::Data;
use agentry_text::data::MapBuilder;

use super::fields::FIELDS;
use super::{NAME, model};
use crate::built_in_protection::protects;
use crate::fields::{self, report_losses};
use crate::gap::gaps;
use crate::model::{HarnessModel, HarnessTool};
use crate::prose_rules::{in_words, unenforced};
use crate::render::each;
use crate::render_result::{
    LossKind, ProjectRendering, RenderScope, RenderSettings, RenderedAgent, RenderedFile,
};
use crate::subject::RenderSubject;
use crate::{front_matter, loss, skills};

/// Directories in which Cursor finds skills itself.
const SKILLS: &[&str] = &[".cursor/skills", ".claude/skills", ".agents/skills"];

pub(super) fn render(
    subjects: &[RenderSubject],
    settings: &RenderSettings<'_>,
) -> ProjectRendering {
    let agents = each(subjects, |subject| agent(subject, settings));
    ProjectRendering { agents, ..ProjectRendering::default() }
}

fn agent(subject: &RenderSubject, settings: &RenderSettings<'_>) -> RenderedAgent {
    let attended = settings.is_attended();
    let free = model::rendered(false).in_session(attended);
    let closed = model::rendered(true).in_session(attended);
    let excess = |model: &HarnessModel| excess(subject, model, settings);
    match (excess(&free), excess(&closed)) {
        (None, _) => as_agent(subject, false),
        (Some(_), None) => as_agent(subject, true),
        (_, Some(section)) => as_rule(subject, settings, section),
    }
}

/// Returns the first section in which Cursor would let the agent do what its source denies, or, if gaps are
/// closed, what only Agentry checks.
fn excess(
    subject: &RenderSubject,
    model: &HarnessModel,
    settings: &RenderSettings<'_>,
) -> Option<Section> {
    let is_open = |way: &&HarnessTool| {
        !subject.permits(way.section, &way.layers)
            || (settings.close_gaps && !protects(subject, way.section, &way.layers))
    };
    let open = model.ways.iter().find(is_open).map(|way| way.section);
    let is_blind = || settings.close_gaps && !gaps(subject, model, model::BLIND).is_empty();
    open.or_else(|| is_blind().then_some(Section::Bash))
}

fn as_agent(subject: &RenderSubject, readonly: bool) -> RenderedAgent {
    let mut out = RenderedAgent::default();
    let computed = if readonly { vec![("readonly", Data::Bool(true))] } else { Vec::new() };
    let metadata = fields::write(FIELDS, (subject, NAME), computed, &mut out);
    // Fields of rules mean nothing in an agent.
    let metadata = without(metadata, &["globs", "alwaysApply"]);
    let model = model::rendered(readonly);
    loss::toolless(subject, &model, None, &mut out);
    let otherwise = [Section::Question, Section::Skill, Section::Tool, Section::ExternalDirectory];
    loss::compare_all(subject, &model, &otherwise, &mut out);
    report_losses(FIELDS, subject, &mut out);
    let text = front_matter::write(&subject.origin(), &metadata, &prompt(subject));
    out.files.push(RenderedFile::new(format!(".cursor/agents/{}.md", subject.name), text));
    skills::copy(subject, SKILLS, ".cursor/skills", &mut out);
    out
}

fn as_rule(
    subject: &RenderSubject,
    settings: &RenderSettings<'_>,
    section: Section,
) -> RenderedAgent {
    let mut out = RenderedAgent::default();
    if settings.scope == RenderScope::User {
        let message = format!("Cursor cannot take {section} from one agent");
        let hint = "render it with the scope `project`, where it becomes a rule";
        out.refuse(&format!("permissions.{section}"), message, Some(hint));
        return out;
    }
    // An agent file of that name would still have every tool.
    let agent = format!(".cursor/agents/{}.md", subject.name);
    if settings.existing.text(&agent).is_some() {
        out.rival(agent, "Cursor", settings);
    }
    let detail = "Cursor has no list of tools for one agent, so this is a rule: text that a session \
                  follows with its own tools and questions";
    out.lose(format!("permissions.{section}"), LossKind::Dropped, detail);
    unenforced(subject, "sessions of Cursor", &mut out);
    report_losses(FIELDS, subject, &mut out);
    let mut metadata = MapBuilder::new();
    metadata.set("description", Data::str(subject.description()));
    metadata.set("alwaysApply", Data::Bool(false));
    let body = match in_words(subject) {
        Some(limits) => format!("{}\n\n{limits}", prompt(subject)),
        None => prompt(subject),
    };
    let text = front_matter::write(&subject.origin(), &metadata.build(), &body);
    out.files.push(RenderedFile::new(format!(".cursor/rules/{}.mdc", subject.name), text));
    skills::copy(subject, SKILLS, ".cursor/skills", &mut out);
    out
}

fn prompt(subject: &RenderSubject) -> String {
    subject.prompt()
}

fn without(metadata: Data, names: &[&str]) -> Data {
    match metadata {
        Data::Map(fields) => Data::Map(
            fields.into_iter().filter(|(name, _)| !names.contains(&name.as_str())).collect(),
        ),
        other => other,
    }
}
