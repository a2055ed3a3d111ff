//! Agents of registries and pinned URLs, for commands and as bases: pulled once per command, verified, cached.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use agentry_compile::text::Severity;
use agentry_compile::text::limits;
use agentry_compile::{FetchError, StoreRef, StoredAgent, digest as digest_of, discover, read};

use super::cache::RemoteCache;
use super::connection::{HttpClients, RegistryConnection};
use super::credentials::CredentialFiles;
use super::docker_agent;
use super::download::{self, FreshArtifact, PullProgress};
use super::error::OciError;
use super::location::{OciReference, tag_of};
use super::pinned_url::PinnedUrl;
use super::referrers::{self, SIGNATURE};
use super::required_signatures::{
    RemoteSignatures, accept_unsigned, admitted, sorted_out, untrusted,
};
use super::upload::{self, ArtifactUpload, UploadOutcome};
use crate::error::StoreError;
use crate::manifest::ObjectManifest;
use crate::object::{StoreObject, fetch_error, stored};
use crate::object_world::ObjectWorld;
use crate::sign::ObjectSignature;
use crate::store::AgentStore;
use crate::trust::SignatureTrust;

/// An agent that was pulled and verified.
#[derive(Debug, Clone)]
pub struct RemoteAgent {
    /// Where it comes from, pinned.
    pub reference: OciReference,
    /// The digest of its OCI manifest.
    pub digest: String,
    /// The agent.
    pub object: StoreObject,
    /// The directory of its files in the cache.
    pub files: PathBuf,
}

/// Access to registries, with the copies of one home.
pub struct RemoteAgents {
    clients: HttpClients,
    credentials: CredentialFiles,
    home: PathBuf,
    cache: RemoteCache,
    /// Whether registries of other machines may be asked without TLS.
    plain: bool,
    note: Option<fn(&str)>,
    /// What was pulled: a tag means one agent for a whole command.
    pulled: Mutex<BTreeMap<String, RemoteAgent>>,
}

/// The bytes of an artifact.
struct ArtifactCopy {
    object: StoreObject,
    digest: String,
    /// What the cache needs in addition, if it does not have the artifact.
    fresh: Option<FreshArtifact>,
    /// The signatures for which a fresh artifact was accepted.
    signatures: Vec<ObjectSignature>,
    /// Why the registry was not asked, if the cache stood in for it.
    offline: Option<String>,
}

/// The references that led to a base, each with the digest of its manifest.
type BaseTrail = Vec<(String, String)>;

/// The signatures that are required of an agent of the repository `host/path`.
pub type RepositoryTrust<'t> = dyn Fn(&str) -> Result<SignatureTrust, StoreError> + Sync + 't;

impl RemoteAgents {
    /// Calls `note` when the last copy of a tag stands in for a registry that does not answer.
    #[must_use]
    pub fn with_note(self, note: fn(&str)) -> Self {
        Self { note: Some(note), ..self }
    }

    /// Access with these clients and credentials. `plain` permits HTTP to other machines.
    pub fn new(
        clients: HttpClients,
        credentials: CredentialFiles,
        home: &Path,
        plain: bool,
    ) -> Self {
        let (home, cache) = (home.to_owned(), RemoteCache::new(home));
        Self { clients, credentials, home, cache, plain, note: None, pulled: Mutex::default() }
    }

    /// Removes what killed pulls left behind.
    pub fn sweep(home: &Path) -> Result<(), StoreError> {
        RemoteCache::new(home).sweep()
    }

    /// Pulls the agent of a reference, or takes its copy. Without the required signatures no file of it is read.
    pub fn pull(
        &self,
        reference: &OciReference,
        trust: &RepositoryTrust<'_>,
        progress: &PullProgress<'_>,
    ) -> Result<RemoteAgent, OciError> {
        self.pull_below(reference, trust, (&Vec::new(), progress))
    }

    fn pull_below(
        &self,
        reference: &OciReference,
        trust_of: &RepositoryTrust<'_>,
        (trail, progress): (&BaseTrail, &PullProgress<'_>),
    ) -> Result<RemoteAgent, OciError> {
        let (text, trust) = (reference.to_string(), trust_of(&reference.place())?);
        let known = self.pulled.lock().unwrap_or_else(PoisonError::into_inner).get(&text).cloned();
        if let Some(known) = known {
            self.accept((&known.reference, &known.digest), &known.object.manifest, &trust)?;
            return Ok(known);
        }
        let copied = self.copied(reference, &trust, progress)?;
        let ArtifactCopy { object, digest, fresh, signatures, offline } = copied;
        if fresh.is_none() {
            let pinned = reference.pinned(&digest);
            self.accept((&pinned, &digest), &object.manifest, &trust)?;
        }
        self.verify(reference, (&object, &digest), trust_of, trail)?;
        if let Some(fresh) = fresh {
            fresh.keep(&self.cache, &digest, &object)?;
            self.cache.keep_signatures(&digest, &signatures)?;
        }
        if reference.digest.is_none() && offline.is_none() {
            self.cache.set_tag(reference, &digest)?;
        }
        let files = self.cache.files(&digest);
        let reference = reference.pinned(&digest);
        if let (Some(note), Some(why)) = (self.note, offline) {
            note(&format!("{why}; `{reference}` is the copy that was pulled last"));
        }
        let agent = RemoteAgent { reference, digest, object, files };
        let mut pulled = self.pulled.lock().unwrap_or_else(PoisonError::into_inner);
        pulled.insert(text, agent.clone());
        Ok(agent)
    }

    /// The bytes of an artifact, from the cache if they are there.
    fn copied(
        &self,
        reference: &OciReference,
        trust: &SignatureTrust,
        progress: &PullProgress<'_>,
    ) -> Result<ArtifactCopy, OciError> {
        let copy = |digest: &String, offline: Option<String>| {
            let (object, digest) = (self.cache.read(digest)?, digest.clone());
            Some(ArtifactCopy { object, digest, fresh: None, signatures: Vec::new(), offline })
        };
        // A digest never means anything else, so the registry need not be asked.
        if let Some(copy) = reference.digest.as_ref().and_then(|digest| copy(digest, None)) {
            return Ok(copy);
        }
        let online = block_on(|| async {
            let connection = self.connect(reference).await?;
            let (bytes, digest) = download::resolve(&connection).await?;
            if let Some(copy) = copy(&digest, None) {
                return Ok(copy);
            }
            let announced = download::announced(&connection, bytes, &digest).await?;
            // Before the first file: what nobody trusted has signed is not parsed.
            let signatures = admitted(&connection, &digest, announced.manifest(), trust).await?;
            let (object, fresh) = announced.download(&connection, progress).await?;
            Ok(ArtifactCopy { object, digest, fresh: Some(fresh), signatures, offline: None })
        });
        let Err(error) = &online else { return online };
        let last = self.cache.tag(reference).filter(|_| error.is_offline());
        let last = last.filter(|_| reference.digest.is_none());
        last.and_then(|digest| copy(&digest, Some(error.to_string()))).map_or(online, Ok)
    }

    /// Compiles a pulled agent with its bases. It must have the digest that it is annotated with.
    fn verify(
        &self,
        reference: &OciReference,
        (object, digest): (&StoreObject, &str),
        trust: &RepositoryTrust<'_>,
        trail: &BaseTrail,
    ) -> Result<(), OciError> {
        let manifest = &object.manifest;
        if reference.content.as_ref().is_some_and(|content| *content != manifest.digest) {
            let why = format!("it is the agent `{}`", manifest.digest);
            return Err(OciError::refused(reference, why));
        }
        let mut trail = trail.clone();
        let is_circle = trail.iter().any(|(_, other)| other == digest);
        trail.push((reference.to_string(), digest.to_owned()));
        if is_circle || trail.len() > limits::BASES + 1 {
            let texts: Vec<_> = trail.iter().map(|(text, _)| text.as_str()).collect();
            let why = if is_circle { "its bases lead back to it" } else { "it has too many bases" };
            return Err(OciError::refused(reference, format!("{why}: {}", texts.join(" -> "))));
        }
        let fetch = |base: &StoreRef| self.base(base, trust, &trail);
        let files = object.files.iter().map(|(path, bytes)| (path.clone(), bytes.as_slice()));
        let world = ObjectWorld::new(files, &fetch);
        let compiled = world.compiled(&manifest.main, manifest.format);
        let mut findings = compiled.diagnostics.iter();
        // `push` takes no agent with errors, so this one was made by other means.
        if let Some(error) = findings.find(|found| found.severity == Severity::Error) {
            let why = format!("it cannot be compiled: {}", error.message);
            return Err(OciError::refused(reference, why));
        }
        let found = digest_of(&world, &compiled);
        if found == manifest.digest {
            return Ok(());
        }
        let why = format!("its files make the agent `{found}`, not `{}`", manifest.digest);
        Err(OciError::refused(reference, why))
    }

    /// A base of a pulled agent.
    fn base(
        &self,
        base: &StoreRef,
        trust: &RepositoryTrust<'_>,
        trail: &BaseTrail,
    ) -> Result<StoredAgent, FetchError> {
        match base {
            StoreRef::Remote(text) => self.stored(text, trust, trail).map_err(unfetched),
            other => {
                let store = AgentStore::open(&self.home).map_err(fetch_error)?;
                store.fetch(other, &SignatureTrust::default())
            }
        }
    }

    /// The agent that a text names, for the compiler.
    fn stored(
        &self,
        text: &str,
        trust: &RepositoryTrust<'_>,
        trail: &BaseTrail,
    ) -> Result<StoredAgent, OciError> {
        if PinnedUrl::is_meant(text) {
            return self.url_agent(text, trust, trail).map(|(stored, _)| stored);
        }
        let agent = self.pull_below(&text.parse()?, trust, (trail, &|_, _| {}))?;
        Ok(stored(agent.object))
    }

    /// Fetches a base for the compiler, if the settings accept its signatures.
    pub fn fetch(
        &self,
        text: &str,
        trust: &RepositoryTrust<'_>,
    ) -> Result<StoredAgent, FetchError> {
        self.stored(text, trust, &Vec::new()).map_err(unfetched)
    }

    /// The agent of a pinned URL, and its file in the cache.
    fn url_agent(
        &self,
        text: &str,
        trust: &RepositoryTrust<'_>,
        trail: &BaseTrail,
    ) -> Result<(StoredAgent, PathBuf), OciError> {
        let url = PinnedUrl::parse(text)?;
        let reference = url.reference(self.plain)?;
        accept_unsigned(text, &trust(&reference.place())?)?;
        let (path, copy) = self.cache.url_file(&url.pin, &url.name);
        let is_expected = |bytes: &[u8]| self.url_stored(&url, bytes, trust, trail);
        if let Some(stored) = copy.and_then(|bytes| is_expected(&bytes).ok()) {
            return Ok((stored, path));
        }
        let bytes = block_on(|| async {
            let plain = url.url.scheme() == "http";
            let none = CredentialFiles::default();
            let connection =
                RegistryConnection::open(&self.clients, &none, &reference, plain).await?;
            url.download(&connection, limits::FILE_BYTES).await
        })?;
        let stored = is_expected(&bytes)?;
        self.cache.keep_url_file(&path, &bytes)?;
        Ok((stored, path))
    }

    /// The bytes of a URL as an agent, if they are the expected one.
    fn url_stored(
        &self,
        url: &PinnedUrl,
        bytes: &[u8],
        trust: &RepositoryTrust<'_>,
        trail: &BaseTrail,
    ) -> Result<StoredAgent, OciError> {
        let PinnedUrl { name, pin, .. } = url;
        let mut trail = trail.clone();
        trail.push((url.url.to_string(), pin.clone()));
        if trail.len() > limits::BASES + 1 {
            return Err(OciError::refused(&url.url, "it has too many bases"));
        }
        let fetch = |base: &StoreRef| self.base(base, trust, &trail);
        let world = ObjectWorld::new([(name.clone(), bytes)], &fetch);
        let found = discover(&world, std::slice::from_ref(name), None, &|_| false)
            .agents
            .into_iter()
            .next();
        let found =
            found.ok_or_else(|| OciError::refused(&url.url, "it is not an agent definition"))?;
        let digest = digest_of(&world, &read(&world, &found));
        if digest != *pin {
            return Err(OciError::refused(&url.url, format!("it is the agent `{digest}`")));
        }
        let files = vec![(name.clone(), bytes.to_owned())];
        Ok(StoredAgent { files, main: name.clone(), format: found.format, digest })
    }

    /// The file of a pinned URL in the cache, and the agent in it, if the settings accept it.
    pub fn pinned_file(
        &self,
        text: &str,
        trust: &RepositoryTrust<'_>,
    ) -> Result<(PathBuf, StoredAgent), OciError> {
        self.url_agent(text, trust, &Vec::new()).map(|(stored, path)| (path, stored))
    }

    /// Whether a text is meant as a pinned URL.
    pub fn is_url(text: &str) -> bool {
        PinnedUrl::is_meant(text)
    }

    /// The signatures of an agent: those of the registry, or the cached ones if it cannot be reached.
    pub fn signatures(&self, agent: &RemoteAgent) -> Result<RemoteSignatures, OciError> {
        let RemoteAgent { reference, digest, object, .. } = agent;
        self.signatures_of((reference, digest), &object.manifest)
    }

    fn signatures_of(
        &self,
        (reference, digest): (&OciReference, &str),
        manifest: &ObjectManifest,
    ) -> Result<RemoteSignatures, OciError> {
        let online = block_on(|| async {
            let connection = self.connect(reference).await?;
            referrers::attached(&connection, digest, SIGNATURE).await
        });
        let found: Vec<_> = match online {
            Ok(blobs) => blobs.iter().filter_map(|blob| ObjectSignature::parse(blob)).collect(),
            Err(error) if error.is_offline() => self.cache.signatures(digest),
            Err(error) => return Err(error),
        };
        let signatures = sorted_out(&found, manifest);
        let valid: Vec<_> = found.into_iter().filter(|one| one.verifies(manifest)).collect();
        self.cache.keep_signatures(digest, &valid)?;
        Ok(signatures)
    }

    /// Refuses a cached agent without the required signatures. Cached ones are enough.
    fn accept(
        &self,
        (reference, digest): (&OciReference, &str),
        manifest: &ObjectManifest,
        trust: &SignatureTrust,
    ) -> Result<(), OciError> {
        let cached = || sorted_out(&self.cache.signatures(digest), manifest).signers;
        if trust.is_open() || trust.missing(&cached()).is_none() {
            return Ok(());
        }
        let signers = self.signatures_of((reference, digest), manifest)?.signers;
        trust.missing(&signers).map_or(Ok(()), |why| Err(untrusted(reference, &why, &signers)))
    }

    /// The tags of a repository.
    pub fn tags(&self, reference: &OciReference) -> Result<Vec<String>, OciError> {
        block_on(|| async { download::tags(&self.connect(reference).await?).await })
    }

    /// The YAML of an agent of Docker Agent, for an import.
    pub fn docker_agent(&self, reference: &OciReference) -> Result<String, OciError> {
        block_on(|| async { docker_agent::download(&self.connect(reference).await?).await })
    }

    /// Pushes an agent. Without a tag, its version is the tag.
    pub fn push(
        &self,
        reference: &OciReference,
        upload: &ArtifactUpload<'_>,
    ) -> Result<UploadOutcome, OciError> {
        if reference.digest.is_some() || reference.content.is_some() {
            let message = format!("`{reference}` is a digest; a push goes to a tag");
            return Err(OciError::Unfit(message));
        }
        self.check_sharable(upload)?;
        let tag = reference.tag.clone().unwrap_or_else(|| tag_of(&upload.manifest.version));
        block_on(|| async { upload::upload(&self.connect(reference).await?, &tag, upload).await })
    }

    /// Refuses an agent that others could not use or should not see.
    fn check_sharable(&self, upload: &ArtifactUpload<'_>) -> Result<(), OciError> {
        let manifest = upload.manifest;
        let name = format!("{}@{}", manifest.name, manifest.version);
        let local = Mutex::new(None);
        // The command that pushes has read the agent under its own settings.
        let anyone = |_: &str| Ok(SignatureTrust::default());
        let fetch = |base: &StoreRef| match base {
            StoreRef::Remote(_) => self.base(base, &anyone, &Vec::new()),
            other => {
                *local.lock().unwrap_or_else(PoisonError::into_inner) = Some(other.to_string());
                self.base(other, &anyone, &Vec::new())
            }
        };
        let files = upload.files.iter().map(|(path, bytes)| (path.clone(), bytes.as_slice()));
        let world = ObjectWorld::new(files, &fetch);
        let compiled = world.compiled(&manifest.main, manifest.format);
        let is_private = |agent: &agentry_compile::model::Agent| {
            let access = agent.access_control.as_ref();
            let visibility = access.and_then(|access| access.value.get("visibility")?.as_str());
            visibility.is_some_and(|text| text.trim().eq_ignore_ascii_case("private"))
        };
        if !upload.private_ok && (is_private(&compiled.agent) || is_private(compiled.whole())) {
            return Err(OciError::Private(name));
        }
        drop(world);
        match local.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(base) => Err(OciError::LocalBase { name, base }),
            None => Ok(()),
        }
    }

    async fn connect(&self, reference: &OciReference) -> Result<RegistryConnection, OciError> {
        RegistryConnection::open(&self.clients, &self.credentials, reference, self.plain).await
    }
}

impl std::fmt::Debug for RemoteAgents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteAgents").field("home", &self.home).finish_non_exhaustive()
    }
}

/// The error as the compiler reports it.
fn unfetched(error: OciError) -> FetchError {
    match error {
        OciError::Untrusted { why, .. } => FetchError::Untrusted(why),
        OciError::Store(error) => fetch_error(error),
        other => FetchError::Remote { hint: other.hint(), why: other.to_string() },
    }
}

/// Runs requests to their end in their own thread: the caller may be inside an asynchronous runtime, which
/// must not block.
fn block_on<T: Send, F: Future<Output = Result<T, OciError>>>(
    work: impl FnOnce() -> F + Send,
) -> Result<T, OciError> {
    let failed = |why: &str| OciError::Unfit(format!("registries cannot be asked: {why}"));
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(|error| failed(&error.to_string()))?.block_on(work())
    };
    let panicked = || Err(failed("the HTTP client failed"));
    std::thread::scope(|scope| scope.spawn(run).join().unwrap_or_else(|_| panicked()))
}
