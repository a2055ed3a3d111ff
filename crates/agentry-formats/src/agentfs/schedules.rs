//! Schedules: `schedules/*.json`. One with a cron expression and a prompt becomes a [`Schedule`]. Any other
//! is kept as a setting, so that nothing is lost.
//!
//! | field of the file | field of [`Schedule`] |
//! | --- | --- |
//! | `id`, else the name of the file | `name` |
//! | `enabled` | the same |
//! | `schedule.cron`, `schedule.timezone` | the same |
//! | `schedule.missed_fire_policy` | `misfire` |
//! | `schedule.no_overlap: true` | `overlap: skip` |
//! | `action.prompt` | `prompt` |

use agentry_model::{Agent, MisfirePolicy, OverlapPolicy, Schedule, slug};
use agentry_text::data::MapBuilder;
use agentry_text::table::{Coercion, validate};
use agentry_text::{
    Data, FileId, Findings, SourceFile, Span, Spanned, TableRecord, TreeNode, json,
};

use super::fields::{ACTION, SCHEDULE, TIMES};
use super::heartbeat;
use super::rules::{NO_CRON, NOT_A_CRON, SCHEDULE_NOT_RUN};
use crate::{AgentPackage, ListedName, cron};

/// The setting for whole schedules that the model cannot express, by file name.
const CARRIED: &str = "schedules";
/// The setting for fields of the other schedules that the model lacks, by the name of the schedule.
const OPTIONS: &str = "schedule_options";

/// The result of reading one file.
enum ScheduleFile {
    /// A schedule, and the fields that the model lacks.
    Schedule(Box<Schedule>, Option<Data>),
    /// A schedule that the model cannot express.
    Other(Data),
}

/// Reads every schedule of the agent.
pub(super) fn read(package: &mut AgentPackage<'_>, agent: &mut Agent, findings: &mut Findings) {
    let (mut carried, mut options) = (Vec::new(), Vec::new());
    let mut place = None;
    for ListedName { name, is_dir } in package.files.list("schedules", findings) {
        let Some(stem) = name.strip_suffix(".json").filter(|_| !is_dir) else { continue };
        let Some(source) = package.read(&format!("schedules/{name}"), findings) else { continue };
        // The settings below combine several files; the first one gives their span.
        place = place.or(Some(Span::start_of(source.id)));
        match read_file(&source, stem, findings) {
            ScheduleFile::Schedule(schedule, rest) => {
                let name = schedule.name.as_ref().map_or(stem, |name| &name.value).to_owned();
                options.extend(rest.map(|rest| (name, rest)));
                agent.schedules.push(*schedule);
            }
            ScheduleFile::Other(data) => carried.push((stem.to_owned(), data)),
        }
    }
    for (name, entries) in [(CARRIED, carried), (OPTIONS, options)] {
        if let Some(span) = place.filter(|_| !entries.is_empty()) {
            agent.settings.push((name.to_owned(), Spanned::new(Data::Map(entries), span)));
        }
    }
}

fn read_file(source: &SourceFile, stem: &str, findings: &mut Findings) -> ScheduleFile {
    let node = json::parse(source, findings);
    validate(&SCHEDULE, &node, Coercion::Strict, findings);
    let record = TableRecord::new(&SCHEDULE, &node, Coercion::Strict);
    let times = record.record("schedule", &TIMES);
    let action = record.record("action", &ACTION);
    let kind = times.and_then(|times| times.str("kind"));
    let act = action.and_then(|action| action.str("type"));
    let (Some(times), Some(action), Some(kind), Some(act)) = (times, action, kind, act) else {
        return ScheduleFile::Other(node.to_data());
    };
    if kind.value != "cron" || act.value != "query" {
        not_run(&kind, &act, findings);
        return ScheduleFile::Other(node.to_data());
    }
    let cron = times.str("cron");
    match &cron {
        Some(cron) => check_cron(cron, findings),
        None => {
            findings
                .add(&NO_CRON, times.span(), "the schedule of kind `cron` has no `cron`")
                .hint("add `\"cron\": \"0 9 * * *\"`")
                .absent();
        }
    }
    let schedule = of_records(record, times, action, (stem, cron));
    // Written again and subtracted: the difference is what the model lacks.
    let rest = minus(&spelt(&node), &to_data(&schedule));
    ScheduleFile::Schedule(Box::new(schedule), rest)
}

/// Returns the data of a file with the documented spelling of `cron`.
fn spelt(node: &TreeNode) -> Data {
    let mut data = node.to_data();
    let Data::Map(entries) = &mut data else { return data };
    let times = entries.iter_mut().find(|(key, _)| key == "schedule");
    if let Some((_, Data::Map(times))) = times {
        for (key, _) in times {
            if TIMES.field(key).is_some_and(|field| field.name == "cron") {
                "cron".clone_into(key);
            }
        }
    }
    data
}

/// Returns the parts of `whole` that `part` lacks or has differently.
fn minus(whole: &Data, part: &Data) -> Option<Data> {
    match (whole, part) {
        (Data::Map(entries), Data::Map(_)) => {
            let rest = |(key, value): &(String, Data)| {
                let rest = part.get(key).map_or(Some(value.clone()), |part| minus(value, part));
                rest.map(|rest| (key.clone(), rest))
            };
            let rest: Vec<_> = entries.iter().filter_map(rest).collect();
            (!rest.is_empty()).then_some(Data::Map(rest))
        }
        _ => (whole != part).then(|| whole.clone()),
    }
}

/// Adds everything in `rest` to `part`.
fn plus(part: &mut Data, rest: &Data) {
    match (part, rest) {
        (Data::Map(entries), Data::Map(more)) => {
            for (key, value) in more {
                match entries.iter_mut().find(|(name, _)| name == key) {
                    Some((_, slot)) => plus(slot, value),
                    None => entries.push((key.clone(), value.clone())),
                }
            }
        }
        (part, rest) => *part = rest.clone(),
    }
}

fn of_records(
    record: TableRecord<'_>,
    times: TableRecord<'_>,
    action: TableRecord<'_>,
    (stem, cron): (&str, Option<Spanned<String>>),
) -> Schedule {
    let start = Span { end: record.span().start, ..record.span() };
    let misfire = times.str("missed_fire_policy").and_then(|policy| {
        let misfire = match policy.value.as_str() {
            "skip" => MisfirePolicy::Skip,
            "fire_once" => MisfirePolicy::Once,
            "fire_all" => MisfirePolicy::All,
            _ => return None,
        };
        Some(Spanned::new(misfire, policy.span))
    });
    // Only `true` is a policy of the model; `false` stays among the options of the schedule.
    let skips = times.bool("no_overlap").filter(|no_overlap| no_overlap.value);
    let over = |status: &Spanned<String>| {
        matches!(status.value.as_str(), "paused" | "completed" | "cancelled")
    };
    let over = record.str("status").filter(over).map(|status| status.map(|_| false));
    Schedule {
        name: record.str("id").or_else(|| Some(Spanned::new(stem.to_owned(), start))),
        cron,
        // A paused or finished schedule is disabled, even if `enabled` is true.
        enabled: over.or_else(|| record.bool("enabled")),
        timezone: times.str("timezone"),
        overlap: skips.map(|skips| skips.map(|_| OverlapPolicy::Skip)),
        misfire,
        jitter: None,
        prompt: action.str("prompt"),
    }
}

fn not_run(kind: &Spanned<String>, action: &Spanned<String>, findings: &mut Findings) {
    let (span, what) = if kind.value == "cron" {
        (action.span, format!("whose action is `{}`", action.value))
    } else {
        (kind.span, format!("of kind `{}`", kind.value))
    };
    findings
        .add(&SCHEDULE_NOT_RUN, span, format!("a schedule {what} is kept, but not run"))
        .hint("use kind `cron` and action `query` for one that is run");
}

fn is_cron(text: &str) -> bool {
    cron::read(text).is_ok()
}

fn check_cron(text: &Spanned<String>, findings: &mut Findings) {
    if let Err(problem) = cron::read(text) {
        findings
            .add(
                &NOT_A_CRON,
                text.span,
                format!("`{}` cannot be run: {}", text.value, problem.message),
            )
            .hint(problem.hint);
    }
}

/// Returns the files of the schedules: those of the model, then those kept as settings. A schedule that
/// could not be read again without an error is left out.
pub(super) fn write(agent: &Agent) -> Vec<(String, String)> {
    let heartbeat = heartbeat::write(agent);
    let own_file = heartbeat.as_ref().map(|(schedule, _)| *schedule);
    let is_apart = |schedule: &Schedule| own_file.is_some_and(|own| std::ptr::eq(own, schedule));
    let mut files: Vec<(String, String)> = Vec::new();
    let mut add = |stem: &str, data: &Data| {
        let path = format!("schedules/{stem}.json");
        if !files.iter().any(|(taken, _)| *taken == path) {
            files.push((path, json::emit(data)));
        }
    };
    let runs = |schedule: &&Schedule| schedule.cron.as_ref().is_some_and(|cron| is_cron(cron));
    let others = agent.schedules.iter().filter(|schedule| !is_apart(schedule));
    for (at, schedule) in others.filter(runs).enumerate() {
        let name = schedule.name.as_ref().map_or("", |name| name.value.as_str());
        let mut data = to_data(schedule);
        if let Some(rest) = agent.setting(OPTIONS).and_then(|options| options.get(name)) {
            plus(&mut data, rest);
        }
        // `plus` appends fields, so the documented order is restored.
        if let Data::Map(entries) = &mut data {
            let place = |key: &str| SCHEDULE.fields.iter().position(|field| field.name == key);
            entries.sort_by_key(|(key, _)| place(key).unwrap_or(usize::MAX));
        }
        let stem = if is_file_name(name) { name.to_owned() } else { slug(name) };
        let stem = if stem.is_empty() { format!("schedule-{}", at + 1) } else { stem };
        add(&stem, &data);
    }
    if let Some(Data::Map(entries)) = agent.setting(CARRIED) {
        for (name, data) in entries.iter().filter(|(name, data)| is_file_name(name) && fits(data)) {
            add(name, data);
        }
    }
    files.extend(heartbeat.map(|(_, text)| (heartbeat::FILE.to_owned(), text)));
    files
}

/// Whether `data` is a schedule; another format may have a setting of that name.
fn fits(data: &Data) -> bool {
    let mut findings = Findings::default();
    let node = TreeNode::from_data(data, Span::start_of(FileId::BUILT_IN));
    validate(&SCHEDULE, &node, Coercion::Strict, &mut findings);
    !findings.has_errors()
}

/// Whether a name is safe as a file name.
fn is_file_name(name: &str) -> bool {
    let sign = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= 128 && !name.starts_with('.') && name.chars().all(sign)
}

/// Returns the data of a schedule file.
fn to_data(schedule: &Schedule) -> Data {
    let Schedule { name, cron, enabled, timezone, overlap, misfire, jitter: _, prompt } = schedule;
    let mut times = MapBuilder::new();
    times.set("kind", Data::str("cron"));
    times.str_opt("cron", cron.as_ref().map(|cron| &cron.value));
    times.str_opt("timezone", timezone.as_ref().map(|timezone| &timezone.value));
    times.str_opt(
        "missed_fire_policy",
        misfire.as_ref().map(|misfire| match misfire.value {
            MisfirePolicy::Skip => "skip",
            MisfirePolicy::Once => "fire_once",
            MisfirePolicy::All => "fire_all",
        }),
    );
    let skips = overlap.as_ref().filter(|overlap| overlap.value == OverlapPolicy::Skip);
    times.set_opt("no_overlap", skips.map(|_| Data::Bool(true)));
    let mut action = MapBuilder::new();
    action.set("type", Data::str("query"));
    action.str_opt("prompt", prompt.as_ref().map(|prompt| &prompt.value));
    let mut out = MapBuilder::new();
    out.str_opt("id", name.as_ref().map(|name| &name.value));
    out.set_opt("enabled", enabled.as_ref().map(|enabled| Data::Bool(enabled.value)));
    out.set("schedule", times.build());
    out.set("action", action.build());
    out.build()
}
