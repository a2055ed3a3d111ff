//! The table of results.

use std::fmt;
use std::time::Duration;

/// One measurement.
#[derive(Debug)]
pub(crate) struct Row {
    /// The operation, and what it is compared with.
    pub(crate) what: String,
    /// The two measured values.
    pub(crate) measured: String,
    /// The ratio of the two.
    pub(crate) ratio: String,
    /// The target of the ratio.
    pub(crate) target: String,
    /// Whether the target is met.
    pub(crate) is_met: bool,
}

/// All measurements.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
    skipped: Vec<(String, String)>,
    notes: Vec<String>,
}

impl Table {
    pub(crate) fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Adds a measurement that was skipped, and the reason.
    pub(crate) fn skip(&mut self, what: String, why: String) {
        self.skipped.push((what, why));
    }

    /// Adds a line below the table.
    pub(crate) fn note(&mut self, line: String) {
        self.notes.push(line);
    }

    /// Whether no target was missed.
    pub(crate) fn is_met(&self) -> bool {
        self.rows.iter().all(|row| row.is_met)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["what", "measured", "ratio", "target", ""].map(str::to_owned);
        let mut lines = vec![head];
        lines.extend(self.rows.iter().map(|row| {
            let verdict = if row.is_met { "ok" } else { "missed" };
            let Row { what, measured, ratio, target, .. } = row;
            [what.clone(), measured.clone(), ratio.clone(), target.clone(), verdict.to_owned()]
        }));
        let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max();
        let widths = [0, 1, 2, 3, 4].map(|at| width(at).unwrap_or(0));
        writeln!(f)?;
        for line in &lines {
            let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("   ").trim_end())?;
        }
        for (what, why) in &self.skipped {
            writeln!(f, "\nSKIPPED: {what}: {why}")?;
        }
        writeln!(f)?;
        self.notes.iter().try_for_each(|note| writeln!(f, "{note}"))
    }
}

/// A duration with three significant digits.
pub(crate) fn seconds(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    let digits = |value: f64, unit: &str| {
        let places = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
        format!("{value:.places$} {unit}")
    };
    match micros {
        ..1e3 => digits(micros, "µs"),
        ..1e6 => digits(micros / 1e3, "ms"),
        _ => digits(micros / 1e6, "s"),
    }
}

/// A number of bytes in megabytes.
pub(crate) fn bytes(count: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let megabytes = count as f64 / 1e6;
    format!("{megabytes:.1} MB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits() {
        let cases = [(1_234, "1.23 µs"), (56_789, "56.8 µs"), (123_456_000, "123 ms")];
        for (nanos, expected) in cases {
            assert_eq!(seconds(Duration::from_nanos(nanos)), expected, "{nanos}");
        }
    }

    #[test]
    fn a_table_is_aligned() {
        let row = |what: &str, is_met| Row {
            what: what.to_owned(),
            measured: "2.00 s to 1.00 s of cat".to_owned(),
            ratio: "2.0".to_owned(),
            target: "≤ 3.0".to_owned(),
            is_met,
        };
        let mut table = Table::default();
        table.add(row("one", true));
        assert!(table.is_met());
        table.add(row("another", false));
        assert!(!table.is_met());
        table.skip("a third".to_owned(), "nothing to compare with".to_owned());
        table.note("a note".to_owned());
        let expected = "
what      measured                  ratio   target
one       2.00 s to 1.00 s of cat   2.0     ≤ 3.0    ok
another   2.00 s to 1.00 s of cat   2.0     ≤ 3.0    missed

SKIPPED: a third: nothing to compare with

a note
";
        assert_eq!(table.to_string(), expected);
    }
}
