//! JavaScript of a definition, parsed but never run. Both agent-md blocks and the scripts of an agent
//! directory need it.

mod nesting;

pub(crate) use nesting::MOST as MOST_LEVELS;

/// The stack that one level of nesting may use: three times the measured value.
const STACK_PER_LEVEL: usize = 8 * 1024;
/// Levels that fit on any thread's stack.
const SHALLOW: usize = 64;

/// Runs `work`, which parses `code`, with enough stack for its nesting; `None` when the nesting exceeds
/// [`MOST_LEVELS`].
pub(crate) fn with_stack<T: Send>(code: &str, work: impl FnOnce() -> T + Send) -> Option<T> {
    let levels = nesting::bound(code);
    if levels <= SHALLOW {
        return Some(work());
    }
    if levels > MOST_LEVELS {
        return None;
    }
    // A thread of its own, because the stack of the current one cannot grow.
    let builder = std::thread::Builder::new().stack_size((levels + SHALLOW) * STACK_PER_LEVEL);
    std::thread::scope(|scope| builder.spawn_scoped(scope, work).ok()?.join().ok())
}
