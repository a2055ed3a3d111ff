//! The parser of rows, shared by all data files.
//!
//! ```text
//! # A comment.
//! sort gsort                         programs; the rows below apply to each of them
//!   own-rule write: -o --output~     key: values
//!   own-rule run [a b]: -x           only with one of these subcommands
//!     -y                             the row continues
//! ```
//!
//! Rows with options of an `operands:` or `wraps:` row come directly after it.

use crate::hazard::{CommandHazard, DashMeaning, HazardSign};
use crate::operands::{OperandKind, OperandRow};
use crate::options::{GlobalOption, OptionValue};
use crate::prints::PrintRow;
use crate::program::{FileRow, InnerSyntax, ProgramFacts, ProgramTrait, ShellKind, WordList};
use crate::wrapper::{RunnerRow, WrapperOption, WrapperRow};

/// One parsed row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DataRow {
    /// The text before the brackets or the colon: `own-rule write`.
    pub(crate) key: &'static str,
    /// The words in brackets: the subcommands that the row applies to.
    pub(crate) subcommands: WordList,
    /// The text after the colon.
    pub(crate) values: WordList,
    /// The whole row.
    text: &'static str,
}

/// Parses the facts of a program from all of its blocks.
pub(crate) fn read(name: &'static str, blocks: &[&'static str]) -> ProgramFacts {
    let mut facts = ProgramFacts { name, ..ProgramFacts::default() };
    for row in blocks.iter().flat_map(|block| rows(block)) {
        match row {
            Ok(row) if add(&mut facts, row).is_some() => {}
            Ok(DataRow { text, .. }) | Err(text) => facts.malformed.push(text),
        }
    }
    facts
}

/// Iterates over the rows of a block; text that is no row is returned as an error.
pub(crate) fn rows(
    block: &'static str,
) -> impl Iterator<Item = Result<DataRow, &'static str>> + use<> {
    let mut rest = block.find("\n  ").and_then(|at| block.get(at + 1..)).unwrap_or_default();
    std::iter::from_fn(move || {
        while rest.starts_with('#') {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
        }
        if rest.is_empty() {
            return None;
        }
        let (row, after) = rest.split_at(end_of_row(rest));
        rest = after.trim_start_matches('\n');
        Some(DataRow::read(row.trim_end()).ok_or(row))
    })
}

/// Returns where the row at the start of `text` ends: at the first line break without a continuation line.
fn end_of_row(text: &str) -> usize {
    let ends = text.match_indices('\n').map(|(at, _)| at);
    let goes_on = |at: &usize| text.get(at + 1..).is_some_and(|rest| rest.starts_with("    "));
    ends.into_iter().find(|at| !goes_on(at)).unwrap_or(text.len())
}

impl DataRow {
    fn read(text: &'static str) -> Option<Self> {
        let (head, values) = text.strip_prefix("  ")?.split_once(": ")?;
        let (key, subcommands) = match head.split_once(" [") {
            Some((key, list)) => (key, list.strip_suffix(']')?),
            None => (head, ""),
        };
        let is_key = |byte: u8| byte.is_ascii_alphabetic() || b" -'".contains(&byte);
        let is_row = !key.is_empty() && key.bytes().all(is_key) && !values.trim().is_empty();
        let (subcommands, values) = (WordList(subcommands), WordList(values));
        is_row.then_some(Self { key, subcommands, values, text })
    }

    /// Returns the only value, or `None` if there are several.
    fn only(&self) -> Option<&'static str> {
        let mut words = self.values.iter();
        words.next().filter(|_| words.next().is_none())
    }
}

/// Adds one row to the facts; returns `None` if it is malformed.
fn add(facts: &mut ProgramFacts, row: DataRow) -> Option<()> {
    let DataRow { key, subcommands, values, .. } = row;
    match key.split_once(' ').unwrap_or((key, "")) {
        ("is", "") => facts.traits.extend(all(values, ProgramTrait::read)?),
        ("shell", "") => facts.shell = Some(ShellKind::read(row.only()?)?),
        ("syntax", "") => facts.syntax = Some(InnerSyntax::read(row.only()?)?),
        ("same-program", "") => facts.same_program.extend(values.iter()),
        ("synonyms", "") => {
            facts.synonyms.push(values.0.split('|').map(str::trim).collect());
        }
        ("synonyms-of", "") => facts.synonyms_of = Some(row.only()?),
        ("files", "") => facts.files.push((subcommands, FileRow::read(row.only()?)?)),
        ("lists", "") => facts.lists = values,
        ("writing", "") => facts.writing = values,
        ("approval", "") => facts.approval = values,
        ("global", kind) => {
            let takes = OptionValue::read(kind)?;
            let option = |spelling| GlobalOption { spelling, takes };
            facts.globals.extend(values.iter().map(option));
        }
        ("directory", "") => facts.directory = values,
        ("idle", "") => facts.idle = values,
        ("idle", "settings") => facts.idle_settings = values,
        ("dashes", "") => facts.dashes.push((subcommands, DashMeaning::read(row.only()?)?)),
        ("own-rule", does) => add_hazards(facts, does, row)?,
        ("operands", "") => facts.operands.push(operand_row(subcommands, values)?),
        ("walks", "") => facts.walks = values,
        ("searches", "") => facts.searches = values,
        ("names", kind) => facts.names.add(kind, values)?,
        ("hidden", kind) => facts.hidden.add(kind, values)?,
        ("outputs", "") => facts.outputs = values,
        ("prints", "") => facts.prints.push(PrintRow::read(subcommands, values)?),
        ("discards", "") => facts.discards = values,
        ("methods", "") => facts.methods = values,
        ("no-effect", "") => facts.no_effect.push((subcommands, values)),
        ("wraps", "") => facts.wrappers.push(WrapperRow::read(subcommands, values)?),
        ("wrap", option) => add_wrapper_options(facts.wrappers.last_mut()?, option, values)?,
        ("runner", "") => facts.runners.push(RunnerRow::read(subcommands, values)?),
        ("example", "") => {
            let (line, effects) = values.0.split_once(" => ")?;
            facts.examples.push((line.trim(), effects.trim()));
        }
        // All other keys are options of the last `operands:` row.
        _ => add_operand_options(facts.operands.last_mut()?, key, values)?,
    }
    Some(())
}

fn all<T>(values: WordList, read: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    values.iter().map(read).collect()
}

fn add_hazards(facts: &mut ProgramFacts, does: &str, row: DataRow) -> Option<()> {
    let does = does_what(does)?;
    let command = facts.name;
    // Leaked once per row and program; the facts live until the end of the process anyway.
    let subcommands: &'static [&'static str] = row.subcommands.iter().collect::<Vec<_>>().leak();
    for word in row.values.iter() {
        facts.hazards.push(CommandHazard::new(command, subcommands, HazardSign::read(word)?, does));
    }
    Some(())
}

/// Returns the description of a kind of hazard, as the end of a sentence with «can».
fn does_what(word: &str) -> Option<&'static str> {
    Some(match word {
        "delete" => crate::hazard::DELETES,
        "load" => "load code or settings from elsewhere",
        "options" => "take further instructions from a file",
        "run" => crate::hazard::RUNS,
        "send" => "send data or change where it goes",
        "write" => "write a file or change a setting",
        _ => return None,
    })
}

fn operand_row(subcommands: WordList, values: WordList) -> Option<OperandRow> {
    let mut words = values.iter();
    let kind = OperandKind::read(words.next()?)?;
    let skip = match (words.next(), words.next(), words.next()) {
        (None, _, _) => 0,
        (Some("skip"), Some(count), None) => count.parse().ok()?,
        _ => return None,
    };
    Some(OperandRow { subcommands, kind, skip, ..OperandRow::default() })
}

fn add_operand_options(row: &mut OperandRow, key: &str, values: WordList) -> Option<()> {
    let field = match key {
        "instead" => &mut row.instead,
        "valued" => &mut row.valued,
        "reads" => &mut row.reads,
        "writes" => &mut row.writes,
        "in-place" => &mut row.in_place,
        "here" => &mut row.here,
        "dry" => &mut row.dry,
        "whole" => &mut row.whole,
        "named" => &mut row.named,
        _ => return None,
    };
    *field = values;
    Some(())
}

fn add_wrapper_options(row: &mut WrapperRow, option: &str, values: WordList) -> Option<()> {
    match option {
        "flags" => row.flags = values,
        "values" => row.valued = values,
        option => row.effects.push((WrapperOption::read(option)?, values)),
    }
    Some(())
}
