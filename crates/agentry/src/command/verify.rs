//! `agentry verify`: checks that an agent of the store is unchanged, and who signed it.

use agentry_registry::{KeyRing, ObjectManifest, PublicKey, SignatureTrust};
use serde_json::{Value, json};

use crate::args::{ResultFormat, VerifyArguments};
use crate::command::store::{failed, home, object, open, trust};
use crate::disk::DiskWorld;
use crate::output::{CliFailure, CliOutcome, ExitKind, print, print_json, remark};

pub(crate) fn run(args: &VerifyArguments) -> CliOutcome {
    let disk = DiskWorld::default();
    let trust = trust(&disk)?;
    let wanted = args.key.as_deref().map(key).transpose()?;
    let store = open()?;
    let manifest = object(&disk, &store, &args.reference)?.manifest;
    let signers = store.signers(&manifest).map_err(|error| failed(error).finding())?;
    report(args, &manifest, &signers, &trust);
    match missing(&signers, wanted.as_ref(), &trust) {
        None => Ok(ExitKind::Done),
        Some(why) => {
            let ObjectManifest { name, version, .. } = &manifest;
            let failure = CliFailure::new(format!("`{name}@{version}` {why}"));
            let hint = if signers.is_empty() || wanted.is_some() {
                "`agentry sign` signs it"
            } else {
                "put a key of those into `trusted` in `[signing]` of your own config.toml, if you trust it"
            };
            Err(failure.hint(hint).finding())
        }
    }
}

/// A key from its text, or by the name that the user gave it.
fn key(text: &str) -> Result<PublicKey, CliFailure> {
    if text.starts_with("ed25519:") {
        return text.parse().map_err(failed);
    }
    let secret = KeyRing::new(&home()?).secret(text).map_err(failed)?;
    Ok(secret.public())
}

/// The signatures that are missing.
fn missing(
    signers: &[PublicKey],
    wanted: Option<&PublicKey>,
    trust: &SignatureTrust,
) -> Option<String> {
    let has = |key: &PublicKey| signers.contains(key);
    match wanted {
        Some(key) if !has(key) => Some(format!("is not signed by `{key}`")),
        None if signers.is_empty() => Some("is not signed".to_owned()),
        // Without any configured key, a signature by an unknown key is accepted.
        None if (trust.required || !trust.keys.is_empty()) && !trust.keys.iter().any(has) => {
            Some("is not signed by a key that you trust".to_owned())
        }
        Some(_) | None => None,
    }
}

fn report(
    args: &VerifyArguments,
    manifest: &ObjectManifest,
    signers: &[PublicKey],
    trust: &SignatureTrust,
) {
    let ObjectManifest { name, version, digest, .. } = manifest;
    match args.format {
        ResultFormat::Json => {
            let row = |key: &PublicKey| json!({"key": key.to_string(), "trusted": trust.keys.contains(key)});
            print_json(&json!({
                "name": name,
                "version": version,
                "digest": digest,
                "signers": signers.iter().map(row).collect::<Vec<Value>>(),
            }));
        }
        ResultFormat::Human => {
            print(&format!("{digest}\n"));
            remark(&format!("{name}@{version} is what was pushed"));
            for key in signers {
                let known = if trust.keys.contains(key) { "trusted" } else { "not in `trusted`" };
                remark(&format!("signed by {key} ({known})"));
            }
        }
    }
}
