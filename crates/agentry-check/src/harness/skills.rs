//! AG8001 to AG8006: skills of the Agent Skills standard, wherever they are. The rules of
//! [`skill`] about names and descriptions hold as well.

use std::collections::HashMap;

use agentry_formats::PathPresence;
use agentry_formats::skill::{self, SkillDialect};
use agentry_text::suggestion::nearest;
use agentry_text::table::rules::MISSING_FIELD;
use agentry_text::{Diagnostic, Findings, Fix, Span, TreeNode, TreeValue, path, rules};

use super::document::HarnessDocument;
use super::links::links;
use super::names::AgentSummary;
use super::{HarnessSubject, descriptions};

rules! {
    /// Every rule of this file, in code order.
    pub(super) RULES = [
        MISSING_REFERENCE: "AG8001",
        SKILL_TOO_LONG: "AG8002".make_bad(long_skill),
        COMPATIBILITY_TOO_LONG: "AG8003".make_bad(long_compatibility),
        METADATA_VALUE: "AG8004",
        MISSPELT_SKILL_FIELD: "AG8005",
        SKILL_NAME_CLASH: "AG8006",
        PLACEHOLDER_SKILL: "AG8007",
    ]
}

fn long_skill() -> Vec<(String, Vec<u8>)> {
    let line = "Read the text twice.\n";
    SKILL_TOO_LONG.good.replace(line, &line.repeat(600))
}

fn long_compatibility() -> Vec<(String, Vec<u8>)> {
    COMPATIBILITY_TOO_LONG.good.replace("Needs git", &"x".repeat(600))
}

/// The longest text of a skill that the standard advises.
const LONGEST: usize = 500;
/// The longest `compatibility`.
const LONGEST_COMPATIBILITY: usize = 500;
/// The fields of the standard, and those that Claude Code adds.
const FIELDS: &[&str] = &[
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
    "disallowed-tools",
    "disable-model-invocation",
    "user-invocable",
    "argument-hint",
];

pub(super) fn check(subject: &HarnessSubject<'_>, findings: &mut Findings) -> Option<AgentSummary> {
    let source = subject.source;
    let document = HarnessDocument::markdown(source, None, findings);
    standard(subject, &document, findings);
    for entry in &document.fields.entries {
        let name = entry.key.text.as_str();
        let bare = |name: &str| name.replace('_', "-").to_lowercase();
        let near = FIELDS.iter().find(|known| bare(known) == bare(name) && **known != name);
        let near = near.copied().or_else(|| nearest(name, FIELDS.iter().copied()));
        if let Some(near) = near.filter(|near| {
            !FIELDS.contains(&name) && name.len() > 5 && document.fields.entry(near).is_none()
        }) {
            findings
                .add(
                    &MISSPELT_SKILL_FIELD,
                    entry.key.span,
                    format!("skills have no field `{name}`"),
                )
                .hint(format!("did you mean `{near}`?"))
                .fix(Fix::word(format!("write `{near}`"), entry.key.span, near));
        }
    }
    values(&document, findings);
    body(subject, &document, findings);
    let name = document.fields.get("name")?.to_spanned()?;
    let description = document.fields.get("description").and_then(TreeNode::to_spanned);
    let scope = scope(&source.path);
    Some(AgentSummary { harness: "skill", scope, in_settings: false, name, description })
}

/// Runs the rules of the standard that hold for a folder in any repository.
fn standard(subject: &HarnessSubject<'_>, document: &HarnessDocument, findings: &mut Findings) {
    let source = subject.source;
    let (dir, _) = path::split(&source.path);
    let (_, folder) = path::split(dir);
    let mut found = Findings::default();
    skill::read(source.clone(), &format!("{folder}/SKILL.md"), SkillDialect::Standard, &mut found);
    // Claude Code takes the name of the folder.
    let is_claude = format!("/{}", source.path).contains("/.claude/");
    let is_root = folder.is_empty();
    for problem in found.into_sorted() {
        let is_of_skill = skill::RULES.contains(&problem.rule);
        let is_step = problem.rule.name == skill::UNKNOWN_STEP.name;
        let is_folder = problem.rule.name == skill::SKILL_NAME_AND_FOLDER.name && is_root;
        let names_name = problem.message.contains("`name`");
        let names_need = names_name || problem.message.contains("`description`");
        let is_missing = *problem.rule == MISSING_FIELD && names_need && document.has_metadata;
        let is_kept =
            (is_of_skill && !is_step && !is_folder) || (is_missing && !(is_claude && names_name));
        if is_kept {
            findings.push(problem);
        }
    }
}

fn values(document: &HarnessDocument, findings: &mut Findings) {
    let fields = &document.fields;
    if let Some(node) = fields.get("compatibility")
        && let Some(text) = node.as_str()
    {
        let count = text.chars().count();
        if count > LONGEST_COMPATIBILITY {
            let message = format!("`compatibility` has {count} characters");
            findings
                .add(&COMPATIBILITY_TOO_LONG, node.span, message)
                .hint(format!("use at most {LONGEST_COMPATIBILITY}"));
        }
    }
    let metadata = fields.get("metadata").filter(|node| node.value != TreeValue::Null);
    if let Some(node) = metadata.filter(|node| node.as_map().is_none()) {
        let message = format!("`metadata` is {} and not a map", node.value.describe());
        findings.add(&METADATA_VALUE, node.span, message).hint("write `metadata: {key: value}`");
    }
    if let Some(node) = fields.get("description")
        && let Some(text) = node.as_str()
        && descriptions::is_placeholder(&text.trim().to_lowercase(), "")
    {
        findings
            .add(&PLACEHOLDER_SKILL, node.span, "the description is a placeholder")
            .hint("say what the skill does and when to use it");
    }
}

fn body(subject: &HarnessSubject<'_>, document: &HarnessDocument, findings: &mut Findings) {
    let Some(body) = &document.body else { return };
    let count = body.lines().count();
    if count > LONGEST {
        let start = Span::new(body.span.file, body.span.range().start, body.span.range().start);
        findings
            .add(&SKILL_TOO_LONG, start, format!("the text has {count} lines"))
            .hint("move details into files that the text links to");
    }
    for link in links(subject.source, body.span) {
        if (subject.probe)(&link.value) == PathPresence::Missing {
            findings
                .add(&MISSING_REFERENCE, link.span, format!("there is no `{}`", link.value))
                .hint("links are relative to the folder of the skill");
        }
    }
}

/// The directory of skills that a skill belongs to.
fn scope(path: &str) -> String {
    let at = path.rfind("/skills/").map(|at| at + "/skills/".len());
    let at = at.or_else(|| path.starts_with("skills/").then_some("skills/".len()));
    at.and_then(|at| path.get(..at)).unwrap_or(path).to_owned()
}

/// Finds skills of one directory with the same name.
pub(super) fn clashes(skills: &[(&str, &AgentSummary)]) -> Vec<(usize, Diagnostic)> {
    let mut seen: HashMap<(&str, &str), usize> = HashMap::new();
    let mut out = Vec::new();
    for (at, (_, skill)) in skills.iter().enumerate().filter(|(_, (_, it))| it.harness == "skill") {
        let Some(first) = seen.insert((&skill.scope, &skill.name.value), at) else { continue };
        let path = skills.get(first).map_or("", |(path, _)| *path);
        let message = format!("the name `{}` is taken by `{path}`", skill.name.value);
        let mut found = Diagnostic::new(&SKILL_NAME_CLASH, skill.name.span, message);
        found.hint("give each skill its own name");
        out.push((at, found));
    }
    out
}
