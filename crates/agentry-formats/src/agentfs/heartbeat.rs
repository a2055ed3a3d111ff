//! The heartbeat: `heartbeat/HEARTBEAT.md`, which an agent with `heartbeat.enabled` looks at again and again. It is
//! a [`Schedule`] of its own. Its interval is the one that the file declares, or the next longer one that a cron
//! expression can express, and never less than 15 minutes.

use agentry_model::{Agent, Schedule};
use agentry_text::data::MapBuilder;
use agentry_text::{Data, Field, FieldKind, FieldTable, Findings, Span, Spanned};

use super::rules::NOT_A_CRON;
use crate::AgentPackage;
use crate::front_matter::{self, FrontMatterFile};

/// The name of the schedule.
pub(super) const HEARTBEAT: &str = "heartbeat";
/// The file of the heartbeat.
pub(super) const FILE: &str = "heartbeat/HEARTBEAT.md";
/// The minutes between two heartbeats of a file that declares none.
const USUAL: u64 = 30;
/// The intervals in minutes, and their cron expressions.
const INTERVALS: &[(u64, &str)] = &[
    (15, "*/15 * * * *"),
    (20, "*/20 * * * *"),
    (30, "*/30 * * * *"),
    (60, "0 * * * *"),
    (120, "0 */2 * * *"),
    (180, "0 */3 * * *"),
    (240, "0 */4 * * *"),
    (360, "0 */6 * * *"),
    (480, "0 */8 * * *"),
    (720, "0 */12 * * *"),
    (1_440, "0 0 * * *"),
];

/// The metadata of the file.
static TABLE: FieldTable = FieldTable::new(
    "the heartbeat",
    &[Field::optional(
        "min_interval",
        FieldKind::Any,
        "The least time between two heartbeats: `30m`, `2h`, or minutes.",
    )],
);

/// Reads the heartbeat of the agent, if it is on.
pub(super) fn read(package: &mut AgentPackage<'_>, agent: &mut Agent, findings: &mut Findings) {
    let is_there = |package: &mut AgentPackage<'_>, findings: &mut Findings| {
        let names = package.files.list("heartbeat", findings);
        names.iter().any(|it| !it.is_dir && it.name == "HEARTBEAT.md")
    };
    let is_taken = agent.schedules.iter().any(|it| name(it) == HEARTBEAT);
    if !is_on(agent) || is_taken || !is_there(package, findings) {
        return;
    }
    let Some(source) = package.read(FILE, findings) else { return };
    let document = FrontMatterFile::read(source, findings);
    let place = Span::start_of(document.source.id);
    let interval = document.record(&TABLE, findings).data("min_interval");
    let cron = match &interval {
        None => cron_of(USUAL).map(|cron| Spanned::new(cron, place)),
        Some(written) => {
            let cron = minutes(&written.value).and_then(cron_of);
            if cron.is_none() {
                findings
                    .add(
                        &NOT_A_CRON,
                        written.span,
                        "this `min_interval` is not a time of at most a day",
                    )
                    .hint("write minutes or hours: `30m`, `2h`");
            }
            cron.map(|cron| Spanned::new(cron, written.span))
        }
    };
    agent.schedules.push(Schedule {
        name: Some(Spanned::new(HEARTBEAT.to_owned(), place)),
        // Without a time that is understood it never fires.
        enabled: cron.is_none().then(|| Spanned::new(false, place)),
        cron: cron.or_else(|| Some(Spanned::new(cron_of(1_440)?, place))),
        prompt: document.text(),
        ..Schedule::default()
    });
}

/// Whether the agent wakes up by itself.
fn is_on(agent: &Agent) -> bool {
    let enabled = agent.setting("heartbeat").and_then(|heartbeat| heartbeat.get("enabled"));
    enabled == Some(&Data::Bool(true))
}

fn name(schedule: &Schedule) -> &str {
    schedule.name.as_ref().map_or("", |name| name.value.as_str())
}

/// The expression of the shortest interval that is not shorter.
fn cron_of(minutes: u64) -> Option<String> {
    let fits = INTERVALS.iter().find(|(interval, _)| *interval >= minutes);
    fits.map(|(_, cron)| (*cron).to_owned())
}

/// Minutes, as a number or with a unit.
fn minutes(written: &Data) -> Option<u64> {
    let text = match written {
        Data::Str(text) => text.trim().to_owned(),
        Data::Int(number) => number.to_string(),
        _ => return None,
    };
    let (number, unit) = text.split_at(text.trim_end_matches(char::is_alphabetic).len());
    let factor = match unit {
        "" | "m" | "min" => 1,
        "h" => 60,
        "d" => 1_440,
        _ => return None,
    };
    number.trim().parse::<u64>().ok()?.checked_mul(factor)
}

/// Returns the file of the heartbeat, and the schedule that it stands for.
pub(super) fn write(agent: &Agent) -> Option<(&Schedule, String)> {
    let schedule =
        agent.schedules.iter().find(|it| name(it) == HEARTBEAT).filter(|_| is_on(agent))?;
    let Schedule { name: _, cron, enabled, timezone, overlap, misfire, jitter, prompt } = schedule;
    let cron = cron.as_ref().map_or("", |cron| cron.value.as_str());
    let (interval, _) = INTERVALS.iter().find(|(_, known)| *known == cron)?;
    // The file has no place for these; such a schedule stays one.
    if enabled.is_some()
        || timezone.is_some()
        || overlap.is_some()
        || misfire.is_some()
        || jitter.is_some()
    {
        return None;
    }
    let text = prompt.as_ref().map_or("", |prompt| prompt.value.as_str());
    if *interval == USUAL {
        return Some((schedule, format!("{text}\n")));
    }
    let fields = MapBuilder::new().set("min_interval", Data::str(format!("{interval}m"))).build();
    Some((schedule, front_matter::write(&fields, text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_never_shorter_than_declared() {
        let table = [
            (Data::Int(1), Some("*/15 * * * *")),
            (Data::str("20m"), Some("*/20 * * * *")),
            (Data::str("45m"), Some("0 * * * *")),
            (Data::str("5h"), Some("0 */6 * * *")),
            (Data::str("1d"), Some("0 0 * * *")),
            (Data::str("2d"), None),
            (Data::str("soon"), None),
            (Data::str("-5m"), None),
            (Data::Bool(true), None),
        ];
        for (written, expected) in table {
            assert_eq!(minutes(&written).and_then(cron_of).as_deref(), expected, "{written:?}");
        }
    }
}
