//! JavaScript of a definition, parsed but never run: what agent-md blocks and the scripts of an agent
//! directory need alike.

mod nesting;

pub(crate) use nesting::MOST as MOST_LEVELS;

/// The stack that one level of nesting may take; three times what was measured.
const STACK_PER_LEVEL: usize = 8 * 1024;
/// Levels that fit on any thread's stack.
const SHALLOW: usize = 64;

/// Runs `work`, which parses `code`, with as much stack as that may need; `None` when it is beyond
/// reason.
pub(crate) fn with_stack<T: Send>(code: &str, work: impl FnOnce() -> T + Send) -> Option<T> {
    let levels = nesting::bound(code);
    if levels <= SHALLOW {
        return Some(work());
    }
    if levels > MOST_LEVELS {
        return None;
    }
    let builder = std::thread::Builder::new().stack_size((levels + SHALLOW) * STACK_PER_LEVEL);
    std::thread::scope(|scope| builder.spawn_scoped(scope, work).ok()?.join().ok())
}
