//! What Pi does not look at: any call at all. It only matters where the whole shell is allowed.

use crate::blind::words;
use crate::gap::{Blind, Line};

pub(super) const BLIND: &[Blind] = &[
    Blind {
        name: "secrets",
        why: "Pi looks at no command",
        lines: |command| vec![Line::new(format!("{command} < .env"), words(command))],
    },
    Blind {
        name: "redirections",
        why: "Pi looks at no command",
        lines: |command| vec![Line::new(format!("{command} > .env"), words(command))],
    },
];
