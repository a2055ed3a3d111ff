//! `agentry new`: a starting point that passes every check.

use agentry_compile::model::slug;
use agentry_compile::new_agent;

use crate::args::New;
use crate::output::{Exit, Failure, Outcome, print};
use crate::save;

pub(crate) fn run(args: &New) -> Outcome {
    let good = slug(&args.name);
    if good != args.name || good.len() > 64 {
        let failure = Failure::new(format!(
            "`{}` is not a name: use lower-case letters, digits and single hyphens",
            args.name
        ));
        return Err(if good.is_empty() {
            failure
        } else {
            failure.hint(format!("for example `{good}`"))
        });
    }
    let files = new_agent(args.format, &args.name);
    let dir = if args.output == "." { "" } else { args.output.trim_end_matches('/') };
    save::create(dir, &files, false)?;
    for (path, _) in &files {
        print(&if dir.is_empty() {
            format!("wrote {path}\n")
        } else {
            format!("wrote {dir}/{path}\n")
        });
    }
    Ok(Exit::Done)
}
