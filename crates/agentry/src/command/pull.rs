//! `agentry pull`: writes an agent of the store or of a registry as files, or nothing if they would be another agent.

use std::path::Path;

use agentry_compile::text::report::visible;
use agentry_compile::{FoundAgent, digest, read};
use agentry_registry::StoreObject;
use agentry_registry::oci::OciReference;
use serde_json::json;

use crate::args::{PullArguments, ResultFormat};
use crate::command::registry::accepted;
use crate::command::store::{failed, missed, open, trust};
use crate::disk::DiskWorld;
use crate::output::{CliFailure, CliOutcome, ExitKind, print, print_json};
use crate::registries::permit_plain_http;
use crate::save::{FileSaving, ReplaceMode};

/// The file that makes a directory the root of a workspace.
const CONFIG: &str = "agentry.toml";
/// The content of that file when `pull` writes it.
const ROOT_MARK: &str = "# The files of the agent are named from here.\n";

pub(crate) fn run(args: &PullArguments) -> CliOutcome {
    let disk = DiskWorld::default();
    let object = object(&disk, args)?;
    let placed = placed(args, &disk, &object)?;
    let mode = if args.force { ReplaceMode::Force } else { ReplaceMode::Refuse };
    FileSaving {
        dir: &placed.dir,
        files: &placed.files,
        beside: &[],
        stale: &[],
        mode,
        durable: true,
    }
    .save()?;
    if let Err(failure) = is_the_same(&disk, &placed, &object) {
        if !args.force {
            take_back(&placed)?;
        }
        return Err(failure);
    }
    report(args, &placed, &object);
    Ok(ExitKind::Done)
}

/// The agent of the store or of a registry, if it has the required signatures.
fn object(disk: &DiskWorld, args: &PullArguments) -> Result<StoreObject, CliFailure> {
    if OciReference::is_meant(&args.reference) {
        permit_plain_http(args.transport.plain_http);
        return Ok(accepted(disk, &args.reference)?.object);
    }
    let trust = trust(disk)?;
    let reference = args.reference.parse().map_err(failed)?;
    let store = open()?;
    store.read_trusted(&reference, &trust).map_err(|error| missed(&store, error))
}

/// Files that are about to be written.
struct PulledFiles {
    /// The directory that no file may leave; empty where the path is absolute.
    dir: String,
    files: Vec<(String, Vec<u8>)>,
    /// The main file, one of `files`.
    main: String,
}

/// Decides where the files go: a file to the path itself, a directory into it, and an agent with workspace
/// files in the layout of its workspace.
fn placed(
    args: &PullArguments,
    disk: &DiskWorld,
    object: &StoreObject,
) -> Result<PulledFiles, CliFailure> {
    let manifest = &object.manifest;
    let output = args.output.trim_end_matches('/');
    let output = if output.is_empty() { "/" } else { output };
    let name = std::path::absolute(output).ok();
    let name = name.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    let name = name.unwrap_or_default();
    let stays = |place: &dyn Fn(&str) -> Option<String>| {
        object.digest_at(disk, place).as_ref() == Some(&manifest.digest)
    };
    if is_file(args, object) {
        if !stays(&|_| Some(name.to_owned())) {
            let message =
                format!("`{}` would be another agent by the name `{name}`", manifest.name);
            return Err(CliFailure::new(message).hint("pull it into a directory").finding());
        }
        let files = object.files.iter().map(|(_, bytes)| (output.to_owned(), bytes.clone()));
        let main = output.to_owned();
        return Ok(PulledFiles { dir: String::new(), files: files.collect(), main });
    }
    let inner =
        |path: &str| path.strip_prefix(manifest.dir())?.strip_prefix('/').map(str::to_owned);
    // The name of the directory may be part of the agent, so its digest decides about the layout.
    let flat = !name.is_empty() && stays(&|path| Some(format!("{name}/{}", inner(path)?)));
    let place =
        |path: &String| if flat { inner(path) } else { None }.unwrap_or_else(|| path.clone());
    let files = object.files.iter().map(|(path, bytes)| (place(path), bytes.clone()));
    let mut files: Vec<_> = files.collect();
    let rooted = !manifest.dir().is_empty() && !flat;
    if rooted && object.files.iter().any(|(path, _)| inner(path).is_none()) {
        files.extend(root_mark(output, &files));
    }
    Ok(PulledFiles { dir: output.to_owned(), files, main: place(&manifest.main) })
}

/// The file that makes a directory the root of a workspace, unless it already is one. An agent that names
/// files of its workspace then finds them.
fn root_mark(dir: &str, files: &[(String, Vec<u8>)]) -> Option<(String, Vec<u8>)> {
    let is_there = |mark: &str| Path::new(dir).join(mark).exists();
    let comes = files.iter().any(|(path, _)| path == CONFIG);
    // A Git root is the root of a workspace as well.
    let needed = !comes && !is_there(CONFIG) && !is_there(".git");
    needed.then(|| (CONFIG.to_owned(), ROOT_MARK.as_bytes().to_owned()))
}

/// Whether the path names the only file of the agent.
fn is_file(args: &PullArguments, object: &StoreObject) -> bool {
    let main = &object.manifest.main;
    let ending = [".agent.md", ".agent"].into_iter().find(|end| main.ends_with(end));
    let fits = ending.is_some_and(|ending| args.output.ends_with(ending));
    fits && object.files.len() == 1 && !Path::new(&args.output).is_dir()
}

/// Checks that the written files are the pulled agent: existing files beside them may change it.
fn is_the_same(
    disk: &DiskWorld,
    placed: &PulledFiles,
    object: &StoreObject,
) -> Result<(), CliFailure> {
    let path = full(placed, &placed.main);
    let (dir, main) = path.rsplit_once('/').unwrap_or(("", &path));
    let dir = if dir.is_empty() && path.starts_with('/') { "/" } else { dir };
    let found = FoundAgent {
        path: path.clone(),
        dir: dir.to_owned(),
        main: main.to_owned(),
        format: object.manifest.format,
    };
    if digest(disk, &read(disk, &found)) == object.manifest.digest {
        return Ok(());
    }
    let message =
        format!("`{path}` would be another agent: files that lie there would become a part of it");
    Err(CliFailure::new(message).hint("pull it into an empty directory").finding())
}

/// Removes the files that did not exist before.
fn take_back(placed: &PulledFiles) -> Result<(), CliFailure> {
    let stale: Vec<_> = placed.files.iter().map(|(path, _)| path.clone()).collect();
    let none: [(String, Vec<u8>); 0] = [];
    FileSaving {
        dir: &placed.dir,
        files: &none,
        beside: &[],
        stale: &stale,
        mode: ReplaceMode::Force,
        durable: true,
    }
    .save()
}

fn full(placed: &PulledFiles, path: &str) -> String {
    if placed.dir.is_empty() { path.to_owned() } else { format!("{}/{path}", placed.dir) }
}

fn report(args: &PullArguments, placed: &PulledFiles, object: &StoreObject) {
    let files: Vec<_> = placed.files.iter().map(|(path, _)| full(placed, path)).collect();
    match args.format {
        ResultFormat::Human => {
            files.iter().for_each(|file| print(&format!("wrote {}\n", visible(file))));
        }
        ResultFormat::Json => {
            let manifest = &object.manifest;
            print_json(&json!({
                "name": manifest.name,
                "version": manifest.version,
                "digest": manifest.digest,
                "main": full(placed, &placed.main),
                "files": files,
            }));
        }
    }
}
