//! The fields of a manifest, block by block, in the order of the documentation and of the writer.

use agentry_model::{
    AgentRole, AuthStrategy, ErrorReaction, LimitReaction, ListMerge, LongTermMemory, ModelTier,
    TextMerge, WorkingMemory,
};
use agentry_policy::{ExecTrust, FilesystemTrust, NetworkTrust};
use agentry_text::table::UnknownKeys;
use agentry_text::{Field, FieldKind, FieldTable};

use crate::policy_tests;

const LIST_OF_TEXTS: FieldKind = FieldKind::List(&FieldKind::Str);
const TEXT_OR_MAP: FieldKind = FieldKind::Either(&[FieldKind::Str, FieldKind::Block(&SKILL)]);
const SERVER: FieldKind = FieldKind::Either(&[FieldKind::Str, FieldKind::Block(&MCP_SERVER)]);

/// The whole manifest.
pub static MANIFEST: FieldTable = FieldTable::new(
    "the manifest",
    &[
        Field::default(
            "apiVersion",
            FieldKind::Known(&["agent/v1"]),
            "\"agent/v1\"",
            "The version of the format.",
        ),
        Field::required("name", FieldKind::Str, "What programs call the agent."),
        Field::default(
            "version",
            FieldKind::Str,
            "\"0.1.0\"",
            "The semantic version of the agent.",
        ),
        Field::optional("author", FieldKind::Str, "Who wrote it."),
        Field::optional("license", FieldKind::Str, "Under which licence it may be used."),
        Field::optional("description", FieldKind::Str, "What it is for, in one sentence."),
        Field::default("tags", LIST_OF_TEXTS, "[]", "Labels for finding it."),
        Field::optional(
            "base",
            FieldKind::Str,
            "The agent it is built on: a path relative to this file, `ag1:…`, `sha256:…`, \
             `name@version`, an OCI reference, or a URL with a digest.",
        ),
        Field::default(
            "merge",
            FieldKind::Block(&MERGE),
            "{}",
            "How it is combined with its base.",
        ),
        Field::default("model", FieldKind::Block(&MODEL), "{}", "The model it wants."),
        Field::default(
            "auth",
            FieldKind::Block(&AUTH),
            "{}",
            "Where the keys of providers come from.",
        ),
        Field::default(
            "skills",
            FieldKind::List(&TEXT_OR_MAP),
            "[]",
            "What it must be able to do, by name; resolved to tools that are at hand.",
        ),
        Field::default("tools", FieldKind::Block(&TOOLS), "{}", "The tools it uses."),
        Field::default("memory", FieldKind::Block(&MEMORY), "{}", "How it remembers."),
        Field::default(
            "behavior",
            FieldKind::Block(&BEHAVIOR),
            "{}",
            "How it goes about its work.",
        ),
        Field::default(
            "expose",
            FieldKind::List(&FieldKind::Block(&EXPOSED)),
            "[]",
            "The functions it offers to others.",
        ),
        Field::default(
            "trust",
            FieldKind::Block(&TRUST),
            "{}",
            "How far it is trusted; a child can only narrow what its base says.",
        ),
        Field::default(
            "observability",
            FieldKind::Block(&OBSERVABILITY),
            "{}",
            "What it may spend.",
        ),
        Field::default(
            "agents",
            FieldKind::Map(&FieldKind::Block(&AGENT)),
            "{}",
            "Other agents it works with, by the names it calls them.",
        ),
        Field::default(
            "pipeline",
            FieldKind::List(&FieldKind::Block(&STAGE)),
            "[]",
            "The calls it is made of, in order.",
        ),
        policy_tests::field(policy_tests::KEY),
        Field::default(
            "extensions",
            FieldKind::Map(&FieldKind::Any),
            "{}",
            "Settings of single runtimes, by name (`x-claude`); others ignore them.",
        ),
        Field::optional(
            "soul",
            FieldKind::Str,
            "Who the agent is, as prose; in a directory this is `SOUL.md`, which wins.",
        ),
        Field::optional(
            "rules",
            FieldKind::Str,
            "Hard rules, put last into the prompt; in a directory this is `RULES.md`, which wins.",
        ),
    ],
);

/// `merge`.
pub static MERGE: FieldTable = FieldTable::new(
    "`merge`",
    &[
        Field::default(
            "skills",
            FieldKind::Choice(ListMerge::WORDS),
            "\"append\"",
            "How the skills of base and child are combined.",
        ),
        Field::default(
            "tools",
            FieldKind::Choice(ListMerge::WORDS),
            "\"append\"",
            "How the tools of base and child are combined.",
        ),
        Field::default(
            "behavior",
            FieldKind::Choice(TextMerge::WORDS),
            "\"override\"",
            "Whether the child's behaviour replaces that of the base or adds to it.",
        ),
        Field::default(
            "trust",
            FieldKind::Choice(&["restrict"]),
            "\"restrict\"",
            "Always `restrict`: a child is never trusted more than its base.",
        ),
    ],
);

/// `model`.
pub static MODEL: FieldTable = FieldTable::new(
    "`model`",
    &[
        Field::default(
            "capability",
            FieldKind::Choice(ModelTier::WORDS),
            "\"reasoning-mid\"",
            "How able the model must be.",
        ),
        Field::default(
            "preferred",
            LIST_OF_TEXTS,
            "[]",
            "Models to try, in order, as `provider/model`.",
        ),
        Field::optional(
            "fallback",
            FieldKind::Known(ModelTier::WORDS),
            "The tier to fall back to when none of the preferred models can be used.",
        ),
        Field::default(
            "context",
            FieldKind::Known(&["full", "128k", "32k", "8k"]),
            "\"full\"",
            "How much context the model should have.",
        ),
    ],
);

/// `auth`.
pub static AUTH: FieldTable = FieldTable::new(
    "`auth`",
    &[
        Field::default(
            "strategy",
            FieldKind::Choice(AuthStrategy::WORDS),
            "\"auto\"",
            "Whether keys are looked for, taken only from `providers`, or not sent at all.",
        ),
        Field::default(
            "providers",
            FieldKind::Map(&FieldKind::Block(&PROVIDER)),
            "{}",
            "Providers by name, each with the source of its key.",
        ),
    ],
);

/// One entry of `auth.providers`.
pub static PROVIDER: FieldTable = FieldTable::new(
    "the provider",
    &[Field::optional(
        "from",
        FieldKind::Str,
        "The environment variable that holds the key, as `env.NAME`.",
    )
    .or(&["from_"])],
);

/// An entry of `skills` with more than a name.
pub static SKILL: FieldTable = FieldTable::new(
    "the skill",
    &[
        Field::optional("name", FieldKind::Str, "The name of the skill."),
        Field::default(
            "optional",
            FieldKind::Bool,
            "false",
            "Whether the agent also works without it.",
        ),
        Field::optional("requires", FieldKind::Block(&REQUIRES), "What must be installed for it."),
    ],
)
.unknown(UnknownKeys::Silent);

/// `requires` of a skill or an MCP server.
pub static REQUIRES: FieldTable = FieldTable::new(
    "`requires`",
    &[
        Field::optional("pip", LIST_OF_TEXTS, "Python packages."),
        Field::optional("npm", LIST_OF_TEXTS, "Node packages."),
        Field::optional("cargo", LIST_OF_TEXTS, "Rust packages."),
        Field::optional("nix", LIST_OF_TEXTS, "Nix packages."),
        Field::optional("setup", LIST_OF_TEXTS, "Commands that set it up."),
        Field::optional(
            "env",
            FieldKind::Map(&FieldKind::Str),
            "Environment variables it needs, with what each is for.",
        ),
    ],
);

/// `tools`.
pub static TOOLS: FieldTable = FieldTable::new(
    "`tools`",
    &[
        Field::default(
            "mcp",
            FieldKind::List(&SERVER),
            "[]",
            "MCP servers: a known name, `{name, command, …}`, or `{name: {settings}}`.",
        ),
        Field::default("native", LIST_OF_TEXTS, "[]", "Built-in tools by name."),
    ],
);

/// An entry of `tools.mcp` with more than a name. An unknown key is the name of a server, and its value
/// the settings.
pub static MCP_SERVER: FieldTable = FieldTable::new(
    "the MCP server",
    &[
        Field::optional("name", FieldKind::Str, "The name of the server."),
        Field::default(
            "transport",
            FieldKind::Choice(TRANSPORTS),
            "\"stdio\"",
            "How it is spoken to.",
        ),
        Field::optional("command", FieldKind::Str, "The program that is the server."),
        Field::optional("args", LIST_OF_TEXTS, "The arguments of the program."),
        Field::optional("url", FieldKind::Str, "The address of the server."),
        Field::optional(
            "env",
            FieldKind::Map(&FieldKind::Str),
            "Environment variables of the program.",
        ),
        Field::optional(
            "headers",
            FieldKind::Map(&FieldKind::Str),
            "Headers sent with every request.",
        ),
        Field::optional("requires", FieldKind::Block(&REQUIRES), "What must be installed for it."),
        Field::default(
            "enabled",
            FieldKind::Bool,
            "true",
            "Whether it is used (Agentry's own addition).",
        ),
        Field::optional(
            "disabled",
            FieldKind::Bool,
            "The opposite of `enabled`, as some `.mcp.json` files have it (Agentry's own addition).",
        ),
        Field::default(
            "optional",
            FieldKind::Bool,
            "false",
            "Whether a run goes on without it if it is not ready (Agentry's own addition).",
        ),
        Field::optional(
            "cwd",
            FieldKind::Str,
            "The directory that the program starts in (Agentry's own addition).",
        ),
        Field::optional(
            "timeout",
            FieldKind::Int(1, 86_400),
            "How long a call may take, in seconds (Agentry's own addition).",
        ),
    ],
)
.unknown(UnknownKeys::Silent);

/// The fields of a server that the model keeps as options.
pub const SERVER_OPTIONS: &[&str] = &["requires", "optional", "cwd"];

/// The names of the transports, in the order of [`agentry_model::McpTransport`].
pub const TRANSPORTS: &[&str] = &["stdio", "http", "sse"];

/// `memory`.
pub static MEMORY: FieldTable = FieldTable::new(
    "`memory`",
    &[
        Field::default(
            "working",
            FieldKind::Choice(WorkingMemory::WORDS),
            "\"session\"",
            "What it remembers during a run.",
        ),
        Field::default(
            "long_term",
            FieldKind::Choice(LongTermMemory::WORDS),
            "\"none\"",
            "What it remembers between runs.",
        ),
        Field::default("shared", FieldKind::Bool, "false", "Whether other agents see its memory."),
    ],
);

/// `behavior`.
pub static BEHAVIOR: FieldTable = FieldTable::new(
    "`behavior`",
    &[
        Field::optional("persona", FieldKind::Str, "What it is, in a word or two."),
        Field::default("traits", LIST_OF_TEXTS, "[]", "Habits, by name or in words of your own."),
        Field::default(
            "temperature",
            FieldKind::Float(0.0, f64::INFINITY),
            "0.5",
            "How freely it writes.",
        ),
        Field::default(
            "max_steps",
            FieldKind::Int(0, i64::MAX),
            "20",
            "The most rounds of its loop.",
        ),
        Field::default(
            "on_error",
            FieldKind::Choice(ErrorReaction::WORDS),
            "\"ask\"",
            "What it does when a step fails.",
        ),
        Field::optional(
            "system_override",
            FieldKind::Str,
            "A raw prompt that stands in for persona and traits.",
        ),
    ],
);

/// One entry of `expose`.
pub static EXPOSED: FieldTable = FieldTable::new(
    "the function",
    &[
        Field::required("name", FieldKind::Str, "The name by which it is called."),
        Field::optional("description", FieldKind::Str, "What it does."),
        Field::default(
            "input",
            FieldKind::Map(&FieldKind::Str),
            "{}",
            "Its arguments with their types.",
        ),
        Field::optional("output", FieldKind::Str, "The type of its result."),
    ],
);

/// `trust`.
pub static TRUST: FieldTable = FieldTable::new(
    "`trust`",
    &[
        Field::default(
            "filesystem",
            FieldKind::Choice(FilesystemTrust::WORDS),
            "\"none\"",
            "Which files it may read and write.",
        ),
        Field::default(
            "network",
            FieldKind::Choice(NetworkTrust::WORDS),
            "\"none\"",
            "Which hosts it may reach.",
        ),
        Field::default("exec", FieldKind::Choice(ExecTrust::WORDS), "\"none\"", "What it may run."),
        Field::default(
            "scope",
            LIST_OF_TEXTS,
            "[]",
            "The paths that `filesystem: scoped` opens for writing, relative to this file.",
        ),
        Field::default(
            "hosts",
            LIST_OF_TEXTS,
            "[]",
            "The hosts that `network: scoped` opens (Agentry's own addition).",
        ),
    ],
);

/// `observability`.
pub static OBSERVABILITY: FieldTable = FieldTable::new(
    "`observability`",
    &[
        Field::default("trace", FieldKind::Bool, "false", "Whether every step is recorded."),
        Field::optional(
            "cost_limit",
            FieldKind::Float(0.0, f64::INFINITY),
            "The most it may spend, in US dollars.",
        ),
        Field::default("step_limit", FieldKind::Int(0, i64::MAX), "50", "The most steps of a run."),
        Field::default(
            "on_exceed",
            FieldKind::Choice(LimitReaction::WORDS),
            "\"abort\"",
            "What happens at a limit.",
        ),
    ],
);

/// One entry of `agents`.
pub static AGENT: FieldTable = FieldTable::new(
    "the agent",
    &[
        Field::required("ref", FieldKind::Str, "Where it is, written as in `base`."),
        Field::default(
            "role",
            FieldKind::Choice(AgentRole::WORDS),
            "\"subagent\"",
            "What it does for this agent.",
        ),
    ],
);

/// One entry of `pipeline`.
pub static STAGE: FieldTable = FieldTable::new(
    "the stage",
    &[
        Field::required("call", FieldKind::Str, "What is called, as `agent.function`."),
        Field::optional("output", FieldKind::Str, "What the result is called by later stages."),
    ],
);
