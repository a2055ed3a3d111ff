//! What can be typed about the store and its keys.

use clap::Args as ClapArgs;

use agentry_compile::model::Format;

use super::{ResultFormat, format};

/// How a registry is reached.
#[derive(Debug, ClapArgs)]
pub(crate) struct TransportArguments {
    /// Permit HTTP without TLS to a registry that is not on this machine
    #[arg(long)]
    pub(crate) plain_http: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PushArguments {
    /// The agent: its file or its directory; for a registry also `name@version` of the store
    pub(crate) agent: String,
    /// The registry: `oci://HOST/REPOSITORY[:TAG]`; without it the agent is added to the store
    #[arg(value_name = "REGISTRY")]
    pub(crate) registry: Option<String>,
    /// Replace a tag of the registry that has other content
    #[arg(long, requires = "registry")]
    pub(crate) force: bool,
    /// Push to a registry although the definition says `visibility: private`
    #[arg(long, requires = "registry")]
    pub(crate) private_ok: bool,
    #[command(flatten)]
    pub(crate) transport: TransportArguments,
    /// The version, for an agent that declares none
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,
    /// Read it as this format
    #[arg(long = "as", value_name = "FORMAT", value_parser = format())]
    pub(crate) format_override: Option<Format>,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PullArguments {
    /// The agent: `name`, `name@version`, `sha256:…` or `ag1:…` of the store, or `oci://…` of a registry
    #[arg(value_name = "REF")]
    pub(crate) reference: String,
    /// The directory to write to, or the file for an agent that is one file
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: String,
    /// Replace files that are there already
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) transport: TransportArguments,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ListArguments {
    /// A repository of a registry, whose tags are listed: `oci://HOST/REPOSITORY`
    #[arg(value_name = "REGISTRY")]
    pub(crate) registry: Option<String>,
    #[command(flatten)]
    pub(crate) transport: TransportArguments,
    /// How to print it
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SearchArguments {
    /// Words that all must occur in the name or the description
    #[arg(required = true)]
    pub(crate) words: Vec<String>,
    /// How to print it
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct GcArguments {
    /// List what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove a name for good: `name@version` (a bare name is refused), or a digest
    #[arg(long, value_name = "REF")]
    pub(crate) drop: Vec<String>,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct KeygenArguments {
    /// What you call the key
    #[arg(default_value = "default")]
    pub(crate) name: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SignArguments {
    /// The agent in the store: its files, `name`, `name@version`, `sha256:…` or `ag1:…`
    #[arg(value_name = "AGENT")]
    pub(crate) reference: String,
    /// The key to sign with
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) key: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct VerifyArguments {
    /// The agent in the store: its files, `name`, `name@version`, `sha256:…` or `ag1:…`; or `oci://…` of a registry
    #[arg(value_name = "REF")]
    pub(crate) reference: String,
    #[command(flatten)]
    pub(crate) transport: TransportArguments,
    /// The key that must have signed it: `ed25519:…`, or the name of one of yours
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}
