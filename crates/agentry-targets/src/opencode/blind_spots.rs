//! What OpenCode does not check in a command line.

use crate::blind_spots::{as_typed, by_env, in_a_shell, redirected, respelled, with_option};
use crate::gap::{ADDRESSES, BlindSpot, FILES};

pub(super) const BLIND: &[BlindSpot] = &[
    BlindSpot {
        name: "redirections",
        why: "OpenCode checks the command and not where its output goes",
        lines: redirected,
    },
    BlindSpot {
        name: "nested shells",
        why: "OpenCode does not check inside `sh -c`, `env`, `xargs` and the like",
        lines: |command| vec![in_a_shell(command), by_env(command)],
    },
    BlindSpot {
        name: "other spellings",
        why: "OpenCode compares the text as it was typed",
        lines: respelled,
    },
    BlindSpot {
        name: "variables",
        why: "OpenCode takes a variable before a command for a part of its name",
        lines: |command| vec![as_typed(format!("PATH=x {command}"))],
    },
    BlindSpot {
        name: "dangerous options",
        why: "OpenCode has no table of options that make a harmless command write or run something",
        lines: with_option,
    },
    FILES,
    ADDRESSES,
];
