//! `agentry list`: lists the agents of the store.

use agentry_compile::text::report::visible;
use agentry_registry::StoredName;
use serde_json::{Value, json};

use crate::args::{ListArguments, ResultFormat};
use crate::command::store::{failed, open_if_any};
use crate::output::{CliOutcome, ExitKind, columns, print, print_json, remark};

pub(crate) fn run(args: &ListArguments) -> CliOutcome {
    let store = open_if_any()?;
    let listed = store.map_or(Ok(Vec::new()), |store| store.list()).map_err(failed)?;
    match args.format {
        ResultFormat::Json => {
            let row = |StoredName { name, version, digest }: &StoredName| json!({"name": name, "version": version, "digest": digest});
            print_json(&Value::Array(listed.iter().map(row).collect()));
        }
        ResultFormat::Human if listed.is_empty() => remark("the store is empty"),
        ResultFormat::Human => {
            let row = |StoredName { name, version, digest }: &StoredName| {
                vec![visible(name).into_owned(), version.clone(), digest.clone()]
            };
            print(&columns(&listed.iter().map(row).collect::<Vec<_>>()));
        }
    }
    Ok(ExitKind::Done)
}
