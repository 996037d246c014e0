//! Benchmark commands that an image provides: two processes whose output contains the results.

use serde::{Deserialize, Serialize};

use super::RateUnit;
use crate::units::Size;

/// A benchmark command. Each case executes the server on the target and the client on the initiator once, and reads the
/// result for the size from the output of the client.
///
/// Arguments may contain the placeholders `{server}` (address of the worker that runs the server), `{port}`, `{size}` (in
/// bytes) and `{device}` (network interface or RDMA device of the first rail of the worker). The argument `{arguments}`
/// is replaced by the arguments of the arm (`spec.variants[].arguments`). `{{` and `}}` stand for braces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Command {
    /// Tool whose output the client prints.
    pub tool: CommandTool,
    /// Sizes of a message or transfer, such as 64 or 1Mi. Each is measured in a separate execution.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 64)))]
    pub sizes: Vec<Size>,
    /// Program and arguments of the server. If unset, only the client is executed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 64), inner(length(max = 1000))))]
    pub server: Vec<String>,
    /// Program and arguments of the client.
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 64), inner(length(max = 1000)))
    )]
    pub client: Vec<String>,
    /// Regular expression that matches a line that the server prints when it is ready. If unset, the server is ready when
    /// it listens on `{port}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 500)))]
    pub ready: Option<String>,
    /// First of the TCP ports that successive executions use. Defaults to 18600.
    #[serde(default = "default_port")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1024, max = 65000)))]
    pub port: u16,
    /// How to parse the output. Required if the tool is Regex; must not be set otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<CommandPattern>,
    /// Maximum duration of an execution, in seconds. At most runPolicy.caseDeadlineSeconds minus 10. Defaults to 50.
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

/// Tool whose output is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum CommandTool {
    /// Programs of nccl-tests, such as all_reduce_perf: out-of-place time and bus bandwidth.
    NcclTests,
    /// Programs of perftest, such as ib_write_bw and ib_write_lat: average bandwidth and average latency.
    Perftest,
    /// fi_pingpong and programs of fabtests, such as fi_rdm_pingpong and fi_rma_bw: time of a transfer and bandwidth.
    Fabtests,
    /// ucx_perftest: overall latency and overall bandwidth.
    UcxPerftest,
    /// nixlbench: average latency and bandwidth.
    Nixlbench,
    /// transfer_engine_bench: throughput.
    TransferEngineBench,
    /// Any program: a regular expression is applied to each line.
    Regex,
}

impl CommandTool {
    /// All tools, in the order of the documentation.
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
    /// Regular expression that matches the lines with results. At least one of the named groups `latency` and `bandwidth`
    /// must be present; `size` is the size in bytes.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 500)))]
    pub expression: String,
    /// Unit of the group latency. Required if the group is present; must not be set otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_unit: Option<TimeUnit>,
    /// Unit of the group bandwidth. Required if the group is present; must not be set otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_unit: Option<RateUnit>,
}

/// Time unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
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
    /// Nanoseconds in one unit.
    pub fn nanos(self) -> f64 {
        match self {
            Self::Ns => 1.0,
            Self::Us => 1e3,
            Self::Ms => 1e6,
            Self::S => 1e9,
        }
    }
}
