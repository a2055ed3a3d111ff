//! `agentry memory`: what agents remember, for people: add, list, search, edit, forget.

use std::io::Write as _;
use std::process::Command;

use agentry_compile::model::MemorySource;
use agentry_compile::text::report::visible;
use agentry_home::layout::is_identifier;
use agentry_home::memory::{
    FoundMemory, MemoryDraft, MemoryEntry, MemoryError, MemoryPlaces, MemoryStore, RefreshEffort,
};
use agentry_home::repository::{CommitKind, CommitNote, RepositoryError};
use agentry_home::user::{UserName, VARIABLE};
use agentry_home::{AgentRecord, HomeLayout};
use serde_json::{Value, json};

use super::suggestion::one_of;
use crate::args::{MemoryAddArguments, MemoryAgent, MemoryArguments, MemoryCommand, ResultFormat};
use crate::command::run::memory::{announce_index, places, wanted};
use crate::command::run::prepared_agent::variable;
use crate::command::run::session::seconds;
use crate::command::{find_one, home_agents, usable};
use crate::disk::DiskWorld;
use crate::home::{current_user, home};
use crate::output::{
    CliFailure, CliOutcome, ExitKind, columns, cut, error_text, note, print, print_json, remark,
};

/// The most characters of a memory in a table.
const MOST_CHARACTERS: usize = 80;

pub(crate) fn run(args: &MemoryArguments) -> CliOutcome {
    match &args.command {
        MemoryCommand::Add(args) => add(args),
        MemoryCommand::List { agent, format } => list(agent, *format),
        MemoryCommand::Search { agent, query, count, format } => {
            search(agent, &query.join(" "), *count, *format)
        }
        MemoryCommand::Edit { agent, memory, text } => edit(agent, memory, text.as_deref()),
        MemoryCommand::Forget { agent, memories } => forget(agent, memories),
    }
}

fn add(args: &MemoryAddArguments) -> CliOutcome {
    // Anyone may teach for another user; only reading is private.
    let user = args.agent.user.as_deref().map(named_user).transpose()?;
    let is_private = user.is_some();
    let memory = opened_for(&args.agent.agent, user.map_or_else(current_user, Ok)?)?;
    let store = &memory.store;
    let draft = MemoryDraft {
        text: args.text.clone(),
        kind: args.kind,
        importance: args.importance,
        source: MemorySource::UserTeaching,
        is_pinned: args.pin,
    };
    let now = seconds();
    let entry = memory.change("add", || {
        let added = if is_private { store.teach(&draft, now) } else { store.add(&draft, now) };
        added.map_err(failed)
    })?;
    match args.format {
        ResultFormat::Json => print_json(&to_json(&entry, None)),
        ResultFormat::Human => {
            print(&format!("{}\n", visible(&entry.id)));
            let whose = match &entry.user {
                Some(user) => format!("only runs of `{user}` see it"),
                None => "runs of all users see it".to_owned(),
            };
            note(&format!("kept in `{}`; {whose}", visible(&entry.path.to_string_lossy())));
        }
    }
    Ok(ExitKind::Done)
}

fn list(agent: &MemoryAgent, format: ResultFormat) -> CliOutcome {
    let (entries, unreadable) = opened(agent)?.store.list().map_err(failed)?;
    let exit = if unreadable.is_empty() { ExitKind::Done } else { ExitKind::Findings };
    report_problems(&entries);
    for error in unreadable {
        remark(&format!("warning: {}", visible(&error.to_string())));
    }
    match format {
        ResultFormat::Json => {
            print_json(&entries.iter().map(|entry| to_json(entry, None)).collect());
        }
        ResultFormat::Human if entries.is_empty() => note("nothing is remembered"),
        ResultFormat::Human => print(&table(entries.iter().map(|entry| (entry, None)))),
    }
    Ok(exit)
}

fn search(agent: &MemoryAgent, query: &str, count: usize, format: ResultFormat) -> CliOutcome {
    let store = opened(agent)?.store.noticing(announce_index);
    let found = store.search(query, count, RefreshEffort::Full, seconds()).map_err(failed)?;
    let pairs = || found.iter().map(|FoundMemory { entry, score }| (entry, Some(*score)));
    match format {
        ResultFormat::Json => {
            print_json(&pairs().map(|(entry, score)| to_json(entry, score)).collect());
        }
        ResultFormat::Human if found.is_empty() => note("nothing is remembered about that"),
        ResultFormat::Human => print(&table(pairs())),
    }
    Ok(ExitKind::Done)
}

fn edit(agent: &MemoryAgent, memory: &str, text: Option<&str>) -> CliOutcome {
    let opened = opened(agent)?;
    let store = &opened.store;
    let changed = match text {
        Some(text) => opened.change("edit", || replace_text(store, memory, text))?,
        None => {
            let before = store.content(memory).map_err(|it| unknown(store, memory, it))?;
            let after = edited(&before)?;
            if after == before {
                note("nothing was changed");
                return Ok(ExitKind::Done);
            }
            let replace = || store.replace_content(memory, &before, &after).map_err(failed);
            opened.change("edit", replace)?
        }
    };
    report_problems([&changed]);
    note(&format!("changed `{}`", visible(&changed.path.to_string_lossy())));
    Ok(ExitKind::Done)
}

fn replace_text(store: &MemoryStore, memory: &str, text: &str) -> Result<MemoryEntry, CliFailure> {
    store.replace_text(memory, text).map_err(|error| match error {
        MemoryError::Broken { .. } => {
            failed(error).hint("fix the file by hand, or in `$EDITOR`: without `--text`")
        }
        _ => unknown(store, memory, error),
    })
}

/// Lets the user edit a copy.
fn edited(content: &str) -> Result<String, CliFailure> {
    let editor = variable("EDITOR").ok_or_else(|| {
        CliFailure::new("`EDITOR` is not set").hint("set it, or pass the new text with `--text`")
    })?;
    let broken = |error: std::io::Error| CliFailure::new(error_text(&error));
    let mut file = tempfile::Builder::new().suffix(".md").tempfile().map_err(broken)?;
    file.write_all(content.as_bytes()).map_err(broken)?;
    // As Git does it: the variable may have arguments.
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{editor} \"$1\""), &editor]).arg(file.path());
    let ended = command.status().map_err(broken)?;
    if !ended.success() {
        return Err(CliFailure::new(format!("`{editor}` failed: nothing was changed")).finding());
    }
    // Read by its path: many editors replace the file.
    std::fs::read_to_string(file.path()).map_err(broken)
}

fn forget(agent: &MemoryAgent, memories: &[String]) -> CliOutcome {
    let opened = opened(agent)?;
    let store = &opened.store;
    for memory in memories {
        let forget = || store.forget(memory).map_err(|error| unknown(store, memory, error));
        let gone = opened.change("forget", forget)?;
        note(&format!("forgot `{}`", visible(&gone.path.to_string_lossy())));
    }
    Ok(ExitKind::Done)
}

/// The memories that a command works with.
struct OpenedMemory {
    store: MemoryStore,
    places: MemoryPlaces,
}

impl OpenedMemory {
    /// Changes a memory. A change of an installed agent's own memory is a commit of its repository.
    fn change(
        &self,
        verb: &str,
        work: impl FnOnce() -> Result<MemoryEntry, CliFailure>,
    ) -> Result<MemoryEntry, CliFailure> {
        let MemoryPlaces { layout, id, is_installed, user, .. } = &self.places;
        let is_recorded = AgentRecord::open_if_any(layout)
            .and_then(|record| record.map(|record| record.find(id)).transpose())
            .map_err(|error| home_agents::failed(error.into()))?
            .flatten()
            .is_some();
        if !is_installed || !is_recorded {
            return work();
        }
        let home = home_agents::open()?;
        let locked = home.lock(id).map_err(home_agents::failed)?;
        let entry = work()?;
        if entry.user.is_none() {
            let failed = |error: RepositoryError| home_agents::failed(error.into());
            let tree = locked.repository.work_tree().map_err(failed)?;
            let subject = format!("{verb} memory {}", entry.id);
            let note = CommitNote::new(CommitKind::Person, user.as_str(), subject);
            locked.repository.change(&tree, &note).map_err(failed)?;
            home_agents::record(&home, &locked)?;
        }
        Ok(entry)
    }
}

/// The memories that a command reads or changes. A process of one user does not get at those of another.
fn opened(agent: &MemoryAgent) -> Result<OpenedMemory, CliFailure> {
    let current = current_user()?;
    let user = match agent.user.as_deref().map(named_user).transpose()? {
        Some(user) if user != current && variable(VARIABLE).is_some() => {
            let (user, current) = (user.as_str(), current.as_str());
            let message =
                format!("the memories of `{user}` are private: `{VARIABLE}` is `{current}`");
            return Err(CliFailure::new(message).refused());
        }
        Some(user) => user,
        None => current,
    };
    opened_for(&agent.agent, user)
}

fn named_user(name: &str) -> Result<UserName, CliFailure> {
    UserName::new(name).map_err(|error| CliFailure::new(error.to_string()))
}

/// The memories of an agent in runs of a user.
fn opened_for(agent: &str, user: UserName) -> Result<OpenedMemory, CliFailure> {
    let home = home()?;
    let layout = HomeLayout::new(&home);
    let disk = DiskWorld::default();
    let in_home = layout.agent(agent);
    let is_here = is_identifier(agent) && in_home.is_dir();
    // A directory of the home that no installation recorded is named by its id as well.
    let found = find_one(&disk, agent, None).or_else(|failure| {
        if is_here { find_one(&disk, &in_home.to_string_lossy(), None) } else { Err(failure) }
    });
    let compiled = found.and_then(|found| usable(&disk, &found));
    let places = match compiled {
        Ok(compiled) => {
            let off = "its runs do not use its memory (`agentry install --memory` turns it on)";
            match wanted(&disk, &compiled, &home) {
                Ok(true) => {}
                Ok(false) => remark(&format!("warning: `{}`: {off}", visible(agent))),
                Err(why) => {
                    remark(&format!("warning: `{}`: {off}: {}", visible(agent), visible(&why)));
                }
            }
            places(&disk, &compiled, &home, user)
        }
        // What users taught stays readable when the agent is broken or gone.
        Err(failure) => {
            let taught = layout.user_memory(user.as_str(), agent);
            let is_taught = is_identifier(agent) && taught.is_dir();
            if !is_here && !is_taught {
                return Err(failure);
            }
            MemoryPlaces {
                directory: is_here.then_some(in_home),
                is_installed: is_here,
                id: agent.to_owned(),
                user,
                is_shared: false,
                layout,
            }
        }
    };
    Ok(OpenedMemory { store: MemoryStore::new(&places), places })
}

/// Reports files whose metadata is broken.
fn report_problems<'a>(entries: impl IntoIterator<Item = &'a MemoryEntry>) {
    for entry in entries {
        for problem in &entry.problems {
            let path = entry.path.to_string_lossy();
            remark(&format!("warning: `{}`: {}", visible(&path), visible(problem)));
        }
    }
}

pub(crate) fn table<'a>(entries: impl Iterator<Item = (&'a MemoryEntry, Option<f64>)>) -> String {
    let head = ["id", "type", "importance", "created", "user", ""].map(str::to_owned).to_vec();
    let row = |(entry, _): (&MemoryEntry, Option<f64>)| {
        let first = entry.text.lines().next().unwrap_or_default();
        let importance = if entry.is_pinned { "pinned" } else { entry.importance.as_str() };
        let day = entry.created.split('T').next().unwrap_or_default();
        let user = entry.user.as_deref().unwrap_or("-");
        let cells = [&entry.id, &entry.kind, importance, day, user, &cut(first, MOST_CHARACTERS)];
        cells.map(|cell| visible(cell).into_owned()).to_vec()
    };
    columns(&[head].into_iter().chain(entries.map(row)).collect::<Vec<_>>())
}

fn to_json(entry: &MemoryEntry, score: Option<f64>) -> Value {
    json!({
        "id": entry.id, "type": entry.kind, "importance": entry.importance.as_str(),
        "created": entry.created, "source": entry.source, "user": entry.user, "text": entry.text,
        "path": entry.path.to_string_lossy(), "score": score, "pinned": entry.is_pinned,
        "problems": entry.problems,
    })
}

/// The failure for a memory that was not found, with the most similar id.
fn unknown(store: &MemoryStore, memory: &str, error: MemoryError) -> CliFailure {
    let is_unknown = matches!(error, MemoryError::Unknown(_));
    let failure = failed(error);
    if !is_unknown {
        return failure;
    }
    let ids: Vec<String> = store
        .list()
        .map(|(entries, _)| entries)
        .unwrap_or_default()
        .into_iter()
        .map(|it| it.id)
        .collect();
    let known = ids.iter().map(String::as_str);
    failure.hint(one_of(memory, known, "`agentry memory list` lists them"))
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
fn failed(error: MemoryError) -> CliFailure {
    let failure = CliFailure::new(error.to_string());
    match error {
        MemoryError::Ambiguous { .. } => failure.hint("name the file instead of the id"),
        MemoryError::Changed(_) => failure.hint("edit it again").finding(),
        MemoryError::Broken { .. } => failure.finding(),
        _ => failure,
    }
}
