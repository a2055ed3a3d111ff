//! Whose signatures an agent of a registry has, and whether they are those that are required.

use super::connection::RegistryConnection;
use super::error::OciError;
use super::referrers::{self, SIGNATURE};
use crate::keys::PublicKey;
use crate::manifest::ObjectManifest;
use crate::sign::ObjectSignature;
use crate::trust::SignatureTrust;

/// The signatures of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteSignatures {
    /// The keys that signed it.
    pub signers: Vec<PublicKey>,
    /// The keys in whose name there is a signature that is not one of this agent.
    pub wrong: Vec<PublicKey>,
}

/// The valid signatures of an announced agent if they are enough. Nothing is asked if none is required.
pub(super) async fn admitted(
    connection: &RegistryConnection,
    digest: &str,
    manifest: &ObjectManifest,
    trust: &SignatureTrust,
) -> Result<Vec<ObjectSignature>, OciError> {
    if trust.is_open() {
        return Ok(Vec::new());
    }
    let blobs = referrers::attached(connection, digest, SIGNATURE).await?;
    let mut found: Vec<_> = blobs.iter().filter_map(|blob| ObjectSignature::parse(blob)).collect();
    found.retain(|signature| signature.verifies(manifest));
    let signers: Vec<_> = found.iter().map(|signature| signature.key).collect();
    let reference = connection.reference.pinned(digest);
    trust.missing(&signers).map_or(Ok(found), |why| Err(untrusted(&reference, &why, &signers)))
}

/// The valid and the wrong signatures of an agent.
pub(super) fn sorted_out(found: &[ObjectSignature], manifest: &ObjectManifest) -> RemoteSignatures {
    let mut out = RemoteSignatures::default();
    for signature in found {
        let list = if signature.verifies(manifest) { &mut out.signers } else { &mut out.wrong };
        if !list.contains(&signature.key) {
            list.push(signature.key);
        }
    }
    out
}

/// Refuses an agent that cannot have signatures, if one is required.
pub(super) fn accept_unsigned(text: &str, trust: &SignatureTrust) -> Result<(), OciError> {
    trust.missing(&[]).map_or(Ok(()), |why| Err(untrusted(&text, &why, &[])))
}

pub(super) fn untrusted(reference: &impl ToString, why: &str, signers: &[PublicKey]) -> OciError {
    let why = format!("`{}` is refused: {why}", reference.to_string());
    OciError::Untrusted { why, signers: signers.iter().map(ToString::to_string).collect() }
}
