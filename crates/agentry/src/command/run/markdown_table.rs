//! Lays out the rows of a Markdown table in columns.

use super::screen::styled_line::{StyledLine, TextLook};

/// The most rows that wait for the end of a table.
pub(super) const MOST_ROWS: usize = 200;
/// Between two columns.
const GAP: &str = "  ";

/// Whether a line can be a row of a table.
pub(super) fn is_table_row(line: &StyledLine) -> bool {
    line.starts_with("|")
}

/// The rows in columns; as they are written if they are no table, or too wide for the screen.
pub(super) fn laid_out(rows: &[StyledLine], most: usize) -> Vec<StyledLine> {
    let cells: Vec<Vec<StyledLine>> = rows.iter().map(cells).collect();
    let is_table = cells.len() > 1 && cells.get(1).is_some_and(|row| is_rule(row));
    let count = cells.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| {
        let column = cells.iter().enumerate().filter(|(row, _)| *row != 1);
        column.filter_map(|(_, row)| row.get(at)).map(StyledLine::columns).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let total = widths.iter().sum::<usize>() + GAP.len() * count.saturating_sub(1);
    if !is_table || total > most {
        return rows.to_vec();
    }
    let rule = StyledLine::new(TextLook::Dim, &"─".repeat(total));
    let row = |row: &Vec<StyledLine>| {
        let mut out = StyledLine::default();
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let is_last = at + 1 == row.len();
            let gap = if is_last { "" } else { GAP };
            let padding = if is_last { 0 } else { width - cell.columns() };
            out = out.and(cell).with(TextLook::Plain, &format!("{}{gap}", " ".repeat(padding)));
        }
        out
    };
    let laid = cells.iter().enumerate().map(|(at, cells)| match at {
        0 => row(cells).emphasized(),
        1 => rule.clone(),
        _ => row(cells),
    });
    laid.collect()
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
        let cases: [(&[&str], usize, &[&str]); 5] = [
            (
                &["| name | n |", "|---|:-:|", "| 日本 | 1 |", "| b |", "|c|2|3|"],
                80,
                &["name  n", "──────────", "日本  1", "b", "c     2  3"],
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
