//! The list of commands in `agentry --help`: in groups, the daily ones first.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _, FromArgMatches as _};

use super::CliArguments;
use crate::output::{columns_within, terminal_columns};

/// The commands by what a user wants to do. A test compares them with all that there are.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Run agents", &["run", "resume", "runs", "tools", "consent", "receipts"]),
    (
        "Write and check agents",
        &["new", "check", "show", "resolve", "test", "convert", "hash", "schema", "rules"],
    ),
    ("See what agents may do", &["policy", "sandbox", "lock", "audit"]),
    (
        "Use them in other programs",
        &["render", "import", "guard", "acp", "mcp", "serve", "schedule"],
    ),
    (
        "Keep them for months",
        &[
            "install",
            "agents",
            "history",
            "diff",
            "rollback",
            "memory",
            "proposals",
            "teach",
            "export",
            "uninstall",
        ],
    ),
    ("Share them", &["push", "pull", "search", "list", "verify", "sign", "keygen", "gc"]),
    (
        "This machine and repository",
        &["init", "doctor", "models", "config", "completions", "man", "help"],
    ),
];

/// The width of help that is no terminal's: that of the options.
const USUAL_COLUMNS: usize = 100;

/// The program with its commands in groups.
fn command() -> Command {
    let command = CliArguments::command();
    let template = template(&command, terminal_columns().unwrap_or(USUAL_COLUMNS));
    command.help_template(template)
}

/// Reads what was typed; prints the help or an error, and exits, if it is no command.
pub(crate) fn parse() -> CliArguments {
    let matches = command().get_matches();
    CliArguments::from_arg_matches(&matches)
        .unwrap_or_else(|error| error.format(&mut command()).exit())
}

fn template(command: &Command, most: usize) -> String {
    let header = command.get_styles().get_header();
    let name = command.get_styles().get_literal();
    let mut out = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (title, names) in GROUPS {
        let _ = write!(out, "\n{header}{title}:{header:#}\n");
        let width = GROUPS.iter().flat_map(|group| group.1).map(|name| name.len()).max();
        let pad = width.unwrap_or_default();
        let rows =
            names.iter().map(|known| vec![format!("  {known:<pad$}"), about(command, known)]);
        for line in columns_within(&rows.collect::<Vec<_>>(), Some(most)).lines() {
            match names.iter().find(|known| line.starts_with(&format!("  {known} "))) {
                Some(known) => {
                    let rest = line.get(2 + known.len()..).unwrap_or_default();
                    let _ = writeln!(out, "  {name}{known}{name:#}{rest}");
                }
                None => {
                    let _ = writeln!(out, "{line}");
                }
            }
        }
    }
    let _ = write!(out, "\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    out
}

/// What a command does, in a line.
fn about(command: &Command, name: &str) -> String {
    match command.find_subcommand(name).and_then(Command::get_about) {
        Some(about) => about.to_string(),
        // Made by clap when the program is built.
        None => "Explain a command".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = CliArguments::command();
        let visible = command.get_subcommands().filter(|it| !it.is_hide_set());
        let mut all: Vec<&str> = visible.map(Command::get_name).chain(["help"]).collect();
        all.sort_unstable();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|group| group.1).copied().collect();
        grouped.sort_unstable();
        assert_eq!(grouped, all);
        assert_eq!(grouped.iter().collect::<BTreeSet<_>>().len(), grouped.len());
    }

    #[test]
    fn the_list_has_one_line_for_each_command() {
        let text = template(&CliArguments::command(), 80);
        let lines = GROUPS.iter().map(|group| group.1.len() + 2).sum::<usize>();
        // Usage and options stand around the groups.
        assert_eq!(text.lines().count(), lines + 5, "{text}");
    }
}
