//! Reads `agent.acl`: the model, the turn limit, MCP servers, and other blocks as settings.

use agentry_model::Agent;
use agentry_text::suggestion::did_you_mean;
use agentry_text::table::{Coercion, is_extension, validate};
use agentry_text::{
    Data, Findings, SourceFile, Span, Spanned, TableRecord, TreeEntry, TreeMap, TreeNode,
    TreeValue, acl,
};

use super::acl_fields::{ACL, PROVIDER};
use super::read::AgentDirReader;
use super::rules::{
    LITERAL_API_KEY, MISSING_LABEL, PROVIDER_CONNECTION, UNKNOWN_DEFAULT_MODEL, UNKNOWN_FUNCTION,
};
use crate::policy_tests;
use crate::{PathBase, PathPresence, agentry_block, mcp};

/// The name of the file.
pub(super) const FILE: &str = "agent.acl";
/// The block that only Agentry reads.
pub(super) const OWN_BLOCK: &str = "x_agentry";
/// The fields that the model has as well.
const MAPPED: &[&str] = &["default_model", "max_tool_rounds", "mcp_servers", "policy_tests"];
/// The connection of a provider, which a run ignores.
const CONNECTION: &[&str] = &["api_key", "base_url", "headers", "session_id_header"];

/// Reads `agent.acl`, if there is one.
pub(super) fn read(reader: &mut AgentDirReader<'_, '_>, agent: &mut Agent) {
    match reader.package.files.probe(PathBase::Agent, FILE) {
        PathPresence::Missing => return,
        PathPresence::Directory => return reader.directory_for_file(FILE),
        // `read` reports a link that leaves the workspace.
        PathPresence::File | PathPresence::Outside => {}
    }
    let Some(source) = reader.package.read(FILE, reader.findings) else { return };
    let mut node = acl::parse(&source, reader.findings);
    // Calls are checked first, because `without_calls` below replaces them by text.
    calls(&node, reader.findings);
    if let TreeValue::Map(map) = &mut node.value {
        labels(map, reader.findings);
        providers(map, reader.findings);
    }
    // Validation sees strings in place of calls; the settings keep the calls.
    let plain = without_calls(&node);
    validate(&ACL, &plain, Coercion::Strict, reader.findings);
    document(TableRecord::new(&ACL, &plain, Coercion::Strict), agent, reader.findings);
    carry(&node, agent, reader.findings);
}

/// Reads the fields that the model has.
fn document(record: TableRecord<'_>, agent: &mut Agent, findings: &mut Findings) {
    let model = record.str("default_model");
    if let Some(model) = &model {
        default_model(model, record, findings);
    }
    agent.model.preferred = model.map(|model| vec![model]);
    agent.behaviour.max_turns = record.int("max_tool_rounds").filter(|rounds| rounds.value >= 1);
    agent.policy.tests = policy_tests::read(&record, "policy_tests");
    let Some(servers) = record.map("mcp_servers") else { return };
    let list = agent.tools.mcp.get_or_insert_default();
    for entry in &servers.entries {
        if entry.value.as_map().is_some() {
            let record = TableRecord::new(&mcp::SERVER, &entry.value, Coercion::Strict);
            let name = Spanned::new(entry.key.text.clone(), entry.key.span);
            let server = mcp::read(record, &name, findings);
            list.push(Spanned::new(server, entry.key.span));
        }
    }
}

/// Keeps every other field as a setting, an extension or an unknown field.
fn carry(node: &TreeNode, agent: &mut Agent, findings: &mut Findings) {
    for TreeEntry { key, value } in
        node.as_map().map(|map| map.entries.as_slice()).unwrap_or_default()
    {
        let data = Spanned::new(value.to_data(), value.span);
        match ACL.field(&key.text) {
            Some(field) if MAPPED.contains(&field.name) => {}
            Some(field) => set(&mut agent.settings, field.name, data),
            // Before extensions, because `x_agentry` looks like one.
            None if is_own(&key.text) => own_block(value, agent, findings),
            None if is_extension(&key.text) => set(&mut agent.extensions, &key.text, data),
            None => set(&mut agent.unknown, &key.text, data),
        }
    }
}

/// Sets a name; for a repeated name, the last value wins.
fn set<T>(list: &mut Vec<(String, T)>, name: &str, value: T) {
    list.retain(|(other, _)| other != name);
    list.push((name.to_owned(), value));
}

pub(super) fn is_own(key: &str) -> bool {
    key.replace('-', "_").eq_ignore_ascii_case(OWN_BLOCK)
}

/// Reports every call that is not `env("NAME")`.
fn calls(node: &TreeNode, findings: &mut Findings) {
    match &node.value {
        TreeValue::Call(name, arguments) if name == "env" => {
            let variable = match arguments.as_slice() {
                [one] => one.as_str().filter(|name| !name.is_empty()),
                _ => None,
            };
            if variable.is_none() {
                let message = "`env` takes the name of one variable";
                findings.add(&UNKNOWN_FUNCTION, node.span, message).hint("write `env(\"NAME\")`");
            }
        }
        TreeValue::Call(name, _) => {
            findings
                .add(&UNKNOWN_FUNCTION, node.span, format!("there is no function `{name}`"))
                .hint("`env(\"NAME\")` is the only one");
        }
        TreeValue::List(items) => items.iter().for_each(|item| calls(item, findings)),
        TreeValue::Map(map) => map.entries.iter().for_each(|entry| calls(&entry.value, findings)),
        _ => {}
    }
}

/// Returns the variables that the block at `place` of an `agent.acl` names, each at the place of its name.
/// The file is parsed again, because `block`, which the model keeps, has no places inside.
pub fn variables(block: &Data, source: &SourceFile, place: Span) -> Vec<Spanned<String>> {
    let mut found = Vec::new();
    if has_call(block) {
        env_names(&acl::parse(source, &mut Findings::default()), source, &mut found);
        found.retain(|name| place.start <= name.span.start && name.span.end <= place.end);
    }
    found
}

fn has_call(data: &Data) -> bool {
    match data {
        Data::Call(..) => true,
        Data::List(items) => items.iter().any(has_call),
        Data::Map(entries) => entries.iter().any(|(_, value)| has_call(value)),
        _ => false,
    }
}

fn env_names(node: &TreeNode, source: &SourceFile, found: &mut Vec<Spanned<String>>) {
    match &node.value {
        TreeValue::Call(function, arguments) if function == "env" => {
            let Some(argument) = arguments.first() else { return };
            let Some(name) = argument.as_str() else { return };
            let at = source.slice(argument.span).find(name).unwrap_or(0);
            let start = argument.span.range().start + at;
            let span = Span::new(argument.span.file, start, start + name.len());
            found.push(Spanned::new(name.to_owned(), span));
        }
        TreeValue::List(items) => items.iter().for_each(|item| env_names(item, source, found)),
        TreeValue::Map(map) => {
            map.entries.iter().for_each(|entry| env_names(&entry.value, source, found));
        }
        _ => {}
    }
}

/// Returns the tree with strings instead of calls: `${env:NAME}`, as MCP servers write it.
pub(super) fn without_calls(node: &TreeNode) -> TreeNode {
    let value = match &node.value {
        TreeValue::Call(_, arguments) => {
            let name = arguments.first().and_then(TreeNode::as_str).unwrap_or("");
            TreeValue::Str(format!("${{env:{name}}}"))
        }
        TreeValue::List(items) => TreeValue::List(items.iter().map(without_calls).collect()),
        TreeValue::Map(map) => {
            let entry = |TreeEntry { key, value }: &TreeEntry| TreeEntry {
                key: key.clone(),
                value: without_calls(value),
            };
            let entries = map.entries.iter().map(entry).collect();
            TreeValue::Map(TreeMap { entries, ..map.clone() })
        }
        other => other.clone(),
    };
    TreeNode { value, ..node.clone() }
}

/// Reports blocks without their label, and removes those that cannot be read without it.
fn labels(map: &mut TreeMap, findings: &mut Findings) {
    for name in ["providers", "mcp_servers"] {
        labelled(map, name, findings);
    }
    for entry in &mut map.entries {
        if ACL.field(&entry.key.text).is_some_and(|field| field.name == "providers") {
            let TreeValue::Map(providers) = &mut entry.value.value else { continue };
            for provider in &mut providers.entries {
                if let TreeValue::Map(provider) = &mut provider.value.value {
                    labelled(provider, "models", findings);
                }
            }
        }
    }
}

fn labelled(map: &mut TreeMap, name: &str, findings: &mut Findings) {
    let same = |key: &str| agentry_text::table::KeyMatching::SnakeOrCamel.same(key, name);
    map.entries.retain(|entry| {
        let Some(blocks) = entry.value.as_map().filter(|_| same(&entry.key.text)) else {
            return true;
        };
        if blocks.labelled {
            return true;
        }
        findings
            .add(
                &MISSING_LABEL,
                entry.key.span,
                format!("the block `{}` has no label", entry.key.text),
            )
            .hint(format!("write `{} \"name\" {{ … }}`", entry.key.text));
        // A block that contains only blocks is kept: their names serve as labels.
        blocks.entries.iter().all(|entry| entry.value.as_map().is_some())
    });
}

/// Checks the connections of providers. A literal key is reported, and removed from the tree so that no
/// later message or output can show it.
fn providers(map: &mut TreeMap, findings: &mut Findings) {
    let providers = map
        .entries
        .iter_mut()
        .filter(|entry| ACL.field(&entry.key.text).is_some_and(|field| field.name == "providers"));
    for entry in providers {
        let TreeValue::Map(providers) = &mut entry.value.value else { continue };
        for provider in &mut providers.entries {
            connection(provider, findings);
            let TreeValue::Map(fields) = &mut provider.value.value else { continue };
            for models in fields.entries.iter_mut().filter(|entry| entry.key.text == "models") {
                let TreeValue::Map(models) = &mut models.value.value else { continue };
                models.entries.iter_mut().for_each(|model| connection(model, findings));
            }
        }
    }
}

/// Checks the connection of a provider, or of a model that has its own.
fn connection(block: &mut TreeEntry, findings: &mut Findings) {
    let TreeValue::Map(fields) = &mut block.value.value else { return };
    let name = |entry: &TreeEntry| PROVIDER.field(&entry.key.text).map_or("", |field| field.name);
    fields.entries.retain(|entry| {
        let literal =
            name(entry) == "api_key" && entry.value.as_str().is_some_and(|key| !key.is_empty());
        if literal {
            findings
                .add(&LITERAL_API_KEY, entry.value.span, "an API key is written out")
                .secret()
                .hint("remove it, and revoke the key if the file was shared");
        }
        !literal
    });
    for entry in fields.entries.iter().filter(|entry| name(entry) == "headers") {
        let headers = entry.value.as_map().map(|map| map.entries.as_slice()).unwrap_or_default();
        headers.iter().for_each(|header| mcp::check_secret(header, findings));
    }
    let ignored: Vec<_> =
        fields.entries.iter().filter(|entry| CONNECTION.contains(&name(entry))).collect();
    if let Some(first) = ignored.first() {
        let names: Vec<_> = ignored.iter().map(|entry| format!("`{}`", entry.key.text)).collect();
        let verb = if names.len() == 1 { "is" } else { "are" };
        let message =
            format!("{} of `{}` {verb} ignored when run", names.join(", "), block.key.text);
        findings
            .add(&PROVIDER_CONNECTION, first.key.span, message)
            .hint("addresses and keys come from the user's own configuration");
    }
}

/// Reports a default model that the file does not declare, if it declares any.
fn default_model(model: &Spanned<String>, record: TableRecord<'_>, findings: &mut Findings) {
    let Some(providers) = record.map("providers").filter(|map| !map.is_empty()) else { return };
    let (provider, id) = model.split_once('/').unwrap_or((model.value.as_str(), ""));
    let labels = |map: &TreeMap| -> Vec<String> {
        map.entries.iter().map(|entry| entry.key.text.clone()).collect()
    };
    let (message, near) = match providers.get(provider) {
        None => {
            let labels = labels(providers);
            let near = did_you_mean(provider, labels.iter().map(String::as_str));
            (format!("no provider `{provider}` is declared"), near)
        }
        Some(block) => {
            let record = TableRecord::new(&PROVIDER, block, Coercion::Strict);
            // A provider without listed models may have any.
            let Some(models) = record.map("models").filter(|map| !map.is_empty()) else { return };
            if models.get(id).is_some() {
                return;
            }
            let labels = labels(models);
            let near = did_you_mean(id, labels.iter().map(String::as_str));
            (format!("the provider `{provider}` declares no model `{id}`"), near)
        }
    };
    findings
        .add(&UNKNOWN_DEFAULT_MODEL, model.span, message)
        .hint(near.unwrap_or_else(|| "declare it, or name one that is declared".to_owned()));
}

/// Reads the block that only Agentry reads: settings that the format cannot express.
fn own_block(node: &TreeNode, agent: &mut Agent, findings: &mut Findings) {
    let plain = without_calls(node);
    agentry_block::read(&plain, findings).adopt(agent);
    let kept = agentry_block::kept_fields(&plain.to_data());
    if !kept.is_empty() {
        set(&mut agent.extensions, agentry_block::KEY, Spanned::new(kept, plain.span));
    }
    for entry in TableRecord::new(&agentry_block::X_AGENTRY, &plain, Coercion::Strict).unknown() {
        let data = Spanned::new(entry.value.to_data(), entry.value.span);
        set(&mut agent.unknown, &format!("{OWN_BLOCK}.{}", entry.key.text), data);
    }
}
