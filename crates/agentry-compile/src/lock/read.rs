//! Reads a lock. It may have been merged by hand, written by another version, or cut off: anything that is
//! not understood is an error with a position, and never ignored.

use agentry_model::Format;
use agentry_text::path::join;
use agentry_text::table::{Coercion, validate};
use agentry_text::{
    Field, FieldKind, FieldTable, FileId, Findings, Severity, SourceFile, TableRecord, TreeEntry,
    TreeMap, TreeNode, toml,
};

use super::delegates::{self, DELEGATE};
use super::write::quoted;
use super::{
    FILE, LockError, LockSection, LockedAgent, LockedServer, Lockfile, ServerPinLine, VERSION,
    version_0,
};
use crate::resolve::PlannedFile;
use crate::world::{ReadError, World};

/// The most bytes of a lock.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// The start of an agent's table header.
const HEADER: &str = "[agents.";
/// The conflict markers of version control.
const MARKERS: &[&str] = &["<<<<<<< ", "||||||| ", "=======", ">>>>>>> "];

static AGENT: FieldTable = FieldTable::new(
    "the locked agent",
    &[
        Field::optional(
            "version",
            FieldKind::Int(0, 0),
            "The version that pinned it, if an older one.",
        ),
        Field::required("name", FieldKind::Str, "Its name."),
        Field::required("format", FieldKind::Choice(Format::WORDS), "Its format."),
        Field::required("digest", FieldKind::Str, "The digest of `hash --full`."),
        Field::optional("bases", FieldKind::List(&FieldKind::Str), "What it is built on."),
        Field::optional("files", FieldKind::List(&FieldKind::Str), "The files that take part."),
        Field::optional("base_files", FieldKind::List(&FieldKind::Str), "The files of its bases."),
        Field::optional(
            "models",
            FieldKind::List(&FieldKind::Str),
            "The models that it may run on.",
        ),
        Field::optional(
            "skills",
            FieldKind::List(&FieldKind::Str),
            "What its skills come down to.",
        ),
        Field::required("policy_digest", FieldKind::Str, "The digest of its policy."),
        Field::optional(
            "policy",
            FieldKind::List(&FieldKind::Str),
            "What it may do, a line a rule.",
        ),
        Field::optional("servers", FieldKind::List(&FieldKind::Block(&SERVER)), "Its MCP servers."),
        Field::optional(
            "delegates",
            FieldKind::List(&FieldKind::Block(&DELEGATE)),
            "The agents that work for it.",
        ),
    ],
);

static SERVER: FieldTable = FieldTable::new(
    "the locked server",
    &[
        Field::required("name", FieldKind::Str, "Its name."),
        Field::optional("command", FieldKind::Str, "The program that is it."),
        Field::optional("args", FieldKind::List(&FieldKind::Str), "The program's arguments."),
        Field::optional("url", FieldKind::Str, "Its address."),
        Field::optional("env", FieldKind::List(&FieldKind::Str), "The names of its variables."),
        Field::optional("headers", FieldKind::List(&FieldKind::Str), "The names of its headers."),
        Field::optional("pins", FieldKind::List(&FieldKind::Str), "What it announced, by digest."),
    ],
);

/// The lock of a workspace, or `None` if it has none.
pub fn read(world: &dyn World, workspace: &str) -> Result<Option<Lockfile>, LockError> {
    let path = join(workspace, FILE);
    let refuse = |why: &str| LockError::new(format!("`{path}` cannot be read: {why}"), REWRITE);
    match world.read(workspace, &path, MOST_BYTES) {
        Err(ReadError::Missing) => Ok(None),
        Err(error) => Err(refuse(&error.to_string())),
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Lockfile::parse(&text).map(Some),
            Err(_) => Err(refuse("it is not UTF-8")),
        },
    }
}

const REWRITE: &str =
    "restore it from version control, or remove it and write it anew with `agentry lock`";

impl Lockfile {
    /// Parses the text of a lock. The tables of agents are only separated; [`Lockfile::get`] parses one.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        // Editors and Git may add a byte order mark or Windows line ends.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        unmerged(&text)?;
        let starts = starts(&text);
        let preamble = starts.first().and_then(|(at, _)| text.get(..*at)).unwrap_or(&text);
        match version(preamble)? {
            // Only the preamble is parsed here, because a later version may change the tables.
            VERSION => {}
            0 => return version_0::migrate(&text),
            newer => {
                let message = format!(
                    "`{FILE}` has version {newer}; this agentry knows versions up to {VERSION}"
                );
                return Err(LockError::new(message, "use the newer agentry that wrote it"));
            }
        }
        let mut lock = Self::default();
        let ends = starts.iter().skip(1).map(|(at, _)| *at).chain([text.len()]);
        for ((start, line), end) in starts.iter().zip(ends) {
            let part = text.get(*start..end).unwrap_or_default().trim_end();
            let key = header(part, *line)?;
            let section = LockSection { text: format!("{part}\n"), line: *line };
            if lock.sections.insert(key.clone(), section).is_some() {
                let message = format!("{FILE}:{line}: `{key}` is locked twice");
                return Err(LockError::new(message, format!("`agentry lock --update {key}`")));
            }
        }
        Ok(lock)
    }
}

/// Fails if the text has conflict markers.
fn unmerged(text: &str) -> Result<(), LockError> {
    let is_marker = |line: &str| MARKERS.iter().any(|marker| line.starts_with(marker));
    match text.lines().position(is_marker) {
        Some(at) => Err(LockError::new(
            format!("{FILE}:{}: the lock has unresolved merge conflicts", at + 1),
            "take either side, then run `agentry lock`: it writes what the files say now",
        )),
        None => Ok(()),
    }
}

/// The byte offset and line of each agent's table.
fn starts(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    for (line, part) in text.split_inclusive('\n').enumerate() {
        if part.starts_with(HEADER) {
            found.push((at, line + 1));
        }
        at += part.len();
    }
    found
}

fn version(preamble: &str) -> Result<i64, LockError> {
    let node = parsed(preamble, 1)?;
    let entry =
        node.as_map().and_then(|map| map.entries.iter().find(|it| it.key.text == "version"));
    let version =
        entry.and_then(|entry| agentry_text::record::as_int(&entry.value, Coercion::Strict));
    version.filter(|version| *version >= 0).ok_or_else(|| {
        LockError::new(format!("`{FILE}` does not say which version it has"), REWRITE)
    })
}

/// The key of the agent in a table header.
fn header(part: &str, line: usize) -> Result<String, LockError> {
    let first = part.lines().next().unwrap_or_default();
    let plain = first.strip_prefix(HEADER).and_then(|rest| rest.trim_end().strip_suffix("\"]"));
    // Most keys need no unescaping, so the TOML parser is skipped.
    if let Some(key) = plain.and_then(|rest| rest.strip_prefix('"'))
        && !key.contains(['"', '\\'])
    {
        return Ok(key.to_owned());
    }
    let node = parsed(first, line)?;
    let key = agents(&node).and_then(|map| map.entries.first()).map(|entry| entry.key.text.clone());
    key.ok_or_else(|| LockError::new(format!("{FILE}:{line}: no agent is named here"), REWRITE))
}

fn agents(node: &TreeNode) -> Option<&TreeMap> {
    let named = |entry: &&TreeEntry| entry.key.text == "agents";
    node.as_map()?.entries.iter().find(named)?.value.as_map()
}

/// Parses a part of the file that starts at `line`.
pub(super) fn parsed(part: &str, line: usize) -> Result<TreeNode, LockError> {
    let source = SourceFile::new(FileId(0), FILE, part);
    let mut findings = Findings::default();
    let node = toml::parse(&source, &mut findings);
    sound(&source, &findings, line)?;
    Ok(node)
}

fn sound(source: &SourceFile, findings: &Findings, line: usize) -> Result<(), LockError> {
    let error = findings.iter().find(|found| found.severity == Severity::Error);
    let Some(error) = error else { return Ok(()) };
    // The part was parsed alone, so its lines are shifted to those of the file.
    let at = line + source.position(error.span.start as usize).line - 1;
    Err(LockError::new(format!("{FILE}:{at}: {}", error.message), REWRITE))
}

/// Parses the table of one agent.
pub(super) fn entry(key: &str, section: &LockSection) -> Result<LockedAgent, LockError> {
    let source = SourceFile::new(FileId(0), FILE, &section.text);
    let mut findings = Findings::default();
    let node = toml::parse(&source, &mut findings);
    let node = agents(&node).and_then(|map| map.entries.first()).map(|entry| &entry.value);
    if let Some(node) = node {
        validate(&AGENT, node, Coercion::Strict, &mut findings);
    }
    sound(&source, &findings, section.line.max(1))?;
    let wrong =
        || LockError::new(format!("`{FILE}` says nothing sound of {}", quoted(key)), REWRITE);
    let record = node.map(|node| TableRecord::new(&AGENT, node, Coercion::Strict));
    record.and_then(|record| locked(&record)).ok_or_else(wrong)
}

fn locked(record: &TableRecord<'_>) -> Option<LockedAgent> {
    let text = |name: &str| record.str(name).map(|text| text.value);
    let lines = |name: &str| texts(record, name);
    let skill = |line: String| {
        line.split_once(": ").map(|(name, found)| (name.to_owned(), found.to_owned()))
    };
    Some(LockedAgent {
        name: text("name")?,
        format: record.word("format")?.value,
        digest: text("digest")?,
        bases: lines("bases"),
        files: lines("files").iter().map(|line| file(line)).collect::<Option<_>>()?,
        base_files: lines("base_files").iter().map(|line| file(line)).collect::<Option<_>>()?,
        models: lines("models"),
        skills: lines("skills").into_iter().map(skill).collect::<Option<_>>()?,
        policy_digest: text("policy_digest")?,
        policy: lines("policy"),
        // An entry migrated from version 0 is marked, and has no servers to compare.
        servers: if record.has("version") {
            None
        } else {
            let servers = record.list("servers").unwrap_or_default();
            Some(servers.iter().map(server).collect::<Option<_>>()?)
        },
        delegates: {
            let listed = record.list("delegates").unwrap_or_default().iter();
            listed.map(delegates::read).collect::<Option<_>>()?
        },
    })
}

fn texts(record: &TableRecord<'_>, name: &str) -> Vec<String> {
    record.strings(name).unwrap_or_default().into_iter().map(|text| text.value).collect()
}

/// Parses `path sha256:…`.
fn file(line: &str) -> Option<PlannedFile> {
    let (path, digest) = line.rsplit_once(' ')?;
    Some(PlannedFile { path: path.to_owned(), digest: digest.to_owned() })
}

/// Parses `tool NAME sha256:…`.
fn pin(line: &str) -> Option<ServerPinLine> {
    let (what, digest) = line.rsplit_once(' ')?;
    Some(ServerPinLine { what: what.to_owned(), digest: digest.to_owned() })
}

fn server(node: &TreeNode) -> Option<LockedServer> {
    let record = TableRecord::new(&SERVER, node, Coercion::Strict);
    let text = |name: &str| record.str(name).map(|text| text.value);
    Some(LockedServer {
        name: text("name")?,
        command: text("command"),
        args: texts(&record, "args"),
        url: text("url"),
        env: texts(&record, "env"),
        headers: texts(&record, "headers"),
        pins: if record.has("pins") {
            Some(texts(&record, "pins").iter().map(|line| pin(line)).collect::<Option<_>>()?)
        } else {
            None
        },
    })
}
