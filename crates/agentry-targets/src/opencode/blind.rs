//! What OpenCode does not look at in a command line.

use crate::gap::{Blind, FILES, Line};

pub(super) const BLIND: &[Blind] = &[
    Blind {
        name: "redirections",
        why: "OpenCode checks the command and not where its output goes",
        lines: |command| vec![Line::new(format!("{command} > x"), words(command))],
    },
    Blind {
        name: "nested shells",
        why: "OpenCode does not look into `sh -c`, `env`, `xargs` and the like",
        lines: |command| {
            let shell = vec!["sh".to_owned(), "-c".to_owned(), command.to_owned()];
            let mut env = vec!["env".to_owned()];
            env.extend(words(command));
            vec![
                Line::new(format!("sh -c '{command}'"), shell),
                Line::new(format!("env {command}"), env),
            ]
        },
    },
    Blind {
        name: "other spellings",
        why: "OpenCode compares the text as it was typed",
        lines: |command| {
            let Some((program, rest)) = command.split_once(' ') else {
                return vec![Line::new(format!("/bin/{command}"), vec![format!("/bin/{command}")])];
            };
            let mut by_path = vec![format!("/bin/{program}")];
            by_path.extend(words(rest));
            let quoted = vec![format!("'{program}'"), rest.to_owned()];
            vec![
                Line::new(format!("/bin/{command}"), by_path),
                Line::new(format!("'{program}' {rest}"), quoted),
            ]
        },
    },
    Blind {
        name: "variables",
        why: "OpenCode takes a variable before a command for a part of its name",
        lines: |command| {
            let line = format!("PATH=x {command}");
            vec![Line::new(line.clone(), words(&line))]
        },
    },
    Blind {
        name: "dangerous options",
        why: "OpenCode has no table of options that make a harmless command write or run something",
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
