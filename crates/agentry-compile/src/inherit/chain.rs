//! The bases of an agent, read one after the other up to the first that has none. Whatever stops on
//! the way is told with the whole chain.

use agentry_formats::manifest::reference::problem;
use agentry_text::{Findings, Rule, Severity, Sources, Span, limits};

use super::reference::Reference;
use super::rules::{BROKEN_BASE, ENDLESS_BASES, NO_BASE, OTHER_DIGEST};
use super::stored_world::StoredWorld;
use super::{Base, Declared, declared, join};
use crate::digest::{digest, short};
use crate::discover::{Found, at};
use crate::pipeline::{Compiled, read_raw};
use crate::prompt::climbed;
use crate::stored::{FetchError, StoreRef, Stored};
use crate::world::World;
use agentry_text::path::{join as path, split};

/// A base that was read and merged with its own bases.
pub(super) struct Link {
    /// The base; the texts are with the agent that is built on it.
    pub(super) compiled: Compiled,
    /// Whether it comes from the store, where it has no place of its own.
    pub(super) stored: bool,
}

/// Why an agent has no base that can be used.
#[derive(Debug)]
pub(super) struct Failure {
    rule: &'static Rule,
    message: String,
    hint: Option<String>,
    related: Vec<(Span, String)>,
}

impl Failure {
    /// Reports it at the place where the agent itself names its base.
    pub(super) fn report(self, place: Span, findings: &mut Findings) {
        let found = findings.add(self.rule, place, self.message);
        found.hint_opt(self.hint);
        for (span, message) in self.related.into_iter().filter(|(span, _)| *span != place) {
            found.related(span, message);
        }
    }
}

/// Reads the bases of an agent; the texts are added to its own.
pub(super) fn load(
    world: &dyn World,
    compiled: &mut Compiled,
    declared: &Declared,
) -> (Result<Link, Failure>, Vec<Base>) {
    let first = Step { id: identity(world, &compiled.found), path: compiled.found.path.clone() };
    let sources = std::mem::take(&mut compiled.sources);
    let mut chain = Chain { sources, steps: vec![first], places: Vec::new(), bases: Vec::new() };
    let outcome = chain.above(world, declared);
    compiled.sources = chain.sources;
    (outcome, chain.bases)
}

/// What tells a file from every other.
fn identity(world: &dyn World, found: &Found) -> String {
    let full = world.absolute(&path(&found.dir, &found.main));
    world.real(&full).unwrap_or(full)
}

/// One definition of the chain.
struct Step {
    id: String,
    path: String,
}

struct Chain {
    sources: Sources,
    /// What was met so far, the agent itself first.
    steps: Vec<Step>,
    /// Where each of them names its base.
    places: Vec<Span>,
    bases: Vec<Base>,
}

impl Chain {
    /// The base that `from` names, merged with its own bases.
    fn above(&mut self, world: &dyn World, from: &Declared) -> Result<Link, Failure> {
        let text = from.base.value.as_str();
        self.places.push(from.base.span);
        if let Some((what, hint)) = problem(text) {
            return Err(self.fail(&NO_BASE, text, &format!("the base {what}"), hint));
        }
        match Reference::parse(text) {
            Reference::Path(place, pin) => {
                let full = if place.starts_with('/') { place } else { climbed(&from.dir, &place) };
                let found = at(world, &full).map_err(|why| {
                    let hint = "a path starts at the file that names the base";
                    self.fail(&NO_BASE, &full, &format!("the base `{text}` {why}"), hint)
                })?;
                let link = self.link(world, (from, found), None)?;
                self.pinned(world, (&link, text), pin.as_deref())?;
                Ok(link)
            }
            Reference::Stored(reference) => {
                let stored = world.fetch(&reference).map_err(|why| self.unfetched(text, &why))?;
                self.stored(world, from, (&reference, &stored))
            }
            Reference::Oci => {
                let what =
                    format!("the base `{text}` is an OCI reference, which is not fetched yet");
                let hint = "put it into the store, and name it by digest or `name@version`";
                Err(self.fail(&NO_BASE, text, &what, hint))
            }
            Reference::Url => {
                let what = format!("the base `{text}` is a URL, which is not fetched yet");
                let hint =
                    "save the file beside this one, and keep its digest: `./x.agent#sha256:…`";
                Err(self.fail(&NO_BASE, text, &what, hint))
            }
        }
    }

    fn unfetched(&self, text: &str, why: &FetchError) -> Failure {
        let what = format!("the base `{text}` cannot be fetched: {why}");
        self.fail(&NO_BASE, text, &what, "`agentry list` shows what the store has")
    }

    /// A base of the store: what it holds must have the digest that it is known by.
    fn stored(
        &mut self,
        world: &dyn World,
        from: &Declared,
        (reference, stored): (&StoreRef, &Stored),
    ) -> Result<Link, Failure> {
        let root = reference.to_string().replace('/', "_");
        let inner = StoredWorld::new(world, &root, stored);
        // Files around the agent's directory may take part.
        let (dir, main) = split(&stored.main);
        let (dir, main, format) = (path(&root, dir), main.to_owned(), stored.format);
        let found = Found { path: root.clone(), dir, main, format };
        let link = self.link(&inner, (from, found), Some(&stored.digest))?;
        self.pinned(&inner, (&link, &root), Some(&stored.digest))?;
        let named = match reference {
            StoreRef::Full(digest) => *digest == stored.digest,
            StoreRef::Short(digest) => short(&inner, &link.compiled).as_ref() == Some(digest),
            StoreRef::Named { .. } => true,
        };
        if named {
            return Ok(link);
        }
        let what = format!("the store gave another agent for `{root}`");
        Err(self.fail(&OTHER_DIGEST, &root, &what, "the store is damaged: push the agent again"))
    }

    /// Fails where a base has another digest than the one that it is pinned to.
    fn pinned(
        &self,
        world: &dyn World,
        (link, text): (&Link, &str),
        pin: Option<&str>,
    ) -> Result<(), Failure> {
        let Some(pin) = pin else { return Ok(()) };
        let digest = digest(world, &link.compiled);
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
        (from, found): (&Declared, Found),
        stored: Option<&str>,
    ) -> Result<Link, Failure> {
        let id = identity(world, &found);
        let id = if stored.is_some() { format!("{id} of the store") } else { id };
        if self.steps.iter().any(|step| step.id == id) {
            let what = format!("the bases lead back to `{}`", found.path);
            return Err(self.fail(&ENDLESS_BASES, &found.path, &what, "remove one of these bases"));
        }
        if self.bases.len() == limits::BASES {
            let what = format!("more than {} bases stand above this agent", limits::BASES);
            let hint = "merge some of them into one";
            return Err(self.fail(&ENDLESS_BASES, &found.path, &what, hint));
        }
        self.steps.push(Step { id, path: found.path.clone() });
        let (reference, path) = (from.base.clone(), found.path.clone());
        let stored = stored.map(str::to_owned);
        self.bases.push(Base { reference, path, format: found.format, stored: stored.clone() });
        let (mut compiled, mut findings) =
            read_raw(world, &found, std::mem::take(&mut self.sources));
        let above = declared(world, &mut compiled, &mut findings);
        self.sources = std::mem::take(&mut compiled.sources);
        findings.secrets().for_each(|span| self.sources.hide(span));
        self.sound(&findings)?;
        if let Some(above) = above {
            let link = self.above(world, &above)?;
            join(world, &mut compiled, (link, above.base.span), &mut findings);
            self.sound(&findings)?;
        }
        Ok(Link { compiled, stored: stored.is_some() })
    }

    /// Fails on the first error among what was found in the last base.
    fn sound(&self, findings: &Findings) -> Result<(), Failure> {
        let Some(error) = findings.iter().find(|found| found.severity == Severity::Error) else {
            return Ok(());
        };
        let last = self.steps.last().map_or("", |step| step.path.as_str());
        let what = format!("the base `{last}` has an error ({})", error.message);
        let mut failure =
            self.fail(&BROKEN_BASE, "", &what, "`agentry check` it, and mend it first");
        failure.related.push((error.span, error.message.clone()));
        Err(failure)
    }

    /// A failure with the chain up to `end`.
    fn fail(&self, rule: &'static Rule, end: &str, what: &str, hint: &str) -> Failure {
        let named = |(span, step): (&Span, &Step)| (*span, format!("the base of `{}`", step.path));
        let related = self.places.iter().zip(&self.steps).map(named).collect();
        let message = format!("{what}: {}", self.text(end));
        Failure { rule, message, hint: Some(hint.to_owned()), related }
    }

    /// Everything that was met, and what it ends in.
    fn text(&self, end: &str) -> String {
        let steps = self.steps.iter().map(|step| step.path.as_str());
        let all = steps.chain((!end.is_empty()).then_some(end));
        all.map(|path| format!("`{path}`")).collect::<Vec<_>>().join(" → ")
    }
}
