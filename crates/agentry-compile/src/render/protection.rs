//! Protected paths: no call may write to the definition, the rendered files, the settings of the harness,
//! or Agentry's files, whatever the policy says. Otherwise an agent could remove its own limits.

mod agent_files;
mod copy;
mod definition;
mod meeting;

use agentry_policy::argv::{ShellArg, ShellWord};
use agentry_policy::commands::{
    CommandEffects, FileEffect, FileUse, ProgramFacts, ProgramTrait, base_name, effects,
};
use agentry_policy::path::{LinkResolver, absolute, is_inside, with_home};
use agentry_policy::shell::{
    self, CommandRole, CurrentDirs, LinePart, PartEffect, ShellCommand, ShellContext,
};
use agentry_policy::{Action, LayerSource, PathAnchors, Section, SectionCall, VerdictReason};
use agentry_text::path::join;

pub use agent_files::other_agents;
pub use definition::{DefinitionPart, definition};
use meeting::{CommandPlace, PathMeeting};

use super::ledger::RenderLedger;
use crate::pipeline::CompiledAgent;
use crate::protected_names::{
    ProtectedKind, WrittenBy, find, find_bare, find_in, fold, folded, names,
};
use crate::world::{EntryKind, World};

/// How a denial says that a path is a part of what limits the agent; stands after the path.
const OWN_PART: &str = " decides what the agent may do";
/// How a denial says that a path is protected by its name; stands after the path.
pub const PROTECTED_NAME: &str = " is protected";

/// Returns whether a call was denied because of a protected path, by the reason of the denial.
#[must_use]
pub fn is_protection(reason: &str) -> bool {
    [OWN_PART, PROTECTED_NAME].iter().any(|text| reason.contains(&format!("`{text}")))
}

/// Paths that calls must not write to.
pub(super) struct ProtectedPaths<'a> {
    /// Files, and directories with everything below them; absolute real paths.
    pub(super) paths: &'a [String],
    /// Files of other agents that a rule of this one names literally, so that it may write them.
    pub(super) named: &'a [String],
    /// The anchors of relative paths and `~`.
    pub(super) places: &'a PathAnchors,
    /// The world, to see what exists.
    pub(super) world: &'a dyn World,
}

/// The paths that an agent's calls must not write to: its definition with its bases, rendered files,
/// settings of harnesses and of Agentry, and `more`.
pub fn protect(
    world: &dyn World,
    compiled: &CompiledAgent,
    ledger: &RenderLedger,
    more: &[String],
) -> Vec<String> {
    let of = |root: &str, kind: ProtectedKind| -> Vec<String> {
        let names = names().iter().filter(|name| name.kind == kind);
        names.map(|name| join(root, name.path)).collect()
    };
    let root = world.absolute(&compiled.workspace);
    let mut paths: Vec<String> =
        definition(world, compiled).into_iter().map(|own| own.path).collect();
    paths.extend(agent_files::own_files(world, compiled));
    paths.extend(ledger.entries().iter().map(|entry| join(&root, &entry.path)));
    paths.extend(of(&root, ProtectedKind::Own));
    paths.extend(of(&root, ProtectedKind::Harness));
    if let Some(home) = world.machine().home.clone() {
        // The usual home stays protected even where `AGENTRY_HOME` names another one.
        paths.push(join(&home, ".agentry"));
        paths.extend(of(&home, ProtectedKind::Harness));
    }
    paths.extend(world.machine().agentry_home.clone());
    paths.extend(world.machine().user_config.clone());
    paths.extend(more.iter().cloned());
    // Real paths, so that a link to a protected file is recognised.
    let found = world.real_of_all(&paths);
    let mut real: Vec<String> =
        paths.into_iter().zip(found).map(|(path, real)| real.unwrap_or(path)).collect();
    real.sort();
    real.dedup();
    real
}

impl ProtectedPaths<'_> {
    /// Why a call is denied, if it would write to a protected path, or why the user is asked, if it might.
    pub(super) fn reason(
        &self,
        call: SectionCall<'_>,
        resolver: &dyn LinkResolver,
    ) -> Option<VerdictReason> {
        match call.section {
            Section::Edit => {
                let path = with_home(call.subject, self.places)?;
                let real = self.real(&path, call.directory, resolver)?;
                let named =
                    self.covering(&real, WrittenBy::Tool).map(|hit| denied(call.subject, &hit));
                named.or_else(|| self.repository(call.subject, &real))
            }
            Section::Bash => self.line(call, resolver),
            _ => None,
        }
    }

    fn line(&self, call: SectionCall<'_>, resolver: &dyn LinkResolver) -> Option<VerdictReason> {
        let home = self.places.home.clone();
        let context = ShellContext { home, directory: Some(call.directory.to_owned()) };
        let parts = shell::analyse(call.subject, &context);
        let links = made_links(&parts);
        let found = parts.iter().filter_map(|part| {
            let place = CommandPlace { bases: &part.bases, start: call.directory, resolver };
            self.part(part, place, &links)
        });
        found.max_by_key(|reason| reason.action)
    }

    fn part(
        &self,
        part: &LinePart,
        place: CommandPlace<'_>,
        links: &[String],
    ) -> Option<VerdictReason> {
        let found = match &part.what {
            PartEffect::Write(word) => self.written(word, part, place),
            PartEffect::Command(command) if command.role == CommandRole::Own => {
                self.command(command, part, place)
            }
            _ => None,
        };
        let linked = || {
            let rule = "a link that the line makes may lead to a protected path";
            goes_through(part, links).then(|| asked(&part.text, rule))
        };
        found.or_else(linked)
    }

    /// Judges a redirection, or a file that a wrapper writes.
    fn written(
        &self,
        word: &ShellWord,
        part: &LinePart,
        place: CommandPlace<'_>,
    ) -> Option<VerdictReason> {
        let meeting = self.meeting(word, place);
        let is_free = word.literal().is_some_and(|text| text.starts_with("/dev/"));
        // After a `cd` to an unknown directory, a relative path may lead anywhere.
        let is_lost = *place.bases == CurrentDirs::Unknown && !is_free && !is_absolute(word);
        match meeting {
            Some(PathMeeting::Within(hit)) => Some(denied(&part.text, &hit)),
            Some(PathMeeting::Unknown) => Some(asked(&part.text, UNKNOWN)),
            _ => is_lost.then(|| asked(&part.text, UNKNOWN)),
        }
    }

    /// Judges a program that may change its operands.
    fn command(
        &self,
        command: &ShellCommand,
        part: &LinePart,
        place: CommandPlace<'_>,
    ) -> Option<VerdictReason> {
        // A wrapped command is judged as a part of its own.
        let end = command.inner_at.unwrap_or(command.argv.len());
        let argv = command.argv.get(..end).unwrap_or(&command.argv);
        let effects = effects(argv);
        let does = effects.files();
        if does == FileEffect::Reads {
            return None;
        }
        // The program of a shell or an interpreter is only read: `sh skills/release/build.sh`.
        let program = effects.program_file();
        let operands = argv.iter().enumerate().skip(1).filter(|(at, _)| Some(*at) != program);
        let operands: Vec<&ShellWord> = operands.map(|(_, arg)| arg.word()).collect();
        let operands = operands.as_slice();
        let is_known = does != FileEffect::Changes
            || effects.facts().is_some_and(ProgramFacts::changes_operands);
        let mut meetings: Vec<PathMeeting> = Vec::new();
        for word in operands {
            // For a program not known to write, an option such as `-j$(nproc)` is not treated as a path.
            let meeting = self.meeting(word, place);
            let is_option = !is_known && known(word).starts_with('-');
            let is_guess = meeting == Some(PathMeeting::Unknown) || word.literal().is_none();
            meetings.extend(meeting.filter(|_| !(is_option && is_guess)));
        }
        let lost = is_known
            && !matches!(
                does,
                FileEffect::Tree { .. } | FileEffect::TakesSome | FileEffect::Unpacks
            )
            && *place.bases == CurrentDirs::Unknown
            && operands.iter().any(|word| !is_absolute(word) && !known(word).starts_with('-'));
        let worst = meetings.into_iter().max();
        let found = match (worst, does) {
            (Some(PathMeeting::Within(hit)), _) => Some(denied(&part.text, &hit)),
            // Removing a directory above a protected path counts if the path is there.
            (Some(PathMeeting::Above(hit)), FileEffect::TakesAll) if self.exists(&hit) => {
                Some(denied(&part.text, &hit))
            }
            (worst, does) => {
                let changed = || self.changed_below(effects, operands, part, place);
                self.around(worst.as_ref(), does, operands, part, place).or_else(changed)
            }
        };
        found.or_else(|| lost.then(|| asked(&part.text, UNKNOWN)))
    }

    /// Judges protected paths that a command changes without naming them.
    fn around(
        &self,
        worst: Option<&PathMeeting>,
        does: FileEffect,
        operands: &[&ShellWord],
        part: &LinePart,
        place: CommandPlace<'_>,
    ) -> Option<VerdictReason> {
        let text = &part.text;
        let unknown = (worst == Some(&PathMeeting::Unknown)).then(|| asked(text, UNKNOWN));
        match does {
            FileEffect::Own => Some(asked(text, "it may write what decides about the agent")),
            FileEffect::Copies { moves } => self.copied(operands, moves, part, place).or(unknown),
            FileEffect::Checkout => self.checked_out(operands, part, place).or(unknown),
            FileEffect::Configures => self.configured(operands, part, place).or(unknown),
            FileEffect::Unpacks => self.unpacked(operands, part, place),
            FileEffect::TakesAll => {
                let taken = self.taken(operands, place).map(|hit| denied(text, &hit));
                taken.or(unknown)
            }
            // What git and other programs may change besides is restored by the quarantine.
            FileEffect::Tree { .. } | FileEffect::TakesSome => None,
            FileEffect::Reads | FileEffect::Changes => unknown,
        }
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.world.kind(path) != EntryKind::Missing
    }

    fn real(&self, path: &str, directory: &str, resolver: &dyn LinkResolver) -> Option<String> {
        let real = resolver.resolve(&absolute(path, directory, self.places)?)?;
        Some(if self.places.ignores_case { real.to_lowercase() } else { real })
    }

    /// The protected path that contains a real path, or equals it.
    fn covering(&self, real: &str, by: WrittenBy) -> Option<String> {
        let covers = |path: &&String| {
            is_inside(real, path)
                || (self.places.ignores_case && is_inside(real, &path.to_lowercase()))
        };
        let listed = self.paths.iter().find(covers).cloned();
        let by_name = || find_in(real, &self.places.workspace, by).map(str::to_owned);
        let of_other = || {
            let is_named = self.named.iter().any(|path| path == real);
            definition::loaded(self.world, &self.places.workspace, real).filter(|_| !is_named)
        };
        listed.or_else(by_name).or_else(of_other)
    }

    /// Why a real path in a repository without `.git`, or one that would complete it, must not be written.
    fn repository(&self, subject: &str, real: &str) -> Option<VerdictReason> {
        let root = self.places.workspace.trim_end_matches('/');
        let skipped = if is_inside(real, root) { root.len() } else { 0 };
        let below = real.get(skipped..)?;
        let directory = |depth: usize| {
            let parts: Vec<&str> =
                below.split('/').filter(|it| !it.is_empty()).take(depth).collect();
            let start = real.get(..skipped).filter(|start| !start.is_empty()).unwrap_or("/");
            join(start, &parts.join("/"))
        };
        let has = |depth: usize, name: &str| {
            self.world.kind(&join(&directory(depth), name)) != EntryKind::Missing
        };
        let found = directory(find_bare(&folded(below), has)?);
        let rule = format!("`{found}` is protected: {}", ProtectedKind::Repository.why());
        Some(reason(subject, Action::Deny, rule))
    }
}

const UNKNOWN: &str = "it is not known which file this writes to, and some are protected";

/// The effects of a part, if it is a command.
fn effects_of(part: &LinePart) -> Option<CommandEffects<'_>> {
    match &part.what {
        PartEffect::Command(command) => Some(effects(&command.argv)),
        _ => None,
    }
}

/// Whether a command creates links, or mounts one directory on another.
fn makes_links(effects: CommandEffects<'_>) -> bool {
    effects.has(ProgramTrait::Links)
}

/// The names of the links that a line creates.
fn made_links(parts: &[LinePart]) -> Vec<String> {
    let linking = parts.iter().filter_map(|part| match &part.what {
        PartEffect::Command(command) if makes_links(effects(&command.argv)) => Some(&command.argv),
        _ => None,
    });
    let words = linking.flat_map(|argv| argv.iter().skip(1).map(ShellArg::word));
    let names = words.map(|word| word.literal().map_or("", base_name).to_owned());
    names.filter(|name| !name.starts_with('-')).collect()
}

/// Whether a part writes a path that may lead through one of these links. A link without a known name may be
/// anywhere.
fn goes_through(part: &LinePart, links: &[String]) -> bool {
    let is_link = |name: &str| links.iter().any(|link| link.is_empty() || link == name);
    let leads = |word: &ShellWord| match word.literal() {
        Some(text) => text.split('/').any(is_link),
        None => !links.is_empty(),
    };
    match &part.what {
        PartEffect::Write(word) => leads(word) && !known(word).starts_with("/dev/"),
        PartEffect::Command(command) if command.role == CommandRole::Own => {
            let effects = effects(&command.argv);
            let writes =
                |(used, word): &(FileUse, ShellWord)| *used == FileUse::Write && leads(word);
            !makes_links(effects) && effects.uses().iter().any(writes)
        }
        _ => false,
    }
}

/// The literal start of a word.
fn known(word: &ShellWord) -> &str {
    word.start()
}

fn is_absolute(word: &ShellWord) -> bool {
    known(word).starts_with('/')
}

/// A directory of a command line, relative to its starting directory.
fn at(base: &str, start: &str) -> String {
    if base.starts_with('/') { base.to_owned() } else { format!("{start}/{base}") }
}

fn denied(segment: &str, path: &str) -> VerdictReason {
    // Find the kind by the protected name at the end of the path, for the message.
    let parts: Vec<_> = path.split('/').map(fold).collect();
    let ends = (0..parts.len()).filter_map(|at| parts.get(at..)).find_map(|rest| {
        let hit = find(rest, WrittenBy::Command).or_else(|| find(rest, WrittenBy::Tool))?;
        (hit.parts == rest.len()).then_some(hit.kind)
    });
    let rule = match ends {
        None | Some(ProtectedKind::Own) => format!("`{path}`{OWN_PART}"),
        Some(kind) => format!("`{path}`{PROTECTED_NAME}: {}", kind.why()),
    };
    reason(segment, Action::Deny, rule)
}

fn asked(segment: &str, rule: &str) -> VerdictReason {
    reason(segment, Action::Ask, rule.to_owned())
}

fn reason(segment: &str, action: Action, rule: String) -> VerdictReason {
    let segment = segment.to_owned();
    VerdictReason { segment, action, rule, span: None, layer: LayerSource::BuiltIn, note: None }
}

#[cfg(test)]
mod tests;
