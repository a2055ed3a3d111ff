//! The block `x-agentry`, which only Agentry reads. It holds rules and start conditions that a format
//! cannot express, so that a conversion never widens what an agent may do.

use agentry_model::{
    Agent, AgentRequirements, AgentStatus, Declared, DeclaredList, ListMerge, McpServer,
    MergeModes, TextMerge,
};
use agentry_policy::{Action, PatternRule, Permissions, PolicyTest, Section, SectionRules};
use agentry_text::data::MapBuilder;
use agentry_text::table::{Coercion, KeyMatching, TextForm, UnknownKeys, validate};
use agentry_text::{
    Data, Field, FieldKind, FieldTable, Findings, Span, Spanned, TableRecord, TreeEntry, TreeMap,
    TreeNode, rules,
};

use crate::{mcp, policy_tests};

/// The key of the block, as the formats with extensions write it.
pub const KEY: &str = "x-agentry";

rules! {
    /// The lint rules of the block.
    pub RULES = [
        BROKEN_PERMISSION: "AG0171",
    ]
}

/// The form of a rule: a pattern and a verdict.
pub static PERMISSION_RULE: TextForm = TextForm {
    title: "`pattern:action` rule",
    many: "`pattern:action` rules",
    fits: |text| text.parse::<PatternRule>().is_ok(),
    pattern: "[\\s\\S]*\\S[\\s\\S]*:(?:allow|ask|deny)",
    trims: false,
    examples: &["git push*:ask", "**/*.lock:deny", "https://example.com/**:allow"],
    others: &[
        "git push",
        ":allow",
        "  :deny",
        "git push:never",
        "git push:Allow",
        "git push:allow ",
    ],
};

/// `x_agentry`: the fields that Agentry itself adds.
pub static X_AGENTRY: FieldTable = FieldTable::new(
    "`x_agentry`",
    &[
        Field::optional(
            "permissions",
            FieldKind::Block(&PERMISSIONS),
            "What the agent may do, as ordered rules; only Agentry reads it.",
        ),
        Field::optional(
            "base",
            FieldKind::Line,
            "The agent that this one is built on: a path from here, a digest, `name@version`.",
        ),
        Field::optional("merge", FieldKind::Block(&MERGE), "How it is combined with its base."),
        Field::optional(
            "status",
            FieldKind::Choice(AgentStatus::WORDS),
            "Whether the agent is in use; a disabled one does not start.",
        ),
        Field::optional(
            "tool_timeout_ms",
            FieldKind::Int(1, 600_000),
            "The time of a call of a JavaScript tool, in milliseconds; 30000 if left out.",
        ),
        Field::optional(
            "required",
            FieldKind::Block(&REQUIRED),
            "What must hold before the agent starts.",
        ),
        Field::optional(
            "delegation",
            FieldKind::Block(&DELEGATION),
            "What bounds the agents that work for it.",
        ),
        Field::optional(
            "mcp_servers",
            FieldKind::Map(&FieldKind::Block(&mcp::SERVER)),
            "MCP servers by name, for formats without a field for them.",
        ),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

/// `merge` of `x_agentry`, and of an entry of `[bases]` in `agentry.toml`.
pub static MERGE: FieldTable = FieldTable::new(
    "`merge`",
    &[
        Field::optional(
            "skills",
            FieldKind::Choice(ListMerge::WORDS),
            "How the skills of base and child are combined; without it both count.",
        ),
        Field::optional(
            "tools",
            FieldKind::Choice(ListMerge::WORDS),
            "How the tools of base and child are combined; without it both count.",
        ),
        Field::optional(
            "behavior",
            FieldKind::Choice(TextMerge::WORDS),
            "Whether the child's behaviour replaces that of the base or adds to it.",
        ),
    ],
)
.unknown(UnknownKeys::Error);

/// `required` of `x_agentry`.
pub static REQUIRED: FieldTable = FieldTable::new(
    "`required`",
    &[
        Field::optional(
            "env",
            FieldKind::List(&FieldKind::Str),
            "Environment variables that must be set and not empty.",
        ),
        Field::optional("startup", FieldKind::Line, "The tool that must succeed first."),
    ],
)
.unknown(UnknownKeys::Error);

/// `delegation` of `x_agentry`.
pub static DELEGATION: FieldTable = FieldTable::new(
    "`delegation`",
    &[Field::optional(
        "ceiling",
        FieldKind::Choice(&["declared"]),
        "`declared`: each agent that the definition names works under its own policy. Without it, none may do \
         more than this agent.",
    )],
)
.unknown(UnknownKeys::Error);

/// The fields of the block that stay an extension, because no part of an agent has a place for them.
const KEPT: &[&str] = &["tool_timeout_ms", "toolTimeoutMs", "delegation"];

/// Whether a definition declares that the agents which it names work under their own policies.
pub fn declares_ceiling(agent: &Agent) -> bool {
    let block = agent.extension(KEY).and_then(|block| block.get("delegation"));
    block.and_then(|it| it.get("ceiling")).and_then(Data::as_str) == Some("declared")
}

const RULE_BLOCK: FieldKind = FieldKind::Block(&SECTION);

/// `permissions` of `x_agentry`; the fields are those of [`Section`].
pub static PERMISSIONS: FieldTable = FieldTable::new(
    "`permissions`",
    &[
        Field::optional(Section::Bash.as_str(), RULE_BLOCK, "Shell commands."),
        Field::optional(
            Section::Edit.as_str(),
            RULE_BLOCK,
            "Creating, changing and deleting files.",
        ),
        Field::optional(Section::Read.as_str(), RULE_BLOCK, "Reading files."),
        Field::optional(Section::Webfetch.as_str(), RULE_BLOCK, "Fetching web addresses."),
        Field::optional(Section::Websearch.as_str(), RULE_BLOCK, "Searching the web."),
        Field::optional(Section::Question.as_str(), RULE_BLOCK, "Asking the person."),
        Field::optional(
            Section::ExternalDirectory.as_str(),
            RULE_BLOCK,
            "Files outside the workspace.",
        ),
        Field::optional(Section::Mcp.as_str(), RULE_BLOCK, "Tools of MCP servers."),
        Field::optional(Section::Tool.as_str(), RULE_BLOCK, "Other tools, by name."),
        Field::optional(Section::Skill.as_str(), RULE_BLOCK, "Skills, by name."),
        Field::optional(Section::Delegate.as_str(), RULE_BLOCK, "Handing work to another agent."),
        Field::optional(Section::Env.as_str(), RULE_BLOCK, "Environment variables."),
    ],
)
.unknown(UnknownKeys::Error);

/// The rules of one section.
pub static SECTION: FieldTable = FieldTable::new(
    "the section",
    &[
        Field::default(
            "intent",
            FieldKind::Choice(Action::WORDS),
            "\"ask\"",
            "The answer when no rule matches.",
        ),
        Field::optional(
            "rules",
            FieldKind::List(&FieldKind::Form(&PERMISSION_RULE)),
            "Rules in order, `pattern:action`; the first that matches counts.",
        ),
        policy_tests::MATCH,
        policy_tests::NOT_MATCH,
    ],
)
.unknown(UnknownKeys::Error);

/// The content of the block.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentryBlock {
    /// The rules of the agent's policy.
    pub permissions: Option<Permissions>,
    /// The base of the agent.
    pub base: Declared<String>,
    /// How the agent is merged with its base.
    pub merge: MergeModes,
    /// Whether the agent is in use.
    pub status: Declared<AgentStatus>,
    /// The conditions that must hold before the agent starts.
    pub requirements: AgentRequirements,
    /// The examples beside the permissions.
    pub tests: Vec<Spanned<PolicyTest>>,
    /// The MCP servers.
    pub servers: DeclaredList<McpServer>,
}

impl AgentryBlock {
    /// Copies each value into `agent` that its format did not declare, and adds the servers to its own.
    pub(crate) fn adopt(self, agent: &mut Agent) {
        let Self { permissions, base, merge, status, requirements, tests, servers } = self;
        let AgentRequirements { env, startup } = requirements;
        // Servers are added to those of the format: none is dropped, and two of one name clash in a run.
        if let Some(servers) = servers {
            agent.tools.mcp.get_or_insert_default().extend(servers);
        }
        let inheritance = &mut agent.inheritance;
        inheritance.base = inheritance.base.take().or(base);
        // All or nothing: merge modes of the format and of the block are never mixed.
        if inheritance.merge == MergeModes::default() {
            inheritance.merge = merge;
        }
        let policy = &mut agent.policy;
        policy.tests.extend(tests);
        policy.permissions = policy.permissions.take().or(permissions);
        let identity = &mut agent.identity;
        identity.status = identity.status.take().or(status);
        let requirements = &mut agent.requirements;
        requirements.env = requirements.env.take().or(env);
        requirements.startup = requirements.startup.take().or(startup);
    }

    /// Returns the block as data. The policy tests are left out: they are written in another block.
    pub fn to_data(&self) -> Data {
        let Self { permissions, base, merge, status, requirements, tests: _, servers } = self;
        let AgentRequirements { env, startup } = requirements;
        let mut required = MapBuilder::new();
        let env = env.as_ref().map(|names| Data::strings(names.iter().map(|name| &name.value)));
        required.set_opt("env", env);
        required.str_opt("startup", startup.as_ref().map(|tool| &tool.value));
        let mut out = MapBuilder::new();
        out.set_opt("permissions", permissions.as_ref().map(sections));
        out.str_opt("base", base.as_ref().map(|base| &base.value));
        out.set_full("merge", merge_data(merge));
        out.str_opt("status", status.as_ref().map(|status| status.as_str()));
        out.set_full("required", required.build());
        let servers = servers.as_ref().map(|servers| {
            let entry = |it: &Spanned<McpServer>| (it.name.clone(), mcp::to_data(it).build());
            Data::Map(servers.iter().map(entry).collect())
        });
        out.set_opt("mcp_servers", servers);
        out.build()
    }
}

/// Returns `kept` with the fields of `block` added; where both have a field, that of `block` wins.
pub(crate) fn merged(kept: &Data, block: &AgentryBlock) -> Data {
    let (Data::Map(mut kept), Data::Map(new)) = (kept.clone(), block.to_data()) else {
        return block.to_data();
    };
    kept.retain(|(key, _)| new.iter().all(|(other, _)| other != key));
    Data::Map(kept.into_iter().chain(new).collect())
}

/// Reads the block at `node` and reports every problem in it.
pub fn read(node: &TreeNode, findings: &mut Findings) -> AgentryBlock {
    validate(&X_AGENTRY, node, Coercion::Strict, findings);
    let record = TableRecord::new(&X_AGENTRY, node, Coercion::Strict);
    let required = record.record("required", &REQUIRED);
    let permissions = record.record("permissions", &PERMISSIONS);
    AgentryBlock {
        tests: permissions
            .map_or(Vec::new(), |record| policy_tests::beside_rules(&record, &SECTION)),
        permissions: permissions.map(|record| read_sections(record, findings)),
        base: record.str("base").filter(|base| !base.trim().is_empty()),
        merge: record.record("merge", &MERGE).map(read_merge).unwrap_or_default(),
        status: record.word("status"),
        requirements: AgentRequirements {
            env: required.and_then(|required| required.strings("env")),
            startup: required.and_then(|required| required.str("startup")),
        },
        servers: record.map("mcp_servers").map(|servers| read_servers(servers, findings)),
    }
}

fn read_servers(servers: &TreeMap, findings: &mut Findings) -> Vec<Spanned<McpServer>> {
    let server = |entry: &TreeEntry| {
        let record = TableRecord::new(&mcp::SERVER, &entry.value, Coercion::Strict);
        let name = Spanned::new(entry.key.text.clone(), entry.key.span);
        Spanned::new(mcp::read(record, &name, findings), entry.key.span)
    };
    servers.entries.iter().map(server).collect()
}

/// Reads how a child is merged with its base, from a record of [`MERGE`].
pub fn read_merge(record: TableRecord<'_>) -> MergeModes {
    MergeModes {
        skills: record.word("skills"),
        tools: record.word("tools"),
        behavior: record.word("behavior"),
        trust: None,
    }
}

fn merge_data(MergeModes { skills, tools, behavior, trust: _ }: &MergeModes) -> Data {
    let mut out = MapBuilder::new();
    out.str_opt("skills", skills.as_ref().map(|word| word.as_str()));
    out.str_opt("tools", tools.as_ref().map(|word| word.as_str()));
    out.str_opt("behavior", behavior.as_ref().map(|word| word.as_str()));
    out.build()
}

/// Reads the rules of a block with one field for each section.
pub fn read_sections(permissions: TableRecord<'_>, findings: &mut Findings) -> Permissions {
    let mut sections: Vec<SectionRules> = Vec::new();
    for section in Section::ALL {
        let Some(entry) = permissions.entry(section.as_str()) else { continue };
        let Some(rules) = permissions.record(section.as_str(), &SECTION) else { continue };
        sections.push(read_section(Spanned::new(*section, entry.key.span), rules, findings));
    }
    // The order of the file, not of `Section::ALL`.
    sections.sort_by_key(|rules| rules.section.span);
    Permissions { sections }
}

fn read_section(
    section: Spanned<Section>,
    record: TableRecord<'_>,
    findings: &mut Findings,
) -> SectionRules {
    let mut rules = Vec::new();
    for text in record.strings("rules").unwrap_or_default() {
        match text.value.parse::<PatternRule>() {
            Ok(rule) => rules.push(Spanned::new(rule, text.span)),
            Err(_) => {
                findings
                    .add(&BROKEN_PERMISSION, text.span, format!("`{}` is not a rule", text.value))
                    .hint("write `pattern:allow`, `pattern:ask` or `pattern:deny`");
            }
        }
    }
    SectionRules { section, intent: record.word("intent"), rules }
}

fn sections(permissions: &Permissions) -> Data {
    let mut sections = MapBuilder::new();
    for SectionRules { section, intent, rules } in &permissions.sections {
        let mut out = MapBuilder::new();
        out.str_opt("intent", intent.map(|intent| intent.value.as_str()));
        // A blank pattern matches nothing, and `:deny` without a pattern would not parse again.
        let rules = rules.iter().filter(|rule| !rule.pattern.trim().is_empty());
        let rules = rules.map(|rule| rule.value.to_string());
        out.set_full("rules", Data::strings(rules));
        sections.set(section.as_str(), out.build());
    }
    sections.build()
}

/// The fields of a block that stay an extension.
pub(crate) fn kept_fields(block: &Data) -> Data {
    let Data::Map(fields) = block else { return Data::Map(Vec::new()) };
    let is_kept = |(key, _): &&(String, Data)| KEPT.contains(&key.as_str());
    Data::Map(fields.iter().filter(is_kept).cloned().collect())
}

/// Adopts the `x-agentry` extension of an agent as a layer of its policy and as start conditions. If the
/// format has rules itself, the rules of the block stay an extension. `root` is the definition, which has the
/// places of the values. A reader calls this last: the block must not override a value of the format itself.
pub(crate) fn adopt(agent: &mut Agent, root: &TreeNode, findings: &mut Findings) {
    let named = |(key, _): &(String, Spanned<Data>)| key.eq_ignore_ascii_case(KEY);
    let Some(at) = agent.extensions.iter().position(named) else { return };
    let (_, block) = agent.extensions.remove(at);
    let own = match block_node(root, block.span) {
        Some(node) => read(node, findings),
        None => read(&TreeNode::from_data(&block.value, block.span), findings),
    };
    let mut rest = AgentryBlock::default();
    // `adopt` ignores rules beside those of the format, so they are kept as an extension.
    if let (Some(_), Some(rules)) = (&agent.policy.permissions, &own.permissions) {
        rest.permissions = Some(rules.clone());
    }
    let rest = merged(&kept_fields(&block.value), &rest);
    if !rest.is_empty() {
        agent.extensions.insert(at, (KEY.to_owned(), Spanned::new(rest, block.span)));
    }
    own.adopt(agent);
}

/// Returns the node of the block at `span`: a field of the definition, or of its `extensions`.
fn block_node(root: &TreeNode, span: Span) -> Option<&TreeNode> {
    let fields = root.as_map()?;
    let more = fields.get("extensions").and_then(TreeNode::as_map);
    let entries = fields.entries.iter().chain(more.into_iter().flat_map(|map| &map.entries));
    let mut blocks = entries.filter(|entry| entry.key.text.eq_ignore_ascii_case(KEY));
    blocks.find(|entry| entry.value.span == span).map(|entry| &entry.value)
}

#[cfg(test)]
mod tests {
    use agentry_text::FileId;

    use super::*;

    #[test]
    fn the_x_agentry_block_round_trips() {
        let at = |text: &str| Spanned::new(text.to_owned(), Span::start_of(FileId::BUILT_IN));
        let disabled = Spanned::new(AgentStatus::Disabled, Span::start_of(FileId::BUILT_IN));
        let requirements = |env: Option<&str>, startup: Option<&str>| AgentRequirements {
            env: env.map(|name| vec![at(name)]),
            startup: startup.map(at),
        };
        let cases = [
            AgentryBlock::default(),
            AgentryBlock { status: Some(disabled), ..AgentryBlock::default() },
            AgentryBlock { base: Some(at("./base.agent")), ..AgentryBlock::default() },
            AgentryBlock {
                merge: MergeModes {
                    skills: Some(Spanned::new(
                        ListMerge::Restrict,
                        Span::start_of(FileId::BUILT_IN),
                    )),
                    behavior: Some(Spanned::new(
                        TextMerge::Override,
                        Span::start_of(FileId::BUILT_IN),
                    )),
                    ..MergeModes::default()
                },
                ..AgentryBlock::default()
            },
            AgentryBlock {
                requirements: requirements(Some("KEY"), Some("ping")),
                ..AgentryBlock::default()
            },
            AgentryBlock {
                requirements: requirements(None, Some("ping")),
                ..AgentryBlock::default()
            },
        ];
        for block in cases {
            let mut findings = Findings::default();
            let node = TreeNode::from_data(&block.to_data(), Span::start_of(FileId::BUILT_IN));
            assert_eq!(read(&node, &mut findings), block);
            assert!(findings.is_empty(), "{block:?}");
        }
    }
}
