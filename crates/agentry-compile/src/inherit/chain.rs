//! Reads the bases of an agent, up to the first without a base. Every failure is reported with the whole
//! chain.

use std::sync::{Arc, OnceLock};

use agentry_formats::manifest::reference::problem;
use agentry_model::Agent;
use agentry_text::{Findings, LintRule, Severity, SourceFiles, Span, limits};

use super::base_memo::{BLOCK, BaseMemo, FIRST, remember};
use super::base_view::{offered, texts};
use super::reference::BaseReference;
use super::rules::{BROKEN_BASE, ENDLESS_BASES, NO_BASE, OTHER_DIGEST};
use super::stored_world::StoredWorld;
use super::{BaseAgent, DeclaredBase, declared, join};
use crate::digest::{digest, short};
use crate::discover::{FoundAgent, at};
use crate::pipeline::{CarriedFile, CompiledAgent, read_raw};
use crate::prompt::climbed;
use crate::store_reference::{FetchError, StoreRef, StoredAgent};
use crate::world::World;
use agentry_text::path::{join as path, split};

/// The hint if the registry gives none.
const REMOTE_HINT: &str = "look at what lies there, or use a copy: save it beside this file";

/// A base that was read, and merged with its own bases.
#[derive(Debug)]
pub(super) struct BaseLink {
    /// The base. Its sources are kept with the agent that is built on it.
    pub(super) compiled: CompiledAgent,
    /// The base as its children inherit it.
    pub(super) agent: Agent,
    /// Whether it comes from the store, so that it has no directory.
    pub(super) stored: bool,
    /// The files that a stored base names. They are read now, because later they cannot be reached.
    pub(super) carried: Vec<CarriedFile>,
    /// Its sources, and those of its own bases.
    sources: Arc<SourceFiles>,
    /// The base as reported, followed by its own bases.
    bases: Vec<BaseAgent>,
    digest: OnceLock<String>,
}

/// Why the base of an agent cannot be used.
#[derive(Debug)]
pub(super) struct BaseFailure {
    rule: &'static LintRule,
    message: String,
    hint: Option<String>,
    related: Vec<(Span, String)>,
}

impl BaseFailure {
    /// Reports the failure where the agent names its base.
    pub(super) fn report(self, place: Span, findings: &mut Findings) {
        let found = findings.add(self.rule, place, self.message);
        found.hint_opt(self.hint);
        for (span, message) in self.related.into_iter().filter(|(span, _)| *span != place) {
            found.related(span, message);
        }
    }
}

/// Reads the bases of an agent, and adds their sources to its own.
pub(super) fn load(
    world: &dyn World,
    compiled: &mut CompiledAgent,
    declared: &DeclaredBase,
) -> (Result<Arc<BaseLink>, BaseFailure>, Vec<BaseAgent>) {
    let first =
        ChainStep { id: identity(world, &compiled.found), path: compiled.found.path.clone() };
    let sources = std::mem::take(&mut compiled.sources);
    let places = Vec::new();
    let mut chain =
        BaseChain { sources, steps: vec![first], places, bases: Vec::new(), next: FIRST };
    let outcome = chain.above(world, declared);
    compiled.sources = chain.sources;
    (outcome, chain.bases)
}

/// A text that identifies a definition: the real path of its main file.
fn identity(world: &dyn World, found: &FoundAgent) -> String {
    let full = world.absolute(&path(&found.dir, &found.main));
    world.real(&full).unwrap_or(full)
}

/// One definition of the chain.
struct ChainStep {
    id: String,
    path: String,
}

struct BaseChain {
    sources: SourceFiles,
    /// The definitions so far, the agent itself first.
    steps: Vec<ChainStep>,
    /// Where each of them names its base.
    places: Vec<Span>,
    bases: Vec<BaseAgent>,
    /// The next file number of a base, if the world has no memo.
    next: u32,
}

impl BaseChain {
    /// The base that `from` names, merged with its own bases.
    fn above(
        &mut self,
        world: &dyn World,
        from: &DeclaredBase,
    ) -> Result<Arc<BaseLink>, BaseFailure> {
        let text = from.base.value.as_str();
        self.places.push(from.base.span);
        if let Some((what, hint)) = problem(text) {
            return Err(self.fail(&NO_BASE, text, &format!("the base {what}"), hint));
        }
        match BaseReference::parse(text) {
            BaseReference::Path(place, pin) => {
                let full = if place.starts_with('/') { place } else { climbed(&from.dir, &place) };
                let key = world.absolute(&full);
                if let Some(link) = self.known(world, from, &key) {
                    self.pinned(world, (&link, text), pin.as_deref())?;
                    return Ok(link);
                }
                let found = at(world, &full).map_err(|why| {
                    let hint = "a path starts at the file that names the base";
                    self.fail(&NO_BASE, &full, &format!("the base `{text}` {why}"), hint)
                })?;
                let link = self.link(world, (from, found), None)?;
                self.pinned(world, (&link, text), pin.as_deref())?;
                remember(world, &key, &link);
                Ok(link)
            }
            BaseReference::Stored(reference) => self.fetched(world, from, &reference),
            BaseReference::Oci(place, digest) => {
                // The store may have an agent with this digest; then no registry is asked.
                let stored = digest.map(StoreRef::Full).filter(|reference| {
                    let fetched = world.services().fetch(reference);
                    !matches!(fetched, Err(FetchError::Missing | FetchError::NoStore))
                });
                self.fetched(world, from, &stored.unwrap_or(StoreRef::Remote(place)))
            }
            BaseReference::Url(url) => self.fetched(world, from, &StoreRef::Remote(url)),
        }
    }

    /// Fetches a base from the store or a registry.
    fn fetched(
        &mut self,
        world: &dyn World,
        from: &DeclaredBase,
        reference: &StoreRef,
    ) -> Result<Arc<BaseLink>, BaseFailure> {
        let text = from.base.value.as_str();
        let key = format!("{reference} of the store");
        if let Some(link) = self.known(world, from, &key) {
            return Ok(link);
        }
        let stored = world.services().fetch(reference).map_err(|why| self.unfetched(text, &why))?;
        let link = self.stored(world, from, (reference, &stored))?;
        remember(world, &key, &link);
        Ok(link)
    }

    fn unfetched(&self, text: &str, why: &FetchError) -> BaseFailure {
        let (what, hint) = match why {
            FetchError::Remote { why, hint } => {
                let what = format!("the base `{text}` cannot be fetched: {why}");
                return self.fail(&NO_BASE, text, &what, hint.as_deref().unwrap_or(REMOTE_HINT));
            }
            FetchError::Untrusted(why) => {
                let hint = "your `config.toml` asks for signatures: it needs a signature by a key \
                            that is in `trusted` in `[signing]`";
                (format!("the base {why}"), hint)
            }
            why => {
                let what = format!("the base `{text}` cannot be fetched: {why}");
                (what, "`agentry list` shows what the store has")
            }
        };
        self.fail(&NO_BASE, text, &what, hint)
    }

    /// Reads a fetched base. Its content must have the digest that the store reports.
    fn stored(
        &mut self,
        world: &dyn World,
        from: &DeclaredBase,
        (reference, stored): (&StoreRef, &StoredAgent),
    ) -> Result<Arc<BaseLink>, BaseFailure> {
        // The reference becomes the name of a directory.
        let root = reference.to_string().replace('/', "_");
        let inner = StoredWorld::new(world, &root, stored);
        // Not only the agent's directory: files around it may be part of it.
        let (dir, main) = split(&stored.main);
        let (dir, main, format) = (path(&root, dir), main.to_owned(), stored.format);
        let found = FoundAgent { path: reference.to_string(), dir, main, format };
        let link = self.link(&inner, (from, found), Some(&stored.digest))?;
        self.pinned(&inner, (&link, &root), Some(&stored.digest))?;
        let named = match reference {
            StoreRef::Full(digest) => *digest == stored.digest,
            StoreRef::Short(digest) => short(&inner, &link.compiled).as_ref() == Some(digest),
            StoreRef::Named { .. } | StoreRef::Remote(_) => true,
        };
        if named {
            return Ok(link);
        }
        let what = format!("the store gave another agent for `{root}`");
        Err(self.fail(&OTHER_DIGEST, &root, &what, "the store is damaged: push the agent again"))
    }

    /// Fails if a base does not have the digest that it is pinned to.
    fn pinned(
        &self,
        world: &dyn World,
        (link, text): (&BaseLink, &str),
        pin: Option<&str>,
    ) -> Result<(), BaseFailure> {
        let Some(pin) = pin else { return Ok(()) };
        let digest = link.digest.get_or_init(|| digest(world, &link.compiled));
        if digest == pin {
            return Ok(());
        }
        let what = format!("the base `{text}` has the digest `{digest}`");
        let hint = "look at what changed; if it is meant, pin the new digest";
        Err(self.fail(&OTHER_DIGEST, "", &what, hint))
    }

    /// Reads one base and everything above it.
    fn link(
        &mut self,
        world: &dyn World,
        (from, found): (&DeclaredBase, FoundAgent),
        stored: Option<&str>,
    ) -> Result<Arc<BaseLink>, BaseFailure> {
        let id = identity(world, &found);
        let id = if stored.is_some() { format!("{id} of the store") } else { id };
        // Real paths are compared, so that links cannot hide a cycle.
        if self.steps.iter().any(|step| step.id == id) {
            let what = format!("the bases lead back to `{}`", found.path);
            return Err(self.fail(&ENDLESS_BASES, &found.path, &what, "remove one of these bases"));
        }
        if self.bases.len() == limits::BASES {
            let what = format!("more than {} bases stand above this agent", limits::BASES);
            let hint = "merge some of them into one";
            return Err(self.fail(&ENDLESS_BASES, &found.path, &what, hint));
        }
        self.steps.push(ChainStep { id, path: found.path.clone() });
        let (reference, path) = (from.base.clone(), found.path.clone());
        let is_stored = stored.is_some();
        let stored = stored.map(str::to_owned);
        let at = self.bases.len();
        self.bases.push(BaseAgent { reference, path, format: found.format, stored });
        // A base has its own sources with their own file numbers, so that all its children can share them.
        let own = SourceFiles::starting_at(self.number(world));
        let below = std::mem::replace(&mut self.sources, own);
        let outcome = self.compiled(world, &found);
        let carried = match &outcome {
            Ok(compiled) if is_stored => texts(world, compiled, &mut self.sources),
            _ => Vec::new(),
        };
        let sources = Arc::new(std::mem::replace(&mut self.sources, below));
        self.sources.share(Arc::clone(&sources));
        let compiled = outcome?;
        let agent = offered(&compiled);
        let bases = self.bases.get(at..).unwrap_or_default().to_vec();
        let digest = OnceLock::new();
        Ok(Arc::new(BaseLink {
            compiled,
            agent,
            stored: is_stored,
            carried,
            sources,
            bases,
            digest,
        }))
    }

    /// The base at `found`, merged with its own bases.
    fn compiled(
        &mut self,
        world: &dyn World,
        found: &FoundAgent,
    ) -> Result<CompiledAgent, BaseFailure> {
        let (mut compiled, mut findings) =
            read_raw(world, found, std::mem::take(&mut self.sources));
        let above = declared(world, &mut compiled, &mut findings);
        self.sources = std::mem::take(&mut compiled.sources);
        findings.secrets().for_each(|span| self.sources.hide(span));
        self.sound(&findings)?;
        if let Some(above) = above {
            let link = self.above(world, &above)?;
            join(world, &mut compiled, (&link, above.base.span), &mut findings);
            self.sound(&findings)?;
        }
        Ok(compiled)
    }

    /// The first file number for a base.
    fn number(&mut self, world: &dyn World) -> u32 {
        if let Some(first) = world.bases().and_then(BaseMemo::number) {
            return first;
        }
        let first = self.next;
        self.next = self.next.saturating_add(BLOCK);
        first
    }

    /// The memoised base for `key`.
    fn known(
        &mut self,
        world: &dyn World,
        from: &DeclaredBase,
        key: &str,
    ) -> Option<Arc<BaseLink>> {
        let link = world.bases()?.get(key)?;
        // Too many bases: reading them again produces the whole chain for the report.
        if self.bases.len() + link.bases.len() > limits::BASES {
            return None;
        }
        let mut bases = link.bases.clone();
        // The memo has the reference of another child, which may spell it differently.
        if let Some(nearest) = bases.first_mut() {
            nearest.reference = from.base.clone();
        }
        self.bases.extend(bases);
        self.sources.share(Arc::clone(&link.sources));
        Some(link)
    }

    /// Fails on the first error in the last base.
    fn sound(&self, findings: &Findings) -> Result<(), BaseFailure> {
        let Some(error) = findings.iter().find(|found| found.severity == Severity::Error) else {
            return Ok(());
        };
        let last = self.steps.last().map_or("", |step| step.path.as_str());
        let what = format!("the base `{last}` has an error ({})", error.message);
        let mut failure =
            self.fail(&BROKEN_BASE, "", &what, "run `agentry check` on it, and fix it first");
        failure.related.push((error.span, error.message.clone()));
        Err(failure)
    }

    /// A failure with the chain up to `end`.
    fn fail(&self, rule: &'static LintRule, end: &str, what: &str, hint: &str) -> BaseFailure {
        let named =
            |(span, step): (&Span, &ChainStep)| (*span, format!("the base of `{}`", step.path));
        let related = self.places.iter().zip(&self.steps).map(named).collect();
        let message = format!("{what}: {}", self.text(end));
        BaseFailure { rule, message, hint: Some(hint.to_owned()), related }
    }

    /// The chain as text: every definition so far, then `end`.
    fn text(&self, end: &str) -> String {
        let steps = self.steps.iter().map(|step| step.path.as_str());
        let all = steps.chain((!end.is_empty()).then_some(end));
        all.map(|path| format!("`{path}`")).collect::<Vec<_>>().join(" → ")
    }
}
