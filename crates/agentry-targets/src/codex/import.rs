//! Reads agents of Codex, with the rules about commands around them.

use agentry_policy::{Action, PatternRule, Section};
use agentry_text::Data;

use super::prefix::{self, Prefix};
use super::role::{KEYS, RULES, of, parse, setup};
use crate::import::Read;
use crate::imported::{Draft, at, stem};
use crate::model::always;
use crate::rendering::LossKind;
use crate::{Files, Model};

/// Files of rules whose names are known.
const KNOWN_RULES: &[&str] = &[RULES, ".codex/rules/default.rules"];

pub(super) fn read(files: &Files<'_>, path: &str) -> Result<Read, String> {
    let text = files(path).ok_or("it is not there")?;
    let text = text.trim_start_matches('\u{feff}');
    let data = parse(text).ok_or("it is not TOML")?;
    let word = |key: &str| data.get(key).and_then(Data::as_str);
    let name = word("name").unwrap_or_else(|| stem(path, &[".toml"]));
    let prompt = word("developer_instructions").ok_or("it has no `developer_instructions`")?;
    let mut draft = Draft::new(&agentry_model::slug(name), prompt);
    draft.unknown(&data, KEYS);
    draft.agent.identity.description = word("description").map(|text| at(text.to_owned()));
    draft.agent.model.preferred = word("model").map(|model| vec![at(model.to_owned())]);
    for key in ["nickname_candidates", "model_reasoning_effort"] {
        if data.get(key).is_some() {
            draft.lose(key, LossKind::Dropped, "the model has no place for it");
        }
    }
    let (rules, understood) = rules(files, &mut draft);
    let mut model = of(&data, &rules);
    if !understood {
        // What is not understood may forbid anything.
        let nothing = always(Section::Bash, Action::Deny, "rules that are not understood");
        model.add(Section::Bash, "rules", vec![nothing]);
    }
    permissions(&data, &model, &rules, &mut draft);
    draft.servers(data.get("mcp_servers"));
    Ok(Read { agent: draft.agent, model, losses: draft.losses })
}

/// The rules about commands. An allow among them says that Codex does not ask, which the sandbox
/// decides about otherwise; so only the others count. And whether all of them are understood.
fn rules(files: &Files<'_>, draft: &mut Draft) -> (Vec<Prefix>, bool) {
    let mut all = Vec::new();
    let mut understood = true;
    for path in KNOWN_RULES {
        let (found, others) = prefix::read(&files(path).unwrap_or_default());
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
