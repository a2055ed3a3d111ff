//! Writes the metadata block: the declared fields, in the documented order.

use agentry_model::{Agent, AgentIdentity, AgentRequirements, Declared, DeclaredList, ModelChoice};
use agentry_policy::{Abilities, Ability};
use agentry_text::data::MapBuilder;
use agentry_text::table::{full_version, is_extension};
use agentry_text::{Data, Spanned};

use super::body::HeadingTexts;
use crate::agent_md::fields::{ABILITIES, METADATA, RECOMMENDED, REQUIRED};
use crate::agent_md::metadata::is_one_emoji;
use crate::text_checks::is_variable;
use crate::{front_matter, policy_tests};

/// Returns the block with its fences, or nothing if it is empty. `texts` are those not in the body.
pub(super) fn block(agent: &Agent, texts: &HeadingTexts, abilities: Option<&Abilities>) -> String {
    let fields = fields(agent, texts, abilities);
    if fields.is_empty() { String::new() } else { front_matter::block(&fields) }
}

/// Returns the fields. The pattern names every part of the agent, so that a new part is not forgotten.
fn fields(agent: &Agent, texts: &HeadingTexts, abilities: Option<&Abilities>) -> Data {
    let Agent {
        identity,
        model,
        requirements,
        policy,
        extensions,
        unknown,
        // These texts and this code are in the body.
        instructions: _,
        tools: _,
        // The format has no fields for these.
        inheritance: _,
        auth: _,
        behaviour: _,
        budget: _,
        access_control: _,
        skills: _,
        skill_packs: _,
        memory: _,
        memories: _,
        expose: _,
        agents: _,
        pipeline: _,
        schedules: _,
        settings: _,
    } = agent;
    let mut out = MapBuilder::new();
    self::identity(&mut out, identity, texts);
    out.set_full("recommended", recommended(model));
    out.set_full("required", required(requirements));
    out.set_opt("abilities", abilities.map(self::abilities));
    out.set_opt(policy_tests::KEY, policy_tests::to_data(&policy.tests));
    let HeadingTexts { system, rules, avatar, title: _, description: _, notes: _, tools: _ } =
        texts;
    out.str_opt("system", system.as_ref());
    out.str_opt("rules", rules.as_ref());
    out.str_opt("avatar", avatar.as_ref());
    others(out.build(), extensions, unknown)
}

fn identity(out: &mut MapBuilder, identity: &AgentIdentity, texts: &HeadingTexts) {
    let AgentIdentity {
        version,
        icon,
        status,
        display_name: _,
        description: _,
        avatar: _,
        name: _,
        category: _,
        author: _,
        license: _,
        tags: _,
        mode: _,
        role: _,
        greeting: _,
        risk_level: _,
    } = identity;
    out.str_opt("version", version.as_ref().and_then(|version| full_version(&version.value)));
    // Any other icon would be an error in this format.
    out.str_opt("icon", value(icon).filter(|icon| is_one_emoji(icon)));
    out.str_opt("title", texts.title.as_ref());
    out.str_opt("description", texts.description.as_ref());
    out.str_opt("status", status.as_ref().map(|status| status.as_str()));
}

fn value(field: &Declared<String>) -> Option<&str> {
    field.as_ref().map(|field| field.value.as_str())
}

fn recommended(model: &ModelChoice) -> Data {
    let ModelChoice { preferred, capabilities, capability: _, fallback: _, context: _ } = model;
    let mut out = MapBuilder::new();
    out.set_opt("models", list(preferred, |_| true));
    out.set_opt("capabilities", list(capabilities, |_| true));
    out.build()
}

fn required(requirements: &AgentRequirements) -> Data {
    let AgentRequirements { env, startup } = requirements;
    let mut out = MapBuilder::new();
    // An invalid name would be an error in this format.
    out.set_opt("env", list(env, is_variable));
    out.str_opt("startup", value(startup));
    out.build()
}

fn list(field: &DeclaredList<String>, keep: fn(&str) -> bool) -> Option<Data> {
    let texts = field.as_ref()?.iter().map(|text| text.value.as_str());
    Some(Data::strings(texts.filter(|text| keep(text))))
}

/// Writes the abilities; a plain list if nothing is denied.
fn abilities(Abilities { allow, deny }: &Abilities) -> Data {
    let words = |list: &[Spanned<Ability>]| {
        Data::strings(list.iter().map(|ability| ability.value.to_string()))
    };
    match (allow, deny) {
        (Some(allow), None) => words(allow),
        _ => {
            let mut out = MapBuilder::new();
            out.set_opt("allow", allow.as_deref().map(words));
            out.set_opt("deny", deny.as_deref().map(words));
            out.build()
        }
    }
}

/// Adds extensions, and unknown fields at their original paths.
fn others(
    fields: Data,
    extensions: &[(String, Spanned<Data>)],
    unknown: &[(String, Spanned<Data>)],
) -> Data {
    let Data::Map(mut entries) = fields else { return fields };
    let (own, named): (Vec<_>, Vec<_>) =
        extensions.iter().partition(|(name, _)| is_extension(name));
    let entry = |(name, data): &(String, Spanned<Data>)| (name.clone(), data.value.clone());
    entries.extend(own.into_iter().map(entry));
    if !named.is_empty() {
        entries.push(("extensions".to_owned(), Data::Map(named.into_iter().map(entry).collect())));
    }
    for (path, data) in unknown {
        keep(&mut entries, path, &data.value);
    }
    Data::Map(entries)
}

/// Writes an unknown field back, unless this format defines a field of that name.
fn keep(entries: &mut Vec<(String, Data)>, path: &str, data: &Data) {
    let blocks =
        [("recommended", &RECOMMENDED), ("required", &REQUIRED), ("abilities", &ABILITIES)];
    let inner = path.split_once('.').and_then(|(block, key)| {
        let (name, table) = blocks.iter().find(|(name, _)| *name == block)?;
        Some((*name, *table, key))
    });
    match inner {
        Some((name, table, key)) => {
            let at = entries.iter().position(|(other, _)| other == name);
            let block = match at.and_then(|at| entries.get_mut(at)) {
                Some((_, block)) => block,
                None => {
                    entries.push((name.to_owned(), Data::Map(Vec::new())));
                    let Some((_, block)) = entries.last_mut() else { return };
                    block
                }
            };
            if let (Data::Map(inside), None) = (block, table.field(key)) {
                inside.push((key.to_owned(), data.clone()));
            }
        }
        None if METADATA.field(path).is_none() && !is_extension(path) => {
            entries.push((path.to_owned(), data.clone()));
        }
        None => {}
    }
}
