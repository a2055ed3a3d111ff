//! The report: tables of the agents with defects, and one summary line for each client. All tables are
//! written to a file.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::clients::{Role, Verdict};
use crate::rendering::Guard;
use crate::sheet::{Judgement, Row, Sheet};
use crate::source::Wish;
use crate::suite::Outcome;

/// Prints the defects and the summaries, and writes every table to `file`.
pub(crate) fn print(outcomes: &[Outcome], file: &Path) {
    let tables = |has_defects: fn(&Sheet) -> bool| {
        let asked = outcomes.iter().filter_map(|it| Some((it.client, it.sheets.as_ref().ok()?)));
        asked.map(|(client, sheets)| table(client.name(), sheets, has_defects)).collect::<String>()
    };
    print!("{}", tables(Sheet::is_defect));
    match fs::write(file, tables(|_| true)) {
        Ok(()) => println!("every call is in `{}`", file.display()),
        Err(error) => println!("`{}` cannot be written: {error}", file.display()),
    }
    for outcome in outcomes {
        println!("{}", summary(outcome));
    }
}

/// A row for each call and a column for each agent and role; only for the selected sheets.
fn table(client: &str, sheets: &[Sheet], has_defects: fn(&Sheet) -> bool) -> String {
    let mut text = String::new();
    let sheets_by_agent = by_agent(sheets);
    for (agent, sheets) in
        sheets_by_agent.into_iter().filter(|it| it.1.iter().any(|sheet| has_defects(sheet)))
    {
        let _ = writeln!(text, "{client}, {agent}");
        let heads = ["call", "source"].map(str::to_owned).into_iter();
        let mut lines =
            vec![heads.chain(sheets.iter().map(|sheet| head(sheet))).collect::<Vec<_>>()];
        let first = sheets.iter().map(|sheet| &sheet.rows[..]).find(|rows| !rows.is_empty());
        let first = first.unwrap_or_default();
        for (index, row) in first.iter().enumerate() {
            let answers = sheets.iter().map(|sheet| sheet.rows.get(index).map(answer));
            let answers = answers.map(Option::unwrap_or_default);
            let start = [call(row), wish(row.wish).to_owned()].into_iter();
            lines.push(start.chain(answers).collect());
        }
        text += &aligned(&lines);
        sheets.iter().for_each(|sheet| text += &footnotes(sheet));
    }
    text
}

/// The details that do not fit into the table.
fn footnotes(sheet: &Sheet) -> String {
    let mut notes = Vec::new();
    if let Some(why) = &sheet.note {
        notes.push(format!("not rendered: {why}"));
    } else if !sheet.rows.is_empty() {
        let time = sheet.time.as_secs_f64();
        notes.push(format!("{time:.1} s, its tools are {}", sheet.tools.join(", ")));
    }
    notes.extend(sheet.complaints.iter().map(|complaint| format!("DEFECT: {complaint}")));
    notes.iter().fold(String::new(), |text, note| text + &format!("  {}: {note}\n", head(sheet)))
}

fn by_agent(sheets: &[Sheet]) -> Vec<(&str, Vec<&Sheet>)> {
    let mut groups: Vec<(&str, Vec<&Sheet>)> = Vec::new();
    for sheet in sheets {
        match groups.iter_mut().find(|(agent, _)| *agent == sheet.agent) {
            Some((_, list)) => list.push(sheet),
            None => groups.push((&sheet.agent, vec![sheet])),
        }
    }
    groups
}

fn head(sheet: &Sheet) -> String {
    let role = match sheet.role {
        Role::Main => "main",
        Role::Sub => "subagent",
    };
    let guard = match sheet.guard {
        Guard::Without => "",
        Guard::With => " guarded",
        Guard::Broken => " broken guard",
        Guard::Unloaded => " no hook",
    };
    format!("{role}{guard}")
}

fn call(row: &Row) -> String {
    format!("{} {}", row.case.tool, row.case.subject)
}

fn wish(wish: Wish) -> &'static str {
    match wish {
        Wish::Allow => "allow",
        Wish::Ask => "ask",
        Wish::Deny => "deny",
    }
}

fn answer(row: &Row) -> String {
    let verdict = match row.verdict {
        Verdict::Ran => "ran",
        Verdict::Partly => "partly",
        Verdict::Unasked => "unasked",
        Verdict::Asked => "asked",
        Verdict::Refused(_) => "refused",
        Verdict::Unavailable => "no tool",
    };
    let mark = match row.judgement {
        Judgement::Same => "",
        Judgement::Stricter => " +",
        Judgement::Gap => " (gap)",
        Judgement::Milder => " MILDER",
        Judgement::Different => " DIFFERENT",
    };
    format!("{verdict}{mark}")
}

/// Columns as wide as their widest cells.
fn aligned(lines: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let mut text = String::new();
    for line in lines {
        let cells =
            line.iter().enumerate().map(|(column, cell)| format!("{cell:<0$}", width(column)));
        let _ = writeln!(text, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    text
}

/// One line with the result and the times.
fn summary(outcome: &Outcome) -> String {
    let name = outcome.client.name();
    let time = format!(
        "{:.1} s, installed in {:.1} s",
        outcome.asking.as_secs_f64(),
        outcome.installing.as_secs_f64()
    );
    let sheets = match &outcome.sheets {
        Ok(sheets) => sheets,
        Err(why) if outcome.is_defect() => return format!("{name:<12} FAILED: {why}"),
        Err(why) => return format!("{name:<12} SKIPPED: {why}"),
    };
    let rows = || sheets.iter().flat_map(|sheet| &sheet.rows);
    let count = |judgement| rows().filter(|row| row.judgement == judgement).count();
    let complaints: usize = sheets.iter().map(|sheet| sheet.complaints.len()).sum();
    let word = if outcome.is_defect() { "FAILED" } else { "ok" };
    format!(
        "{name:<12} {word}: {} calls: {} as the source, {} stricter, {} known gaps, {} milder, \
         {} different with the guard, {complaints} complaints ({time})",
        rows().count(),
        count(Judgement::Same),
        count(Judgement::Stricter),
        count(Judgement::Gap),
        count(Judgement::Milder),
        count(Judgement::Different),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let line = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let lines = [line(["call", "source"]), line(["bash git status", "allow"])];
        assert_eq!(aligned(&lines), "  call             source\n  bash git status  allow\n");
    }
}
