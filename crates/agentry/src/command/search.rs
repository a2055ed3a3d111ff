//! `agentry search`: finds agents of the store by words.

use agentry_compile::text::report::visible;
use agentry_registry::{AgentStore, ObjectManifest, StoreError};
use serde_json::{Value, json};

use crate::args::{ResultFormat, SearchArguments};
use crate::command::store::{failed, open_if_any};
use crate::output::{CliOutcome, ExitKind, columns, complain, note, print, print_json};

pub(crate) fn run(args: &SearchArguments) -> CliOutcome {
    let (found, exit) = found(&args.words)?;
    match args.format {
        ResultFormat::Json => {
            let row =
                |ObjectManifest { name, version, digest, description, .. }: &ObjectManifest| {
                    json!({
                        "name": name,
                        "version": version,
                        "digest": digest,
                        "description": description,
                    })
                };
            print_json(&Value::Array(found.iter().map(row).collect()));
        }
        ResultFormat::Human if found.is_empty() => {
            note("no agent of the store has all these words");
        }
        ResultFormat::Human => {
            let row = |ObjectManifest { name, version, description, .. }: &ObjectManifest| {
                let first = description.lines().next().unwrap_or_default();
                vec![visible(name).into_owned(), version.clone(), visible(first).into_owned()]
            };
            print(&columns(&found.iter().map(row).collect::<Vec<_>>()));
        }
    }
    Ok(exit)
}

/// The agents with all the words. A damaged agent is reported and does not hide the others.
fn found(words: &[String]) -> Result<(Vec<ObjectManifest>, ExitKind), crate::output::CliFailure> {
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let (mut found, mut exit) = (Vec::new(), ExitKind::Done);
    let Some(store) = open_if_any()? else { return Ok((found, exit)) };
    for listed in store.list().map_err(failed)? {
        match store.manifest(&listed.digest) {
            Ok(manifest) => {
                let text = format!("{}\n{}", manifest.name, manifest.description).to_lowercase();
                let fits = |text: &str| words.iter().all(|word| text.contains(word));
                // Tags are not in the manifest, and reading the whole agent is slower.
                if fits(&text) || tagged(&store, &manifest, &text).is_some_and(|it| fits(&it)) {
                    found.push(manifest);
                }
            }
            Err(error @ StoreError::Damaged { .. }) => {
                let failure = failed(error);
                complain(&failure);
                exit = exit.max(failure.exit);
            }
            Err(error) => return Err(failed(error)),
        }
    }
    Ok((found, exit))
}

/// The searched text with the tags of an agent; `None` if it cannot be read. `verify` reports why.
fn tagged(store: &AgentStore, manifest: &ObjectManifest, text: &str) -> Option<String> {
    let tags = store.tags(&manifest.digest).ok()?;
    (!tags.is_empty()).then(|| format!("{text}\n{}", tags.join("\n").to_lowercase()))
}
