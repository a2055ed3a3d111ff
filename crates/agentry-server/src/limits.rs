//! How much clients may use of the server. Each connection is an open file, and runs and journals need some too.

use std::time::Duration;

/// The most connections, however many files may be open.
const MOST_CONNECTIONS: usize = 12_000;
/// The fewest.
const FEWEST_CONNECTIONS: usize = 64;

/// How long a client may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(15);

/// The limits of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLimits {
    /// Open connections. What comes beyond is refused with 503.
    pub connections: usize,
    /// Open streams of events, which are fewer: other requests must have a place.
    pub streams: usize,
    /// How long the head of a request may take, and how long its body.
    pub patience: Duration,
}

impl ServerLimits {
    /// The limits for a process that may have so many files open.
    pub fn for_open_files(most: u64) -> Self {
        // The rest is for runs, which need three each, and for journals.
        let connections = usize::try_from(most / 4 * 3).unwrap_or(usize::MAX);
        let connections = connections.clamp(FEWEST_CONNECTIONS, MOST_CONNECTIONS);
        Self { connections, streams: connections / 8 * 7, patience: PATIENCE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_follow_the_open_files() {
        let cases = [
            (0, (64, 56)),
            (1_024, (768, 672)),
            (16_384, (12_000, 10_500)),
            (u64::MAX, (12_000, 10_500)),
        ];
        for (files, expected) in cases {
            let limits = ServerLimits::for_open_files(files);
            assert_eq!((limits.connections, limits.streams), expected, "{files}");
        }
    }
}
