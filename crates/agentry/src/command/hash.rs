//! `agentry hash`: prints the digest of an agent.

use agentry_compile::text::report::visible;
use agentry_compile::{AgentDigest, FoundAgent, hash};
use serde_json::{Value, json};

use crate::args::{HashArguments, ResultFormat};
use crate::command::{find, read_definition, show_errors};
use crate::disk::DiskWorld;
use crate::output::{CliFailure, ExitKind, complain, print, print_json};

pub(crate) fn run(args: &HashArguments) -> ExitKind {
    let disk = DiskWorld::default();
    let (agents, wrong) = find(&disk, &args.agents, args.format_override);
    let several = agents.len() + wrong.len() > 1;
    let (mut exit, mut rows) = (ExitKind::Done, Vec::new());
    // A wrong path does not affect the others.
    for failure in &wrong {
        complain(failure);
        exit = exit.max(failure.exit);
    }
    for found in &agents {
        match one(&disk, found, args.full) {
            Ok((shown, _)) if args.format == ResultFormat::Human => {
                let path =
                    if several { format!("  {}", visible(&found.path)) } else { String::new() };
                print(&format!("{shown}{path}\n"));
            }
            Ok((_, digest)) => rows.push(json!({
                "path": found.path,
                "format": found.format.as_str(),
                "ag1": digest.short,
                "sha256": digest.full,
            })),
            Err(failure) => {
                complain(&failure);
                exit = exit.max(ExitKind::Findings);
            }
        }
    }
    if args.format == ResultFormat::Json {
        print_json(&Value::Array(rows));
    }
    exit
}

/// The digest to show, and all digests. A manifest is digested by its own rules even where `check`
/// finds errors, as long as those rules accept it.
fn one(
    disk: &DiskWorld,
    found: &FoundAgent,
    full: bool,
) -> Result<(String, AgentDigest), CliFailure> {
    let compiled = read_definition(disk, found);
    let digest = hash(disk, &compiled);
    match digest.short.clone().filter(|_| !full) {
        Some(short) => Ok((short, digest)),
        None if compiled.has_errors() => {
            show_errors(&compiled);
            Err(CliFailure::new(format!("`{}` has errors, so it has no digest", found.path)))
        }
        None => Ok((digest.full.clone(), digest)),
    }
}
