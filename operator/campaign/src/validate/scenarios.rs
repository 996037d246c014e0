//! Validates scenarios: sizes, iterations, durations, and the memory for messages in flight. Converts every workload of
//! the spec to the workload that the runner executes.

use std::collections::BTreeMap;
use std::time::Duration;

use crds::assignment::{
    CountedWorkload, Extent, PingPongWorkload, RpcWorkload, ScenarioAssignment, TransferWorkload, Workload,
    pilot,
};
use crds::units::{self, Size};
use crds::v1alpha1::{
    BenchmarkRunSpec, Load, MIN_VRAM_THREADS, ManyToMany, MemoryKind, PingPong, Rpc, Scenario,
    ScenarioWorkload, SegmentTransfer, SizeOperations, SmallMessages, Transfer,
};

use super::memory::bytes_per_process;
use super::metrics::metric_problem;
use super::reporter::Reporter;
use super::{ValidatedScenario, command, durations, footprint, parameter_serving, sizes, sweep};

/// Maximum memory of a scenario in one instrument process. Each environment has its own process, so even below this
/// limit, a run may require a large node.
const MAX_PROCESS_BYTES: u64 = 16 << 30;
/// Default duration of the measurement of concurrent flows.
const DEFAULT_FLOW_DURATION: Duration = Duration::from_secs(1);
/// Applies the defaults to the scenarios of `spec` and preserves their order. Scenarios without a workload, which the
/// schema rejects, are omitted.
pub(super) fn expand(spec: &BenchmarkRunSpec, report: &mut Reporter) -> Vec<ValidatedScenario> {
    report.unique_names(
        "spec.scenarios",
        spec.scenarios.iter().map(|scenario| scenario.name.as_str()),
    );
    durations::check_min_window(spec, report);
    let scenarios = spec.scenarios.iter().enumerate();
    let scenarios: Vec<ValidatedScenario> = scenarios
        .flat_map(|(index, scenario)| {
            let mut expander = ScenarioExpander {
                index,
                path: format!("spec.scenarios[{index}]"),
                rails: spec.transport.rails(),
                min_window: spec.sampling.min_window.0,
                calls_over_transport: spec.calls_over_transport(),
                gpu: spec.devices.gpu(0),
                many_to_many: spec.placement.many_to_many(),
                report,
            };
            expander.expand(scenario)
        })
        .collect();
    sweep::check_names(&scenarios, &spec.scenarios, report);
    scenarios
}

struct ScenarioExpander<'a> {
    index: usize,
    path: String,
    rails: u32,
    min_window: Duration,
    /// Whether an arm makes its calls over its transport.
    calls_over_transport: bool,
    /// CUDA device number of the GPU of the first measuring thread.
    gpu: u32,
    many_to_many: Option<ManyToMany>,
    report: &'a mut Reporter,
}

impl ScenarioExpander<'_> {
    /// The scenario with defaults applied or, if it has a sweep, one scenario for each rate.
    fn expand(&mut self, scenario: &Scenario) -> Vec<ValidatedScenario> {
        let Some(given) = scenario.workload() else {
            return Vec::new();
        };
        let validated = self.apply_defaults(scenario, given);
        if let ScenarioWorkload::ParameterServing(given) = given {
            let (path, pattern) = (&self.path, self.many_to_many);
            return parameter_serving::expand(path, validated, given, pattern, self.report);
        }
        if let ScenarioWorkload::MemoryFootprint(given) = given {
            return footprint::expand(&self.path, validated, given, self.report);
        }
        let Some(sweep) = sweep::find(scenario) else {
            return vec![validated];
        };
        sweep::check(&self.path, &scenario.name, given, sweep, self.report);
        sweep::expand(&validated, sweep, &scenario.operation_counts)
    }

    /// Kind of the target's memory if it differs from the initiator's.
    fn target_memory(&mut self, scenario: &Scenario, given: ScenarioWorkload<'_>) -> Option<MemoryKind> {
        let kind = scenario.target_memory?;
        if matches!(
            given,
            ScenarioWorkload::Rpc(_)
                | ScenarioWorkload::MemoryFootprint(_)
                | ScenarioWorkload::ParameterServing(_)
                | ScenarioWorkload::Command(_)
        ) {
            let workload = given.field();
            self.add(
                "targetMemory",
                format!(
                    "the sides of `{workload}` cannot use different kinds of memory. Remove `targetMemory`"
                ),
            );
        }
        (kind != scenario.memory).then_some(kind)
    }

    fn apply_defaults(&mut self, scenario: &Scenario, given: ScenarioWorkload<'_>) -> ValidatedScenario {
        let field = given.field();
        let mut workload = match given {
            ScenarioWorkload::PingPong(given) => self.ping_pong(given),
            ScenarioWorkload::Transfer(given) => self.transfer(given),
            ScenarioWorkload::LargeArray(given) => self.counted_workload(given),
            ScenarioWorkload::SmallMessages(given) => self.small_messages(given),
            ScenarioWorkload::PingpongFlag(given) => self.counted_workload(given),
            ScenarioWorkload::StreamingDuplex(given) => self.counted_workload(given),
            ScenarioWorkload::SegmentTransfer(given) => {
                self.check_vram(scenario, given);
                given.workload(self.measured(field, None, Some(given.duration)))
            }
            ScenarioWorkload::Rpc(given) => self.rpc(given),
            ScenarioWorkload::MemoryFootprint(given) => footprint::workload(given),
            ScenarioWorkload::Command(given) => command::workload(given),
            ScenarioWorkload::ParameterServing(given) => {
                parameter_serving::workload(given, self.many_to_many, &mut |name, message| {
                    self.add(&format!("{field}.{name}"), message);
                })
            }
        };
        let primary = scenario.primary_metric.unwrap_or(given.default_metric());
        if let Some(problem) = metric_problem(primary, &workload) {
            self.add("primaryMetric", problem);
        }
        self.set_gpu(scenario.memory, &mut workload);
        let path = format!("{}.{field}", self.path);
        let sizes = match given {
            ScenarioWorkload::Rpc(rpc) => sizes::payloads(&path, rpc, self.calls_over_transport, self.report),
            ScenarioWorkload::MemoryFootprint(footprint) => {
                sizes::check(&path, &footprint.sizes, sizes::MAX_TENSOR_BYTES, self.report)
            }
            _ => sizes::check(&path, &given.sizes(), sizes::MAX_SIZE_BYTES, self.report),
        };
        let assignment = ScenarioAssignment {
            name: scenario.name.clone(),
            memory: self.transport_memory(scenario.memory, &workload),
            target_memory: self.target_memory(scenario, given),
            polling: scenario.polling,
            workload,
            max_size_bytes: sizes.iter().copied().max().unwrap_or(0),
        };
        let needed = self.max_process_bytes(&assignment, given);
        if needed > MAX_PROCESS_BYTES {
            let (needed, max) = (Size(needed), Size(MAX_PROCESS_BYTES));
            self.add(
                field,
                format!(
                    "messages in flight need {needed} of memory in every instrument process, which may use \
                     at most {max}. Reduce `threads` or the largest size"
                ),
            );
        }
        let operation_counts = self.operation_counts(scenario, &assignment.workload, &sizes);
        ValidatedScenario {
            index: self.index,
            sweep: None,
            several_counts: None,
            sizes,
            primary,
            rate_format: given.rate_format(),
            // In parameter serving, every version is verified before it is used.
            integrity: scenario.integrity && assignment.workload.serving().is_none(),
            assignment,
            operation_counts,
        }
    }

    /// Checks that a segment with GPU memory also has host memory and threads for both, on both sides.
    fn check_vram(&mut self, scenario: &Scenario, given: &SegmentTransfer) {
        if !given.use_vram {
            return;
        }
        let target = scenario.target_memory.unwrap_or(scenario.memory);
        let is_host = matches!(scenario.memory, MemoryKind::Heap | MemoryKind::SharedMemory);
        if !is_host || target != scenario.memory || given.threads < MIN_VRAM_THREADS {
            self.add(
                "segmentTransfer.useVram",
                "a segment with DRAM and VRAM needs at least 2 threads, and `memory: Heap` or `SharedMemory` \
                 on both sides. Set `threads` or `memory`, remove `targetMemory`, or use `memory: Cuda` \
                 without `useVram` for a segment that has only GPU memory",
            );
        }
    }

    /// Selects the GPU that holds the payload of calls and footprints that do not use a transport.
    fn set_gpu(&self, memory: MemoryKind, workload: &mut Workload) {
        let gpu = (memory == MemoryKind::Cuda).then_some(self.gpu);
        match workload {
            Workload::Rpc(rpc) => rpc.gpu = gpu,
            Workload::MemoryFootprint(footprint) => footprint.gpu = gpu,
            Workload::PingPong(_)
            | Workload::Transfer(_)
            | Workload::ParameterServing(_)
            | Workload::Command(_) => {}
        }
    }

    /// Kind of the memory that is registered with the transport. If no arm sends its payload over a transport, the
    /// transport need not support GPU memory.
    fn transport_memory(&self, memory: MemoryKind, workload: &Workload) -> MemoryKind {
        match workload {
            Workload::Rpc(_) | Workload::MemoryFootprint(_)
                if memory == MemoryKind::Cuda && !self.calls_over_transport =>
            {
                MemoryKind::Heap
            }
            _ => memory,
        }
    }

    /// Memory of one instrument process, with the largest number of workers.
    fn max_process_bytes(&self, assignment: &ScenarioAssignment, given: ScenarioWorkload<'_>) -> u64 {
        let mut largest = assignment.clone();
        if let (Workload::ParameterServing(serving), ScenarioWorkload::ParameterServing(given)) =
            (&mut largest.workload, given)
        {
            let numbers = given.workers_in_pod(self.many_to_many.is_some());
            serving.workers = numbers.iter().copied().max().unwrap_or(serving.workers);
        }
        // Each worker allocates the memory of both sides' kinds. The threads of a segment use one kind each.
        let kinds = if largest.has_different_kinds() { 2 } else { 1 };
        bytes_per_process(&largest, self.rails, self.many_to_many).saturating_mul(kinds)
    }

    /// Operation counts in the spec. They replace those from the pilot, so there must be one for every size, or for
    /// every rate of a sweep.
    fn operation_counts(
        &mut self,
        scenario: &Scenario,
        workload: &Workload,
        sizes: &[u64],
    ) -> BTreeMap<u64, u32> {
        let given = scenario.operation_counts.iter();
        let counts: BTreeMap<u64, u32> = given.map(|count| (count.size.0, count.iterations)).collect();
        if counts.is_empty() {
            return counts;
        }
        if pilot::extent(workload).is_none() {
            self.add(
                "operationCounts",
                "a duration, or a `minWindow` of 0s, already fixes the length of the measurement. Remove \
                 `operationCounts`",
            );
        }
        if sweep::find(scenario).is_none() {
            let counts = scenario.operation_counts.iter().enumerate();
            for (index, _) in counts.filter(|(_, count)| count.rate.is_some()) {
                let field = format!("operationCounts[{index}].rate");
                self.add(
                    &field,
                    "only a scenario with `load.sweep` has an operation count for each rate. Remove `rate`",
                );
            }
        }
        let rates = sweep::find(scenario).map(|sweep| sweep.rates().collect::<Vec<u32>>());
        let points: Vec<(u64, Option<u32>)> = match &rates {
            Some(rates) => {
                let size_points =
                    |size: &u64| rates.iter().map(|rate| (*size, Some(*rate))).collect::<Vec<_>>();
                sizes.iter().flat_map(size_points).collect()
            }
            None => sizes.iter().map(|size| (*size, None)).collect(),
        };
        let rate_of = |count: &SizeOperations| rates.as_ref().and(count.rate);
        let given = || {
            scenario
                .operation_counts
                .iter()
                .map(|count| (count.size.0, rate_of(count)))
        };
        if given().count() != points.len() || !points.iter().all(|point| given().any(|one| one == *point)) {
            let message = match rates {
                Some(rates) => format!(
                    "the list must contain the size of the sweep exactly once for each rate: {}",
                    rates
                        .iter()
                        .map(ToString::to_string)
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
                None => format!(
                    "the list must contain every size of the scenario exactly once: {}",
                    sizes
                        .iter()
                        .map(|size| Size(*size).to_string())
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
            };
            self.add("operationCounts", message);
        }
        counts
    }

    fn ping_pong(&mut self, given: &PingPong) -> Workload {
        Workload::PingPong(PingPongWorkload {
            operation: given.operation,
            measured: self.measured("pingPong", given.iterations, given.duration),
            warmup: self.warmup("pingPong", given.warmup, given.warmup_duration),
        })
    }

    fn transfer(&mut self, given: &Transfer) -> Workload {
        if given.load.is_some() && given.batch != 1 {
            self.add(
                "transfer.batch",
                format!(
                    "in an open loop, every transfer has its own intended start, so {batch} transfers cannot \
                     be posted together. Remove `batch` or `load`",
                    batch = given.batch
                ),
            );
        }
        let measured = self.measured_transfers(given);
        Workload::Transfer(TransferWorkload {
            batch: given.batch,
            threads: given.threads,
            direction: given.direction,
            buffers: given.buffers,
            open_loop: given.load.map(Load::lowest),
            warmup: self.warmup("transfer", given.warmup, given.warmup_duration),
            ..TransferWorkload::new(given.operation, given.window, measured)
        })
    }

    /// Returns the measurement extent. Concurrent flows are measured for a duration, not for a number of transfers.
    fn measured_transfers(&mut self, given: &Transfer) -> Extent {
        let (iterations, duration) = match self.many_to_many {
            Some(_) => {
                let default = units::Duration(DEFAULT_FLOW_DURATION.max(self.min_window));
                (None, given.duration.or(Some(default)))
            }
            None => (given.iterations, given.duration),
        };
        self.measured("transfer", iterations, duration)
    }

    /// Batches of small messages. Concurrent flows are measured for a duration, not for a number of batches.
    fn small_messages(&self, given: &SmallMessages) -> Workload {
        match self.many_to_many {
            Some(_) => {
                let duration = DEFAULT_FLOW_DURATION.max(self.min_window);
                given.workload(Extent::DurationNanos(durations::nanos(duration)))
            }
            None => self.counted_workload(given),
        }
    }

    fn counted_workload(&self, given: &impl CountedWorkload) -> Workload {
        given.workload(durations::at_least(given.iterations(), self.min_window))
    }

    fn rpc(&mut self, given: &Rpc) -> Workload {
        let largest = given.payloads.iter().map(|payload| payload.size().bytes()).max();
        let open_loop = given.load.map(Load::lowest);
        if let Some(open_loop) = open_loop {
            let longest = durations::longest_schedule(given.iterations(), open_loop);
            if longest > Duration::from_secs(given.timeout_seconds.into()) {
                let message = format!(
                    "{iterations} samples at {rate} samples/s can last up to {longest:.1?}, which \
                     `timeoutSeconds` ({timeout}) does not allow. Use fewer iterations, a higher rate or a \
                     longer timeout",
                    iterations = given.iterations(),
                    rate = open_loop.rate,
                    timeout = given.timeout_seconds
                );
                self.add("rpc.load", message);
            }
        }
        Workload::Rpc(RpcWorkload {
            pattern: given.pattern,
            hops: given.hops(),
            message_bytes: largest.filter(|_| self.calls_over_transport).unwrap_or(0),
            gpu: None,
            timeout_seconds: given.timeout_seconds,
            open_loop,
            measured: Extent::Iterations(given.iterations()),
            warmup: Extent::Iterations(given.warmup()),
        })
    }

    fn measured(
        &mut self,
        field: &str,
        iterations: Option<u32>,
        duration: Option<units::Duration>,
    ) -> Extent {
        let path = format!("{}.{field}", self.path);
        durations::measured(&path, iterations, duration, self.min_window, self.report)
    }

    fn warmup(&mut self, field: &str, iterations: Option<u32>, duration: Option<units::Duration>) -> Extent {
        durations::warmup(
            &format!("{}.{field}", self.path),
            iterations,
            duration,
            self.report,
        )
    }

    fn add(&mut self, field: &str, message: impl Into<String>) {
        self.report.add(format!("{}.{field}", self.path), message);
    }
}
