//! `agentry list`: lists the agents of the store, or the tags of a repository in a registry.

use agentry_compile::text::report::visible;
use agentry_registry::StoredName;
use agentry_registry::oci::OciReference;
use serde_json::{Value, json};

use crate::args::{ListArguments, ResultFormat};
use crate::command::registry::remote_failed;
use crate::command::store::{failed, open_if_any};
use crate::output::{CliOutcome, ExitKind, columns, note, print, print_json};
use crate::registries::{permit_plain_http, remote_agents};

pub(crate) fn run(args: &ListArguments) -> CliOutcome {
    if let Some(registry) = &args.registry {
        return tags(args, registry);
    }
    let store = open_if_any()?;
    let listed = store.map_or(Ok(Vec::new()), |store| store.list()).map_err(failed)?;
    match args.format {
        ResultFormat::Json => {
            let row = |StoredName { name, version, digest }: &StoredName| json!({"name": name, "version": version, "digest": digest});
            print_json(&Value::Array(listed.iter().map(row).collect()));
        }
        ResultFormat::Human if listed.is_empty() => note("the store is empty"),
        ResultFormat::Human => {
            let row = |StoredName { name, version, digest }: &StoredName| {
                vec![visible(name).into_owned(), version.clone(), digest.clone()]
            };
            print(&columns(&listed.iter().map(row).collect::<Vec<_>>()));
        }
    }
    Ok(ExitKind::Done)
}

/// Lists the tags of a repository.
fn tags(args: &ListArguments, registry: &str) -> CliOutcome {
    permit_plain_http(args.transport.plain_http);
    let reference: OciReference = registry.parse().map_err(remote_failed)?;
    let tags = remote_agents().and_then(|remote| remote.tags(&reference)).map_err(remote_failed)?;
    match args.format {
        ResultFormat::Json => {
            let row = |tag: &String| json!({"tag": tag, "reference": format!("oci://{}:{tag}", reference.place())});
            print_json(&Value::Array(tags.iter().map(row).collect()));
        }
        ResultFormat::Human if tags.is_empty() => note("the repository has no tags"),
        ResultFormat::Human => tags.iter().for_each(|tag| print(&format!("{}\n", visible(tag)))),
    }
    Ok(ExitKind::Done)
}
