//! Problems in a run's spec: the field path, the cause and the fix.

mod claims;
mod command;
mod parameter_serving;
mod scenarios;
mod transports;

use std::fmt;

use crds::assignment::Workload;
use crds::printable::character_name;
use crds::suggestion::did_you_mean;
use crds::units::{Duration, Size};
use crds::v1alpha1::{Metric, RpcChannel, RpcPattern};
use snafu::Snafu;

pub use claims::ClaimsProblem;
pub use command::CommandProblem;
pub use parameter_serving::ServingProblem;
pub use scenarios::ScenarioProblem;
pub use transports::TransportProblem;

/// A problem in a run's spec.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Path of the field, such as `spec.variants[2].striping.thresholdBytes`.
    pub path: String,
    /// Cause and fix.
    pub kind: ProblemKind,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.kind)
    }
}

/// All problems in a run's spec; never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Cause and fix of a problem.
#[derive(Clone, Debug, PartialEq, Snafu)]
pub enum ProblemKind {
    /// A problem of device claims.
    #[snafu(transparent)]
    Claims {
        /// Cause and fix.
        source: ClaimsProblem,
    },
    /// A problem of a command.
    #[snafu(transparent)]
    Command {
        /// Cause and fix.
        source: CommandProblem,
    },
    /// A problem of parameter serving.
    #[snafu(transparent)]
    Serving {
        /// Cause and fix.
        source: ServingProblem,
    },
    /// A problem of a transport.
    #[snafu(transparent)]
    Transport {
        /// Cause and fix.
        source: TransportProblem,
    },
    /// A problem of a scenario.
    #[snafu(transparent)]
    Scenario {
        /// Cause and fix.
        source: ScenarioProblem,
    },
    /// The name of the run is not a DNS label, or is too long for the objects that are named after it.
    #[snafu(display(
        "`{name}` is not a valid name: pods and directories are named after the run, so it must consist of 1 to 52 \
         lowercase letters, digits and `-`, and start and end with a letter or digit. Choose another name"
    ))]
    RunName {
        /// The invalid name.
        name: String,
    },
    /// The baseline is not a variant.
    #[snafu(display("`{name}` is not a variant.{} Use one of {}",
        did_you_mean(name, known.iter().map(String::as_str)),
        known.join(", ")
    ))]
    UnknownBaseline {
        /// Name that the spec gives for the baseline.
        name: String,
        /// Names of all variants.
        known: Vec<String>,
    },
    /// The baseline already coalesces, although `coalesce` is a factor.
    #[snafu(display(
        "the baseline already coalesces, because its striping policy is NixlCoalesce. Use `policy: Nixl` in \
         `spec.striping`, or remove the factor"
    ))]
    BaselineCoalesces,
    /// The workload does not support the many-to-many pattern, whose flows must be active concurrently.
    #[snafu(display(
        "`spec.placement.pattern: ManyToMany` measures flows that are active at the same time, which only `transfer`, \
         `smallMessages` and `parameterServing` support. Use one of them, or `pattern: Pairwise`"
    ))]
    WorkloadWithoutFlows,
    /// A transfer of the many-to-many pattern is bidirectional.
    #[snafu(display(
        "if `spec.placement.pattern` is ManyToMany, only senders post transfers. Use `direction: Unidirectional` or \
         `pattern: Pairwise`"
    ))]
    BidirectionalFlows,
    /// A transfer of the many-to-many pattern is an open loop.
    #[snafu(display(
        "if `spec.placement.pattern` is ManyToMany, a transfer starts as soon as an earlier one of its flow has \
         completed. Remove `load`, or use `pattern: Pairwise`"
    ))]
    OpenLoopFlows,
    /// A transfer of the many-to-many pattern has a number of operations instead of a duration.
    #[snafu(display(
        "if `spec.placement.pattern` is ManyToMany, all flows must be active for the same time, but a fast flow would \
         complete this number of transfers before the others. Use `duration`"
    ))]
    FlowsWithIterations,
    /// The flows of a worker have too many threads in total.
    #[snafu(display(
        "each flow has separate threads, so {threads} threads and {flows} flows of a worker need {}, more than {max}. Use \
         fewer threads, senders or receivers",
        u64::from(*threads) * u64::from(*flows)
    ))]
    TooManyFlowThreads {
        /// Number of threads of each flow.
        threads: u32,
        /// Largest number of flows of a worker.
        flows: u32,
        /// Maximum number of threads of a worker.
        max: u32,
    },
    /// A worker of the many-to-many pattern has several GPUs.
    #[snafu(display(
        "`spec.placement.pattern: ManyToMany` supports one GPU per worker. Keep one GPU, or use `pattern: Pairwise`"
    ))]
    MultipleGpusWithManyToMany,
    /// The name of a scenario is too long to be followed by a count of workers or consumers.
    #[snafu(display(
        "with the largest count, the scenario name would be `{name}`, which is longer than 40 characters. Use a \
         name of at most {max} characters"
    ))]
    LongCountName {
        /// Name with the largest count.
        name: String,
        /// Maximum length of the name in the spec.
        max: usize,
    },
    /// The scenario name with a count of workers or consumers is already the name of another scenario.
    #[snafu(display(
        "the scenario for a count would be named `{name}`, like {other}: each count in a list becomes a scenario named \
         NAME-COUNT. Use another name"
    ))]
    CountNameTaken {
        /// Name that occurs twice.
        name: String,
        /// Path of the other scenario.
        other: String,
    },
    /// A number of consumers is out of bounds or repeated.
    #[snafu(display(
        "{given:?} is not a number from 1 to 100, or a list of 1 to 16 different numbers from 1 to 100. Change it"
    ))]
    ConsumerCounts {
        /// Numbers in the spec.
        given: Vec<u32>,
    },
    /// Two entries in a list have the same name.
    #[snafu(display("`{name}` is already the name of {first}. Use a unique name"))]
    DuplicateName {
        /// Name that occurs twice.
        name: String,
        /// Path of the entry that already has this name.
        first: String,
    },
    /// The environment variable is reserved for fabricbench.
    #[snafu(display("`{name}` is reserved for fabricbench. Remove it"))]
    ReservedVariable {
        /// Name of the variable.
        name: String,
    },
    /// A list contains the same element twice.
    #[snafu(display("this is the same as {first}. Remove one"))]
    DuplicateElement {
        /// Path of the first element.
        first: String,
    },
    /// An amount is larger than any machine has.
    #[snafu(display("{given} is greater than the maximum of {max}. Use a smaller value"))]
    AmountTooLarge {
        /// Amount in the spec, with its unit.
        given: String,
        /// Maximum amount, with its unit.
        max: String,
    },
    /// A text contains a character that cannot be seen, or that looks like another one.
    #[snafu(display(
        "the text contains {} at position {position}, so it is not what it seems to be. Type the text again instead of \
         copying it",
        character_name(*character)
    ))]
    DeceptiveCharacter {
        /// The character.
        character: char,
        /// Position of the character in the text, starting at 1.
        position: usize,
    },
    /// Calls that are not recursive have a depth.
    #[snafu(display(
        "calls with `pattern: {pattern:?}` have no depth. Remove `depth`, or use `pattern: Recursive`"
    ))]
    DepthWithoutRecursion {
        /// Pattern of the calls.
        pattern: RpcPattern,
    },
    /// A variant names a channel, but no scenario makes calls.
    #[snafu(display(
        "no scenario makes calls. Add a scenario with `rpc` or `memoryFootprint`, or remove `channel`"
    ))]
    ChannelWithoutCalls,
    /// A variant has tuning, but its channel is not a transport.
    #[snafu(display(
        "calls over channel {channel:?} post no messages to which `{field}` could apply. Remove `{field}`, or use \
         `channel: Transport`"
    ))]
    TuningOffFabric {
        /// Channel of the variant.
        channel: RpcChannel,
        /// Field of the variant.
        field: &'static str,
    },
    /// A number of bytes that must be positive is 0.
    #[snafu(display("0 bytes have no effect. {advice}"))]
    NoBytes {
        /// Suggested fix.
        advice: &'static str,
    },
    /// A duration is too short to measure, or longer than the longest case allows.
    #[snafu(display(
        "{given} is not between {min} and {max}. The maximum is half of the longest case, so that warm-up and \
         measurement both finish in time. Choose another duration"
    ))]
    DurationBounds {
        /// Duration in the spec.
        given: Duration,
        /// Minimum duration.
        min: Duration,
        /// Maximum duration.
        max: Duration,
    },
    /// An expected decrease is 100 percent or more.
    #[snafu(display("a decrease of {percent} percent is not possible: use a value below 100"))]
    DecreaseTooLarge {
        /// The expected decrease.
        percent: u32,
    },
    /// The metric does not apply to the scenario.
    #[snafu(display(
        "{metric} is not available for a ping-pong, a call or a footprint: with only one message in flight, a rate is \
         the inverse of the latency, and the CPU time of a footprint's consumers is not measured. Use LatencyP50, or \
         a transfer scenario"
    ))]
    MetricNotAvailable {
        /// The metric.
        metric: Metric,
    },
    /// The metric exists only in memory footprint scenarios.
    #[snafu(display("MemoryPerConsumer exists only in memoryFootprint scenarios. Use another metric"))]
    MemoryMetric,
    /// The metric exists only in command scenarios.
    #[snafu(display("{metric} exists only in command scenarios. Use another metric"))]
    ReportedMetric {
        /// The metric.
        metric: Metric,
    },
    /// The library directory in the image is not set.
    #[snafu(display(
        "`library` must be set to the directory of this image that contains the library, such as /opt/amazon/efa/lib"
    ))]
    LibraryImageWithoutLibrary,
    /// A variant names a channel over which no process can receive a tensor.
    #[snafu(display(
        "a tensor can be passed to other processes over `channel: UnixSocket`, `Tcp` or `SharedMemory`, but variant \
         \"{variant}\" uses {channel:?}. Set its `channel`"
    ))]
    FootprintChannel {
        /// Name of the variant.
        variant: String,
        /// Channel of the variant.
        channel: RpcChannel,
    },
    /// A memory footprint scenario uses memory other than ordinary host memory and GPU memory.
    #[snafu(display(
        "the consumers measure ordinary host memory or GPU memory. Use `memory: Heap` or `Cuda`, or remove `memory`"
    ))]
    FootprintMemory,
    /// The run requests fewer huge pages than its scenarios need.
    #[snafu(display(
        "{given} of huge pages is not enough: {processes} instrument processes need {needed} for scenario \
         \"{scenario}\". Request {needed} or more"
    ))]
    TooFewHugePages {
        /// Amount that the spec requests.
        given: Size,
        /// Total amount that all processes need.
        needed: Size,
        /// Number of instrument processes that hold memory concurrently.
        processes: u64,
        /// Name of the scenario that needs the most memory.
        scenario: String,
    },
    /// The amount of huge pages is not a multiple of the page size.
    #[snafu(display("{given} is not a multiple of 2Mi. Round it up"))]
    HugePagesMultiple {
        /// Amount that the spec requests.
        given: Size,
    },
    /// A scenario uses GPU memory, but the run requests no GPU.
    #[snafu(display(
        "`Cuda` memory needs a GPU, but `spec.resources.gpus` is 0. Request one, or use `Heap`"
    ))]
    NoGpu,
    /// A segment with GPU memory has no host memory, other memory on the target, or a single thread.
    #[snafu(display(
        "a segment with DRAM and VRAM needs at least 2 threads, and `memory: Heap` or `SharedMemory` on both sides. Set \
         `threads` or `memory`, remove `targetMemory`, or use `memory: Cuda` without `useVram` for a segment that has only \
         GPU memory"
    ))]
    Vram,
    /// A variant injects messages from device memory.
    #[snafu(display(
        "messages in GPU memory (`Cuda`) cannot be injected, but variant \"{variant}\" injects messages of {size}. Use \
         `Heap` memory or sizes above {max}, or remove the variant's `inject`"
    ))]
    InjectOnDevice {
        /// Name of the variant.
        variant: String,
        /// Smallest size that the variant injects.
        size: Size,
        /// Maximum size that the variant injects.
        max: Size,
    },
    /// The list contains more GPUs than the scenarios use.
    #[snafu(display(
        "the list has more GPUs than a scenario with GPU memory (`Cuda`) can use: each thread uses one GPU, and no such \
         scenario has more than {threads} threads. Remove GPUs, or raise `threads` in a transfer scenario"
    ))]
    UnusedGpus {
        /// Maximum number of threads of the scenarios with GPU memory; 0 if there is no such scenario.
        threads: u32,
    },
    /// A GPU index is not below the number of GPUs requested.
    #[snafu(display(
        "GPU {gpu} does not exist in the container: `spec.resources.gpus` is {requested}, and indexes start at 0. \
         Request more GPUs, or use a lower index"
    ))]
    UnknownGpu {
        /// Index of the GPU.
        gpu: u32,
        /// Number of GPUs requested.
        requested: u32,
    },
    /// A device is named twice.
    #[snafu(display("`{name}` is in the list twice. Remove one"))]
    DuplicateDevice {
        /// Name of the NIC or index of the GPU.
        name: String,
    },
    /// The number of NICs does not match the number of rails.
    #[snafu(display(
        "{nics} NICs are named, but there are {rails} rails (the rails of the transport for each GPU). Name one NIC for \
         each rail, or none"
    ))]
    NicsPerRail {
        /// Number of NICs in the list.
        nics: usize,
        /// Number of rails of all GPUs.
        rails: u32,
    },
    /// The transport uses no NICs.
    #[snafu(display("the transport uses no NICs. Remove this field, or choose another transport"))]
    NoNics,
    /// The GPUs have too many rails in total.
    #[snafu(display(
        "every GPU has its own rails, {rails} in total, but the maximum is {max}. Use fewer rails or GPUs"
    ))]
    TooManyRails {
        /// Number of rails of all GPUs.
        rails: u32,
        /// Maximum number of rails.
        max: u32,
    },
    /// The run requests fewer EFA devices than a worker has rails.
    #[snafu(display(
        "every rail needs an EFA device: a worker has {rails} rails, but `spec.resources.efas` is {efas}. Request \
         {rails} devices, or use fewer rails"
    ))]
    MoreRailsThanEfas {
        /// Number of rails.
        rails: u32,
        /// Number of devices requested.
        efas: u32,
    },
    /// An expectation names a variant or scenario that does not exist.
    #[snafu(display("`{name}` is not {what}.{} Use one of {}",
        did_you_mean(name, known.iter().map(String::as_str)),
        known.join(", ")
    ))]
    UnknownName {
        /// Name that does not exist.
        name: String,
        /// Kind of object that the name must refer to.
        what: &'static str,
        /// Valid names.
        known: Vec<String>,
    },
    /// The range of an expectation contains no size of its scenario.
    #[snafu(display(
        "the range contains no size of scenario \"{scenario}\" ({}). Widen the range",
        list(sizes)
    ))]
    NoSizeSelected {
        /// Name of the scenario.
        scenario: String,
        /// Sizes of the scenario.
        sizes: Vec<Size>,
    },
    /// Two variants would post exactly the same messages.
    #[snafu(display(
        "{reason}, so \"{first}\" and \"{second}\" would post exactly the same messages. {advice}"
    ))]
    IdenticalVariants {
        /// Name of one variant.
        first: String,
        /// Name of the other variant.
        second: String,
        /// Why the variants are identical.
        reason: String,
        /// Suggested fix.
        advice: String,
    },
}

fn list(sizes: &[Size]) -> String {
    let sizes: Vec<_> = sizes.iter().map(Size::to_string).collect();
    sizes.join(", ")
}

impl ProblemKind {
    /// Problem for a metric that a scenario does not have.
    pub(super) fn metric_not_available(metric: Metric, workload: &Workload) -> Self {
        match metric {
            _ if workload.command().is_some() => CommandProblem::NoMetricOfCommand.into(),
            Metric::ReportedLatency | Metric::ReportedBandwidth => Self::ReportedMetric { metric },
            Metric::MemoryPerConsumer => Self::MemoryMetric,
            metric => Self::MetricNotAvailable { metric },
        }
    }
}
