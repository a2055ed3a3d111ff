//! Reads agents of Codex, with the rules about commands around them.

use agentry_policy::{Action, PatternRule, Section};
use agentry_text::Data;

use super::prefix::{self, Prefix};
use super::role::{KEYS, PROJECT, of, parse, setup};
use crate::import::Read;
use crate::imported::{Draft, at, stem};
use crate::model::always;
use crate::personal::files_in;
use crate::rendering::LossKind;
use crate::{Files, Model};

/// The settings of the project, which hold where an agent says nothing.
const SETTINGS: &str = ".codex/config.toml";
/// What an agent may say otherwise than the settings.
const SETTLED: &[&str] = &[
    "approval_policy",
    "sandbox_mode",
    "sandbox_workspace_write",
    "web_search",
    "features",
    "tools",
    "skills",
];

pub(super) fn read(files: &Files<'_>, path: &str) -> Result<Read, String> {
    let text = files(path).ok_or("it is not there")?;
    let text = text.trim_start_matches('\u{feff}');
    let own = parse(text).ok_or("it is not TOML")?;
    let word = |key: &str| own.get(key).and_then(Data::as_str);
    let name = word("name").unwrap_or_else(|| stem(path, &[".toml"]));
    let prompt = word("developer_instructions").ok_or("it has no `developer_instructions`")?;
    let mut draft = Draft::new(&agentry_model::slug(name), prompt);
    draft.unknown(&own, KEYS);
    draft.agent.identity.description = word("description").map(|text| at(text.to_owned()));
    draft.agent.model.preferred = word("model").map(|model| vec![at(model.to_owned())]);
    for key in ["nickname_candidates", "model_reasoning_effort"] {
        if own.get(key).is_some() {
            draft.lose(key, LossKind::Dropped, "the model has no place for it");
        }
    }
    let (data, is_settled) = settled(files, &own, &mut draft);
    let (rules, understood) = rules(files, &mut draft);
    let mut model = of(&data, &rules);
    // What is not understood may forbid anything.
    let nothing = |section| always(section, Action::Deny, "what is not understood");
    if !understood || !is_settled {
        model.add(Section::Bash, "rules", vec![nothing(Section::Bash)]);
    }
    if !is_settled {
        model.add(Section::Edit, "settings", vec![nothing(Section::Edit)]);
    }
    permissions(&data, &model, &rules, &mut draft);
    draft.servers(own.get("mcp_servers"));
    Ok(Read { agent: draft.agent, model, losses: draft.losses })
}

/// What an agent says, and the settings of the project where it says nothing; and whether they are
/// understood.
fn settled(files: &Files<'_>, own: &Data, draft: &mut Draft) -> (Data, bool) {
    let Some(text) = files(SETTINGS) else { return (own.clone(), true) };
    let (Some(Data::Map(settings)), Data::Map(fields)) = (parse(&text), own) else {
        let detail =
            format!("`{SETTINGS}` is not understood: nothing is allowed that it may forbid");
        draft.lose("permissions", LossKind::Narrowed, detail);
        return (own.clone(), false);
    };
    let is_silent = |key: &str| SETTLED.contains(&key) && own.get(key).is_none();
    let more = settings.into_iter().filter(|(key, _)| is_silent(key));
    (Data::Map(fields.iter().cloned().chain(more).collect()), true)
}

/// The rules about commands. An allow among them says that Codex does not ask, which the sandbox
/// decides about otherwise; so only the others count. And whether all of them are understood.
fn rules(files: &Files<'_>, draft: &mut Draft) -> (Vec<Prefix>, bool) {
    let mut all = Vec::new();
    let mut understood = true;
    for (path, text) in files_in(files, PROJECT, ".rules") {
        let (found, others) = prefix::read(&text);
        all.extend(found.into_iter().filter(|rule| rule.action > Action::Allow));
        for line in others {
            understood = false;
            let detail = format!("`{line}` in `{path}` is not understood: no command is allowed");
            draft.lose("permissions.bash", LossKind::Narrowed, detail);
        }
    }
    (all, understood)
}

/// What each tool may do, as rules of the model.
fn permissions(data: &Data, model: &Model, rules: &[Prefix], draft: &mut Draft) {
    let has = |section| model.ways.iter().any(|way| way.section == section);
    let answer = |section| if has(section) { Action::Allow } else { Action::Deny };
    let setup = setup(data);
    if setup.shell {
        let encoding = setup.commands(rules);
        let mut found: Vec<Prefix> = encoding.entries.iter().flat_map(Prefix::of).collect();
        found.sort_by_key(|rule| std::cmp::Reverse(rule.action));
        let rule = |rule: &Prefix| PatternRule {
            pattern: format!("{} *", rule.words.join(" ")),
            action: rule.action,
        };
        draft.rules(Section::Bash, found.iter().map(rule).collect(), encoding.default);
    } else {
        draft.section(Section::Bash, Action::Deny);
    }
    let (inside, outside) = setup.edits();
    draft.files(Section::Edit, inside, outside);
    let reads: Vec<Action> = (model.ways.iter())
        .filter(|way| way.section == Section::Read)
        .flat_map(|way| way.layers.iter().map(|rules| rules.intent.action))
        .collect();
    let read = reads.iter().copied().max().unwrap_or(Action::Deny);
    draft.section(Section::Read, read);
    draft.section(Section::ExternalDirectory, outside.min(read));
    for section in [Section::Webfetch, Section::Websearch, Section::Skill, Section::Mcp] {
        draft.section(section, answer(section));
    }
    for section in [Section::Question, Section::Tool, Section::Delegate] {
        draft.section(section, Action::Deny);
    }
}
