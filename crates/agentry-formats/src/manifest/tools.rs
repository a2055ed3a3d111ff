//! Skills and tools. Each entry is a name, a map with a `name`, or a map whose key is the name.

use agentry_model::{AgentTools, DeclaredList, McpServer, McpTransport, SkillRef};
use agentry_text::record::as_bool;
use agentry_text::suggestion::did_you_mean;
use agentry_text::table::{Coercion, is_extension, rules::UNKNOWN_FIELD, validate};
use agentry_text::{
    Data, Field, Findings, Span, Spanned, TableRecord, TreeEntry, TreeMap, TreeNode,
};

use super::read::{block, pairs, put, texts};
use super::rules::{SERVER_WITHOUT_NAME, SEVERAL_SERVERS, SKILL_WITHOUT_NAME};
use super::{fields, read, variables};
use crate::mcp;

/// Reads the skills that the manifest lists.
pub(super) fn skills(root: &TableRecord<'_>, findings: &mut Findings) -> DeclaredList<SkillRef> {
    let mut out = Vec::new();
    for node in root.list("skills")? {
        let skill = match (node.as_str(), node.as_map()) {
            (Some(name), _) => Some(plain_skill(name)),
            (None, Some(map)) => map_skill(map, node.span, findings),
            (None, None) => None,
        };
        out.extend(skill.map(|skill| Spanned::new(skill, node.span)));
    }
    Some(out)
}

fn plain_skill(name: &str) -> SkillRef {
    SkillRef { name: name.to_owned(), optional: false, options: Vec::new() }
}

fn map_skill(map: &TreeMap, span: Span, findings: &mut Findings) -> Option<SkillRef> {
    // With a `name`, no key of the map is taken as the name.
    let named = map.get("name").is_some();
    let name =
        if named { map.get("name")?.as_str() } else { first_name(map, fields::SKILL.fields) };
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        findings.add(&SKILL_WITHOUT_NAME, span, "the skill has no name").hint("add `name: …`");
        return None;
    };
    let mut skill = plain_skill(name);
    for TreeEntry { key, value } in &map.entries {
        match key.text.as_str() {
            "name" if named => {}
            "optional" => skill.optional = as_bool(value, Coercion::Lax).unwrap_or(false),
            key if !named && key == name => settings(value, &mut skill),
            key => put(&mut skill.options, key, value.to_data()),
        }
    }
    Some(skill)
}

/// Reads the settings of a skill from `{web-search: {…}}`.
fn settings(value: &TreeNode, skill: &mut SkillRef) {
    match value.to_data() {
        Data::Map(entries) => {
            for (key, data) in entries {
                match (key.as_str(), &data) {
                    ("optional", Data::Bool(optional)) => skill.optional = *optional,
                    _ => put(&mut skill.options, &key, data),
                }
            }
        }
        // `{web-search: }` has no settings.
        Data::Null => {}
        other => put(&mut skill.options, "value", other),
    }
}

/// Returns the first key that is not a field, which is the name of the entry.
fn first_name<'m>(map: &'m TreeMap, known: &[Field]) -> Option<&'m str> {
    let free = |entry: &&TreeEntry| known.iter().all(|field| field.name != entry.key.text);
    map.entries.iter().find(free).map(|entry| entry.key.text.as_str())
}

/// Reads the tools of the manifest.
pub(super) fn tools(root: &TableRecord<'_>, findings: &mut Findings) -> AgentTools {
    let Some(tools) = block(root, "tools", &fields::TOOLS) else { return AgentTools::default() };
    let mcp = tools.list("mcp").map(|items| {
        let each = |node| server(node, findings).map(|server| Spanned::new(server, node.span));
        items.iter().filter_map(each).collect()
    });
    AgentTools { native: texts(&tools, "native"), mcp, ..AgentTools::default() }
}

fn server(node: &TreeNode, findings: &mut Findings) -> Option<McpServer> {
    if let Some(name) = node.as_str() {
        mcp::check_name(name, node.span, findings);
        return Some(McpServer { name: name.to_owned(), ..McpServer::default() });
    }
    let map = node.as_map()?;
    if map.get("name").is_some() {
        unknown_keys(map, findings);
        let name = map.get("name")?;
        mcp::check_name(name.as_str()?, name.span, findings);
        return Some(settings_of_server(name.as_str()?, node, findings));
    }
    let names: Vec<_> = map.entries.iter().filter(|entry| is_name(entry)).collect();
    match names.as_slice() {
        [] => {
            findings
                .add(&SERVER_WITHOUT_NAME, node.span, "the MCP server has no name")
                .hint("add `name: …`");
            None
        }
        [first, others @ ..] => {
            // The same key twice is a repeated key, which the YAML parser reports.
            if let Some(second) = others.iter().find(|other| other.key.text != first.key.text) {
                let message =
                    format!("one entry names `{}` and `{}`", first.key.text, second.key.text);
                findings
                    .add(&SEVERAL_SERVERS, second.key.span, message)
                    .hint("give each server an entry of its own")
                    .related(first.key.span, "only this one is read");
            }
            mcp::check_name(&first.key.text, first.key.span, findings);
            validate(&fields::MCP_SERVER, &first.value, Coercion::Lax, findings);
            Some(settings_of_server(&first.key.text, &first.value, findings))
        }
    }
}

fn is_name(entry: &TreeEntry) -> bool {
    fields::MCP_SERVER.field(&entry.key.text).is_none()
}

fn unknown_keys(map: &TreeMap, findings: &mut Findings) {
    let table = &fields::MCP_SERVER;
    for entry in map.entries.iter().filter(|entry| is_name(entry)) {
        let key = &entry.key.text;
        if !is_extension(key) {
            findings
                .add(
                    &UNKNOWN_FIELD,
                    entry.key.span,
                    format!("{} has no field `{key}`", table.title),
                )
                .hint_opt(did_you_mean(key, table.names()));
        }
    }
}

/// Reads the server from the map of `node`. Keys without a field in the model become options.
fn settings_of_server(name: &str, node: &TreeNode, findings: &mut Findings) -> McpServer {
    let record = TableRecord::new(&fields::MCP_SERVER, node, Coercion::Lax);
    let mut options = Vec::new();
    for TreeEntry { key, value } in
        node.as_map().map(|map| map.entries.as_slice()).unwrap_or_default()
    {
        if fields::SERVER_OPTIONS.contains(&key.text.as_str())
            || fields::MCP_SERVER.field(&key.text).is_none()
        {
            put(&mut options, &key.text, variables::read_data(value.to_data()));
        }
    }
    McpServer {
        name: name.to_owned(),
        transport: read::word::<TransportSpelling>(&record, "transport")
            .map(|word| word.map(|word| word.0)),
        command: record.str("command"),
        args: texts(&record, "args"),
        url: record.str("url").map(|url| url.map(|url| variables::read(&url))),
        headers: variables::read_pairs(pairs(record.map("headers"))),
        env: variables::read_pairs(pairs(record.map("env"))),
        enabled: mcp::is_enabled(&record, findings),
        timeout: record.int("timeout"),
        options,
    }
}

/// The name of a transport in manifests, where `http` means streamable HTTP.
pub(super) struct TransportSpelling(pub(super) McpTransport);

impl TransportSpelling {
    const WORDS: [(&'static str, McpTransport); 3] = [
        ("stdio", McpTransport::Stdio),
        ("http", McpTransport::StreamableHttp),
        ("sse", McpTransport::Http),
    ];

    /// Returns the name.
    pub(super) fn word(&self) -> &'static str {
        let same = |(_, transport): &&(&str, McpTransport)| *transport == self.0;
        Self::WORDS.iter().find(same).map_or("stdio", |(word, _)| word)
    }
}

impl std::str::FromStr for TransportSpelling {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let same = |(word, _): &&(&str, McpTransport)| *word == text;
        Self::WORDS.iter().find(same).map(|(_, transport)| Self(*transport)).ok_or(())
    }
}
