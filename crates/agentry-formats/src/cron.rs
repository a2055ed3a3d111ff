//! Cron expressions by the rules of Unix, with exact spans. No library fits: their errors have neither a
//! span nor a hint, and `croner` accepts more than this parser. A test passes every accepted form to
//! `croner`, so that it can run all of them.

use std::ops::Range;

use agentry_text::report::counted;
use chrono::NaiveDate;

/// A valid cron expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronExpression {
    /// The expression with numbers instead of names, as `croner` reads it.
    pub normal: String,
    /// The day-of-week field, if it uses numbers.
    pub numeric_days: Option<NumericDays>,
    /// Whether both day fields are restricted. Then a date that fits one of them is enough.
    pub either_day: bool,
    /// Whether no date ever matches.
    pub never: bool,
}

/// A day-of-week field that uses numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumericDays {
    /// The bytes of the field.
    pub range: Range<usize>,
    /// The field as written.
    pub written: String,
    /// The days as a phrase: `Monday to Friday`.
    pub days: String,
    /// The same days as cron names: `mon-fri`.
    pub names: String,
}

/// A problem of an expression, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronProblem {
    /// The bytes to underline.
    pub range: Range<usize>,
    /// What was found.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// One field of an expression: its limits and names.
struct CronUnit {
    title: &'static str,
    least: u8,
    most: u8,
    names: &'static [&'static str],
    /// The number that the first name stands for.
    first: u8,
}

const MONTHS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const DAYS: &[&str] =
    &["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const UNITS: [CronUnit; 6] = [
    CronUnit { title: "second", least: 0, most: 59, names: &[], first: 0 },
    CronUnit { title: "minute", least: 0, most: 59, names: &[], first: 0 },
    CronUnit { title: "hour", least: 0, most: 23, names: &[], first: 0 },
    CronUnit { title: "day of month", least: 1, most: 31, names: &[], first: 0 },
    CronUnit { title: "month", least: 1, most: 12, names: MONTHS, first: 1 },
    CronUnit { title: "day of week", least: 0, most: 7, names: DAYS, first: 0 },
];
const DAY_OF_MONTH: usize = 3;
const MONTH: usize = 4;
const DAY_OF_WEEK: usize = 5;
const NICKNAMES: &[(&str, &str)] = &[
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// One parsed field.
struct CronField {
    normal: String,
    /// One bit for each value; Sunday is 0.
    values: u64,
    any: bool,
    numeric: bool,
}

/// Parses an expression: five fields, six with seconds, or a nickname.
pub fn read(text: &str) -> Result<CronExpression, CronProblem> {
    if text.trim_start().starts_with('@') {
        return nickname(text);
    }
    let fields = fields(text);
    let units = match fields.len() {
        5 => UNITS.get(1..),
        6 => UNITS.get(..),
        _ => return Err(wrong_count(text, fields.len())),
    };
    let mut parsed = Vec::new();
    for (unit, range) in units.unwrap_or_default().iter().zip(&fields) {
        parsed.push(field(unit, text.get(range.clone()).unwrap_or(""), range.start)?);
    }
    Ok(whole(text, &fields, &parsed))
}

fn whole(text: &str, fields: &[Range<usize>], parsed: &[CronField]) -> CronExpression {
    // Counted from the end, because the field of seconds may be missing in front.
    let from_end = |unit: usize| parsed.len().checked_sub(6 - unit).and_then(|at| parsed.get(at));
    let day = from_end(DAY_OF_MONTH);
    let month = from_end(MONTH);
    let week = from_end(DAY_OF_WEEK);
    let restricted = |field: Option<&CronField>| field.is_some_and(|field| !field.any);
    let normal: Vec<_> = parsed.iter().map(|field| field.normal.as_str()).collect();
    let numeric_days = match (week, fields.last()) {
        (Some(week), Some(range)) if week.numeric => Some(NumericDays {
            range: range.clone(),
            written: text.get(range.clone()).unwrap_or("").to_owned(),
            days: day_words(week.values),
            names: day_names(week.values),
        }),
        _ => None,
    };
    // With a restricted day of week either day field is enough, so some date always matches.
    let never = !restricted(week)
        && day.zip(month).is_some_and(|(day, month)| !some_date(day.values, month.values));
    let either_day = restricted(day) && restricted(week);
    CronExpression { normal: normal.join(" "), numeric_days, either_day, never }
}

/// Whether one of `months` has one of `days`. Asked for a leap year, so that 29 February counts.
fn some_date(days: u64, months: u64) -> bool {
    let exists = |month: u32, day: u32| NaiveDate::from_ymd_opt(2024, month, day).is_some();
    let mut months = (1..=12).filter(|month| months & (1 << month) != 0);
    months.any(|month| (1..=31).any(|day| days & (1 << day) != 0 && exists(month, day)))
}

fn nickname(text: &str) -> Result<CronExpression, CronProblem> {
    let word = text.trim().to_lowercase();
    match NICKNAMES.iter().find(|(name, _)| *name == word) {
        Some((_, normal)) => Ok(CronExpression {
            normal: (*normal).to_owned(),
            numeric_days: None,
            either_day: false,
            never: false,
        }),
        None => {
            let names = NICKNAMES.iter().map(|(name, _)| *name);
            let near = agentry_text::suggestion::did_you_mean(&word, names.clone());
            let all: Vec<_> = names.map(|name| format!("`{name}`")).collect();
            Err(CronProblem {
                range: 0..text.len(),
                message: format!("`{}` is not a cron expression", text.trim()),
                hint: near
                    .unwrap_or_else(|| format!("use five fields, or one of {}", all.join(", "))),
            })
        }
    }
}

/// Returns the byte range of each field of `text`.
fn fields(text: &str) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut inside = false;
    for (at, c) in text.char_indices() {
        if c.is_whitespace() {
            inside = false;
        } else if let (true, Some(last)) = (inside, out.last_mut()) {
            last.end = at + c.len_utf8();
        } else {
            out.push(at..at + c.len_utf8());
            inside = true;
        }
    }
    out
}

fn wrong_count(text: &str, count: usize) -> CronProblem {
    let hint = if count == 7 {
        "leave out the last field, the year"
    } else {
        "write minute, hour, day of month, month and day of week, as in `0 9 * * mon-fri`"
    };
    CronProblem {
        range: 0..text.len(),
        message: format!(
            "a cron expression has 5 or 6 fields, this one has {}",
            counted(count, "field")
        ),
        hint: hint.to_owned(),
    }
}

/// Parses one field, which starts at byte `start` of the expression.
fn field(unit: &CronUnit, text: &str, start: usize) -> Result<CronField, CronProblem> {
    let mut out = CronField { normal: String::new(), values: 0, any: false, numeric: false };
    let mut at = start;
    for item in text.split(',') {
        let (normal, values, numeric) = item_of(unit, item).map_err(|(message, hint)| {
            // An empty item (`1,,2`) still gets one byte to underline, as long as the field has one.
            let end = (at + item.len()).max(at + 1).min(start + text.len());
            CronProblem { range: at.min(end)..end, message, hint }
        })?;
        if !out.normal.is_empty() {
            out.normal.push(',');
        }
        out.normal.push_str(&normal);
        out.values |= values;
        out.numeric |= numeric;
        at += item.len() + 1;
    }
    out.any = matches!(text, "*" | "?");
    // In Unix both 0 and 7 are Sunday.
    if unit.most == 7 && out.values & (1 << 7) != 0 {
        out.values = out.values & !(1 << 7) | 1;
    }
    Ok(out)
}

/// Parses one item of a field: its normal form, its values, and whether it uses numbers.
fn item_of(unit: &CronUnit, item: &str) -> Result<(String, u64, bool), (String, String)> {
    let days = unit.title.starts_with("day");
    if days && (item.contains('#') || is_last_or_nearest(item)) {
        let message = format!("`{item}` uses `L`, `W` or `#`, which are not supported");
        return Err((message, "list the days themselves".to_owned()));
    }
    let (span, step) = match item.split_once('/') {
        Some((span, step)) => (span, Some(step_of(unit, step)?)),
        None => (item, None),
    };
    let (first, last, numeric) = match span {
        // `*` of the day of week stops at 6, because 7 is Sunday again.
        "*" => (unit.least, unit.most.min(if unit.most == 7 { 6 } else { 59 }), false),
        "?" if days => (unit.least, unit.most, false),
        _ => span_of(unit, span)?,
    };
    // Cron programs disagree about `5/15`: only minute 5, or every 15 minutes from 5 on.
    if step.is_some() && span != "*" && !span.contains('-') {
        let message = format!("`{item}` has a step but no range");
        return Err((message, format!("write `{first}-{}/{}`", unit.most, step.unwrap_or(1))));
    }
    let values = (first..=last).step_by(usize::from(step.unwrap_or(1)));
    let values = values.fold(0, |bits, value| bits | 1 << value);
    let normal = match (span, first == last) {
        ("*" | "?", _) => "*".to_owned(),
        (_, true) if !span.contains('-') => first.to_string(),
        _ => format!("{first}-{last}"),
    };
    let normal = step.map_or(normal.clone(), |step| format!("{normal}/{step}"));
    Ok((normal, values, numeric))
}

/// Whether an item uses `L` (last) or `W` (nearest weekday): `L`, `5L`, `15W`, `LW`.
fn is_last_or_nearest(item: &str) -> bool {
    let rest = item.trim_start_matches(|c: char| c.is_ascii_digit());
    matches!(rest.to_ascii_uppercase().as_str(), "L" | "W" | "LW") || rest.starts_with("L-")
}

fn step_of(unit: &CronUnit, text: &str) -> Result<u8, (String, String)> {
    match text.parse::<u8>() {
        Ok(step) if step > 0 && step <= unit.most => Ok(step),
        _ => Err((
            format!("`{text}` is not a step for the {}", unit.title),
            format!("write a number from 1 to {}", unit.most),
        )),
    }
}

/// Parses a value or a range of values.
fn span_of(unit: &CronUnit, text: &str) -> Result<(u8, u8, bool), (String, String)> {
    let Some((first, last)) = text.split_once('-') else {
        let (value, numeric) = value_of(unit, text)?;
        return Ok((value, value, numeric));
    };
    let (first, a) = value_of(unit, first)?;
    let (mut last, b) = value_of(unit, last)?;
    // `fri-sun` ends with the following Sunday.
    if unit.most == 7 && last == 0 && first > 0 {
        last = 7;
    }
    if first > last {
        let message = format!("the range `{text}` runs backwards");
        return Err((message, "write two ranges with a comma".to_owned()));
    }
    Ok((first, last, a || b))
}

/// Parses a number or a name.
fn value_of(unit: &CronUnit, text: &str) -> Result<(u8, bool), (String, String)> {
    let lower = text.to_lowercase();
    // From three letters on, any beginning of a name counts: `mon`, `mond`, `monday`.
    if lower.len() >= 3
        && let Some(at) = unit.names.iter().position(|name| name.starts_with(&lower))
    {
        return Ok((unit.first + u8::try_from(at).unwrap_or(0), false));
    }
    // `parse` alone would accept `+5`.
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<u8>() {
        Ok(value) if digits && (unit.least..=unit.most).contains(&value) => Ok((value, true)),
        _ => {
            let names = match unit.names {
                [first, .., last] => {
                    format!(", or a name from `{}` to `{}`", short(first), short(last))
                }
                _ => String::new(),
            };
            let hint = format!("write a number from {} to {}{names}", unit.least, unit.most);
            let shown = if text.is_empty() { "nothing" } else { text };
            Err((format!("`{shown}` is no {}", unit.title), hint))
        }
    }
}

fn short(name: &str) -> &str {
    name.get(..3).unwrap_or(name)
}

/// Groups a set of days into ranges: `(1, 5)` is Monday to Friday.
fn runs(values: u64) -> Vec<(usize, usize)> {
    let mut out: Vec<(usize, usize)> = Vec::new();
    for day in (0..DAYS.len()).filter(|day| values & (1 << day) != 0) {
        match out.last_mut() {
            Some((_, last)) if *last + 1 == day => *last = day,
            _ => out.push((day, day)),
        }
    }
    out
}

fn day_words(values: u64) -> String {
    let name = |day: usize| {
        let name = DAYS.get(day).copied().unwrap_or("");
        let (first, rest) = name.split_at(name.len().min(1));
        first.to_uppercase() + rest
    };
    let words = runs(values).into_iter().map(|(first, last)| match last - first {
        0 => name(first),
        1 => format!("{} and {}", name(first), name(last)),
        _ => format!("{} to {}", name(first), name(last)),
    });
    words.collect::<Vec<_>>().join(", ")
}

fn day_names(values: u64) -> String {
    let name = |day: usize| short(DAYS.get(day).copied().unwrap_or(""));
    let names = runs(values).into_iter().map(|(first, last)| {
        if first == last {
            name(first).to_owned()
        } else {
            format!("{}-{}", name(first), name(last))
        }
    });
    names.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every accepted form can be run by `croner`: ranges with steps, in every field.
    #[test]
    fn croner_reads_every_normal_form() {
        use croner::parser::{CronParser, Seconds, Year};
        let parser =
            CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
        let steps = |most: u8| [1, 2, 3, 7, most / 2, most - 1, most].into_iter();
        for (place, unit) in UNITS.iter().enumerate() {
            let stride = usize::from(unit.most / 8).max(1);
            for first in (unit.least..=unit.most).step_by(stride) {
                for last in (first..=unit.most).rev().step_by(stride) {
                    let ranges = steps(unit.most)
                        .flat_map(|step| [format!("{first}-{last}/{step}"), format!("*/{step}")]);
                    let plain = [format!("{first}-{last}"), format!("{last},{first}")];
                    for item in ranges.chain(plain) {
                        let mut fields = ["*"; 6].map(str::to_owned);
                        fields[place] = item;
                        let text = fields.join(" ");
                        let normal = read(&text).expect(&text).normal;
                        assert!(parser.parse(&normal).is_ok(), "{text}: {normal}");
                    }
                }
            }
        }
    }

    #[test]
    fn valid_cron_expressions_are_normalised() {
        let cases = [
            ("0 9 * * mon-fri", "0 9 * * 1-5"),
            ("*/15 8-18/2 1,15 jan-mar ?", "*/15 8-18/2 1,15 1-3 *"),
            ("30 0 9 * * MONDAY", "30 0 9 * * 1"),
            ("0 0 * * fri-sun", "0 0 * * 5-7"),
            ("@daily", "0 0 * * *"),
            (" @Hourly ", "0 * * * *"),
        ];
        for (text, normal) in cases {
            let found = read(text).map(|cron| (cron.normal, cron.numeric_days, cron.never));
            assert_eq!(found, Ok((normal.to_owned(), None, false)), "{text}");
        }
    }

    #[test]
    fn numeric_weekdays_get_name_suggestions() {
        let cases = [
            ("0 9 * * 1-5", "Monday to Friday", "mon-fri"),
            ("0 9 * * 0,6", "Sunday, Saturday", "sun,sat"),
            ("0 9 * * 7", "Sunday", "sun"),
            ("0 9 * * 5-7", "Sunday, Friday and Saturday", "sun,fri-sat"),
            ("0 9 * * 1-6/2", "Monday, Wednesday, Friday", "mon,wed,fri"),
        ];
        for (text, days, names) in cases {
            let found = read(text).expect(text).numeric_days.expect(text);
            assert_eq!((found.days.as_str(), found.names.as_str()), (days, names), "{text}");
        }
    }

    #[test]
    fn invalid_cron_expressions_have_a_position() {
        let cases = [
            ("", 0..0, "a cron expression has 5 or 6 fields, this one has 0 fields"),
            ("nope", 0..4, "a cron expression has 5 or 6 fields, this one has 1 field"),
            (
                "0 0 9 * * * 2030",
                0..16,
                "a cron expression has 5 or 6 fields, this one has 7 fields",
            ),
            ("60 * * * *", 0..2, "`60` is no minute"),
            ("0 24 * * *", 2..4, "`24` is no hour"),
            ("0 9 0 * *", 4..5, "`0` is no day of month"),
            ("0 9 * 13 *", 6..8, "`13` is no month"),
            ("0 9 * * 8", 8..9, "`8` is no day of week"),
            ("0 9 * * fun", 8..11, "`fun` is no day of week"),
            ("0 9 * * fri-mon", 8..15, "the range `fri-mon` runs backwards"),
            ("0 9 * * mon#1", 8..13, "`mon#1` uses `L`, `W` or `#`, which are not supported"),
            ("0 9 L * *", 4..5, "`L` uses `L`, `W` or `#`, which are not supported"),
            ("0 9 15W * *", 4..7, "`15W` uses `L`, `W` or `#`, which are not supported"),
            ("5/10 * * * *", 0..4, "`5/10` has a step but no range"),
            ("*/0 * * * *", 0..3, "`0` is not a step for the minute"),
            ("1,,2 * * * *", 2..3, "`nothing` is no minute"),
            ("0 9 * * +mon", 8..12, "`+mon` is no day of week"),
            ("0 9 * * é", 8..10, "`é` is no day of week"),
            ("@reboot", 0..7, "`@reboot` is not a cron expression"),
        ];
        for (text, range, message) in cases {
            let problem = read(text).expect_err(text);
            assert_eq!((problem.range, problem.message.as_str()), (range, message), "{text}");
        }
    }

    #[test]
    fn impossible_dates_are_detected() {
        let cases = [
            ("0 0 30 2 *", true),
            ("0 0 31 apr,jun *", true),
            ("0 0 29 2 *", false),
            ("0 0 30 2 mon", false),
            ("0 0 31 * *", false),
        ];
        for (text, never) in cases {
            assert_eq!(read(text).expect(text).never, never, "{text}");
        }
        assert!(read("0 0 1 * mon").expect("both").either_day);
    }
}
