//! `agentry push`: adds an agent to the store.

use agentry_registry::{AgentStore, ObjectManifest, PushOutcome};
use serde_json::json;

use crate::args::{PushArguments, ResultFormat};
use crate::command::store::{failed, gathered, home};
use crate::disk::DiskWorld;
use crate::output::{CliOutcome, ExitKind, print, print_json, remark};

pub(crate) fn run(args: &PushArguments) -> CliOutcome {
    let disk = DiskWorld::default();
    let gathered = gathered(&disk, &args.agent, args.format_override, args.version.as_deref())?;
    let store = AgentStore::create(&home()?).map_err(failed)?;
    let pushed = store.push(&gathered).map_err(failed)?;
    let ObjectManifest { name, version, digest, files, .. } = &gathered.manifest;
    match args.format {
        ResultFormat::Human => {
            print(&format!("{digest}\n"));
            let outcome = match pushed {
                PushOutcome::New => "is in the store now",
                PushOutcome::Already => "was in the store already",
                PushOutcome::Mended => "was damaged in the store, and is whole again; sign it anew",
            };
            remark(&format!("{name}@{version} {outcome}"));
        }
        ResultFormat::Json => {
            let files: Vec<_> = files.iter().map(|file| &file.path).collect();
            let new = pushed != PushOutcome::Already;
            print_json(&json!({
                "name": name,
                "version": version,
                "digest": digest,
                "new": new,
                "files": files,
            }));
        }
    }
    Ok(ExitKind::Done)
}
