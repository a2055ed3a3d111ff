//! Judges the files and addresses in the arguments of a command: `cat .env` reads `.env`, whatever the rules
//! about commands are.
//!
//! The rules about commands decide whether the command may run. Here only restrictions of the file or the
//! address count: a rule that asks or denies, an intent that denies, and the table of secrets. Without one,
//! the verdict stays as it is.

mod addresses;
mod path_set;

use agentry_commands::secrets::{can_be_secret, is_secret};
use agentry_commands::{
    CommandEffects, FileEffect, FileUse, HiddenExceptions, ProgramTrait, effects,
};
use path_set::PathSet;

use crate::argv::{ShellArg, ShellWord, WordPiece};
use crate::path::{LinkResolver, absolute, is_inside};
use crate::pattern::{Pattern, PatternKind};
use crate::shell::{CurrentDirs, word_text};
use crate::verdict::LayerDecision;
use crate::{Action, LayerSource, PolicyRule, RuleList, Section};

use super::line::at;
use super::{Judge, SectionCall};

/// How the files of one operand are judged.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the use")]
#[derive(Debug, Clone, Copy)]
struct OperandUse<'a> {
    /// How the command uses the file.
    used: FileUse,
    /// The section whose rules apply.
    section: Section,
    /// Whether a directory includes its contents.
    below: bool,
    /// Whether everything below a directory is removed or replaced, at any depth.
    takes: bool,
    /// Whether the contents of everything below a directory are read.
    searches: bool,
    /// The ends of the names to which that is limited.
    ends: Option<&'a [String]>,
    /// What that reads of hidden files, if it leaves out the others.
    hidden: Option<HiddenExceptions>,
    /// Whether the word may be something else than a file.
    is_guess: bool,
}

/// How a rule concerns the paths of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleReach {
    /// The operand names such a path.
    Named,
    /// The command comes to such a path when it walks through a directory.
    Walked,
}

impl<'a> OperandUse<'a> {
    /// Returns how a command uses its files; `None` for an address and for what a patch names. What a command
    /// moves away is taken from its place.
    fn new(
        used: FileUse,
        effects: CommandEffects<'_>,
        (is_source, ends): (bool, Option<&'a [String]>),
    ) -> Option<Self> {
        let section = match used {
            FileUse::Read | FileUse::MayRead | FileUse::Test | FileUse::List => Section::Read,
            FileUse::Write | FileUse::MayWrite => Section::Edit,
            FileUse::Patch { .. } | FileUse::Fetch => return None,
        };
        let below = match section {
            // Given a directory, most commands copy into it or remove it.
            Section::Edit => !effects.has(ProgramTrait::DirectoryItself),
            _ => effects.walks(),
        };
        let takes = section == Section::Edit
            && match effects.files() {
                FileEffect::TakesAll | FileEffect::Tree { .. } => true,
                FileEffect::Copies { moves } => moves && is_source,
                _ => false,
            };
        let searches = matches!(used, FileUse::Read | FileUse::MayRead) && effects.searches();
        let hidden = effects.hidden_exceptions().filter(|_| searches);
        let is_guess = false;
        Some(Self { used, section, below, takes, searches, ends, hidden, is_guess })
    }

    /// Returns the same use under the rules about what is outside the workspace.
    fn outside(self) -> Self {
        Self { section: Section::ExternalDirectory, ..self }
    }

    /// Whether the word is certainly a file, so that an unknown one is judged as any file.
    fn is_certain(self) -> bool {
        matches!(self.used, FileUse::Read | FileUse::Test | FileUse::Write)
    }

    /// Whether an intent that denies counts too, and not only written rules.
    fn follows_intent(self) -> bool {
        self.is_certain() || self.section == Section::ExternalDirectory
    }

    /// Whether the table of secrets counts.
    fn is_read(self) -> bool {
        matches!(self.used, FileUse::Read | FileUse::MayRead)
    }
}

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
        let (uses, ends) = (effects.uses(), effects.searched_ends());
        let decisions = uses.iter().filter_map(|(used, word)| {
            let is_source = uses.iter().any(|(used, it)| *used == FileUse::Read && it == word);
            let decision =
                match (used, OperandUse::new(*used, effects, (is_source, ends.as_deref()))) {
                    (_, Some(operand)) => self.operand(operand, word, bases, call, resolver),
                    (FileUse::Fetch, None) => self.fetched(word, bases, call, resolver),
                    // The judge of patches sees the whole line.
                    (_, None) => None,
                };
            let note = Some(format!("it {} `{}`", used.verb(), word_text(word)));
            decision.map(|decision| LayerDecision { note, ..decision })
        });
        let possible = effects.possible_uses();
        let possible = possible.iter().filter_map(|(used, word)| {
            let operand = OperandUse::new(*used, effects, (false, None))?;
            let note = Some(format!("it {} `{}`", used.verb(), word_text(word)));
            let decision = self.possible_operand(operand, word, bases, call, resolver);
            decision.map(|decision| LayerDecision { note, ..decision })
        });
        decisions.chain(possible).reduce(LayerDecision::strictest)
    }

    /// Returns what is against a word that may be a file. Words such as `/app` in `docker exec web ls /app` are
    /// often no files of this machine, so for reading only rules about the file and the table of secrets count.
    fn possible_operand(
        &self,
        operand: OperandUse<'_>,
        word: &ShellWord,
        bases: &CurrentDirs,
        call: SectionCall<'_>,
        resolver: &dyn LinkResolver,
    ) -> Option<LayerDecision> {
        if operand.used.is_write() {
            return self.operand(operand, word, bases, call, resolver);
        }
        let CurrentDirs::Known(bases) = bases else {
            return self.secret(&PathSet::unresolved(word, call.directory));
        };
        // Of an unknown name only the directory is known: `private/$x`.
        let parent = word.start().rfind('/').and_then(|end| word.start().get(..end));
        let parent = parent.filter(|_| word.is_open()).map(ShellWord::text);
        let below = operand.below || parent.is_some();
        let operand = OperandUse { below, is_guess: true, ..operand };
        let word = parent.as_ref().unwrap_or(word);
        let decide = |base: &String| {
            let directory = at(base, call.directory);
            let resolve = |path: &str| {
                let path = absolute(path, &directory, &self.places)?;
                resolver.resolve(&path)
            };
            let paths = PathSet::resolved(word, &directory, &resolve, self.places.ignores_case)?;
            let rule = self.against(operand, &paths, resolver);
            rule.into_iter().chain(self.secret(&paths)).reduce(LayerDecision::strictest)
        };
        bases.iter().filter_map(decide).reduce(LayerDecision::strictest)
    }

    /// Returns what is against changing a file that a patch names, relative to the current directory or to the
    /// root of the workspace; without a name, what is against changing any file.
    pub(super) fn patched(
        &self,
        name: Option<&str>,
        argv: &[ShellArg],
        bases: &CurrentDirs,
        call: SectionCall<'_>,
        resolver: &dyn LinkResolver,
    ) -> Option<LayerDecision> {
        let operand = OperandUse::new(FileUse::Write, effects(argv), (false, None))?;
        // Programs that apply patches refuse names outside of the current directory.
        let Some(name) = name else { return self.any_of(operand) };
        let word = ShellWord::text(format!(":/{name}"));
        self.operand(operand, &word, bases, call, resolver)
    }

    /// Returns what is against a file in the arguments.
    fn operand(
        &self,
        operand: OperandUse<'_>,
        word: &ShellWord,
        bases: &CurrentDirs,
        call: SectionCall<'_>,
        resolver: &dyn LinkResolver,
    ) -> Option<LayerDecision> {
        if word.literal().is_some_and(is_free) || is_descriptor(word) {
            return None;
        }
        // git reads `:/path` from the root of the repository, which may be any directory above.
        let top = without_top(word);
        let word = top.as_ref().unwrap_or(word);
        let mut directories: Vec<String> = match bases {
            CurrentDirs::Unknown if word.start().starts_with('/') => {
                vec![call.directory.to_owned()]
            }
            CurrentDirs::Known(all) => all.iter().map(|base| at(base, call.directory)).collect(),
            CurrentDirs::Unknown => return self.lost_operand(operand, word, call),
        };
        directories.extend(top.is_some().then(|| self.places.workspace.clone()));
        let decide = |directory: &String| self.operand_in(operand, word, directory, resolver);
        directories.iter().filter_map(decide).reduce(LayerDecision::strictest)
    }

    /// Judges an operand relative to a known directory.
    fn operand_in(
        &self,
        operand: OperandUse<'_>,
        word: &ShellWord,
        directory: &str,
        resolver: &dyn LinkResolver,
    ) -> Option<LayerDecision> {
        let section = operand.section;
        let resolve = |path: &str| {
            let path = absolute(path, directory, &self.places)?;
            resolver.resolve(&path)
        };
        let paths = PathSet::resolved(word, directory, &resolve, self.places.ignores_case);
        let split = || {
            // Split at blanks, a name may become another path, so no denial may be missed.
            let why = "a name with blanks may become other names";
            word.is_loose().then(|| self.not_understood(section, why)).flatten()
        };
        match paths {
            Some(paths)
                if operand.is_certain() && section == Section::Edit && self.is_beyond(&paths) =>
            {
                let call = SectionCall { section, subject: paths.known(), directory };
                Some(self.path(call, resolver)).filter(|it| it.action > Action::Allow)
            }
            Some(paths) => self
                .paths(operand, &paths, resolver)
                .into_iter()
                .chain(split())
                .reduce(LayerDecision::strictest),
            None if operand.is_certain() => self.any_file(operand),
            None => self.not_understood(section, UNKNOWN),
        }
    }

    /// Judges an operand relative to an unknown directory: only the name can show that the file is a secret.
    fn lost_operand(
        &self,
        operand: OperandUse<'_>,
        word: &ShellWord,
        call: SectionCall<'_>,
    ) -> Option<LayerDecision> {
        if word.is_open() && operand.is_certain() {
            return self.any_file(operand);
        }
        let named = PathSet::unresolved(word, call.directory);
        let named = operand.is_read().then(|| self.secret(&named)).flatten();
        let unknown = self.not_understood(operand.section, UNKNOWN);
        unknown.into_iter().chain(named).reduce(LayerDecision::strictest)
    }

    /// Returns what is against some file, for a word that may be any file.
    fn any_file(&self, operand: OperandUse<'_>) -> Option<LayerDecision> {
        // Where every command is allowed, other commands can read the file as well.
        let secret = (operand.is_read() && !self.is_open(Section::Bash))
            .then(|| LayerDecision::built_in(Action::Ask, "it may be any file, also a secret"));
        let all = [self.any_of(operand), self.any_of(operand.outside()), secret];
        all.into_iter().flatten().reduce(LayerDecision::strictest)
    }

    /// Returns the strictest rule of the section.
    fn any_of(&self, operand: OperandUse<'_>) -> Option<LayerDecision> {
        let decisions = self.rules(operand.section).flat_map(move |(source, rules)| {
            let counting = rules.all().filter(move |rule| counts(rule, rules, operand));
            counting.map(move |rule| LayerDecision::by(rule, source))
        });
        decisions.reduce(LayerDecision::strictest)
    }

    /// Whether a rule about commands is not enough to write these files: files outside the workspace, except
    /// temporary ones, and files in `.git`, which git may run. They are judged like the target of a
    /// redirection.
    fn is_beyond(&self, paths: &PathSet) -> bool {
        let path = paths.known();
        let is_git = path.split('/').any(|name| name == ".git");
        !self.is_open(Section::Bash) && (is_git || (!self.is_inside(path) && !is_temporary(path)))
    }

    /// Returns what is against any of `paths`.
    fn paths(
        &self,
        operand: OperandUse<'_>,
        paths: &PathSet,
        resolver: &dyn LinkResolver,
    ) -> Option<LayerDecision> {
        let own = self.against(operand, paths, resolver);
        let is_outside = !self.is_inside(paths.known()) && !self.is_scratch(operand, paths);
        let outside =
            is_outside.then(|| self.against(operand.outside(), paths, resolver)).flatten();
        let secret = operand.is_read().then(|| self.secret(paths)).flatten();
        own.into_iter().chain(outside).chain(secret).reduce(LayerDecision::strictest)
    }

    /// Whether the rules about commands alone decide about a file outside the workspace: a temporary file that
    /// is written, where nothing is written about external directories.
    fn is_scratch(&self, operand: OperandUse<'_>, paths: &PathSet) -> bool {
        let is_unwritten = |rules: &RuleList| {
            rules.rules.is_empty()
                && rules.intent.span.is_none()
                && rules.intent.action < Action::Deny
        };
        operand.section == Section::Edit
            && is_temporary(paths.known())
            && self.rules(Section::ExternalDirectory).all(|(_, rules)| is_unwritten(rules))
    }

    fn against(
        &self,
        operand: OperandUse<'_>,
        paths: &PathSet,
        resolver: &dyn LinkResolver,
    ) -> Option<LayerDecision> {
        let decide = |(source, rules): (LayerSource, &RuleList)| {
            if !is_strict(rules, operand) {
                return None;
            }
            let meets = |rule: &PolicyRule| self.reach(operand, paths, rule, resolver);
            let walked = |rule: &PolicyRule| Self::walked(operand, rule, source);
            let rules = (source, rules);
            deciding(rules, paths, |rule| counts(rule, rules.1, operand), meets, walked)
        };
        self.rules(operand.section).filter_map(decide).reduce(LayerDecision::strictest)
    }

    /// Returns how a rule concerns some of `paths`, if it does.
    fn reach(
        &self,
        operand: OperandUse<'_>,
        paths: &PathSet,
        rule: &PolicyRule,
        resolver: &dyn LinkResolver,
    ) -> Option<RuleReach> {
        // A directory that is named is judged like its contents, even if the command would fail.
        let is_shown = matches!(operand.used, FileUse::Read | FileUse::List);
        let is_named = is_shown && paths.literal().is_some();
        let is_entered = || (operand.below || is_named) && self.lead_into(paths, rule);
        let walked = |is_walk: bool| {
            let is_read = operand.section != Section::Edit;
            Some(if is_walk && is_read { RuleReach::Walked } else { RuleReach::Named })
        };
        if paths.meet(&rule.pattern) {
            walked(paths.is_walk())
        } else if is_entered() {
            walked(paths.is_walk() || paths.is_every_entry())
        } else if operand.takes && self.contain(paths, rule) {
            Some(RuleReach::Named)
        } else if ((operand.searches
            && self.contain(paths, rule)
            && self.finds(operand, paths, rule))
            || self.may_contain(operand, paths, rule))
            && !self.leaves_out(operand, paths, rule, resolver)
        {
            Some(RuleReach::Walked)
        } else {
            None
        }
    }

    /// Returns the decision about a walk that comes to what a rule is against: a question, because the command
    /// was not aimed at it. Names alone are no contents.
    fn walked(
        operand: OperandUse<'_>,
        rule: &PolicyRule,
        source: LayerSource,
    ) -> Option<LayerDecision> {
        match (operand.used, rule.action) {
            (FileUse::List, _) => None,
            (_, Action::Deny) => {
                let why = format!("it may come to what `{}` is about", rule.text);
                Some(LayerDecision::built_in(Action::Ask, why))
            }
            _ => Some(LayerDecision::by(rule, source)),
        }
    }

    /// Judges the target of a redirection that may be several files, or any file.
    pub(super) fn redirected(
        &self,
        word: &ShellWord,
        directory: &str,
        section: Section,
        resolver: &dyn LinkResolver,
    ) -> LayerDecision {
        let resolve = |path: &str| resolver.resolve(&absolute(path, directory, &self.places)?);
        let paths = PathSet::resolved(word, directory, &resolve, self.places.ignores_case);
        let Some(paths) = paths.filter(|_| !word.is_loose()) else { return self.any_path(section) };
        let of_section = |section: Section| {
            self.strictest(section, |source, rules| {
                let meets =
                    |rule: &PolicyRule| paths.meet(&rule.pattern).then_some(RuleReach::Named);
                let found = deciding((source, rules), &paths, |_| true, meets, |_| None);
                found.unwrap_or_else(|| LayerDecision::by(&rules.intent, source))
            })
        };
        let decision = of_section(section);
        let decision = if self.is_inside(paths.known()) {
            decision
        } else {
            decision.strictest(of_section(Section::ExternalDirectory))
        };
        match self.secret(&paths).filter(|_| section == Section::Read) {
            Some(secret) => decision.strictest(secret),
            None => decision,
        }
    }

    /// Whether a rule matches files in a directory that may be one of `paths`: `docs/**` for `docs`.
    fn lead_into(&self, paths: &PathSet, rule: &PolicyRule) -> bool {
        let inside = ["/**/*", "/**", "/*"];
        let dir = inside.iter().find_map(|end| rule.pattern.text.strip_suffix(end));
        let dir = dir.filter(|dir| dir.contains(|c| !matches!(c, '*' | '/')));
        let pattern = |dir| Pattern::new(PatternKind::Path, dir, rule.action, &self.places);
        dir.is_some_and(|dir| paths.meet(&pattern(dir)))
    }

    /// Whether a directory contains what a rule names by a literal start: `.` for `docs/**`.
    fn contain(&self, paths: &PathSet, rule: &PolicyRule) -> bool {
        let start = rule.pattern.literal_start().unwrap_or_default();
        let is_below = start.len() > self.places.workspace.len() && start != paths.known();
        is_below && paths.literal().is_some_and(|path| is_inside(start, path))
    }

    /// Whether a command may come to what a rule names without a literal start: `grep -r x .` for `**/.env`.
    fn may_contain(&self, operand: OperandUse<'_>, paths: &PathSet, rule: &PolicyRule) -> bool {
        // Of what is removed or replaced, only the workspace as a whole counts: `rm src/a.rs` names a file,
        // and nothing here can tell it from a directory.
        let takes = operand.takes && is_inside(&self.places.workspace, paths.known());
        let start = rule.pattern.literal_start();
        let is_floating = start.is_some_and(|start| start.len() <= self.places.workspace.len());
        (takes || operand.searches)
            && is_floating
            && paths.below().is_some_and(|below| below.meet(&rule.pattern))
            && (takes || self.finds(operand, paths, rule))
    }

    /// Whether a search may read a file that a rule is about: `rg -t rust x .` reads no `.env`.
    fn finds(&self, operand: OperandUse<'_>, paths: &PathSet, rule: &PolicyRule) -> bool {
        let Some(ends) = operand.ends else { return true };
        let ignores_case = self.places.ignores_case;
        let found = |end: &String| {
            let end = if ignores_case { end.to_lowercase() } else { end.clone() };
            paths.ending(end).is_none_or(|found| found.meet(&rule.pattern))
        };
        // A pattern that is no path cannot be compared with names.
        !rule.pattern.is_path() || ends.iter().any(found)
    }

    /// Whether a search leaves out all files that a rule is about, because they are hidden: `rg x` reads no `.env`.
    fn leaves_out(
        &self,
        operand: OperandUse<'_>,
        paths: &PathSet,
        rule: &PolicyRule,
        resolver: &dyn LinkResolver,
    ) -> bool {
        let (Some(exceptions), Some(directory)) = (operand.hidden, paths.literal()) else {
            return false;
        };
        // A pattern that is no path cannot be compared with names.
        let reads = |admitted: Vec<String>| {
            !rule.pattern.is_path()
                || paths.visible(admitted).is_none_or(|read| read.meet(&rule.pattern))
        };
        let lower = |name: String| {
            if self.places.ignores_case { name.to_lowercase() } else { name }
        };
        let admitted = || Some(resolver.admitted(directory, exceptions)?.into_iter().map(lower));
        !reads(Vec::new()) && admitted().is_some_and(|admitted| !reads(admitted.collect()))
    }

    fn secret(&self, paths: &PathSet) -> Option<LayerDecision> {
        let home = self.places.home.as_deref();
        let what = match paths.literal() {
            Some(path) => is_secret(path, home),
            None => {
                let sample = || paths.samples().iter().find_map(|path| is_secret(path, home));
                can_be_secret(&paths.globs()).or_else(sample)
            }
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
        let is_denied = |rules: &RuleList| rules.intent.action == Action::Deny;
        let intents = self.rules(section).filter(|(_, rules)| is_denied(rules));
        let intents = intents.map(|(source, rules)| LayerDecision::by(&rules.intent, source));
        let ask = LayerDecision::built_in(Action::Ask, format!("not understood: {why}"));
        intents.chain([ask]).reduce(LayerDecision::strictest)
    }
}

/// Returns the strictest of the rules that count and decide about some of `paths`; `walked` decides about those
/// that only a walk comes to.
fn deciding(
    (source, rules): (LayerSource, &RuleList),
    paths: &PathSet,
    counts: impl Fn(&PolicyRule) -> bool,
    meets: impl Fn(&PolicyRule) -> Option<RuleReach>,
    walked: impl Fn(&PolicyRule) -> Option<LayerDecision>,
) -> Option<LayerDecision> {
    let mut found = Vec::new();
    for rule in rules.all() {
        let covers = paths.are_all_in(&rule.pattern);
        if counts(rule) {
            let reach = if covers { Some(RuleReach::Named) } else { meets(rule) };
            found.extend(match reach {
                Some(RuleReach::Named) => Some(LayerDecision::by(rule, source)),
                Some(RuleReach::Walked) => walked(rule),
                None => None,
            });
        }
        // This rule decides for all paths, so later rules never apply.
        if covers {
            break;
        }
    }
    found.into_iter().reduce(LayerDecision::strictest)
}

/// The use of a file whose contents are read.
const READING: OperandUse<'static> = OperandUse {
    used: FileUse::Read,
    section: Section::Read,
    below: false,
    takes: false,
    searches: false,
    ends: None,
    hidden: None,
    is_guess: false,
};

const UNKNOWN: &str = "it is not known where it leads";

/// Whether a rule is a deliberate restriction. An intent `ask` is not one, because the rules about
/// commands already decide that. For external directories it is one, also if no section was
/// written. A rule for every file is as an intent for a word that may be no file at all.
fn counts(rule: &PolicyRule, rules: &RuleList, operand: OperandUse<'_>) -> bool {
    let is_intent = std::ptr::eq(rule, &raw const rules.intent)
        || (operand.is_guess && rule.pattern.is_everything());
    match rule.action {
        Action::Allow => false,
        Action::Ask if is_intent => {
            rules.section == Section::ExternalDirectory && operand.used != FileUse::List
        }
        Action::Deny if is_intent => operand.follows_intent(),
        Action::Ask | Action::Deny => true,
    }
}

fn is_strict(rules: &RuleList, operand: OperandUse<'_>) -> bool {
    rules.all().any(|rule| counts(rule, rules, operand))
}

/// Returns the path after `:/`.
fn without_top(word: &ShellWord) -> Option<ShellWord> {
    let rest = word.start().strip_prefix(":/")?;
    let first = WordPiece::Text(rest.to_owned());
    let others = word.pieces.iter().skip(1).cloned();
    Some(ShellWord { pieces: std::iter::once(first).chain(others).collect() })
}

/// Whether a path is one of a directory for temporary files.
fn is_temporary(path: &str) -> bool {
    const TEMPORARY: &[&str] = &["/tmp", "/var/tmp", "/private/tmp"];
    TEMPORARY.iter().any(|place| is_inside(path, place))
}

/// Whether a word is a descriptor, or the pipe that the shell makes for `<(…)`; `/dev/fd/../cwd/a` is a file.
fn is_descriptor(word: &ShellWord) -> bool {
    let Some(number) = word.start().strip_prefix("/dev/fd/") else { return false };
    match word.literal() {
        Some(_) => number.bytes().all(|byte| byte.is_ascii_digit()),
        None => matches!(word.pieces.as_slice(), [_, WordPiece::Segment]) && number.is_empty(),
    }
}

/// Whether a path is standard input or output, or a device that holds no data.
fn is_free(path: &str) -> bool {
    matches!(
        path,
        "" | "-"
            | "/dev/null"
            | "/dev/stdin"
            | "/dev/stdout"
            | "/dev/stderr"
            | "/dev/tty"
            | "/dev/zero"
            | "/dev/random"
            | "/dev/urandom"
    )
}
