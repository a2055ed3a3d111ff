//! Reads agents of Claude Code with the settings around them. What the mode of a session decides is
//! taken for asked, so that nothing gets wider.

use std::collections::BTreeSet;

use agentry_model::{Agent, McpServer, SkillRef};
use agentry_policy::{Action, PatternRule, Permissions, Section, SectionRules};
use agentry_text::{Data, Spanned};

use super::front::{self, Front};
use super::ruleset::{Silence, of, tools};
use super::settings::{Known, Lists, PERSONAL, known, personal};
use super::tools::{GROUPS, Tools, name_of, names, restricted, section_of};
use super::{patterns, rule};
use crate::Files;
use crate::import::{Import, Read};
use crate::imported::at;
use crate::rendering::{Loss, LossKind};
use crate::servers::{self, Variables};
use crate::wildcard::reworded;

pub(super) const IMPORT: Import = Import { places: &[(".claude/agents", ".md")], is_one, read };

fn is_one(path: &str, text: &str) -> bool {
    let named = || front::read(text).is_some_and(|front| front.metadata.get("name").is_some());
    let markdown = path.rsplit_once('.').is_some_and(|(_, end)| end == "md");
    path.contains(".claude/agents/") && markdown && named()
}

fn read(files: &Files<'_>, path: &str) -> Result<Read, String> {
    let text = files(path).ok_or("the file cannot be read")?;
    let front = front::read(&text).ok_or("there is no metadata between two lines of `---`")?;
    let mut losses = BTreeSet::new();
    let mut agent = Agent::default();
    identity(&front, &mut agent, &mut losses)?;
    of_the_user(files, &mut losses);
    let mut known = known(files);
    known.rules.allow.retain(|text| !text.is_empty());
    if front.metadata.get("permissionMode").and_then(Data::as_str) == Some("plan") {
        // Whatever rules allow, nothing is changed.
        known.rules.allow.clear();
    }
    let tools = tools(&front);
    let silence = silence(&front, &mut losses);
    agent.policy.permissions = Some(permissions(&tools, &known, silence));
    changed(&known, &mut losses);
    let model = of(&tools, &known, silence);
    Ok(Read { agent, model, losses })
}

/// Notes what the user's own settings say, which hold for agents of every project and are no part of
/// one.
fn of_the_user(files: &Files<'_>, losses: &mut BTreeSet<Loss>) {
    let Lists { allow, ask, deny } = &personal(files).rules;
    for (list, verb) in [(allow, "allows"), (ask, "asks about"), (deny, "denies")] {
        if let Some((first, more)) = list.split_first() {
            let more = if more.is_empty() { "" } else { " and more" };
            let detail = format!(
                "your own `{PERSONAL}` {verb} `{first}`{more} in every project: not taken over"
            );
            lose(losses, "permissions", LossKind::Changed, detail);
        }
    }
}

/// Notes the rules about commands that became others.
fn changed(known: &Known, losses: &mut BTreeSet<Loss>) {
    let Lists { allow, ask, deny } = &known.rules;
    for (list, action) in [(deny, Action::Deny), (ask, Action::Ask), (allow, Action::Allow)] {
        for text in list.iter().filter(|text| rule::parse(text).tool == "Bash") {
            let only = rule::parse(text).only.unwrap_or_default();
            let words = patterns::source(Section::Bash, text, action);
            if let Some(detail) = reworded(Section::Bash, only, action, &words) {
                lose(losses, "permissions.bash", LossKind::Narrowed, detail);
            }
        }
    }
}

fn lose(losses: &mut BTreeSet<Loss>, field: &str, kind: LossKind, detail: impl Into<String>) {
    losses.insert(Loss { field: field.to_owned(), kind, detail: detail.into() });
}

/// Fields of the metadata that have a place in the model.
const PLACED: &[&str] = &[
    "name",
    "description",
    "tools",
    "disallowedTools",
    "model",
    "maxTurns",
    "skills",
    "mcpServers",
    "permissionMode",
];

/// All but what the agent may do.
fn identity(front: &Front, agent: &mut Agent, losses: &mut BTreeSet<Loss>) -> Result<(), String> {
    let Data::Map(fields) = &front.metadata else { return Err("there is no metadata".to_owned()) };
    let text = |key: &str| front.metadata.get(key).and_then(Data::as_str).map(str::to_owned);
    if front.lenient {
        let detail = "it is no valid YAML and was read line by line, as Claude Code does";
        lose(losses, "metadata", LossKind::Changed, detail);
    }
    for line in &front.unread {
        let detail = format!("`{line}` says nothing when it is read line by line");
        lose(losses, "metadata", LossKind::Dropped, detail);
    }
    for entry in front.metadata.get("tools").map(restricted).unwrap_or_default() {
        let why = if matches!(section_of(&name_of(&entry)), Some(Section::Delegate)) {
            "which agents it may start is not taken over"
        } else {
            "Claude Code does not restrict by it"
        };
        lose(losses, "tools", LossKind::Dropped, format!("`{entry}`: {why}"));
    }
    agent.identity.name = Some(at(text("name").ok_or("`name` is missing")?));
    agent.identity.description = text("description").map(at);
    agent.instructions.system = Some(at(front.body.clone() + "\n"));
    agent.behaviour.max_turns = match front.metadata.get("maxTurns") {
        Some(Data::Int(turns)) if *turns > 0 => Some(at(*turns)),
        Some(Data::Str(turns)) => turns.parse().ok().filter(|turns| *turns > 0).map(at),
        _ => None,
    };
    agent.model.preferred =
        text("model").filter(|model| model != "inherit").map(|model| vec![at(model)]);
    let skills = front.metadata.get("skills").and_then(names);
    let skill = |name| at(SkillRef { name, optional: false, options: Vec::new() });
    agent.skills = skills.map(|skills| skills.into_iter().map(skill).collect());
    agent.tools.mcp = front.metadata.get("mcpServers").map(|list| listed(list, losses));
    for (field, _) in fields.iter().filter(|(field, _)| !PLACED.contains(&field.as_str())) {
        lose(losses, field, LossKind::Dropped, "it has no place in the model");
    }
    Ok(())
}

/// Servers that are written out; those that are only named are set up elsewhere.
fn listed(list: &Data, losses: &mut BTreeSet<Loss>) -> Vec<Spanned<McpServer>> {
    let mut named: Vec<(String, Data)> = Vec::new();
    match list {
        Data::Map(entries) => named.extend(entries.iter().cloned()),
        Data::List(items) => {
            for item in items {
                match item {
                    Data::Map(entries) => named.extend(entries.iter().cloned()),
                    other => {
                        let detail = format!("the server {} is set up elsewhere", other.to_json());
                        lose(losses, "tools.mcp", LossKind::Dropped, detail);
                    }
                }
            }
        }
        _ => {}
    }
    let server = |(name, data): (String, Data)| at(servers::read(&name, &data, Variables::Bare));
    named.into_iter().map(server).collect()
}

/// What becomes of calls that no rule is about.
fn silence(front: &Front, losses: &mut BTreeSet<Loss>) -> Silence {
    let mode = front.metadata.get("permissionMode").and_then(Data::as_str);
    if let Some(mode) = mode.filter(|mode| !matches!(*mode, "default" | "manual")) {
        let detail = format!("`{mode}` is no promise: a session above it decides, and asks here");
        lose(losses, "permissionMode", LossKind::Narrowed, detail);
    }
    if matches!(mode, Some("dontAsk" | "plan")) { Silence::Denies } else { Silence::Asks }
}

/// The rules of all sections.
fn permissions(tools: &Tools, known: &Known, silence: Silence) -> Permissions {
    let mut sections: Vec<SectionRules> = GROUPS
        .iter()
        .map(|group| {
            let has = group.tools.iter().any(|tool| tools.has(tool));
            if has {
                section(group.section, known, silence)
            } else {
                intent(group.section, Action::Deny)
            }
        })
        .collect();
    let mut mcp = section(Section::Mcp, known, silence);
    let mut others = intent(Section::Tool, silence.action(Section::Tool));
    if tools.listed.is_some() {
        let allow = |name: &str| allow(name.to_owned());
        others.rules = tools.others().map(allow).collect();
        others.intent = Some(at(Action::Deny));
        mcp = of_servers(tools, mcp);
    }
    sections.extend([mcp, others]);
    Permissions { sections }
}

fn allow(pattern: String) -> Spanned<PatternRule> {
    at(PatternRule { pattern, action: Action::Allow })
}

fn intent(section: Section, action: Action) -> SectionRules {
    SectionRules { section: at(section), intent: Some(at(action)), rules: Vec::new() }
}

/// Rules in the order in which they count: denials, asks, allows.
fn section(section: Section, known: &Known, silence: Silence) -> SectionRules {
    let lists = [
        (&known.rules.deny, Action::Deny),
        (&known.rules.ask, silence.asked()),
        (&known.rules.allow, Action::Allow),
    ];
    let is_bare = |text: &String| {
        let rule = rule::parse(text);
        rule.only.is_none() && rule::tool_of(section) == Some(rule.tool)
    };
    let whole = lists.iter().find(|(list, _)| list.iter().any(is_bare)).map(|(_, action)| *action);
    let mut out = intent(section, whole.unwrap_or_else(|| silence.action(section)));
    // What is milder than a rule about everything never counts.
    let counts = |action: Action| whole.is_none_or(|whole| action > whole);
    for (list, action) in lists.into_iter().filter(|(_, action)| counts(*action)) {
        for text in list.iter().filter(|text| rule::entry(section, text, action).is_some()) {
            let patterns = patterns::source(section, text, action).into_iter();
            out.rules.extend(patterns.map(|pattern| at(PatternRule { pattern, action })));
        }
    }
    if section == Section::Read && whole.is_none() {
        out.rules.push(allow("**/*".to_owned()));
    }
    out
}

/// Only the servers that are listed.
fn of_servers(tools: &Tools, mut mcp: SectionRules) -> SectionRules {
    let asked = mcp.intent.map_or(Action::Ask, |intent| intent.value);
    for name in tools.listed.iter().flatten().filter(|name| tools.has(name)) {
        let patterns = patterns::source(Section::Mcp, name, asked).into_iter();
        mcp.rules.extend(patterns.map(|it| at(PatternRule { pattern: it, action: asked })));
    }
    mcp.intent = Some(at(Action::Deny));
    mcp
}
