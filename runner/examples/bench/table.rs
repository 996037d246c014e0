//! Formats medians with their ranges as a table.

use crds::units::Size;

use crate::runner::Latency;

pub const HEADER: &str =
    "| libfabric | provider | size | runner, us | fi_pingpong, us | ratio | fabtests, us | ratio |
|---|---|---|---|---|---|---|---|";

/// Results for one size with one library and provider; index `i` of each list contains the result of repetition `i`.
#[derive(Default)]
pub struct Row {
    pub version: String,
    pub provider: String,
    pub runner: Vec<f64>,
    pub fi_pingpong: Vec<f64>,
    pub fabtests: Vec<f64>,
}

impl Row {
    pub fn add_runner(&mut self, latency: Latency) {
        self.runner.push(latency.micros);
        (self.version, self.provider) = (latency.version, latency.provider);
    }

    pub fn line(&self, size: u64) -> String {
        let ratio = |tool: &[f64]| {
            let ratios = self.runner.iter().zip(tool).map(|(runner, tool)| runner / tool);
            median_with_range(&ratios.collect::<Vec<_>>(), 2)
        };
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            self.version,
            self.provider,
            Size(size),
            median_with_range(&self.runner, 2),
            median_with_range(&self.fi_pingpong, 2),
            ratio(&self.fi_pingpong),
            median_with_range(&self.fabtests, 2),
            ratio(&self.fabtests),
        )
    }
}

/// Formats the median and the range.
fn median_with_range(values: &[f64], digits: usize) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.first(), sorted.get(sorted.len() / 2), sorted.last()) {
        (Some(min), Some(median), Some(max)) => {
            format!("{median:.digits$} [{min:.digits$}, {max:.digits$}]")
        }
        _ => "-".to_owned(),
    }
}
