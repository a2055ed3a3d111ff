//! What Pi does not look at: any call at all. It only matters where the whole shell is allowed, but not
//! all that can be done with it.

use crate::blind_spots::{redirected, words};
use crate::gap::{ADDRESSES, Blind, FILES, Line};

pub(super) const BLIND: &[Blind] = &[
    Blind {
        name: "secrets",
        why: "Pi looks at no command",
        lines: |command| vec![Line::new(format!("{command} < .env"), words(command))],
    },
    Blind {
        name: "redirections",
        why: "Pi looks at no command",
        lines: |command| {
            let mut lines = redirected(command);
            lines.push(Line::new(format!("{command} > .env"), words(command)));
            lines
        },
    },
    FILES,
    ADDRESSES,
];
