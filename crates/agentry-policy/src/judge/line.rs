//! Judges a command line: the strictest verdict about everything that it runs, reads, writes and sets.

use std::cell::OnceCell;

use agentry_commands::variables::{VariableEffect, setting_to};
use agentry_commands::{FileEffect, ProgramTrait, effects};

use crate::argv::{ShellArg, ShellWord};
use crate::path::{LinkResolver, LinksOnly};
use crate::shell::{
    self, CommandRole, CurrentDirs, LineAnalysis, LinePart, PartEffect, ShellContext, VariableScope,
};
use crate::verdict::{LayerDecision, Verdict};
use crate::{Action, Section};

use super::patches::AppliedPatch;
use super::{Judge, SectionCall, simplify};

/// The parts of a line that is judged.
pub(super) struct JudgedLine<'a> {
    /// All parts.
    pub(super) parts: &'a [LinePart],
    /// Whether it runs a command that needs a rule, which then covers the builtins around it.
    pub(super) has_commands: bool,
    /// The answer of [`Self::changes_nothing`], found once for all parts.
    changes_nothing: OnceCell<bool>,
}

impl<'a> JudgedLine<'a> {
    fn new(parts: &'a [LinePart], judge: &Judge) -> Self {
        let needs_rule = |part: &LinePart| match &part.what {
            PartEffect::Command(command) => match command.role {
                CommandRole::Own => true,
                // A rule about a program covers the builtins around it: `basename *` in `basename $(pwd)`.
                CommandRole::Glue => {
                    let effects = effects(&command.argv);
                    effects.has(ProgramTrait::Glue) && judge.has_rule_for(&command.argv)
                }
                CommandRole::Guess => false,
            },
            _ => false,
        };
        let has_commands = parts.iter().any(needs_rule);
        Self { parts, has_commands, changes_nothing: OnceCell::new() }
    }

    /// Whether it certainly changes no file and no variable, so that a search in it reads what is there now.
    fn changes_nothing(&self) -> bool {
        let is_still = |part: &LinePart| match &part.what {
            PartEffect::Command(command) => effects(&command.argv).files() == FileEffect::Reads,
            PartEffect::Read(_) | PartEffect::Enter(_) => true,
            PartEffect::Write(word) => word.literal() == Some("/dev/null"),
            PartEffect::Set { .. } | PartEffect::Lasting { .. } | PartEffect::Unclear { .. } => {
                false
            }
        };
        *self.changes_nothing.get_or_init(|| self.parts.iter().all(is_still))
    }
}

impl Judge {
    /// Returns the verdict about a command line.
    pub(super) fn line(&self, call: SectionCall<'_>, resolver: &dyn LinkResolver) -> Verdict {
        let context = ShellContext {
            home: self.places.home.clone(),
            directory: Some(call.directory.to_owned()),
        };
        let LineAnalysis { parts, around } = shell::analysis(call.subject, &context);
        let line = JudgedLine::new(&parts, self);
        let judge =
            |part: &LinePart| self.part(part, &line, call, resolver).about(part.to_string());
        let mut reasons: Vec<_> = parts.iter().map(judge).collect();
        // Wrappers and shells are no parts, but a rule may still name them: `timeout *:deny`.
        let started = |argv: &Vec<ShellArg>| Some(self.named(argv)?.about(shell::shown(argv)));
        reasons.extend(around.iter().filter_map(started));
        let start = self.entered(&ShellWord::text("."), &CurrentDirs::default(), call, resolver);
        if start.action > Action::Allow {
            // Starting outside the workspace is judged like a `cd` to that directory.
            reasons.insert(0, start.about(format!("in {}", call.directory)));
        }
        if reasons.is_empty() {
            reasons.push(self.unclear("there is nothing to run").about(call.subject));
        }
        Verdict::of(reasons)
    }

    fn part(
        &self,
        part: &LinePart,
        line: &JudgedLine<'_>,
        call: SectionCall<'_>,
        resolver: &dyn LinkResolver,
    ) -> LayerDecision {
        let touch = |section, word: &ShellWord| {
            let call = SectionCall { section, ..call };
            self.touched(word, &part.bases, call, resolver)
        };
        match &part.what {
            PartEffect::Command(command) => {
                let is_inside = |path: &str| self.leads_inside(path, &part.bases, call, resolver);
                let can_write = |path: &str| {
                    let call = SectionCall { section: Section::Edit, ..call };
                    let word = ShellWord::text(path);
                    self.touched(&word, &part.bases, call, resolver).action == Action::Allow
                };
                let decision = self.command(command, line, is_inside, &can_write);
                let (bases, entered) = self.elsewhere(&command.argv, &part.bases, call, resolver);
                let settled = LinksOnly(resolver);
                let read = if line.changes_nothing() { resolver } else { &settled };
                let against = self.operands(&command.argv, &bases, call, read);
                let patches = AppliedPatch {
                    line,
                    part,
                    bases: &bases,
                    call,
                    places: &self.places,
                    resolver,
                };
                let against = against.into_iter().chain(self.patches(&command.argv, patches));
                entered.into_iter().chain(against).fold(decision, LayerDecision::strictest)
            }
            PartEffect::Read(word) => touch(Section::Read, word),
            PartEffect::Write(word) => touch(Section::Edit, word),
            PartEffect::Enter(word) => self.entered(word, &part.bases, call, resolver),
            PartEffect::Set { name, value, scope } => self.set(name, value.literal(), *scope),
            PartEffect::Lasting { why } => self.lasting(why),
            PartEffect::Unclear { why } => self.unclear(why),
        }
    }

    /// Returns the directory that the operands of a command are relative to, and what is against it: options
    /// such as `-C` change it like a `cd`.
    fn elsewhere(
        &self,
        argv: &[ShellArg],
        bases: &CurrentDirs,
        call: SectionCall<'_>,
        resolver: &dyn LinkResolver,
    ) -> (CurrentDirs, Option<LayerDecision>) {
        let Some(directories) = simplify::directories(argv) else {
            return (CurrentDirs::Unknown, Some(self.worst(Section::ExternalDirectory)));
        };
        let mut bases = bases.clone();
        let mut against: Option<LayerDecision> = None;
        for directory in &directories {
            let entered = self.entered(&ShellWord::text(directory), &bases, call, resolver);
            let strictest = match against {
                Some(against) => against.strictest(entered),
                None => entered,
            };
            against = Some(strictest);
            bases = bases.enter(directory);
        }
        (bases, against.filter(|against| against.action > Action::Allow))
    }

    /// Judges a redirection: the strictest decision for all possible current directories.
    fn touched(
        &self,
        word: &ShellWord,
        bases: &CurrentDirs,
        call: SectionCall<'_>,
        resolver: &dyn LinkResolver,
    ) -> LayerDecision {
        let decide = |base: &String| {
            let directory = &at(base, call.directory);
            match word.literal() {
                Some(path) => self.path(SectionCall { subject: path, directory, ..call }, resolver),
                None => self.redirected(word, directory, call.section, resolver),
            }
        };
        let directories = match bases {
            CurrentDirs::Known(directories) => &**directories,
            // An absolute path does not depend on the current directory.
            CurrentDirs::Unknown if word.start().starts_with('/') => &[".".to_owned()],
            CurrentDirs::Unknown => &[],
        };
        let decisions = directories.iter().map(decide);
        decisions.reduce(LayerDecision::strictest).unwrap_or_else(|| self.any_path(call.section))
    }

    /// Whether a path lies in the workspace, from every possible current directory.
    fn leads_inside(
        &self,
        path: &str,
        bases: &CurrentDirs,
        call: SectionCall<'_>,
        resolver: &dyn LinkResolver,
    ) -> bool {
        let CurrentDirs::Known(directories) = bases else { return false };
        directories.iter().all(|base| {
            let directory = &at(base, call.directory);
            let real = crate::path::absolute(path, directory, &self.places)
                .and_then(|path| resolver.resolve(&path));
            real.is_some_and(|real| self.is_inside(&real))
        })
    }

    /// Judges `cd`, which needs no rule inside the workspace.
    fn entered(
        &self,
        word: &ShellWord,
        bases: &CurrentDirs,
        call: SectionCall<'_>,
        resolver: &dyn LinkResolver,
    ) -> LayerDecision {
        let call = SectionCall { section: Section::ExternalDirectory, ..call };
        let (Some(path), CurrentDirs::Known(directories)) = (word.literal(), bases) else {
            return self.worst(Section::ExternalDirectory);
        };
        let decide = |base: &String| {
            let directory = &at(base, call.directory);
            let call = SectionCall { subject: path, directory, ..call };
            let real = crate::path::absolute(path, directory, &self.places)
                .and_then(|path| resolver.resolve(&path));
            match real {
                Some(real) if self.is_inside(&real) => {
                    LayerDecision::built_in(Action::Allow, "inside the workspace")
                }
                _ => self.path(call, resolver),
            }
        };
        let decisions = directories.iter().map(decide);
        decisions.reduce(LayerDecision::strictest).unwrap_or_else(|| self.worst(call.section))
    }

    /// Judges a variable that is set for a command, or for the rest of the line.
    fn set(&self, name: &str, value: Option<&str>, scope: VariableScope) -> LayerDecision {
        match (setting_to(name, value), scope) {
            // A variable that is not exported reaches no program.
            (VariableEffect::Harmless, _) | (VariableEffect::Other, VariableScope::Shell) => {
                LayerDecision::built_in(Action::Allow, "a variable that changes nothing else")
            }
            (VariableEffect::Dangerous, _) if self.is_open(Section::Bash) => {
                self.worst(Section::Bash)
            }
            (VariableEffect::Dangerous, _) => {
                let why = format!("`{name}` changes what runs");
                self.intent().strictest(LayerDecision::built_in(Action::Ask, why))
            }
            (VariableEffect::Other, VariableScope::Command | VariableScope::Exported) => {
                let decision = self.text(Section::Env, name);
                // If every command is allowed, only a written rule about variables counts.
                if self.is_open(Section::Bash) && decision.span.is_none() {
                    self.worst(Section::Bash)
                } else {
                    decision
                }
            }
        }
    }

    /// Judges text that the analysis does not understand: never allowed, unless all commands and edits are.
    fn unclear(&self, why: &str) -> LayerDecision {
        if self.is_open(Section::Bash) && self.is_open(Section::Edit) {
            return self.worst(Section::Bash);
        }
        let unclear = LayerDecision::built_in(Action::Ask, format!("not understood: {why}"));
        unclear.strictest(self.intent())
    }

    /// Judges a command that runs without an end: allowed only if every command is.
    fn lasting(&self, why: &str) -> LayerDecision {
        if self.is_open(Section::Bash) {
            return self.worst(Section::Bash);
        }
        LayerDecision::built_in(Action::Ask, why).strictest(self.intent())
    }

    /// Returns the strictest intent of the layers about commands.
    fn intent(&self) -> LayerDecision {
        self.strictest(Section::Bash, |source, rules| LayerDecision::by(&rules.intent, source))
    }
}

/// Returns a directory of a line, relative to the one in which the line starts.
pub(super) fn at(base: &str, start: &str) -> String {
    match base {
        "." => start.to_owned(),
        base if base.starts_with('/') => base.to_owned(),
        base => format!("{start}/{base}"),
    }
}
