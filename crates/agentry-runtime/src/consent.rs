//! Consent: before the first run of an agent, the user sees everything that it may do. Consent is given
//! to the digest of the agent, so that a changed agent needs a new consent.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use agentry_compile::policy::{Action, Judge, Section};
use serde::{Deserialize, Serialize};

use crate::private_files;

/// Everything that an agent may do, for the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ConsentListing {
    /// What it may do, by kind: `commands`, `writes`, `reads`, `web` …, each with its lines.
    pub may: Vec<(&'static str, Vec<String>)>,
    /// The variables that its commands get: names, and patterns of rules.
    pub variables: Vec<String>,
    /// The code of the definition that runs: its JavaScript tools.
    pub code: Vec<String>,
    /// The MCP servers that are started or connected to.
    pub servers: Vec<String>,
    /// What confines its commands.
    pub sandbox: Vec<String>,
    /// The models that get its conversation.
    pub models: Vec<String>,
    /// The agents that work for it, each with all that it may do.
    pub delegates: Vec<String>,
}

/// The kinds of calls that are listed.
const KINDS: &[(&str, Section)] = &[
    ("commands", Section::Bash),
    ("writes", Section::Edit),
    ("reads", Section::Read),
    ("outside", Section::ExternalDirectory),
    ("web", Section::Webfetch),
    ("search", Section::Websearch),
];

impl ConsentListing {
    /// The line of a kind without rights.
    pub const NOTHING: &str = "nothing";

    /// Returns what a policy allows, by kind.
    pub fn of(judge: &Judge) -> Vec<(&'static str, Vec<String>)> {
        KINDS.iter().map(|(name, section)| (*name, lines(judge, *section))).collect()
    }

    /// Returns the listing as rows of two columns.
    pub fn rows(&self) -> Vec<(String, String)> {
        let Self { may, variables, code, servers, sandbox, models, delegates } = self;
        let mut rows = Vec::new();
        let mut add = |name: &str, lines: &[String]| {
            let none = [Self::NOTHING.to_owned()];
            let lines = if lines.is_empty() { &none } else { lines };
            for (at, line) in lines.iter().enumerate() {
                let name = if at == 0 { name } else { "" };
                rows.push((name.to_owned(), line.clone()));
            }
        };
        may.iter().for_each(|(name, lines)| add(name, lines));
        add(
            "variables",
            &[variables.join(", ")].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>(),
        );
        if !code.is_empty() {
            add("code", code);
        }
        if !servers.is_empty() {
            add("servers", servers);
        }
        add("sandbox", sandbox);
        add("models", models);
        if !delegates.is_empty() {
            add("delegates", delegates);
        }
        rows
    }
}

/// Returns the rules of a section, layer by layer; nothing if a layer denies everything.
fn lines(judge: &Judge, section: Section) -> Vec<String> {
    let layers: Vec<_> = judge.rules(section).collect();
    let wholly = |action: Action| {
        layers.iter().any(|(_, rules)| rules.all().all(|rule| rule.action == action))
    };
    // The strictest layer counts, so one layer that denies everything hides the rules of all others.
    if wholly(Action::Deny) {
        return Vec::new();
    }
    let several = layers.len() > 1;
    let mut out = Vec::new();
    for (layer, rules) in &layers {
        let whose = if several { format!(" ({layer})") } else { String::new() };
        for rule in &rules.rules {
            out.push(format!("{} `{}`{whose}", rule.action, rule.pattern.text));
        }
        let rest = if rules.rules.is_empty() { "everything" } else { "the rest" };
        out.push(format!("{} {rest}{whose}", rules.intent.action));
    }
    out
}

/// Returns what is new and what is gone in a listing: `+ writes: allow …`.
pub fn row_changes(old: &[(String, String)], new: &[(String, String)]) -> Vec<String> {
    let line = |mark: char, (kind, text): &(String, String)| format!("{mark} {kind}: {text}");
    let gone = old.iter().filter(|row| !new.contains(row)).map(|row| line('-', row));
    gone.chain(new.iter().filter(|row| !old.contains(row)).map(|row| line('+', row))).collect()
}

/// One consent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserConsent {
    /// The digest of the agent.
    pub digest: String,
    /// The name of the agent.
    pub name: String,
    /// The path of its definition.
    pub agent: String,
    /// Whether its commands may run without a sandbox.
    pub unconfined: bool,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
    /// What the digest does not cover. Older consents have none, and are asked about again.
    #[serde(default)]
    pub pins: Option<Vec<ConsentPin>>,
    /// Where the definition was, as an absolute path.
    #[serde(default)]
    pub place: String,
    /// What the user saw: the kind and the line of each row.
    #[serde(default)]
    pub rows: Vec<(String, String)>,
}

/// Something that the user agreed to beside the definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsentPin {
    /// What it is.
    pub kind: ConsentPinKind,
    /// Its path, or the names that lead to it.
    pub subject: String,
    /// Its digest.
    pub digest: String,
}

/// The kinds of pins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsentPinKind {
    /// A file of a skill.
    Skill,
    /// An agent that works for the agent, or a file of one of its skills.
    Delegate,
}

impl ConsentPinKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Delegate => "delegate",
        }
    }
}

/// What was agreed to about an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConsentState {
    /// All of it.
    Given,
    /// The same definition, but with other parts: what changed, with its kind.
    Changed(Vec<(ConsentPinKind, String)>),
    /// Nothing.
    Missing,
}

/// The consents of a user: one file each, below Agentry's home directory.
#[derive(Debug, Clone)]
pub struct ConsentStore {
    directory: PathBuf,
}

impl ConsentStore {
    /// Returns the consents that are stored in this home directory.
    pub fn of(home: &Path) -> Self {
        Self { directory: home.join("consent") }
    }

    /// Returns what was agreed to about an agent with these pins.
    pub fn state(&self, digest: &str, unconfined: bool, pins: &[ConsentPin]) -> ConsentState {
        // The content is compared too: the file name has only the letters and digits of the digest.
        let known = read(&self.path(digest, unconfined))
            .filter(|known| known.digest == digest && known.unconfined == unconfined);
        let Some(known) = known else { return ConsentState::Missing };
        match known.pins {
            Some(known) if known == pins => ConsentState::Given,
            Some(known) => ConsentState::Changed(pin_changes(&known, pins)),
            None if pins.is_empty() => ConsentState::Given,
            None => ConsentState::Missing,
        }
    }

    /// Stores a consent.
    pub fn give(&self, consent: &UserConsent) -> io::Result<()> {
        private_files::directories(&self.directory)?;
        let path = self.path(&consent.digest, consent.unconfined);
        let text = serde_json::to_string_pretty(consent).map_err(io::Error::other)?;
        private_files::replace(&path, format!("{text}\n"))
    }

    /// Returns the last consent to an earlier state of the agent at this place, if its rows are known.
    pub fn earlier(&self, place: &str, unconfined: bool) -> Option<UserConsent> {
        let is_same = |it: &UserConsent| {
            it.place == place && it.unconfined == unconfined && !it.rows.is_empty()
        };
        self.list().into_iter().rev().find(is_same)
    }

    /// Returns all consents, the oldest first.
    pub fn list(&self) -> Vec<UserConsent> {
        self.files().into_iter().map(|(_, consent)| consent).collect()
    }

    /// Revokes every consent to this digest, name or path, and returns the revoked ones.
    pub fn revoke(&self, what: &str) -> io::Result<Vec<UserConsent>> {
        let is_meant = |consent: &UserConsent| {
            let plain = consent.digest.strip_prefix("sha256:").unwrap_or(&consent.digest);
            let asked = what.strip_prefix("sha256:").unwrap_or(what);
            // A shorter prefix could match the digest of another agent.
            let prefix = asked.len() >= 8 && plain.starts_with(asked);
            prefix || consent.name == what || consent.agent == what
        };
        let mut gone = Vec::new();
        for (path, consent) in self.files() {
            if is_meant(&consent) {
                fs::remove_file(path)?;
                gone.push(consent);
            }
        }
        Ok(gone)
    }

    fn files(&self) -> Vec<(PathBuf, UserConsent)> {
        let known = private_files::with_extension(&self.directory, "json");
        let mut all: Vec<_> =
            known.into_iter().filter_map(|path| Some((path.clone(), read(&path)?))).collect();
        all.sort_by(|(_, a), (_, b)| (a.at, &a.digest).cmp(&(b.at, &b.digest)));
        all
    }

    fn path(&self, digest: &str, unconfined: bool) -> PathBuf {
        let name: String = digest.chars().filter(char::is_ascii_alphanumeric).collect();
        let kind = if unconfined { "-unconfined" } else { "" };
        self.directory.join(format!("{name}{kind}.json"))
    }
}

/// The differences between two lists of pins, for the user.
fn pin_changes(old: &[ConsentPin], new: &[ConsentPin]) -> Vec<(ConsentPinKind, String)> {
    let find = |list: &[ConsentPin], pin: &ConsentPin| {
        let same = |it: &&ConsentPin| (it.kind, &it.subject) == (pin.kind, &pin.subject);
        list.iter().find(same).map(|it| it.digest.clone())
    };
    let line = |pin: &ConsentPin, what: &str| {
        (pin.kind, format!("{} `{}` {what}", pin.kind.as_str(), pin.subject))
    };
    let known = new.iter().filter_map(|pin| match find(old, pin) {
        Some(digest) if digest == pin.digest => None,
        Some(_) => Some(line(pin, "changed")),
        None => Some(line(pin, "is new")),
    });
    let gone = old.iter().filter(|pin| find(new, pin).is_none()).map(|pin| line(pin, "is gone"));
    known.chain(gone).collect()
}

fn read(path: &Path) -> Option<UserConsent> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consent_is_stored_by_digest_and_revoked() {
        let folder = tempfile::tempdir().unwrap();
        let consents = ConsentStore::of(folder.path());
        let pin = |subject: &str, digest: &str| ConsentPin {
            kind: ConsentPinKind::Skill,
            subject: subject.to_owned(),
            digest: digest.to_owned(),
        };
        let pins = || vec![pin("a.sh", "1"), pin("b.sh", "2")];
        let has = |digest: &str, unconfined| {
            consents.state(digest, unconfined, &pins()) == ConsentState::Given
        };
        let consent = |digest: &str, unconfined, at| UserConsent {
            digest: format!("sha256:{digest}"),
            name: "helper".to_owned(),
            agent: "helper.agent".to_owned(),
            unconfined,
            at,
            pins: Some(pins()),
            place: format!("/w/{at}"),
            rows: vec![("writes".to_owned(), "allow `a`".to_owned())],
        };
        assert_eq!(consents.list(), []);
        consents.give(&consent("aaaaaaaaaa", false, 2)).unwrap();
        consents.give(&consent("bbbbbbbbbb", true, 1)).unwrap();
        assert!(has("sha256:aaaaaaaaaa", false));
        assert!(!has("sha256:aaaaaaaaaa", true), "leaving the sandbox is asked about again");
        assert!(!has("sha256:cccccccccc", false));
        assert_eq!(consents.earlier("/w/2", false), Some(consent("aaaaaaaaaa", false, 2)));
        assert_eq!(consents.earlier("/w/2", true), None);
        assert_eq!(consents.earlier("/w/3", false), None);
        assert_eq!(
            consents.list(),
            [consent("bbbbbbbbbb", true, 1), consent("aaaaaaaaaa", false, 2)]
        );
        let now = [pin("a.sh", "3"), pin("c.sh", "2")];
        let ConsentState::Changed(changes) = consents.state("sha256:aaaaaaaaaa", false, &now)
        else {
            panic!("it is changed")
        };
        let lines: Vec<&str> = changes.iter().map(|(_, line)| line.as_str()).collect();
        assert_eq!(lines, ["skill `a.sh` changed", "skill `c.sh` is new", "skill `b.sh` is gone"]);
        assert_eq!(consents.revoke("nobody").unwrap(), []);
        assert_eq!(consents.revoke("aaaaaaaa").unwrap().len(), 1);
        assert!(!has("sha256:aaaaaaaaaa", false));
        assert_eq!(consents.revoke("helper").unwrap().len(), 1);
        assert_eq!(consents.list(), []);
    }
}
