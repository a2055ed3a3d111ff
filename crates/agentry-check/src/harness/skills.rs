//! AG8001 to AG8006: skills of the Agent Skills standard, wherever they are. The rules of
//! [`skill`](agentry_formats::skill) about names and descriptions hold as well.

use std::collections::HashMap;

use agentry_formats::PathPresence;
use agentry_formats::skill::{self, SkillDialect};
use agentry_text::suggestion::nearest;
use agentry_text::table::rules::MISSING_FIELD;
use agentry_text::{
    Diagnostic, Findings, Fix, LintRule, RuleExample, Severity, Span, TreeValue, path,
};

use super::document::HarnessDocument;
use super::links::links;
use super::names::AgentSummary;
use super::{HarnessSubject, descriptions};

pub(super) const RULES: &[&LintRule] = &[
    &MISSING_REFERENCE,
    &SKILL_TOO_LONG,
    &COMPATIBILITY_TOO_LONG,
    &METADATA_VALUE,
    &MISSPELT_SKILL_FIELD,
    &SKILL_NAME_CLASH,
    &PLACEHOLDER_SKILL,
];

pub(super) static MISSING_REFERENCE: LintRule = LintRule {
    code: "AG8001",
    name: "skill-missing-reference",
    severity: Severity::Warning,
    why: "A skill names its further files by links relative to its folder, and the agent reads them when it \
          needs them. A link that leads nowhere makes it search or guess.",
    bad: RuleExample::File(
        "skills/review/SKILL.md",
        "---\nname: review\ndescription: Reviews a text\n---\n\nRead [the style](references/style.md) first.\n",
    ),
    good: RuleExample::Files(&[
        (
            "skills/review/SKILL.md",
            "---\nname: review\ndescription: Reviews a text\n---\n\nRead [the style](references/style.md) first.\n",
        ),
        ("skills/review/references/style.md", "Short sentences.\n"),
    ]),
};

pub(super) static SKILL_TOO_LONG: LintRule = LintRule {
    code: "AG8002",
    name: "skill-too-long",
    severity: Severity::Note,
    why: "The whole text of a skill enters the context when the skill is used. The standard advises fewer \
          than 500 lines; details belong into files that are read on demand.",
    bad: RuleExample::Made("a skill with 600 lines", || {
        let text = format!(
            "---\nname: review\ndescription: Reviews a text\n---\n\n{}",
            "Read the text twice.\n".repeat(600)
        );
        vec![("skills/review/SKILL.md".to_owned(), text.into_bytes())]
    }),
    good: RuleExample::File(
        "skills/review/SKILL.md",
        "---\nname: review\ndescription: Reviews a text\n---\n\nRead the text twice.\n",
    ),
};

pub(super) static COMPATIBILITY_TOO_LONG: LintRule = LintRule {
    code: "AG8003",
    name: "skill-compatibility-too-long",
    severity: Severity::Warning,
    why: "The standard limits `compatibility` to 500 characters; its validator refuses more.",
    bad: RuleExample::Made("a skill with a `compatibility` of 600 characters", || {
        let text = format!(
            "---\nname: review\ndescription: Reviews a text\ncompatibility: {}\n---\n\nRead the text twice.\n",
            "x".repeat(600)
        );
        vec![("skills/review/SKILL.md".to_owned(), text.into_bytes())]
    }),
    good: RuleExample::File(
        "skills/review/SKILL.md",
        "---\nname: review\ndescription: Reviews a text\ncompatibility: Needs git\n---\n\nRead the text twice.\n",
    ),
};

pub(super) static METADATA_VALUE: LintRule = LintRule {
    code: "AG8004",
    name: "skill-metadata-value",
    severity: Severity::Warning,
    why: "In the standard `metadata` is a map from text to text. A program that reads another kind of value \
          may refuse the skill.",
    bad: RuleExample::File(
        "skills/review/SKILL.md",
        "---\nname: review\ndescription: Reviews a text\nmetadata: internal\n---\n\nRead the text twice.\n",
    ),
    good: RuleExample::File(
        "skills/review/SKILL.md",
        "---\nname: review\ndescription: Reviews a text\nmetadata: {team: internal}\n---\n\nRead the text twice.\n",
    ),
};

pub(super) static MISSPELT_SKILL_FIELD: LintRule = LintRule {
    code: "AG8005",
    name: "skill-misspelt-field",
    severity: Severity::Warning,
    why: "Programs ignore a field that they do not know, so a misspelt one has no effect.",
    bad: RuleExample::File(
        "skills/review/SKILL.md",
        "---\nname: review\ndescription: Reviews a text\nallowed_tools: Read\n---\n\nRead the text twice.\n",
    ),
    good: RuleExample::File(
        "skills/review/SKILL.md",
        "---\nname: review\ndescription: Reviews a text\nallowed-tools: Read\n---\n\nRead the text twice.\n",
    ),
};

pub(super) static SKILL_NAME_CLASH: LintRule = LintRule {
    code: "AG8006",
    name: "skill-name-clash",
    severity: Severity::Warning,
    why: "A skill is called by its name. Of two with one name in a directory of skills only one is used.",
    bad: RuleExample::Files(&[
        (
            "skills/a/review/SKILL.md",
            "---\nname: review\ndescription: Reviews a text\n---\n\nRead the text twice.\n",
        ),
        (
            "skills/b/review/SKILL.md",
            "---\nname: review\ndescription: Reviews a change\n---\n\nRead the change twice.\n",
        ),
    ]),
    good: RuleExample::Files(&[
        (
            "skills/a/text-review/SKILL.md",
            "---\nname: text-review\ndescription: Reviews a text\n---\n\nRead the text twice.\n",
        ),
        (
            "skills/b/change-review/SKILL.md",
            "---\nname: change-review\ndescription: Reviews a change\n---\n\nRead the change twice.\n",
        ),
    ]),
};

pub(super) static PLACEHOLDER_SKILL: LintRule = LintRule {
    code: "AG8007",
    name: "skill-placeholder-description",
    severity: Severity::Warning,
    why: "The text of a template is still there. The model chooses a skill by its description and never \
          chooses this one.",
    bad: RuleExample::File(
        "skills/review/SKILL.md",
        "---\nname: review\ndescription: TODO\n---\n\nRead the text twice.\n",
    ),
    good: RuleExample::File(
        "skills/review/SKILL.md",
        "---\nname: review\ndescription: Reviews a text\n---\n\nRead the text twice.\n",
    ),
};

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
        if let Some(near) = near.filter(|near| !FIELDS.contains(&name) && name.len() > 5 && document.fields.entry(near).is_none()) {
            findings
                .add(&MISSPELT_SKILL_FIELD, entry.key.span, format!("skills have no field `{name}`"))
                .hint(format!("did you mean `{near}`?"))
                .fix(Fix::unsafe_(format!("write `{near}`"), entry.key.span, near));
        }
    }
    values(&document, findings);
    body(subject, &document, findings);
    let name = document.fields.get("name")?.to_spanned()?;
    let description = document.fields.get("description").and_then(|node| node.to_spanned());
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
        let is_of_skill = skill::RULES.iter().any(|rule| *rule == problem.rule);
        let is_step = problem.rule.name == skill::UNKNOWN_STEP.name;
        let is_folder = problem.rule.name == skill::SKILL_NAME_AND_FOLDER.name && is_root;
        let names_name = problem.message.contains("`name`");
        let names_need = names_name || problem.message.contains("`description`");
        let is_missing = *problem.rule == MISSING_FIELD && names_need && document.has_metadata;
        let is_kept = (is_of_skill && !is_step && !is_folder)
            || (is_missing && !(is_claude && names_name));
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
