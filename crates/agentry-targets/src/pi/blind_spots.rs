//! What Pi does not check: any call. This only matters where the whole shell is allowed, but not everything
//! that a shell can do.

use crate::blind_spots::{redirected, words};
use crate::gap::{ADDRESSES, BlindSpot, FILES, MisreadLine};

pub(super) const BLIND: &[BlindSpot] = &[
    BlindSpot {
        name: "secrets",
        why: "Pi looks at no command",
        lines: |command| vec![MisreadLine::new(format!("{command} < .env"), words(command))],
    },
    BlindSpot {
        name: "redirections",
        why: "Pi looks at no command",
        lines: |command| {
            let mut lines = redirected(command);
            lines.push(MisreadLine::new(format!("{command} > .env"), words(command)));
            lines
        },
    },
    FILES,
    ADDRESSES,
];
