//! `agentry verify`: checks that an agent of the store or of a registry is unchanged, and who signed it.

use agentry_registry::oci::{OciReference, RemoteSignatures};
use agentry_registry::{KeyRing, ObjectManifest, PublicKey, SignatureTrust};
use serde_json::{Value, json};

use crate::args::{ResultFormat, VerifyArguments};
use crate::command::registry::{pulled, remote_failed};
use crate::command::store::{failed, object, open, trust};
use crate::disk::DiskWorld;
use crate::home::home;
use crate::output::{CliFailure, CliOutcome, ExitKind, print, print_json, remark};
use crate::registries::{permit_plain_http, remote_agents, repository_trust};

pub(crate) fn run(args: &VerifyArguments) -> CliOutcome {
    let disk = DiskWorld::default();
    let wanted = args.key.as_deref().map(key).transpose()?;
    let (manifest, signers, trust) = signed(&disk, args)?;
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

/// The agent, verified, with the keys that signed it and those that count for it. One wrong signature is an error.
fn signed(
    disk: &DiskWorld,
    args: &VerifyArguments,
) -> Result<(ObjectManifest, Vec<PublicKey>, SignatureTrust), CliFailure> {
    if !OciReference::is_meant(&args.reference) {
        let trust = trust(disk)?;
        let store = open()?;
        let manifest = object(disk, &store, &args.reference)?.manifest;
        let signers = store.signers(&manifest).map_err(|error| failed(error).finding())?;
        return Ok((manifest, signers, trust));
    }
    permit_plain_http(args.transport.plain_http);
    // It reports what is missing, so it refuses nothing before.
    let agent = pulled(&args.reference, &|_| Ok(SignatureTrust::default()))?;
    let trust = repository_trust(disk, &agent.reference.place()).map_err(failed)?;
    let signatures = remote_agents().and_then(|remote| remote.signatures(&agent));
    let RemoteSignatures { signers, wrong } = signatures.map_err(remote_failed)?;
    if let Some(key) = wrong.first() {
        let message = format!(
            "`{}` has a signature in the name of `{key}` that is not over this agent",
            agent.reference
        );
        let hint = "its owner signs it again and pushes it; do not trust it before";
        return Err(CliFailure::new(message).hint(hint).finding());
    }
    Ok((agent.object.manifest, signers, trust))
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
        None if !trust.keys.is_empty() && !signers.iter().any(|key| trust.counts(key)) => {
            Some("is not signed by a key that you trust".to_owned())
        }
        None if trust.missing(signers).is_some() => {
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
            let row =
                |key: &PublicKey| json!({"key": key.to_string(), "trusted": trust.counts(key)});
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
                let known = if trust.counts(key) { "trusted" } else { "not in `trusted`" };
                remark(&format!("signed by {key} ({known})"));
            }
        }
    }
}
