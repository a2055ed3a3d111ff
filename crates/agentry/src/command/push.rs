//! `agentry push`: an agent into the store.

use agentry_registry::{Manifest, Pushed, Store};
use serde_json::json;

use crate::args::{Push, ResultFormat};
use crate::command::store::{failed, gathered, home};
use crate::disk::Disk;
use crate::output::{Exit, Outcome, print, print_json, remark};

pub(crate) fn run(args: &Push) -> Outcome {
    let disk = Disk::default();
    let gathered = gathered(&disk, &args.agent, args.format_override, args.version.as_deref())?;
    let store = Store::create(&home()?).map_err(failed)?;
    let pushed = store.push(&gathered).map_err(failed)?;
    let Manifest { name, version, digest, files, .. } = &gathered.manifest;
    match args.format {
        ResultFormat::Human => {
            print(&format!("{digest}\n"));
            let outcome = match pushed {
                Pushed::New => "is in the store now",
                Pushed::Already => "was in the store already",
                Pushed::Mended => "was damaged in the store, and is whole again; sign it anew",
            };
            remark(&format!("{name}@{version} {outcome}"));
        }
        ResultFormat::Json => {
            let files: Vec<_> = files.iter().map(|file| &file.path).collect();
            let new = pushed != Pushed::Already;
            print_json(&json!({
                "name": name,
                "version": version,
                "digest": digest,
                "new": new,
                "files": files,
            }));
        }
    }
    Ok(Exit::Done)
}
