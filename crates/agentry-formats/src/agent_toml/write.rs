//! Writes `agent.toml` in the order of its specification, and the prompt beside it. Texts that have no file
//! in this format are added to the prompt.

use agentry_model::{
    Agent, AgentBehaviour, AgentIdentity, AgentInstructions, ConversionLoss, ConversionLossKind,
    SkillPack, SkillRef, slug,
};
use agentry_text::data::MapBuilder;
use agentry_text::table::is_extension;
use agentry_text::{Data, Spanned, toml};

use super::fields::is_kebab_case;
use super::{MAIN, PROMPT, SKILLS, write_policy};
use crate::skill::{self, SkillDialect};
use crate::{WriteTarget, WrittenFiles, policy_tests, text_checks};

/// The longest derived description.
const MADE_UP_CHARS: usize = 160;

/// Writes an agent, as far as the format can express it.
pub(super) fn write(agent: &Agent, target: &WriteTarget) -> WrittenFiles {
    // No `..`: a new field of the model must be written here or left out deliberately.
    let Agent {
        identity,
        inheritance: _,
        instructions,
        model: _,
        auth: _,
        behaviour,
        budget: _,
        requirements: _,
        policy,
        access_control: _,
        skills,
        skill_packs,
        tools: _,
        memory: _,
        memories: _,
        expose: _,
        agents: _,
        pipeline: _,
        schedules: _,
        settings: _,
        extensions,
        unknown: _,
    } = agent;
    let mut out = AgentTomlWriter::default();
    let identity = out.identity(identity, instructions, target);
    let prompt = out.prompt(instructions, &identity);
    let mut references = MapBuilder::new();
    references.set_opt("skills", out.skills(skills.as_deref(), skill_packs));
    references.set_opt("context", texts(instructions.context.as_deref()));
    references.set_opt("rules", texts(instructions.rule_files.as_deref()));
    let (simple, tables) = out_extensions(extensions);
    let permissions = write_policy::sections(policy, &target.place, &mut out.notes);
    let mut tests = MapBuilder::new();
    tests.set_opt(policy_tests::KEY, policy_tests::to_data(&policy.tests));
    let blocks = [
        toml::emit(&head(identity, behaviour)),
        toml::emit(&references.build()),
        toml::emit(&simple),
        permissions,
        // TOML needs plain values before tables, so extensions are split into `simple` and `tables`.
        toml::emit(&tests.build()),
        toml::emit(&tables),
    ];
    let text: Vec<_> = blocks.into_iter().filter(|block| !block.is_empty()).collect();
    let mut files = vec![(MAIN.to_owned(), text.join("\n")), (PROMPT.to_owned(), prompt)];
    files.extend(out.files);
    WrittenFiles { files, notes: out.notes }
}

/// The identity of the agent, as far as the format has fields for it.
struct WrittenIdentity {
    name: String,
    display_name: Option<String>,
    description: String,
    mode: Option<&'static str>,
    tags: Option<Data>,
}

/// Returns the fields at the top of the file.
fn head(named: WrittenIdentity, behaviour: &AgentBehaviour) -> Data {
    let WrittenIdentity { name, display_name, description, mode, tags } = named;
    let AgentBehaviour { max_turns, temperature: _, on_error: _ } = behaviour;
    let turns = max_turns.filter(|turns| turns.value >= 1);
    let mut out = MapBuilder::new();
    out.str_opt("name", Some(name));
    out.str_opt("display_name", display_name);
    out.str_opt("description", Some(description));
    out.str_opt("mode", mode);
    out.set_opt("tags", tags);
    out.set_opt("max_turns", turns.map(|turns| Data::Int(turns.value)));
    out.build()
}

#[derive(Default)]
struct AgentTomlWriter {
    files: Vec<(String, String)>,
    notes: Vec<ConversionLoss>,
}

impl AgentTomlWriter {
    fn note(&mut self, field: &str, detail: impl Into<String>) {
        let (field, detail) = (field.to_owned(), detail.into());
        self.notes.push(ConversionLoss { field, kind: ConversionLossKind::Changed, detail });
    }

    fn identity(
        &mut self,
        of: &AgentIdentity,
        instructions: &AgentInstructions,
        target: &WriteTarget,
    ) -> WrittenIdentity {
        let AgentIdentity {
            name,
            display_name,
            mode,
            tags,
            // `description` writes these.
            description: _,
            role: _,
            // The format has no fields for these.
            version: _,
            category: _,
            author: _,
            license: _,
            icon: _,
            avatar: _,
            status: _,
            greeting: _,
            risk_level: _,
        } = of;
        let written = name.as_ref().map(|name| name.value.as_str());
        let display_line = display_name.as_ref().and_then(|name| one_line(name));
        let name = match written.filter(|name| is_kebab_case(name)) {
            Some(name) => name.to_owned(),
            None => Self::slug([written, display_line.as_deref(), Some(&target.name)]),
        };
        // A name that is not a slug is still readable, so it becomes the display name.
        let display_name =
            display_line.or_else(|| written.filter(|written| **written != name).and_then(one_line));
        let shown = display_name.as_deref().unwrap_or(&name);
        let description = self.description(of, instructions, shown);
        WrittenIdentity {
            description,
            mode: mode.as_ref().map(|mode| mode.as_str()),
            tags: texts(tags.as_deref()),
            display_name,
            name,
        }
    }

    /// Returns the slug of the first of `texts` that has one.
    fn slug(texts: [Option<&str>; 3]) -> String {
        let name = texts.into_iter().flatten().map(slug).find(|slug| !slug.is_empty());
        name.unwrap_or_else(|| "agent".to_owned())
    }

    fn description(
        &mut self,
        of: &AgentIdentity,
        instructions: &AgentInstructions,
        shown: &str,
    ) -> String {
        if let Some(text) = of.description.as_ref().and_then(|text| one_line(text)) {
            if of.description.as_ref().is_some_and(|whole| whole.trim() != text) {
                self.note("description", "on one line");
            }
            return without_stop(&text).to_owned();
        }
        let sentence = instructions.system.as_ref().and_then(|text| first_sentence(text));
        let role = || of.role.as_ref().and_then(|role| one_line(role));
        let made_up = role().or(sentence).unwrap_or_else(|| shown.to_owned());
        without_stop(&made_up).to_owned()
    }

    /// Returns the system prompt, then hard rules, which are always last.
    fn prompt(&mut self, instructions: &AgentInstructions, named: &WrittenIdentity) -> String {
        let AgentInstructions {
            system,
            rules,
            // They are in the system prompt.
            system_override: _,
            traits: _,
            // `write` writes these.
            context: _,
            rule_files: _,
            base_rules: _,
            // The format has no field for these.
            notes: _,
        } = instructions;
        let full = |text: &Option<Spanned<String>>| {
            let text = text.as_ref().map(|text| text.trim().to_owned());
            text.filter(|text| !text.is_empty())
        };
        let system = full(system);
        let mut prompt = system.clone().unwrap_or_else(|| Self::first_words(named));
        if let Some(rules) = full(rules) {
            self.note("rules", "moved to the end of the prompt, under `## Rules`");
            prompt.push_str("\n\n## Rules\n\n");
            prompt.push_str(&rules);
            if system.is_some() {
                self.note("system", "what has no field of its own was added at its end");
            }
        }
        prompt.push('\n');
        prompt
    }

    /// Returns the start of the prompt when there is no system prompt.
    fn first_words(named: &WrittenIdentity) -> String {
        let shown = named.display_name.as_deref().unwrap_or(&named.name);
        format!("You are {}: {}.", without_stop(shown), without_stop(&named.description))
    }

    /// Returns the names of all skills, including those that come as files, and adds these files.
    fn skills(&mut self, asked: Option<&[Spanned<SkillRef>]>, packs: &[SkillPack]) -> Option<Data> {
        let names = asked.unwrap_or_default().iter().map(|skill| skill.name.clone());
        let mut names: Vec<String> = names.collect();
        for pack in packs {
            let path = skill::folder_path(pack);
            let name = path.trim_end_matches("/SKILL.md");
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
            self.files
                .push((format!("{SKILLS}/{path}"), skill::write(pack, SkillDialect::Standard)));
        }
        (asked.is_some() || !names.is_empty()).then(|| Data::strings(&names))
    }
}

/// Splits extensions into plain values, which come before the tables, and tables. Those without `x-` go
/// into `[extensions]`.
fn out_extensions(extensions: &[(String, Spanned<Data>)]) -> (Data, Data) {
    let is_table = |data: &Data| match data {
        Data::Map(_) => true,
        Data::List(items) => items.iter().any(|item| matches!(item, Data::Map(_))),
        _ => false,
    };
    let (mut simple, mut tables, mut others) =
        (MapBuilder::new(), MapBuilder::new(), MapBuilder::new());
    for (name, data) in extensions {
        let to = match is_extension(name) {
            false => &mut others,
            true if is_table(data) => &mut tables,
            true => &mut simple,
        };
        to.set(name, data.value.clone());
    }
    tables.set_full("extensions", others.build());
    (simple.build(), tables.build())
}

fn texts(list: Option<&[Spanned<String>]>) -> Option<Data> {
    list.map(|list| Data::strings(list.iter().map(|text| &text.value)))
}

/// Returns `text` on one line; `None` if it is blank.
fn one_line(text: &str) -> Option<String> {
    Some(text_checks::one_line(text.trim())).filter(|text| !text.is_empty())
}

/// Returns `text` without the full stop at its end, unless nothing would be left.
fn without_stop(text: &str) -> &str {
    let bare = text.trim_end_matches(|c: char| c == '.' || c.is_whitespace());
    if bare.is_empty() { text } else { bare }
}

/// Returns the first sentence of a Markdown text, without its full stop.
fn first_sentence(text: &str) -> Option<String> {
    let is_prose =
        |line: &&str| !line.is_empty() && !line.starts_with(['#', '`', '<', '-', '|', '>']);
    let line = text.lines().map(str::trim).find(is_prose)?;
    let sentence = line.split_once(". ").map_or(line, |(first, _)| first);
    let sentence = sentence.trim_end_matches(['.', ':']).trim();
    let short = match sentence.char_indices().nth(MADE_UP_CHARS) {
        None => sentence,
        Some((at, _)) => {
            let cut = sentence.get(..at).unwrap_or("");
            // Cuts at a word boundary.
            cut.rsplit_once(' ').map_or(cut, |(before, _)| before)
        }
    };
    one_line(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_becomes_the_description() {
        let long = "word ".repeat(60);
        let cases = [
            ("You answer questions. You are kind.", Some("You answer questions")),
            ("# Helper\n\nYou answer questions.\n", Some("You answer questions")),
            ("You follow these rules:\n- one\n", Some("You follow these rules")),
            ("# Helper\n", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(first_sentence(text).as_deref(), expected, "{text}");
        }
        assert_eq!(first_sentence(&long).map(|text| text.len()), Some(159));
    }
}
