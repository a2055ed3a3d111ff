//! Lays out the rows of a Markdown table in columns.

use super::screen::styled_line::{StyledLine, TextLook};

/// The most rows that wait for the end of a table.
pub(super) const MOST_ROWS: usize = 200;
/// Between two columns.
const GAP: &str = "  ";

/// The least width of a column that is broken.
const LEAST_COLUMN: usize = 8;

/// Whether a line can be a row of a table.
pub(super) fn is_table_row(line: &StyledLine) -> bool {
    line.starts_with("|")
}

/// The rows in columns. The widest columns of a table that is too wide are broken between words. As they are written if
/// they are no table, or the screen is too narrow for it.
pub(super) fn laid_out(rows: &[StyledLine], most: usize) -> Vec<StyledLine> {
    let cells: Vec<Vec<StyledLine>> = rows.iter().map(cells).collect();
    let is_table = cells.len() > 1 && cells.get(1).is_some_and(|row| is_rule(row));
    let count = cells.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| {
        let column = cells.iter().enumerate().filter(|(row, _)| *row != 1);
        column.filter_map(|(_, row)| row.get(at)).map(StyledLine::columns).max().unwrap_or(0)
    };
    let gaps = GAP.len() * count.saturating_sub(1);
    let widths = (0..count).map(width).collect();
    let widths = fitted(widths, most.saturating_sub(gaps)).filter(|_| is_table);
    let Some(widths) = widths else { return rows.to_vec() };
    let total = widths.iter().sum::<usize>() + gaps;
    let rule = StyledLine::new(TextLook::Dim, &"─".repeat(total));
    let laid = cells.iter().enumerate().flat_map(|(at, cells)| match at {
        0 => table_row(cells, &widths).into_iter().map(StyledLine::emphasized).collect(),
        1 => vec![rule.clone()],
        _ => table_row(cells, &widths),
    });
    laid.collect()
}

/// The widths of columns in this much room, the widest ones cut to the same width; `None` if that is too little.
fn fitted(widths: Vec<usize>, room: usize) -> Option<Vec<usize>> {
    let sum = |most: usize| widths.iter().map(|width| (*width).min(most)).sum::<usize>();
    let widest = widths.iter().copied().max().unwrap_or(0);
    if sum(widest) <= room {
        return Some(widths);
    }
    let most = (LEAST_COLUMN..widest).rev().find(|most| sum(*most) <= room)?;
    Some(widths.into_iter().map(|width| width.min(most)).collect())
}

/// A row of a table in as many lines as its longest cell needs.
fn table_row(cells: &[StyledLine], widths: &[usize]) -> Vec<StyledLine> {
    let broken: Vec<Vec<StyledLine>> =
        cells.iter().zip(widths).map(|(cell, width)| cell.rows(*width)).collect();
    let lines = broken.iter().map(Vec::len).max().unwrap_or(1);
    let empty = StyledLine::default();
    let line = |at: usize| {
        let mut out = StyledLine::default();
        for (column, (cell, width)) in broken.iter().zip(widths).enumerate() {
            let cell = cell.get(at).unwrap_or(&empty);
            out = out.and(cell);
            if column + 1 < broken.len() {
                let padding = width.saturating_sub(cell.columns());
                out.push(TextLook::Plain, &format!("{}{GAP}", " ".repeat(padding)));
            }
        }
        out
    };
    (0..lines).map(line).collect()
}

/// The cells between the bars of a row. A bar inside code is text.
fn cells(row: &StyledLine) -> Vec<StyledLine> {
    let mut cells = vec![StyledLine::default()];
    for (look, text) in row.pieces() {
        let mut parts =
            if *look == TextLook::Code { vec![text.as_str()] } else { text.split('|').collect() };
        let first = parts.remove(0);
        let last = cells.last_mut();
        last.into_iter().for_each(|cell| cell.push(*look, first));
        cells.extend(parts.into_iter().map(|part| StyledLine::new(*look, part)));
    }
    // Before the first bar and after the last one is nothing.
    cells.remove(0);
    if cells.last().is_some_and(|cell| cell.trimmed().is_empty()) {
        cells.pop();
    }
    cells.iter().map(StyledLine::trimmed).collect()
}

/// Whether the cells are the line below the header.
fn is_rule(cells: &[StyledLine]) -> bool {
    let is_dashes = |cell: &StyledLine| {
        let text = cell.painted(false);
        text.contains('-') && text.chars().all(|c| matches!(c, '-' | ':'))
    };
    !cells.is_empty() && cells.iter().all(is_dashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_columns() {
        let cases: [(&[&str], usize, &[&str]); 6] = [
            (
                &["| name | n |", "|---|:-:|", "| 日本 | 1 |", "| b |", "|c|2|3|"],
                80,
                &["name  n", "──────────", "日本  1", "b", "c     2  3"],
            ),
            (
                &["| file | what |", "|---|---|", "| src/main.rs | the entry of it all |"],
                22,
                &[
                    "file        what",
                    "──────────────────────",
                    "src/main.r  the entry ",
                    "s           of it all",
                ],
            ),
            (&["| a | b |", "| 1 | 2 |"], 80, &["| a | b |", "| 1 | 2 |"]),
            (&["| a | b |", "|---|---|"], 3, &["| a | b |", "|---|---|"]),
            (&["|"], 80, &["|"]),
            (&["| a |", "|---|", "||"], 80, &["a", "─", ""]),
        ];
        for (rows, columns, expected) in cases {
            let rows: Vec<_> =
                rows.iter().map(|row| StyledLine::new(TextLook::Plain, row)).collect();
            let laid: Vec<String> =
                laid_out(&rows, columns).iter().map(|row| row.painted(false)).collect();
            assert_eq!(laid, expected);
        }
    }
}
