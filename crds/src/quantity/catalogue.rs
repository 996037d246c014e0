//! The catalogue: each quantity with its definition, in the order of reports, and each observation of a worker from which
//! quantities are computed.

use super::{Combination, Definition, ObservationDefinition, Priority, Series, Source, Statistic, Unit};

/// Defines the enum, the list of its variants and their definitions from one row for each quantity.
macro_rules! quantities {
    ($($(#[doc = $help:literal])+ $name:ident: $unit:ident, $priority:ident, $metric:literal $label:literal
        $(, $statistic:ident of $observation:ident)?;)+) => {
        /// Quantity that is measured for each arm at each size.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Quantity {
            $($(#[doc = $help])+ $name,)+
        }

        impl Quantity {
            /// All quantities, in the order of reports.
            pub const ALL: [Self; [$(stringify!($name)),+].len()] = [$(Self::$name),+];

            /// Returns the definition of the quantity.
            pub const fn definition(self) -> Definition {
                match self {
                    $(Self::$name => Definition {
                        unit: Unit::$unit,
                        priority: Priority::$priority,
                        series: Series { metric: $metric, label: $label },
                        source: source!($($statistic of $observation)?),
                        help: concat!($($help),+).trim_ascii_start(),
                    },)+
                }
            }
        }
    };
}

/// The source of a quantity that is a statistic of an observation.
macro_rules! source {
    () => {
        None
    };
    ($statistic:ident of $observation:ident) => {
        Some(Source {
            observation: Observation::$observation,
            statistic: Statistic::$statistic,
        })
    };
}

/// Defines the enum of observations from one row for each of them.
macro_rules! observations {
    ($($(#[doc = $help:literal])+ $name:ident: $combination:ident, $field:literal;)+) => {
        /// What a worker observes in a case in addition to its operations and their latencies.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
        #[serde(rename_all = "camelCase")]
        pub enum Observation {
            $($(#[doc = $help])+ $name,)+
        }

        impl Observation {
            /// All observations, in the order in which records contain them.
            pub const ALL: [Self; [$(stringify!($name)),+].len()] = [$(Self::$name),+];

            /// Returns the definition of the observation.
            pub const fn definition(self) -> ObservationDefinition {
                match self {
                    $(Self::$name => ObservationDefinition {
                        combination: Combination::$combination,
                        field: $field,
                        help: concat!($($help),+).trim_ascii_start(),
                    },)+
                }
            }
        }
    };
}

observations! {
    /// time from the local completion of a transfer to the completion of the flush that follows it. Unset if no flushes
    /// follow the transfers, or if the library has no flush operation
    Flush: Distribution, "flush";
    /// round-trip times of 8-byte pings before the transfers, while the fabric is idle. One ping is in flight at a time
    PingIdle: Distribution, "ping/idle";
    /// round-trip times of 8-byte pings during the transfers
    PingLoaded: Distribution, "ping/loaded";
    /// latency of the reads in a workload that reads back what it has written. `latency` contains both reads and writes
    ReadBack: Distribution, "readBack";
    /// time from the first post of the first burst of the warm-up to the completion of the last transfer in this burst,
    /// in nanoseconds. If there are several threads, this is the longest of their times
    FirstBurst: LongestThread, "firstBurstNanos";
}

quantities! {
    /// median latency: one-way for ping-pong, from call to reply for calls, from post to completion for
    /// transfers, and from the publication of a version to its first use by a worker for parameterServing
    LatencyP50Nanos: Nanos, Essential, "latency_seconds" "0.5";
    /// 95th percentile of latency; percentiles are omitted if there are so few samples that they would
    /// equal the maximum
    LatencyP95Nanos: Nanos, Detail, "latency_seconds" "0.95";
    /// 99th percentile of latency
    LatencyP99Nanos: Nanos, Essential, "latency_seconds" "0.99";
    /// 99.9th percentile of latency
    LatencyP999Nanos: Nanos, Detail, "latency_seconds" "0.999";
    /// minimum latency
    LatencyMinNanos: Nanos, Detail, "latency_seconds" "0";
    /// maximum latency
    LatencyMaxNanos: Nanos, Detail, "latency_seconds" "1";
    /// payload bytes per second: median over all rounds; omitted if no bytes are moved, for example in
    /// local calls
    BytesPerSecond: PerSecond, Essential, "throughput_bytes_per_second" "";
    /// completed operations per second: median over all rounds
    CompletionsPerSecond: PerSecond, Detail, "completions_per_second" "";
    /// CPU time of both workers per GiB of payload: median over all rounds
    CpuNanosPerGib: NanosPerGib, Detail, "cpu_seconds_per_gib" "";
    /// CPU usage of both workers in the measured window, as a percentage of one CPU: median over all rounds
    CpuPercent: Percent, Detail, "cpu_ratio" "";
    /// measured operations per thread in each valid case; omitted if the number differs between cases, for
    /// example because the scenario has a duration
    Iterations: Count, Iterations, "iterations" "";
    /// mean round-trip time of a ping-pong: median over all rounds
    MeanRoundTripNanos: Nanos, Detail, "mean_round_trip_seconds" "";
    /// payload bytes per second from the initiator to the target, if both workers send: median over all
    /// rounds
    DirectionsInitiatorBytesPerSecond: PerSecond, Detail, "direction_bytes_per_second" "initiator";
    /// payload bytes per second from the target to the initiator, if both workers send: median over all
    /// rounds
    DirectionsTargetBytesPerSecond: PerSecond, Detail, "direction_bytes_per_second" "target";
    /// smaller of the rates of the two directions divided by the larger one
    DirectionsBalancePpm: Ppm, Detail, "direction_balance_ratio" "";
    /// median time from the local completion of a largeArray message to the completion of the flush that
    /// follows it; omitted if the library has no flush operation
    FlushP50Nanos: Nanos, Detail, "flush_seconds" "0.5", Median of Flush;
    /// longest flush
    FlushMaxNanos: Nanos, Detail, "flush_seconds" "1", Max of Flush;
    /// 99th percentile of the round-trip times of streamingDuplex pings while the fabric is idle; omitted
    /// if there are too few samples
    PingIdleP99Nanos: Nanos, Detail, "ping_p99_seconds" "idle", P99 of PingIdle;
    /// 99th percentile of the round-trip times of streamingDuplex pings while messages are in flight in
    /// both directions
    PingLoadedP99Nanos: Nanos, Detail, "ping_p99_seconds" "loaded", P99 of PingLoaded;
    /// head-of-line blocking: 99th percentile of the pings during messages divided by that on the idle fabric
    PingBlockingPpm: Ppm, Detail, "ping_blocking_ratio" "";
    /// mean time of a sample of calls
    CallMeanNanos: Nanos, Detail, "call_seconds" "mean";
    /// standard deviation of all samples of calls; omitted for a single sample
    CallDeviationNanos: Nanos, Detail, "call_seconds" "deviation";
    /// time of one reading of the clock; only if the calls are below the clock: they take less time than
    /// one reading, so the other times are mainly the clock's
    CallClockNanos: Nanos, Detail, "call_seconds" "clock";
    /// mean time of each call in a sample; omitted in an open loop, and if the calls are below the clock
    CallHopNanos: Nanos, Detail, "call_seconds" "hop";
    /// largest increase in the proportional set size (Pss) of the host and the extension during the calls
    /// of a case; over a transport, only the host is included
    CallMemoryGrowthBytes: Bytes, Detail, "call_memory_growth_bytes" "";
    /// Pss of the host before it allocates the tensor and starts the consumers
    FootprintBaselineBytes: Bytes, Detail, "footprint_bytes" "baseline";
    /// resident set size (Rss) of the host before it allocates the tensor and starts the consumers
    FootprintBaselineRssBytes: Bytes, Detail, "footprint_bytes" "baseline_rss";
    /// Pss of a consumer before it receives the tensor
    FootprintOwnBytes: Bytes, Detail, "footprint_bytes" "own";
    /// lowest Pss of a consumer before it receives the tensor
    FootprintOwnMinBytes: Bytes, Detail, "footprint_bytes" "own_min";
    /// highest Pss of a consumer before it receives the tensor
    FootprintOwnMaxBytes: Bytes, Detail, "footprint_bytes" "own_max";
    /// Pss of a consumer that has the tensor
    FootprintConsumerBytes: Bytes, Detail, "footprint_bytes" "consumer";
    /// Rss of a consumer that has the tensor, which counts a shared tensor in full
    FootprintConsumerRssBytes: Bytes, Detail, "footprint_bytes" "consumer_rss";
    /// memory of the tensor in the host and all consumers: its Pss, or the GPU memory that it takes
    FootprintTensorBytes: Bytes, Detail, "footprint_bytes" "tensor";
    /// GPU memory of the tensor and of the consumers' CUDA contexts; omitted if the tensor is in host
    /// memory
    FootprintVramBytes: Bytes, Detail, "footprint_bytes" "vram";
    /// memory saved compared with separate copies of the tensor in the host and in each consumer
    FootprintSavedBytes: Bytes, Detail, "footprint_bytes" "saved";
    /// saved memory divided by the size of separate copies in the host and in each consumer
    FootprintSavedPpm: Ppm, Detail, "footprint_saved_ratio" "";
    /// change in the Pss of the host and its consumers from one distribution of the tensor to the next
    FootprintSlopeBytes: Bytes, Detail, "footprint_slope_bytes" "";
    /// latency reported by a command, as defined by its tool: median over all rounds
    ReportedLatencyNanos: Nanos, Essential, "reported_latency_seconds" "";
    /// bandwidth reported by a command, as defined by its tool: median over all rounds
    ReportedBytesPerSecond: PerSecond, Essential, "reported_bytes_per_second" "";
    /// payload bytes per second of the slowest flow while all flows of the ManyToMany pattern are active;
    /// the rate of a flow or receiver is its median over all rounds
    FlowsSlowestBytesPerSecond: PerSecond, Detail, "flow_bytes_per_second" "slowest";
    /// median of the rates of the flows
    FlowsMedianBytesPerSecond: PerSecond, Detail, "flow_bytes_per_second" "median";
    /// payload bytes per second of the fastest flow
    FlowsFastestBytesPerSecond: PerSecond, Detail, "flow_bytes_per_second" "fastest";
    /// payload bytes per second of the slowest receiver of the ManyToMany pattern, which is the sum over
    /// its flows
    FlowsSlowestReceiverBytesPerSecond: PerSecond, Detail, "receiver_bytes_per_second" "slowest";
    /// payload bytes per second of the fastest receiver
    FlowsFastestReceiverBytesPerSecond: PerSecond, Detail, "receiver_bytes_per_second" "fastest";
    /// Jain's fairness index of the flows: 1 if all flows have the same rate, and 1 divided by the number
    /// of flows if a single flow accounts for the entire rate; median over all rounds
    FlowsFairnessPpm: Ppm, Detail, "flow_fairness_ratio" "";
    /// median latency, from post to completion, of the reads of segmentTransfer if its workload is Mix; the
    /// latency percentiles of the arm include both reads and writes
    ReadBackP50Nanos: Nanos, Detail, "read_back_seconds" "0.5", Median of ReadBack;
    /// 99th percentile of the latency of these reads; omitted if there are too few samples
    ReadBackP99Nanos: Nanos, Detail, "read_back_seconds" "0.99", P99 of ReadBack;
    /// duration of the first warm-up batch of a segmentTransfer case: median over all rounds
    FirstBatchNanos: Nanos, Detail, "first_batch_seconds" "", Median of FirstBurst;
    /// workers of the trainer in parameterServing
    ServingWorkers: Count, Detail, "serving_workers" "";
    /// workers in parameterServing that had no version at any step of at least one valid case; the lags
    /// exclude these workers in these cases
    ServingWorkersWithoutVersion: Count, Detail, "workers_without_version" "";
    /// mean version lag over all worker steps: the number of newer versions; omitted if no worker received
    /// a version
    ServingVersionLagMeanPpm: Ppm, Detail, "version_lag_mean" "";
    /// median version lag
    ServingVersionLagP50: Count, Detail, "version_lag" "0.5";
    /// 99th percentile of the version lag; omitted if there are too few steps
    ServingVersionLagP99: Count, Detail, "version_lag" "0.99";
    /// largest version lag
    ServingVersionLagMax: Count, Detail, "version_lag" "1";
    /// mean version lag of the worker with the largest mean
    ServingWorstWorkerLagPpm: Ppm, Detail, "worst_worker_version_lag_mean" "";
    /// median time lag
    ServingTimeLagP50Nanos: Nanos, Detail, "time_lag_seconds" "0.5";
    /// 99th percentile of the time lag; omitted if there are too few steps
    ServingTimeLagP99Nanos: Nanos, Detail, "time_lag_seconds" "0.99";
    /// largest time lag
    ServingTimeLagMaxNanos: Nanos, Detail, "time_lag_seconds" "1";
    /// versions that the trainer published, over all rounds
    ServingPublished: Count, Detail, "published_versions" "";
    /// published versions that the trainer did not deliver to all workers, because a newer version replaced
    /// them or the case ended; the push times exclude them; omitted in Pull mode
    ServingPublishedNotDeliveredToAll: Count, Detail, "versions_not_delivered_to_all" "";
    /// median time from the publication of a version to its delivery to all workers; omitted in Pull mode
    ServingPushP50Nanos: Nanos, Detail, "push_seconds" "0.5";
    /// longest time from the publication of a version to its delivery to all workers
    ServingPushMaxNanos: Nanos, Detail, "push_seconds" "1";
    /// bytes delivered divided by the median delivery time; in Push mode, the copies for all workers are
    /// counted
    ServingPushBytesPerSecond: PerSecond, Detail, "push_bytes_per_second" "";
    /// median duration of a fetch that returned a newer version; only in Filesystem and Pull modes
    ServingPullP50Nanos: Nanos, Detail, "pull_seconds" "";
    /// mean store lag in versions, which the trainer computes from the workers' posts
    ServingStoreLagPpm: Ppm, Detail, "posted_staleness" "store";
    /// mean post lag in versions
    ServingPostLagPpm: Ppm, Detail, "posted_staleness" "post";
    /// mean staleness of the posts in versions, as the original benchmark computes it
    ServingOriginalStalenessPpm: Ppm, Detail, "posted_staleness" "original";
    /// worker steps before the worker's first version, which are excluded from all lags, over all rounds
    ServingColdSteps: Count, Detail, "cold_steps" "";
    /// longest time until a worker received its first version
    ServingColdNanos: Nanos, Detail, "cold_seconds" "";
    /// torn versions, which contain bytes of several versions; the workers detected and did not use them
    ServingTorn: Count, Detail, "torn_versions" "";
    /// datagrams sent to each worker, summed over all rounds and workers; only in Multicast mode
    ServingDatagramsSent: Count, Detail, "sent_datagrams" "";
    /// datagrams that did not reach a worker, over all rounds and workers
    ServingDatagramsLost: Count, Detail, "lost_datagrams" "";
    /// largest possible error of times between the trainer's and a worker's clock: 0 if they use the same
    /// clock
    ServingClockBoundNanos: Nanos, Detail, "clock_bound_seconds" "";
    /// time that a thread of the instrument waited for a CPU, as a share of the measured time; omitted if
    /// unknown
    DisturbanceRunQueuePpm: Ppm, Disturbance, "disturbance_ratio" "run_queue";
    /// CPU time of other processes as a share of the worker's CPUs; omitted if unknown
    DisturbanceForeignCpuPpm: Ppm, Disturbance, "disturbance_ratio" "foreign_cpu";
    /// bytes of other traffic on the network interfaces in the valid cases; omitted if unknown
    DisturbanceForeignBytes: Bytes, Disturbance, "foreign_bytes" "";
}
