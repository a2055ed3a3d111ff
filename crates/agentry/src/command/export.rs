//! `agentry export`: writes the files of an installed agent, without its history and without what belongs to users and runs.

use agentry_compile::policy::commands::secrets::is_secret;
use agentry_compile::text::report::visible;
use agentry_home::repository::TreeMode;
use serde_json::json;

use crate::args::{ExportArguments, ResultFormat};
use crate::command::install::is_private;
use crate::command::installed;
use crate::output::{CliFailure, CliOutcome, ExitKind, print, print_json};
use crate::save::{FileSaving, ReplaceMode};

pub(crate) fn run(args: &ExportArguments) -> CliOutcome {
    let home = installed::open()?;
    let locked = home.lock(&args.id).map_err(installed::failed)?;
    let tree = locked.tree().map_err(installed::failed)?;
    let mut files = Vec::new();
    for (path, file) in tree.files {
        if is_private(&path) || is_secret(&format!("/{path}"), None).is_some() {
            continue;
        }
        if file.mode == TreeMode::Link {
            return Err(CliFailure::new(format!("`{path}` is a link, which is not exported"))
                .hint("replace it by the file that it leads to")
                .finding());
        }
        files.push((path, file.bytes));
    }
    let mode = if args.force { ReplaceMode::Force } else { ReplaceMode::Refuse };
    FileSaving { dir: &args.output, files: &files, beside: &[], stale: &[], mode, durable: true }
        .save()?;
    match args.format {
        ResultFormat::Json => {
            let paths: Vec<_> = files.iter().map(|(path, _)| path).collect();
            print_json(&json!({"id": args.id, "path": args.output, "files": paths}));
        }
        ResultFormat::Human => {
            for (path, _) in &files {
                print(&format!(
                    "wrote {}/{}\n",
                    visible(args.output.trim_end_matches('/')),
                    visible(path)
                ));
            }
        }
    }
    Ok(ExitKind::Done)
}
