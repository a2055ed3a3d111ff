//! Reads `skills/`: `x.md` and `x/SKILL.md`, at any depth.
//!
//! The text is kept whole; the few fields that are read here are what other formats and checks ask
//! for.

use agentry_model::SkillPack;
use agentry_text::{Findings, Record, Source, Span, Spanned, Value};

use super::fields::SKILL;
use super::read::Reader;
use super::rules::{DUPLICATE_SKILL, SKILL_WITHOUT_METADATA};
use crate::front::{Document, trimmed};
use agentry_text::limits::DEPTH;

const FOLDER: &str = "skills";
const SKILL_FILE: &str = "SKILL.md";

/// Reads every skill of the directory.
pub(super) fn read(reader: &mut Reader<'_, '_>) -> Vec<SkillPack> {
    let mut packs = Vec::new();
    folder(reader, FOLDER, 0, &mut packs);
    duplicates(&packs, reader.findings);
    packs
}

fn folder(reader: &mut Reader<'_, '_>, path: &str, depth: usize, packs: &mut Vec<SkillPack>) {
    if depth > DEPTH {
        return;
    }
    let listed = reader.package.files.list(path, reader.findings);
    // A folder with a `SKILL.md` is one skill; its other files belong to it.
    let whole = depth > 0 && listed.iter().any(|it| it.name == SKILL_FILE && !it.is_dir);
    for listed in listed {
        let below = format!("{path}/{}", listed.name);
        if listed.is_dir && !whole {
            folder(reader, &below, depth + 1, packs);
        } else if !listed.is_dir && is_skill(&listed.name, whole) {
            let Some(source) = reader.package.read(&below, reader.findings) else { continue };
            packs.extend(pack(&below, source, reader.findings));
        }
    }
}

fn is_skill(name: &str, whole: bool) -> bool {
    let stem = name.strip_suffix(".md");
    if whole { name == SKILL_FILE } else { stem.is_some_and(|s| !s.eq_ignore_ascii_case("readme")) }
}

/// One skill, by its path below the agent's directory.
fn pack(path: &str, source: Source, findings: &mut Findings) -> Option<SkillPack> {
    let text = trimmed(&source, source.whole()).is_some();
    let text = text.then(|| Spanned::new(source.text.to_string(), source.whole()));
    let document = Document::read(source, findings);
    if !document.has_metadata {
        let place = Span::start_of(document.source.id);
        if !document.source.text.trim_start().starts_with("---") {
            findings
                .add(&SKILL_WITHOUT_METADATA, place, "the file has no metadata, so it is no skill")
                .hint("start it with `---`, `description: …`, `---`");
        }
        return None;
    }
    let record = document.record(&SKILL, findings);
    let path = path.strip_prefix("skills/").unwrap_or(path).to_owned();
    let name = record.str("name").unwrap_or_else(|| {
        Spanned::new(default_name(&path).to_owned(), Span::start_of(document.source.id))
    });
    Some(SkillPack {
        name: Some(name),
        description: record.str("description"),
        version: record.str("version"),
        allowed_tools: allowed_tools(record),
        text,
        path,
        ..SkillPack::default()
    })
}

/// The name of the file, or of the folder around a `SKILL.md`.
fn default_name(path: &str) -> &str {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    match folder.rsplit('/').next() {
        Some(name) if file == SKILL_FILE && !name.is_empty() => name,
        _ => file.strip_suffix(".md").unwrap_or(file),
    }
}

/// A list, or one text with the tools separated by commas, or by spaces.
fn allowed_tools(record: Record<'_>) -> Option<Vec<Spanned<String>>> {
    let node = record.node("allowed-tools")?;
    let Value::Str(text) = &node.value else { return record.strings("allowed-tools") };
    let tools = split_tools(text);
    Some(tools.into_iter().map(|tool| Spanned::new(tool.to_owned(), node.span)).collect())
}

/// Splits outside parentheses: at commas if there are any, else at white space.
fn split_tools(text: &str) -> Vec<&str> {
    let parts = |separates: fn(char) -> bool| {
        let mut depth = 0_usize;
        let mut split = move |c: char| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && separates(c)
        };
        text.split(move |c| split(c)).map(str::trim).filter(|part| !part.is_empty()).collect()
    };
    let by_comma: Vec<&str> = parts(|c| c == ',');
    if by_comma.len() > 1 { by_comma } else { parts(char::is_whitespace) }
}

fn duplicates(packs: &[SkillPack], findings: &mut Findings) {
    let mut seen: Vec<&Spanned<String>> = Vec::new();
    for name in packs.iter().filter_map(|pack| pack.name.as_ref()) {
        match seen.iter().find(|first| first.value == name.value) {
            Some(first) => {
                let message = format!("there are two skills `{}`", name.value);
                findings
                    .add(&DUPLICATE_SKILL, name.span, message)
                    .related(first.span, "the first one, which is not used")
                    .hint("give each its own `name`");
            }
            None => seen.push(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_tools() {
        let cases: &[(&str, &[&str])] = &[
            ("read, grep", &["read", "grep"]),
            ("read grep", &["read", "grep"]),
            ("bash(git log *), read", &["bash(git log *)", "read"]),
            ("bash(git log *) read", &["bash(git log *)", "read"]),
            ("read", &["read"]),
            ("", &[]),
            ("bash(git", &["bash(git"]),
        ];
        for (text, expected) in cases {
            assert_eq!(split_tools(text), *expected, "{text}");
        }
    }

    #[test]
    fn a_skill_is_named_after_its_file_or_folder() {
        let cases =
            [("review.md", "review"), ("a/review/SKILL.md", "review"), ("SKILL.md", "SKILL")];
        for (path, expected) in cases {
            assert_eq!(default_name(path), expected, "{path}");
        }
    }
}
