//! Agent files as Codex reads them, and the model of what they permit.

use agentry_policy::{Action, Section};
use agentry_text::{Data, FileId, Findings, Severity, SourceFile, toml};

use super::fields::FIELDS;
use super::setup::{CodexApproval, CodexSandbox, CodexSetup};
use super::{prefix, servers};
use crate::encoding::{EncodedRule, EncodingView, MatchBounds, MatchOrder, RuleEncoding};
use crate::fields::is_known;
use crate::import::ImportError;
use crate::model::{HarnessModel, always, regex_of_path};
use crate::user_settings::files_in;
use crate::wildcard::ANYTHING;
use crate::{HarnessFiles, UserSettings};

/// Whether a feature is modelled: the shell, and some features that may be disabled.
pub(super) fn is_feature(name: &str, value: &Data) -> bool {
    let off = ["multi_agent", "image_generation", "apps", "web_search_request", "view_image_tool"];
    match value {
        Data::Bool(true) => name == "shell_tool",
        Data::Bool(false) => name == "shell_tool" || off.contains(&name),
        _ => false,
    }
}

/// The switches that prevent a sandbox from writing temporary files.
pub(super) const TEMPORARY: [&str; 2] = ["exclude_slash_tmp", "exclude_tmpdir_env_var"];

/// The rules file that Agentry writes.
pub(super) const RULES: &str = ".codex/rules/agentry.rules";

/// The directory of rules in a project.
pub(super) const PROJECT: &str = ".codex/rules/";
/// The user's directory of rules.
pub(super) const HOME: &str = "~/.codex/rules/";

/// The rules of the user, which Codex adds to those of every project.
pub(super) const PERSONAL: UserSettings =
    UserSettings { places: &[HOME], model: |files, name| by(files, name, &[PROJECT, HOME]) };

/// The path of an agent file.
pub(super) fn path(name: &str) -> String {
    format!(".codex/agents/{name}.toml")
}

/// Returns what Codex lets the agent `name` do, in a session with the agent's setup.
pub(super) fn model(files: &dyn HarnessFiles, name: &str) -> Option<HarnessModel> {
    by(files, name, &[PROJECT])
}

/// Returns the allows of other rules files in a directory, and the files that cannot be parsed fully. Their
/// asks and denials are not relied on.
pub(super) fn beside(
    files: &dyn HarnessFiles,
    dir: &str,
) -> (Vec<prefix::PrefixRule>, Vec<String>) {
    let mut allowed = Vec::new();
    let mut unclear = Vec::new();
    for (path, text) in files_in(files, dir, ".rules").into_iter().filter(|(it, _)| it != RULES) {
        let (rules, others) = prefix::read(&text);
        allowed.extend(rules.into_iter().filter(|rule| rule.action == Action::Allow));
        if !others.is_empty() {
            unclear.push(path);
        }
    }
    (allowed, unclear)
}

fn by(files: &dyn HarnessFiles, name: &str, dirs: &[&str]) -> Option<HarnessModel> {
    let data = parse(&files.text(&path(name))?)?;
    let Data::Map(entries) = &data else { return None };
    // Codex ignores the whole agent if it has an unknown field.
    if entries.iter().any(|(key, _)| !is_known(FIELDS, key)) {
        return None;
    }
    let field_text =
        |key: &str| data.get(key).and_then(Data::as_str).filter(|text| !text.trim().is_empty());
    field_text("description")?;
    field_text("developer_instructions")?;
    let (mut rules, _) = prefix::read(&files.text(RULES).unwrap_or_default());
    rules.extend(dirs.iter().flat_map(|dir| beside(files, dir).0));
    (field_text("name")? == name).then(|| of(&data, &rules, EncodingView::Mildest))
}

/// Parses TOML; `None` if it has errors.
pub(super) fn parse(text: &str) -> Option<Data> {
    checked(text).ok()
}

/// Parses TOML, or returns its first error.
pub(super) fn checked(text: &str) -> Result<Data, ImportError> {
    let source = SourceFile::new(FileId::BUILT_IN, "", text);
    let mut findings = Findings::default();
    let data = toml::parse(&source, &mut findings).to_data();
    match findings.iter().find(|found| found.severity == Severity::Error) {
        None => Ok(data),
        Some(found) => Err(ImportError::at(
            format!("it is not TOML: {}", found.message),
            source.position(found.span.start as usize),
        )),
    }
}

/// Adds the temporary files that a sandbox lets an agent write: in `/tmp`, and in any `$TMPDIR`.
fn temporary(data: &Data, model: &mut HarnessModel) {
    let [slash_tmp, variable] = TEMPORARY.map(|key| {
        let table = data.get("sandbox_workspace_write");
        table.and_then(|table| table.get(key)) != Some(&Data::Bool(true))
    });
    let places = [(slash_tmp, regex_of_path("/tmp")), (variable, String::new())];
    for (_, place) in places.into_iter().filter(|(is_open, _)| *is_open) {
        let matches = MatchBounds::exactly(format!("{place}{ANYTHING}"));
        let entry = EncodedRule { text: "temporary".to_owned(), action: Action::Allow, matches };
        let (section, order, default) = (Section::Edit, MatchOrder::First, Action::Deny);
        let rules = RuleEncoding { section, order, entries: vec![entry], default }.rules();
        model.add(section, "temporary files", vec![rules]);
    }
}

/// Reads the setup of an agent. A missing or unknown value counts as the mildest or the strictest one.
pub(super) fn setup(data: &Data, view: EncodingView) -> CodexSetup {
    let word = |key: &str| data.get(key).map(|value| value.as_str().unwrap_or_default());
    let approval = match word("approval_policy") {
        // Codex may still ask, but only after a failure or in some cases.
        None | Some("on-failure") => CodexApproval::OnRequest,
        Some(word) => word.parse().unwrap_or(match view {
            EncodingView::Mildest => CodexApproval::OnRequest,
            EncodingView::Strictest => CodexApproval::Never,
        }),
    };
    let sandbox = word("sandbox_mode").and_then(|word| word.parse().ok());
    let sandbox = sandbox.unwrap_or(match view {
        // The session that starts the agent may have no sandbox.
        EncodingView::Mildest => CodexSandbox::Unbound,
        EncodingView::Strictest => CodexSandbox::ReadOnly,
    });
    CodexSetup { shell: is_on(data, "features", "shell_tool"), approval, sandbox }
}

/// Whether a switch in a table is not off.
fn is_on(data: &Data, table: &str, key: &str) -> bool {
    data.get(table).and_then(|table| table.get(key)) != Some(&Data::Bool(false))
}

/// Returns what an agent may do under these rules.
pub(super) fn of(data: &Data, rules: &[prefix::PrefixRule], view: EncodingView) -> HarnessModel {
    let free = |section| always(section, Action::Allow, "not switched off");
    let setup = setup(data, view);
    let mut model = setup.model(rules, view);
    if view == EncodingView::Mildest && setup.writes() {
        temporary(data, &mut model);
    }
    let unset_search = if view == EncodingView::Mildest { "live" } else { "cached" };
    let searches = match data.get("web_search").map(Data::as_str) {
        None => unset_search,
        Some(Some(word @ ("live" | "cached" | "disabled"))) => word,
        Some(_) if view == EncodingView::Mildest => "live",
        Some(_) => "disabled",
    };
    if searches == "live" {
        model.add(Section::Webfetch, "web_search", vec![free(Section::Webfetch)]);
    }
    if searches != "disabled" {
        model.add(Section::Websearch, "web_search", vec![free(Section::Websearch)]);
    }
    // The tool only shows pictures, so an import must not count it as reading every file.
    if view == EncodingView::Mildest && is_on(data, "tools", "view_image") {
        model.add(Section::Read, "view_image", vec![free(Section::Read)]);
    }
    if is_on(data, "skills", "include_instructions") {
        model.add(Section::Skill, "skills", vec![free(Section::Skill)]);
    }
    let servers = data.get("mcp_servers").filter(|servers| !servers.is_empty());
    match (servers, view) {
        (Some(_), EncodingView::Mildest) => {
            model.add(Section::Mcp, "mcp_servers", vec![free(Section::Mcp)]);
        }
        (Some(servers), EncodingView::Strictest) => {
            model.add(Section::Mcp, "mcp_servers", vec![servers::bound(servers).rules()]);
        }
        (None, _) => {}
    }
    model
}
