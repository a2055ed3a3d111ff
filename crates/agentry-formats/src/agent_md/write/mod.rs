//! Writes an agent file from the model.
//!
//! A text goes under its heading if a reader finds it there again. Otherwise it goes into the front matter:
//! a system text with a `## Heading` inside, a title with markup. The writer decides by reading the result.

mod body;
mod metadata;
mod policy;

use agentry_model::{Agent, AgentInstructions, AgentTools, slug};

use super::name;
use crate::text_checks::one_line;
use crate::{WriteTarget, WrittenFiles};
use body::HeadingTexts;

/// Writes `agent` as an agent file.
pub(super) fn write(agent: &Agent, target: &WriteTarget) -> WrittenFiles {
    let mut notes = Vec::new();
    let texts = texts(agent, target);
    let abilities = policy::abilities(&agent.policy, &target.place, &mut notes);
    let laid_out = body::lay_out(&texts, |texts| metadata::block(agent, texts, abilities.as_ref()));
    WrittenFiles { files: vec![(file_name(agent, target), laid_out)], notes }
}

/// Returns the name that the caller asked for, else one that the format recommends.
fn file_name(agent: &Agent, target: &WriteTarget) -> String {
    if !target.name.is_empty() {
        return target.name.clone();
    }
    let part = |text: Option<&str>, other: &str| {
        let part = slug(text.unwrap_or(other));
        if part.is_empty() { other.to_owned() } else { part }
    };
    let identity = &agent.identity;
    let category = part(identity.category.as_ref().map(|text| text.value.as_str()), "general");
    let name = part(identity.name.as_ref().map(|text| text.value.as_str()), "agent");
    format!("{category}_{name}.agent.md")
}

/// Returns the texts of the agent that may go under a heading.
fn texts(agent: &Agent, target: &WriteTarget) -> HeadingTexts {
    let AgentInstructions {
        system,
        rules,
        notes: left_over,
        // They are in the system text.
        system_override: _,
        traits: _,
        // The format has no field for these.
        context: _,
        rule_files: _,
        base_rules: _,
    } = &agent.instructions;
    let AgentTools { source, native: _, mcp: _, scripts: _, functions: _ } = &agent.tools;
    let identity = &agent.identity;
    let text =
        |field: &agentry_model::Declared<String>| field.as_ref().map(|text| text.value.clone());
    let title = text(&identity.display_name)
        .map(|title| one_line(&title))
        .filter(|title| !title.is_empty());
    HeadingTexts {
        title: title.or_else(|| derived_title(agent, target)),
        description: text(&identity.description),
        avatar: text(&identity.avatar).map(|avatar| one_line(&avatar)),
        system: text(system),
        rules: text(rules),
        notes: text(left_over),
        tools: source.iter().map(|block| block.value.clone()).collect(),
    }
}

/// Makes a title from the name, `code-reviewer` → `Code Reviewer`, else from the file name.
fn derived_title(agent: &Agent, target: &WriteTarget) -> Option<String> {
    let name = agent.identity.name.as_ref().map_or("", |name| name.value.as_str());
    let name = if name.trim().is_empty() { name::stem(&target.name) } else { name };
    let capital = |word: &str| {
        let mut chars = word.chars();
        chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
    };
    let words = name.split(['-', '_', ' ']).filter(|word| !word.is_empty());
    let title = words.map(capital).collect::<Vec<_>>().join(" ");
    Some(one_line(&title)).filter(|title| !title.is_empty())
}
