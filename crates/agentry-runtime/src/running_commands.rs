//! How many commands and programs of agents are under way. Someone else who writes a file for an agent needs to know,
//! because a command could replace a directory by a link meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The commands and programs of this process that are under way, of all runs in it.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Returns how many commands and programs of runs are under way in this process.
pub(crate) fn running_commands() -> usize {
    RUNNING.load(Ordering::SeqCst)
}

/// Counts a command from before it starts until its guard is dropped.
pub(crate) struct CountedCommand;

impl CountedCommand {
    pub(crate) fn new() -> Self {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for CountedCommand {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_counted_until_it_is_dropped() {
        let counted = CountedCommand::new();
        // Other tests may have commands at the same time.
        assert!(running_commands() > 0);
        drop(counted);
    }
}
