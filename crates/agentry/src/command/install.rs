//! `agentry install`: copies an agent into the home, where it has an id, a history and a memory.

use std::collections::BTreeMap;
use std::path::Path;

use agentry_compile::formats::info;
use agentry_compile::model::Format;
use agentry_compile::policy::commands::secrets::is_secret;
use agentry_compile::text::limits;
use agentry_compile::text::report::visible;
use agentry_compile::{FileTree as _, FoundAgent, WalkedPath, read};
use agentry_home::layout::{identifier_of, is_identifier};
use agentry_home::repository::AgentTree;
use agentry_home::{AgentHome, AgentInstallation, HomeError, InstallOutcome};
use agentry_registry::{AgentReference, GatheredObject};
use serde_json::json;

use crate::args::{InstallArguments, ResultFormat};
use crate::command::policy::diff as policy_diff;
use crate::command::store::gathered;
use crate::command::{find_one, installed};
use crate::disk::DiskWorld;
use crate::output::{CliFailure, CliOutcome, ExitKind, print, print_json, remark};

/// Directories at the root of an agent that hold data of users and runs. They are never copied.
pub(super) const PRIVATE: &[&str] = &["users", "runs", "cache", "logs"];
/// The most bytes of the files that no reader asked for.
const MOST_BYTES: usize = 64 * 1024 * 1024;

pub(crate) fn run(args: &InstallArguments) -> CliOutcome {
    let disk = DiskWorld::default();
    // A path that is the id of the installed agent as well is the source of an update.
    let is_word = is_identifier(&args.source) && Path::new(&args.source).exists();
    let path = if is_word { format!("./{}", args.source) } else { args.source.clone() };
    let found = find_one(&disk, &path, args.format_override)?;
    let object = gathered(&disk, &path, args.format_override, None)?;
    let id = chosen_id(args, &object.manifest.name)?;
    let (main, mut files) = placed(&disk, &object, &id);
    add_rest(&disk, &found, &main, &mut files)?;
    let installation = AgentInstallation {
        is_chosen: args.id.is_some(),
        id,
        name: object.manifest.name.clone(),
        format: object.manifest.format,
        memory: args.memory || object.manifest.format == Format::AgentFs,
        main,
        digest: object.manifest.digest.clone(),
        source: source(&disk, &args.source, &object),
        tree: AgentTree::of_files(files),
    };
    let home = installed::open()?;
    let outcome = home.install(installation).map_err(installed::failed)?;
    let outcome = recorded(&home, outcome)?;
    report(args, &home, &outcome)
}

/// Records the digest that the agent has in its place.
fn recorded(home: &AgentHome, outcome: InstallOutcome) -> Result<InstallOutcome, CliFailure> {
    let locked = home.lock(&outcome.agent.id).map_err(installed::failed)?;
    Ok(InstallOutcome { agent: installed::record(home, &locked)?, ..outcome })
}

fn chosen_id(args: &InstallArguments, name: &str) -> Result<String, CliFailure> {
    match &args.id {
        Some(id) if is_identifier(id) => Ok(id.clone()),
        Some(id) => Err(installed::failed(HomeError::Identifier(id.clone()))),
        None => identifier_of(name).ok_or_else(|| {
            CliFailure::new(format!("no id can be made from the name `{}`", visible(name)))
                .hint("choose one with `--id ID`")
        }),
    }
}

/// Where an agent is from, in a form that is the same the next time.
fn source(disk: &DiskWorld, text: &str, object: &GatheredObject) -> String {
    let is_path = Path::new(text).exists();
    let is_stored = !is_path && !is_identifier(text) && text.parse::<AgentReference>().is_ok();
    if is_stored {
        return format!("store:{}", object.manifest.name);
    }
    disk.real(&disk.absolute(text)).unwrap_or_else(|| disk.absolute(text))
}

/// The main file and all files, at the root of the agent if it stays the same agent there.
fn placed(
    disk: &DiskWorld,
    object: &GatheredObject,
    id: &str,
) -> (String, BTreeMap<String, Vec<u8>>) {
    let manifest = &object.manifest;
    let flat = |path: &str| match manifest.dir() {
        "" => Some(path.to_owned()),
        dir => path.strip_prefix(dir)?.strip_prefix('/').map(str::to_owned),
    };
    let is_same = object.digest_at(disk, |path| Some(format!("{id}/{}", flat(path)?))).as_ref()
        == Some(&manifest.digest);
    let place =
        |path: &str| if is_same { flat(path) } else { None }.unwrap_or_else(|| path.to_owned());
    let files = object.files.iter().map(|(path, bytes)| (place(path), bytes.clone()));
    (place(&manifest.main), files.collect())
}

/// Adds the files of the agent's directory that no reader asked for, in formats whose agents own their directory.
fn add_rest(
    disk: &DiskWorld,
    found: &FoundAgent,
    main: &str,
    files: &mut BTreeMap<String, Vec<u8>>,
) -> Result<(), CliFailure> {
    if !info(found.format).files.owns_directory {
        return Ok(());
    }
    let root = disk.absolute(&found.dir).trim_end_matches('/').to_owned();
    let (mut paths, mut unreadable) = (Vec::new(), Vec::new());
    disk.walk(&root, &mut |walked| match walked {
        WalkedPath::File(path) => paths.push(path.to_owned()),
        WalkedPath::Unnamed(path) => unreadable.push(format!("`{path}`: its name is not UTF-8")),
        WalkedPath::Failed(path, why) => unreadable.push(format!("`{path}`: {why}")),
    });
    let inside =
        main.rsplit_once('/').map_or(String::new(), |(directory, _)| format!("{directory}/"));
    let mut total = 0;
    for path in paths {
        let Some(rest) = path.strip_prefix(&root).and_then(|rest| rest.strip_prefix('/')) else {
            continue;
        };
        let place = format!("{inside}{rest}");
        if files.contains_key(&place) || is_private(rest) {
            continue;
        }
        if let Some(kind) = is_secret(&format!("/{rest}"), None) {
            remark(&format!("note: `{rest}` stays where it is: {kind}"));
            continue;
        }
        match disk.read(&root, &path, limits::FILE_BYTES) {
            Ok(bytes) => {
                total += bytes.len();
                files.insert(place, bytes);
            }
            Err(error) => unreadable.push(format!("`{path}`: {error}")),
        }
    }
    if total > MOST_BYTES || files.len() > limits::FILES {
        let message =
            format!("`{}` has more than {} files or {MOST_BYTES} bytes", found.path, limits::FILES);
        return Err(CliFailure::new(message).finding());
    }
    if unreadable.is_empty() {
        return Ok(());
    }
    let message = format!("`{}` cannot be installed", found.path);
    Err(CliFailure::new(message).details(unreadable).finding())
}

/// Whether a path below an agent belongs to users, runs, caches or logs.
pub(super) fn is_private(path: &str) -> bool {
    let first = path.split_once('/').map(|(first, _)| first.to_lowercase());
    first.is_some_and(|first| PRIVATE.contains(&first.as_str()))
}

fn report(args: &InstallArguments, home: &AgentHome, outcome: &InstallOutcome) -> CliOutcome {
    let agent = &outcome.agent;
    let diffs = match &outcome.before {
        Some((old, tree)) => {
            let locked = home.lock(&agent.id).map_err(installed::failed)?;
            let now = locked.tree().map_err(installed::failed)?;
            Some(installed::permission_diff(home, (old, tree), (agent, &now))?)
        }
        None => None,
    };
    match args.format {
        ResultFormat::Json => {
            let mut value = json!({
                "id": agent.id,
                "path": agent.path.to_string_lossy(),
                "digest": agent.digest,
                "commit": outcome.commit,
                "updated": outcome.before.is_some(),
            });
            if let (Some(Some(diffs)), Some(object)) = (&diffs, value.as_object_mut()) {
                object.insert("changes".to_owned(), policy_diff::to_json(diffs, &[]));
            }
            print_json(&value);
        }
        ResultFormat::Human => {
            print(&format!("{}\n", agent.id));
            let done = match (&outcome.before, &outcome.commit) {
                (None, _) => "is installed",
                (Some(_), Some(_)) => "is updated",
                (Some(_), None) => "is up to date",
            };
            remark(&format!("{} {done} in {}", agent.name, agent.path.display()));
            match diffs {
                Some(Some(diffs)) if outcome.commit.is_some() => {
                    policy_diff::to_text(&diffs, &[]).lines().for_each(remark);
                }
                Some(None) => remark(
                    "note: what it may do more is not known, because one of the versions has errors",
                ),
                _ => {}
            }
        }
    }
    let has_errors =
        read(&DiskWorld::default(), &installed::found_agent(agent, &agent.id)).has_errors();
    Ok(if has_errors { ExitKind::Findings } else { ExitKind::Done })
}
