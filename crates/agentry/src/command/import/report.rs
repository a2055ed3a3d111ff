//! The report of `import`: how many agents, what was skipped, and what is lost. Equal lines are one line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use agentry_compile::text::TextPosition;
use agentry_compile::text::report::{counted, visible};
use serde_json::{Value, json};

use crate::args::{ImportArguments, ResultFormat};
use crate::command_report::CommandReport;
use crate::output::{columns, print, print_json};

use super::search::SkippedFile;
use super::{ImportedFiles, ReportedLoss};

/// The names and places that a line lists before it counts the rest.
const NAMED: usize = 3;

/// Prints the report; `refused` if nothing was written.
pub(super) fn print_report(
    args: &ImportArguments,
    agents: &[ImportedFiles],
    skipped: &[SkippedFile],
    refused: bool,
) {
    if args.format == ResultFormat::Json {
        print_json(&to_json(agents, skipped));
        return;
    }
    // The reason for its absence was reported.
    let has_reason = agents.is_empty() && refused;
    let counts = if has_reason { String::new() } else { counts(args, agents, skipped, refused) };
    let mut report = CommandReport::new(counts).counts_first(agents.len() > 1);
    if !args.quiet {
        let files = files(agents, args.verbose) + &skipped_lines(skipped, args.verbose);
        report.section("files", &files);
        report.section("losses", &losses(args, agents));
    }
    print(&report.text());
}

/// The line of counts.
fn counts(
    args: &ImportArguments,
    agents: &[ImportedFiles],
    skipped: &[SkippedFile],
    refused: bool,
) -> String {
    let verb = if args.dry_run || refused { "would import" } else { "imported" };
    let losses: usize = agents.iter().map(|agent| agent.losses.len()).sum();
    let lost = match losses {
        _ if agents.is_empty() => None,
        0 => Some("nothing is lost".to_owned()),
        losses => Some(format!("{losses} lost or changed in {}", args.to)),
    };
    let skipped = (!skipped.is_empty()).then(|| format!("{} skipped", skipped.len()));
    let more: Vec<String> = lost.into_iter().chain(skipped).collect();
    let more = if more.is_empty() { String::new() } else { format!("; {}", more.join(", ")) };
    format!("{verb} {}{}{more}", counted(agents.len(), "agent"), by_harness(agents))
}

/// What is lost or changed, and how to see all of it.
fn losses(args: &ImportArguments, agents: &[ImportedFiles]) -> String {
    let rows = if args.verbose { each(agents) } else { grouped(agents) };
    let all: usize = agents.iter().map(|agent| agent.losses.len()).sum();
    let mut text = columns(&rows);
    if rows.len() < all {
        let _ = writeln!(text, "  = `--verbose` lists all {all}");
    }
    text
}

/// How many agents each harness has, if there are several agents.
fn by_harness(agents: &[ImportedFiles]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for agent in agents {
        *counts.entry(agent.harness).or_default() += 1;
    }
    let counts: Vec<String> = match counts.iter().next() {
        Some((harness, _)) if counts.len() == 1 => vec![(*harness).to_owned()],
        _ => counts.iter().map(|(harness, count)| format!("{count} {harness}")).collect(),
    };
    if counts.is_empty() { String::new() } else { format!(" ({})", counts.join(", ")) }
}

/// The source of each agent and where it goes: of a few agents, or of all.
fn files(agents: &[ImportedFiles], verbose: bool) -> String {
    let most = if verbose { usize::MAX } else { NAMED };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for ImportedFiles { source, files, .. } in agents.iter().take(most) {
        for (at, (path, _)) in files.iter().enumerate() {
            let source = if at == 0 { visible(source) } else { "".into() };
            let word = if at == 0 { "  imported" } else { "" };
            rows.push(vec![word.to_owned(), source.into_owned(), format!("-> {}", visible(path))]);
        }
    }
    let more = agents.len().saturating_sub(most);
    let more = if more == 0 { String::new() } else { format!("  imported  {more} more\n") };
    columns(&rows) + &more
}

/// The files that are no agents, by their reasons.
fn skipped_lines(skipped: &[SkippedFile], verbose: bool) -> String {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for SkippedFile { path, reason } in skipped {
        reasons.entry(reason).or_default().push(path);
    }
    let most = if verbose { usize::MAX } else { NAMED };
    let line = |(reason, paths): (&str, Vec<&str>)| {
        let names: Vec<_> = paths.iter().take(most).map(|path| visible(path)).collect();
        let more = paths.len() - names.len();
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("  skipped   {}{more}: {}\n", names.join(", "), visible(reason))
    };
    reasons.into_iter().map(line).collect()
}

/// A row for each loss, with its place.
fn each(agents: &[ImportedFiles]) -> Vec<Vec<String>> {
    let row = |agent: &ImportedFiles, loss: &ReportedLoss| {
        let detail = format!("{} ({})", loss.detail, place(agent, loss));
        let cells = [loss.kind, loss.field.as_str(), detail.as_str()];
        row(cells)
    };
    agents.iter().flat_map(|agent| agent.losses.iter().map(|loss| row(agent, loss))).collect()
}

fn row(cells: [&str; 3]) -> Vec<String> {
    let [kind, field, detail] = cells.map(|cell| visible(cell).into_owned());
    vec![format!("  {kind}"), field, detail]
}

/// Where a loss comes from: the file of the agent, with the position if one is known.
fn place(agent: &ImportedFiles, loss: &ReportedLoss) -> String {
    match loss.at {
        Some(TextPosition { line, column }) => format!("{}:{line}:{column}", agent.source),
        None => agent.source.clone(),
    }
}

/// The most rows of losses, so that the report fits a screen.
const ROWS: usize = 24;

/// Losses that are equal but for their fields and the quoted names.
struct LossGroup<'a> {
    first: (&'a ImportedFiles, &'a ReportedLoss),
    count: usize,
    agents: BTreeSet<&'a str>,
    fields: Vec<&'a str>,
    /// Whether the details are not the same.
    differs: bool,
}

/// A row for each kind of loss, the most frequent first.
fn grouped(agents: &[ImportedFiles]) -> Vec<Vec<String>> {
    let mut groups: BTreeMap<(u8, &str, String), LossGroup<'_>> = BTreeMap::new();
    for agent in agents {
        for loss in &agent.losses {
            let key = (rank(loss), loss.kind, gist(&loss.detail));
            let group = groups.entry(key).or_insert_with(|| LossGroup {
                first: (agent, loss),
                count: 0,
                agents: BTreeSet::new(),
                fields: Vec::new(),
                differs: false,
            });
            group.count += 1;
            group.agents.insert(&agent.source);
            group.differs |= group.first.1.detail != loss.detail;
            if !group.fields.contains(&loss.field.as_str()) {
                group.fields.push(&loss.field);
            }
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|((rank, ..), group)| (*rank, std::cmp::Reverse(group.agents.len())));
    groups.into_iter().take(ROWS).map(|(_, group)| group.row(agents.len())).collect()
}

impl LossGroup<'_> {
    fn row(&self, total: usize) -> Vec<String> {
        let (agent, loss) = self.first;
        let example = if self.differs { "e.g. " } else { "" };
        let at = place(agent, loss);
        let whose = match self.agents.len() {
            _ if self.count == 1 => at,
            count if count == total && total > 1 => format!("all {total} agents, e.g. {at}"),
            1 => format!("{} times, e.g. {at}", self.count),
            count => format!("{}, e.g. {at}", counted(count, "agent")),
        };
        let more = self.fields.len().saturating_sub(NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let names: Vec<&str> = self.fields.iter().take(NAMED).copied().collect();
        let fields = format!("{}{more}", names.join(", "));
        row([loss.kind, &fields, &format!("{example}{} ({whose})", loss.detail)])
    }
}

/// What is missing comes before what has another form.
fn rank(loss: &ReportedLoss) -> u8 {
    u8::from(!loss.missing)
}

/// A detail without the names that it quotes, so that equal losses are one line.
fn gist(detail: &str) -> String {
    let parts = detail.split('`').enumerate();
    parts.map(|(at, part)| if at % 2 == 0 { part } else { "`" }).collect()
}

fn to_json(agents: &[ImportedFiles], skipped: &[SkippedFile]) -> Value {
    let files = agents.iter().flat_map(|agent| {
        agent.files.iter().map(|(path, _)| {
            json!({"agent": agent.name, "harness": agent.harness, "source": agent.source, "path": path})
        })
    });
    let losses = agents.iter().flat_map(|agent| {
        agent.losses.iter().map(|ReportedLoss { field, kind, detail, at, .. }| {
            json!({
                "agent": agent.name, "field": field, "kind": kind, "detail": detail, "path": agent.source,
                "line": at.map(|at| at.line), "column": at.map(|at| at.column),
            })
        })
    });
    let skipped = skipped.iter().map(|it| json!({"path": it.path, "reason": it.reason}));
    json!({
        "files": files.collect::<Value>(),
        "losses": losses.collect::<Value>(),
        "skipped": skipped.collect::<Value>(),
    })
}
