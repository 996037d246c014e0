//! Results of each direction, which the option `--report-both` prints after their sum (write_bw.c in perftest).

use crate::error::TotalsSnafu;
use crate::{ParseError, ParsedOutput, Row};

/// Relative difference by which the sum of both directions may differ from the total in addition to the resolution.
const SLACK: f64 = 1e-6;
/// Titles of the tables of the directions, in their order.
const TITLES: [&str; 2] = ["Local results:", "Remote results:"];

/// Results of both directions, which are not results of the run.
#[derive(Default)]
pub(super) struct Directions {
    /// Number of titles that were read.
    titles: usize,
    rows: Vec<Row>,
}

impl Directions {
    /// Whether `text` is the title of the next table.
    pub(super) fn begins(&mut self, text: &str) -> bool {
        let is_title = TITLES.get(self.titles) == Some(&text);
        self.titles += usize::from(is_title);
        is_title
    }

    /// Whether the next table belongs to a direction, and has no result yet.
    pub(super) fn is_next(&self) -> bool {
        self.titles > self.rows.len()
    }

    /// Stores `row` if it is the result of a direction, and returns it otherwise.
    pub(super) fn add(&mut self, row: Row) -> Option<Row> {
        if !self.is_next() {
            return Some(row);
        }
        self.rows.push(row);
        None
    }

    /// Compares the directions with the result in `found`, which is their sum.
    pub(super) fn check(self, found: &mut ParsedOutput) -> Result<(), ParseError> {
        let ([local, remote], [total]) = (self.rows.as_slice(), found.rows.as_slice()) else {
            if self.titles > 0 {
                let what = "the option --report-both prints a total and two directions, but one of them has no result";
                found.missing = Some(what.to_owned());
            }
            return Ok(());
        };
        let is_same_size = local.size == total.size && remote.size == total.size;
        let is_sum = match (local.bandwidth, remote.bandwidth, total.bandwidth) {
            (Some(local), Some(remote), Some(total)) => local.plus(remote).agrees(total, SLACK),
            _ => false,
        };
        if is_same_size && is_sum {
            return Ok(());
        }
        let message = "the total is not the sum of the local and the remote results".to_owned();
        TotalsSnafu { message }.fail()
    }
}
