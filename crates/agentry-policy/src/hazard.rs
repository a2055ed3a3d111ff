//! Decides whether an allow rule permits a hazard: only if the rule names it.

use agentry_commands::hazard::hazards;
use agentry_commands::{
    CommandFront, CommandHazard, HazardSign, base_name, global_options, own_rules,
};

use crate::pattern::command::{CommandPattern, HazardousCommands};
use crate::pattern::{Pattern, PatternShape};

/// Whether an allow rule that matches `argv` also permits its hazards. A rule whose command word can match
/// many commands with hazards permits only arguments that it spells out.
pub(crate) fn permits(pattern: &Pattern, argv: &[&str]) -> bool {
    let PatternShape::Command(CommandPattern { hazardous: HazardousCommands::Many, .. }) =
        &pattern.shape
    else {
        return own_rules(argv).all(|hazard| names(pattern, hazard));
    };
    let command = argv.first().map_or("", |word| base_name(word));
    let words = argv.get(1..).unwrap_or_default();
    hazards(command).is_empty()
        || words.iter().all(|word| pattern.tokens().any(|token| token == *word))
}

/// Whether the pattern names the hazard, which shows that its author intended it.
pub(crate) fn names(pattern: &Pattern, hazard: &CommandHazard) -> bool {
    // Without a wildcard the whole command was written by the author.
    if !pattern.has_wildcard() {
        return true;
    }
    let literal = |token: &str| token.split('*').next().unwrap_or_default().to_owned();
    let tokens: Vec<String> = pattern.tokens().map(literal).collect();
    let starting = |start: &str| tokens.iter().skip(1).any(|token| token.starts_with(start));
    match hazard.sign {
        // Whole words are compared: `--output-indicator-new` is not `--output`, and `addr` is not `add`.
        HazardSign::Long(spelling, _) | HazardSign::Word(spelling) => {
            let option = |token: &String| token.split('=').next() == Some(spelling);
            tokens.iter().skip(1).any(option)
        }
        HazardSign::Prefix(spelling) => starting(spelling),
        HazardSign::Short(option) => starting(&format!("-{option}")),
        HazardSign::Global(spelling) => {
            let argv: Vec<&str> = tokens.iter().map(String::as_str).collect();
            let front = CommandFront::new(global_options(hazard.command), &argv);
            front.words.iter().any(|token| token.starts_with(spelling))
        }
        HazardSign::Unless(_) => false,
    }
}
