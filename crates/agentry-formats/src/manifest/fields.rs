//! What a manifest may hold, block by block, in the order in which it is documented and written.

use agentry_model::{
    AgentRole, AuthStrategy, Capability, LongTerm, MergeLists, MergeText, OnError, OnExceed,
    Working,
};
use agentry_policy::{Exec, Filesystem, Network};
use agentry_text::table::Unknown;
use agentry_text::{Field, Kind, Table};

use crate::policy_tests;

const LIST_OF_TEXTS: Kind = Kind::List(&Kind::Str);
const TEXT_OR_MAP: Kind = Kind::Either(&[Kind::Str, Kind::Block(&SKILL)]);
const SERVER: Kind = Kind::Either(&[Kind::Str, Kind::Block(&MCP_SERVER)]);

/// The whole manifest.
pub static MANIFEST: Table = Table::new(
    "the manifest",
    &[
        Field::default(
            "apiVersion",
            Kind::Known(&["agent/v1"]),
            "\"agent/v1\"",
            "The version of the format.",
        ),
        Field::required("name", Kind::Str, "What programs call the agent."),
        Field::default("version", Kind::Str, "\"0.1.0\"", "The semantic version of the agent."),
        Field::optional("author", Kind::Str, "Who wrote it."),
        Field::optional("license", Kind::Str, "Under which licence it may be used."),
        Field::optional("description", Kind::Str, "What it is for, in one sentence."),
        Field::default("tags", LIST_OF_TEXTS, "[]", "Labels for finding it."),
        Field::optional(
            "base",
            Kind::Str,
            "The agent it is built on: a path relative to this file, `ag1:…`, `sha256:…`, \
             `name@version`, an OCI reference, or a URL with a digest.",
        ),
        Field::default("merge", Kind::Block(&MERGE), "{}", "How it is combined with its base."),
        Field::default("model", Kind::Block(&MODEL), "{}", "The model it wants."),
        Field::default("auth", Kind::Block(&AUTH), "{}", "Where the keys of providers come from."),
        Field::default(
            "skills",
            Kind::List(&TEXT_OR_MAP),
            "[]",
            "What it must be able to do, by name; resolved to tools that are at hand.",
        ),
        Field::default("tools", Kind::Block(&TOOLS), "{}", "The tools it uses."),
        Field::default("memory", Kind::Block(&MEMORY), "{}", "How it remembers."),
        Field::default("behavior", Kind::Block(&BEHAVIOR), "{}", "How it goes about its work."),
        Field::default(
            "expose",
            Kind::List(&Kind::Block(&EXPOSED)),
            "[]",
            "The functions it offers to others.",
        ),
        Field::default(
            "trust",
            Kind::Block(&TRUST),
            "{}",
            "How far it is trusted; a child can only narrow what its base says.",
        ),
        Field::default("observability", Kind::Block(&OBSERVABILITY), "{}", "What it may spend."),
        Field::default(
            "agents",
            Kind::Map(&Kind::Block(&AGENT)),
            "{}",
            "Other agents it works with, by the names it calls them.",
        ),
        Field::default(
            "pipeline",
            Kind::List(&Kind::Block(&STAGE)),
            "[]",
            "The calls it is made of, in order.",
        ),
        policy_tests::field(policy_tests::KEY),
        Field::default(
            "extensions",
            Kind::Map(&Kind::Any),
            "{}",
            "Settings of single runtimes, by name (`x-claude`); others ignore them.",
        ),
        Field::optional(
            "soul",
            Kind::Str,
            "Who the agent is, as prose; in a directory this is `SOUL.md`, which wins.",
        ),
        Field::optional(
            "rules",
            Kind::Str,
            "Hard rules, put last into the prompt; in a directory this is `RULES.md`, which wins.",
        ),
    ],
);

/// `merge`.
pub static MERGE: Table = Table::new(
    "`merge`",
    &[
        Field::default(
            "skills",
            Kind::Choice(MergeLists::WORDS),
            "\"append\"",
            "How the skills of base and child are combined.",
        ),
        Field::default(
            "tools",
            Kind::Choice(MergeLists::WORDS),
            "\"append\"",
            "How the tools of base and child are combined.",
        ),
        Field::default(
            "behavior",
            Kind::Choice(MergeText::WORDS),
            "\"override\"",
            "Whether the child's behaviour replaces that of the base or adds to it.",
        ),
        Field::default(
            "trust",
            Kind::Choice(&["restrict"]),
            "\"restrict\"",
            "Always `restrict`: a child is never trusted more than its base.",
        ),
    ],
);

/// `model`.
pub static MODEL: Table = Table::new(
    "`model`",
    &[
        Field::default(
            "capability",
            Kind::Choice(Capability::WORDS),
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
            Kind::Known(Capability::WORDS),
            "The tier to fall back to when none of the preferred models can be used.",
        ),
        Field::default(
            "context",
            Kind::Known(&["full", "128k", "32k", "8k"]),
            "\"full\"",
            "How much context the model should have.",
        ),
    ],
);

/// `auth`.
pub static AUTH: Table = Table::new(
    "`auth`",
    &[
        Field::default(
            "strategy",
            Kind::Choice(AuthStrategy::WORDS),
            "\"auto\"",
            "Whether keys are looked for, taken only from `providers`, or not sent at all.",
        ),
        Field::default(
            "providers",
            Kind::Map(&Kind::Block(&PROVIDER)),
            "{}",
            "Providers by name, each with the source of its key.",
        ),
    ],
);

/// One entry of `auth.providers`.
pub static PROVIDER: Table = Table::new(
    "the provider",
    &[Field::optional(
        "from",
        Kind::Str,
        "The environment variable that holds the key, as `env.NAME`.",
    )
    .or(&["from_"])],
);

/// An entry of `skills` that is more than a name.
pub static SKILL: Table = Table::new(
    "the skill",
    &[
        Field::optional("name", Kind::Str, "The name of the skill."),
        Field::default("optional", Kind::Bool, "false", "Whether the agent also works without it."),
        Field::optional("requires", Kind::Block(&REQUIRES), "What must be installed for it."),
    ],
)
.unknown(Unknown::Silent);

/// `requires` of a skill or an MCP server.
pub static REQUIRES: Table = Table::new(
    "`requires`",
    &[
        Field::optional("pip", LIST_OF_TEXTS, "Python packages."),
        Field::optional("npm", LIST_OF_TEXTS, "Node packages."),
        Field::optional("cargo", LIST_OF_TEXTS, "Rust packages."),
        Field::optional("nix", LIST_OF_TEXTS, "Nix packages."),
        Field::optional("setup", LIST_OF_TEXTS, "Commands that set it up."),
        Field::optional(
            "env",
            Kind::Map(&Kind::Str),
            "Environment variables it needs, with what each is for.",
        ),
    ],
);

/// `tools`.
pub static TOOLS: Table = Table::new(
    "`tools`",
    &[
        Field::default(
            "mcp",
            Kind::List(&SERVER),
            "[]",
            "MCP servers: a known name, `{name, command, …}`, or `{name: {settings}}`.",
        ),
        Field::default("native", LIST_OF_TEXTS, "[]", "Built-in tools by name."),
    ],
);

/// An entry of `tools.mcp` that is more than a name. Another key names a server, its value being
/// the settings.
pub static MCP_SERVER: Table = Table::new(
    "the MCP server",
    &[
        Field::optional("name", Kind::Str, "The name of the server."),
        Field::default("transport", Kind::Choice(TRANSPORTS), "\"stdio\"", "How it is spoken to."),
        Field::optional("command", Kind::Str, "The program that is the server."),
        Field::optional("args", LIST_OF_TEXTS, "The arguments of the program."),
        Field::optional("url", Kind::Str, "The address of the server."),
        Field::optional("env", Kind::Map(&Kind::Str), "Environment variables of the program."),
        Field::optional("headers", Kind::Map(&Kind::Str), "Headers sent with every request."),
        Field::optional("requires", Kind::Block(&REQUIRES), "What must be installed for it."),
        Field::default(
            "enabled",
            Kind::Bool,
            "true",
            "Whether it is used (Agentry's own addition).",
        ),
        Field::optional(
            "timeout",
            Kind::Int(1, 86_400),
            "How long a call may take, in seconds (Agentry's own addition).",
        ),
    ],
)
.unknown(Unknown::Silent);

/// The words for ways to speak to an MCP server, in the order of [`agentry_model::Transport`].
pub const TRANSPORTS: &[&str] = &["stdio", "http", "sse"];

/// `memory`.
pub static MEMORY: Table = Table::new(
    "`memory`",
    &[
        Field::default(
            "working",
            Kind::Choice(Working::WORDS),
            "\"session\"",
            "What it remembers during a run.",
        ),
        Field::default(
            "long_term",
            Kind::Choice(LongTerm::WORDS),
            "\"none\"",
            "What it remembers between runs.",
        ),
        Field::default("shared", Kind::Bool, "false", "Whether other agents see its memory."),
    ],
);

/// `behavior`.
pub static BEHAVIOR: Table = Table::new(
    "`behavior`",
    &[
        Field::optional("persona", Kind::Str, "What it is, in a word or two."),
        Field::default("traits", LIST_OF_TEXTS, "[]", "Habits, by name or in words of your own."),
        Field::default(
            "temperature",
            Kind::Float(0.0, f64::INFINITY),
            "0.5",
            "How freely it writes.",
        ),
        Field::default("max_steps", Kind::Int(0, i64::MAX), "20", "The most rounds of its loop."),
        Field::default(
            "on_error",
            Kind::Choice(OnError::WORDS),
            "\"ask\"",
            "What it does when a step fails.",
        ),
        Field::optional(
            "system_override",
            Kind::Str,
            "A raw prompt that stands in for persona and traits.",
        ),
    ],
);

/// One entry of `expose`.
pub static EXPOSED: Table = Table::new(
    "the function",
    &[
        Field::required("name", Kind::Str, "The name by which it is called."),
        Field::optional("description", Kind::Str, "What it does."),
        Field::default("input", Kind::Map(&Kind::Str), "{}", "Its arguments with their types."),
        Field::optional("output", Kind::Str, "The type of its result."),
    ],
);

/// `trust`.
pub static TRUST: Table = Table::new(
    "`trust`",
    &[
        Field::default(
            "filesystem",
            Kind::Choice(Filesystem::WORDS),
            "\"none\"",
            "Which files it may read and write.",
        ),
        Field::default(
            "network",
            Kind::Choice(Network::WORDS),
            "\"none\"",
            "Which hosts it may reach.",
        ),
        Field::default("exec", Kind::Choice(Exec::WORDS), "\"none\"", "What it may run."),
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
pub static OBSERVABILITY: Table = Table::new(
    "`observability`",
    &[
        Field::default("trace", Kind::Bool, "false", "Whether every step is recorded."),
        Field::optional(
            "cost_limit",
            Kind::Float(0.0, f64::INFINITY),
            "The most it may spend, in US dollars.",
        ),
        Field::default("step_limit", Kind::Int(0, i64::MAX), "50", "The most steps of a run."),
        Field::default(
            "on_exceed",
            Kind::Choice(OnExceed::WORDS),
            "\"abort\"",
            "What happens at a limit.",
        ),
    ],
);

/// One entry of `agents`.
pub static AGENT: Table = Table::new(
    "the agent",
    &[
        Field::required("ref", Kind::Str, "Where it is, written as in `base`."),
        Field::default(
            "role",
            Kind::Choice(AgentRole::WORDS),
            "\"subagent\"",
            "What it does for this agent.",
        ),
    ],
);

/// One entry of `pipeline`.
pub static STAGE: Table = Table::new(
    "the stage",
    &[
        Field::required("call", Kind::Str, "What is called, as `agent.function`."),
        Field::optional("output", Kind::Str, "What the result is called by later stages."),
    ],
);
