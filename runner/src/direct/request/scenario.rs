//! A scenario with its settings and their bounds. Performs no I/O.

use crds::assignment::{CountedWorkload, Extent, Workload};
use crds::units::Size;
use crds::v1alpha1::{LargeArray, PingpongFlag, SegmentTransfer, SmallMessages, StreamingDuplex};
use serde::{Deserialize, Serialize};
use snafu::ensure;

use super::bounds::{
    self, MAX_OPERATIONS, RequestError, RequestSnafu, check_operations, check_size, check_warmup,
    check_within,
};

/// Name of the scenario that transfers batches of requests to a segment.
pub const SEGMENT_TRANSFER: &str = "segment-transfer";
/// Description of the limit on the message size.
const SERVER_LIMIT: &str = "server limit: --max-bytes";

/// Scenario with its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RequestedScenario {
    /// One-way bandwidth of one large message at a time.
    LargeArray(LargeArray),
    /// Batches of small messages.
    SmallMessages(SmallMessages),
    /// Round trips of one byte.
    PingpongFlag(PingpongFlag),
    /// Chunks in both directions concurrently.
    StreamingDuplex(StreamingDuplex),
    /// Batches of requests to a target's segment.
    SegmentTransfer(SegmentTransfer),
}

impl RequestedScenario {
    /// Name in `--scenarios`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::LargeArray(_) => "large-array",
            Self::SmallMessages(_) => "small-messages",
            Self::PingpongFlag(_) => "pingpong-flag",
            Self::StreamingDuplex(_) => "streaming-duplex",
            Self::SegmentTransfer(_) => SEGMENT_TRANSFER,
        }
    }

    /// What the scenario transfers.
    pub fn description(&self) -> &'static str {
        match self {
            Self::LargeArray(_) => "one large message at a time, client to server",
            Self::SmallMessages(_) => "batches of small messages, client to server",
            Self::PingpongFlag(_) => "round trips of one byte",
            Self::StreamingDuplex(_) => "chunks in both directions at the same time",
            Self::SegmentTransfer(_) => "batches of requests to the server's segment",
        }
    }

    /// Size of a message, in bytes.
    pub fn size_bytes(&self) -> u64 {
        let sizes = match self {
            Self::LargeArray(scenario) => &scenario.sizes,
            Self::SmallMessages(scenario) => &scenario.sizes,
            Self::StreamingDuplex(scenario) => &scenario.sizes,
            Self::SegmentTransfer(scenario) => &scenario.sizes,
            Self::PingpongFlag(_) => return 1,
        };
        sizes.first().map_or(0, |size| size.bytes())
    }

    /// Number of measured operations: messages, round trips, or chunks in each direction. `None` for a scenario that
    /// runs for a fixed duration.
    pub fn iterations(&self) -> Option<u32> {
        Some(self.counted_workload()?.iterations())
    }

    /// Maximum number of operations in flight, in each direction.
    pub fn in_flight(&self) -> u32 {
        match self {
            Self::LargeArray(_) | Self::PingpongFlag(_) => 1,
            Self::SmallMessages(scenario) => scenario.concurrency,
            Self::StreamingDuplex(scenario) => scenario.window,
            Self::SegmentTransfer(scenario) => scenario.batch * scenario.threads,
        }
    }

    /// Number of threads on each side.
    pub fn threads(&self) -> u32 {
        match self {
            Self::SegmentTransfer(scenario) => scenario.threads,
            Self::LargeArray(_)
            | Self::SmallMessages(_)
            | Self::PingpongFlag(_)
            | Self::StreamingDuplex(_) => 1,
        }
    }

    /// Workload with the number of iterations or the duration of the scenario.
    pub fn workload(&self) -> Workload {
        let counted =
            |counted: &dyn CountedWorkload| counted.workload(Extent::Iterations(counted.iterations()));
        match self {
            Self::LargeArray(scenario) => counted(scenario),
            Self::SmallMessages(scenario) => counted(scenario),
            Self::PingpongFlag(scenario) => counted(scenario),
            Self::StreamingDuplex(scenario) => counted(scenario),
            Self::SegmentTransfer(scenario) => {
                let nanos = scenario.duration.0.as_nanos();
                scenario.workload(Extent::DurationNanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
            }
        }
    }

    fn counted_workload(&self) -> Option<&dyn CountedWorkload> {
        match self {
            Self::LargeArray(scenario) => Some(scenario),
            Self::SmallMessages(scenario) => Some(scenario),
            Self::PingpongFlag(scenario) => Some(scenario),
            Self::StreamingDuplex(scenario) => Some(scenario),
            Self::SegmentTransfer(_) => None,
        }
    }

    /// Checks the settings. `max` is the maximum size of a message.
    ///
    /// # Errors
    /// Returns an error for the first value that is out of bounds.
    pub(super) fn check(&self, max: Size) -> Result<(), RequestError> {
        match self {
            Self::LargeArray(scenario) => {
                check_size("--large-bytes", &scenario.sizes, max, SERVER_LIMIT)?;
                check_operations("--large-iterations", scenario.iterations)?;
                check_warmup("--large-warmup", scenario.warmup)
            }
            Self::SmallMessages(scenario) => {
                check_size("--small-bytes", &scenario.sizes, max, SERVER_LIMIT)?;
                check_within("--small-concurrency", scenario.concurrency, bounds::CONCURRENCY)?;
                let batches = MAX_OPERATIONS / scenario.concurrency;
                check_within("--small-iterations", scenario.batches, 1..=batches)?;
                check_within("--small-warmup", scenario.warmup_batches, 0..=batches)?;
                ensure!(
                    scenario.load.is_none(),
                    RequestSnafu {
                        flag: "the load",
                        reason: "of small-messages is not supported without a cluster: use a BenchmarkRun with load",
                    }
                );
                Ok(())
            }
            Self::PingpongFlag(scenario) => {
                check_operations("--flag-iterations", scenario.iterations)?;
                check_warmup("--flag-warmup", scenario.warmup)
            }
            Self::StreamingDuplex(scenario) => {
                check_size("--stream-bytes", &scenario.sizes, max, SERVER_LIMIT)?;
                check_within("--stream-window", scenario.window, bounds::WINDOW)?;
                check_operations("--stream-iterations", scenario.iterations)?;
                check_warmup("--stream-warmup", scenario.warmup)
            }
            // The segment's limits are checked instead. Only a target has a segment.
            Self::SegmentTransfer(_) => Ok(()),
        }
    }
}
