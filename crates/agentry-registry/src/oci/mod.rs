//! Agents in OCI registries: push, pull, tags and signatures over the distribution API.
//!
//! ```text
//! object ─artifact─▶ OCI manifest, one blob per file ─upload─▶ registry, the tag last
//! registry ─download, every digest─▶ staged files ─rename─▶ cache ─compile, agent's digest─▶ RemoteAgent
//! signature ─referrer─▶ registry: its referrers API, or the index under the tag `sha256-…`
//! ```
//!
//! The client is our own: the API is a dozen requests, and each of them needs limits of ours — no credentials
//! to another host, a cap on every body, no byte that was not verified.

mod artifact;
mod cache;
mod challenge;
mod connection;
mod credentials;
mod distribution;
mod docker_agent;
mod download;
mod error;
mod helper;
mod location;
mod pinned_url;
mod referrers;
mod remote_agents;
mod required_signatures;
mod upload;

pub use connection::HttpClients;
pub use credentials::CredentialFiles;
pub use error::OciError;
pub use location::OciReference;
pub use remote_agents::{RemoteAgent, RemoteAgents, RepositoryTrust};
pub use required_signatures::RemoteSignatures;
pub use upload::{ArtifactUpload, UploadOutcome};
