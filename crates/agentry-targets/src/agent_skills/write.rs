//! Renders agents as skills: one `SKILL.md` per agent, with the agent's own skills beside it.

use agentry_text::Data;

use super::fields::FIELDS;
use super::{PLACE, TARGET, path, tools, wrong_name};
use crate::fields::{self, report_losses};
use crate::front_matter;
use crate::prose_rules::{in_words, unenforced};
use crate::render::each;
use crate::render_result::{
    LossKind, ProjectRendering, RenderSettings, RenderedAgent, RenderedFile,
};
use crate::skills;
use crate::subject::{BundledSkill, RenderSubject};

pub(super) fn render(
    subjects: &[RenderSubject],
    settings: &RenderSettings<'_>,
) -> ProjectRendering {
    let agents = each(subjects, |subject| agent(subject, settings));
    ProjectRendering { agents, ..ProjectRendering::default() }
}

fn agent(subject: &RenderSubject, settings: &RenderSettings<'_>) -> RenderedAgent {
    let mut out = RenderedAgent::default();
    if let Some(why) = wrong_name(&subject.name) {
        let hint = "set another name in `agentry.toml`: `[render.agent-skills.aliases]`";
        out.refuse("name", format!("`{}` {why}", subject.name), Some(hint));
    }
    let allowed = tools::allowed(subject, settings);
    let allowed = (!allowed.is_empty()).then(|| ("allowed-tools", Data::str(allowed)));
    let computed = allowed.into_iter().collect();
    let metadata = fields::write(FIELDS, (subject, TARGET.name), computed, &mut out);
    unenforced(subject, "programs that load the skill", &mut out);
    report_losses(FIELDS, subject, &mut out);
    let text = front_matter::write(&subject.origin(), &metadata, &body(subject));
    out.files.push(RenderedFile::new(path(&subject.name), text));
    for skill in &subject.skills {
        copy(subject, skill, &mut out);
    }
    out
}

fn body(subject: &RenderSubject) -> String {
    let prompt = subject.prompt();
    let prompt = prompt.replace("\r\n", "\n");
    let parts = [Some(prompt), in_words(subject)];
    let parts = parts.iter().flatten().map(|part| part.trim_start_matches('\u{feff}').trim());
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Copies a skill of the agent to the directory of skills, unless it is already there.
fn copy(subject: &RenderSubject, skill: &BundledSkill, out: &mut RenderedAgent) {
    if skill.name == subject.name {
        let message = format!("the agent and its skill `{}` would be one skill", skill.name);
        out.refuse("skills", message, Some("give the agent an alias in `agentry.toml`"));
    } else if let Some(why) = wrong_name(&skill.name) {
        out.lose("skills", LossKind::Dropped, format!("`{}` {why}", skill.name));
    } else {
        skills::copy_one(skill, &[PLACE], PLACE, out);
    }
}
