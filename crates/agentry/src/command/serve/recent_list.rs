//! The part of the list of runs that was asked for last. Clients that ask many times a second share one look at the
//! journals.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentry_server::{HostReply, ListWindow};

/// How long a list is valid: shorter than a person or a program notices.
const VALID: Duration = Duration::from_millis(20);

/// A list that was made a moment ago.
#[derive(Default)]
pub(super) struct RecentList(Mutex<RecentState>);

#[derive(Default)]
struct RecentState {
    /// Counts the changes that this server made itself.
    changes: u64,
    kept: Option<(Instant, ListWindow, HostReply)>,
}

impl RecentList {
    /// The list for this window, if it is still valid.
    pub(super) fn get(&self, window: &ListWindow) -> Option<HostReply> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (made, asked, reply) = state.kept.as_ref()?;
        (made.elapsed() < VALID && asked == window).then(|| reply.clone())
    }

    /// What to hand to [`RecentList::keep`] when the list is made.
    pub(super) fn begin(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).changes
    }

    /// Keeps a list, unless something changed while it was made.
    pub(super) fn keep(&self, since: u64, window: &ListWindow, reply: &HostReply) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.changes == since {
            state.kept = Some((Instant::now(), window.clone(), reply.clone()));
        }
    }

    /// This server changes something: the next list has it.
    pub(super) fn change(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.changes += 1;
        state.kept = None;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_is_kept_until_something_changes() {
        let window = |limit| ListWindow { limit, before: None, agent: None };
        let reply = HostReply::from(json!([1]));
        let recent = RecentList::default();
        let since = recent.begin();
        recent.change();
        recent.keep(since, &window(1), &reply);
        assert_eq!(recent.get(&window(1)), None, "it was made before the change");
        // Kept for a short time only, which a slow machine may take.
        recent.keep(recent.begin(), &window(1), &reply);
        assert_eq!(recent.get(&window(2)), None, "another part of the list");
        recent.change();
        assert_eq!(recent.get(&window(1)), None);
    }
}
