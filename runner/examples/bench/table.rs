//! Formats medians with their intervals as a table.

use crds::units::Size;

use crate::runner::Measured;

pub const LATENCY_HEADER: &str =
    "| libfabric | provider | size | runner, us | fi_pingpong, us | ratio | fi_rdm_tagged_pingpong, us | ratio |
|---|---|---|---|---|---|---|---|";
pub const THROUGHPUT_HEADER: &str = "| libfabric | provider | size | runner, MB/s | fi_rma_bw, MB/s | ratio |
|---|---|---|---|---|---|";

pub const CALLS_HEADER: &str = "| payload | size | runner, us | pyisolate, us | ratio |
|---|---|---|---|---|";

/// A line with mean times of calls; index `i` of each list contains the result of repetition `i`.
pub fn calls_line(payload: &str, size: &str, runner: &[f64], other: &[f64]) -> String {
    let ratios: Vec<f64> = runner
        .iter()
        .zip(other)
        .map(|(runner, other)| runner / other)
        .collect();
    format!(
        "| {payload} | {size} | {} | {} | {} |",
        median_with_interval(runner),
        median_with_interval(other),
        interval_with_digits(&ratios, 4)
    )
}

pub const STARWAY_HEADER: &str = "| transport | scenario | value | runner | Starway | ratio |
|---|---|---|---|---|---|";
/// The library and the provider are those of the runner.
pub const TRANSFER_ENGINE_HEADER: &str =
    "| operation | batch | libfabric | provider | size | runner, MB/s | transfer_engine_bench, MB/s | ratio |
|---|---|---|---|---|---|---|---|";

/// Header of a table that compares the runner with the test `test` of ucx_perftest.
pub fn ucx_header(test: &str, unit: &str) -> String {
    format!(
        "| UCX | transport | size | runner, {unit} | ucx_perftest {test}, {unit} | ratio |\n|---|---|---|---|---|---|"
    )
}

/// Results for one size with one library and provider; index `i` of each list contains the result of repetition `i`.
pub struct Row {
    version: String,
    /// Name of the provider in this version of the library, known after the first measurement of the runner.
    pub provider: String,
    runner: Vec<f64>,
    /// Values of each tool; `None` if the tool is not available or failed.
    pub tools: Vec<Vec<Option<f64>>>,
}

impl Row {
    pub fn new(tools: usize) -> Self {
        Self {
            version: String::new(),
            provider: String::new(),
            runner: Vec::new(),
            tools: vec![Vec::new(); tools],
        }
    }

    pub fn add_runner(&mut self, measured: Measured) {
        self.runner.push(measured.value);
        (self.version, self.provider) = (measured.version, measured.provider);
    }

    /// Adds the values of the runner and of the only tool from one repetition.
    pub fn add(&mut self, runner: f64, tool: f64) {
        self.runner.push(runner);
        for values in &mut self.tools {
            values.push(Some(tool));
        }
    }

    pub fn line(&self, size: u64) -> String {
        let (version, provider, size) = (&self.version, &self.provider, Size(size));
        format!("| {version} | {provider} | {size} |{}", self.values())
    }

    /// Cells of the table with the values of the runner, and with the values and the ratio of each tool.
    pub fn values(&self) -> String {
        let mut line = format!(" {} |", median_with_interval(&self.runner));
        for tool in &self.tools {
            let values: Vec<f64> = tool.iter().copied().flatten().collect();
            let pairs = self.runner.iter().zip(tool);
            let ratios: Vec<f64> = pairs
                .filter_map(|(runner, tool)| Some(runner / (*tool)?))
                .collect();
            line += &format!(
                " {} | {} |",
                median_with_interval(&values),
                median_with_interval(&ratios)
            );
        }
        line
    }
}

/// Formats the median and its interval.
fn median_with_interval(values: &[f64]) -> String {
    interval_with_digits(values, 2)
}

fn interval_with_digits(values: &[f64], digits: usize) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let excluded = excluded_ranks(sorted.len());
    let bounds = (sorted.get(excluded), sorted.iter().rev().nth(excluded));
    match (sorted.get(sorted.len() / 2), bounds) {
        (Some(median), (Some(low), Some(high))) => {
            format!("{median:.digits$} [{low:.digits$}, {high:.digits$}]")
        }
        _ => "-".to_owned(),
    }
}

/// Number of values at each end of `count` sorted values that lie outside the interval of the median: the largest
/// number for which the interval has a confidence of at least 95 percent, according to the binomial distribution. 0 if
/// there is no such number; the interval is then the range.
fn excluded_ranks(count: usize) -> usize {
    let mut probability = 0.5_f64.powi(i32::try_from(count).unwrap());
    let (mut tail, mut excluded) = (probability, 0);
    while tail <= 0.025 {
        excluded += 1;
        probability *= (count - excluded + 1) as f64 / excluded as f64;
        tail += probability;
    }
    excluded.saturating_sub(1)
}
