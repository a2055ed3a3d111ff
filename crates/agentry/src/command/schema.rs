//! `agentry schema`: prints the schema that editors use for a definition.

use agentry_compile::formats::info;
use agentry_compile::schema;

use crate::args::SchemaArguments;
use crate::output::{CliFailure, CliOutcome, ExitKind, print_json};

pub(crate) fn run(args: &SchemaArguments) -> CliOutcome {
    let info = info(args.format);
    let wanted = args.document.as_deref();
    let document =
        info.documents.iter().find(|(name, _)| wanted.is_none_or(|wanted| wanted == *name));
    let Some((name, _)) = document else {
        let names: Vec<_> = info.documents.iter().map(|(name, _)| format!("`{name}`")).collect();
        let message = format!("{} has no document `{}`", args.format, wanted.unwrap_or(""));
        return Err(
            CliFailure::new(message).hint(format!("its documents are {}", names.join(", ")))
        );
    };
    if let Some(schema) = schema(args.format, name) {
        print_json(&schema);
    }
    Ok(ExitKind::Done)
}
