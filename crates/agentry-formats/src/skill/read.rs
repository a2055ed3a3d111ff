//! Reads one skill, and checks the names of all skills of an agent together.

use agentry_model::{Declared, DeclaredList, SkillPack};
use agentry_text::table::{Coercion, validate};
use agentry_text::{
    Findings, Fix, Severity, SourceFile, Span, Spanned, TableRecord, TreeMap, TreeValue,
};

use super::fields::{METADATA, WRAPPED, top_level};
use super::rules::{
    DESCRIPTION_TOO_LONG, EMPTY_SKILL, EMPTY_SKILL_FIELD, ODD_SKILL_NAME, SAME_SKILL_NAME,
    SKILL_NAME_AND_FOLDER, SKILL_WITHOUT_DESCRIPTION, SKILL_WITHOUT_METADATA,
};
use super::{SkillDialect, name, steps};
use crate::front_matter::FrontMatterFile;

/// The longest description, in characters.
const LONGEST_DESCRIPTION: usize = 1024;

/// Reads the skill at `path` (relative to `skills/`). Never fails: a part that cannot be read is reported
/// and left out.
pub fn read(
    source: SourceFile,
    path: &str,
    dialect: SkillDialect,
    findings: &mut Findings,
) -> SkillPack {
    let document = FrontMatterFile::read(source, findings);
    let source = &document.source;
    let mut pack = SkillPack {
        path: path.to_owned(),
        text: Some(Spanned::new(source.text.to_string(), source.whole())),
        ..SkillPack::default()
    };
    if document.has_metadata {
        fields(&document, dialect, &mut pack, findings);
    } else {
        without_metadata(&document, dialect, findings);
    }
    if pack.name.is_none() && dialect == SkillDialect::AgentDir {
        let name = name::of_path(path).to_owned();
        // The name comes from the path, so its span is the start of the file.
        pack.name = Some(Spanned::new(name, Span::start_of(source.id)));
    }
    pack.steps = steps::read(source, document.body, findings);
    if document.text().is_none() {
        findings
            .add(&EMPTY_SKILL, Span::start_of(source.id), "the skill has no text")
            .hint("write below the metadata what is to be done");
    }
    pack
}

/// Reports skills of one agent that have the same name.
pub fn check_names(packs: &[SkillPack], findings: &mut Findings) {
    for (at, pack) in packs.iter().enumerate() {
        let Some(name) = &pack.name else { continue };
        let same = |other: &&SkillPack| other.name.as_ref().is_some_and(|o| o.value == name.value);
        let Some(first) = packs.iter().take(at).find(same) else { continue };
        let message = format!("two skills are called `{}`", name.value);
        let found = findings.add(&SAME_SKILL_NAME, name.span, message);
        found.hint(format!("rename one; only `{}` is used", pack.path));
        if let Some(first) = &first.name {
            found.related(first.span, "the other one");
        }
    }
}

fn without_metadata(document: &FrontMatterFile, dialect: SkillDialect, findings: &mut Findings) {
    let place = Span::start_of(document.source.id);
    let found = findings.add(&SKILL_WITHOUT_METADATA, place, "the skill has no metadata");
    found.hint("start the file with `---`, `name: …`, `description: …`, `---`");
    if dialect == SkillDialect::AgentDir {
        // The file name serves as the name, so the skill can still be used.
        found.severity = Severity::Warning;
    }
}

fn fields(
    document: &FrontMatterFile,
    dialect: SkillDialect,
    pack: &mut SkillPack,
    findings: &mut Findings,
) {
    let node = &document.metadata;
    if node.as_map().is_some_and(is_wrapped) {
        validate(&WRAPPED, node, Coercion::Strict, findings);
        let outer = TableRecord::new(&WRAPPED, node, Coercion::Strict);
        if let Some(inner) = outer.record("metadata", &METADATA) {
            pack.name = inner.str("id");
            pack.display_name = inner.str("name");
            pack.description = inner.str("description");
            common(document, &[inner, outer], pack);
            filled("id", &pack.name, findings);
            filled("name", &pack.display_name, findings);
        }
    } else {
        let table = top_level(dialect);
        validate(table, node, Coercion::Strict, findings);
        let record = TableRecord::new(table, node, Coercion::Strict);
        pack.name = record.str("name");
        pack.description = record.str("description");
        common(document, &[record], pack);
        filled("name", &pack.name, findings);
        // Only here: the `id` of a wrapped skill need not follow the standard.
        named(pack, findings);
        if dialect == SkillDialect::AgentDir && !record.has("description") {
            findings
                .add(&SKILL_WITHOUT_DESCRIPTION, node.span, "the skill has no description")
                .hint("add `description`: what it does and when to use it")
                .absent();
        }
    }
    described(pack, findings);
}

/// Whether the fields are under `metadata`. Beside a top-level name, `metadata` only adds details.
pub(super) fn is_wrapped(map: &TreeMap) -> bool {
    let has = |map: &TreeMap, keys: &[&str]| keys.iter().any(|key| map.get(key).is_some());
    let inner = map.get("metadata").and_then(|node| node.as_map());
    !has(map, &["name", "description"])
        && inner.is_some_and(|inner| has(inner, &["id", "name", "description"]))
}

/// Reads the fields that both layouts have, each from the first of `records` that has it.
fn common(document: &FrontMatterFile, records: &[TableRecord<'_>], pack: &mut SkillPack) {
    let with = |field: &str| records.iter().find(|record| record.has(field));
    pack.version = with("version").and_then(|record| record.str("version"));
    pack.risk_level = with("risk_level").and_then(|record| record.word("risk_level"));
    pack.allowed_tools = with("allowed-tools").and_then(|record| tools(document, *record));
}

/// Reads the tools of a skill: a list as it is, or a string split at commas, else at spaces.
fn tools(document: &FrontMatterFile, record: TableRecord<'_>) -> DeclaredList<String> {
    let node = record.node("allowed-tools")?;
    let TreeValue::Str(text) = &node.value else { return record.strings("allowed-tools") };
    // A quoted or escaped string differs from its source text, so offsets in it are not offsets in the file.
    let as_written = document.source.slice(node.span) == text;
    let place = |at: usize, length: usize| {
        let start = node.span.range().start + at;
        if as_written { Span::new(node.span.file, start, start + length) } else { node.span }
    };
    let parts = split(text);
    Some(
        parts
            .into_iter()
            .map(|(at, tool)| Spanned::new(tool.into(), place(at, tool.len())))
            .collect(),
    )
}

/// Splits `Read, Bash(git log, git diff)` or `Read Bash(git log)` into parts with their offsets.
fn split(text: &str) -> Vec<(usize, &str)> {
    let commas = outer(text).any(|(_, c)| c == ',');
    let ends = |c: char| if commas { c == ',' } else { c.is_whitespace() };
    let mut parts = Vec::new();
    let mut start = 0;
    let cuts = outer(text).filter(|(_, c)| ends(*c)).map(|(at, c)| (at, at + c.len_utf8()));
    for (end, next) in cuts.chain([(text.len(), text.len())]) {
        let part = text.get(start..end).unwrap_or("");
        let skipped = part.len() - part.trim_start().len();
        if !part.trim().is_empty() {
            parts.push((start + skipped, part.trim()));
        }
        start = next;
    }
    parts
}

/// Returns the characters outside parentheses, with their offsets.
fn outer(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut depth = 0_usize;
    text.char_indices().filter(move |(_, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}

fn filled(field: &str, value: &Declared<String>, findings: &mut Findings) {
    if let Some(value) = value.as_ref().filter(|value| value.trim().is_empty()) {
        findings
            .add(&EMPTY_SKILL_FIELD, value.span, format!("`{field}` of the skill is empty"))
            .hint("say what it is");
    }
}

fn described(pack: &SkillPack, findings: &mut Findings) {
    filled("description", &pack.description, findings);
    let Some(description) = &pack.description else { return };
    let length = description.chars().count();
    if length > LONGEST_DESCRIPTION {
        let message = format!("the description has {length} characters");
        findings
            .add(&DESCRIPTION_TOO_LONG, description.span, message)
            .hint(format!("keep it to {LONGEST_DESCRIPTION}, and the rest in the text"));
    }
}

/// Checks a top-level name against the Agent Skills standard and against the name of the folder.
fn named(pack: &SkillPack, findings: &mut Findings) {
    let Some(name) = pack.name.as_ref().filter(|name| !name.trim().is_empty()) else { return };
    let folder = name::of_path(&pack.path);
    if let Some(why) = name::broken(name) {
        let slug = agentry_model::slug(name);
        let found = findings.add(&ODD_SKILL_NAME, name.span, format!("`{}` {why}", name.value));
        if name::broken(&slug).is_none() && !slug.is_empty() {
            found.hint(format!("write `{slug}`"));
            found.fix(Fix::unsafe_(format!("rename to `{slug}`"), name.span, slug));
        } else {
            found.hint("use lower-case words with hyphens, as in `contract-review`");
        }
    } else if pack.path.ends_with("/SKILL.md") && folder != name.value {
        let message = format!("the skill `{}` lies in the folder `{folder}`", name.value);
        let found = findings.add(&SKILL_NAME_AND_FOLDER, name.span, message);
        found.hint("use one name for both");
        if name::broken(folder).is_none() {
            found.fix(Fix::unsafe_(format!("rename to `{folder}`"), name.span, folder));
        }
    }
}
