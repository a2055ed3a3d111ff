//! `agentry keygen`: makes a key for signatures.

use agentry_compile::FileTree as _;
use agentry_registry::KeyRing;

use crate::args::KeygenArguments;
use crate::command::store::failed;
use crate::disk::DiskWorld;
use crate::home::home;
use crate::output::{CliOutcome, ExitKind, note, print};

pub(crate) fn run(args: &KeygenArguments) -> CliOutcome {
    let keys = KeyRing::new(&home()?);
    let public = keys.generate(&args.name).map_err(failed)?;
    print(&format!("{public}\n"));
    let dir = keys.dir().display();
    note(&format!("the secret key is `{dir}/{}.key`; keep it to yourself", args.name));
    if !DiskWorld::default().workspace(&dir.to_string()).is_empty() {
        note("warning: it lies in a workspace; do not commit it, or set `AGENTRY_HOME` elsewhere");
    }
    Ok(ExitKind::Done)
}
