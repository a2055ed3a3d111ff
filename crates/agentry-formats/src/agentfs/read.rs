//! Reads an agent: `agent.json` first, then the files beside it.

use agentry_model::{Agent, slug};
use agentry_policy::ToolPermissions;
use agentry_text::table::{Coercion, is_extension, validate};
use agentry_text::{
    Data, FieldTable, FileId, Findings, Fix, SourceFile, Span, Spanned, TableRecord, TreeEntry,
    TreeMap, TreeNode, json,
};

use super::fields::{AVATAR, DOCUMENT, IMAGE, LLM, NEWER, SETTINGS, TOOL_PERMISSIONS};
use super::rules::{
    DESCRIPTION_TOO_LONG, EMPTY_NAME, LEGACY_RUNTIME, NAME_TOO_LONG, ODD_ID, RESERVED_ID,
    TOOL_ALLOWED_AND_DENIED,
};
use super::{RESERVED, heartbeat, memory, receipt, schedules, texts, tools};
use crate::policy_tests;
use crate::skill::{self, SkillDialect};
use crate::{AgentPackage, agentry_block, mcp};

/// The longest name and description, in characters.
const LONGEST_NAME: usize = 50;
const LONGEST_DESCRIPTION: usize = 200;
/// The fields that both generations have.
pub(super) const OLD_FIELDS: &[&str] = &[
    "name",
    "version",
    "description",
    "role",
    "author",
    "traits",
    "risk_level",
    "greeting",
    "access_control",
    "extensions",
    policy_tests::KEY,
];

/// Reads the agent of `package`.
pub(super) fn read(package: &mut AgentPackage<'_>, findings: &mut Findings) -> Agent {
    let mut agent = Agent::default();
    let main = package.read_main(findings);
    let place = Span::start_of(main.as_ref().map_or(FileId::BUILT_IN, |source| source.id));
    let root = main.map(|source| definition(&source, &mut agent, findings));
    // An agent without a usable name is named after its directory.
    if agent.identity.name.is_none() && !package.dir_name.is_empty() {
        agent.identity.name = Some(Spanned::new(package.dir_name.clone(), place));
    }
    reserved(&agent, findings);
    texts::read(package, place, &mut agent, findings);
    memory::read(package, &mut agent, findings);
    agent.skill_packs = skill::read_all(package, "skills", SkillDialect::AgentFs, findings);
    schedules::read(package, &mut agent, findings);
    heartbeat::read(package, &mut agent, findings);
    tools::read(package, &mut agent, findings);
    receipt::check_all(package, findings);
    if let Some(root) = root {
        agentry_block::adopt(&mut agent, &root, findings);
    }
    agent
}

/// Reads `agent.json`, and returns its tree.
fn definition(source: &SourceFile, agent: &mut Agent, findings: &mut Findings) -> TreeNode {
    let node = json::parse(source, findings);
    validate(generation(&node), &node, Coercion::Strict, findings);
    // The newer table contains every field of the older one, so one reader serves both.
    let record = TableRecord::new(&NEWER, &node, Coercion::Strict);
    identity(record, agent, findings);
    agent.instructions.traits = record.list("traits").and_then(|_| record.strings("traits"));
    agent.access_control = record.data("access_control");
    model(record, agent, findings);
    avatar(record, agent);
    permissions(record, agent, findings);
    agent.policy.tests = policy_tests::read(&record, policy_tests::KEY);
    agent.tools.mcp = record.map("mcp_servers").map(|map| servers(map, findings));
    for name in SETTINGS {
        agent.settings.extend(record.data(name).map(|data| ((*name).to_owned(), data)));
    }
    extensions(record, agent);
    node
}

/// Returns the table that a definition is validated against: that of the specification if it has `role` or
/// `risk_level` and no newer field, else the newer one.
fn generation(node: &TreeNode) -> &'static FieldTable {
    let Some(map) = node.as_map() else { return &NEWER };
    let has = |key: &str| map.get(key).is_some();
    let newer = |entry: &TreeEntry| {
        let key = entry.key.text.as_str();
        NEWER.field(key).is_some() && !OLD_FIELDS.contains(&key)
    };
    let document = (has("role") || has("risk_level")) && !map.entries.iter().any(newer);
    if document { &DOCUMENT } else { &NEWER }
}

fn identity(record: TableRecord<'_>, agent: &mut Agent, findings: &mut Findings) {
    let identity = &mut agent.identity;
    identity.display_name = record.str("name");
    identity.version = record.str("version");
    identity.description = record.str("description");
    identity.role = record.str("role");
    identity.author = record.str("author");
    identity.risk_level = record.word("risk_level");
    identity.greeting = record.str("greeting");
    let id = record.str("id");
    let slugged = identity.display_name.clone().map(|name| name.map(|text| slug(&text)));
    // A UUID is an id but not a name; it is kept as a setting.
    identity.name = id
        .clone()
        .filter(|id| is_slug(id) && !is_uuid(id))
        .or_else(|| slugged.filter(|name| !name.value.is_empty()));
    if let Some(id) = id.filter(|id| is_uuid(id) || !is_slug(id)) {
        if !is_uuid(&id) {
            odd_id(&id, findings);
        }
        agent.settings.push(("id".to_owned(), id.map(Data::Str)));
    }
    limits(agent, findings);
}

fn odd_id(id: &Spanned<String>, findings: &mut Findings) {
    let message = format!("the id `{}` is neither a slug nor a UUID", id.value);
    let found = findings.add(&ODD_ID, id.span, message);
    let better = slug(id);
    if better.is_empty() {
        found.hint("use lower-case words with hyphens, as in `legal-advisor`");
    } else {
        found.hint(format!("write `{better}`"));
        found.fix(Fix::unsafe_(format!("write `{better}`"), id.span, format!("\"{better}\"")));
    }
}

fn limits(agent: &Agent, findings: &mut Findings) {
    if let Some(name) = &agent.identity.display_name {
        let length = name.chars().count();
        if name.trim().is_empty() {
            findings.add(&EMPTY_NAME, name.span, "the name is empty").hint("add a name");
        } else if length > LONGEST_NAME {
            let message = format!("the name has {length} characters");
            let hint = format!("keep it to {LONGEST_NAME}");
            findings.add(&NAME_TOO_LONG, name.span, message).hint(hint);
        }
    }
    if let Some(description) = &agent.identity.description {
        let length = description.chars().count();
        if length > LONGEST_DESCRIPTION {
            let message = format!("the description has {length} characters");
            let hint = format!("keep it to {LONGEST_DESCRIPTION}, and the rest in `persona.md`");
            findings.add(&DESCRIPTION_TOO_LONG, description.span, message).hint(hint);
        }
    }
}

fn reserved(agent: &Agent, findings: &mut Findings) {
    let Some(name) = &agent.identity.name else { return };
    if RESERVED.contains(&name.value.as_str()) {
        let message = format!("`{}` is reserved for the home's own agent", name.value);
        findings.add(&RESERVED_ID, name.span, message).hint("call it something else");
    }
}

/// Reads `llm`: provider and model become one preferred model, the rest is kept as a setting.
fn model(record: TableRecord<'_>, agent: &mut Agent, findings: &mut Findings) {
    let Some(entry) = record.entry("llm") else { return };
    if entry.key.text == "runtime" {
        findings
            .add(&LEGACY_RUNTIME, entry.key.span, "`runtime` is the older name of `llm`")
            .hint("write `llm`")
            .fix(Fix::unsafe_("write `llm`", entry.key.span, "\"llm\""));
    }
    let Some(llm) = record.record("llm", &LLM) else { return };
    let text = |name| llm.str(name).filter(|text| !text.value.is_empty());
    let preferred = match (text("provider"), text("model")) {
        (Some(provider), Some(model)) => {
            let name = format!("{}/{}", provider.value, model.value);
            Some(Spanned::new(name, provider.span.to(model.span)))
        }
        (None, model) => model,
        (Some(_), None) => None,
    };
    let taken: &[&str] = if preferred.is_some() { &["provider", "model"] } else { &[] };
    agent.model.preferred = preferred.map(|model| vec![model]);
    carry("llm", &entry.value, taken, agent);
}

/// Reads `avatar`: an emoji is the icon, an image the avatar, the rest is kept as a setting.
fn avatar(record: TableRecord<'_>, agent: &mut Agent) {
    let (Some(node), Some(avatar)) = (record.node("avatar"), record.record("avatar", &AVATAR))
    else {
        return;
    };
    let mut taken = Vec::new();
    if let Some(icon) = avatar.str("char").filter(|text| emojis::get(text).is_some()) {
        agent.identity.icon = Some(icon);
        taken.push("char");
    }
    let image = avatar.record("image", &IMAGE);
    // An image with unknown fields is kept as a whole, so that they are not lost.
    let whole = image.is_some_and(|image| image.unknown().next().is_none());
    if let Some(path) = image.and_then(|image| image.str("path")).filter(|_| whole) {
        agent.identity.avatar = Some(path);
        taken.push("image");
    }
    carry("avatar", node, &taken, agent);
}

/// Keeps the entries of a block that were not mapped to the model.
fn carry(name: &str, node: &TreeNode, taken: &[&str], agent: &mut Agent) {
    let Data::Map(mut entries) = node.to_data() else { return };
    entries.retain(|(key, _)| !taken.contains(&key.as_str()));
    // A block without mapped entries is kept even if it is empty.
    if !entries.is_empty() || taken.is_empty() {
        agent.settings.push((name.to_owned(), Spanned::new(Data::Map(entries), node.span)));
    }
}

fn permissions(record: TableRecord<'_>, agent: &mut Agent, findings: &mut Findings) {
    let Some(lists) = record.record("tool_permissions", &TOOL_PERMISSIONS) else { return };
    let allowed = lists.list("allowed").and_then(|_| lists.strings("allowed"));
    let denied = lists.list("denied").and_then(|_| lists.strings("denied"));
    for tool in denied.iter().flatten() {
        let same = |other: &&Spanned<String>| other.value.eq_ignore_ascii_case(tool);
        if let Some(first) = allowed.iter().flatten().find(same) {
            let message = format!("`{}` is both allowed and denied", first.value);
            findings
                .add(&TOOL_ALLOWED_AND_DENIED, first.span, message)
                .related(tool.span, "denied here")
                .hint("remove it from one list; `denied` wins");
        }
    }
    agent.policy.tool_permissions = Some(ToolPermissions { allowed, denied });
}

fn servers(map: &TreeMap, findings: &mut Findings) -> Vec<Spanned<agentry_model::McpServer>> {
    let server = |entry: &TreeEntry| {
        let name = Spanned::new(entry.key.text.clone(), entry.key.span);
        let record = TableRecord::new(&mcp::SERVER, &entry.value, Coercion::Strict);
        Spanned::new(mcp::read(record, &name, findings), entry.value.span)
    };
    let blocks = map.entries.iter().filter(|entry| entry.value.as_map().is_some());
    blocks.map(server).collect()
}

fn extensions(record: TableRecord<'_>, agent: &mut Agent) {
    let owned = |entry: &TreeEntry| {
        (entry.key.text.clone(), Spanned::new(entry.value.to_data(), entry.value.span))
    };
    let own = record.map("extensions").map(|map| map.entries.as_slice()).unwrap_or_default();
    agent.extensions.extend(own.iter().map(owned));
    for entry in record.unknown() {
        let list =
            if is_extension(&entry.key.text) { &mut agent.extensions } else { &mut agent.unknown };
        list.push(owned(entry));
    }
}

/// Whether `text` is lower-case words with single hyphens: `legal-advisor`.
pub(super) fn is_slug(text: &str) -> bool {
    !text.is_empty() && slug(text) == text
}

/// Whether `text` is a UUID.
pub(super) fn is_uuid(text: &str) -> bool {
    let lengths: Vec<_> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}
