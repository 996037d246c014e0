//! What was found, and whether it is what was hoped for.

use std::fmt;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

/// What a figure should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    None,
    AtMost(f64),
}

struct Row {
    what: String,
    goal: Goal,
    values: Vec<f64>,
}

/// Figures in the order they were first found, with all their repeats.
#[derive(Default)]
pub struct Sheet(Vec<Row>);

impl Sheet {
    pub fn add(&mut self, what: impl Into<String>, goal: Goal, value: f64) {
        let what = what.into();
        eprintln!("  {what}: {}", number(value));
        match self.0.iter_mut().find(|row| row.what == what) {
            Some(row) => row.values.push(value),
            None => self.0.push(Row {
                what,
                goal,
                values: vec![value],
            }),
        }
    }
}

impl fmt::Display for Sheet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN);
        table.set_header(["what", "goal", "median [least, most]", "repeats", ""]);
        for row in &self.0 {
            let mut values = row.values.clone();
            let median = percentile(&mut values, 0.5);
            let range = format!(
                "{} [{}, {}]",
                number(median),
                number(percentile(&mut values, 0.0)),
                number(percentile(&mut values, 1.0))
            );
            let (goal, reached) = match row.goal {
                Goal::None => (String::new(), ""),
                Goal::AtMost(most) if median <= most => (number(most), "reached"),
                Goal::AtMost(most) => (number(most), "not reached"),
            };
            let repeats = row.values.len().to_string();
            table.add_row([row.what.clone(), goal, range, repeats, reached.to_owned()]);
        }
        for column in [1, 3] {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.fmt(f)
    }
}

/// By nearest rank; sorts `values`, of which there are some.
pub fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (share * values.len() as f64).ceil() as usize;
    values[rank.saturating_sub(1)]
}

/// As many digits as mean something.
fn number(value: f64) -> String {
    match value {
        value if value.fract() == 0.0 => format!("{value}"),
        value if value < 10.0 => format!("{value:.2}"),
        value => format!("{value:.1}"),
    }
}
