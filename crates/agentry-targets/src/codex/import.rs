//! Imports agents of Codex, with the settings and the command rules around them.
//!
//! A definition has no sandbox like the one of Codex. So a command that Codex would run in its sandbox
//! becomes an ask, or a deny where Codex never asks.

use agentry_policy::{Action, PatternRule, Section};
use agentry_text::Data;

use super::agent_entries::{CodexAgentEntry, OWN_SETTINGS, SETTINGS, listed, settings};
use super::fields::FIELDS;
use super::prefix::{self, PrefixRule};
use super::role::{HOME, PROJECT, checked, of, setup};
use super::setup::{CodexApproval, CodexSandbox, CodexSetup};
use super::{NAME, servers};
use crate::draft::{ImportDraft, stem};
use crate::encoding::EncodingView;
use crate::import::{HarnessAgent, ImportError, PermittedBound, SettingsAgents};
use crate::model::always;
use crate::render_result::LossKind;
use crate::user_settings::files_in;
use crate::{HarnessFiles, HarnessModel};

/// Fields of an agent that override the settings.
const SETTLED: &[&str] = &[
    "approval_policy",
    "sandbox_mode",
    "sandbox_workspace_write",
    "web_search",
    "features",
    "tools",
    "skills",
];

/// Agents that the settings define.
pub(super) const SEVERAL: SettingsAgents = SettingsAgents {
    files: &[SETTINGS],
    names: |files, path| {
        let named = with_files(files, path).into_iter();
        let elsewhere = named.filter(|(_, file)| !file.contains(".codex/agents/"));
        elsewhere.map(|(it, _)| it.name).collect()
    },
};

/// Returns the agents in the settings at `path` that have a file.
fn with_files(files: &dyn HarnessFiles, path: &str) -> Vec<(CodexAgentEntry, String)> {
    let all = listed(files, path).into_iter();
    all.filter_map(|it| it.file.clone().map(|file| (it, file))).collect()
}

pub(super) fn read(files: &dyn HarnessFiles, path: &str) -> Result<HarnessAgent, ImportError> {
    let (naming, entry) = SEVERAL.split(path);
    let listed = with_files(files, entry.map_or(SETTINGS, |_| naming));
    let known = listed.iter().find(|(it, file)| match entry {
        Some(entry) => it.name == entry,
        None => path.ends_with(file),
    });
    let path = match (entry, known) {
        (Some(entry), None) => {
            return Err(format!("it names no agent `{entry}` with a file").into());
        }
        (Some(_), Some((_, file))) => file.as_str(),
        (None, _) => path,
    };
    let text = files.text(path).ok_or_else(|| format!("`{path}` is not there"))?;
    let own = checked(text.trim_start_matches('\u{feff}'))?;
    let mut draft = identity(&own, known.map(|(it, _)| it), path)?;
    let data = settled(files, &own, &mut draft);
    let data = with_profile(files, data, &mut draft);
    let (rules, understood) = rules(files, &mut draft);
    let mut model = of(&data, &rules, EncodingView::Strictest);
    if !understood {
        // A rule that cannot be parsed may forbid anything.
        let nothing = always(Section::Bash, Action::Deny, "what is not understood");
        model.add(Section::Bash, "rules", vec![nothing]);
    }
    permissions(&data, &model, &rules, &mut draft);
    report_losses(&data, &mut draft);
    Ok(draft.read(PermittedBound::new(model), own))
}

/// Imports everything except the permissions.
fn identity(
    own: &Data,
    known: Option<&CodexAgentEntry>,
    path: &str,
) -> Result<ImportDraft, String> {
    let word = |key: &str| own.get(key).and_then(Data::as_str);
    // The name in the settings overrides the one in the file.
    let name = known.map(|it| it.name.as_str()).or_else(|| word("name"));
    let name = name.unwrap_or_else(|| stem(path, &[".toml"]));
    let prompt = word("developer_instructions").ok_or("it has no `developer_instructions`")?;
    let mut draft = ImportDraft::new(name, prompt);
    draft.read_fields(NAME, FIELDS, own);
    let declared = known.and_then(|it| it.description.as_deref());
    let declared = declared.or_else(|| word("description"));
    draft.description(declared);
    misread(own, &mut draft);
    Ok(draft)
}

/// Reports values that Codex does not accept, and that the strictest value replaces.
fn misread(own: &Data, draft: &mut ImportDraft) {
    let text = |key: &str| own.get(key).map(|value| value.as_str().unwrap_or_default());
    if text("sandbox_mode").is_some_and(|word| word.parse::<CodexSandbox>().is_err()) {
        let detail = format!("Codex has no such sandbox: `{}` here", CodexSandbox::ReadOnly);
        draft.lose("sandbox_mode", LossKind::Narrowed, detail);
    }
    let known = |word: &str| word == "on-failure" || word.parse::<CodexApproval>().is_ok();
    if text("approval_policy").is_some_and(|word| !known(word)) {
        let detail = format!("Codex has no such policy: `{}` here", CodexApproval::Never.as_str());
        draft.lose("approval_policy", LossKind::Narrowed, detail);
    }
    for key in ["tools", "features", "skills", "sandbox_workspace_write"] {
        if own.get(key).is_some_and(|value| !matches!(value, Data::Map(_))) {
            draft.lose(key, LossKind::Dropped, "Codex wants a table here: it is left out");
        }
    }
}

/// Merges the fields of an agent with the settings of the project, and then with those of the user.
fn settled(files: &dyn HarnessFiles, own: &Data, draft: &mut ImportDraft) -> Data {
    let Data::Map(mut fields) = own.clone() else { return own.clone() };
    for path in [SETTINGS, OWN_SETTINGS] {
        let Some(Data::Map(settings)) = settings(files, path) else { continue };
        let is_silent = |key: &str| !fields.iter().any(|(known, _)| known == key);
        let more = settings.into_iter();
        let more = more.filter(|(key, _)| SETTLED.contains(&key.as_str()) && is_silent(key));
        let more: Vec<(String, Data)> = more.collect();
        for (key, _) in more.iter().filter(|_| path == OWN_SETTINGS) {
            let detail = format!("it is taken over from your own `{path}`");
            draft.lose(key, LossKind::Changed, detail);
        }
        fields.extend(more);
    }
    Data::Map(fields)
}

/// Applies the sandbox of the selected profile where it is stricter. Codex prefers the profile to all files.
fn with_profile(files: &dyn HarnessFiles, data: Data, draft: &mut ImportDraft) -> Data {
    let all: Vec<Data> =
        [SETTINGS, OWN_SETTINGS].iter().filter_map(|path| settings(files, path)).collect();
    let name = all.iter().find_map(|settings| settings.get("profile").and_then(Data::as_str));
    let table =
        |settings: &Data| settings.get("profiles")?.get(name?)?.get("sandbox_mode").cloned();
    let Some(Data::Str(sandbox)) = all.iter().find_map(table) else { return data };
    let strictness =
        |word: Option<&str>| match word.and_then(|word| word.parse::<CodexSandbox>().ok()) {
            Some(CodexSandbox::Unbound) => 0,
            Some(CodexSandbox::WorkspaceWrite) => 1,
            Some(CodexSandbox::ReadOnly) | None => 2,
        };
    let Data::Map(mut fields) = data else { return data };
    let own = fields.iter().position(|(key, _)| key == "sandbox_mode");
    let declared = own.and_then(|at| fields.get(at)).and_then(|(_, value)| value.as_str());
    if strictness(Some(&sandbox)) <= strictness(declared) {
        return Data::Map(fields);
    }
    let detail = format!("the profile `{}` says `{sandbox}`: taken over", name.unwrap_or_default());
    draft.lose("sandbox_mode", LossKind::Changed, detail);
    fields.retain(|(key, _)| key != "sandbox_mode");
    fields.push(("sandbox_mode".to_owned(), Data::Str(sandbox)));
    Data::Map(fields)
}

/// Returns the command rules, and whether all of them could be parsed. Asks and denials of the user's rules
/// are imported; their allows are not.
fn rules(files: &dyn HarnessFiles, draft: &mut ImportDraft) -> (Vec<PrefixRule>, bool) {
    let mut all = Vec::new();
    let mut understood = true;
    for dir in [PROJECT, HOME] {
        for (path, text) in files_in(files, dir, ".rules") {
            let (found, others) = prefix::read(&text);
            let holds = |rule: &PrefixRule| dir == PROJECT || rule.action > Action::Allow;
            let (found, left): (Vec<_>, Vec<_>) = found.into_iter().partition(holds);
            for (rules, what) in [(&found, "taken over"), (&left, "not taken over")] {
                if let Some(rule) = rules.first().filter(|_| dir == HOME) {
                    let words = rule.words.join(" ");
                    let detail = format!("`{words}` in your own `{path}` and its like: {what}");
                    draft.lose("permissions.bash", LossKind::Changed, detail);
                }
            }
            all.extend(found);
            for line in others {
                understood = false;
                let detail =
                    format!("`{line}` in `{path}` is not understood: no command is allowed");
                draft.lose("permissions.bash", LossKind::Narrowed, detail);
            }
        }
    }
    (all, understood)
}

/// Imports what each tool may do.
fn permissions(data: &Data, model: &HarnessModel, rules: &[PrefixRule], draft: &mut ImportDraft) {
    let has = |section| model.ways.iter().any(|way| way.section == section);
    let answer = |section| if has(section) { Action::Allow } else { Action::Deny };
    let setup = setup(data, EncodingView::Strictest);
    if setup.shell {
        let encoding = setup.commands(rules, EncodingView::Strictest);
        let mut found: Vec<PrefixRule> = encoding.entries.iter().flat_map(PrefixRule::of).collect();
        // Codex follows the strictest match, the model the first one.
        found.sort_by_key(|rule| std::cmp::Reverse(rule.action));
        let rule = |rule: &PrefixRule| PatternRule {
            pattern: format!("{} *", rule.words.join(" ")),
            action: rule.action,
        };
        draft.rules(Section::Bash, found.iter().map(rule).collect(), encoding.default);
    }
    let (inside, outside) = setup.edits(EncodingView::Strictest);
    draft.files(Section::Edit, inside, outside);
    // Every sandbox can read every file.
    let read = if setup.shell { Action::Allow } else { Action::Deny };
    draft.section(Section::Read, read);
    // This section bounds both reads and edits, so the milder verdict counts.
    draft.section(Section::ExternalDirectory, outside.min(read));
    for section in [Section::Webfetch, Section::Websearch] {
        draft.section(section, answer(section));
    }
    let off = switched_off(data);
    let deny = |pattern: String| PatternRule { pattern, action: Action::Deny };
    draft.rules(Section::Skill, off.into_iter().map(deny).collect(), answer(Section::Skill));
    let servers = data.get("mcp_servers").map(servers::rules).unwrap_or_default();
    draft.rules(Section::Mcp, servers, Action::Deny);
}

/// Returns the skills that `[[skills.config]]` disables, as patterns.
fn switched_off(data: &Data) -> Vec<String> {
    let list = data.get("skills").and_then(|skills| skills.get("config"));
    let Some(Data::List(entries)) = list else { return Vec::new() };
    let off = entries.iter().filter(|entry| entry.get("enabled") == Some(&Data::Bool(false)));
    let name = |entry: &Data| {
        let path = entry.get("path").and_then(Data::as_str)?.trim_end_matches("/SKILL.md");
        path.rsplit('/').next().map(str::to_owned)
    };
    let declared = |entry: &Data| entry.get("name").and_then(Data::as_str).map(str::to_owned);
    off.map(|entry| declared(entry).or_else(|| name(entry)).unwrap_or("**".to_owned())).collect()
}

/// Reports what a definition cannot express.
fn report_losses(data: &Data, draft: &mut ImportDraft) {
    let CodexSetup { shell, sandbox, approval } = setup(data, EncodingView::Strictest);
    if shell && sandbox != CodexSandbox::Unbound {
        let here = if approval.as_str() == "never" { "denied" } else { "asked about" };
        let detail = format!(
            "commands run in the sandbox `{sandbox}` in Codex, which a definition does not have: \
             each is {here} here"
        );
        draft.lose("permissions.bash", LossKind::Narrowed, detail);
    }
    let mut narrowed = |field: &str, section: &str, detail: &str| {
        let field = format!("{field}: {detail}");
        draft.lose(&format!("permissions.{section}"), LossKind::Narrowed, field);
    };
    let roots = data.get("sandbox_workspace_write").and_then(|it| it.get("writable_roots"));
    if roots.is_some_and(|roots| !roots.is_empty()) && sandbox == CodexSandbox::WorkspaceWrite {
        narrowed("`writable_roots`", "edit", "they count as outside the workspace here");
    }
    let network = data.get("sandbox_workspace_write").and_then(|it| it.get("network_access"));
    if network == Some(&Data::Bool(true)) {
        narrowed("`network_access`", "webfetch", "it is for commands, which are asked about here");
    }
    if !shell && data.get("tools").and_then(|it| it.get("view_image")) != Some(&Data::Bool(false)) {
        narrowed("`view_image`", "read", "it shows pictures only, so that nothing is read here");
    }
    if data.get("skills").and_then(|skills| skills.get("config")).is_some() {
        let detail = "`config`: what it switches off is denied, all else in it is left out";
        draft.lose("skills", LossKind::Dropped, detail);
    }
}
