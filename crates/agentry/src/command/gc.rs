//! `agentry gc`: removes from the store what no reference and no lock needs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use agentry_compile::FileTree as _;
use agentry_registry::oci::RemoteAgents;
use agentry_registry::{CollectedGarbage, GarbageCollection};
use serde_json::{Value, json};

use crate::args::{GcArguments, ResultFormat};
use crate::command::store::{failed, open_if_any};
use crate::disk::DiskWorld;
use crate::home::home;
use crate::output::{CliFailure, CliOutcome, ExitKind, print, print_json, remark};

/// The file of a workspace that lists the agents it needs.
const LOCK: &str = "agentry.lock";

pub(crate) fn run(args: &GcArguments) -> CliOutcome {
    let drop = args.drop.iter().map(|text| text.parse().map_err(failed));
    let drop = drop.collect::<Result<Vec<_>, CliFailure>>()?;
    let locked = locked(&DiskWorld::default())?;
    let collected = match open_if_any()? {
        Some(store) => {
            let collection = GarbageCollection { drop, locked, dry_run: args.dry_run };
            store.collect(&collection).map_err(failed)?
        }
        None => CollectedGarbage::default(),
    };
    if !args.dry_run {
        RemoteAgents::sweep(&home()?).map_err(failed)?;
    }
    report(args, &collected);
    Ok(if collected.damaged.is_empty() { ExitKind::Done } else { ExitKind::Findings })
}

/// Every digest in the lock of this workspace, whatever it is for.
fn locked(disk: &DiskWorld) -> Result<BTreeSet<String>, CliFailure> {
    let path = Path::new(&disk.workspace("")).join(LOCK);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        // Without a readable lock it is unknown what is needed, so nothing may be removed.
        Err(error) => {
            let message = crate::output::error_text(&error);
            return Err(CliFailure::new(format!("`{}` cannot be read: {message}", path.display())));
        }
    };
    // Any digest counts, in whatever field. 71 bytes are `sha256:` and 64 hexadecimal digits.
    let digests = text.match_indices("sha256:").filter_map(|(at, _)| text.get(at..at + 71));
    Ok(digests.map(str::to_owned).collect())
}

fn report(args: &GcArguments, collected: &CollectedGarbage) {
    let CollectedGarbage { removed, kept, damaged, names } = collected;
    match args.format {
        ResultFormat::Json => {
            let entry = |what: &String, why: &str| json!({"what": what, "name": names.get(what), "reason": why});
            let removed = removed.iter().map(|(what, why)| entry(what, why.as_str()));
            let kept = kept.iter().map(|(what, why)| entry(what, why.as_str()));
            print_json(&json!({
                "removed": removed.collect::<Vec<Value>>(),
                "kept": kept.collect::<Vec<Value>>(),
                "damaged": damaged,
            }));
        }
        ResultFormat::Human => {
            let verb = if args.dry_run { "would remove" } else { "removed" };
            let named = |what: &String| match names.get(what) {
                Some(name) => format!("{name} {what}"),
                None => what.clone(),
            };
            for (what, why) in removed {
                print(&format!("{verb} {} ({})\n", named(what), why.as_str()));
            }
            for (what, why) in kept {
                print(&format!("kept {} ({})\n", named(what), why.as_str()));
            }
            if removed.is_empty() && kept.is_empty() {
                remark("there is nothing to remove");
            }
            for digest in damaged {
                remark(&format!("error: `{digest}` is damaged; `--drop {digest}` removes it"));
            }
        }
    }
}
