//! What Claude Code does not look at in a command line. It takes lists and pipes apart, and a few
//! wrappers; it compares the rest as it was typed.

use crate::gap::{Blind, Line};

pub(super) const BLIND: &[Blind] = &[
    Blind {
        name: "redirections",
        why: "a rule for the whole of `Bash` also holds for where output goes",
        lines: |command| vec![Line::new(format!("{command} > x"), words(command))],
    },
    Blind {
        name: "nested shells",
        why: "Claude Code does not look into `sh -c`, `env`, `find -exec` and the like",
        lines: |command| {
            let shell = vec!["sh".to_owned(), "-c".to_owned(), command.to_owned()];
            let before = |start: &str| words(&format!("{start} {command}"));
            vec![
                Line::new(format!("sh -c '{command}'"), shell),
                Line::new(format!("env {command}"), before("env")),
                Line::new(format!("sudo {command}"), before("sudo")),
            ]
        },
    },
    Blind {
        name: "other spellings",
        why: "Claude Code compares the text as it was typed",
        lines: |command| {
            let (program, rest) = command.split_once(' ').unwrap_or((command, ""));
            let mut lines =
                vec![format!("/bin/{command}"), format!("'{program}' {rest}").trim().to_owned()];
            if program == "git" && !rest.is_empty() {
                lines.push(format!("git -C . {rest}"));
            }
            lines.into_iter().map(|line| Line::new(line.clone(), words(&line))).collect()
        },
    },
    Blind {
        name: "dangerous options",
        why: "Claude Code has no table of options that make a harmless command write or run something",
        lines: |command| {
            let option = match command.split(' ').next() {
                Some("git") => "--output=x",
                Some("find") => "-delete",
                Some("sort") => "-o x",
                Some("sed") => "-i",
                _ => return Vec::new(),
            };
            let line = format!("{command} {option}");
            vec![Line::new(line.clone(), words(&line))]
        },
    },
];

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}
