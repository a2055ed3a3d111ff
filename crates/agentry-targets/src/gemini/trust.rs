//! Trusted MCP servers: without a rule, Gemini asks about an MCP tool unless the settings trust its server.

use std::collections::BTreeSet;

use agentry_policy::Action;
use serde_json::Value;

use super::tools::{is_known, server};
use crate::HarnessFiles;
use crate::encoding::{EncodedRule, MatchBounds};
use crate::jsonc::{JsonDialect, JsoncDocument};
use crate::wildcard::ANYTHING;

/// The settings of a project.
const PROJECT: &str = ".gemini/settings.json";
/// The settings of the user.
pub(super) const HOME: &str = "~/.gemini/settings.json";

/// The servers in the settings.
#[derive(Debug, Default)]
pub(super) struct TrustedServers {
    /// All defined servers.
    known: BTreeSet<String>,
    /// Servers whose tools run without a question.
    trusted: BTreeSet<String>,
    /// Whether any server may be trusted.
    anyone: bool,
}

impl TrustedServers {
    /// Reads the settings of a project.
    pub(super) fn of_project(files: &dyn HarnessFiles) -> Self {
        Self::of(files, &[PROJECT])
    }

    /// Reads the settings of a project and of the user.
    pub(super) fn of_user(files: &dyn HarnessFiles) -> Self {
        Self::of(files, &[PROJECT, HOME])
    }

    fn of(files: &dyn HarnessFiles, paths: &[&str]) -> Self {
        let mut trust = Self::default();
        for text in paths.iter().filter_map(|path| files.text(path)) {
            match JsoncDocument::read(&text, JsonDialect::Relaxed) {
                Ok(document) => trust.add(&document.value()),
                // A malformed file may trust any server.
                Err(_) => trust.anyone = true,
            }
        }
        trust
    }

    fn add(&mut self, settings: &Value) {
        // These settings allow MCP tools, or load rules that are not read here.
        let opens = ["/mcp/autoAllowInHeadless", "/policyPaths", "/adminPolicyPaths"];
        self.anyone |= opens.into_iter().any(|at| settings.pointer(at).is_some_and(is_set));
        let allowed = [settings.pointer("/tools/allowed"), settings.get("allowedTools")];
        self.anyone |= allowed.into_iter().flatten().any(|tools| !is_own(tools));
        for allowed in [settings.pointer("/mcp/allowed"), settings.get("allowMCPServers")] {
            match allowed {
                Some(Value::Array(names)) => {
                    self.trusted.extend(names.iter().filter_map(Value::as_str).map(str::to_owned));
                }
                None | Some(Value::Null) => {}
                Some(_) => self.anyone = true,
            }
        }
        self.anyone |= self.trusted.contains("*");
        let servers = settings.get("mcpServers").and_then(Value::as_object);
        for (name, server) in servers.into_iter().flatten() {
            self.known.insert(name.clone());
            if server.get("trust").is_some_and(is_set) {
                self.trusted.insert(name.clone());
            }
        }
    }

    /// Returns the rules for MCP tools without a rule: for trusted servers, and the verdict for all others.
    pub(super) fn entries(&self) -> (Vec<EncodedRule>, Action) {
        let entry = |name: &String| EncodedRule {
            text: format!("{name}/*"),
            action: Action::Allow,
            matches: server(name, "*"),
        };
        let default = if self.anyone { Action::Allow } else { Action::Ask };
        (self.trusted.iter().map(entry).collect(), default)
    }

    /// Returns the MCP tools that a name in a list may mean. The name of a server ends at the first `_`,
    /// unless the settings define a longer one.
    pub(super) fn possible_tools(&self, name: &str) -> Vec<(String, MatchBounds)> {
        let Some(rest) = name.strip_prefix("mcp_") else { return Vec::new() };
        let others = self.known.iter().chain(&self.trusted);
        let others = others.filter_map(|name| Some((name.as_str(), after(rest, name)?)));
        let found = rest.split_once('_').into_iter().chain(others);
        let matches = |(of, tool): (&str, &str)| {
            let is_odd = of.contains('*') || (tool != "*" && tool.contains('*'));
            let all = || MatchBounds::exactly(ANYTHING);
            (format!("{of}/{tool}"), if is_odd { all() } else { server(of, tool) })
        };
        let found: BTreeSet<(&str, &str)> = found.collect();
        found.into_iter().map(matches).collect()
    }
}

fn after<'a>(rest: &'a str, server: &str) -> Option<&'a str> {
    rest.strip_prefix(server)?.strip_prefix('_')
}

/// Whether the tools that run without a question are all Gemini's own.
fn is_own(tools: &Value) -> bool {
    let is_own = |tool: &Value| {
        let name = tool.as_str().and_then(|text| text.split('(').next());
        name.is_some_and(|name| name != "*" && !name.starts_with("mcp_") && is_known(name))
    };
    tools.is_null() || tools.as_array().is_some_and(|tools| tools.iter().all(is_own))
}

/// Whether a switch is on by the rules of JavaScript.
fn is_set(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false)) && value != 0 && value != ""
}
