//! Writes the files of agents for Copilot.

use agentry_model::{McpServer, Mode};
use agentry_policy::compare::Example;
use agentry_policy::{Action, Rules, Section, SectionRules};
use agentry_text::Data;
use agentry_text::data::MapBuilder;

use super::tools::{self, READING, TOOLS};
use super::{BLIND, KEPT, NAME, TARGET};
use crate::encoding::View;
use crate::front;
use crate::gap::gaps;
use crate::kept::{self, may_have};
use crate::model::always;
use crate::proof::action;
use crate::protection::protects;
use crate::render::each;
use crate::rendering::{File, LossKind, Rendered, Rendering, Scope, Settings};
use crate::servers::Variables;
use crate::subject::{PartKind, Subject};
use crate::{lenient, loss, own_words, servers, skills};

/// The longest prompt that Copilot takes, in characters.
const LONGEST: usize = 30_000;

/// Directories in which Copilot finds skills by itself.
const SKILLS: &[&str] = &[".github/skills", ".claude/skills", ".agents/skills"];

pub(super) fn render(subjects: &[Subject], settings: &Settings<'_>) -> Rendering {
    let agents = each(subjects, |subject| agent(subject, settings));
    Rendering { agents, shared: Vec::new() }
}

fn agent(subject: &Subject, settings: &Settings<'_>) -> Rendered {
    let mut out = Rendered::default();
    let identity = &subject.agent.identity;
    let mut metadata = MapBuilder::new();
    let shown = identity.display_name.as_ref().map_or(subject.name.as_str(), |name| &name.value);
    metadata.set("name", Data::str(shown));
    metadata.set("description", Data::str(subject.description()));
    match identity.mode.map(|mode| mode.value) {
        Some(Mode::Primary) => drop(metadata.set("disable-model-invocation", Data::Bool(true))),
        Some(Mode::Subagent) => drop(metadata.set("user-invocable", Data::Bool(false))),
        Some(Mode::All) | None => {}
    }
    metadata.set_opt("model", model(subject, &mut out));
    let servers = permitted(subject, &mut out);
    let names = tools(subject, settings, &servers);
    metadata.set("tools", Data::strings(names));
    let written = servers.iter().map(|server| (server.name.clone(), written(server)));
    metadata.set_full("mcp-servers", Data::Map(written.collect()));
    kept::write(subject, NAME, KEPT, &mut metadata);
    let metadata = own_words::applied(subject, metadata.build());
    losses(subject, &tools::listed(&metadata), &mut out);
    let body = subject.prompt(&[PartKind::Prompt, PartKind::Context, PartKind::Rules]);
    length(&body, &mut out);
    let text = front::write(&subject.origin(), &metadata, &body);
    let [project, user] = [".github", ".copilot"];
    let root = if settings.scope == Scope::User { user } else { project };
    out.files.push(File::new(format!("{root}/agents/{}.agent.md", subject.name), text));
    let plain = format!("{root}/agents/{}.md", subject.name);
    if settings.existing.text(&plain).is_some() {
        out.rival(plain, "Copilot", settings);
    }
    skills::copy(subject, SKILLS, &format!("{root}/skills"), &mut out);
    out
}

/// The tools that the agent may use for everything that they do.
fn tools(subject: &Subject, settings: &Settings<'_>, servers: &[&McpServer]) -> Vec<String> {
    let fits = |tool: &str, sections: &[Section]| {
        sections.iter().all(|section| {
            let layers = tools::layers(tool, *section);
            let safe = || !settings.close_gaps || protects(subject, *section, &layers);
            subject.permits(*section, &layers) && safe()
        })
    };
    let has = |tool: &str| may_have(subject, NAME, &[READING.to_vec()], tool);
    let fitting = TOOLS.iter().filter(|(tool, sections)| has(tool) && fits(tool, sections));
    let mut names: Vec<String> = fitting.map(|(tool, _)| (*tool).to_owned()).collect();
    names.extend(servers.iter().map(|server| format!("{}/*", server.name)));
    if settings.close_gaps {
        let open = |section| temporary(subject, section) == Action::Allow;
        let blind = !gaps(subject, &tools::of(&names, View::Mildest), BLIND).is_empty();
        names.retain(|name| match name.as_str() {
            "execute" => !blind,
            "read" | "search" => open(Section::Read),
            "edit" => open(Section::Edit),
            _ => true,
        });
    }
    names
}

/// The servers all of whose tools the agent may use.
fn permitted<'a>(subject: &'a Subject, out: &mut Rendered) -> Vec<&'a McpServer> {
    let all = subject.agent.tools.mcp.iter().flatten();
    let used = all.map(|server| &server.value).filter(|it| it.enabled.is_none_or(|it| it.value));
    let given = match own_words::given(subject, "tools").map(|word| &word.value) {
        Some(Some(list)) => lenient::words(list).unwrap_or_default(),
        // Without a list it has all tools.
        Some(None) => vec!["*".to_owned()],
        None => Vec::new(),
    };
    let mut permitted = Vec::new();
    for server in used {
        let name = format!("{}/*", server.name);
        let is_given = given.iter().any(|tool| *tool == name || tool == "*");
        if is_given || subject.permits(Section::Mcp, &[tools::server(&name)]) {
            servers::references(server, out);
            permitted.push(server);
        } else {
            let name = &server.name;
            let detail =
                format!("not all tools of the server `{name}` are allowed: it is left out");
            out.lose("tools.mcp", LossKind::Dropped, detail);
        }
    }
    permitted
}

/// A server in the words of Copilot.
fn written(server: &McpServer) -> Data {
    let kind = if server.url.is_some() { "http" } else { "local" };
    let mut entries = vec![("type".to_owned(), Data::str(kind))];
    if let Data::Map(more) = servers::write(server, "url", Variables::Untouched) {
        entries.extend(more);
    }
    entries.push(("tools".to_owned(), Data::strings(["*"])));
    Data::Map(entries)
}

/// What the agent may do less than its source says, and what is not looked at.
fn losses(subject: &Subject, names: &[String], out: &mut Rendered) {
    let model = tools::of(names, View::Mildest);
    loss::toolless(subject, &model, None, out);
    for section in Section::ALL.iter().filter(|section| **section != Section::Env) {
        let ways = model.ways.iter().filter(|way| way.section == *section);
        let layers: Option<&[Rules]> = ways.map(|way| way.layers.as_slice()).next();
        let nothing = [always(*section, Action::Deny, "no such tool")];
        match section {
            // Said by what becomes of files.
            Section::ExternalDirectory => {}
            Section::Question | Section::Skill => dropped(subject, *section, out),
            _ => loss::compare(subject, *section, layers.unwrap_or(&nothing), None, out),
        }
    }
    for section in [Section::Read, Section::Edit] {
        let action = temporary(subject, section);
        if action > Action::Allow && model.ways.iter().any(|way| way.section == section) {
            let detail = format!(
                "temporary files: Copilot CLI does not ask about them; `/tmp/x` is {action} in the \
                 source and allow there"
            );
            out.lose(format!("permissions.{section}"), LossKind::Gap, detail);
        }
    }
    let agent = &subject.agent;
    let fields = [
        ("tags", agent.identity.tags.as_ref().is_some_and(|tags| !tags.is_empty())),
        ("max_turns", agent.behaviour.max_turns.is_some()),
        ("temperature", agent.behaviour.temperature.is_some()),
    ];
    for (field, _) in fields.iter().filter(|(_, is_set)| *is_set) {
        out.lose(*field, LossKind::Dropped, "Copilot has no place for it");
    }
}

/// Copilot has no tool for it that an agent could be given.
fn dropped(subject: &Subject, section: Section, out: &mut Rendered) {
    let rules = subject.permissions.get(section);
    let allows =
        |rules: &SectionRules| rules.section.span.is_written() && rules.mildest() == Action::Allow;
    if rules.is_some_and(allows) {
        let detail = format!("{} says nothing about it", TARGET.title);
        out.lose(format!("permissions.{section}"), LossKind::Dropped, detail);
    }
}

/// What the source says of temporary files, which the command line of Copilot takes for a part of the
/// workspace.
fn temporary(subject: &Subject, section: Section) -> Action {
    let bounds = subject.bounds(section);
    let rules: Vec<&Rules> = bounds.iter().collect();
    action(&rules, &Example::Text("/tmp/x".to_owned()))
}

/// The first model that is named without its provider, as Copilot wants it; the list that an agent had.
fn model(subject: &Subject, out: &mut Rendered) -> Option<Data> {
    let preferred = subject.agent.model.preferred.as_ref()?;
    let all = Data::strings(preferred.iter().map(|model| &model.value));
    if preferred.len() > 1 && kept::is(subject, NAME, "model", &all) {
        return Some(all);
    }
    let plain = preferred.iter().map(|model| &model.value).find(|model| !model.contains('/'));
    let plain = kept::model(subject, NAME).or_else(|| plain.cloned());
    if plain.is_none() || preferred.len() > 1 {
        out.lose("model", LossKind::Dropped, "Copilot takes one model, by its own name for it");
    }
    plain.map(Data::str)
}

fn length(body: &str, out: &mut Rendered) {
    let found = body.chars().count();
    if found > LONGEST {
        let message = format!("the prompt has {found} characters; Copilot takes at most {LONGEST}");
        out.refuse("instructions", message, Some("move parts of it into a skill"));
    }
}
