//! From the file to the model.

use agentry_model::{Agent, Identity, Instructions};
use agentry_policy::{Ability, Base};
use agentry_text::table::Coerce;
use agentry_text::{Findings, Record, Spanned, markdown};

use super::body::Body;
use super::conflict::{Prefer, Resolver};
use super::fields::METADATA;
use super::rules::ENV_NOT_REQUIRED;
use super::tools::{self, Section};
use super::{abilities, metadata, name};
use crate::Package;
use crate::front::Document;
use crate::policy_tests;

/// Reads an agent file. Never fails: what cannot be read is reported and left out.
pub(super) fn read(package: &mut Package<'_>, findings: &mut Findings) -> Agent {
    let mut agent = Agent::default();
    let Some(source) = package.read_main(findings) else { return agent };
    let document = Document::read(source, findings);
    let record = document.record(&METADATA, findings);
    let body = Body::read(&document.source, document.body, findings);
    metadata::fill(&mut agent, &record, &document.source, findings);
    texts(&mut agent, &document, &body, findings);
    agent.policy.abilities = abilities::read(&record, &document.source, findings);
    agent.policy.tests = policy_tests::read(&record, policy_tests::KEY);
    let section = body.tools.map(|place| Section::read(&document.source, place, findings));
    if let Some(section) = &section {
        agent.tools = section.to_tools();
        check_variables(&agent, section, findings);
    }
    if let Some(startup) = &agent.requirements.startup {
        tools::check_startup(startup, section.as_ref(), findings);
    }
    name::fill(&mut agent.identity, &package.main, &document.source, findings);
    agent
}

/// Fills in what may stand in the metadata or under a heading.
fn texts(agent: &mut Agent, document: &Document, body: &Body, findings: &mut Findings) {
    let record = Record::new(&METADATA, &document.metadata, Coerce::Strict);
    let metadata = markdown::parts(&document.source).metadata.unwrap_or_default();
    let mut both = Resolver { source: &document.source, record, metadata, findings };
    let Identity { display_name, description, avatar, .. } = &mut agent.identity;
    let Instructions { system, rules, notes, .. } = &mut agent.instructions;
    *display_name = both.resolve("title", &body.title, "the top-level heading", Prefer::Metadata);
    let paragraph = "the first paragraph";
    *description = both.resolve("description", &body.description, paragraph, Prefer::Metadata);
    *avatar = both.resolve("avatar", &body.avatar, "the image under `# Avatar`", Prefer::Metadata);
    *system = both.resolve("system", &body.system, "`## System`", Prefer::Heading);
    *rules = both.resolve("rules", &body.rules, "`## Rules`", Prefer::Heading);
    notes.clone_from(&body.notes);
}

/// Notes variables that a tool reads and that it will not be given.
fn check_variables(agent: &Agent, section: &Section, findings: &mut Findings) {
    let whole = Ability { base: Base::Env, command: None };
    let abilities =
        agent.policy.abilities.iter().flat_map(|abilities| abilities.allow.iter().flatten());
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
