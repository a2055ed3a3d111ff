//! Policy files of Gemini: writes and parses their rules.

use agentry_policy::Action;
use agentry_text::data::MapBuilder;
use agentry_text::{Data, FileId, Findings, Severity, SourceFile, toml};

use super::regex;

/// One rule of a policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GeminiRule {
    /// The tool that it matches, `*` for all.
    pub(super) tool: String,
    /// The server that the tool belongs to, `*` for any.
    pub(super) server: Option<String>,
    /// The condition on the call.
    pub(super) when: GeminiCondition,
    /// The verdict.
    pub(super) action: Action,
}

/// A condition on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GeminiCondition {
    /// Every call.
    Always,
    /// The command matches these wildcards.
    Command(String),
    /// The name matches this pattern, in Agentry's syntax.
    Name(String),
    /// A condition that is not understood.
    Unknown,
}

/// The text before the name of a skill in the arguments as JSON.
const NAME: &str = "\"name\":\"";

/// The verdicts and their names in Gemini.
const DECISIONS: &[(Action, &str)] =
    &[(Action::Allow, "allow"), (Action::Ask, "ask_user"), (Action::Deny, "deny")];

/// The most rules that can have unique priorities.
pub(super) const MOST: usize = 1_000;

/// Writes a policy file for one agent; the first rule has the highest priority.
pub(super) fn write(head: &str, agent: &str, rules: &[GeminiRule]) -> String {
    let top = i64::try_from(MOST).unwrap_or_default() - 1;
    let rules = rules.iter().zip(0..).map(|(rule, at)| written(rule, agent, top - at)).collect();
    let data = Data::Map(vec![("rule".to_owned(), Data::List(rules))]);
    format!("{head}\n{}", toml::emit(&data))
}

fn written(rule: &GeminiRule, agent: &str, priority: i64) -> Data {
    let mut map = MapBuilder::new();
    map.set("toolName", Data::str(&rule.tool));
    map.str_opt("mcpName", rule.server.as_ref());
    map.set("subagent", Data::str(agent));
    match &rule.when {
        GeminiCondition::Always | GeminiCondition::Unknown => {}
        GeminiCondition::Command(text) => {
            map.str_opt("commandRegex", regex::write(text, rule.action));
        }
        GeminiCondition::Name(text) => {
            let regex = regex::write_name(text, rule.action).map(|regex| format!("{NAME}{regex}"));
            map.str_opt("argsPattern", regex);
        }
    }
    let word = DECISIONS.iter().find(|(action, _)| *action == rule.action);
    map.set("decision", Data::str(word.map_or("deny", |(_, word)| word)));
    map.set("priority", Data::Int(priority));
    map.build()
}

/// Returns the rules of a policy file for an agent, the highest priority first. `None` for a file that Gemini
/// would reject.
pub(super) fn read(text: &str, agent: &str) -> Option<Vec<GeminiRule>> {
    ranked(text, agent).map(sorted)
}

/// Sorts rules by priority, the highest first, and removes the priorities.
pub(super) fn sorted(mut rules: Vec<(i64, GeminiRule)>) -> Vec<GeminiRule> {
    rules.sort_by_key(|(priority, _)| std::cmp::Reverse(*priority));
    rules.into_iter().map(|(_, rule)| rule).collect()
}

/// Returns the rules of a policy file for an agent, with their priorities.
pub(super) fn ranked(text: &str, agent: &str) -> Option<Vec<(i64, GeminiRule)>> {
    let source = SourceFile::new(FileId::BUILT_IN, "", text);
    let mut findings = Findings::default();
    let data = toml::parse(&source, &mut findings).to_data();
    if findings.iter().any(|found| found.severity == Severity::Error) {
        return None;
    }
    let Some(Data::List(tables)) = data.get("rule") else { return Some(Vec::new()) };
    let mut rules: Vec<(i64, GeminiRule)> = Vec::new();
    for table in tables {
        let subagent = table.get("subagent").and_then(Data::as_str);
        if subagent.is_some_and(|name| name != agent) {
            continue;
        }
        // One invalid rule makes Gemini reject the whole file.
        let Some(Data::Int(priority)) = table.get("priority") else { return None };
        let decision = table.get("decision").and_then(Data::as_str)?;
        let (action, _) = DECISIONS.iter().find(|(_, word)| *word == decision)?;
        let tools = crate::front_matter::list_items(table.get("toolName")?)?;
        let server = table.get("mcpName").and_then(Data::as_str).map(str::to_owned);
        let whens = whens(table);
        for tool in tools {
            for when in &whens {
                let (server, when) = (server.clone(), when.clone());
                rules.push((
                    *priority,
                    GeminiRule { tool: tool.clone(), server, when, action: *action },
                ));
            }
        }
    }
    Some(rules)
}

/// Returns the conditions of a rule: one per alternative.
fn whens(table: &Data) -> Vec<GeminiCondition> {
    // Rules with these keys hold only in some sessions.
    let is_set = |key: &&str| table.get(key).is_some();
    if ["modes", "interactive", "toolAnnotations"].iter().any(is_set) {
        return vec![GeminiCondition::Unknown];
    }
    if let Some(prefixes) = table.get("commandPrefix") {
        let prefixes = crate::front_matter::list_items(prefixes).unwrap_or_default();
        return prefixes
            .iter()
            .map(|prefix| GeminiCondition::Command(format!("{prefix} *")))
            .collect();
    }
    let command = table.get("commandRegex").map(|data| data.as_str().and_then(regex::read));
    let name = table.get("argsPattern").map(|data| {
        data.as_str().and_then(|text| text.strip_prefix(NAME)).and_then(regex::read_name)
    });
    vec![match (command, name) {
        (None, None) => GeminiCondition::Always,
        (Some(Some(text)), _) => GeminiCondition::Command(text),
        (_, Some(Some(text))) => GeminiCondition::Name(text),
        _ => GeminiCondition::Unknown,
    }]
}
