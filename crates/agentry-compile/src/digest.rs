//! The digests of an agent, computed from its content.

use std::borrow::Cow;

use agentry_formats::{AgentPackage, info};
use agentry_model::{Agent, Inheritance, digest as full_digest, tree};
use agentry_text::{Data, Spanned, limits, path, table};

use crate::files::WorldFiles;
use crate::pipeline::CompiledAgent;
use crate::prompt::files;
use crate::show::{join_rules, resolved};
use crate::world::World;

/// The digests of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDigest {
    /// `ag1:…`, for a manifest that is valid by the rules of its format.
    pub short: Option<String>,
    /// `sha256:…` of the canonical form.
    pub full: String,
}

/// The full digest of an agent. Agents with the same meaning have the same digest.
pub fn digest(world: &dyn World, compiled: &CompiledAgent) -> String {
    digest_of(world, compiled, resolved(compiled))
}

/// The full digest of an agent whose defaults are already filled in.
pub(crate) fn digest_of(
    world: &dyn World,
    compiled: &CompiledAgent,
    mut resolved: Agent,
) -> String {
    // Policy tests change nothing, and an inherited value counts as if it were written here.
    resolved.policy.tests.clear();
    if compiled.whole.is_some() {
        resolved.inheritance = Inheritance::default();
        join_rules(&mut resolved);
    }
    let mut data = tree::tree(&resolved).to_data();
    // The texts of named files are part of the instructions.
    let mut parts = Vec::new();
    files(world, compiled, &mut parts);
    if let Data::Map(entries) = &mut data
        && !parts.is_empty()
    {
        let texts = parts.iter().map(|part| part.text.as_str());
        entries.push(("file_texts".to_owned(), Data::strings(texts)));
    }
    // Scripts of the workspace are code of the agent as well.
    let scripts = workspace_scripts(world, compiled);
    if let Data::Map(entries) = &mut data
        && !scripts.is_empty()
    {
        entries.push(("script_texts".to_owned(), Data::strings(scripts.iter())));
    }
    if let (Some(table), Data::Map(entries)) = (info(compiled.found.format).settings, &mut data) {
        for (_, settings) in entries.iter_mut().filter(|(key, _)| key == "settings") {
            *settings = table::meaning(table, std::mem::replace(settings, Data::Null));
        }
    }
    full_digest::full(&meaning(data, ""))
}

/// The texts of the scripts that are not in the agent's directory.
fn workspace_scripts(world: &dyn World, compiled: &CompiledAgent) -> Vec<String> {
    let scripts = compiled.whole().tools.scripts.iter();
    let paths = scripts.filter(|script| script.source.is_none()).filter_map(|it| it.path.as_ref());
    let read = |path: &Spanned<String>| {
        let root = &compiled.workspace;
        let bytes = world.read(root, &path::join(root, path), limits::FILE_BYTES).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    paths.filter_map(read).collect()
}

/// The canonical form without differences that do not matter: empty lists and blocks, line ends, the
/// order of abilities, scopes and hosts, the spelling of scopes, and default verdicts.
fn meaning(data: Data, field: &str) -> Data {
    match data {
        Data::Str(text) if text.contains('\r') => Data::Str(text.replace("\r\n", "\n")),
        Data::List(items) => {
            let mut items: Vec<_> = items.into_iter().map(|item| meaning(item, "")).collect();
            // `./notes` and `notes` are the same scope.
            if field == "trust.scope" {
                items.iter_mut().for_each(plain_scope);
            }
            // These lists are sets: their order and duplicates have no meaning.
            if field.starts_with("abilities.") || matches!(field, "trust.scope" | "trust.hosts") {
                items.sort_by_key(|item| item.as_str().map(str::to_owned));
                items.dedup();
            }
            Data::List(items)
        }
        Data::Map(entries) => {
            // With a base, an empty value overrides an inherited one, so it matters.
            let based = entries.iter().any(|(key, _)| key == "base");
            let entry = |(key, value): (String, Data)| {
                let path = match field {
                    "" => Cow::Borrowed(key.as_str()),
                    _ => Cow::Owned(format!("{field}.{key}")),
                };
                let value = meaning(value, &path);
                let is_empty_field = (!based && (value.is_empty() || path == "merge"))
                    || is_given_anyway(&path, &value);
                (!is_empty_field).then_some((key, value))
            };
            Data::Map(entries.into_iter().filter_map(entry).collect())
        }
        other => other,
    }
}

fn plain_scope(scope: &mut Data) {
    if let Data::Str(written) = scope {
        *written = path::shortest(written).into_owned();
    }
}

/// Whether a section only sets `ask`, which is its default. For reading the default is another.
fn is_given_anyway(path: &str, value: &Data) -> bool {
    let Data::Map(entries) = value else { return false };
    let [(key, action)] = entries.as_slice() else { return false };
    path.starts_with("permissions.")
        && path != "permissions.read"
        && key == "intent"
        && action.as_str() == Some("ask")
}

/// Both digests of an agent.
pub fn hash(world: &dyn World, compiled: &CompiledAgent) -> AgentDigest {
    AgentDigest { short: short(world, compiled), full: digest(world, compiled) }
}

/// The short digest `ag1:…` of a manifest as written, if it is valid by its format's rules.
pub(crate) fn short(world: &dyn World, compiled: &CompiledAgent) -> Option<String> {
    let mut files = WorldFiles::new(world, &compiled.found.dir, compiled.workspace.clone());
    let mut package = AgentPackage {
        main: compiled.found.main.clone(),
        dir_name: String::new(),
        dir: String::new(),
        files: &mut files,
    };
    info(compiled.found.format).short_digest.and_then(|digest| digest(&mut package))
}
