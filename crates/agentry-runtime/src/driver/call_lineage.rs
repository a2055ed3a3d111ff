//! The bounds of the calls that running calls make: those of every call above them count.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::rulebook::Rulebook;
use crate::tool::CallBounds;

/// The most levels of calls below a call of the model.
const MOST_LEVELS: usize = 3;

/// The bounds of the calls that one running call makes.
pub(super) struct CallLineage {
    /// Those of the call above it.
    above: Option<Arc<CallLineage>>,
    bounds: Arc<CallBounds>,
    level: usize,
    /// The rules of the run, within these bounds and those above.
    pub(super) rulebook: Rulebook,
}

impl CallLineage {
    pub(super) fn new(
        above: Option<Arc<Self>>,
        bounds: Arc<CallBounds>,
        rulebook: &Rulebook,
    ) -> Arc<Self> {
        let level = above.as_ref().map_or(0, |above| above.level) + 1;
        let rulebook = rulebook.narrowed(bounds.layer.clone());
        Arc::new(Self { above, bounds, level, rulebook })
    }

    /// Checks that a tool may be called at all. The policy decides about the call itself.
    pub(super) fn admit(&self, tool: &str) -> Result<(), String> {
        if self.level > MOST_LEVELS {
            return Err(format!(
                "refused: `{}` is called by other scripts {MOST_LEVELS} levels deep, and calls no more",
                self.bounds.of
            ));
        }
        let mut bound = Some(self);
        while let Some(CallLineage { above, bounds, .. }) = bound {
            if !bounds.tools.iter().any(|name| name == tool) {
                let of = &bounds.of;
                return Err(format!(
                    "refused: `{tool}` is not among the `allowed_tools` of `{of}`"
                ));
            }
            bound = above.as_deref();
        }
        Ok(())
    }

    /// Returns the most bytes of one output.
    pub(super) fn most_output(&self) -> usize {
        self.bounds.most_output
    }
}

/// The bounds of all running calls that make calls, by their ids.
#[derive(Default)]
pub(super) struct CallLineages(Mutex<LineageTable>);

#[derive(Default)]
struct LineageTable {
    /// `None` once the call is over.
    by_id: HashMap<String, Option<Arc<CallLineage>>>,
    /// The number of calls that were made without a driver.
    made: usize,
}

impl CallLineages {
    /// Returns the bounds of a call that another one made. Its id begins with the id of that call; an id of
    /// the model that looks like it gets bounds that it does not need, and never loses any. A call whose bounds are
    /// gone, because the one that made it has ended meanwhile, is an error: without them it may do more.
    pub(super) fn of(&self, id: &str) -> Result<Option<Arc<CallLineage>>, String> {
        let Some((within, _)) = id.rsplit_once('.') else { return Ok(None) };
        match self.locked().by_id.get(within) {
            None => Ok(None),
            Some(Some(lineage)) => Ok(Some(Arc::clone(lineage))),
            Some(None) => Err("the call that made it is over".to_owned()),
        }
    }

    /// Returns the bounds of the calls that a running call makes.
    pub(super) fn bound(
        &self,
        id: &str,
        create: impl FnOnce() -> Arc<CallLineage>,
    ) -> Arc<CallLineage> {
        let known = self.locked().by_id.get(id).cloned().flatten();
        known.unwrap_or_else(|| {
            let made = create();
            self.locked().by_id.insert(id.to_owned(), Some(Arc::clone(&made)));
            made
        })
    }

    /// Forgets the bounds of a call that is over, but not that there were some.
    pub(super) fn end(&self, id: &str) {
        if let Some(lineage) = self.locked().by_id.get_mut(id) {
            *lineage = None;
        }
    }

    /// Returns an id for a call that is made without a driver.
    pub(super) fn next_id(&self, within: &str) -> String {
        let mut table = self.locked();
        table.made += 1;
        format!("{within}.{}", table.made)
    }

    fn locked(&self) -> MutexGuard<'_, LineageTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
