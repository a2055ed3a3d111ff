//! Prepares one agent for rendering.

use agentry_formats::FORMATS;
use agentry_formats::agent_md::is_unsent_text;
use agentry_model::Format;
use agentry_targets::{PromptText, PromptTextKind, RenderSubject};
use agentry_text::Span;

use super::skills::skills;
use crate::digest::digest;
use crate::pipeline::CompiledAgent;
use crate::prompt::{PromptPart, prompt};
use crate::show::{convertible, with_defaults};
use crate::world::World;

/// The agent as a target renders it, under the name `name` if given. Its digest is computed only if
/// `guarded`, because only the guard needs it.
pub fn subject(
    world: &dyn World,
    compiled: &CompiledAgent,
    name: Option<&str>,
    guarded: bool,
) -> RenderSubject {
    let mut agent =
        with_defaults(convertible(compiled, other(compiled), false), compiled.found.format);
    if let Some(system) = &mut agent.instructions.system {
        system.value.push_str(blanks_behind(compiled, system.span));
    }
    let place = agent.policy_context(&compiled.dir);
    let own = RenderSubject::of(agent, &place, &world.memo().render);
    RenderSubject {
        name: name.unwrap_or(&own.name).to_owned(),
        path: from_workspace(compiled),
        digest: if guarded { digest(world, compiled) } else { String::new() },
        parts: parts(world, compiled),
        skills: skills(world, compiled, &own.agent),
        unsent: unsent(compiled),
        ..own
    }
}

/// The whitespace after a prompt at the end of its file. The reader drops it; a target reports it.
fn blanks_behind(compiled: &CompiledAgent, prompt: Span) -> &str {
    let source = compiled.sources.get(prompt.file);
    let source = source.filter(|source| source.path.ends_with(".md"));
    let rest = source.and_then(|source| source.text.get(prompt.range().end..)).unwrap_or_default();
    if rest.trim().is_empty() { rest } else { "" }
}

/// Another format, so that the defaults of the source format are written out.
fn other(compiled: &CompiledAgent) -> Format {
    let mut others = FORMATS.iter().map(|row| row.format);
    others.find(|it| *it != compiled.found.format).unwrap_or(compiled.found.format)
}

/// The path of the definition, relative to the workspace.
fn from_workspace(compiled: &CompiledAgent) -> String {
    let main = compiled.found.main.as_str();
    agentry_text::path::join(&compiled.dir, agentry_text::path::name(main))
}

/// The places of text that belongs to no section of the definition.
fn unsent(compiled: &CompiledAgent) -> Vec<String> {
    let found = compiled.diagnostics.iter().filter(|found| is_unsent_text(found.rule));
    let sources = &compiled.sources;
    found.map(|it| format!("{}:{}", sources.path(it.span), sources.start(it.span).line)).collect()
}

fn parts(world: &dyn World, compiled: &CompiledAgent) -> Vec<PromptText> {
    let part = |part: PromptPart| PromptText {
        masked: part.masked_places(),
        kind: match part.name {
            "context" => PromptTextKind::Context,
            "rule file" => PromptTextKind::Rules,
            _ => PromptTextKind::Prompt,
        },
        origin: part.origin,
        text: part.text,
    };
    prompt(world, compiled).into_iter().map(part).collect()
}
