//! Problems of scenarios: their sizes, rates and numbers of operations.

use crds::units::{Duration, Size};
use crds::v1alpha1::RpcPayload;
use snafu::Snafu;

/// Cause and fix of a problem.
#[derive(Clone, Debug, PartialEq, Snafu)]
pub enum ScenarioProblem {
    /// An open loop has a batch, although each of its transfers has its own intended start.
    #[snafu(display(
        "in an open loop, every transfer has its own intended start, so {batch} transfers cannot be posted together. \
         Remove `batch` or `load`"
    ))]
    BatchInOpenLoop {
        /// The given batch.
        batch: u32,
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
    /// No GPUs are named, and a segment in GPU memory would use other GPUs than the threads of another scenario.
    #[snafu(display(
        "the segment of scenario \"{segment}\" uses all GPUs of a worker by default, but the threads of scenario \"{other}\" \
         use GPU 0, and all scenarios of a run share the memory of each thread. Name the GPUs that both use, such as [0], \
         or measure the scenarios in separate runs"
    ))]
    DifferentGpus {
        /// Name of a scenario with a segment in GPU memory.
        segment: String,
        /// Name of a scenario with other transfers between several threads in GPU memory.
        other: String,
    },
    /// The target's memory is specified for a workload whose sides cannot use different kinds.
    #[snafu(display(
        "the sides of `{workload}` cannot use different kinds of memory. Remove `targetMemory`"
    ))]
    TargetMemory {
        /// Field of the workload.
        workload: &'static str,
    },
}
