//! `agentry teach`: turns a sentence of the user into a proposed change. A model drafts it if there is one; otherwise it is a
//! memory of type rule.

mod model_draft;

use std::hash::{BuildHasher as _, RandomState};

use agentry_home::evolution::{ProposalState, ProposedChange, ProposedText};
use agentry_home::layout::identifier_of;
use agentry_home::repository::CommitKind;
use agentry_runtime::journal::DisplayTime;

use crate::args::{ResultFormat, TeachArguments};
use crate::command::history::visible_lines;
use crate::command::run::session::now;
use crate::command::{home_agents, proposals};
use crate::disk::DiskWorld;
use crate::output::{CliFailure, CliOutcome, ExitKind, note, print};

/// The longest sentence, in bytes.
const LONGEST: usize = 4_000;

pub(crate) fn run(args: &TeachArguments) -> CliOutcome {
    let text = args.text.trim();
    if text.is_empty() || text.len() > LONGEST {
        return Err(CliFailure::new(format!("a sentence has between one and {LONGEST} bytes")));
    }
    let home = home_agents::open()?;
    home.find(&args.id).map_err(home_agents::failed)?;
    let rules = proposals::rules(&DiskWorld::default())?;
    let drafted = if args.no_model { None } else { model_draft::propose(&home, args, rules)? };
    if let Some(proposal) = drafted {
        if args.format == ResultFormat::Human {
            print(&visible_lines(&proposal.diff));
        }
        proposals::decided(&proposal, args.format);
        if proposal.state == ProposalState::Pending {
            note(&format!("`agentry proposals accept {}` makes it a change", proposal.id));
        }
        return Ok(ExitKind::Done);
    }
    let (file, content) = memory_file(text);
    let change = ProposedChange {
        file,
        text: ProposedText::Whole(content),
        reason: format!("Taught: {text}"),
        run: None,
        author: home.person().to_owned(),
        kind: CommitKind::Person,
        private_to: None,
    };
    let proposal = proposals::propose(&home, &args.id, &change, rules)?;
    proposals::decided(&proposal, args.format);
    Ok(if proposal.state == ProposalState::Refused { ExitKind::Refused } else { ExitKind::Done })
}

/// A memory of type rule, and its path.
fn memory_file(text: &str) -> (String, String) {
    let first: String = text.split_whitespace().take(6).collect::<Vec<_>>().join(" ");
    let slug = identifier_of(&first).unwrap_or_else(|| "rule".to_owned());
    let slug = slug.get(..slug.len().min(40)).unwrap_or(&slug).trim_end_matches('-').to_owned();
    // Several processes may teach the same sentence at once.
    let mark = RandomState::new().hash_one(text) % 0x100_0000;
    let time = DisplayTime(now());
    let content = format!(
        "---\ntype: rule\nimportance: high\ncreated: {time}\nsource: user_teaching\n---\n\n{text}\n"
    );
    (format!("memory/{slug}-{mark:06x}.md"), content)
}
