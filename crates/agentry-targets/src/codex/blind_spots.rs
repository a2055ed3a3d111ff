//! What Codex does not check in a command line. Its rules match plain words; a line with anything else counts
//! as a call of the shell.

use crate::blind_spots::{as_typed, by_env};
use crate::gap::{ADDRESSES, BlindSpot, MisreadLine};

pub(super) const BLIND: &[BlindSpot] = &[
    BlindSpot {
        name: "lines that are no plain words",
        why: "Codex takes a line with a redirection, a variable or a substitution for a shell command",
        lines: |command| {
            let whole = |line: String| {
                let words = vec!["bash".to_owned(), "-lc".to_owned(), line.clone()];
                MisreadLine::new(line, words)
            };
            vec![whole(format!("{command} > x")), whole(format!("X=1 {command}"))]
        },
    },
    BlindSpot {
        name: "nested commands",
        why: "Codex does not check inside `env`, `xargs` and the like",
        lines: |command| vec![by_env(command)],
    },
    BlindSpot {
        name: "other spellings",
        why: "Codex compares the words as they are written",
        lines: |command| vec![as_typed(format!("/bin/{command}"))],
    },
    BlindSpot {
        name: "commands",
        why: "Codex does not check the files that a command is given",
        lines: |command| [command, "touch x", "cat .env"].map(as_typed).into(),
    },
    ADDRESSES,
];
