//! Imports agents of Claude Code with the settings around them. Calls that the mode of a session decides
//! count as asked, so that nothing becomes wider.

use agentry_policy::{Action, PatternRule, Section};
use agentry_text::{Data, TextPosition};

use super::agent_file::{self, ClaudeFrontMatter, LineReading};
use super::fields::FIELDS;
use super::grants::GRANTS;
use super::import_hooks::hooked;
use super::import_plugins::{ClaudePlugin, plugins};
use super::ruleset::{UnmatchedAnswer, of, only, tools};
use super::settings::{self, ClaudeRuleLists, ClaudeSettings, PERSONAL, known, managed, personal};
use super::tools::{
    ClaudeTools, GROUPS, PARTS, UNASKED, entries, groups, is_beside, name_of, names, restricted,
    section_of,
};
use super::{NAME, OTHER_SERVERS, OTHER_SKILLS, patterns, rule};
use crate::draft::{ImportDraft, inside};
use crate::import::{HarnessAgent, HarnessImport, ImportError, PermittedBound};
use crate::model::escape;
use crate::original;
use crate::render_result::LossKind;
use crate::servers::VariableStyle;
use crate::wildcard::reworded;
use crate::{HarnessFiles, HarnessModel};

pub(super) const IMPORT: HarnessImport = HarnessImport {
    places: &[(".claude/agents", ".md")],
    is_one,
    several: None,
    read,
    overrides: true,
    grants: GRANTS,
};

fn is_one(path: &str, text: &str) -> bool {
    let named = || agent_file::read(text).is_some_and(|front| front.metadata.get("name").is_some());
    let markdown = path.rsplit_once('.').is_some_and(|(_, end)| end == "md");
    path.contains(".claude/agents/") && markdown && named()
}

fn read(files: &dyn HarnessFiles, path: &str) -> Result<HarnessAgent, ImportError> {
    let text = files.text(path).ok_or("the file cannot be read")?;
    let front = agent_file::read(&text).ok_or("there is no metadata between two lines of `---`")?;
    let mut draft = identity(&front)?;
    // Claude Code ignores such a file; its denials must not be lost without a message.
    if let Some(wrong) = settings::dropped(files) {
        return Err(wrong.into());
    }
    let mut known = known(files);
    known.rules.extend(&of_the_user(files, &mut draft));
    of_everyone(files, &mut known, &mut draft);
    known.rules.allow.retain(|text| !text.is_empty());
    if front.metadata.get("permissionMode").and_then(Data::as_str) == Some("plan") {
        // In plan mode nothing is changed, whatever the rules allow.
        known.rules.allow.clear();
    }
    other_skills(files, &front, &mut draft);
    let tools = tools(&front);
    draft.keep_tools(NAME, &groups(), |_| true, |tool| tools.has(tool));
    let silence = silence(&front, &mut draft);
    permissions(&tools, &known, silence, &mut draft);
    changed(&known, &mut draft);
    let mut model = of(files.memo(), &tools, &known, silence);
    draft.decided(&hooked(files, &front), "a hook of Claude Code", &mut model);
    for ClaudePlugin { name, hooks } in plugins(files) {
        match hooks {
            Ok(sections) => {
                let plugin_title = format!("the plugin `{name}` of Claude Code");
                draft.decided(&sections, &plugin_title, &mut model);
            }
            Err(why) => {
                let detail = format!("the plugin `{name}` may bring some: {why}");
                draft.lose("hooks", LossKind::Gap, detail);
            }
        }
    }
    preloaded(&front, &tools, &mut model, &mut draft);
    helpers(&front, &mut model, &mut draft);
    Ok(draft.read(PermittedBound::new(model), front.metadata))
}

/// Keeps the names of skills that are neither in the project nor in the home directory.
fn other_skills(files: &dyn HarnessFiles, front: &ClaudeFrontMatter, draft: &mut ImportDraft) {
    let is_there = |name: &String| {
        let places = [".claude/skills", "~/.claude/skills", ".agents/skills", "skills"];
        places.iter().any(|place| files.text(&format!("{place}/{name}/SKILL.md")).is_some())
    };
    let named = front.metadata.get("skills").and_then(names).unwrap_or_default();
    let other: Vec<String> = named.into_iter().filter(|name| !is_there(name)).collect();
    if !other.is_empty() {
        original::set(&mut draft.agent, NAME, OTHER_SKILLS, Data::strings(other));
    }
}

/// Allows the skills that an agent file names, which are loaded even without the `Skill` tool.
fn preloaded(
    front: &ClaudeFrontMatter,
    tools: &ClaudeTools,
    model: &mut HarnessModel,
    draft: &mut ImportDraft,
) {
    let skills = front.metadata.get("skills").and_then(names).unwrap_or_default();
    if skills.is_empty() || tools.has("Skill") {
        return;
    }
    let known: Vec<String> = skills.iter().map(|name| escape(name)).collect();
    let known = only(Section::Skill, &known, Action::Allow, Action::Deny).rules();
    model.add(Section::Skill, "skills", vec![known]);
    draft.rules(Section::Skill, skills.into_iter().map(allow).collect(), Action::Deny);
}

/// Restricts delegation to the agents that the tool entries name, where every entry names some.
fn helpers(front: &ClaudeFrontMatter, model: &mut HarnessModel, draft: &mut ImportDraft) {
    let entries = front.metadata.get("tools").and_then(entries).unwrap_or_default();
    let is_for_it = |entry: &&str| section_of(&name_of(entry)) == Some(Section::Delegate);
    let of_tool: Vec<&str> = entries.into_iter().filter(is_for_it).collect();
    // One entry without a list of agents lifts the restriction.
    if of_tool.is_empty() || of_tool.iter().any(|entry| !entry.contains('(')) {
        return;
    }
    let inner = of_tool.iter().filter_map(|entry| entry.split_once('('));
    let inner = inner.flat_map(|(_, rest)| rest.trim().trim_end_matches(')').split(','));
    let names: Vec<String> = inner.map(|name| name.trim().to_owned()).collect();
    let regexes: Vec<String> = names.iter().map(|name| escape(name)).collect();
    let layer = only(Section::Delegate, &regexes, Action::Allow, Action::Deny).rules();
    model.add(Section::Delegate, "tools", vec![layer]);
    draft.replace(Section::Delegate, names.into_iter().map(allow).collect(), Action::Deny);
}

/// Returns the asks and denials of the user's settings, which apply to every project. Their allows are not
/// imported. All of them are reported.
fn of_the_user(files: &dyn HarnessFiles, draft: &mut ImportDraft) -> ClaudeRuleLists {
    stricter(personal(files).rules, ("~/.claude", &format!("your own `{PERSONAL}`")), draft)
}

/// Adds the asks and denials of the machine's managed settings. If these forbid all other allow rules, every
/// allow is removed.
fn of_everyone(files: &dyn HarnessFiles, known: &mut ClaudeSettings, draft: &mut ImportDraft) {
    for (path, text) in managed(files) {
        let Some(theirs) = settings::read(&text) else { continue };
        if theirs.managed_only {
            known.rules.allow.clear();
            let detail = format!("`{path}` lets nothing else allow anything: taken over");
            draft.lose("permissions", LossKind::Changed, detail);
        }
        let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        let rules = stricter(theirs.rules, (&format!("/{dir}"), &format!("`{path}`")), draft);
        known.rules.extend(&rules);
    }
}

/// Converts the asks and denials of a file outside the project to rules of a project, and reports all its
/// rules.
fn stricter(
    rules: ClaudeRuleLists,
    (dir, whose): (&str, &str),
    draft: &mut ImportDraft,
) -> ClaudeRuleLists {
    let ClaudeRuleLists { allow, ask, deny } = rules;
    let lists = [
        (&allow, "allows", "not taken over"),
        (&ask, "asks about", "taken over"),
        (&deny, "denies", "taken over"),
    ];
    for (list, verb, fate) in lists {
        if let Some((first, more)) = list.split_first() {
            let more = if more.is_empty() { "" } else { " and more" };
            let detail = format!("{whose} {verb} `{first}`{more} in every project: {fate}");
            draft.lose("permissions", LossKind::Changed, detail);
        }
    }
    let here = |list: Vec<String>| list.iter().map(|text| anchored(text, dir)).collect();
    ClaudeRuleLists { allow: Vec::new(), ask: here(ask), deny: here(deny) }
}

/// Converts a rule of a file in `dir` to a rule of a project: `/x` is relative to the file's directory.
fn anchored(text: &str, dir: &str) -> String {
    match text.split_once("(/") {
        Some((tool @ ("Read" | "Edit"), rest)) if !rest.starts_with('/') => {
            format!("{tool}({dir}/{rest}")
        }
        _ => text.to_owned(),
    }
}

/// Reports the rules about commands that were changed.
fn changed(known: &ClaudeSettings, draft: &mut ImportDraft) {
    let ClaudeRuleLists { allow, ask, deny } = &known.rules;
    for (list, action) in [(deny, Action::Deny), (ask, Action::Ask), (allow, Action::Allow)] {
        for text in list.iter().filter(|text| rule::parse(text).tool == "Bash") {
            let only = rule::parse(text).only.unwrap_or_default();
            let words = patterns::source(Section::Bash, text, action);
            if let Some(detail) = reworded(Section::Bash, only, action, &words) {
                draft.lose("permissions.bash", LossKind::Narrowed, detail);
            }
        }
    }
}

/// Imports everything except the permissions.
fn identity(front: &ClaudeFrontMatter) -> Result<ImportDraft, String> {
    let metadata = &front.metadata;
    let name = match metadata.get("name") {
        Some(Data::Str(name)) => name.clone(),
        Some(number @ (Data::Int(_) | Data::Float(_))) => number.to_json().to_string(),
        Some(Data::Null) | None => return Err("`name` is missing".to_owned()),
        Some(_) => return Err("`name` is not text".to_owned()),
    };
    let mut draft = ImportDraft::new(&name, &front.body);
    if let Some(LineReading { at, is_loaded, unread }) = &front.lenient {
        let detail = if *is_loaded {
            "it is not valid YAML and was read line by line, as Claude Code does"
        } else {
            "it is not valid YAML and was read line by line; Claude Code does not load the file"
        };
        draft.lenient_at(LossKind::Changed, detail.to_owned(), *at);
        unread_lines(unread, &mut draft);
    }
    lists(metadata, &mut draft);
    draft.read_fields(NAME, FIELDS, metadata);
    Ok(draft)
}

/// Reports the lines that could not be read, as one loss: a description over many lines may have a hundred.
fn unread_lines(unread: &[(TextPosition, String)], draft: &mut ImportDraft) {
    let Some((at, first)) = unread.first() else { return };
    let others = unread.len() - 1;
    let and = match others {
        0 => String::new(),
        1 => " and 1 other line".to_owned(),
        _ => format!(" and {others} other lines"),
    };
    let verb = if others == 0 { "says" } else { "say" };
    let detail = format!("`{first}`{and} {verb} nothing when it is read line by line");
    draft.lenient_at(LossKind::Dropped, detail, *at);
}

/// Reports entries in the lists of tools that do not mean what they seem to.
fn lists(metadata: &Data, draft: &mut ImportDraft) {
    let tools = metadata.get("tools");
    for entry in tools.map(restricted).unwrap_or_default() {
        let (kind, why) = if section_of(&name_of(&entry)) == Some(Section::Delegate) {
            let why = "a session holds an agent to it that a person started; here it always holds";
            (LossKind::Changed, why)
        } else {
            (LossKind::Dropped, "Claude Code does not restrict by it")
        };
        draft.lose("tools", kind, format!("`{entry}`: {why}"));
    }
    for name in tools.and_then(names).unwrap_or_default().iter().filter(|it| is_beside(it)) {
        let detail = format!("`{name}` goes with the other tools of its kind and is left out");
        draft.lose("tools", LossKind::Dropped, detail);
    }
    for name in tools.and_then(names).unwrap_or_default().iter().filter(|it| is_unknown(it)) {
        let (kind, what) = if name.starts_with("mcp__") {
            (LossKind::Dropped, "names no server, and its effect is not known")
        } else {
            (LossKind::Changed, "is known by its name only: a tool of that name, and no other")
        };
        draft.lose("tools", kind, format!("`{name}` {what}"));
    }
    if tools.is_some_and(|list| names(list).is_none()) {
        draft.lose("tools", LossKind::Narrowed, "it is not a list: it has no tools here");
    }
    for entry in metadata.get("disallowedTools").map(restricted).unwrap_or_default() {
        let detail =
            format!("`{entry}`: Claude Code takes away all of `{}` by it", name_of(&entry));
        draft.lose("disallowedTools", LossKind::Changed, detail);
    }
}

/// Whether a listed tool is unknown.
fn is_unknown(name: &str) -> bool {
    let server = name.strip_prefix("mcp__").map(|rest| rest.split("__").next().unwrap_or_default());
    match server {
        Some(server) => !rule::is_plain(server),
        None => section_of(name).is_none() && !UNASKED.contains(&name) && name != "*",
    }
}

/// Imports servers that are defined in the file; those that are only named are defined elsewhere.
pub(super) fn read_servers(list: &Data, draft: &mut ImportDraft) {
    let mut named: Vec<(String, Data)> = Vec::new();
    let mut elsewhere: Vec<&str> = Vec::new();
    let items = match list {
        Data::List(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    for item in items {
        match item {
            Data::Map(entries) => named.extend(entries.iter().cloned()),
            Data::Str(name) if rule::is_plain(name) => elsewhere.push(name),
            other => {
                let detail = format!("the server {} is set up elsewhere", other.to_json());
                draft.lose("tools.mcp", LossKind::Dropped, detail);
            }
        }
    }
    if !elsewhere.is_empty() {
        original::set(&mut draft.agent, NAME, OTHER_SERVERS, Data::strings(elsewhere));
    }
    draft.servers_with(&Data::Map(named), VariableStyle::Bare);
}

/// The modes of a session that an agent may name.
const MODES: &[&str] =
    &["default", "manual", "acceptEdits", "auto", "dontAsk", "bypassPermissions", "plan"];

/// Returns the verdict for calls that no rule matches.
fn silence(front: &ClaudeFrontMatter, draft: &mut ImportDraft) -> UnmatchedAnswer {
    let mode = front.metadata.get("permissionMode").and_then(Data::as_str);
    if let Some(mode) = mode.filter(|mode| !matches!(*mode, "default" | "manual")) {
        let here = match mode {
            "dontAsk" => "what no rule allows is denied here",
            "plan" => "what is not reading is denied here",
            _ => "asked about here",
        };
        let why = if MODES.contains(&mode) {
            "is no promise, as a session above it decides"
        } else {
            "is not a mode of Claude Code, which ignores it"
        };
        draft.lose("permissionMode", LossKind::Narrowed, format!("`{mode}` {why}: {here}"));
    }
    match mode {
        Some("dontAsk") => UnmatchedAnswer::Denies,
        Some("plan") => UnmatchedAnswer::Plans,
        _ => UnmatchedAnswer::Asks,
    }
}

/// Imports the rules of all sections.
fn permissions(
    tools: &ClaudeTools,
    known: &ClaudeSettings,
    silence: UnmatchedAnswer,
    draft: &mut ImportDraft,
) {
    for group in GROUPS {
        let mut given = group.tools.iter().filter(|tool| tools.has(tool)).peekable();
        let part = given.peek().map_or("", |tool| **tool);
        if given.any(|tool| !PARTS.contains(tool)) {
            let (rules, intent) = section(group.section, known, silence);
            draft.rules(group.section, rules, intent);
        } else if !part.is_empty() {
            let detail = format!("`{part}` is a part of it, which is not granted for that");
            draft.lose(&format!("permissions.{}", group.section), LossKind::Narrowed, detail);
        }
    }
    outside(known, silence, draft);
    let (rules, mut intent) = section(Section::Mcp, known, silence);
    let mut rules: Vec<PatternRule> = taken_away(tools).chain(rules).collect();
    if tools.listed.is_some() {
        let others = tools.others().map(|name| allow(name.to_owned())).collect();
        draft.rules(Section::Tool, others, Action::Deny);
        // With a list, the agent has only the MCP tools in it.
        rules.extend(of_servers(tools, &rules, intent));
        intent = Action::Deny;
    } else {
        draft.section(Section::Tool, silence.action(Section::Tool));
    }
    draft.rules(Section::Mcp, rules, intent);
}

/// Denies the MCP tools that are disallowed.
fn taken_away(tools: &ClaudeTools) -> impl Iterator<Item = PatternRule> {
    let patterns = |name: &String| patterns::source(Section::Mcp, name, Action::Deny);
    let denied = tools.removed.iter().flat_map(patterns);
    let all = |pattern: String| match pattern.strip_suffix("/*") {
        Some(server) => format!("{server}/**"),
        None => pattern,
    };
    denied.map(move |pattern| PatternRule { pattern: all(pattern), action: Action::Deny })
}

/// Imports rules about paths outside the workspace: Claude Code asks, except where a rule about files allows.
fn outside(known: &ClaudeSettings, silence: UnmatchedAnswer, draft: &mut ImportDraft) {
    let sections = [Section::Read, Section::Edit];
    let allowed = sections.iter().flat_map(|of| {
        let texts = known.rules.allow.iter();
        let texts = texts.filter(|text| rule::entry(*of, text, Action::Allow).is_some());
        texts.flat_map(|text| patterns::source(*of, text, Action::Allow))
    });
    let rooted = allowed.filter(|pattern| pattern.starts_with(['/', '~']));
    let asked = silence.of(Section::ExternalDirectory).asked();
    draft.rules(Section::ExternalDirectory, rooted.map(allow).collect(), asked);
}

fn allow(pattern: String) -> PatternRule {
    PatternRule { pattern, action: Action::Allow }
}

/// Returns the rules of a section in the order of their precedence, and the verdict for all other calls.
fn section(
    section: Section,
    known: &ClaudeSettings,
    silence: UnmatchedAnswer,
) -> (Vec<PatternRule>, Action) {
    let silence = silence.of(section);
    let lists = [
        (&known.rules.deny, Action::Deny),
        (&known.rules.ask, silence.asked()),
        (&known.rules.allow, Action::Allow),
    ];
    let is_bare = |text: &String| {
        let rule = rule::parse(text);
        rule.only.is_none() && rule::tool_of(section) == Some(rule.tool)
    };
    let whole = lists.iter().find(|(list, _)| list.iter().any(is_bare)).map(|(_, action)| *action);
    // A rule that is milder than one about the whole tool never decides.
    let counts = |action: Action| whole.is_none_or(|whole| action > whole);
    let mut rules = Vec::new();
    let mut add = |of: Section, text: &str, action| {
        if rule::entry(of, text, action).is_some() {
            let patterns = patterns::source(of, text, action).into_iter();
            rules.extend(patterns.map(|pattern| PatternRule { pattern, action }));
        }
    };
    // A file that must not be read must not be written either.
    for text in known.rules.deny.iter().filter(|_| section == Section::Edit) {
        add(Section::Read, text, Action::Deny);
    }
    for (list, action) in lists.into_iter().filter(|(_, action)| counts(*action)) {
        list.iter().for_each(|text| add(section, text, action));
    }
    if section == Section::Read && whole.is_none() {
        rules.extend(inside(Action::Allow));
    }
    (rules, whole.unwrap_or_else(|| silence.action(section)))
}

/// Returns the listed MCP tools, except those that have a rule.
fn of_servers(tools: &ClaudeTools, known: &[PatternRule], asked: Action) -> Vec<PatternRule> {
    let listed = tools.listed.iter().flatten().filter(|name| tools.has(name));
    let patterns = listed.flat_map(|name| patterns::source(Section::Mcp, name, asked));
    let new = patterns.filter(|pattern| known.iter().all(|rule| rule.pattern != *pattern));
    new.map(|pattern| PatternRule { pattern, action: asked }).collect()
}
