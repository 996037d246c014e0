//! Problems in a run's spec: the field path, the cause and the fix.

use std::fmt;

use crds::assignment::Workload;
use crds::printable::character_name;
use crds::suggestion::did_you_mean;
use crds::units::{Duration, Size};
use crds::v1alpha1::{CommandTool, MemoryKind, Metric, NixlDescriptors, RpcChannel, RpcPattern, RpcPayload};
use snafu::Snafu;

use crate::format::pluralized;

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
    /// The transport of a variant has a different number of rails than the transport of the run.
    #[snafu(display(
        "{}, but `spec.transport` has {expected}: all arms must use the same number of rails. Set `rails` \
         to {expected}",
        pluralized((*rails).into(), "rail")
    ))]
    UnequalRails {
        /// Number of rails of the variant.
        rails: u32,
        /// Number of rails of the run.
        expected: u32,
    },
    /// The operation means different things in the arms' libraries.
    #[snafu(display(
        "WriteImmediate cannot be compared between {libraries}: UCX has no write with immediate data, so it needs a \
         flush and a separate message. Use Write, Read or Send"
    ))]
    DifferentOperations {
        /// Names of the libraries.
        libraries: String,
    },
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
    /// `workers` is set, but a trainer's workers run in all receiver pods.
    #[snafu(display(
        "if `spec.placement.pattern` is ManyToMany, the workers of a trainer run in the pods of all {receivers} \
         receivers. Use `workersPerNode` or `pattern: Pairwise`"
    ))]
    WorkersWithManyToMany {
        /// Number of receivers.
        receivers: u32,
    },
    /// `workersPerNode` is set, but a trainer's workers run in one pod.
    #[snafu(display(
        "all workers of a trainer run in one pod, because `spec.placement.pattern` is not ManyToMany. Use `workers`, \
         or `pattern: ManyToMany` with `senders: 1` and one receiver for each node"
    ))]
    WorkersPerNodeWithPairwise,
    /// A worker of the many-to-many pattern has several GPUs.
    #[snafu(display(
        "`spec.placement.pattern: ManyToMany` supports one GPU per worker. Keep one GPU, or use `pattern: Pairwise`"
    ))]
    MultipleGpusWithManyToMany,
    /// An open loop has a batch, although each of its transfers has its own intended start.
    #[snafu(display(
        "in an open loop, every transfer has its own intended start, so {batch} transfers cannot be posted together. \
         Remove `batch` or `load`"
    ))]
    BatchInOpenLoop {
        /// The given batch.
        batch: u32,
    },
    /// The parameters are too small for their header, body and trailer.
    #[snafu(display("{size} is less than {min}, the minimum size of parameters. Use a larger size"))]
    ServingSize {
        /// The given size.
        size: Size,
        /// Minimum size.
        min: Size,
    },
    /// The directory is not an absolute path.
    #[snafu(display("`{directory}` is not an absolute path. Use a path that starts with /"))]
    RelativeDirectory {
        /// The given path.
        directory: String,
    },
    /// A period is out of bounds.
    #[snafu(display(
        "{given} is not between {min} and {max}. Use a period that is not longer than `maxTime`"
    ))]
    PeriodBounds {
        /// The given period.
        given: Duration,
        /// Minimum period.
        min: Duration,
        /// Maximum period.
        max: Duration,
    },
    /// There are too many steps to evaluate.
    #[snafu(display(
        "`maxTime` contains {steps} steps, more than {max}. Use longer steps or a shorter `maxTime`"
    ))]
    TooManySteps {
        /// Number of steps.
        steps: u128,
        /// Maximum number.
        max: u128,
    },
    /// The group is not an IPv4 multicast address.
    #[snafu(display(
        "`{value}` is not an IPv4 multicast address. Use an address from 224.0.0.0 to 239.255.255.255"
    ))]
    NotMulticast {
        /// The given address.
        value: String,
    },
    /// The interface is not an IPv4 address.
    #[snafu(display("`{value}` is not an IPv4 address. Use the address of an interface, such as 10.0.0.5"))]
    NotIpv4 {
        /// The given address.
        value: String,
    },
    /// The relay is not an IPv4 address with a port.
    #[snafu(display("`{value}` is not an IPv4 address with a port. Use a value such as 10.0.0.5:17772"))]
    NotSocketAddress {
        /// The given address.
        value: String,
    },
    /// The datagram payload is out of bounds.
    #[snafu(display("{size} is not between {min} and {max}. Use a payload that fits into a datagram"))]
    DatagramBounds {
        /// The given size.
        size: Size,
        /// Minimum size.
        min: Size,
        /// Maximum size.
        max: Size,
    },
    /// There are too many datagrams to count each of them.
    #[snafu(display("{datagrams} datagrams are more than {max}. Use fewer versions or larger datagrams"))]
    TooManyDatagrams {
        /// Number of datagrams.
        datagrams: u64,
        /// Maximum number.
        max: u64,
    },
    /// The rate of datagrams is 0.
    #[snafu(display("a rate of 0 sends nothing. Use a higher rate, or remove `rate` for no limit"))]
    ZeroRate,
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
    /// A scenario with a load sweep has several sizes.
    #[snafu(display(
        "a sweep varies the rate at one size or payload, but the list has {sizes}. Keep one of them, and add a scenario for \
         each of the others"
    ))]
    SizesInSweep {
        /// Number of sizes in the spec.
        sizes: usize,
    },
    /// The calls of an open loop last longer than their timeout.
    #[snafu(display(
        "{iterations} samples at {rate} samples/s can last up to {longest:.1?}, which `timeoutSeconds` ({timeout}) does not \
         allow. Use fewer iterations, a higher rate or a longer timeout"
    ))]
    SlowSamples {
        /// Number of samples.
        iterations: u32,
        /// Lowest rate, in samples per second.
        rate: u32,
        /// Longest likely duration of the samples.
        longest: std::time::Duration,
        /// Timeout in seconds.
        timeout: u32,
    },
    /// The range of a sweep is too narrow for the number of its rates.
    #[snafu(display(
        "{steps} rates from {from} to {to} contain {rate} twice, because rates are whole numbers. Use fewer steps, or a \
         wider range"
    ))]
    RepeatedRate {
        /// Number of rates.
        steps: u32,
        /// Lowest rate.
        from: u32,
        /// Highest rate.
        to: u32,
        /// Rate that occurs twice.
        rate: u32,
    },
    /// The name of a scenario is too long to be followed by a rate.
    #[snafu(display(
        "the scenario name for the highest rate would be `{name}`, which is longer than 40 characters. Use a name of at \
         most {max} characters"
    ))]
    LongSweepName {
        /// Name with the highest rate.
        name: String,
        /// Maximum length of the name in the spec.
        max: usize,
    },
    /// The scenario name for a rate is already the name of another scenario.
    #[snafu(display(
        "the scenario for a rate would be named `{name}`, like {other}: each rate becomes a scenario named NAME-RATE. \
         Use another name"
    ))]
    SweepNameTaken {
        /// Name that occurs twice.
        name: String,
        /// Path of the other scenario.
        other: String,
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
    /// The UCX setting has a separate field.
    #[snafu(display(
        "`{name}` is determined by another field or by the runner: use `spec.transport.ucx.transports`, \
         `spec.transport.ucx.emulation` or `spec.devices.nics`, or remove it"
    ))]
    ReservedSetting {
        /// Name of the setting.
        name: String,
    },
    /// The name of a UCX setting has the prefix of the environment variables.
    #[snafu(display("`{name}` must be written without the UCX_ prefix. Use `{}`", name.trim_start_matches("UCX_")))]
    PrefixedSetting {
        /// Name of the setting.
        name: String,
    },
    /// The NIXL backend parameter is determined by the rail devices or by fabricbench.
    #[snafu(display("`{name}` is determined by `spec.devices.nics` or by the runner. Remove it"))]
    ReservedParameter {
        /// Name of the parameter.
        name: String,
    },
    /// A scenario sends messages with a payload, which NIXL does not support.
    #[snafu(display(
        "{path} has no messages with a payload: an agent reads and writes registered memory, and its notifications \
         carry no payload. Use `operation: Write`, `WriteImmediate` or `Read`, or another transport"
    ))]
    MessagesOverNixl {
        /// Path of the transport.
        path: String,
    },
    /// Merging of descriptors is enabled for requests that are not created from prepared lists.
    #[snafu(display(
        "requires `requests: Prepared`, because NIXL does not merge descriptors of requests that it creates"
    ))]
    MergeWithoutPreparedRequests,
    /// A transfer would have too many descriptors.
    #[snafu(display(
        "a transfer of {size} would have {count} descriptors, more than {max}. Increase `maxBytes`",
        max = NixlDescriptors::MAX_COUNT
    ))]
    TooManyDescriptors {
        /// Largest size of a scenario.
        size: Size,
        /// Number of its descriptors.
        count: u64,
    },
    /// A scenario receives active messages into GPU memory.
    #[snafu(display(
        "GPU memory (`Cuda`) cannot be used with `{path}.messages: ActiveMessage`, because the runner copies short active \
         messages to host memory. Use `messages: Tag`"
    ))]
    ActiveMessagesToGpu {
        /// Path of the transport.
        path: String,
    },
    /// Completed writes may not have arrived when the scenario needs their data.
    #[snafu(display(
        "`{path}.writeCompletion: Local` supports writes only in `transfer` and `segmentTransfer` scenarios in one \
         direction, without `load` and `workload: Mix`, and with `spec.placement.pattern: Pairwise`; parameterServing \
         writes in every mode. Use `writeCompletion: Delivery`, or change the scenario or the pattern"
    ))]
    LocalWriteCompletion {
        /// Path of the transport's settings.
        path: String,
    },
    /// The writes of a variant complete at a different event than those of the run's transport.
    #[snafu(display(
        "the writes of this variant and those of `spec.transport` complete at different events, so their latencies cannot \
         be compared. Use the same `writeCompletion` in `spec.transport` and in all variants; other libraries than UCX \
         use `Delivery`"
    ))]
    DifferentWriteCompletion,
    /// UCX would have to allocate the memory of several rails.
    #[snafu(display(
        "`allocation: Library` supports only one rail, but there are {rails}, and UCX allocates the memory of each \
         rail separately. Set `rails` to 1, or remove `allocation`"
    ))]
    LibraryMemoryOnSeveralRails {
        /// Number of rails.
        rails: u32,
    },
    /// UCX would have to allocate memory other than ordinary host memory.
    #[snafu(display(
        "UCX cannot allocate `{kind:?}` memory, which `{path}.allocation` requires. Use `Heap`, or remove \
         `allocation`"
    ))]
    LibraryMemoryKind {
        /// Memory kind of the scenario.
        kind: MemoryKind,
        /// Path of the transport whose library allocates the memory.
        path: String,
    },
    /// A size is 0 or above the limit.
    #[snafu(display("{size} is not between 1 and {max} bytes. Choose another size"))]
    SizeBounds {
        /// Size in the spec.
        size: Size,
        /// Maximum size.
        max: Size,
    },
    /// A list contains the same size twice.
    #[snafu(display(
        "{size} is in the list twice. Remove one; `spec.sampling.rounds` sets the number of repetitions"
    ))]
    DuplicateSize {
        /// Size that occurs twice.
        size: Size,
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
    /// A list contains the same payload twice.
    #[snafu(display(
        "{payload:?} is in the list twice. Remove one; `spec.sampling.rounds` sets the number of repetitions"
    ))]
    DuplicatePayload {
        /// Payload that occurs twice.
        payload: RpcPayload,
    },
    /// A payload is larger than the largest message of a transport.
    #[snafu(display(
        "{payload:?} is larger than {max}, the largest message of a transport. Set the channel of every variant to Local, \
         UnixSocket, Tcp or SharedMemory, or remove the payload"
    ))]
    PayloadOverTransport {
        /// The payload.
        payload: RpcPayload,
        /// Maximum size of a message.
        max: Size,
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
    /// The minimum window is too long.
    #[snafu(display(
        "{given} is longer than {max}, the smaller of 10s and a fifth of `spec.runPolicy.caseDeadlineSeconds`. Choose \
         a shorter window, or raise a deadline below 50 s"
    ))]
    MinWindowBounds {
        /// Minimum window in the spec.
        given: Duration,
        /// Maximum value of the minimum window.
        max: Duration,
    },
    /// The measurement duration is shorter than the minimum window.
    #[snafu(display(
        "{given} is shorter than `spec.sampling.minWindow`, {min_window}. Use a longer duration, or reduce \
         `minWindow`"
    ))]
    ShorterThanMinWindow {
        /// Duration in the spec.
        given: Duration,
        /// The minimum window.
        min_window: Duration,
    },
    /// The spec sets operation counts for a scenario that needs no pilot.
    #[snafu(display(
        "a duration, or a `minWindow` of 0s, already fixes the length of the measurement. Remove `operationCounts`"
    ))]
    FixedOperationCounts,
    /// The operation counts do not cover every size of the scenario exactly once.
    #[snafu(display(
        "the list must contain every size of the scenario exactly once: {}",
        sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    ))]
    OperationCountSizes {
        /// Sizes of the scenario.
        sizes: Vec<Size>,
    },
    /// An operation count is given for a rate, but the scenario has no sweep.
    #[snafu(display(
        "only a scenario with `load.sweep` has an operation count for each rate. Remove `rate`"
    ))]
    RateWithoutSweep,
    /// The operation counts do not cover every rate of the sweep exactly once.
    #[snafu(display(
        "the list must contain the size of the sweep exactly once for each rate: {}",
        rates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    ))]
    OperationCountRates {
        /// Rates of the sweep.
        rates: Vec<u32>,
    },
    /// The messages in flight need more memory than an instrument process may use.
    #[snafu(display(
        "messages in flight need {needed} of memory in every instrument process, which may use at most {max}. Reduce \
         `threads` or the largest size"
    ))]
    TooMuchMemory {
        /// Memory that all threads of the process need.
        needed: Size,
        /// Maximum memory of a process.
        max: Size,
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
    /// The metric of a command is missing, or is neither `ReportedLatency` nor `ReportedBandwidth`.
    #[snafu(display(
        "a command has only the metrics that its tool reports. Use ReportedLatency or ReportedBandwidth"
    ))]
    NoMetricOfCommand,
    /// The tool does not report the metric.
    #[snafu(display("the output of {tool:?} contains no {metric}. Use the other reported metric"))]
    MetricOfTool {
        /// The tool.
        tool: CommandTool,
        /// The metric.
        metric: Metric,
    },
    /// A variant's arguments are not used.
    #[snafu(display(
        "no command contains {{arguments}}, the placeholder that these arguments replace. Add it to `server` or \
         `client`, or remove `arguments`"
    ))]
    ArgumentsWithoutCommand,
    /// The library directory in the image is not set.
    #[snafu(display(
        "`library` must be set to the directory of this image that contains the library, such as /opt/amazon/efa/lib"
    ))]
    LibraryImageWithoutLibrary,
    /// An argument of a command is invalid, for example because of an unknown placeholder.
    #[snafu(display("{problem}"))]
    Placeholder {
        /// Cause and fix.
        problem: String,
    },
    /// A command's program contains a placeholder.
    #[snafu(display(
        "the program must be a name or a path without placeholders, so that all arms run the same program"
    ))]
    CommandProgramPlaceholder,
    /// A command has several sizes, but no placeholder for the size.
    #[snafu(display(
        "each size is measured in a separate run, so the client must contain {{size}}. Add it, or use one size"
    ))]
    SizesWithoutPlaceholder,
    /// The tool prints two sizes alike.
    #[snafu(display(
        "{tool:?} prints {} and {} bytes alike, as `{text}`, so their results cannot be distinguished. Remove one of them, \
         or measure them in separate scenarios", first.bytes(), second.bytes()
    ))]
    SizesPrintedAlike {
        /// Tool that prints the sizes.
        tool: CommandTool,
        /// First size.
        first: Size,
        /// Second size.
        second: Size,
        /// Text that the tool prints for both.
        text: String,
    },
    /// A command has a pattern for server readiness, but no server.
    #[snafu(display("there is no server. Remove `ready`, or set `server`"))]
    ReadyWithoutServer,
    /// Server readiness cannot be observed.
    #[snafu(display(
        "the client is started when the server is ready, so the server must listen on {{port}} or print a line. Add \
         {{port}} to `server`, or set `ready`"
    ))]
    NoReadiness,
    /// A regular expression of a command is invalid.
    #[snafu(display("{problem}"))]
    CommandPattern {
        /// Cause and fix.
        problem: String,
    },
    /// The `Regex` tool has no pattern.
    #[snafu(display("`tool: Regex` requires a pattern that matches the lines with results"))]
    RegexWithoutPattern,
    /// A pattern is given for a tool whose output is known.
    #[snafu(display("the output of {tool:?} is known. Remove `pattern`, or use `tool: Regex`"))]
    PatternWithoutRegex {
        /// The tool.
        tool: CommandTool,
    },
    /// A command scenario sets a memory kind, which has no effect on the command.
    #[snafu(display("a command allocates its own memory. Use `memory: Heap`, or remove `memory`"))]
    CommandMemory,
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
    /// A NIXL parameter with UCX settings contains a part that is not a setting.
    #[snafu(display(
        "NIXL splits engine_config at commas, and \"{setting}\" is not of the form NAME=VALUE. If the value of a setting \
         is a list, set the variable in the variant's environment instead, for example UCX_TLS"
    ))]
    ListInEngineConfig {
        /// Part of the value between two commas.
        setting: String,
    },
    /// The target's memory is specified for a workload whose sides cannot use different kinds.
    #[snafu(display(
        "the sides of `{workload}` cannot use different kinds of memory. Remove `targetMemory`"
    ))]
    TargetMemory {
        /// Field of the workload.
        workload: &'static str,
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

/// Collects a run's problems.
#[derive(Debug, Default)]
pub(super) struct Reporter(Vec<Problem>);

impl Reporter {
    /// Reports a problem, unless it has already been reported, for example for another rate of the same sweep.
    pub(super) fn add(&mut self, path: impl Into<String>, kind: ProblemKind) {
        let problem = Problem {
            path: path.into(),
            kind,
        };
        if !self.0.contains(&problem) {
            self.0.push(problem);
        }
    }

    /// Replaces the path of every problem. Problems that are then identical are reported once.
    pub(super) fn with_paths(self, path: impl Fn(&str) -> String) -> Self {
        let mut renamed = Self::default();
        for problem in self.0 {
            renamed.add(path(&problem.path), problem.kind);
        }
        renamed
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_problems(self) -> Problems {
        Problems(self.0)
    }

    /// Reports every name in a list that an earlier entry already has. `field` is the path of the list.
    pub(super) fn unique_names<'a>(&mut self, field: &str, names: impl IntoIterator<Item = &'a str>) {
        let mut seen: Vec<&str> = Vec::new();
        for (index, name) in names.into_iter().enumerate() {
            if let Some(first) = seen.iter().position(|known| *known == name) {
                self.add(
                    format!("{field}[{index}].name"),
                    ProblemKind::DuplicateName {
                        name: name.to_owned(),
                        first: format!("{field}[{first}]"),
                    },
                );
            }
            seen.push(name);
        }
    }
}

impl ProblemKind {
    /// Problem for a metric that a scenario does not have.
    pub(super) fn metric_not_available(metric: Metric, workload: &Workload) -> Self {
        match metric {
            _ if workload.command().is_some() => Self::NoMetricOfCommand,
            Metric::ReportedLatency | Metric::ReportedBandwidth => Self::ReportedMetric { metric },
            Metric::MemoryPerConsumer => Self::MemoryMetric,
            metric => Self::MetricNotAvailable { metric },
        }
    }
}
