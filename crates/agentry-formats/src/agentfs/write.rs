//! Writes an agent as a folder of AgentFS.

use agentry_model::{
    Agent, AgentIdentity, AgentInstructions, AgentTools, ConversionLoss, ConversionLossKind,
    Declared, McpServer, slug,
};
use agentry_policy::ToolPermissions;
use agentry_text::data::MapBuilder;
use agentry_text::table::{Coercion, full_version, is_extension, validate};
use agentry_text::{Data, FileId, Findings, Span, Spanned, TreeNode, json};

use super::fields::{NEWER, SETTINGS};
use super::permissions::{self, ToolLists};
use super::read::{OLD_FIELDS, is_slug, is_uuid};
use super::{memory, schedules, tools};
use crate::policy_tests;
use crate::skill::{self, SkillDialect};
use crate::text_checks::one_line;
use crate::{WriteTarget, WrittenFiles, mcp};

/// Writes `agent` as a folder.
pub(super) fn write(agent: &Agent, target: &WriteTarget) -> WrittenFiles {
    // No `..`: a new field of the model must be written here or left out deliberately.
    let Agent {
        identity: _,
        instructions,
        skill_packs,
        memories,
        unknown,
        // `definition`, `schedules::write` and `tools::write` write these.
        model: _,
        policy: _,
        access_control: _,
        tools: _,
        schedules: _,
        settings: _,
        extensions: _,
        // The format has no fields for these.
        inheritance: _,
        auth: _,
        behaviour: _,
        budget: _,
        requirements: _,
        skills: _,
        memory: _,
        expose: _,
        agents: _,
        pipeline: _,
    } = agent;
    let mut notes = Vec::new();
    let definition = definition(agent, target, &mut notes);
    let role = could_be_anything(&definition).then(|| made_up(&agent.identity, target));
    let mut files = vec![("agent.json".to_owned(), json::emit(&definition))];
    texts(instructions, role, &mut files);
    for (at, file) in memories.iter().enumerate() {
        let path = free(&files, "memory/", &memory::safe_path(&file.path, at), ".md");
        files.push((path, memory::write(file, unknown)));
    }
    for pack in skill_packs {
        let path = free(&files, "skills/", &skill::folder_path(pack), "/SKILL.md");
        files.push((path, skill::write(pack, SkillDialect::AgentFs)));
    }
    files.extend(schedules::write(agent));
    tools::write(agent, &mut files);
    WrittenFiles { files, notes }
}

/// Returns the path, with a number before `suffix` if another file has the path already.
fn free(files: &[(String, String)], dir: &str, path: &str, suffix: &str) -> String {
    let stem = path.strip_suffix(suffix).unwrap_or(path);
    let numbered = (2_usize..).map(|number| format!("{dir}{stem}-{number}{suffix}"));
    let mut names = std::iter::once(format!("{dir}{path}")).chain(numbered);
    let is_free = |path: &String| !files.iter().any(|(taken, _)| taken == path);
    names.find(is_free).unwrap_or_default()
}

/// Whether `agent.json` has no field that only this format has. Then detection needs a persona beside it.
fn could_be_anything(definition: &Data) -> bool {
    const COMMON: &[&str] =
        &["id", "name", "version", "description", "author", "avatar", "extensions"];
    let Data::Map(entries) = definition else { return false };
    entries.iter().all(|(key, _)| COMMON.contains(&key.as_str()) || is_extension(key))
}

/// Returns a persona for an agent that has none.
fn made_up(identity: &AgentIdentity, target: &WriteTarget) -> String {
    let described = text(&identity.description).filter(|text| !text.trim().is_empty());
    described.cloned().unwrap_or_else(|| format!("You are {}.", shown_name(identity, target)))
}

fn texts(
    instructions: &AgentInstructions,
    role: Option<String>,
    files: &mut Vec<(String, String)>,
) {
    let AgentInstructions {
        system,
        rules,
        // It is in the system text.
        system_override: _,
        // `definition` writes these.
        traits: _,
        // The format has no fields for these.
        base_rules: _,
        notes: _,
        context: _,
        rule_files: _,
    } = instructions;
    let system = system.as_ref().map(|text| text.value.clone());
    // Principles beside `agent.json` are enough for detection.
    let role = role.filter(|_| rules.is_none());
    let rules = rules.as_ref().map(|text| text.value.clone());
    for (path, text) in [("persona.md", system.or(role)), ("principles.md", rules)] {
        if let Some(text) = text {
            files.push((path.to_owned(), format!("{}\n", text.trim())));
        }
    }
}

/// Returns the content of `agent.json`.
fn definition(agent: &Agent, target: &WriteTarget, notes: &mut Vec<ConversionLoss>) -> Data {
    let lists = permissions::lists(&agent.policy, &target.place, notes);
    let mut out = MapBuilder::new();
    identity(agent, target, &mut out, notes);
    let access = agent.access_control.as_ref().filter(|data| fits("access_control", data));
    out.set_opt("access_control", access.map(|data| data.value.clone()));
    out.set_opt("avatar", avatar(agent));
    out.set_opt("llm", llm(agent));
    out.set_opt("tool_permissions", lists.tools.as_ref().map(tool_lists));
    out.set_opt("mcp_servers", servers(&agent.tools, &lists, notes));
    settings(agent, &lists, &mut out);
    out.set_opt(policy_tests::KEY, policy_tests::to_data(&agent.policy.tests));
    extensions(agent, &mut out);
    let Data::Map(mut entries) = out.build() else { return Data::Map(Vec::new()) };
    older_or_newer(agent, &mut entries);
    entries.sort_by_key(|(key, _)| place(key));
    Data::Map(entries)
}

/// Returns the position of a field: the id first, then the order of the table, then unknown fields.
fn place(key: &str) -> usize {
    let first = ["$schema", "id"];
    let documented = || NEWER.fields.iter().position(|field| field.name == key);
    let after = |at: usize| first.len() + at;
    let place = first.iter().position(|name| *name == key).or_else(|| documented().map(after));
    place.unwrap_or(usize::MAX)
}

fn identity(
    agent: &Agent,
    target: &WriteTarget,
    out: &mut MapBuilder,
    notes: &mut Vec<ConversionLoss>,
) {
    let AgentIdentity {
        name: _,
        display_name: _,
        description,
        version,
        author,
        role,
        greeting,
        risk_level,
        // `avatar` writes these.
        icon: _,
        avatar: _,
        // The format has no fields for these.
        category: _,
        license: _,
        tags: _,
        status: _,
        mode: _,
    } = &agent.identity;
    let shown = shown_name(&agent.identity, target);
    out.str_opt("id", id(agent, &shown));
    out.set("name", Data::Str(shown));
    out.str_opt("version", version.as_ref().and_then(|version| comparable(version, notes)));
    out.str_opt("description", text(description));
    out.str_opt("role", text(role));
    out.str_opt("author", text(author));
    let traits = agent.instructions.traits.as_ref();
    out.set_opt("traits", traits.map(|list| Data::strings(list.iter().map(|item| &item.value))));
    out.str_opt("risk_level", risk_level.as_ref().map(|risk| risk.as_str()));
    out.str_opt("greeting", text(greeting));
}

fn text(field: &Declared<String>) -> Option<&String> {
    field.as_ref().map(|text| &text.value)
}

/// Returns the display name: on one line, and never empty.
fn shown_name(identity: &AgentIdentity, target: &WriteTarget) -> String {
    let names = [text(&identity.display_name), text(&identity.name), Some(&target.name)];
    let names = names.into_iter().flatten().map(|name| one_line(name));
    let mut names = names.filter(|name| !name.trim().is_empty());
    names.next().unwrap_or_else(|| "Agent".to_owned())
}

/// Returns the id: the original one, or the name if it is not the slug of the display name.
fn id(agent: &Agent, shown: &str) -> Option<String> {
    if let Some(id) = agent.setting("id").and_then(Data::as_str) {
        return Some(id.to_owned());
    }
    let name = text(&agent.identity.name)?;
    let id = if is_slug(name) && !is_uuid(name) { name.clone() } else { slug(name) };
    (!id.is_empty() && id != slug(shown)).then_some(id)
}

/// Returns a semantic version: `1.0` becomes `1.0.0`, and any other text is left out.
fn comparable(version: &Spanned<String>, notes: &mut Vec<ConversionLoss>) -> Option<String> {
    let found = full_version(version);
    let detail = match &found {
        Some(found) if *found == version.value => return Some(found.clone()),
        Some(found) => format!("`{}` became `{found}`", version.value),
        None => format!("`{}` is not a semantic version", version.value),
    };
    let kind =
        if found.is_some() { ConversionLossKind::Changed } else { ConversionLossKind::Dropped };
    notes.push(ConversionLoss { field: "version".to_owned(), kind, detail });
    found
}

/// Returns the entries of the setting `name`, if they are valid in this format.
fn block<'a>(agent: &'a Agent, name: &str) -> &'a [(String, Data)] {
    match agent.setting(name) {
        Some(data @ Data::Map(entries)) if fits(name, data) => entries,
        _ => &[],
    }
}

/// Whether `data` is valid for the field `name`; another format may have a setting of that name.
fn fits(name: &str, data: &Data) -> bool {
    let mut document = MapBuilder::new();
    document.set("name", Data::str("x")).set(name, data.clone());
    let node = TreeNode::from_data(&document.build(), Span::start_of(FileId::BUILT_IN));
    let mut findings = Findings::default();
    validate(&NEWER, &node, Coercion::Strict, &mut findings);
    !findings.has_errors()
}

fn avatar(agent: &Agent) -> Option<Data> {
    let own = block(agent, "avatar");
    let given = agent.setting("avatar").is_some_and(|data| fits("avatar", data));
    let (icon, avatar) = (&agent.identity.icon, &agent.identity.avatar);
    let mut out = MapBuilder::new();
    out.str_opt("char", text(icon));
    let path =
        avatar.as_ref().map(|path| MapBuilder::new().set("path", Data::str(&path.value)).build());
    let taken = [("char", icon.is_some()), ("image", avatar.is_some())];
    for (key, value) in own.iter().filter(|(key, _)| !taken.contains(&(key.as_str(), true))) {
        out.set(key, value.clone());
    }
    out.set_opt("image", path);
    (given || !out.is_empty()).then(|| out.build())
}

fn llm(agent: &Agent) -> Option<Data> {
    let own = block(agent, "llm");
    let given = agent.setting("llm").is_some_and(|data| fits("llm", data));
    let first = agent.model.preferred.as_ref().and_then(|models| models.first());
    let mut out = MapBuilder::new();
    if let Some(model) = first.filter(|model| !model.value.is_empty()) {
        match model.split_once('/').filter(|(left, right)| !left.is_empty() && !right.is_empty()) {
            Some((provider, name)) => {
                out.set("provider", Data::str(provider)).set("model", Data::str(name));
            }
            None => drop(out.set("model", Data::str(&model.value))),
        }
    }
    let taken = !out.is_empty();
    let free = |key: &str| !taken || !matches!(key, "provider" | "model");
    for (key, value) in own.iter().filter(|(key, _)| free(key)) {
        out.set(key, value.clone());
    }
    (given || !out.is_empty()).then(|| out.build())
}

fn tool_lists(tools: &ToolPermissions) -> Data {
    let ToolPermissions { allowed, denied } = tools;
    let list = |list: &Vec<Spanned<String>>| Data::strings(list.iter().map(|tool| &tool.value));
    let mut out = MapBuilder::new();
    out.set_opt("allowed", allowed.as_ref().map(list));
    out.set_opt("denied", denied.as_ref().map(list));
    out.build()
}

fn servers(tools: &AgentTools, lists: &ToolLists, notes: &mut Vec<ConversionLoss>) -> Option<Data> {
    let AgentTools { mcp: servers, native: _, scripts: _, functions: _, source: _ } = tools;
    let servers = servers.as_ref()?;
    if lists.no_mcp && !servers.is_empty() {
        notes.push(ConversionLoss {
            field: "tools.mcp".to_owned(),
            kind: ConversionLossKind::Narrowed,
            detail: "left out, because the policy denies MCP tools and no list can say so"
                .to_owned(),
        });
        return None;
    }
    let mut out: Vec<(String, Data)> = Vec::new();
    // A server has either a command or a URL; any other one would be an error in this format.
    let whole = |server: &&Spanned<McpServer>| server.command.is_some() != server.url.is_some();
    for server in servers.iter().filter(whole) {
        if !out.iter().any(|(name, _)| *name == server.name) {
            out.push((server.name.clone(), mcp::to_data(&server.value).build()));
        }
    }
    Some(Data::Map(out))
}

fn settings(agent: &Agent, lists: &ToolLists, out: &mut MapBuilder) {
    for name in SETTINGS {
        let own = agent.setting(name).filter(|data| fits(name, data));
        let closed = match *name {
            "file_security" if lists.inside_only => Some(("restrictToWorkDirs", true)),
            "command_authority" if lists.no_delegates => Some(("enabled", false)),
            _ => None,
        };
        match (own, closed) {
            (own, Some((key, value))) => {
                let mut entries = vec![(key.to_owned(), Data::Bool(value))];
                if let Some(Data::Map(own)) = own {
                    entries.extend(own.iter().filter(|(name, _)| name != key).cloned());
                }
                out.set(*name, Data::Map(entries));
            }
            (own, None) => drop(out.set_opt(*name, own.cloned())),
        }
    }
}

fn extensions(agent: &Agent, out: &mut MapBuilder) {
    let entry = |(name, data): &(String, Spanned<Data>)| (name.clone(), data.value.clone());
    let (top, inner): (Vec<_>, Vec<_>) =
        agent.extensions.iter().map(entry).partition(|(name, _)| is_extension(name));
    out.set_full("extensions", Data::Map(inner));
    let unknown = agent.unknown.iter().map(entry);
    let plain = |name: &str| !name.contains(['.', '/']) && NEWER.field(name).is_none();
    for (name, data) in top.into_iter().chain(unknown.filter(|(name, _)| plain(name))) {
        out.set(name, data);
    }
}

/// Adds an id if the definition would be taken for the older generation but lacks its required fields. Only
/// the newer generation has ids.
fn older_or_newer(agent: &Agent, entries: &mut Vec<(String, Data)>) {
    let has = |key: &str| entries.iter().any(|(name, _)| name == key);
    let looks_older = has("role") || has("risk_level");
    let is_older = has("role") && has("version");
    let newer = |key: &String| NEWER.field(key).is_some() && !OLD_FIELDS.contains(&key.as_str());
    if looks_older && !is_older && !entries.iter().any(|(key, _)| newer(key)) {
        let shown = entries.iter().find(|(name, _)| name == "name");
        let shown = shown.and_then(|(_, data)| data.as_str()).unwrap_or("agent");
        let id = Some(slug(agent.name())).filter(|id| is_slug(id)).unwrap_or_else(|| slug(shown));
        entries.insert(0, ("id".to_owned(), Data::Str(id)));
    }
}
