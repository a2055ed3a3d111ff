//! What the settings of Gemini remove from an agent. What they allow is never imported.

use agentry_policy::{Action, PatternRule, Section};
use serde_json::Value;

use super::import_extensions::extensions;
use super::policy::{GeminiCondition, GeminiRule};
use super::tools::{OTHERS, TOOLS, WILDCARDS, of_servers, server, servers_in};
use crate::HarnessFiles;
use crate::draft::ImportDraft;
use crate::encoding::{EncodedRule, EncodingView, MatchBounds, MatchOrder, RuleEncoding};
use crate::jsonc::{JsonDialect, JsoncDocument};
use crate::model::{HarnessModel, always};
use crate::render_result::LossKind;
use crate::wildcard::ANYTHING;

/// The settings of a project, of the user, and of the machine.
const PLACES: &[&str] = &[
    ".gemini/settings.json",
    "~/.gemini/settings.json",
    "/etc/gemini-cli/system-defaults.json",
    "/etc/gemini-cli/settings.json",
];

const SHELL: &str = "run_shell_command";

/// Other names of tools that settings may use.
const ALIASES: &[(&str, &str)] = &[
    ("ShellTool", SHELL),
    ("EditTool", "replace"),
    ("WriteFileTool", "write_file"),
    ("ReadFileTool", "read_file"),
    ("ReadManyFilesTool", "read_many_files"),
    ("LSTool", "list_directory"),
    ("GlobTool", "glob"),
    ("GrepTool", "grep_search"),
    ("RipGrepTool", "grep_search"),
    ("search_file_content", "grep_search"),
    ("WebFetchTool", "web_fetch"),
    ("WebSearchTool", "google_web_search"),
    ("WriteTodosTool", "write_todos"),
    ("ActivateSkillTool", "activate_skill"),
    ("AskUserTool", "ask_user"),
];

/// Keys of `tools` and `mcp` that remove nothing.
const HARMLESS: &[&str] = &[
    "tools.autoAccept",
    "tools.callCommand",
    "tools.discoveryCommand",
    "tools.enableHooks",
    "tools.enableToolOutputTruncation",
    "tools.shell",
    "tools.truncateToolOutputLines",
    "tools.truncateToolOutputThreshold",
    "tools.useRipgrep",
    "mcp.serverCommand",
];

/// Keys that are read below.
const READ: &[&str] = &[
    "tools.allowed",
    "tools.confirmationRequired",
    "tools.core",
    "tools.exclude",
    "mcp.allowed",
    "mcp.excluded",
];

/// Keys of a server that are known.
const OF_SERVERS: &[&str] = &[
    "args",
    "authProviderType",
    "command",
    "cwd",
    "description",
    "env",
    "excludeTools",
    "headers",
    "httpUrl",
    "includeTools",
    "oauth",
    "tcp",
    "timeout",
    "trust",
    "type",
    "url",
];

/// The name of a server, the name of a tool or `*`, and whether it remains.
type ServerToolRule = (String, String, Action);

/// Everything that settings remove.
#[derive(Debug, Default)]
pub(super) struct GeminiLimits {
    /// Denials that come before all other rules.
    pub(super) rules: Vec<GeminiRule>,
    /// Tools that the agent does not have.
    excluded: Vec<String>,
    /// Lists of the only tools that exist.
    core: Vec<Vec<String>>,
    /// Lists of the only commands that exist.
    commands: Vec<Vec<String>>,
    /// The remaining MCP tools: rules, and the verdict for all others.
    servers: Vec<(Vec<ServerToolRule>, Action)>,
    /// Sections in which something is always asked, and by what.
    asked: Vec<(Vec<Section>, &'static str)>,
}

/// Returns the limits of all settings, and of the servers that the agent defines.
pub(super) fn limits(
    files: &dyn HarnessFiles,
    own: Option<&Value>,
    draft: &mut ImportDraft,
) -> Result<GeminiLimits, String> {
    let mut limits = GeminiLimits::default();
    if let Some(servers) = own {
        limits.of_servers(servers, draft);
    }
    for path in PLACES {
        let Some(text) = files.text(path) else { continue };
        let document = JsoncDocument::read(&text, JsonDialect::Relaxed);
        let document = document.map_err(|why| {
            format!("`{path}` cannot be read, so that Gemini CLI does not start: {why}")
        })?;
        limits.add_from(path, document.value(), draft);
    }
    for (path, value) in extensions(files, draft) {
        limits.add_from(&path, value, draft);
    }
    Ok(limits)
}

/// One settings file.
struct GeminiSettings {
    value: Value,
    path: String,
}

impl GeminiSettings {
    /// Returns the texts of a list, by its current or older name. A value that is not a list of texts is an
    /// error.
    fn list(&self, name: &str, older: &str) -> Option<Result<Vec<String>, ()>> {
        let now = self.value.pointer(&format!("/{}", name.replace('.', "/")));
        let found = [now, self.value.get(older).filter(|_| !older.is_empty())];
        let mut texts = Vec::new();
        for value in found.iter().flatten() {
            match value {
                Value::String(text) => texts.push(text.clone()),
                Value::Array(items) => {
                    let Some(items) = items.iter().map(Value::as_str).collect::<Option<Vec<_>>>()
                    else {
                        return Some(Err(()));
                    };
                    texts.extend(items.into_iter().map(str::to_owned));
                }
                Value::Null => {}
                _ => return Some(Err(())),
            }
        }
        found.iter().flatten().any(|value| !value.is_null()).then_some(Ok(texts))
    }
}

impl GeminiLimits {
    fn count(&self) -> usize {
        let lists = self.core.len() + self.commands.len() + self.servers.len() + self.asked.len();
        self.rules.len() + self.excluded.len() + lists
    }

    /// Adds what a file removes, and reports it unless the file belongs to the project.
    fn add_from(&mut self, path: &str, value: Value, draft: &mut ImportDraft) {
        let before = self.count();
        self.add(&GeminiSettings { value, path: path.to_owned() }, draft);
        let whose = match path {
            path if path.starts_with('~') => "your own ",
            path if path.starts_with('/') => "",
            _ => return,
        };
        if self.count() > before {
            let detail = format!("what {whose}`{path}` takes away is taken over");
            draft.lose("permissions", LossKind::Changed, detail);
        }
    }

    fn add(&mut self, settings: &GeminiSettings, draft: &mut ImportDraft) {
        self.of_tools(settings, draft);
        for name in
            self.known(settings, "mcp.excluded", "excludeMCPServers", draft).into_iter().flatten()
        {
            self.rules.push(denied("*", Some(name)));
        }
        if let Some(names) = self.known(settings, "mcp.allowed", "allowMCPServers", draft) {
            let all = |name: String| (name, "*".to_owned(), Action::Allow);
            self.servers.push((names.into_iter().map(all).collect(), Action::Deny));
        }
        if let Some(servers) = settings.value.get("mcpServers") {
            self.of_servers(servers, draft);
        }
        self.of_skills(settings, draft);
        let hooks = settings.value.get("hooks");
        let has = |event: &str| hooks.is_some_and(|hooks| hooks.get(event).is_some());
        // A hook may deny any call.
        if has("BeforeTool") || has("BeforeToolSelection") {
            self.asked.push((Section::ALL.to_vec(), "a hook of Gemini CLI"));
        }
        self.rest(settings, draft);
    }

    /// Returns a list; a malformed one denies everything.
    fn known(
        &mut self,
        settings: &GeminiSettings,
        name: &str,
        older: &str,
        draft: &mut ImportDraft,
    ) -> Option<Vec<String>> {
        match settings.list(name, older)? {
            Ok(texts) => Some(texts),
            Err(()) => {
                self.mystery(name, &settings.path, draft);
                None
            }
        }
    }

    /// Denies everything, because a setting that is not understood may forbid anything.
    fn mystery(&mut self, what: &str, path: &str, draft: &mut ImportDraft) {
        let detail = format!(
            "`{what}` in `{path}` is not understood: nothing is allowed that it may forbid"
        );
        draft.lose("permissions", LossKind::Narrowed, detail);
        self.rules.push(denied("*", None));
    }

    fn of_tools(&mut self, settings: &GeminiSettings, draft: &mut ImportDraft) {
        for text in
            self.known(settings, "tools.exclude", "excludeTools", draft).into_iter().flatten()
        {
            self.exclude(&text, &settings.path, draft);
        }
        if let Some(texts) = self.known(settings, "tools.core", "coreTools", draft) {
            let parts: Vec<_> = texts.iter().map(|text| split(text)).collect();
            let of_shell = parts.iter().filter(|(name, _)| name == SHELL);
            // An entry for the whole shell lifts this limit; without any entry, no command is left.
            if of_shell.clone().all(|(_, only)| only.is_some()) {
                self.commands.push(of_shell.filter_map(|(_, only)| only.clone()).collect());
            }
            let names: Vec<String> = parts.into_iter().map(|(name, _)| name).collect();
            let rule = |pattern: String| {
                let (server, tool) = pattern.split_once('/').unwrap_or(("*", "*"));
                (server.to_owned(), tool.to_owned(), Action::Allow)
            };
            let servers = names.iter().filter(|name| *name != "*").cloned().collect::<Vec<_>>();
            let servers = of_servers(&servers).into_iter().map(rule).collect();
            self.servers.push((servers, Action::Deny));
            self.core.push(names);
        }
        if settings.list("tools.allowed", "allowedTools").is_some() {
            let detail = format!("`tools.allowed` in `{}`: not taken over", settings.path);
            draft.lose("permissions", LossKind::Changed, detail);
        }
        for text in
            self.known(settings, "tools.confirmationRequired", "", draft).into_iter().flatten()
        {
            let (name, _) = split(&text);
            let tool = TOOLS.iter().chain(OTHERS).find(|tool| tool.name == name);
            // An unknown tool may belong to any section.
            let sections = tool.map_or(Section::ALL.to_vec(), |tool| vec![tool.section]);
            self.asked.push((sections, "`tools.confirmationRequired` of Gemini CLI"));
        }
    }

    /// Removes one tool, or the commands with a prefix.
    fn exclude(&mut self, text: &str, path: &str, draft: &mut ImportDraft) {
        let (name, only) = split(text);
        if let Some(prefix) = only.filter(|_| name == SHELL) {
            let when = GeminiCondition::Command(format!("{prefix}*"));
            self.rules.push(GeminiRule { when, ..denied(SHELL, None) });
        } else if TOOLS.iter().chain(OTHERS).any(|tool| tool.name == name) {
            self.excluded.push(name);
        } else if name.contains(['*', '$']) {
            match of_servers(std::slice::from_ref(&name)).first().and_then(|it| it.split_once('/'))
            {
                Some((server, tool)) => self.rules.push(denied(tool, Some(server.to_owned()))),
                None => self.mystery(&format!("tools.exclude: {text}"), path, draft),
            }
        } else if let Some(rest) = name.strip_prefix("mcp_") {
            let named = servers_in(rest).into_iter();
            self.rules.extend(named.map(|(server, tool)| denied(tool, Some(server.to_owned()))));
        } else if let Some((server, tool)) = name.split_once("__") {
            self.rules.push(denied(tool, Some(server.to_owned())));
        } else {
            // An unknown name may be a tool of any MCP server.
            self.rules.push(denied(&name, Some("*".to_owned())));
        }
    }

    /// Adds the limits of each server's tools.
    fn of_servers(&mut self, servers: &Value, draft: &mut ImportDraft) {
        let Value::Object(servers) = servers else { return };
        for (name, server) in servers {
            let one = GeminiSettings { value: server.clone(), path: "mcpServers".to_owned() };
            for tool in self.known(&one, "excludeTools", "", draft).into_iter().flatten() {
                self.rules.push(denied(&split(&tool).0, Some(name.clone())));
            }
            if let Some(tools) = self.known(&one, "includeTools", "", draft) {
                let rule = |tool: &String| (name.clone(), split(tool).0, Action::Allow);
                let mut rules: Vec<_> = tools.iter().map(rule).collect();
                // All other tools of this server are excluded.
                rules.push((name.clone(), "*".to_owned(), Action::Deny));
                self.servers.push((rules, Action::Allow));
            }
            let field = format!("mcpServers.{name}");
            if server.get("trust") == Some(&Value::Bool(true)) {
                let detail =
                    "Gemini CLI trusts the server and asks about none of its tools: not taken over";
                draft.lose(&field, LossKind::Changed, detail);
            }
            let keys = server.as_object().into_iter().flat_map(|keys| keys.keys());
            for key in keys.filter(|key| !OF_SERVERS.contains(&key.as_str())) {
                draft.lose(&field, LossKind::Dropped, format!("`{key}` is not understood"));
            }
        }
    }

    fn of_skills(&mut self, settings: &GeminiSettings, draft: &mut ImportDraft) {
        if settings.value.pointer("/skills/enabled") == Some(&Value::Bool(false)) {
            self.excluded.push("activate_skill".to_owned());
        }
        for name in self.known(settings, "skills.disabled", "", draft).into_iter().flatten() {
            let when = GeminiCondition::Name(name);
            self.rules.push(GeminiRule { when, ..denied("activate_skill", None) });
        }
    }

    /// Reports other settings that may remove something.
    fn rest(&mut self, settings: &GeminiSettings, draft: &mut ImportDraft) {
        for key in ["policyPaths", "adminPolicyPaths"] {
            let is_empty = |paths: &Value| paths.as_array().is_some_and(Vec::is_empty);
            if settings.value.get(key).is_some_and(|paths| !is_empty(paths)) {
                self.mystery(key, &settings.path, draft);
            }
        }
        let mut others: Vec<String> = ["admin", "agents"].map(str::to_owned).into();
        others.retain(|key| settings.value.get(key).is_some());
        for group in ["tools", "mcp"] {
            let keys = settings.value.get(group).and_then(Value::as_object);
            let keys = keys.into_iter().flat_map(|keys| keys.keys());
            others.extend(keys.map(|key| format!("{group}.{key}")));
        }
        let is_known = |key: &&String| READ.iter().chain(HARMLESS).any(|known| known == key);
        for key in others.iter().filter(|key| !is_known(key)) {
            let detail = format!("`{key}` in `{}` is not understood", settings.path);
            draft.lose("permissions", LossKind::Dropped, detail);
        }
    }

    /// Returns the tools that remain.
    pub(super) fn names(&self, names: Vec<String>) -> Vec<String> {
        if self.excluded.is_empty() && self.core.is_empty() {
            return names;
        }
        let all = TOOLS.iter().chain(OTHERS).map(|tool| tool.name);
        let all = all.chain(["mcp_*"]).map(str::to_owned);
        // `*` must be expanded before single tools can be removed from it.
        let names: Vec<String> =
            if names.iter().any(|name| name == "*") { all.collect() } else { names };
        let is_left = |name: &String| {
            let (name, _) = split(name);
            let listed = |list: &Vec<String>| name.starts_with("mcp_") || list.contains(&name);
            !self.excluded.contains(&name) && self.core.iter().all(listed)
        };
        names.into_iter().filter(is_left).collect()
    }

    /// Returns the rules of a section together with its limits.
    pub(super) fn written(
        &self,
        section: Section,
        rules: Vec<PatternRule>,
        intent: Action,
    ) -> (Vec<PatternRule>, Action) {
        let rule =
            |pattern: String, action: Action| PatternRule { pattern, action: action.max(intent) };
        if section == Section::Bash {
            let commands = self.commands.iter().flatten();
            let left = commands.map(|prefix| rule(format!("{prefix} *"), Action::Allow));
            let intent = if self.commands.is_empty() { intent } else { Action::Deny };
            return (rules.into_iter().chain(left).collect(), intent);
        }
        if section != Section::Mcp {
            return (rules, intent);
        }
        let of = |default: Action| {
            let lists = self.servers.iter().filter(move |(_, other)| *other == default);
            lists.flat_map(|(list, _)| list).map(|(server, tool, action)| {
                rule(
                    if server == "*" { "**".to_owned() } else { format!("{server}/{tool}") },
                    *action,
                )
            })
        };
        let closed = self.servers.iter().any(|(_, default)| *default == Action::Deny);
        // Limits of one server come first; lists that close all other servers come last.
        let rules = of(Action::Allow).chain(rules).chain(of(Action::Deny)).collect();
        (rules, if closed { Action::Deny } else { intent })
    }

    /// Adds the limits to what Gemini surely permits.
    pub(super) fn bound(
        &self,
        names: &[String],
        model: &mut HarnessModel,
        draft: &mut ImportDraft,
    ) {
        let knows =
            |model: &HarnessModel, section| model.ways.iter().any(|way| way.section == section);
        let asked_for = |name: &String| names.iter().any(|it| it == "*" || it == name);
        for name in self.excluded.iter().filter(|name| asked_for(name)) {
            let tool = TOOLS.iter().chain(OTHERS).find(|tool| tool.name == name);
            let Some(section) = tool.map(|tool| tool.section) else { continue };
            // A lost tool that only shows names takes nothing from reading.
            let shows_names = super::tools::NAMES_ONLY.contains(&name.as_str());
            if !shows_names && knows(model, section) {
                let detail = format!("`{name}` is excluded, so that all of it is denied here");
                draft.lose(&format!("permissions.{section}"), LossKind::Narrowed, detail);
                model.add(section, "settings", vec![always(section, Action::Deny, name)]);
            }
        }
        if knows(model, Section::Bash) {
            let layers = self
                .commands
                .iter()
                .map(|list| commands(list).seen(EncodingView::Strictest).rules());
            model.add(Section::Bash, "settings", layers.collect());
        }
        if knows(model, Section::Mcp) {
            let layers = self.servers.iter().map(|(list, default)| servers(list, *default));
            let layers = layers.map(|list| list.seen(EncodingView::Strictest).rules());
            model.add(Section::Mcp, "settings", layers.collect());
        }
        for (sections, source_title) in &self.asked {
            draft.decided(sections, source_title, model);
        }
    }
}

fn denied(tool: &str, server: Option<String>) -> GeminiRule {
    GeminiRule {
        tool: tool.to_owned(),
        server,
        when: GeminiCondition::Always,
        action: Action::Deny,
    }
}

/// Splits an entry into the name of a tool and its specifier in brackets.
fn split(text: &str) -> (String, Option<String>) {
    let text = text.trim();
    let (name, only) = match text.split_once('(') {
        Some((name, rest)) => (name.trim_end(), Some(rest.strip_suffix(')').unwrap_or(rest))),
        None => (text, None),
    };
    let known = ALIASES.iter().find(|(alias, _)| *alias == name);
    (known.map_or(name, |(_, name)| name).to_owned(), only.map(|it| it.trim().to_owned()))
}

/// Allows only commands with these prefixes.
fn commands(prefixes: &[String]) -> RuleEncoding {
    let entry = |prefix: &String| {
        let text = format!("{prefix} *");
        EncodedRule { matches: WILDCARDS.command(&text), text, action: Action::Allow }
    };
    let entries = prefixes.iter().map(entry).collect();
    RuleEncoding {
        section: Section::Bash,
        order: MatchOrder::First,
        entries,
        default: Action::Deny,
    }
}

/// Encodes rules for MCP tools.
fn servers(rules: &[ServerToolRule], default: Action) -> RuleEncoding {
    let entry = |(name, tool, action): &ServerToolRule| {
        let any = name == "*" && tool == "*";
        let matches = if any { MatchBounds::exactly(ANYTHING) } else { server(name, tool) };
        EncodedRule { text: format!("{name}/{tool}"), action: *action, matches }
    };
    let entries = rules.iter().map(entry).collect();
    RuleEncoding { section: Section::Mcp, order: MatchOrder::First, entries, default }
}
