//! Describes what changed since an agent was locked, so that the user can decide whether it was intended.

use std::collections::{BTreeMap, BTreeSet};

use agentry_policy::Section;
use agentry_policy::compare::{DecisionChange, SectionDiff};
use agentry_text::report::visible;

use super::delegates;
use super::policy;
use super::{LockError, LockedAgent, LockedServer};
use crate::resolve::PlannedFile;

/// How many changes of one kind are listed. The rest are only counted.
const MOST_LISTED: usize = 3;

/// A difference from the locked state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockChange {
    /// The kind of change.
    pub kind: LockChangeKind,
    /// The subject: the path, the server, the section.
    pub subject: String,
    /// One line, lower case, no full stop.
    pub message: String,
    /// Whether the agent may now do more, or may be able to.
    pub widens: bool,
}

/// The kinds of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockChangeKind {
    /// The agent as a whole.
    Agent,
    /// Its bases.
    Base,
    /// One of its own files.
    File,
    /// The language models that it may use.
    Models,
    /// A skill.
    Skill,
    /// Its policy.
    Policy,
    /// An MCP server.
    Server,
    /// An agent that works for it.
    Delegate,
}

impl LockChangeKind {
    /// The name in the output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Base => "base",
            Self::File => "file",
            Self::Models => "models",
            Self::Skill => "skill",
            Self::Policy => "policy",
            Self::Server => "server",
            Self::Delegate => "delegate",
        }
    }
}

impl LockChange {
    pub(super) fn new(
        kind: LockChangeKind,
        subject: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { kind, subject: subject.into(), message: message.into(), widens: false }
    }

    pub(super) fn not_locked() -> Self {
        Self::new(LockChangeKind::Agent, "", "it is not locked")
    }

    pub(super) fn unreadable(error: &LockError) -> Self {
        Self::new(LockChangeKind::Agent, "", error.message.clone())
    }

    /// The change of a locked agent that no longer exists.
    pub fn gone() -> Self {
        Self::new(LockChangeKind::Agent, "", "it is gone")
    }
}

/// All differences between `old` and `new`, the most important last.
pub(super) fn changes(old: &LockedAgent, new: &LockedAgent) -> Vec<LockChange> {
    let mut found = Vec::new();
    let named = [
        ("name", old.name.as_str(), new.name.as_str()),
        ("format", old.format.as_str(), new.format.as_str()),
    ];
    for (what, old, new) in named.into_iter().filter(|(_, old, new)| old != new) {
        let message = format!("its {what} was `{old}` and is `{new}`");
        found.push(LockChange::new(LockChangeKind::Agent, what, message));
    }
    // An entry of version 0 has no bases, skills and servers, so these are not compared.
    if let Some(servers) = &old.servers {
        bases(old, new, &mut found);
        files(LockChangeKind::File, &old.files, &new.files, &mut found);
        files(LockChangeKind::Base, &old.base_files, &new.base_files, &mut found);
        skills(old, new, &mut found);
        self::servers(servers, new.servers.as_deref().unwrap_or_default(), &mut found);
        delegates::changes(&old.delegates, &new.delegates, &mut found);
    } else {
        let mut all = [new.files.as_slice(), &new.base_files].concat();
        all.sort();
        files(LockChangeKind::File, &old.files, &all, &mut found);
    }
    if old.servers.is_some() || !old.models.is_empty() {
        models(&old.models, &new.models, &mut found);
    }
    self::policy(old, new, &mut found);
    // No visible change explains the other digest, so the reader itself must have changed.
    if found.is_empty() && old.digest != new.digest {
        let message = "this agentry reads the same files otherwise than the one that locked them";
        found.push(LockChange::new(LockChangeKind::Agent, "digest", message));
    }
    found
}

fn bases(old: &LockedAgent, new: &LockedAgent, found: &mut Vec<LockChange>) {
    if old.bases == new.bases {
        return;
    }
    let shown = |bases: &[String]| match bases {
        [] => "nothing".to_owned(),
        bases => {
            let names: Vec<_> = bases.iter().map(|base| format!("`{}`", visible(base))).collect();
            names.join(", ")
        }
    };
    let message = format!("it was built on {} and is on {}", shown(&old.bases), shown(&new.bases));
    found.push(LockChange::new(LockChangeKind::Base, "", message));
}

fn files(
    kind: LockChangeKind,
    old: &[PlannedFile],
    new: &[PlannedFile],
    found: &mut Vec<LockChange>,
) {
    let digests = |files: &[PlannedFile]| -> BTreeMap<String, String> {
        files.iter().map(|file| (file.path.clone(), file.digest.clone())).collect()
    };
    let (old, new) = (digests(old), digests(new));
    let paths: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    for path in paths {
        let what = match (old.get(path), new.get(path)) {
            (Some(old), Some(new)) if old == new => continue,
            (Some(_), Some(_)) => "changed",
            (Some(_), None) => "is gone",
            (None, _) => "is new",
        };
        let whose = if kind == LockChangeKind::Base { "its base's " } else { "" };
        let message = format!("{whose}file `{}` {what}", visible(path));
        found.push(LockChange::new(kind, path.clone(), message));
    }
}

fn skills(old: &LockedAgent, new: &LockedAgent, found: &mut Vec<LockChange>) {
    let find = |list: &[(String, String)], name: &str| {
        list.iter().find(|(other, _)| other == name).map(|(_, what)| what.clone())
    };
    let mut add = |name: &str, message: String| {
        found.push(LockChange::new(LockChangeKind::Skill, name, message));
    };
    for (name, was) in &old.skills {
        let shown = visible(name);
        match find(&new.skills, name) {
            None => add(name, format!("it no longer asks for the skill `{shown}`")),
            Some(is) if is != *was => {
                let (was, is) = (visible(was), visible(&is));
                add(name, format!("the skill `{shown}` came from `{was}` and comes from `{is}`"));
            }
            Some(_) => {}
        }
    }
    for (name, _) in new.skills.iter().filter(|(name, _)| find(&old.skills, name).is_none()) {
        add(name, format!("it asks for the skill `{}` now", visible(name)));
    }
}

fn models(old: &[String], new: &[String], found: &mut Vec<LockChange>) {
    if old == new {
        return;
    }
    let shown = |list: Vec<&String>| {
        let names = list.iter().take(MOST_LISTED).map(|model| format!("`{}`", visible(model)));
        let rest = list.len().saturating_sub(MOST_LISTED);
        let rest = (rest > 0).then(|| format!("{rest} more"));
        names.chain(rest).collect::<Vec<_>>().join(", ")
    };
    let gone: Vec<_> = old.iter().filter(|model| !new.contains(model)).collect();
    let added: Vec<_> = new.iter().filter(|model| !old.contains(model)).collect();
    let message = match (gone.is_empty(), added.is_empty()) {
        (true, true) => "its models are tried in another order".to_owned(),
        (true, false) => format!("it may run on {} now", shown(added)),
        (false, true) => format!("it no longer runs on {}", shown(gone)),
        (false, false) => format!("it no longer runs on {}, but on {}", shown(gone), shown(added)),
    };
    found.push(LockChange::new(LockChangeKind::Models, "", message));
}

/// Reports what the agent may do more or less. If only files of bases changed, its base is named.
fn policy(old: &LockedAgent, new: &LockedAgent, found: &mut Vec<LockChange>) {
    if old.policy_digest == new.policy_digest {
        return;
    }
    // `found` has the file changes already: this call must come after them.
    let whose = if is_the_bases(found) { "its base" } else { "it" };
    let diffs = old.servers.as_ref().and_then(|_| policy::diff(&old.policy, &new.policy));
    let before = found.len();
    for (section, message, widens) in diff_texts(whose, diffs.as_deref().unwrap_or_default()) {
        let change = LockChange::new(LockChangeKind::Policy, section.as_str(), message);
        found.push(LockChange { widens, ..change });
    }
    let message = match diffs {
        None => "its policy changed",
        Some(_) if before == 0 && found.is_empty() => {
            "its policy is read otherwise by this agentry"
        }
        // Beside other changes, a policy that is only written differently is not reported.
        Some(_) => return,
    };
    found.push(LockChange::new(LockChangeKind::Policy, "", message));
}

/// What a policy gained and lost, as text, and whether it widens. A policy that cannot be compared may have
/// gained anything.
pub(super) fn policy_changes(whose: &str, old: &[String], new: &[String]) -> Vec<(String, bool)> {
    if old == new {
        return Vec::new();
    }
    match policy::diff(old, new) {
        Some(diffs) => {
            diff_texts(whose, &diffs).into_iter().map(|(_, text, widens)| (text, widens)).collect()
        }
        None => vec![(format!("{whose} has another policy"), true)],
    }
}

fn diff_texts(whose: &str, diffs: &[SectionDiff]) -> Vec<(Section, String, bool)> {
    let mut found = Vec::new();
    for SectionDiff { section, gained, lost, unknown } in diffs {
        for (word, answers, widens) in [("gained", gained, true), ("lost", lost, false)] {
            if let Some(difference) = decision_text(*section, answers) {
                found.push((
                    *section,
                    format!("{whose} {word} {}: {difference}", object(*section)),
                    widens,
                ));
            }
        }
        if let Some(why) = unknown {
            let text = format!("{whose} may have gained {}: {why}", object(*section));
            found.push((*section, text, true));
        }
    }
    found
}

/// Whether files of bases changed, and no other files.
fn is_the_bases(found: &[LockChange]) -> bool {
    let has = |kind: LockChangeKind| found.iter().any(|change| change.kind == kind);
    has(LockChangeKind::Base) && !has(LockChangeKind::File)
}

/// The subject of a section, as shown to a reviewer.
fn object(section: Section) -> &'static str {
    match section {
        Section::Bash => "commands",
        Section::Edit => "writing",
        Section::Read => "reading",
        Section::Webfetch => "network",
        Section::Websearch => "web search",
        Section::Question => "questions",
        Section::ExternalDirectory => "files outside the workspace",
        Section::Mcp => "MCP tools",
        Section::Tool => "tools",
        Section::Skill => "skills",
        Section::Delegate => "delegating",
        Section::Env => "environment variables",
    }
}

fn decision_text(section: Section, answers: &[DecisionChange]) -> Option<String> {
    let one = |answer: &DecisionChange| {
        let DecisionChange { pattern, from, to, example, .. } = answer;
        let (pattern, example) = (visible(pattern), visible(example));
        format!("{section} `{pattern}` was {from} and is {to}, as in `{example}`")
    };
    let first: Vec<_> = answers.iter().take(MOST_LISTED).map(one).collect();
    let rest = answers.len().saturating_sub(MOST_LISTED);
    let rest = if rest > 0 { format!("; and {rest} more") } else { String::new() };
    (!first.is_empty()).then(|| format!("{}{rest}", first.join("; ")))
}

fn servers(old: &[LockedServer], new: &[LockedServer], found: &mut Vec<LockChange>) {
    let find =
        |list: &[LockedServer], name: &str| list.iter().find(|server| server.name == name).cloned();
    let mut add = |name: &str, what: &str| {
        let message = format!("the MCP server `{}` {what}", visible(name));
        found.push(LockChange::new(LockChangeKind::Server, name, message));
    };
    for was in old {
        match find(new, &was.name) {
            None => add(&was.name, "is gone"),
            Some(is) => differences(was, &is).iter().for_each(|what| add(&was.name, what)),
        }
    }
    for server in new.iter().filter(|server| find(old, &server.name).is_none()) {
        add(&server.name, &format!("is new: {}", reached(server)));
    }
}

/// The differences of a server.
fn differences(was: &LockedServer, is: &LockedServer) -> Vec<String> {
    let mut found = Vec::new();
    let (before, now) = (reached(was), reached(is));
    if before != now {
        found.push(format!("was {before} and is {now}"));
    }
    let lists = [("variable", &was.env, &is.env), ("header", &was.headers, &is.headers)];
    for (what, was, is) in lists {
        let new = is.iter().filter(|name| !was.contains(name));
        found.extend(new.map(|name| format!("gets the {what} `{}` now", visible(name))));
        let gone = was.iter().filter(|name| !is.contains(name));
        found.extend(gone.map(|name| format!("no longer gets the {what} `{}`", visible(name))));
    }
    found.extend(pins(was, is));
    found
}

/// The differences of what a server announced. What this user never agreed to is not known here.
fn pins(was: &LockedServer, is: &LockedServer) -> Vec<String> {
    let (Some(before), Some(now)) = (&was.pins, &is.pins) else { return Vec::new() };
    let is_known = |what: &str| before.iter().any(|line| line.what == what);
    let new = was.unlike(now).into_iter().map(|what| {
        let how = if is_known(&what) { "changed its" } else { "has a new" };
        format!("{how} {}", named(&what))
    });
    let is_there = |what: &str| now.iter().any(|line| line.what == what);
    let gone = before.iter().filter(|line| !is_there(&line.what));
    new.chain(gone.map(|line| format!("no longer has the {}", named(&line.what)))).collect()
}

/// What a server announced, for the user: the kind, and the name in backticks.
fn named(what: &str) -> String {
    match what.split_once(' ') {
        Some((kind, name)) => format!("{kind} `{}`", visible(name)),
        None => what.to_owned(),
    }
}

/// How a server is reached.
fn reached(server: &LockedServer) -> String {
    let words = server.command.iter().chain(&server.args).chain(&server.url);
    let words: Vec<_> = words.map(String::as_str).collect();
    if words.is_empty() {
        return "left to the user's configuration".to_owned();
    }
    format!("`{}`", visible(&words.join(" ")))
}
