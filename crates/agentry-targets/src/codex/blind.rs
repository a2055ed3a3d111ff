//! What Codex does not look at in a command line: its rules are about plain words, and whatever else
//! a line holds makes it a call of the shell.

use crate::gap::{Blind, Line};

pub(super) const BLIND: &[Blind] = &[
    Blind {
        name: "lines that are no plain words",
        why: "Codex takes a line with a redirection, a variable or a substitution for a shell command",
        lines: |command| {
            let whole = |line: String| {
                let words = vec!["bash".to_owned(), "-lc".to_owned(), line.clone()];
                Line::new(line, words)
            };
            vec![whole(format!("{command} > x")), whole(format!("X=1 {command}"))]
        },
    },
    Blind {
        name: "nested commands",
        why: "Codex does not look into `env`, `xargs` and the like",
        lines: |command| {
            let mut env = vec!["env".to_owned()];
            env.extend(words(command));
            vec![Line::new(format!("env {command}"), env)]
        },
    },
    Blind {
        name: "other spellings",
        why: "Codex compares the words as they are written",
        lines: |command| {
            let mut by_path = words(&format!("/bin/{command}"));
            by_path.retain(|word| !word.is_empty());
            vec![Line::new(format!("/bin/{command}"), by_path)]
        },
    },
    Blind {
        name: "commands",
        why: "Codex does not look at the files that a command is given",
        lines: |command| {
            let lines = [command, "touch x", "cat .env"];
            lines.map(|line| Line::new(line, words(line))).into()
        },
    },
];

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}
