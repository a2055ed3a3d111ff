//! `agentry new`: writes a starting point that passes every check.

use agentry_compile::formats::info;
use agentry_compile::model::slug;
use agentry_compile::new_agent;
use agentry_compile::text::report::visible;

use crate::args::NewArguments;
use crate::output::{CliFailure, CliOutcome, ExitKind, print};
use crate::save::{FileSaving, ReplaceMode};

pub(crate) fn run(args: &NewArguments) -> CliOutcome {
    check_name(args)?;
    if info(args.format).files.reserved_names.contains(&args.name.as_str()) {
        let message = format!("the name `{}` is reserved in {}", args.name, args.format);
        return Err(CliFailure::new(message));
    }
    let files = new_agent(args.format, &args.name);
    let dir = if args.output == "." { "" } else { args.output.trim_end_matches('/') };
    FileSaving {
        dir,
        files: &files,
        beside: &[],
        stale: &[],
        mode: ReplaceMode::Never,
        durable: true,
    }
    .save()?;
    for (path, _) in &files {
        print(&if dir.is_empty() {
            format!("wrote {path}\n")
        } else {
            format!("wrote {}/{path}\n", visible(dir))
        });
    }
    Ok(ExitKind::Done)
}

/// The length limit of a name.
const LONGEST: usize = 64;

fn check_name(args: &NewArguments) -> Result<(), CliFailure> {
    let NewArguments { name, format, .. } = args;
    let good = slug(name);
    if name.len() > LONGEST {
        let count = name.len();
        return Err(CliFailure::new(format!(
            "the name has {count} bytes; at most {LONGEST} are allowed"
        )));
    }
    if !name.is_empty() && good == *name {
        return Ok(());
    }
    let message =
        format!("`{name}` is not a name: use lower-case letters, digits and single hyphens");
    let near = match name.trim_end_matches('/').rsplit_once('/') {
        // A path: its end is meant as the name.
        Some((dir, last)) if !dir.is_empty() && slug(last) == last => {
            Some(format!("a directory stands apart: `agentry new {format} {last} -o {dir}`"))
        }
        _ => (!good.is_empty()).then(|| format!("for example `{good}`")),
    };
    Err(CliFailure::new(message).hint_opt(near))
}
