//! `[render]` in `agentry.toml`: the harnesses that a team renders for, and the agents' names there.
//!
//! It selects among the options of the targets. No option lets an agent do more.

use agentry_targets::{RenderScope, TARGETS, Target, target};
use agentry_text::table::UnknownKeys;
use agentry_text::table::rules::UNKNOWN_VALUE;
use agentry_text::{Field, FieldKind, FieldTable, Findings, TableRecord, TreeMap};

use super::acceptance::AcceptedLoss;

/// The names of all targets.
pub(crate) const NAMES: [&str; TARGETS.len()] = {
    let mut names = [""; TARGETS.len()];
    let mut at = 0;
    while at < TARGETS.len() {
        names[at] = TARGETS[at].name;
        at += 1;
    }
    names
};

pub(crate) static RENDER: FieldTable =
    FieldTable::new("`[render]`", &FIELDS).unknown(UnknownKeys::Error);

const OWN: [Field; 7] = [
    Field::optional(
        "targets",
        FieldKind::List(&FieldKind::Choice(&NAMES)),
        "The harnesses that `agentry render` writes for when no `--target` is given.",
    ),
    Field::default(
        "scope",
        FieldKind::Choice(RenderScope::WORDS),
        "\"project\"",
        "Where the files go: below the workspace, or below the home directory.",
    ),
    Field::default(
        "guard",
        FieldKind::Bool,
        "false",
        "Whether the harness asks `agentry guard` before each call, if it has hooks.",
    ),
    Field::default(
        "close_gaps",
        FieldKind::Bool,
        "false",
        "Whether rules are made stricter where the harness does not check.",
    ),
    Field::default(
        "shared",
        FieldKind::Bool,
        "false",
        "Whether files are written that also hold for other agents and for your own sessions.",
    ),
    Field::optional(
        "accept",
        FieldKind::List(&FieldKind::Line),
        "Losses that were looked at, as `TARGET:FIELD`: they are counted, and `--strict` passes with them.",
    ),
    Field::optional("aliases", ALIASES, "Other names for agents, by their names."),
];

/// The fields of `[render]`, followed by one block for each target.
static FIELDS: [Field; OWN.len() + TARGETS.len()] = {
    let mut fields = [const { Field::optional("", FieldKind::Any, "") }; OWN.len() + TARGETS.len()];
    let [targets, scope, guard, close_gaps, shared, accept, aliases] = OWN;
    fields[0] = targets;
    fields[1] = scope;
    fields[2] = guard;
    fields[3] = close_gaps;
    fields[4] = shared;
    fields[5] = accept;
    fields[6] = aliases;
    let mut at = 0;
    while at < TARGETS.len() {
        let block = FieldKind::Block(options(TARGETS[at]));
        fields[OWN.len() + at] = Field::optional(TARGETS[at].name, block, "Only for this target.");
        at += 1;
    }
    fields
};

const ALIASES: FieldKind = FieldKind::Map(&FieldKind::Line);

const OWN_ALIASES: Field =
    Field::optional("aliases", ALIASES, "Other names for agents in this target only.");

static OPTIONS: FieldTable =
    FieldTable::new("the options of a target", &[OWN_ALIASES]).unknown(UnknownKeys::Error);

/// The options of a harness with one main session.
static WITH_PRIMARY: FieldTable = FieldTable::new(
    "the options of a target",
    &[
        OWN_ALIASES,
        Field::optional(
            PRIMARY,
            FieldKind::Line,
            "The agent whose prompt is that of the main session, of which the harness has only one.",
        ),
    ],
)
.unknown(UnknownKeys::Error);

const PRIMARY: &str = "primary";

/// The options that a target has.
const fn options(target: &Target) -> &'static FieldTable {
    if target.one_primary { &WITH_PRIMARY } else { &OPTIONS }
}

/// The render settings of a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderConfig {
    /// The targets in order, or `None` if none are listed.
    pub targets: Option<Vec<String>>,
    /// Where the files are written.
    pub scope: Option<RenderScope>,
    /// Whether the guard is rendered.
    pub guard: bool,
    /// Whether gaps are closed.
    pub close_gaps: bool,
    /// Whether shared files are written.
    pub shared: bool,
    /// The accepted losses, as they are written.
    pub accept: Vec<String>,
    /// Names of agents for every target.
    aliases: Vec<(String, String)>,
    /// Settings of single targets.
    blocks: Vec<(String, TargetConfig)>,
}

/// The settings of one target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct TargetConfig {
    aliases: Vec<(String, String)>,
    options: Vec<(String, String)>,
}

impl RenderConfig {
    /// Reads the block, which must be validated. Reports accepted losses that no render has.
    pub(crate) fn read(render: &TableRecord<'_>, findings: &mut Findings) -> Self {
        let targets = render.strings("targets").map(|names| {
            let known = names.into_iter().filter(|name| target(name).is_some());
            known.map(|name| name.value).collect()
        });
        let accept = render.strings("accept").unwrap_or_default();
        for text in &accept {
            if let Err(why) = text.value.parse::<AcceptedLoss>() {
                findings.add(&UNKNOWN_VALUE, text.span, why);
            }
        }
        let is_on = |name| render.bool(name).is_some_and(|value| value.value);
        Self {
            targets,
            scope: render.word("scope").map(|scope| scope.value),
            guard: is_on("guard"),
            close_gaps: is_on("close_gaps"),
            shared: is_on("shared"),
            accept: accept.into_iter().map(|text| text.value).collect(),
            aliases: pairs(render.map("aliases")),
            blocks: TARGETS.iter().filter_map(|target| block(render, target)).collect(),
        }
    }

    /// The name of an agent in a target.
    pub fn name<'a>(&'a self, target: &Target, name: &'a str) -> &'a str {
        let own = self.block(target).map(|block| block.aliases.as_slice()).unwrap_or_default();
        let mut aliases = own.iter().chain(&self.aliases);
        aliases.find(|(known, _)| known == name).map_or(name, |(_, alias)| alias)
    }

    /// The options of a target, by name.
    pub fn options(&self, target: &Target) -> &[(String, String)] {
        self.block(target).map(|block| block.options.as_slice()).unwrap_or_default()
    }

    /// The agent for the main session of a target, as the user names it.
    pub fn primary(&self, target: &Target) -> Option<&str> {
        let mut options = self.options(target).iter();
        options.find(|(key, _)| key == PRIMARY).map(|(_, name)| name.as_str())
    }

    fn block(&self, target: &Target) -> Option<&TargetConfig> {
        self.blocks.iter().find(|(name, _)| name == target.name).map(|(_, block)| block)
    }
}

fn block(render: &TableRecord<'_>, target: &Target) -> Option<(String, TargetConfig)> {
    let record = render.record(target.name, options(target))?;
    let primary = target.one_primary.then(|| record.str(PRIMARY)).flatten();
    let options = primary.map(|name| (PRIMARY.to_owned(), name.value)).into_iter().collect();
    let block = TargetConfig { aliases: pairs(record.map("aliases")), options };
    Some((target.name.to_owned(), block))
}

fn pairs(map: Option<&TreeMap>) -> Vec<(String, String)> {
    let entries = map.map(|map| map.entries.as_slice()).unwrap_or_default();
    let pair = |entry: &agentry_text::TreeEntry| {
        Some((entry.key.text.clone(), entry.value.as_str()?.to_owned()))
    };
    entries.iter().filter_map(pair).collect()
}
