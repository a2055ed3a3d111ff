//! What Gemini does not look at in a command line. It takes lines apart, asks about redirections and
//! looks into `bash -c`.

use crate::gap::{Blind, FILES, Line};

pub(super) const BLIND: &[Blind] = &[
    Blind {
        name: "nested commands",
        why: "Gemini does not look into `env`, `xargs` and the like",
        lines: |command| {
            let mut env = vec!["env".to_owned()];
            env.extend(words(command));
            vec![Line::new(format!("env {command}"), env)]
        },
    },
    Blind {
        name: "other spellings",
        why: "Gemini compares the text as it was typed",
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
        name: "dangerous options",
        why: "Gemini has no table of options that make a harmless command write or run something",
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
    Blind {
        name: "redirections",
        why: "Gemini asks about them and does not look where they go",
        lines: |command| vec![Line::new(format!("{command} > x"), words(command))],
    },
    FILES,
];

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}
