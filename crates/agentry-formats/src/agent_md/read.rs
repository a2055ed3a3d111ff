//! Reads an agent file into the model.

use agentry_model::{Agent, AgentIdentity, AgentInstructions};
use agentry_policy::{Ability, AbilityBase};
use agentry_text::table::Coercion;
use agentry_text::{Findings, Spanned, TableRecord, markdown};

use super::body::MarkdownBody;
use super::conflict::{ConflictPreference, ConflictResolver};
use super::fields::METADATA;
use super::rules::ENV_NOT_REQUIRED;
use super::tools::{self, ToolsSection};
use super::{abilities, metadata, name};
use crate::AgentPackage;
use crate::front_matter::FrontMatterFile;
use crate::{agentry_block, policy_tests};

/// Reads an agent file. Never fails: a part that cannot be read is reported and left out.
pub(super) fn read(package: &mut AgentPackage<'_>, findings: &mut Findings) -> Agent {
    let mut agent = Agent::default();
    let Some(source) = package.read_main(findings) else { return agent };
    let document = FrontMatterFile::read(source, findings);
    let record = document.record(&METADATA, findings);
    let body = MarkdownBody::read(&document.source, document.body, findings);
    metadata::fill(&mut agent, &record, &document.source, findings);
    texts(&mut agent, &document, &body, findings);
    agent.policy.abilities = abilities::read(&record, &document.source, findings);
    agent.policy.tests = policy_tests::read(&record, policy_tests::KEY);
    let section = body.tools.map(|place| ToolsSection::read(&document.source, place, findings));
    if let Some(section) = &section {
        agent.tools = section.to_tools();
        check_variables(&agent, section, findings);
    }
    // The block `x-agentry` may name the start-up tool, too.
    agentry_block::adopt(&mut agent, &document.metadata, findings);
    if let Some(startup) = &agent.requirements.startup {
        tools::check_startup(startup, section.as_ref(), findings);
    }
    // Last: without a valid file name, the agent is named after the title read above.
    name::fill(&mut agent.identity, &package.main, &document.source, findings);
    agent
}

/// Fills in the values that may be in the metadata or under a heading.
fn texts(
    agent: &mut Agent,
    document: &FrontMatterFile,
    body: &MarkdownBody,
    findings: &mut Findings,
) {
    let record = TableRecord::new(&METADATA, &document.metadata, Coercion::Strict);
    let metadata = markdown::parts(&document.source).metadata.unwrap_or_default();
    let mut both = ConflictResolver { source: &document.source, record, metadata, findings };
    let AgentIdentity { display_name, description, avatar, .. } = &mut agent.identity;
    let AgentInstructions { system, rules, notes, .. } = &mut agent.instructions;
    *display_name =
        both.resolve("title", &body.title, "the top-level heading", ConflictPreference::Metadata);
    let paragraph = "the first paragraph";
    *description =
        both.resolve("description", &body.description, paragraph, ConflictPreference::Metadata);
    *avatar = both.resolve(
        "avatar",
        &body.avatar,
        "the image under `# Avatar`",
        ConflictPreference::Metadata,
    );
    *system = both.resolve("system", &body.system, "`## System`", ConflictPreference::Heading);
    *rules = both.resolve("rules", &body.rules, "`## Rules`", ConflictPreference::Heading);
    notes.clone_from(&body.notes);
}

/// Reports environment variables that a tool reads but will not receive.
fn check_variables(agent: &Agent, section: &ToolsSection, findings: &mut Findings) {
    let whole = Ability { base: AbilityBase::Env, command: None };
    let abilities =
        agent.policy.abilities.iter().flat_map(|abilities| abilities.allow.iter().flatten());
    // The ability `env` grants every variable.
    if abilities.into_iter().any(|ability| ability.value == whole) {
        return;
    }
    let required = agent.requirements.env.as_deref().unwrap_or_default();
    let is_required =
        |name: &Spanned<String>| required.iter().any(|other| other.value == name.value);
    for name in section.variables.iter().filter(|name| !is_required(name)) {
        let message = format!("`{}` is read by a tool, but not in `required.env`", name.value);
        findings
            .add(&ENV_NOT_REQUIRED, name.span, message)
            .hint(format!("add `{}` to `required.env`", name.value));
    }
}
