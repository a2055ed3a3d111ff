//! Renders agents for OpenCode, and the plugin that asks the guard.

use agentry_policy::Action;
use agentry_text::Data;

use super::NAME;
use super::encode::{ahead, permission};
use super::fields::FIELDS;
use super::grants::shown;
use super::guard::PLUGIN;
use super::layers;
use super::options;
use crate::fields::{self, report_losses};
use crate::front_matter;
use crate::harness_files::{ChangedFiles, FileChange, HarnessPath};
use crate::original::{OriginalFrontMatter, given};
use crate::render::each;
use crate::render_result::{
    LossKind, ProjectRendering, RenderScope, RenderSettings, RenderedAgent, RenderedFile,
};
use crate::skills;
use crate::subject::{BundledSkill, RenderSubject};

/// Directories of a project in which OpenCode finds skills itself.
const SKILLS: &[&str] =
    &[".opencode/skill", ".opencode/skills", ".claude/skills", ".agents/skills"];

pub(super) fn render(
    subjects: &[RenderSubject],
    settings: &RenderSettings<'_>,
) -> ProjectRendering {
    let renamed = layers::renamed(settings.existing);
    ahead(subjects);
    let agents = each(subjects, |subject| {
        let mut out = agent(subject, settings);
        let (own, others): (Vec<&String>, Vec<&String>) =
            renamed.get(&subject.name).into_iter().flatten().partition(|it| it.starts_with('~'));
        for rival in others {
            out.rival(rival.clone(), "OpenCode", settings);
        }
        // A file in the home directory is never replaced, so it is only reported.
        for other in own {
            let detail = format!("your own `{other}` has this name too: one of the two counts");
            out.lose("name", LossKind::Gap, detail);
        }
        taken(layers::above(settings.existing, &subject.name), &mut out);
        out
    });
    let mut shared = Vec::new();
    if settings.guard && agents.iter().any(|agent| agent.refused.is_none()) {
        shared.push(plugin(subjects, settings));
    }
    ProjectRendering { agents, shared, lines: Vec::new() }
}

/// Refuses an agent whose name another file uses with unknown precedence.
fn taken(rival: Option<String>, out: &mut RenderedAgent) {
    if let Some(rival) = rival {
        let message = format!("`{rival}` is about an agent of this name too, and may win");
        let hint = "remove it there, or give the agent an alias in `agentry.toml`";
        out.refuse("name", message, Some(hint));
    }
}

/// The directory that OpenCode reads in a scope.
fn home(settings: &RenderSettings<'_>) -> &'static str {
    match settings.scope {
        RenderScope::Project => ".opencode",
        RenderScope::User => ".config/opencode",
    }
}

fn agent(subject: &RenderSubject, settings: &RenderSettings<'_>) -> RenderedAgent {
    let mut out = RenderedAgent::default();
    let home = home(settings);
    let metadata = metadata(subject, settings, &mut out);
    report_losses(FIELDS, subject, &mut out);
    shared_servers(subject, &mut out);
    let body = subject.prompt();
    let text = front_matter::write(&subject.origin(), &metadata, &body);
    let path = format!("{home}/agents/{}.md", subject.name);
    others(subject, settings, &path, &mut out);
    out.files.push(RenderedFile::new(path, text));
    skills(subject, settings, &mut out);
    if settings.guard {
        limits_of_the_guard(settings, &mut out);
    }
    out
}

fn metadata(
    subject: &RenderSubject,
    settings: &RenderSettings<'_>,
    out: &mut RenderedAgent,
) -> Data {
    let as_written =
        given(subject, "permission").is_some_and(|it| is_kept(subject, it.value.as_ref()));
    // If the whole original block is restored, nothing was narrowed and nothing is reported.
    let mut unreported = RenderedAgent::default();
    let losses = if as_written { &mut unreported } else { &mut *out };
    let mut permission = permission(subject, settings, losses);
    if settings.unattended && !settings.guard {
        deny_questions(&mut permission);
    }
    let metadata = fields::write(FIELDS, (subject, NAME), vec![("permission", permission)], out);
    shown(with_options(subject, metadata))
}

/// Denies what would be asked about, also where a default of OpenCode asks.
fn deny_questions(rules: &mut Data) {
    match rules {
        Data::Map(entries) => entries.iter_mut().for_each(|(_, value)| deny_questions(value)),
        other if other.as_str() == Some(Action::Ask.as_str()) => {
            *other = Data::str(Action::Deny.as_str());
        }
        _ => {}
    }
}

/// Whether these are the permissions that the agent had when it was imported.
fn is_kept(subject: &RenderSubject, permission: Option<&Data>) -> bool {
    let kept = OriginalFrontMatter::of(&subject.agent, NAME).grants();
    kept.is_some_and(|kept| kept.get("permission") == permission)
}

/// Adds the fields that OpenCode passes on to the model provider, before the permissions.
fn with_options(subject: &RenderSubject, metadata: Data) -> Data {
    let Data::Map(mut entries) = metadata else { return metadata };
    let options = options::fields(subject).map(|(key, value)| (key.to_owned(), value.clone()));
    let rules = entries.iter().position(|(key, _)| matches!(key.as_str(), "permission" | "tools"));
    let rules = entries.split_off(rules.unwrap_or(entries.len()));
    entries.extend(options.chain(rules));
    Data::Map(entries)
}

/// Reports MCP servers: OpenCode has none for a single agent.
fn shared_servers(subject: &RenderSubject, out: &mut RenderedAgent) {
    let servers = subject.agent.tools.mcp.iter().flatten();
    let servers: Vec<_> = servers.map(|server| format!("`{}`", server.name)).collect();
    if !servers.is_empty() {
        let detail = format!(
            "OpenCode sets up servers for all agents at once; add {} to `mcp` in `opencode.json`",
            servers.join(", ")
        );
        out.lose("tools.mcp", LossKind::Dropped, detail);
    }
}

/// Reports other files about an agent of this name, which OpenCode merges.
fn others(
    subject: &RenderSubject,
    settings: &RenderSettings<'_>,
    path: &str,
    out: &mut RenderedAgent,
) {
    // The file that is about to be written must not count as another one.
    let own = HarnessPath::parse(path);
    let change =
        |other: HarnessPath<'_>| if other == own { FileChange::Hidden } else { FileChange::None };
    let existing = ChangedFiles { below: settings.existing, change: &change };
    if let Some(broken) = layers::broken(&existing) {
        let message = format!("`{broken}` cannot be read, so its effect in OpenCode is not known");
        out.refuse("permissions", message, Some("fix the file first"));
    }
    if let Some(rival) = layers::rival(&existing, &subject.name, path) {
        out.rival(rival, "OpenCode", settings);
    }
    let replaced = out.replaced.clone();
    let change = |other: HarnessPath<'_>| {
        let is_gone = replaced.contains(&other.to_string());
        if is_gone { FileChange::Hidden } else { FileChange::None }
    };
    let existing = ChangedFiles { below: &existing, change: &change };
    for other in layers::places(&existing, &subject.name) {
        let detail =
            format!("`{other}` is about an agent of this name too: OpenCode joins the two");
        out.lose("name", LossKind::Gap, detail);
    }
}

/// Copies the skills. Skills of a project are found in place, unless agents are rendered for the user.
fn skills(subject: &RenderSubject, settings: &RenderSettings<'_>, out: &mut RenderedAgent) {
    let known = if settings.scope == RenderScope::Project { SKILLS } else { &[] };
    let to = format!("{}/skills", home(settings));
    skills::copy(subject, known, &to, out);
    for BundledSkill { name, files, .. } in &subject.skills {
        let mut files = files.iter().flatten();
        let main = files.find(|(path, _)| path == "SKILL.md");
        let complete = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok_and(is_complete);
        if main.is_some_and(|(_, bytes)| !complete(bytes)) {
            let detail = format!(
                "the skill `{name}` lacks `name` or `description`: OpenCode passes over it"
            );
            out.lose("skills", LossKind::Dropped, detail);
        }
    }
}

/// Whether OpenCode would load a skill.
fn is_complete(text: &str) -> bool {
    let has_text = |metadata: &Data, key| metadata.get(key).and_then(Data::as_str).is_some();
    front_matter::read(text)
        .is_some_and(|(data, _)| has_text(&data, "name") && has_text(&data, "description"))
}

/// The plugin that asks the guard about the calls of all agents.
fn plugin(subjects: &[RenderSubject], settings: &RenderSettings<'_>) -> RenderedFile {
    let definition = |subject: &RenderSubject| {
        // The losses were already recorded when the agent was rendered.
        let rules = permission(subject, settings, &mut RenderedAgent::default());
        serde_json::json!([subject.guarded_path(), subject.digest, allowing(&rules)])
    };
    let agents: serde_json::Map<_, _> =
        subjects.iter().map(|subject| (subject.name.clone(), definition(subject))).collect();
    let agents = serde_json::Value::Object(agents).to_string();
    let mark = front_matter::MARK.replacen('#', "//", 1);
    let text = format!("{mark}the definitions of its agents\n{PLUGIN}");
    RenderedFile::new(".opencode/plugins/agentry-guard.js", text.replace("__AGENTS__", &agents))
}

/// Returns the keys of some rules in order, and whether each allows any call.
fn allowing(rules: &Data) -> Vec<(&str, bool)> {
    let Data::Map(entries) = rules else { return Vec::new() };
    let is_allow = |value: &Data| value.as_str() == Some(Action::Allow.as_str());
    entries.iter().map(|(key, value)| (key.as_str(), is_allow(value))).collect()
}

/// Reports what the guard cannot prevent.
fn limits_of_the_guard(settings: &RenderSettings<'_>, out: &mut RenderedAgent) {
    if settings.scope == RenderScope::User {
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
