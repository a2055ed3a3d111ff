//! One agent, ready to be rendered.

use std::sync::OnceLock;

use agentry_model::Format;
use agentry_policy::{
    Action, Judge, PatternRule, Permissions, Places, Section, SectionRules, layers, to_permissions,
};
use agentry_targets::{Part, PartKind, Subject};
use agentry_text::{FileId, Span, Spanned};

use super::skills::skills;
use crate::digest::digest;
use crate::judge::place;
use crate::pipeline::Compiled;
use crate::prompt::prompt;
use crate::show::{convertible, with_defaults};
use crate::world::World;

/// The agent as a harness gets it, under the name `name` if that is given. What it may do is seen from
/// stand-in places, so that the same definition gives the same files everywhere. The guard asks for its
/// digest, nobody else does: it is only made if `guarded`.
pub fn subject(
    world: &dyn World,
    compiled: &Compiled,
    name: Option<&str>,
    guarded: bool,
) -> Subject {
    let mut agent =
        with_defaults(convertible(compiled, other(compiled), false), compiled.found.format);
    if let Some(system) = &mut agent.instructions.system {
        system.value.push_str(blanks_behind(compiled, system.span));
    }
    let places = Places::default();
    let place = place(&agent, &compiled.dir);
    let permissions = to_permissions(&agent.policy, &place).unwrap_or_default();
    let judge = Judge::new(layers(&agent.policy, &place, &places), places);
    Subject {
        name: name.unwrap_or(agent.name()).to_owned(),
        path: from_workspace(compiled),
        digest: if guarded { digest(world, compiled) } else { String::new() },
        parts: parts(world, compiled),
        skills: skills(world, compiled, &agent),
        permissions: complete(permissions),
        judge,
        agent,
        policy: OnceLock::new(),
        kind: OnceLock::new(),
    }
}

/// The blanks behind a prompt that ends its file: a reader takes them off, and whoever renders it tells.
fn blanks_behind(compiled: &Compiled, prompt: Span) -> &str {
    let source = compiled.sources.get(prompt.file);
    let source = source.filter(|source| source.path.ends_with(".md"));
    let rest = source.and_then(|source| source.text.get(prompt.range().end..)).unwrap_or_default();
    if rest.trim().is_empty() { rest } else { "" }
}

/// Some other format, so that what an omission means is written out.
fn other(compiled: &Compiled) -> Format {
    if compiled.found.format == Format::AgentToml { Format::AgentDir } else { Format::AgentToml }
}

/// The path of the definition, as seen from the workspace.
fn from_workspace(compiled: &Compiled) -> String {
    let main = compiled.found.main.as_str();
    agentry_text::path::join(&compiled.dir, agentry_text::path::name(main))
}

fn parts(world: &dyn World, compiled: &Compiled) -> Vec<Part> {
    let part = |part: crate::prompt::Part| Part {
        kind: match part.name {
            "context" => PartKind::Context,
            "rule file" => PartKind::Rules,
            _ => PartKind::Prompt,
        },
        origin: part.origin,
        text: part.text,
    };
    prompt(world, compiled).into_iter().map(part).collect()
}

/// The same with every section: what nobody speaks about is asked, reading in the workspace is free.
fn complete(mut permissions: Permissions) -> Permissions {
    let nowhere = Span::start_of(FileId::BUILT_IN);
    for section in Section::ALL {
        if permissions.get(*section).is_some() {
            continue;
        }
        let inside = PatternRule { pattern: "**/*".to_owned(), action: Action::Allow };
        let rules =
            if *section == Section::Read { vec![Spanned::new(inside, nowhere)] } else { vec![] };
        permissions.sections.push(SectionRules {
            section: Spanned::new(*section, nowhere),
            intent: Some(Spanned::new(Action::Ask, nowhere)),
            rules,
        });
    }
    permissions
}
