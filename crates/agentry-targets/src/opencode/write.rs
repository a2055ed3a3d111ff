//! Writes the files of agents for OpenCode.

use agentry_model::Mode;
use agentry_text::Data;
use agentry_text::data::MapBuilder;

use super::encode::permission;
use crate::front;
use crate::rendering::{File, LossKind, Rendered, Rendering, Settings};
use crate::subject::{PartKind, Skill, Subject};

/// Directories in which OpenCode finds skills by itself.
const SKILLS: &[&str] =
    &[".opencode/skill", ".opencode/skills", ".claude/skills", ".agents/skills"];

pub(super) fn render(subjects: &[Subject], settings: &Settings<'_>) -> Rendering {
    let agents = subjects.iter().map(|subject| agent(subject, settings)).collect();
    Rendering { agents, shared: Vec::new() }
}

fn agent(subject: &Subject, settings: &Settings<'_>) -> Rendered {
    let mut out = Rendered::default();
    let mut metadata = MapBuilder::new();
    let identity = &subject.agent.identity;
    metadata.str_opt("description", identity.description.as_ref().map(|text| &text.value));
    metadata.set("mode", Data::str(identity.mode.map_or(Mode::All, |mode| mode.value).as_str()));
    metadata.set_opt("model", model(subject, &mut out).map(Data::str));
    let behaviour = &subject.agent.behaviour;
    metadata.set_opt("temperature", behaviour.temperature.map(|value| Data::Float(value.value)));
    metadata.set_opt("steps", behaviour.max_turns.map(|value| Data::Int(value.value)));
    if behaviour.max_turns.is_some() {
        let detail = "`steps` only reminds the model; OpenCode goes on when it does not stop";
        out.lose("max_turns", LossKind::Gap, detail);
    }
    metadata.set("permission", permission(subject, settings, &mut out));
    dropped(subject, &mut out);
    let body = subject.prompt(&[PartKind::Prompt, PartKind::Context, PartKind::Rules]);
    let text = front::write(&subject.path, &metadata.build(), &body);
    out.files.push(File { path: format!(".opencode/agents/{}.md", subject.name), text });
    for skill in &subject.skills {
        copy(skill, &mut out);
    }
    out
}

/// The first model that names its provider, as OpenCode wants it.
fn model(subject: &Subject, out: &mut Rendered) -> Option<String> {
    let preferred = subject.agent.model.preferred.as_ref()?;
    let named = preferred.iter().find(|model| model.contains('/'));
    if named.is_none() || preferred.len() > 1 {
        out.lose("model", LossKind::Dropped, "OpenCode takes one model, as `provider/model`");
    }
    named.map(|model| model.value.clone())
}

/// What OpenCode has no place for.
fn dropped(subject: &Subject, out: &mut Rendered) {
    let identity = &subject.agent.identity;
    if identity.display_name.is_some() {
        let detail = "a `name` field would change the identifier of the agent";
        out.lose("display_name", LossKind::Dropped, detail);
    }
    if identity.tags.as_ref().is_some_and(|tags| !tags.is_empty()) {
        let detail = "OpenCode would send unknown fields to the model provider";
        out.lose("tags", LossKind::Dropped, detail);
    }
    if subject.agent.tools.mcp.as_ref().is_some_and(|servers| !servers.is_empty()) {
        let detail = "OpenCode has servers for all agents at once; add them to `opencode.json`";
        out.lose("tools.mcp", LossKind::Dropped, detail);
    }
}

/// Copies a skill to where OpenCode looks, unless it looks there already.
fn copy(skill: &Skill, out: &mut Rendered) {
    let found = |dir: &String| SKILLS.iter().any(|place| dir.starts_with(place));
    if skill.dir.as_ref().is_some_and(found) {
        return;
    }
    let Some(files) = &skill.files else {
        let detail = format!("the skill `{}` was not found", skill.name);
        out.lose("skills", LossKind::Dropped, detail);
        return;
    };
    for (path, bytes) in files {
        let path = format!(".opencode/skills/{}/{path}", skill.name);
        out.files.push(File { path, text: String::from_utf8_lossy(bytes).into_owned() });
    }
}
