//! Writes the files of agents for OpenCode.

use agentry_model::{
    Agent, Behaviour, Identity, Instructions, Mode, ModelChoice, Requirements, Tools,
};
use agentry_text::Data;
use agentry_text::data::MapBuilder;

use super::encode::permission;
use super::guard::PLUGIN;
use super::layers;
use crate::front;
use crate::rendering::{File, LossKind, Rendered, Rendering, Scope, Settings};
use crate::subject::{PartKind, Skill, Subject};

/// Directories of a project in which OpenCode finds skills by itself.
const SKILLS: &[&str] =
    &[".opencode/skill", ".opencode/skills", ".claude/skills", ".agents/skills"];

pub(super) fn render(subjects: &[Subject], settings: &Settings<'_>) -> Rendering {
    let agents: Vec<Rendered> = subjects.iter().map(|subject| agent(subject, settings)).collect();
    let mut shared = Vec::new();
    if settings.guard && agents.iter().any(|agent| agent.refused.is_none()) {
        shared.push(plugin(subjects));
    }
    Rendering { agents, shared }
}

/// Where OpenCode looks.
fn home(settings: &Settings<'_>) -> &'static str {
    match settings.scope {
        Scope::Project => ".opencode",
        Scope::User => ".config/opencode",
    }
}

fn agent(subject: &Subject, settings: &Settings<'_>) -> Rendered {
    let mut out = Rendered::default();
    let home = home(settings);
    let metadata = metadata(subject, settings, &mut out);
    lost(subject, &mut out);
    let body = subject.prompt(&[PartKind::Prompt, PartKind::Context, PartKind::Rules]);
    let text = front::write(&subject.path, &metadata, &body);
    let path = format!("{home}/agents/{}.md", subject.name);
    others(subject, settings, &path, &mut out);
    out.files.push(File { path, text });
    for skill in &subject.skills {
        copy(skill, settings, &mut out);
    }
    if settings.guard {
        limits_of_the_guard(settings, &mut out);
    }
    out
}

fn metadata(subject: &Subject, settings: &Settings<'_>, out: &mut Rendered) -> Data {
    let Agent { identity, behaviour, .. } = &subject.agent;
    let mut metadata = MapBuilder::new();
    metadata.str_opt("description", identity.description.as_ref().map(|text| &text.value));
    metadata.set("mode", Data::str(identity.mode.map_or(Mode::All, |mode| mode.value).as_str()));
    metadata.set_opt("model", model(&subject.agent.model, out).map(Data::str));
    metadata.set_opt("temperature", behaviour.temperature.map(|value| Data::Float(value.value)));
    // OpenCode would not even start with less than one.
    let steps = behaviour.max_turns.filter(|steps| steps.value > 0);
    metadata.set_opt("steps", steps.map(|value| Data::Int(value.value)));
    if steps.is_some() {
        let detail = "`steps` only reminds the model; OpenCode goes on when it does not stop";
        out.lose("max_turns", LossKind::Gap, detail);
    }
    metadata.set("permission", permission(subject, settings, out));
    metadata.build()
}

/// The first model that names its provider, as OpenCode wants it.
fn model(wanted: &ModelChoice, out: &mut Rendered) -> Option<String> {
    let preferred = wanted.preferred.as_ref()?;
    let named = preferred.iter().find(|model| model.contains('/'));
    if named.is_none() || preferred.len() > 1 {
        out.lose("model", LossKind::Dropped, "OpenCode takes one model, as `provider/model`");
    }
    named.map(|model| model.value.clone())
}

/// What OpenCode has no place for.
fn lost(subject: &Subject, out: &mut Rendered) {
    // No `..`: a new field of the model is placed or named here.
    let Agent {
        identity,
        inheritance: _,
        instructions,
        model: _,
        auth: _,
        behaviour,
        budget,
        requirements: Requirements { env, startup },
        policy: _,
        access_control: _,
        skills: _,
        skill_packs: _,
        tools,
        memory: _,
        memories,
        expose,
        agents: _,
        pipeline,
        schedules,
        settings: _,
        extensions: _,
        unknown: _,
    } = &subject.agent;
    let Identity { display_name, tags, .. } = identity;
    let Behaviour { on_error, temperature: _, max_turns: _ } = behaviour;
    let Tools { mcp, scripts, functions, native: _, source: _ } = tools;
    let Instructions { notes: _, .. } = instructions;
    let full = |list: bool| list;
    let fields = [
        ("display_name", display_name.is_some(), "a `name` field would change the identifier"),
        (
            "tags",
            full(tags.as_ref().is_some_and(|tags| !tags.is_empty())),
            "OpenCode would send unknown fields to the model provider",
        ),
        ("on_error", on_error.is_some(), "OpenCode decides by itself"),
        (
            "budget",
            budget.cost_limit.is_some() || budget.step_limit.is_some(),
            "OpenCode has no budget",
        ),
        (
            "required.env",
            env.as_ref().is_some_and(|env| !env.is_empty()),
            "nothing is checked before the start",
        ),
        ("required.startup", startup.is_some(), "nothing is checked before the start"),
        ("tools.scripts", !scripts.is_empty(), "OpenCode has no sandbox for them"),
        ("tools.functions", !functions.is_empty(), "OpenCode has no sandbox for them"),
        ("memories", !memories.is_empty(), "OpenCode has no memory"),
        ("expose", expose.is_some(), "OpenCode calls agents with free text"),
        ("pipeline", pipeline.is_some(), "OpenCode has no pipelines"),
        ("schedules", !schedules.is_empty(), "OpenCode has no schedules"),
    ];
    for (field, _, why) in fields.into_iter().filter(|(_, is_there, _)| *is_there) {
        out.lose(field, LossKind::Dropped, why);
    }
    let servers = mcp.iter().flatten().map(|server| format!("`{}`", server.name));
    let servers: Vec<_> = servers.collect();
    if !servers.is_empty() {
        let detail = format!(
            "OpenCode sets up servers for all agents at once; add {} to `mcp` in `opencode.json`",
            servers.join(", ")
        );
        out.lose("tools.mcp", LossKind::Dropped, detail);
    }
}

/// What else OpenCode would find under the name: it joins all of it.
fn others(subject: &Subject, settings: &Settings<'_>, path: &str, out: &mut Rendered) {
    let existing = |other: &str| (settings.existing)(other).filter(|_| other != path);
    if let Some(broken) = layers::broken(&existing) {
        let message =
            format!("`{broken}` cannot be read, so nobody knows what OpenCode makes of it");
        out.refuse("permissions", message, Some("mend the file first"));
    }
    for other in layers::places(&existing, &subject.name) {
        let detail =
            format!("`{other}` is about an agent of this name too: OpenCode joins the two");
        out.lose("name", LossKind::Gap, detail);
    }
}

/// Copies a skill to where OpenCode looks, unless it looks there already.
fn copy(skill: &Skill, settings: &Settings<'_>, out: &mut Rendered) {
    let Skill { name, files, dir } = skill;
    let finds = |dir: &String| SKILLS.iter().any(|place| dir.starts_with(place));
    if settings.scope == Scope::Project && dir.as_ref().is_some_and(finds) {
        return;
    }
    let Some(files) = files else {
        let detail = format!("the skill `{name}` was not found");
        out.lose("skills", LossKind::Dropped, detail);
        return;
    };
    for (path, bytes) in files {
        let Ok(text) = String::from_utf8(bytes.clone()) else {
            let detail = format!("`{path}` of the skill `{name}` is not text");
            out.lose("skills", LossKind::Dropped, detail);
            continue;
        };
        if path == "SKILL.md" && !is_complete(&text) {
            let detail = format!(
                "the skill `{name}` lacks `name` or `description`: OpenCode passes over it"
            );
            out.lose("skills", LossKind::Dropped, detail);
        }
        let path = format!("{}/skills/{name}/{path}", home(settings));
        out.files.push(File { path, text });
    }
}

/// Whether OpenCode would load a skill.
fn is_complete(text: &str) -> bool {
    let says = |metadata: &Data, key| metadata.get(key).and_then(Data::as_str).is_some();
    front::read(text).is_some_and(|(data, _)| says(&data, "name") && says(&data, "description"))
}

/// The plugin that puts the calls of all agents to the guard.
fn plugin(subjects: &[Subject]) -> File {
    let definition = |subject: &Subject| Data::strings([&subject.path, &subject.digest]).to_json();
    let agents: serde_json::Map<_, _> =
        subjects.iter().map(|subject| (subject.name.clone(), definition(subject))).collect();
    let agents = serde_json::Value::Object(agents).to_string();
    let mark = front::MARK.replacen('#', "//", 1);
    let text = format!("{mark}the definitions of its agents\n{PLUGIN}");
    File {
        path: ".opencode/plugins/agentry-guard.js".to_owned(),
        text: text.replace("__AGENTS__", &agents),
    }
}

/// What the guard cannot help.
fn limits_of_the_guard(settings: &Settings<'_>, out: &mut Rendered) {
    if settings.scope == Scope::User {
        let hint = "render for the project, or without `--guard`";
        out.refuse("guard", "the guard needs the project in which the definition is", Some(hint));
    }
    let limits = [
        "OpenCode waits for its plugin package at every start, over a minute without a network",
        "with `--pure`, or if the plugin is broken, OpenCode asks about everything that the guard would allow",
    ];
    for detail in limits {
        out.lose("guard", LossKind::Gap, detail);
    }
}
