//! Reads `agent.toml` and the files beside it.

use agentry_model::{Agent, AgentIdentity, Declared, SkillRef, slug};
use agentry_policy::PolicyTest;
use agentry_text::table::{Coercion, is_extension, validate};
use agentry_text::{
    Findings, Fix, SourceFile, Span, Spanned, TableRecord, TreeEntry, TreeMap, TreeNode, TreeValue,
    toml,
};

use super::fields::{AGENT, NAME, PERMISSIONS, SECTION};
use super::rules::{
    DATETIME, EMPTY_DESCRIPTION, EMPTY_PROMPT, MISSING_PROMPT, NAME_IS_NOT_DIRECTORY,
    NOT_KEBAB_CASE, TRAILING_PERIOD,
};
use super::{PROMPT, SKILLS, permissions, references};
use crate::front_matter::trimmed;
use crate::skill::{self, SkillDialect};
use crate::{AgentPackage, PathBase, PathPresence, agentry_block, policy_tests};

/// Reads an agent. Never fails: a part that cannot be read is reported and left out.
pub(super) fn read(package: &mut AgentPackage<'_>, findings: &mut Findings) -> Agent {
    let mut agent = Agent::default();
    let Some(source) = package.read_main(findings) else { return agent };
    // Before validation, so that a date is not also reported as a wrong type.
    let root = without_dates(toml::parse(&source, findings), findings);
    validate(&AGENT, &root, Coercion::Strict, findings);
    let record = TableRecord::new(&AGENT, &root, Coercion::Strict);
    agent.identity = identity(&record, &source, package, findings);
    agent.behaviour.max_turns = record.int("max_turns").filter(|turns| turns.value >= 1);
    agent.policy.permissions =
        record.map("permissions").map(|map| permissions::read(map, &source, findings));
    agent.policy.tests = tests(&record);
    references(&record, &mut agent, package, findings);
    // Whether the agent lists them or not.
    agent.skill_packs = skill::read_all(package, SKILLS, SkillDialect::Standard, findings);
    agent.instructions.system = prompt(source.whole(), package, findings);
    leftovers(&record, &mut agent);
    agentry_block::adopt(&mut agent, &root, findings);
    agent
}

/// Returns the policy tests beside the rules and those in their own block.
fn tests(record: &TableRecord<'_>) -> Vec<Spanned<PolicyTest>> {
    let permissions = record.record("permissions", &PERMISSIONS);
    let beside = permissions.map(|all| policy_tests::beside_rules(&all, &SECTION));
    [beside.unwrap_or_default(), policy_tests::read(record, policy_tests::KEY)].concat()
}

fn identity(
    record: &TableRecord<'_>,
    source: &SourceFile,
    package: &AgentPackage<'_>,
    findings: &mut Findings,
) -> AgentIdentity {
    let name = record.str("name");
    if let Some(name) = &name {
        check_name(name, &package.dir_name, findings);
    }
    let mut description = record.str("description");
    if let Some(text) = &mut description {
        text.value.truncate(text.value.trim_end().len());
        check_description(text, source, findings);
    }
    AgentIdentity {
        name,
        display_name: record.str("display_name"),
        description: description.filter(|text| !text.is_empty()),
        tags: record.strings("tags"),
        mode: record.word("mode"),
        ..AgentIdentity::default()
    }
}

fn check_name(name: &Spanned<String>, dir_name: &str, findings: &mut Findings) {
    if !NAME.is(name) {
        let found = findings.add(
            &NOT_KEBAB_CASE,
            name.span,
            format!("name `{}` is not kebab-case", name.value),
        );
        let slug = slug(name);
        if slug.is_empty() {
            found.hint("use lower-case letters, digits and hyphens");
        } else {
            found.hint(format!("write `{slug}`"));
            found.fix(Fix::unsafe_(format!("write `{slug}`"), name.span, format!("\"{slug}\"")));
        }
    } else if !dir_name.is_empty() && dir_name != name.value {
        let message = format!("name `{}` is not the directory's, `{dir_name}`", name.value);
        let found = findings.add(&NAME_IS_NOT_DIRECTORY, name.span, message);
        found.hint(format!("rename the directory to `{}`, or the agent", name.value));
        if NAME.is(dir_name) {
            let text = format!("\"{dir_name}\"");
            found.fix(Fix::unsafe_(format!("write `{dir_name}`"), name.span, text));
        }
    }
}

fn check_description(text: &Spanned<String>, source: &SourceFile, findings: &mut Findings) {
    if text.is_empty() {
        findings
            .add(&EMPTY_DESCRIPTION, text.span, "the description is empty")
            .hint("say on one line what the agent is for");
        return;
    }
    let bare = text.trim_end_matches(['.', ' ']);
    if bare.len() == text.len() || bare.is_empty() {
        return;
    }
    let found = findings.add(&TRAILING_PERIOD, text.span, "the description ends with a full stop");
    found.hint("remove the full stop");
    // The fix edits the source text, where closing quotes follow the full stop.
    let raw = source.slice(text.span);
    let end = raw.trim_end_matches(['"', '\'']).len();
    let body = raw.get(..end).unwrap_or("");
    let start = body.trim_end_matches(['.', ' ']).len();
    if start < end {
        let offset = text.span.range().start;
        let stop = Span::new(text.span.file, offset + start, offset + end);
        found.fix(Fix::safe("remove the full stop", stop, ""));
    }
}

fn references(
    record: &TableRecord<'_>,
    agent: &mut Agent,
    package: &mut AgentPackage<'_>,
    findings: &mut Findings,
) {
    let skills = record.strings("skills");
    let context = record.strings("context");
    let rules = record.strings("rules");
    // The result of a writer is incomplete: references point to files that stay where they are.
    if package.files.is_complete() {
        references::skills(skills.as_deref().unwrap_or_default(), package.files, findings);
        references::context(context.as_deref().unwrap_or_default(), package.files, findings);
        references::rule_files(rules.as_deref().unwrap_or_default(), package.files, findings);
    }
    let skill = |name: String| SkillRef { name, optional: false, options: Vec::new() };
    agent.skills = skills.map(|names| names.into_iter().map(|name| name.map(skill)).collect());
    agent.instructions.context = context;
    agent.instructions.rule_files = rules;
}

/// Reads `system-prompt.md`. If it is missing, the finding is at the start of `agent.toml`.
fn prompt(main: Span, package: &mut AgentPackage<'_>, findings: &mut Findings) -> Declared<String> {
    let Some(source) = package.read(PROMPT, findings) else {
        // A file that exists but cannot be read was already reported by `read`.
        if package.files.probe(PathBase::Agent, PROMPT) == PathPresence::Missing {
            let other = other_prompt(package, findings);
            findings
                .add(&MISSING_PROMPT, Span::start_of(main.file), format!("there is no `{PROMPT}`"))
                .hint(match other {
                    Some(name) => format!("rename `{name}` to `{PROMPT}`"),
                    None => format!("write the instructions into `{PROMPT}` beside it"),
                });
        }
        return None;
    };
    let text = trimmed(&source, source.whole());
    if text.is_none() {
        findings
            .add(&EMPTY_PROMPT, Span::start_of(source.id), "the system prompt is empty")
            .hint("say who the agent is and what it does");
    }
    text
}

/// Returns a file that was probably meant as the prompt.
fn other_prompt(package: &mut AgentPackage<'_>, findings: &mut Findings) -> Option<String> {
    let likely = |name: &str| {
        let name = name.to_lowercase();
        let text = [".md", ".txt", ".markdown"].iter().any(|end| name.ends_with(end));
        text && (name.contains("prompt") || name.contains("system"))
    };
    let listed = package.files.list("", findings);
    listed.into_iter().find(|file| !file.is_dir && likely(&file.name)).map(|file| file.name)
}

/// Keeps extensions, and fields that were reported as unknown.
fn leftovers(record: &TableRecord<'_>, agent: &mut Agent) {
    let mut keep = |prefix: &str, entry: &TreeEntry| {
        let path = format!("{prefix}{}", entry.key.text);
        let list =
            if is_extension(&entry.key.text) { &mut agent.extensions } else { &mut agent.unknown };
        list.push((path, Spanned::new(entry.value.to_data(), entry.value.span)));
    };
    record.unknown().for_each(|entry| keep("", entry));
    if let Some(permissions) = record.record("permissions", &PERMISSIONS) {
        permissions.unknown().for_each(|entry| keep("permissions.", entry));
        for entry in record.map("permissions").into_iter().flat_map(|map| &map.entries) {
            if PERMISSIONS.field(&entry.key.text).is_some() {
                let prefix = format!("permissions.{}.", entry.key.text);
                let section = TableRecord::new(&SECTION, &entry.value, Coercion::Strict);
                section.unknown().for_each(|entry| keep(&prefix, entry));
            }
        }
    }
    for TreeEntry { key, value } in
        record.map("extensions").into_iter().flat_map(|map| &map.entries)
    {
        agent.extensions.push((key.text.clone(), Spanned::new(value.to_data(), value.span)));
    }
}

/// Reports dates and times, and replaces them with strings.
fn without_dates(node: TreeNode, findings: &mut Findings) -> TreeNode {
    let value = match node.value {
        TreeValue::Date(text) => {
            findings
                .add(&DATETIME, node.span, format!("`{text}` is a date, which this format has not"))
                .hint("put it in quotes")
                .fix(Fix::safe("put it in quotes", node.span, format!("\"{text}\"")));
            TreeValue::Str(text)
        }
        TreeValue::List(items) => {
            TreeValue::List(items.into_iter().map(|item| without_dates(item, findings)).collect())
        }
        TreeValue::Map(map) => {
            let entry = |entry: TreeEntry| TreeEntry {
                value: without_dates(entry.value, findings),
                key: entry.key,
            };
            let entries = map.entries.into_iter().map(entry).collect();
            TreeValue::Map(TreeMap { entries, ..map })
        }
        other => other,
    };
    TreeNode { value, ..node }
}
