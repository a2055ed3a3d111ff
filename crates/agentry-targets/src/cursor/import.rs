//! Imports agents of Cursor, with the permissions of its command line tool.

use agentry_policy::{Action, PatternKind, PatternRule, Section};
use agentry_text::{Data, FileId, Findings, Severity, SourceFile, json};

use super::fields::FIELDS;
use super::{TARGET, model};
use crate::draft::{ImportDraft, inside, stem};
use crate::import::{HarnessAgent, ImportError, PermittedBound};
use crate::render_result::LossKind;
use crate::{HarnessFiles, front_matter};

/// The file with the permissions.
const PERMISSIONS: &str = ".cursor/cli.json";

/// The tools in rules, with their sections.
pub(super) const TOOLS: &[(&str, Section)] = &[
    ("Shell", Section::Bash),
    ("Read", Section::Read),
    ("Write", Section::Edit),
    ("WebFetch", Section::Webfetch),
    ("Mcp", Section::Mcp),
];

/// Sections without rules, which Cursor never asks about.
pub(super) const UNASKED: &[Section] = &[Section::Websearch, Section::Delegate];

pub(super) fn read(files: &dyn HarnessFiles, path: &str) -> Result<HarnessAgent, ImportError> {
    let text = files.text(path).ok_or("it is not there")?;
    let front = front_matter::read_leniently(&text)?;
    let metadata = &front.metadata;
    let word = |key: &str| metadata.get(key).and_then(Data::as_str);
    let name = word("name").unwrap_or_else(|| stem(path, &[".mdc", ".md"]));
    let mut draft = ImportDraft::shown(name, &front.body);
    draft.lenient(front.notes);
    draft.read_fields(TARGET.name, FIELDS, metadata);
    let readonly = is_readonly(metadata.get("readonly"));
    let lists = lists(files)?;
    let rules = rules(&lists, &mut draft);
    permissions(&rules, readonly, &mut draft);
    let model = model::of(&lists, readonly);
    Ok(draft.read(PermittedBound::new(model), Data::Null))
}

/// Whether the agent must not change anything; also accepts other spellings of `true`.
pub(super) fn is_readonly(value: Option<&Data>) -> bool {
    match value {
        None | Some(Data::Null | Data::Bool(false)) => false,
        Some(Data::Str(word)) => {
            !matches!(word.to_lowercase().as_str(), "false" | "no" | "off" | "")
        }
        Some(_) => true,
    }
}

/// Returns the rules as they are written, denials first.
fn lists(files: &dyn HarnessFiles) -> Result<Vec<(String, Action)>, String> {
    let Some(text) = files.text(PERMISSIONS) else { return Ok(Vec::new()) };
    let source = SourceFile::new(FileId::BUILT_IN, "", text.trim_start_matches('\u{feff}'));
    let mut findings = Findings::default();
    let data = json::parse(&source, &mut findings).to_data();
    if findings.iter().any(|found| found.severity == Severity::Error) {
        return Err(format!("`{PERMISSIONS}` is not JSON"));
    }
    let mut all = Vec::new();
    for action in [Action::Deny, Action::Allow] {
        let list = data.get("permissions").and_then(|lists| lists.get(action.as_str()));
        let Some(list) = list else { continue };
        let words = front_matter::list_items(list);
        let words = words.ok_or_else(|| format!("`{action}` in `{PERMISSIONS}` is not a list"))?;
        all.extend(words.into_iter().map(|text| (text, action)));
    }
    Ok(all)
}

/// Converts the rules to rules of the model.
fn rules(lists: &[(String, Action)], draft: &mut ImportDraft) -> Vec<(Section, PatternRule)> {
    let mut rules = Vec::new();
    for (text, action) in lists {
        let action = *action;
        match rule(text, action) {
            Some(rule) => rules.push(rule),
            None => {
                let detail = format!("`{text}` in `{PERMISSIONS}` is not understood");
                draft.lose("permissions", LossKind::Narrowed, detail);
                // The scope of an unknown deny is not known, so nothing is allowed.
                let all = PatternRule { pattern: "**".to_owned(), action };
                let deny = |(_, section): &(&str, Section)| (*section, all.clone());
                rules.extend(TOOLS.iter().filter(|_| action == Action::Deny).map(deny));
            }
        }
    }
    rules
}

/// Converts one rule: `Shell(git)`, `Read(src/**/*.ts)`.
fn rule(text: &str, action: Action) -> Option<(Section, PatternRule)> {
    let (tool, pattern) = text.strip_suffix(')')?.split_once('(')?;
    let (_, section) = TOOLS.iter().find(|(known, _)| *known == tool)?;
    let pattern = match section.kind() {
        _ if matches!(pattern, "*" | "**") => "**".to_owned(),
        // A command rule names a program, optionally with its first arguments.
        PatternKind::Command => {
            let (program, arguments) = pattern.split_once(':').unwrap_or((pattern, "*"));
            match (arguments, action) {
                ("*", _) | (_, Action::Deny) => format!("{program} *"),
                (arguments, _) => format!("{program} {arguments}"),
            }
        }
        PatternKind::Name if !pattern.contains(':') => format!("{pattern}/*"),
        PatternKind::Name => pattern.replace(':', "/"),
        _ => pattern.to_owned(),
    };
    Some((*section, PatternRule { pattern, action }))
}

/// Imports what each tool may do.
fn permissions(rules: &[(Section, PatternRule)], readonly: bool, draft: &mut ImportDraft) {
    for section in Section::ALL.iter().copied().filter(|section| *section != Section::Env) {
        let about = rules.iter().filter(|(of, _)| *of == section);
        let mut written: Vec<PatternRule> = about.map(|(_, rule)| rule.clone()).collect();
        let mut intent = if UNASKED.contains(&section) { Action::Allow } else { Action::Ask };
        if section == Section::Read && written.iter().all(|rule| rule.pattern != "**") {
            written.extend(inside(Action::Allow));
        }
        if readonly && section == Section::Edit {
            (written, intent) = (Vec::new(), Action::Deny);
        }
        if readonly && section == Section::Bash {
            written.retain(|rule| rule.action == Action::Deny);
        }
        draft.rules(section, written, intent);
    }
}
