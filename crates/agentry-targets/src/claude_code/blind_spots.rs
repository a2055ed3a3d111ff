//! What Claude Code does not check in a command line. It handles lists and pipes, quotes, the path of a
//! program, variables before it, and wrappers such as `env` and `sudo`.

use crate::blind_spots::{as_typed, in_a_shell, redirected, with_option, words};
use crate::gap::{ADDRESSES, BlindSpot, FILES, MisreadLine};

pub(super) const BLIND: &[BlindSpot] = &[
    BlindSpot {
        name: "redirections",
        why: "a rule for the whole of `Bash` also holds for where output goes",
        lines: redirected,
    },
    BlindSpot {
        name: "nested commands",
        why: "Claude Code does not check inside `sh -c` and `find -exec`",
        lines: |command| {
            let found = format!("find . -exec {command} ;");
            vec![in_a_shell(command), MisreadLine::new(found.replace(';', "\\;"), words(&found))]
        },
    },
    BlindSpot {
        name: "other spellings",
        why: "Claude Code knows no options before a subcommand and no variables",
        lines: |command| {
            let mut lines = vec![as_typed(format!("$X {command}"))];
            let rest = command.strip_prefix("git ");
            lines.extend(rest.map(|rest| as_typed(format!("git -C . {rest}"))));
            lines
        },
    },
    BlindSpot {
        name: "dangerous options",
        why: "Claude Code has no table of options that make a harmless command write or run something",
        lines: with_option,
    },
    FILES,
    ADDRESSES,
];
