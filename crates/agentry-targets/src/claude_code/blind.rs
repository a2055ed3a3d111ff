//! What Claude Code does not look at in a command line. Lists and pipes, quotes, the directory of a
//! program, variables before it and wrappers like `env` and `sudo` do not deceive it.

use crate::gap::{Blind, FILES, Line};

pub(super) const BLIND: &[Blind] = &[
    Blind {
        name: "redirections",
        why: "a rule for the whole of `Bash` also holds for where output goes",
        lines: |command| vec![Line::new(format!("{command} > x"), words(command))],
    },
    Blind {
        name: "nested commands",
        why: "Claude Code does not look into `sh -c` and `find -exec`",
        lines: |command| {
            let shell = vec!["sh".to_owned(), "-c".to_owned(), command.to_owned()];
            let found = format!("find . -exec {command} ;");
            vec![
                Line::new(format!("sh -c '{command}'"), shell),
                Line::new(found.replace(';', "\\;"), words(&found)),
            ]
        },
    },
    Blind {
        name: "other spellings",
        why: "Claude Code knows no options before a subcommand and no variables",
        lines: |command| {
            let mut lines = vec![format!("$X {command}")];
            if let Some(rest) = command.strip_prefix("git ") {
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
    FILES,
];

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}
