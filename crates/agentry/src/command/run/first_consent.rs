//! Consent before the first run: lists all that the agent may do, and asks the user.

use agentry_runtime::confine::variables;
use agentry_runtime::consent::{ConsentListing, ConsentStore, UserConsent};

use super::line_editor::{LineEditor, TypedInput};
use super::prepared_agent::{PreparedAgent, required_variables};
use super::stop;
use super::terminal::{TerminalView, clean};
use crate::args::{RunArguments, RunFormat};
use crate::output::{CliFailure, columns, remark, said};

/// The list of all that an agent may do in a run now.
pub(crate) fn listing(
    ground: &PreparedAgent,
    sandbox: String,
    models: Vec<String>,
) -> ConsentListing {
    ConsentListing {
        may: ConsentListing::of(&ground.judge),
        variables: variables::listed(&ground.judge, &required_variables(&ground.agent)),
        sandbox: vec![sandbox],
        models,
    }
}

/// Shows the list and waits for consent, unless this digest already has it.
pub(crate) fn consent(
    ground: &PreparedAgent,
    args: &RunArguments,
    now: u64,
    listing: impl FnOnce() -> ConsentListing,
) -> Result<(), CliFailure> {
    let consents = ConsentStore::of(&ground.home);
    if consents.has(&ground.digest, args.unconfined) {
        return Ok(());
    }
    let name = ground.agent.name();
    remark(&format!("`{name}` ({}) runs only if you agree. It may:", ground.digest));
    let rows = listing().rows();
    let rows: Vec<_> =
        rows.iter().map(|(name, line)| vec![format!("  {name}"), clean(line)]).collect();
    columns(&rows).lines().for_each(remark);
    let attended = TerminalView::is_attended() && args.format == RunFormat::Human;
    // The list is shown with `--yes` too, so that it is in the log.
    let agreed = args.yes || (attended && agrees());
    if !agreed {
        return Err(CliFailure::new(format!(
            "`{}` was not run: there is no consent",
            ground.path()
        ))
        .hint("`--yes` consents to what is listed above")
        .refused());
    }
    let consent = UserConsent {
        digest: ground.digest.clone(),
        name: name.to_owned(),
        agent: ground.path().to_owned(),
        unconfined: args.unconfined,
        at: now,
    };
    let kept = consents.give(&consent);
    kept.map_err(|error| CliFailure::new(format!("consent cannot be kept: {}", said(&error))))
}

fn agrees() -> bool {
    let Ok(lines) = LineEditor::new() else { return false };
    stop::end_at(&lines);
    let TypedInput::Line(line) = lines.wait("run it? [y]es  [n]o › ") else { return false };
    matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}
