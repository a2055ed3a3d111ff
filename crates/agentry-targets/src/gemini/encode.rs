//! Encodes the rules of an agent for Gemini.

use agentry_policy::{Action, PatternRule, Section, SectionRules};

use super::policy::{GeminiCondition, GeminiRule, MOST};
use super::tools::{self, GeminiTool, TOOLS, WILDCARDS};
use super::trust::TrustedServers;
use super::{blind_spots, regex};
use crate::built_in_protection::protects;
use crate::encoding::{EncodedRule, EncodingView, MatchBounds, MatchOrder, RuleEncoding};
use crate::gap::{close, gaps};
use crate::model::HarnessModel;
use crate::render_result::{RenderSettings, RenderedAgent};
use crate::subject::RenderSubject;
use crate::wildcard::{at_least, at_most};

/// The tools of an agent, and its rules.
#[derive(Debug, Default)]
pub(super) struct GeminiEncoding {
    pub(super) tools: Vec<String>,
    pub(super) rules: Vec<GeminiRule>,
}

/// Encodes the tools that the agent may use, each with its rules.
pub(super) fn under_rules(
    subject: &RenderSubject,
    settings: &RenderSettings<'_>,
    out: &mut RenderedAgent,
) -> GeminiEncoding {
    let mut encoded = GeminiEncoding::default();
    for tool in TOOLS {
        let rules = match tool.section {
            Section::Bash => commands(subject, settings),
            Section::Skill => by_name(subject, tool),
            _ => whole(subject, tool, settings),
        };
        if rules.iter().any(|rule| rule.action != Action::Deny) {
            encoded.tools.push(tool.name.to_owned());
            encoded.rules.extend(rules);
        }
    }
    let servers = servers(subject);
    if servers.iter().any(|rule| rule.action != Action::Deny) {
        encoded.tools.push("mcp_*".to_owned());
        encoded.rules.extend(servers);
    }
    let count = encoded.rules.len();
    if count > MOST {
        let message = format!("{count} rules are needed; Gemini has priorities for {MOST}");
        out.refuse("permissions", message, Some("write fewer or simpler rules"));
    }
    encoded
}

/// Encodes the tools that the agent may use even if Gemini does not read its rules.
pub(super) fn without_rules(
    subject: &RenderSubject,
    settings: &RenderSettings<'_>,
) -> GeminiEncoding {
    let mut encoded = GeminiEncoding::default();
    for tool in TOOLS {
        let asked = tools::asked(tool, &[]).filter(|_| settings.is_attended());
        let layers: Vec<_> = tools::layers(tool, &[]).into_iter().chain(asked).collect();
        let mut model = HarnessModel::default();
        model.add(tool.section, tool.name, layers.clone());
        let safe = || {
            gaps(subject, &model, blind_spots::BLIND).is_empty()
                && protects(subject, tool.section, &layers)
        };
        if subject.permits(tool.section, &layers) && (!settings.close_gaps || safe()) {
            encoded.tools.push(tool.name.to_owned());
        }
    }
    if subject.permits(Section::Mcp, &[tools::servers_encoding(&[], EncodingView::Mildest).rules()])
    {
        encoded.tools.push("mcp_*".to_owned());
    } else {
        encoded.tools.extend(single_tools(subject, settings));
    }
    encoded
}

/// Returns single MCP tools that the source permits, if no other tool can have the same name in Gemini.
fn single_tools(subject: &RenderSubject, settings: &RenderSettings<'_>) -> Vec<String> {
    let trust = TrustedServers::of_project(settings.existing);
    let rules = subject.permissions.get(Section::Mcp).map(|it| it.rules.as_slice());
    let given = rules.unwrap_or_default().iter().filter(|rule| rule.action != Action::Deny);
    let name = |rule: &PatternRule| {
        let (server, tool) = rule.pattern.split_once('/')?;
        let is_word = |text: &str| !text.trim_matches('_').is_empty() && is_slug(text);
        // Gemini joins server and tool with `_`, so a server with `_` in its name is ambiguous.
        (is_slug(server) && !server.contains('_') && (tool == "*" || is_word(tool)))
            .then(|| format!("mcp_{server}_{tool}"))
    };
    let mut names: Vec<String> = Vec::new();
    for name in given.filter_map(|rule| name(&rule.value)) {
        let model = tools::mildest(std::slice::from_ref(&name), &[], &trust);
        let fits = model.ways.iter().all(|way| subject.permits(way.section, &way.layers));
        if fits && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Whether Gemini accepts a text as part of a tool name.
fn is_slug(text: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    !text.is_empty() && text.chars().all(known)
}

/// Returns one rule for everything that a tool does, with the mildest verdict that fits.
fn whole(
    subject: &RenderSubject,
    tool: &GeminiTool,
    settings: &RenderSettings<'_>,
) -> Vec<GeminiRule> {
    let rule = |action| ruled(tool.name, GeminiCondition::Always, action);
    let fits = |action: &Action| {
        let layers = tools::layers(tool, &[rule(*action)]);
        let safe = || !settings.close_gaps || protects(subject, tool.section, &layers);
        subject.permits(tool.section, &layers) && safe()
    };
    let action = [Action::Allow, Action::Ask].into_iter().find(fits);
    vec![rule(action.unwrap_or(Action::Deny))]
}

fn ruled(tool: &str, when: GeminiCondition, action: Action) -> GeminiRule {
    GeminiRule { tool: tool.to_owned(), server: None, when, action }
}

/// Returns rules about commands; the last one matches all others.
fn commands(subject: &RenderSubject, settings: &RenderSettings<'_>) -> Vec<GeminiRule> {
    let section = Section::Bash;
    let texts = |rule: &PatternRule| match rule.action {
        Action::Allow => at_most(&rule.pattern),
        Action::Ask | Action::Deny => at_least(&rule.pattern),
    };
    let encoding = encode(subject, section, texts, |text| WILDCARDS.command(text));
    let mut encoding = encoding.narrowed(&subject.memo, &[], &subject.bounds(section)).encoding;
    if settings.close_gaps {
        close(subject, &mut encoding, blind_spots::BLIND);
    }
    let rule = |entry: &EncodedRule| {
        ruled("run_shell_command", GeminiCondition::Command(entry.text.clone()), entry.action)
    };
    let last = match encoding.default {
        Action::Allow => GeminiCondition::Always,
        // An expression keeps Gemini's own list of harmless commands from applying (see the module).
        Action::Ask | Action::Deny => GeminiCondition::Command("*".to_owned()),
    };
    let last = ruled("run_shell_command", last, encoding.default);
    encoding.entries.iter().map(rule).chain([last]).collect()
}

/// Returns rules about names; the last one matches all others.
fn by_name(subject: &RenderSubject, tool: &GeminiTool) -> Vec<GeminiRule> {
    let texts = |rule: &PatternRule| {
        let text = rule.pattern.as_str();
        let odd = |c: char| c == '"' || c == '\\' || c.is_control();
        match text.find(odd) {
            None => vec![text.to_owned()],
            Some(_) if rule.action == Action::Allow => Vec::new(),
            Some(at) => vec![format!("{}**", text.get(..at).unwrap_or_default())],
        }
    };
    let encoding = encode(subject, tool.section, texts, tools::name);
    let encoding = encoding.narrowed(&subject.memo, &[], &subject.bounds(tool.section)).encoding;
    let rule = |entry: &EncodedRule| {
        ruled(tool.name, GeminiCondition::Name(entry.text.clone()), entry.action)
    };
    let last = ruled(tool.name, GeminiCondition::Always, encoding.default);
    encoding.entries.iter().map(rule).chain([last]).collect()
}

/// Returns rules about MCP tools: by server, or by server and tool.
fn servers(subject: &RenderSubject) -> Vec<GeminiRule> {
    let section = Section::Mcp;
    let plain = |text: &str| {
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        text.split_once('/').is_some_and(|(server, tool)| {
            let tool = tool.replace('_', "-");
            !server.is_empty()
                && server.chars().all(known)
                && (tool == "*" || (!tool.is_empty() && tool.chars().all(known)))
        })
    };
    let texts = |rule: &PatternRule| {
        let text = rule.pattern.replace("**", "*");
        match rule.action {
            _ if plain(&text) => vec![text],
            Action::Allow => Vec::new(),
            Action::Ask | Action::Deny => vec!["*".to_owned()],
        }
    };
    let matches = |text: &str| {
        let (server, tool) = text.split_once('/').unwrap_or((text, "*"));
        tools::server(server, tool)
    };
    let encoding = encode(subject, section, texts, matches);
    let encoding = encoding.narrowed(&subject.memo, &[], &subject.bounds(section)).encoding;
    let named = encoding.entries.iter().filter_map(|entry| {
        let (server, tool) = entry.text.split_once('/')?;
        Some((server, tool, entry.action))
    });
    let all = ("*", "*", encoding.default);
    let rule = |(server, tool, action): (&str, &str, Action)| GeminiRule {
        server: Some(server.to_owned()),
        ..ruled(tool, GeminiCondition::Always, action)
    };
    named.chain([all]).map(rule).collect()
}

/// Encodes the rules of a section for Gemini, where the first match decides. A pattern that is too long for
/// Gemini is shortened, or left out if it is an allow.
fn encode(
    subject: &RenderSubject,
    section: Section,
    texts: impl Fn(&PatternRule) -> Vec<String>,
    matches: impl Fn(&str) -> MatchBounds,
) -> RuleEncoding {
    let rules = subject.permissions.get(section);
    let mut default = rules.and_then(|rules| rules.intent).map_or(Action::Ask, |it| it.value);
    let mut entries: Vec<EncodedRule> = Vec::new();
    let written = rules.map(|rules: &SectionRules| rules.rules.as_slice()).unwrap_or_default();
    for rule in written {
        let mut texts = if matches!(rule.pattern.trim(), "*" | "**") {
            vec!["*".to_owned()]
        } else {
            texts(&rule.value)
        };
        for text in &mut texts {
            if regex::write(text, rule.action).is_none() && rule.action != Action::Allow {
                *text = text.chars().take(100).chain(['*']).collect();
            }
        }
        texts.retain(|text| regex::write(text, rule.action).is_some());
        if texts.iter().any(|text| text == "*") {
            // Rules after one that matches everything never decide.
            default = rule.action;
            break;
        }
        for text in texts {
            if entries.iter().all(|before| before.text != text) {
                let matches = matches(&text);
                entries.push(EncodedRule { text, action: rule.action, matches });
            }
        }
    }
    RuleEncoding { section, order: MatchOrder::First, entries, default }
}
