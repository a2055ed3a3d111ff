//! `agentry list`: what the store holds.

use agentry_compile::text::report::visible;
use agentry_registry::Listed;
use serde_json::{Value, json};

use crate::args::{List, ResultFormat};
use crate::command::store::{failed, open_if_any};
use crate::output::{Exit, Outcome, columns, print, print_json, remark};

pub(crate) fn run(args: &List) -> Outcome {
    let store = open_if_any()?;
    let listed = store.map_or(Ok(Vec::new()), |store| store.list()).map_err(failed)?;
    match args.format {
        ResultFormat::Json => {
            let row = |Listed { name, version, digest }: &Listed| json!({"name": name, "version": version, "digest": digest});
            print_json(&Value::Array(listed.iter().map(row).collect()));
        }
        ResultFormat::Human if listed.is_empty() => remark("the store is empty"),
        ResultFormat::Human => {
            let row = |Listed { name, version, digest }: &Listed| {
                vec![visible(name).into_owned(), version.clone(), digest.clone()]
            };
            print(&columns(&listed.iter().map(row).collect::<Vec<_>>()));
        }
    }
    Ok(Exit::Done)
}
