//! `agentry push`: adds an agent to the store, or to a registry.

use std::path::Path;

use agentry_registry::oci::{ArtifactUpload, OciReference};
use agentry_registry::{AgentReference, AgentStore, ObjectManifest, ObjectSignature, PushOutcome};
use serde_json::json;

use crate::args::{PushArguments, ResultFormat};
use crate::command::registry::remote_failed;
use crate::command::store::{failed, gathered, missed, open, open_if_any};
use crate::disk::DiskWorld;
use crate::home::home;
use crate::output::{CliFailure, CliOutcome, ExitKind, print, print_json, remark};
use crate::registries::{fetch_base, permit_plain_http, remote_agents};

pub(crate) fn run(args: &PushArguments) -> CliOutcome {
    if let Some(registry) = &args.registry {
        return to_registry(args, registry);
    }
    let disk = DiskWorld::default();
    let gathered = gathered(&disk, &args.agent, args.format_override, args.version.as_deref())?;
    let store = AgentStore::create(&home()?).map_err(failed)?.with_remote(fetch_base);
    let pushed = store.push(&gathered).map_err(failed)?;
    let ObjectManifest { name, version, digest, files, .. } = &gathered.manifest;
    match args.format {
        ResultFormat::Human => {
            print(&format!("{digest}\n"));
            let outcome = match pushed {
                PushOutcome::New => "is in the store now",
                PushOutcome::Already => "was in the store already",
                PushOutcome::Mended => "was damaged in the store, and is whole again; sign it anew",
            };
            remark(&format!("{name}@{version} {outcome}"));
        }
        ResultFormat::Json => {
            let files: Vec<_> = files.iter().map(|file| &file.path).collect();
            let new = pushed != PushOutcome::Already;
            print_json(&json!({
                "name": name,
                "version": version,
                "digest": digest,
                "new": new,
                "files": files,
            }));
        }
    }
    Ok(ExitKind::Done)
}

/// Pushes an agent to a registry, with the signatures that it has in the store.
fn to_registry(args: &PushArguments, registry: &str) -> CliOutcome {
    permit_plain_http(args.transport.plain_http);
    let reference: OciReference = registry.parse().map_err(remote_failed)?;
    let subject = PushSubject::find(args)?;
    let upload = ArtifactUpload {
        manifest: &subject.manifest,
        files: &subject.files,
        signatures: &subject.signatures,
        force: args.force,
        private_ok: args.private_ok,
    };
    let pushed = remote_agents().and_then(|remote| remote.push(&reference, &upload));
    let pushed = pushed.map_err(remote_failed)?;
    let place = format!("oci://{}:{}", reference.place(), pushed.tag);
    match args.format {
        ResultFormat::Human => {
            print(&format!("{place}@{}\n", pushed.digest));
            let ObjectManifest { name, version, .. } = &subject.manifest;
            let outcome = if pushed.is_new {
                "is in the registry now"
            } else {
                "was in the registry already"
            };
            let signatures = match subject.signatures.len() {
                0 => "without a signature".to_owned(),
                1 => "with 1 signature".to_owned(),
                count => format!("with {count} signatures"),
            };
            remark(&format!("{name}@{version} {outcome}, {signatures}"));
        }
        ResultFormat::Json => print_json(&json!({
            "name": subject.manifest.name,
            "version": subject.manifest.version,
            "digest": subject.manifest.digest,
            "reference": place,
            "artifact": pushed.digest,
            "new": pushed.is_new,
            "signatures": subject.signatures.iter().map(|it| it.key.to_string()).collect::<Vec<_>>(),
        })),
    }
    Ok(ExitKind::Done)
}

/// An agent that is pushed to a registry.
struct PushSubject {
    manifest: ObjectManifest,
    files: Vec<(String, Vec<u8>)>,
    signatures: Vec<ObjectSignature>,
}

impl PushSubject {
    /// The agent of a path, or of a reference to the store. A path wins.
    fn find(args: &PushArguments) -> Result<Self, CliFailure> {
        let text = &args.agent;
        let is_reference =
            text.contains('@') || text.starts_with("sha256:") || text.starts_with("ag1:");
        if is_reference && !Path::new(text).exists() {
            let reference: AgentReference = text.parse().map_err(failed)?;
            let store = open()?;
            let digest = store.resolve(&reference).map_err(|error| missed(&store, error))?;
            let object = store.read(&digest).map_err(failed)?;
            let signatures = store.signatures(&object.manifest).map_err(failed)?;
            return Ok(Self { manifest: object.manifest, files: object.files, signatures });
        }
        let disk = DiskWorld::default();
        let gathered = gathered(&disk, text, args.format_override, args.version.as_deref())?;
        let (manifest, files) = (gathered.manifest, gathered.files);
        // A signature is for exactly these bytes; the store may have other ones of the same meaning.
        let same = |store: &AgentStore| {
            let stored = store.manifest(&manifest.digest).ok()?;
            (stored.content() == manifest.content()).then_some(stored)
        };
        let signatures = match open_if_any()? {
            Some(store) => match same(&store) {
                Some(stored) => store.signatures(&stored).map_err(failed)?,
                None => Vec::new(),
            },
            None => Vec::new(),
        };
        Ok(Self { manifest, files, signatures })
    }
}
