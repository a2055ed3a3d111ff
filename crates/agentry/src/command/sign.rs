//! `agentry sign`: signs an agent of the store.

use agentry_registry::{KeyRing, ObjectManifest};

use crate::args::SignArguments;
use crate::command::store::{failed, object, open};
use crate::disk::DiskWorld;
use crate::home::home;
use crate::output::{CliOutcome, ExitKind, note, print};

pub(crate) fn run(args: &SignArguments) -> CliOutcome {
    let key = KeyRing::new(&home()?).secret(&args.key);
    let key = key.map_err(|error| failed(error).hint("`agentry keygen` makes a key"))?;
    let store = open()?;
    let ObjectManifest { digest, name, version, .. } =
        object(&DiskWorld::default(), &store, &args.reference)?.manifest;
    store.sign(&digest, &key).map_err(failed)?;
    print(&format!("{digest}\n"));
    note(&format!("{name}@{version} is signed by {}", key.public()));
    Ok(ExitKind::Done)
}
