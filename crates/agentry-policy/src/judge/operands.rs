//! Judges the files and addresses in the arguments of a command: `cat .env` reads `.env`, whatever the rules
//! about commands are.
//!
//! The rules about commands decide whether the command may run. Here only restrictions of the file or the
//! address count: a rule that asks or denies, an intent that denies, and the table of secrets. Without one,
//! the verdict stays as it is.

mod path_set;

use agentry_commands::secrets::{is_secret, may_be_secret};
use agentry_commands::{FileUse, ProgramTrait, effects};
use path_set::PathSet;

use crate::argv::{ShellArg, ShellWord, WordPiece};
use crate::path::{LinkResolver, absolute, is_inside};
use crate::pattern::{Pattern, PatternKind, PatternSubject};
use crate::shell::{CurrentDirs, word_text};
use crate::verdict::LayerDecision;
use crate::web::address;
use crate::{Action, LayerSource, PolicyRule, RuleList, Section};

use super::line::at;
use super::{Judge, SectionCall};

impl Judge {
    /// Returns the strictest decision against the files and addresses in the arguments of a command, if there
    /// is one.
    pub(super) fn operands(
        &self,
        argv: &[ShellArg],
        bases: &CurrentDirs,
        call: SectionCall<'_>,
        resolver: &dyn LinkResolver,
    ) -> Option<LayerDecision> {
        let effects = effects(argv);
        // Given a directory, most commands copy into it, remove it, or read everything in it.
        let below = !effects.has(ProgramTrait::DirectoryItself);
        let decisions = effects.uses().into_iter().filter_map(|(used, word)| {
            let does = match used {
                FileUse::Read => "reads",
                FileUse::Write => "writes",
                FileUse::Fetch => "fetches",
            };
            let decision = match used {
                FileUse::Fetch => self.fetched(&word, bases, call, resolver),
                FileUse::Read => self.operand((Section::Read, below), &word, bases, call, resolver),
                FileUse::Write => {
                    self.operand((Section::Edit, below), &word, bases, call, resolver)
                }
            };
            let note = Some(format!("it {does} `{}`", word_text(&word)));
            decision.map(|decision| LayerDecision { note, ..decision })
        });
        decisions.reduce(LayerDecision::strictest)
    }

    /// Returns what is against a file in the arguments; `below` if a directory includes its contents.
    fn operand(
        &self,
        (section, below): (Section, bool),
        word: &ShellWord,
        bases: &CurrentDirs,
        call: SectionCall<'_>,
        resolver: &dyn LinkResolver,
    ) -> Option<LayerDecision> {
        let start = match word.pieces.first() {
            Some(WordPiece::Text(text)) => text.as_str(),
            _ => "",
        };
        // `<(…)` is a pipe that the shell itself makes.
        if word.literal().is_some_and(is_free) || start.starts_with("/dev/fd/") {
            return None;
        }
        let directories: Vec<String> = match bases {
            CurrentDirs::Unknown if start.starts_with('/') => vec![call.directory.to_owned()],
            CurrentDirs::Known(all) => all.iter().map(|base| at(base, call.directory)).collect(),
            // The directory is unknown, so only the name itself can show that the file is a secret.
            CurrentDirs::Unknown => {
                let named = self.secret(section, &PathSet::new(word, call.directory, None));
                let why = "it is not known where it leads";
                return self
                    .not_understood(section, why)
                    .into_iter()
                    .chain(named)
                    .reduce(LayerDecision::strictest);
            }
        };
        let decide = |directory: &String| {
            let resolve = |path: &str| {
                let path = absolute(path, directory, &self.places)?;
                resolver.resolve(&path)
            };
            match PathSet::resolved(word, directory, &resolve, self.places.ignores_case) {
                Some(paths) if section == Section::Edit && self.is_beyond(&paths) => {
                    let call = SectionCall { section, subject: paths.known(), directory };
                    Some(self.path(call, resolver)).filter(|it| it.action > Action::Allow)
                }
                Some(paths) => self.paths((section, below), &paths),
                None => self.not_understood(section, "it is not known where it leads"),
            }
        };
        directories.iter().filter_map(decide).reduce(LayerDecision::strictest)
    }

    /// Whether a rule about commands is not enough to write these files: files outside the workspace, except
    /// temporary ones, and files in `.git`, which git may run. They are judged like the target of a
    /// redirection.
    fn is_beyond(&self, paths: &PathSet) -> bool {
        const TEMPORARY: &[&str] = &["/tmp", "/var/tmp", "/private/tmp"];
        let path = paths.known();
        let is_temporary = TEMPORARY.iter().any(|place| is_inside(path, place));
        let is_git = path.split('/').any(|name| name == ".git");
        !self.is_open(Section::Bash) && (is_git || (!self.is_inside(path) && !is_temporary))
    }

    /// Returns what is against any of `paths`.
    fn paths(&self, (section, below): (Section, bool), paths: &PathSet) -> Option<LayerDecision> {
        let own = self.against((section, below), paths);
        let is_outside = !self.is_inside(paths.known());
        let outside = || self.against((Section::ExternalDirectory, below), paths);
        let outside = is_outside.then(outside).flatten();
        let secret = self.secret(section, paths);
        own.into_iter().chain(outside).chain(secret).reduce(LayerDecision::strictest)
    }

    fn against(&self, (section, below): (Section, bool), paths: &PathSet) -> Option<LayerDecision> {
        let decide = |(source, rules): (LayerSource, &RuleList)| {
            if !is_strict(rules) {
                return None;
            }
            let mut strictest: Option<LayerDecision> = None;
            for rule in rules.all() {
                let covers = paths.are_all_in(&rule.pattern);
                let meets = || paths.meet(&rule.pattern) || (below && self.lead_into(paths, rule));
                if counts(rule, rules) && (covers || meets()) {
                    let decision = LayerDecision::by(rule, source);
                    strictest =
                        strictest.into_iter().chain([decision]).reduce(LayerDecision::strictest);
                }
                // This rule decides for all paths, so later rules never apply.
                if covers {
                    break;
                }
            }
            strictest
        };
        self.rules(section).filter_map(decide).reduce(LayerDecision::strictest)
    }

    /// Whether a rule matches files in a directory that may be one of `paths`: `docs/**` for `docs`.
    fn lead_into(&self, paths: &PathSet, rule: &PolicyRule) -> bool {
        let inside = ["/**/*", "/**", "/*"];
        let dir = inside.iter().find_map(|end| rule.pattern.text.strip_suffix(end));
        let dir = dir.filter(|dir| dir.contains(|c| !matches!(c, '*' | '/')));
        let pattern = |dir| Pattern::new(PatternKind::Path, dir, rule.action, &self.places);
        dir.is_some_and(|dir| paths.meet(&pattern(dir)))
    }

    fn secret(&self, section: Section, paths: &PathSet) -> Option<LayerDecision> {
        if section != Section::Read {
            return None;
        }
        let home = self.places.home.as_deref();
        let what = match paths.literal() {
            Some(path) => is_secret(path, home),
            None => paths.samples().iter().find_map(|path| may_be_secret(path, home)),
        };
        what.map(|what| LayerDecision::built_in(Action::Ask, format!("a secret: {what}")))
    }

    /// Returns `ask` for an unknown file, if some rule asks about or denies files.
    fn not_understood(&self, section: Section, why: &str) -> Option<LayerDecision> {
        let sections = [section, Section::ExternalDirectory];
        let mut lists = sections.into_iter().flat_map(|section| self.rules(section));
        // An intent that asks about external directories does not concern a file that may be inside.
        let is_against = |rules: &RuleList| {
            rules.intent.action == Action::Deny
                || rules.rules.iter().any(|rule| rule.action > Action::Allow)
        };
        if !lists.any(|(_, rules)| is_against(rules)) {
            return None;
        }
        let intents = self.rules(section).filter(|(_, rules)| counts(&rules.intent, rules));
        let intents = intents.map(|(source, rules)| LayerDecision::by(&rules.intent, source));
        let ask = LayerDecision::built_in(Action::Ask, format!("not understood: {why}"));
        intents.chain([ask]).reduce(LayerDecision::strictest)
    }

    /// Returns what is against an address.
    fn fetched(
        &self,
        word: &ShellWord,
        bases: &CurrentDirs,
        call: SectionCall<'_>,
        resolver: &dyn LinkResolver,
    ) -> Option<LayerDecision> {
        let text = word.literal();
        if let Some(path) = text.and_then(|text| text.strip_prefix("file://")) {
            return self.operand(
                (Section::Read, true),
                &ShellWord::text(path),
                bases,
                call,
                resolver,
            );
        }
        if !self.rules(Section::Webfetch).any(|(_, rules)| is_strict(rules)) {
            return None;
        }
        let address = text.and_then(|text| address(text).ok());
        let Some(address) = address else {
            return self.not_understood(Section::Webfetch, "it is not known where it leads");
        };
        let subject = PatternSubject::Text(&address.text);
        let decide = |(source, rules): (LayerSource, &RuleList)| {
            let rule = rules.first(subject);
            counts(rule, rules).then(|| LayerDecision::by(rule, source))
        };
        self.rules(Section::Webfetch).filter_map(decide).reduce(LayerDecision::strictest)
    }
}

/// Whether a rule is a deliberate restriction. An intent that asks is none, because the rules about commands
/// already decide that. For external directories it is one, if it was written.
fn counts(rule: &PolicyRule, rules: &RuleList) -> bool {
    let is_intent = std::ptr::eq(rule, &raw const rules.intent);
    match rule.action {
        Action::Allow => false,
        Action::Ask if is_intent => {
            rules.section == Section::ExternalDirectory && rule.span.is_some()
        }
        Action::Ask | Action::Deny => true,
    }
}

fn is_strict(rules: &RuleList) -> bool {
    rules.all().any(|rule| counts(rule, rules))
}

/// Whether a path is standard input or output, or a device without contents.
fn is_free(path: &str) -> bool {
    matches!(
        path,
        "" | "-" | "/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr" | "/dev/tty"
    )
}
