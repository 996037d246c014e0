//! Benchmark commands that an image provides: two processes whose output contains the results.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::units::Size;
use crate::v1alpha1::{Metric, RateUnit, SpecWorkload};

/// A benchmark command. Each case runs the server on the target and the client on the initiator once, and reads the
/// result for its size from the client output.
///
/// Arguments may contain the placeholders `{server}` (address of the worker that runs the server), `{port}`, `{size}`
/// (in bytes) and `{device}` (network interface or RDMA device of the worker's first rail). The argument `{arguments}`
/// is replaced by the arm's arguments (`spec.variants[].arguments`). `{{` and `}}` are literal braces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Command {
    /// Benchmark tool whose output format the client uses.
    pub tool: CommandTool,
    /// Message or transfer sizes, such as 64 or 1Mi. The command is run separately for each size.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 64)))]
    pub sizes: Vec<Size>,
    /// Server command and its arguments. If unset, only the client is run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 64), inner(length(max = 1000))))]
    pub server: Vec<String>,
    /// Client command and its arguments.
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 64), inner(length(max = 1000)))
    )]
    pub client: Vec<String>,
    /// Regular expression that matches a line that the server prints once it is ready. If unset, the server is
    /// considered ready when it listens on `{port}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 500)))]
    pub ready: Option<String>,
    /// First of 256 consecutive TCP ports. Each run of the command uses one of them as `{port}`. Defaults to 18600.
    #[serde(default = "default_port")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1024, max = 65000)))]
    pub port: u16,
    /// How to parse the output. Required if the tool is Regex; must not be set otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<CommandPattern>,
    /// Maximum duration of one run of the command, in seconds. Defaults to 50.
    #[serde(default = "default_timeout_seconds")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 3600)))]
    pub timeout_seconds: u32,
}

fn default_port() -> u16 {
    18600
}

fn default_timeout_seconds() -> u32 {
    50
}

/// Benchmark tool whose output is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum CommandTool {
    /// nccl-tests programs, such as all_reduce_perf: out-of-place time and bus bandwidth.
    NcclTests,
    /// perftest programs, such as ib_write_bw and ib_write_lat: average bandwidth and average latency.
    Perftest,
    /// fi_pingpong and fabtests programs, such as fi_rdm_pingpong and fi_rma_bw: transfer time and bandwidth.
    Fabtests,
    /// ucx_perftest: overall latency and overall bandwidth.
    UcxPerftest,
    /// nixlbench: average latency and bandwidth.
    Nixlbench,
    /// transfer_engine_bench: throughput.
    TransferEngineBench,
    /// Any program: each output line is matched against a regular expression.
    Regex,
}

impl CommandTool {
    /// All tools, in documentation order. A suggestion for a misspelled tool knows their programs
    /// ([`crate::suggestion::nearest`]).
    pub const ALL: [Self; 7] = [
        Self::NcclTests,
        Self::Perftest,
        Self::Fabtests,
        Self::UcxPerftest,
        Self::Nixlbench,
        Self::TransferEngineBench,
        Self::Regex,
    ];
}

/// How to parse the output of an arbitrary program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommandPattern {
    /// Regular expression that matches lines with results. It must contain at least one of the named groups `latency`
    /// and `bandwidth`. The optional group `size` is the size in bytes.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 500)))]
    pub expression: String,
    /// Unit of the `latency` group. Required if the group is present; must not be set otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_unit: Option<TimeUnit>,
    /// Unit of the `bandwidth` group. Required if the group is present; must not be set otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_unit: Option<RateUnit>,
}

/// Time unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::schema::remove_description))]
#[serde(rename_all = "camelCase")]
pub enum TimeUnit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl TimeUnit {
    /// Number of nanoseconds per unit.
    pub fn nanos(self) -> f64 {
        match self {
            Self::Ns => 1.0,
            Self::Us => 1e3,
            Self::Ms => 1e6,
            Self::S => 1e9,
        }
    }
}

impl SpecWorkload for Command {
    fn sizes(&self) -> Cow<'_, [Size]> {
        Cow::Borrowed(&self.sizes)
    }

    /// Never used, because a command must set its metric.
    fn metric_of_closed_loop(&self) -> Metric {
        Metric::ReportedLatency
    }
}
