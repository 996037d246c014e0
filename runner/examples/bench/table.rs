//! Formats medians with their intervals as a table.

use crds::units::Size;

use crate::runner::MeasuredValue;

pub const LATENCY_HEADER: &str =
    "| libfabric | provider | size | runner, us | fi_pingpong, us | ratio | fi_rdm_tagged_pingpong, us | ratio |
|---|---|---|---|---|---|---|---|";
pub const THROUGHPUT_HEADER: &str = "| libfabric | provider | size | runner, MB/s | fi_rma_bw, MB/s | ratio |
|---|---|---|---|---|---|";

pub const CALLS_HEADER: &str = "| payload | size | runner, us | pyisolate, us | ratio |
|---|---|---|---|---|";

/// Formats a line with mean call times; index `i` of each list contains the result of repetition `i`.
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
pub const NIXL_HEADER: &str = "| operation | size | runner, MB/s | NIXL from Python, MB/s | ratio |
|---|---|---|---|---|";
/// Header of the segment transfer table. The library and provider columns show what the runner used.
pub const TRANSFER_ENGINE_HEADER: &str =
    "| operation | batch | libfabric | provider | size | runner, MB/s | transfer_engine_bench, MB/s | ratio |
|---|---|---|---|---|---|---|---|";

/// Maximum runner latency, relative to the tool's latency.
const MAX_LATENCY_RATIO: f64 = 1.05;
/// Minimum runner throughput, relative to the tool's throughput.
const MIN_THROUGHPUT_RATIO: f64 = 0.95;
/// Time of an operation with the tool, in microseconds, below which the goal limits the difference instead of the ratio.
const SHORT_MICROSECONDS: f64 = 1.2;
/// Maximum difference between the times of an operation, in microseconds.
const MAX_DIFFERENCE_MICROSECONDS: f64 = 0.06;

/// Goal of a comparison, which the ratio must reach at the worse end of its interval.
#[derive(Clone, Copy)]
pub enum Goal {
    /// At most 1.05 times the tool's latency or, below 1.2 us, at most 60 ns more.
    Latency,
    /// At least 0.95 times the tool's throughput or, if the tool needs less than 1.2 us for an operation of `size` bytes,
    /// at most 60 ns more for each operation.
    Throughput { size: u64 },
}

/// Header of a table that compares the runner with the ucx_perftest test named `test`, which has results in `unit`.
pub fn ucx_header(test: &str, unit: &str) -> String {
    format!(
        "| UCX | transport | size | runner, {unit} | ucx_perftest {test}, {unit} | ratio | goal |\n\
         |---|---|---|---|---|---|---|"
    )
}

/// Table cell that shows whether a goal was reached.
pub fn goal_text(is_reached: Option<bool>) -> &'static str {
    match is_reached {
        Some(true) => "reached",
        Some(false) => "missed",
        None => "-",
    }
}

/// Results for one size with one library and provider; index `i` of each list contains the result of repetition `i`.
pub struct Row {
    version: String,
    /// Provider name in this library version, known after the runner's first measurement.
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

    pub fn add_runner(&mut self, measured: MeasuredValue) {
        self.runner.push(measured.value);
        (self.version, self.provider) = (measured.version, measured.provider);
    }

    /// Adds the runner's and the only tool's values from one repetition.
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

    /// Whether the ratio to the first tool reaches `goal` at the worse end of its interval. `None` if there are no
    /// values.
    pub fn reaches(&self, goal: Goal) -> Option<bool> {
        let tool = self.tools.first()?;
        let ratios: Vec<f64> = self.ratios(tool);
        let (_, low, high) = interval(&ratios)?;
        let (of_tool, ..) = interval(&tool.iter().copied().flatten().collect::<Vec<_>>())?;
        Some(match goal {
            Goal::Latency => high <= MAX_LATENCY_RATIO || is_close(of_tool, high),
            Goal::Throughput { size } => {
                low >= MIN_THROUGHPUT_RATIO || is_close(size as f64 / of_tool, 1.0 / low)
            }
        })
    }

    fn ratios(&self, tool: &[Option<f64>]) -> Vec<f64> {
        let pairs = self.runner.iter().zip(tool);
        pairs
            .filter_map(|(runner, tool)| Some(runner / (*tool)?))
            .collect()
    }

    /// Table cells with the runner's values, followed by each tool's values and ratio.
    pub fn values(&self) -> String {
        let mut line = format!(" {} |", median_with_interval(&self.runner));
        for tool in &self.tools {
            let values: Vec<f64> = tool.iter().copied().flatten().collect();
            let ratios = self.ratios(tool);
            line += &format!(
                " {} | {} |",
                median_with_interval(&values),
                median_with_interval(&ratios)
            );
        }
        line
    }
}

/// Whether an operation that takes the tool `micros` microseconds is short, and takes the runner at most 60 ns more if it
/// takes `ratio` times as long.
fn is_close(micros: f64, ratio: f64) -> bool {
    micros < SHORT_MICROSECONDS && (ratio - 1.0) * micros <= MAX_DIFFERENCE_MICROSECONDS
}

/// Formats the median and its interval.
fn median_with_interval(values: &[f64]) -> String {
    interval_with_digits(values, 2)
}

fn interval_with_digits(values: &[f64], digits: usize) -> String {
    interval(values).map_or_else(
        || "-".to_owned(),
        |(median, low, high)| format!("{median:.digits$} [{low:.digits$}, {high:.digits$}]"),
    )
}

/// Returns the median and the ends of its interval.
fn interval(values: &[f64]) -> Option<(f64, f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let excluded = excluded_ranks(sorted.len());
    let (low, high) = (sorted.get(excluded)?, sorted.iter().rev().nth(excluded)?);
    Some((*sorted.get(sorted.len() / 2)?, *low, *high))
}

/// Number of values at each end of `count` sorted values that lie outside the median's interval: the largest number for
/// which the interval has a confidence of at least 95 percent, according to the binomial distribution. 0 if there is no
/// such number; the interval is then the range.
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
