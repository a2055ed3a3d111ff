//! Access to registries for all commands: one for the whole process, so that a tag means one agent.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use agentry_compile::text::Severity;
use agentry_compile::{FetchError, SigningSettings, StoredAgent, WorkspaceConfig, World, signing};
use agentry_registry::oci::{CredentialFiles, HttpClients, OciError, RemoteAgents};
use agentry_registry::{AgentStore, SignatureTrust, StoreError};
use agentry_runtime::provider::http;

use crate::home::agentry_home;
use crate::output::remark;

/// Whether `--plain-http` was passed.
static PLAIN: AtomicBool = AtomicBool::new(false);
/// Whether `--require-signature` was passed.
static SIGNED_ONLY: AtomicBool = AtomicBool::new(false);
static REMOTE: OnceLock<Result<RemoteAgents, String>> = OnceLock::new();

/// Permits plain HTTP to other machines. Must be called before the first access.
pub(crate) fn permit_plain_http(is_permitted: bool) {
    PLAIN.fetch_or(is_permitted, Ordering::Relaxed);
}

/// Requires a signature of every agent of the store, a registry or the web. Must be called before the first access.
pub(crate) fn require_signatures(is_required: bool) {
    SIGNED_ONLY.fetch_or(is_required, Ordering::Relaxed);
}

/// The option that requires the same of another process as of this one.
pub(crate) fn signature_option() -> Option<&'static str> {
    SIGNED_ONLY.load(Ordering::Relaxed).then_some("--require-signature")
}

/// The user's settings with what the option adds to them.
pub(crate) fn with_option(settings: SigningSettings) -> SigningSettings {
    let required = settings.required || signature_option().is_some();
    SigningSettings { required, ..settings }
}

/// The access to registries.
pub(crate) fn remote_agents() -> Result<&'static RemoteAgents, OciError> {
    let made = REMOTE.get_or_init(|| {
        let home = agentry_home().ok_or("there is no home directory; set `AGENTRY_HOME` to one")?;
        let remote = http::remote(&|name| std::env::var(name).ok())?;
        let clients = HttpClients { local: http::local()?, remote };
        let credentials = CredentialFiles::new(&|name| std::env::var_os(name).map(PathBuf::from));
        let plain = PLAIN.load(Ordering::Relaxed);
        let note = |text: &str| remark(&format!("note: {text}"));
        Ok(RemoteAgents::new(clients, credentials, &home, plain).with_note(note))
    });
    made.as_ref().map_err(|why| OciError::Machine(why.clone()))
}

/// Fetches a base of an agent of the store. Its signatures are checked when the compiler asks for it.
pub(crate) fn fetch_base(text: &str) -> Result<StoredAgent, FetchError> {
    let unfetched =
        |error: OciError| FetchError::Remote { hint: error.hint(), why: error.to_string() };
    remote_agents().map_err(unfetched)?.fetch(text, &|_| Ok(SignatureTrust::default()))
}

/// The store of a home, whose agents may have bases in registries.
pub(crate) fn open_store(home: &std::path::Path) -> Result<AgentStore, StoreError> {
    Ok(AgentStore::open(home)?.with_remote(fetch_base))
}

/// What the user and the workspace require of signatures. Settings that cannot be read are an error.
pub(crate) fn signing_settings(
    world: &dyn World,
) -> Result<(SigningSettings, SigningSettings), StoreError> {
    let unusable = |what: &str| {
        StoreError::Unfit(format!("{what} has errors, so no signature can be checked"))
    };
    let user = signing(world).map_err(|_| unusable("your own configuration"))?;
    let config = WorkspaceConfig::read(world, "");
    if config.diagnostics.iter().any(|found| found.severity == Severity::Error) {
        return Err(unusable("`agentry.toml`"));
    }
    Ok((with_option(user), config.signing))
}

/// What is required of an agent of the repository `host/path`.
pub(crate) fn repository_trust(
    world: &dyn World,
    place: &str,
) -> Result<SignatureTrust, StoreError> {
    let (user, workspace) = signing_settings(world)?;
    SignatureTrust::for_repository(&user, &workspace, place)
}
