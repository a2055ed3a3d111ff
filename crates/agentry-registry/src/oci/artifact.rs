//! The OCI manifest of an agent: the object's manifest as its config, and one layer per file.

use agentry_compile::text::digest;
use agentry_compile::text::limits;
use serde_json::{Map, Value, json};

use super::error::OciError;
use crate::gather::MOST_BYTES;
use crate::manifest::{ObjectFile, ObjectManifest};

/// The kind of an OCI image manifest.
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The kind of an OCI index.
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// The kind of an agent.
pub(crate) const AGENT: &str = "application/vnd.agentry.agent.v1";
/// The kind of its config.
const CONFIG: &str = "application/vnd.agentry.manifest.v1+json";
/// The kind of its layers.
const FILE: &str = "application/vnd.agentry.file.v1";
/// The kind of an empty config.
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
/// The bytes of an empty config.
pub(crate) const EMPTY_BYTES: &[u8] = b"{}";
/// The annotation with the digest of the agent.
const DIGEST: &str = "agentry.digest";
const TITLE: &str = "org.opencontainers.image.title";
const VERSION: &str = "org.opencontainers.image.version";
/// The kind of Docker Agent's artifacts.
pub(crate) const DOCKER_AGENT: &str = "application/vnd.docker.agent.config.v1+json";
/// The most bytes of the object's manifest.
const CONFIG_BYTES: u64 = 4 * 1024 * 1024;

/// A blob or manifest, as another one names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlobDescriptor {
    pub(crate) kind: String,
    pub(crate) digest: String,
    pub(crate) size: u64,
    pub(crate) artifact: Option<String>,
    pub(crate) title: Option<String>,
}

impl BlobDescriptor {
    pub(crate) fn new(kind: &str, bytes: &[u8]) -> Self {
        let (kind, size) = (kind.to_owned(), bytes.len() as u64);
        Self { kind, digest: digest::of(bytes), size, artifact: None, title: None }
    }

    pub(crate) fn to_json(&self) -> Value {
        let Self { kind, digest, size, artifact, title } = self;
        let mut value = json!({"mediaType": kind, "digest": digest, "size": size});
        if let Some(artifact) = artifact {
            value["artifactType"] = json!(artifact);
        }
        if let Some(title) = title {
            value["annotations"] = json!({TITLE: title});
        }
        value
    }

    pub(crate) fn parse(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key)?.as_str().map(str::to_owned);
        let digest = text("digest").filter(|digest| digest::digits(digest).is_some())?;
        let size = value.get("size")?.as_u64()?;
        let title = value["annotations"][TITLE].as_str().map(str::to_owned);
        Some(Self { kind: text("mediaType")?, digest, size, artifact: text("artifactType"), title })
    }
}

/// The bytes of the config of an agent. Without its time: the same agent has the same digest everywhere.
pub(crate) fn config(manifest: &ObjectManifest) -> Vec<u8> {
    ObjectManifest { created: String::new(), ..manifest.clone() }.to_text().into_bytes()
}

/// The OCI manifest of an agent.
pub(crate) fn manifest(manifest: &ObjectManifest) -> Vec<u8> {
    let layer = |ObjectFile { path, size, sha256 }: &ObjectFile| {
        let (kind, title) = (FILE.to_owned(), Some(path.clone()));
        BlobDescriptor { kind, digest: sha256.clone(), size: *size, artifact: None, title }
            .to_json()
    };
    let value = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": AGENT,
        "config": BlobDescriptor::new(CONFIG, &config(manifest)).to_json(),
        "layers": manifest.files.iter().map(layer).collect::<Vec<_>>(),
        "annotations": {
            TITLE: manifest.name,
            VERSION: manifest.version,
            DIGEST: manifest.digest,
        },
    });
    value.to_string().into_bytes()
}

/// The manifest of something that refers to `subject`: one blob of this kind.
pub(crate) fn referrer(kind: &str, subject: &BlobDescriptor, blob: &BlobDescriptor) -> Vec<u8> {
    let value = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": kind,
        "config": BlobDescriptor::new(EMPTY, EMPTY_BYTES).to_json(),
        "layers": [blob.to_json()],
        "subject": subject.to_json(),
    });
    value.to_string().into_bytes()
}

/// The OCI manifest of an agent, as far as it can be believed before its blobs are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentArtifact {
    pub(crate) config: BlobDescriptor,
    pub(crate) layers: Vec<BlobDescriptor>,
    annotations: Map<String, Value>,
}

impl AgentArtifact {
    /// Reads a manifest. Refuses other kinds, and sizes that no agent has, before anything is downloaded.
    pub(crate) fn parse(bytes: &[u8], reference: &impl ToString) -> Result<Self, OciError> {
        let refused = |why: &str| OciError::refused(reference, why);
        let value: Value =
            serde_json::from_slice(bytes).map_err(|_| refused("its manifest is not JSON"))?;
        if value["manifests"].is_array() {
            return Err(refused(
                "it is not an agent but an index, as images for several systems have it",
            ));
        }
        let config = BlobDescriptor::parse(&value["config"]);
        let config = config.ok_or_else(|| refused("its manifest has no config"))?;
        let kind = value["artifactType"].as_str().unwrap_or(&config.kind);
        if kind == DOCKER_AGENT {
            return Err(refused("it is an agent of Docker Agent; `agentry import` reads it"));
        }
        if kind != AGENT || config.kind != CONFIG {
            let kind = kind.escape_debug();
            return Err(refused(&format!("it is not an agent but `{kind}`")));
        }
        let layers = value["layers"].as_array().into_iter().flatten().map(BlobDescriptor::parse);
        let layers: Option<Vec<_>> = layers.collect();
        let layers = layers.ok_or_else(|| refused("a layer of its manifest cannot be read"))?;
        if layers.iter().any(|layer| layer.kind != FILE) {
            return Err(refused("it has a layer that is not a file of an agent"));
        }
        let total = layers.iter().fold(0_u64, |sum, layer| sum.saturating_add(layer.size));
        if layers.len() > limits::FILES || total > MOST_BYTES as u64 || config.size > CONFIG_BYTES {
            return Err(refused(&format!(
                "it announces {} files and {total} bytes; an agent has at most {} files and {MOST_BYTES} bytes",
                layers.len(),
                limits::FILES
            )));
        }
        let annotations = value["annotations"].as_object().cloned().unwrap_or_default();
        Ok(Self { config, layers, annotations })
    }

    /// Reads the config. It must say the same as the manifest about every file.
    pub(crate) fn object(
        &self,
        config: &[u8],
        reference: &impl ToString,
    ) -> Result<ObjectManifest, OciError> {
        let refused = |why: String| OciError::refused(reference, why);
        let object = ObjectManifest::parse(config).map_err(refused)?;
        let is_layer = |(file, layer): (&ObjectFile, &BlobDescriptor)| {
            layer.title.as_deref() == Some(&file.path)
                && layer.size == file.size
                && layer.digest == file.sha256
        };
        let count = object.files.len() == self.layers.len();
        if !count || !object.files.iter().zip(&self.layers).all(is_layer) {
            return Err(refused("its layers are not the files of its config".to_owned()));
        }
        let expected =
            [(TITLE, &object.name), (VERSION, &object.version), (DIGEST, &object.digest)];
        for (key, value) in expected {
            if self.annotations.get(key).and_then(Value::as_str) != Some(value) {
                return Err(refused(format!("its annotation `{key}` is not `{value}`")));
            }
        }
        Ok(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::tests::manifest as sample;

    fn changed(change: impl FnOnce(&mut Value)) -> Result<ObjectManifest, String> {
        let mut value: Value = serde_json::from_slice(&manifest(&sample())).expect("JSON");
        change(&mut value);
        let artifact = AgentArtifact::parse(value.to_string().as_bytes(), &"x");
        let object = artifact.and_then(|artifact| artifact.object(&config(&sample()), &"x"));
        object.map_err(|error| error.to_string())
    }

    #[test]
    fn artifacts_round_trip() {
        let object = changed(|_| {}).expect("our own artifact");
        assert_eq!(object.content(), sample().content());
        assert_eq!(
            manifest(&sample()),
            manifest(&ObjectManifest { created: "later".to_owned(), ..sample() })
        );
    }

    #[test]
    fn invalid_artifacts_are_refused() {
        type Change = fn(&mut Value);
        let cases: [(Change, &str); 10] = [
            (|value| value["artifactType"] = json!(DOCKER_AGENT), "Docker Agent"),
            (
                |value| value["artifactType"] = json!("application/x"),
                "not an agent but `application/x`",
            ),
            (|value| value["config"]["mediaType"] = json!("application/x"), "not an agent"),
            (
                |value| {
                    value["layers"][0]["mediaType"] =
                        json!("application/vnd.oci.image.layer.v1.tar+gzip");
                },
                "not a file",
            ),
            (|value| value["layers"][1]["annotations"][TITLE] = json!("../evil"), "not the files"),
            (|value| value["layers"][1]["size"] = json!(10_000_000_000_u64), "10000000003 bytes"),
            (|value| value["layers"] = json!([]), "not the files"),
            (
                |value| value["annotations"][DIGEST] = json!("sha256:0"),
                "annotation `agentry.digest`",
            ),
            (|value| value["layers"][0]["digest"] = json!("../../x"), "cannot be read"),
            (|value| value["manifests"] = json!([]), "not an agent but an index"),
        ];
        for (change, expected) in cases {
            let error = changed(change).expect_err(expected);
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }
}
