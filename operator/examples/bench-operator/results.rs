//! Table of the measured values and their goals.

use std::fmt;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

/// Target for a measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    None,
    AtMost(f64),
}

struct Row {
    name: String,
    goal: Goal,
    values: Vec<f64>,
}

/// Measured values from all repetitions, in the order in which they were first measured.
#[derive(Default)]
pub struct Results(Vec<Row>);

impl Results {
    /// Adds a value to the row `name` and prints it.
    pub fn add(&mut self, name: impl Into<String>, goal: Goal, value: f64) {
        let name = name.into();
        eprintln!("  {name}: {}", format_rounded(value));
        match self.0.iter_mut().find(|row| row.name == name) {
            Some(row) => row.values.push(value),
            None => self.0.push(Row {
                name,
                goal,
                values: vec![value],
            }),
        }
    }
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN);
        table.set_header(["value", "goal", "median [minimum, maximum]", "repetitions", ""]);
        for row in &self.0 {
            let mut values = row.values.clone();
            let median = percentile(&mut values, 0.5);
            let range = format!(
                "{} [{}, {}]",
                format_rounded(median),
                format_rounded(percentile(&mut values, 0.0)),
                format_rounded(percentile(&mut values, 1.0))
            );
            let (goal, reached) = match row.goal {
                Goal::None => (String::new(), ""),
                Goal::AtMost(maximum) if median <= maximum => (format_rounded(maximum), "reached"),
                Goal::AtMost(maximum) => (format_rounded(maximum), "not reached"),
            };
            let repeats = row.values.len().to_string();
            table.add_row([row.name.clone(), goal, range, repeats, reached.to_owned()]);
        }
        for column in [1, 3] {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.fmt(f)
    }
}

/// Returns the nearest-rank percentile. Sorts `values`, which must not be empty.
pub fn percentile(values: &mut [f64], fraction: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (fraction * values.len() as f64).ceil() as usize;
    values[rank.saturating_sub(1)]
}

/// Formats `value` with at most two decimal places.
fn format_rounded(value: f64) -> String {
    match value {
        value if value.fract() == 0.0 => format!("{value}"),
        value if value < 10.0 => format!("{value:.2}"),
        value => format!("{value:.1}"),
    }
}
