//! Builds the system prompt of an agent from its texts, part by part.

use std::ops::Range;

use agentry_formats::{FormatPrompt, info, role_sentence, trait_lines};
use agentry_model::Agent;
use agentry_text::path::{absolute, climbs, join, split};
use agentry_text::{FileId, Span, limits};

use crate::pipeline::CompiledAgent;
use crate::secret_mask::{SecretMask, masked};
use crate::world::World;

/// One part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptPart {
    /// Its kind: `system`, `traits`, `rules`.
    pub name: &'static str,
    /// Its origin: `path:line`, or `agentry`.
    pub origin: String,
    /// Its text.
    pub text: String,
    /// Where a secret was masked in it: the lines of its origin, each as often as it has one.
    pub masked_lines: Vec<usize>,
}

impl PromptPart {
    /// Whether a secret was masked in it.
    pub fn is_masked(&self) -> bool {
        !self.masked_lines.is_empty()
    }

    /// The places of its masked secrets, `path:line`, each once.
    pub fn masked_places(&self) -> Vec<String> {
        let path = self.origin.rsplit_once(':').map_or(self.origin.as_str(), |(path, _)| path);
        let mut lines = self.masked_lines.clone();
        lines.dedup();
        lines.iter().map(|line| format!("{path}:{line}")).collect()
    }
}

/// The name of context files in prompts.
pub(crate) const CONTEXT: &str = "context";

/// The parts of the system prompt in order, with secrets masked.
pub fn prompt(world: &dyn World, compiled: &CompiledAgent) -> Vec<PromptPart> {
    let mask = SecretMask::new(&compiled.sources);
    let mask_part = |part: PromptPart| {
        let ranges = mask.ranges(&part.text);
        let masked_lines = lines_of(compiled, &part, &ranges);
        PromptPart { text: masked(&part.text, &ranges), masked_lines, ..part }
    };
    unmasked(world, compiled).into_iter().map(mask_part).collect()
}

/// The lines of the secrets of a part, in the file that it comes from.
fn lines_of(compiled: &CompiledAgent, part: &PromptPart, ranges: &[Range<usize>]) -> Vec<usize> {
    let (path, first) = part.origin.rsplit_once(':').unwrap_or((&part.origin, ""));
    let first: usize = first.parse().unwrap_or(1);
    let source = compiled.sources.iter().find(|source| *source.path == *path);
    // A context file is not among the sources; its text is the whole file.
    let (text, mut line) = source.map_or((part.text.as_str(), first), |it| (&*it.text, 1));
    let skipped = text.split_inclusive('\n').take(first.saturating_sub(line));
    let mut at: usize = skipped.map(str::len).sum();
    line = first;
    let secrets = ranges.iter().filter_map(|range| part.text.get(range.clone())?.lines().next());
    let mut lines = Vec::new();
    for secret in secrets {
        let rest = text.get(at..).unwrap_or_default();
        // The file may spell it in another way, for example with escapes.
        if let Some((before, _)) = rest.split_once(secret) {
            line += before.matches('\n').count();
            at += before.len() + secret.len();
        }
        lines.push(line);
    }
    lines
}

fn unmasked(world: &dyn World, compiled: &CompiledAgent) -> Vec<PromptPart> {
    let mut parts = Vec::new();
    let agent = compiled.whole();
    identity(compiled, agent, &mut parts);
    let FormatPrompt { rules_heading, fixed_parts, .. } = &info(compiled.found.format).prompt;
    let fixed = |(name, text): &(&'static str, &str)| PromptPart {
        name,
        origin: "agentry".to_owned(),
        text: (*text).to_owned(),
        masked_lines: Vec::new(),
    };
    parts.extend(fixed_parts.iter().map(fixed));
    files(world, compiled, &mut parts);
    for rules in agent.instructions.base_rules.iter().chain(&agent.instructions.rules) {
        let text = rules.value.trim();
        let text = rules_heading.map_or(text.to_owned(), |heading| format!("{heading}\n{text}"));
        parts.push(part(compiled, "rules", rules.span, text));
    }
    parts
}

/// The identity of the agent: system text, role and traits, then a raw override. Without a system text, the
/// override replaces role and traits. Without all of them but traits, the description or the title comes
/// first.
fn identity(compiled: &CompiledAgent, agent: &Agent, parts: &mut Vec<PromptPart>) {
    let instructions = &agent.instructions;
    let raw = instructions.system_override.as_ref();
    if let Some(system) = &instructions.system {
        parts.push(part(compiled, "system", system.span, system.value.trim().to_owned()));
    }
    if instructions.system.is_some() || raw.is_none() {
        if let Some(role) = &agent.identity.role {
            parts.push(part(compiled, "role", role.span, role_sentence(&role.value)));
        }
        if parts.is_empty() {
            parts.extend(description(compiled, agent));
        }
        parts.extend(traits(compiled, agent));
    }
    if let Some(raw) = raw {
        parts.push(part(compiled, "system_override", raw.span, raw.value.trim().to_owned()));
    }
}

fn traits(compiled: &CompiledAgent, agent: &Agent) -> Option<PromptPart> {
    let traits = agent.instructions.traits.as_ref().filter(|traits| !traits.is_empty())?;
    let span = traits.first().map_or(Span::start_of(FileId::BUILT_IN), |first| first.span);
    Some(part(compiled, "traits", span, trait_lines(traits)))
}

/// The description or the title, in place of a missing system text.
fn description(compiled: &CompiledAgent, agent: &Agent) -> Option<PromptPart> {
    let identity = &agent.identity;
    let described = identity.description.as_ref().map(|text| ("description", text));
    let named = || identity.display_name.as_ref().map(|text| ("title", text));
    let (name, text) = described.or_else(named)?;
    Some(part(compiled, name, text.span, text.value.clone()))
}

/// Adds the context and rule files that the definition names.
pub(crate) fn files(world: &dyn World, compiled: &CompiledAgent, parts: &mut Vec<PromptPart>) {
    let mut found: Vec<PromptPart> = compiled
        .carried
        .iter()
        .map(|file| PromptPart {
            name: file.name,
            origin: format!("{}:1", file.path),
            text: file.text.clone(),
            masked_lines: Vec::new(),
        })
        .collect();
    for (name, _, path) in named_files(world, compiled) {
        if !world.inside(&compiled.workspace, &path) {
            continue;
        }
        let Ok(bytes) = world.read(&compiled.workspace, &path, limits::INSTRUCTION_BYTES as u64)
        else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        found.push(PromptPart {
            name,
            origin: format!("{path}:1"),
            text,
            masked_lines: Vec::new(),
        });
    }
    // Context comes before rules. The sort is stable, so files of bases stay first within each kind.
    found.sort_by_key(|part| part.name != CONTEXT);
    parts.extend(found);
}

/// The context and rule files that the definition names: kind, span of the name, and path.
pub(crate) fn named_files<'a>(
    world: &'a dyn World,
    compiled: &'a CompiledAgent,
) -> impl Iterator<Item = (&'static str, Span, String)> + 'a {
    let instructions = &compiled.whole().instructions;
    let context = instructions.context.iter().flatten();
    let context = context.map(|path| {
        let full = climbed(&compiled.found.dir, path);
        // A path with leading `..` can be compared with the workspace only in its absolute form.
        let full = if climbs(&full) { absolute(&world.absolute(&full)) } else { full };
        (CONTEXT, path.span, full)
    });
    let rules = instructions.rule_files.iter().flatten().map(|name| {
        let path = join(&compiled.workspace, &format!("rules/{}.md", name.value));
        ("rule file", name.span, path)
    });
    context.chain(rules)
}

/// `path` relative to `dir`, with every `..` removed that can be removed.
pub(crate) fn climbed(dir: &str, path: &str) -> String {
    let mut dir = dir.trim_end_matches('/');
    let mut path = path;
    while let Some(rest) = path.strip_prefix("./").or_else(|| path.strip_prefix("../")) {
        if path.starts_with("../") {
            let (above, name) = split(dir);
            if name.is_empty() || matches!(name, "." | "..") {
                break;
            }
            dir = above;
        }
        path = rest;
    }
    join(dir, path)
}

fn part(compiled: &CompiledAgent, name: &'static str, span: Span, text: String) -> PromptPart {
    let sources = &compiled.sources;
    let origin = format!("{}:{}", sources.path(span), sources.start(span).line);
    PromptPart { name, origin, text, masked_lines: Vec::new() }
}
