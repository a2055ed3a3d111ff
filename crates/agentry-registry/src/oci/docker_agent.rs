//! Agents of Docker Agent in a registry: one YAML layer. They are read for an import and never run as they are.

use serde_json::Value;

use super::artifact::{BlobDescriptor, DOCKER_AGENT};
use super::connection::RegistryConnection;
use super::download;
use super::error::OciError;

/// The annotation without which Docker Agent itself refuses an artifact.
const VERSION: &str = "io.docker.agent.version";
/// The kind of its layer.
const YAML: &str = "application/yaml";
/// The most bytes of its layer.
const MOST_BYTES: u64 = 1024 * 1024;

/// The YAML of an artifact, verified.
pub(crate) async fn download(connection: &RegistryConnection) -> Result<String, OciError> {
    let reference = &connection.reference;
    let (bytes, _) = download::resolve(connection).await?;
    let layer = layer(&bytes).map_err(|why| OciError::refused(reference, why))?;
    let yaml = connection.blob(&layer).await?;
    String::from_utf8(yaml).map_err(|_| OciError::refused(reference, "its YAML is not UTF-8"))
}

/// The only layer of an artifact.
fn layer(manifest: &[u8]) -> Result<BlobDescriptor, &'static str> {
    let value: Value = serde_json::from_slice(manifest).map_err(|_| "its manifest is not JSON")?;
    let kind = value["artifactType"].as_str().or_else(|| value["config"]["mediaType"].as_str());
    if kind != Some(DOCKER_AGENT) {
        return Err("it is not an agent of Docker Agent; `agentry pull` pulls those of Agentry");
    }
    if value["annotations"][VERSION].as_str().is_none() {
        return Err(
            "it has no `io.docker.agent.version`, without which Docker Agent refuses it too",
        );
    }
    let layers = value["layers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let [layer] = layers else { return Err("it has not exactly one layer") };
    let layer = BlobDescriptor::parse(layer).ok_or("its layer cannot be read")?;
    if layer.kind != YAML || layer.size > MOST_BYTES {
        return Err("its layer is not YAML of at most 1 MiB");
    }
    Ok(layer)
}
