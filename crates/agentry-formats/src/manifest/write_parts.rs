//! Writes the lists of a manifest, and the files beside it.

use agentry_model::{
    AgentInstructions, AgentRef, AgentTools, DeclaredList, ExposedFunction, McpServer, MemoryFile,
    PipelineStage, SkillPack, SkillRef,
};
use agentry_text::data::MapBuilder;
use agentry_text::{Data, Spanned, path};

use super::fields;
use super::packs::DIALECT;
use super::tools::TransportSpelling;
use super::variables;
use super::write::{text, texts, word};
use crate::skill;

pub(super) fn skills(skills: &DeclaredList<SkillRef>) -> Option<Data> {
    let list = skills.as_ref()?.iter().map(|skill| self::skill(&skill.value));
    Some(Data::List(list.collect()))
}

fn skill(SkillRef { name, optional, options }: &SkillRef) -> Data {
    if !optional && options.is_empty() {
        return Data::str(name);
    }
    let mut out = MapBuilder::new();
    out.set("name", Data::str(name));
    out.set_opt("optional", optional.then_some(Data::Bool(true)));
    // Options of another format must not override these two fields.
    for (key, value) in options.iter().filter(|(key, _)| key != "name" && key != "optional") {
        out.set(key, value.clone());
    }
    out.build()
}

pub(super) fn tools(tools: &AgentTools) -> MapBuilder {
    let AgentTools { native, mcp, scripts: _, functions: _, source: _ } = tools;
    let mut out = MapBuilder::new();
    let servers = mcp.as_ref().map(|list| list.iter().map(|server| self::server(&server.value)));
    out.set_opt("mcp", servers.map(|servers| Data::List(servers.collect())));
    out.set_opt("native", texts(native));
    out
}

/// Writes a name alone, `{name, command, …}`, or `{name: {settings}}` for additional settings.
fn server(server: &McpServer) -> Data {
    let McpServer { name, transport, command, args, url, headers, env, enabled, timeout, options } =
        server;
    let mut settings = MapBuilder::new();
    settings
        .set_opt("transport", transport.map(|it| Data::str(TransportSpelling(it.value).word())));
    settings.set_opt("command", text(command));
    settings.set_opt("args", texts(args));
    let url = url.as_ref().and_then(|url| variables::write(url));
    settings.str_opt("url", url);
    settings.set_full("env", variables(env));
    settings.set_full("headers", variables(headers));
    settings.set_opt("enabled", enabled.map(|enabled| Data::Bool(enabled.value)));
    settings.set_opt("timeout", timeout.map(|seconds| Data::Int(seconds.value.clamp(1, 86_400))));
    let is_field = |key: &str| fields::MCP_SERVER.field(key).is_some();
    let is_option = |key: &str| fields::SERVER_OPTIONS.contains(&key);
    let kept = options.iter().filter(|(key, _)| is_option(key) || !is_field(key));
    // Beside `name`, an additional setting would be reported as an unknown field.
    let own = kept.clone().any(|(key, _)| !is_option(key));
    for (key, value) in kept {
        settings.set_opt(key, variables::write_data(value));
    }
    match settings.build() {
        Data::Map(entries) if entries.is_empty() => Data::str(name),
        // A server whose name is also a field cannot be written as a key.
        settings if own && !is_field(name) => Data::Map(vec![(name.clone(), settings)]),
        Data::Map(entries) => {
            let name = ("name".to_owned(), Data::str(name));
            Data::Map(std::iter::once(name).chain(entries).collect())
        }
        other => other,
    }
}

fn pairs(pairs: &[(String, Spanned<String>)]) -> Data {
    Data::Map(pairs.iter().map(|(key, text)| (key.clone(), Data::str(&text.value))).collect())
}

/// Writes pairs whose values may refer to variables; a value that cannot be written is left out.
fn variables(pairs: &[(String, Spanned<String>)]) -> Data {
    let each = |(key, text): &(String, Spanned<String>)| {
        variables::write(text).map(|text| (key.clone(), Data::Str(text)))
    };
    Data::Map(pairs.iter().filter_map(each).collect())
}

/// Writes the functions; one without a name cannot be called and is left out.
pub(super) fn expose(expose: &DeclaredList<ExposedFunction>) -> Option<Data> {
    let each = |exposed: &Spanned<ExposedFunction>| {
        let ExposedFunction { name, description, input, output } = &exposed.value;
        let mut out = MapBuilder::new();
        out.set("name", text(name)?);
        out.set_opt("description", text(description));
        out.set_full("input", pairs(input));
        out.set_opt("output", text(output));
        Some(out.build())
    };
    Some(Data::List(expose.as_ref()?.iter().filter_map(each).collect()))
}

/// Writes other agents and the order of calls; entries without a reference or a call are left out.
pub(super) fn others(
    agents: &DeclaredList<AgentRef>,
    pipeline: &DeclaredList<PipelineStage>,
) -> MapBuilder {
    let agent = |agent: &Spanned<AgentRef>| {
        let AgentRef { name, reference, role } = &agent.value;
        let mut out = MapBuilder::new();
        out.set("ref", text(reference)?);
        out.set_opt("role", word(role));
        Some((name.clone(), out.build()))
    };
    let stage = |stage: &Spanned<PipelineStage>| {
        let PipelineStage { call, output } = &stage.value;
        let mut out = MapBuilder::new();
        out.set("call", text(call)?);
        out.set_opt("output", text(output));
        Some(out.build())
    };
    let mut out = MapBuilder::new();
    let agents = agents.as_ref().map(|list| list.iter().filter_map(agent).collect());
    out.set_opt("agents", agents.map(Data::Map));
    let pipeline = pipeline.as_ref().map(|list| list.iter().filter_map(stage).collect());
    out.set_opt("pipeline", pipeline.map(Data::List));
    out
}

pub(super) fn extensions(extensions: &[(String, Spanned<Data>)]) -> Option<Data> {
    let each = |(name, data): &(String, Spanned<Data>)| (name.clone(), data.value.clone());
    let full = !extensions.is_empty();
    full.then(|| Data::Map(extensions.iter().map(each).collect()))
}

/// Returns the files of a directory, the manifest first.
pub(super) fn directory(
    main: String,
    instructions: &AgentInstructions,
    skill_packs: &[SkillPack],
    memories: &[MemoryFile],
) -> Vec<(String, String)> {
    let mut files = vec![("agent.yaml".to_owned(), main)];
    let mut add = |path: String, text: Option<&Spanned<String>>| {
        files.extend(text.map(|text| (path, format!("{}\n", text.trim_end()))));
    };
    add("SOUL.md".to_owned(), instructions.system.as_ref());
    add("RULES.md".to_owned(), instructions.rules.as_ref());
    // A path from another format must not leave the directory.
    for memory in memories.iter().filter(|memory| path::is_plain(&memory.path)) {
        add(format!("memory/{}", memory.path), memory.text.as_ref());
    }
    for pack in skill_packs.iter().filter(|pack| path::is_plain(&pack.path)) {
        files.push((format!("skills/{}", pack.path), skill::write(pack, DIALECT)));
    }
    files
}
