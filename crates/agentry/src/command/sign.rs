//! `agentry sign`: a signature under an agent of the store.

use agentry_registry::{KeyRing, Manifest};

use crate::args::Sign;
use crate::command::store::{failed, home, object, open};
use crate::disk::Disk;
use crate::output::{Exit, Outcome, print, remark};

pub(crate) fn run(args: &Sign) -> Outcome {
    let key = KeyRing::new(&home()?).secret(&args.key);
    let key = key.map_err(|error| failed(error).hint("`agentry keygen` makes a key"))?;
    let store = open()?;
    let Manifest { digest, name, version, .. } =
        object(&Disk::default(), &store, &args.reference)?.manifest;
    store.sign(&digest, &key).map_err(failed)?;
    print(&format!("{digest}\n"));
    remark(&format!("{name}@{version} is signed by {}", key.public()));
    Ok(Exit::Done)
}
