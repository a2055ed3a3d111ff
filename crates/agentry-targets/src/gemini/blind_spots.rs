//! What Gemini does not check in a command line. It splits command lines, asks about redirections, and looks
//! into `bash -c`.

use crate::blind_spots::{by_env, redirected, respelled, with_option};
use crate::gap::{ADDRESSES, BlindSpot, FILES};

pub(super) const BLIND: &[BlindSpot] = &[
    BlindSpot {
        name: "nested commands",
        why: "Gemini does not check inside `env`, `xargs` and the like",
        lines: |command| vec![by_env(command)],
    },
    BlindSpot {
        name: "other spellings",
        why: "Gemini compares the text as it was typed",
        lines: respelled,
    },
    BlindSpot {
        name: "dangerous options",
        why: "Gemini has no table of options that make a harmless command write or run something",
        lines: with_option,
    },
    BlindSpot {
        name: "redirections",
        why: "Gemini asks about them and does not check their target",
        lines: redirected,
    },
    FILES,
    ADDRESSES,
];
