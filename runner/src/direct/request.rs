//! Request of a client: transport, scenarios and settings, with their bounds. Performs no I/O.
//!
//! A request can only select scenarios and numbers. It contains no path, no environment variable and no setting of a
//! library, so that a client cannot make the server load or write a file.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crds::assignment::{CountedWorkload, Extent, Workload};
use crds::units::Size;
use crds::v1alpha1::{
    LargeArray, Libfabric, LibfabricProvider, MemoryKind, PingpongFlag, SegmentTransfer, SmallMessages,
    StreamingDuplex, TransportSpec, Ucx, UcxEmulation, UcxTransport,
};
use serde::{Deserialize, Serialize};
use snafu::{Snafu, ensure};

/// Maximum number of measured or warm-up operations of a scenario, so that every latency sample is stored.
pub const MAX_OPERATIONS: u64 = 1_000_000;
/// Maximum size of a message by default.
pub const DEFAULT_MAX_BYTES: Size = Size(4 << 30);
/// Maximum size of a request to a segment, in bytes: the largest RDMA write that an EFA device supports.
pub const MAX_REQUEST_BYTES: u64 = 1 << 30;
/// Maximum size of a segment, in bytes. Each side has two areas of this size.
pub const MAX_SEGMENT_BYTES: u64 = 8 << 30;
/// Maximum timeout of a case, in seconds.
pub const MAX_CASE_SECONDS: u32 = 3600;
/// Number of hexadecimal digits of a run identifier.
const RUN_ID_DIGITS: usize = 32;

/// Transport, scenarios and settings that a client asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Request {
    /// Random identifier of the run, in hexadecimal. It is part of every later message.
    pub run_id: String,
    /// Library and transports.
    pub transport: RequestedTransport,
    /// Kind of memory on both sides.
    pub memory: MemoryKind,
    /// Scenarios, in the order in which they are measured.
    pub scenarios: Vec<RequestedScenario>,
    /// Whether every scenario first runs once with verification of all bytes, outside the measurement.
    pub integrity: bool,
    /// Maximum duration of a scenario, in seconds.
    pub case_timeout_seconds: u32,
    /// Segment that the client expects at the address of the server. Set only if the client found the address in a
    /// metadata service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<ExpectedSegment>,
    /// Whether UCX may emulate reads and writes with messages.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_emulation: bool,
}

/// Segment that a client expects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectedSegment {
    /// Name of the segment.
    pub name: String,
    /// Identifier of the execution of the target that published it.
    pub run: String,
}

/// Library and transports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum RequestedTransport {
    /// UCX.
    Ucx {
        /// Transports that UCX may use.
        transports: Vec<UcxTransport>,
        /// Number of rails.
        rails: u32,
    },
    /// libfabric.
    Libfabric {
        /// Provider.
        provider: LibfabricProvider,
        /// Number of rails.
        rails: u32,
    },
}

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
    /// Chunks in both directions at the same time.
    StreamingDuplex(StreamingDuplex),
    /// Batches of requests to the segment of a target.
    SegmentTransfer(SegmentTransfer),
}

/// What a server accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Accepted scenarios.
    pub accepted: Accepted,
    /// Only accepted transport. If unset, every transport is accepted.
    pub transport: Option<RequestedTransport>,
}

/// Scenarios that a server accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// The scenarios of the Starway benchmark suite.
    Suite {
        /// Maximum size of a message.
        max_bytes: Size,
    },
    /// Batches of requests to the registered segment of a target.
    Segment(SegmentLimits),
}

/// Registered segment of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentLimits {
    /// Name of the segment.
    pub name: String,
    /// Random identifier of the execution of the target, in hexadecimal.
    pub run: String,
    /// Number of threads.
    pub threads: u32,
    /// Number of bytes that the requests of a batch of one thread may address.
    pub batch_bytes: u64,
    /// Kind of memory.
    pub memory: MemoryKind,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            accepted: Accepted::Suite {
                max_bytes: DEFAULT_MAX_BYTES,
            },
            transport: None,
        }
    }
}

/// Reason why a request is invalid or exceeds the limits of a server.
#[derive(Clone, Debug, PartialEq, Eq, Snafu)]
#[snafu(display("{flag} {reason}"))]
pub struct RequestError {
    /// Flag of the client that sets the value.
    flag: &'static str,
    /// What is wrong, and the remedy.
    reason: String,
}

impl RequestError {
    /// Creates the error for the value of `flag`.
    pub fn new(flag: &'static str, reason: impl Into<String>) -> Self {
        Self {
            flag,
            reason: reason.into(),
        }
    }
}

impl Request {
    /// Checks the request against `limits`.
    ///
    /// # Errors
    /// The first value that is out of bounds, with the flag that sets it.
    pub fn check(&self, limits: &Limits) -> Result<(), RequestError> {
        let is_id = self.run_id.len() == RUN_ID_DIGITS
            && self
                .run_id
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        ensure!(
            is_id,
            RequestSnafu {
                flag: "the run identifier",
                reason: format!("is not a string of {RUN_ID_DIGITS} lowercase hexadecimal digits"),
            }
        );
        self.transport.check(limits)?;
        within(
            "--case-timeout",
            self.case_timeout_seconds.into(),
            1..=MAX_CASE_SECONDS.into(),
        )?;
        ensure!(
            !self.scenarios.is_empty(),
            RequestSnafu {
                flag: "--scenarios",
                reason: "is empty: choose at least one scenario, or `all`",
            }
        );
        let mut names = BTreeSet::new();
        for scenario in &self.scenarios {
            ensure!(
                names.insert(scenario.name()),
                RequestSnafu {
                    flag: "--scenarios",
                    reason: format!("contains {} twice: name it once", scenario.name()),
                }
            );
            match (&limits.accepted, scenario) {
                (Accepted::Segment(limits), RequestedScenario::SegmentTransfer(scenario)) => {
                    self.check_segment(scenario, limits)?;
                }
                (Accepted::Segment(limits), _) => {
                    return Err(RequestError::new(
                        "--scenarios",
                        format!(
                            "cannot be measured with the segment {}: start `fabricbench-runner serve` on the other machine",
                            limits.name
                        ),
                    ));
                }
                (Accepted::Suite { .. }, RequestedScenario::SegmentTransfer(_)) => {
                    return Err(RequestError::new(
                        "--remote-segment",
                        "names a server that has no segment: start `fabricbench-runner target` on the other machine",
                    ));
                }
                (Accepted::Suite { max_bytes }, _) => scenario.check(*max_bytes)?,
            }
        }
        Ok(())
    }

    fn check_segment(&self, scenario: &SegmentTransfer, limits: &SegmentLimits) -> Result<(), RequestError> {
        if let Some(expected) = &self.segment {
            ensure!(
                expected.name == limits.name && expected.run == limits.run,
                RequestSnafu {
                    flag: "--remote-segment",
                    reason: format!(
                        "is {} of run {}, but this is {} of run {}: the entry in the metadata service is stale; wait until \
                         the target has published its segment again",
                        expected.name, expected.run, limits.name, limits.run
                    ),
                }
            );
        }
        check_segment_transfer(scenario, self.case_timeout_seconds)?;
        let needed = segment_bytes(scenario);
        ensure!(
            self.memory == limits.memory,
            RequestSnafu {
                flag: "the memory",
                reason: format!(
                    "is {:?}, but the segment {} is in {:?} memory: use --shmfs and --use-vram as on the target",
                    self.memory, limits.name, limits.memory
                ),
            }
        );
        ensure!(
            scenario.threads <= limits.threads && needed <= limits.batch_bytes,
            RequestSnafu {
                flag: "--threads, --batch and --size",
                reason: format!(
                    "need {} threads with {needed} bytes each, but the segment {} has {} threads with {} bytes each: start \
                     the target with the same values",
                    scenario.threads, limits.name, limits.threads, limits.batch_bytes
                ),
            }
        );
        Ok(())
    }

    /// Library and provider in the form of a spec.
    pub fn transport_spec(&self) -> TransportSpec {
        match self.transport.spec() {
            TransportSpec::Ucx(spec) if self.allow_emulation => TransportSpec::Ucx(Ucx {
                emulation: UcxEmulation::Allow,
                ..spec
            }),
            spec => spec,
        }
    }
}

/// Number of bytes that the requests of a batch of one thread address.
pub fn segment_bytes(scenario: &SegmentTransfer) -> u64 {
    let size = scenario.sizes.first().map_or(0, |size| size.bytes());
    size.saturating_mul(scenario.batch.into())
}

/// Checks the settings of `scenario` for a case that may take `case_timeout` seconds.
///
/// # Errors
/// The first value that is out of bounds.
pub fn check_segment_transfer(scenario: &SegmentTransfer, case_timeout: u32) -> Result<(), RequestError> {
    size("--size", &scenario.sizes, Size(MAX_REQUEST_BYTES))?;
    within("--batch", scenario.batch.into(), 1..=256)?;
    within("--threads", scenario.threads.into(), 1..=64)?;
    within("--warmup-batches", scenario.warmup_batches.into(), 1..=3000)?;
    within("--report-precision", scenario.report_precision.into(), 0..=9)?;
    let longest = u64::from(case_timeout / 2);
    within("--duration", scenario.duration.0.as_secs(), 1..=longest)?;
    let all = segment_bytes(scenario).saturating_mul(scenario.threads.into());
    ensure!(
        all <= MAX_SEGMENT_BYTES,
        RequestSnafu {
            flag: "--size, --batch and --threads",
            reason: format!(
                "need a segment of {all} bytes: choose values whose product is at most {}",
                Size(MAX_SEGMENT_BYTES)
            ),
        }
    );
    Ok(())
}

impl RequestedTransport {
    /// Library and provider in the form of a spec, with default settings.
    pub fn spec(&self) -> TransportSpec {
        match self {
            Self::Ucx { transports, rails } => TransportSpec::Ucx(Ucx::new(transports.clone(), *rails)),
            Self::Libfabric { provider, rails } => TransportSpec::Libfabric(Libfabric {
                provider: *provider,
                rails: *rails,
            }),
        }
    }

    /// The value of the flag that selects the transport, such as `--tls rc,sm` or `--provider tcp`.
    pub fn flag(&self) -> String {
        match self {
            Self::Ucx { transports, .. } => format!("--tls {}", names_of(transports)),
            Self::Libfabric { provider, .. } => format!("--provider {}", provider.name()),
        }
    }

    /// Whether `other` selects the same library and transports, in any order.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Ucx { transports: own, .. }, Self::Ucx { transports, .. }) => {
                own.iter().all(|transport| transports.contains(transport))
                    && transports.iter().all(|transport| own.contains(transport))
            }
            (Self::Libfabric { provider: own, .. }, Self::Libfabric { provider, .. }) => own == provider,
            _ => false,
        }
    }

    fn rails(&self) -> u32 {
        match self {
            Self::Ucx { rails, .. } | Self::Libfabric { rails, .. } => *rails,
        }
    }

    fn check(&self, limits: &Limits) -> Result<(), RequestError> {
        within("--rails", self.rails().into(), 1..=64)?;
        if let Self::Ucx { transports, .. } = self {
            within("--tls", transports.len() as u64, 1..=8)
                .map_err(|_| RequestError::new("--tls", "is empty or too long: name 1 to 8 transports"))?;
        }
        match &limits.transport {
            Some(accepted) if !accepted.is_same(self) => Err(RequestError {
                flag: "the transport",
                reason: format!(
                    "is `{}`, but the server was started with `{}`: use the same flag on both machines, or none on the \
                     server",
                    self.flag(),
                    accepted.flag()
                ),
            }),
            _ => Ok(()),
        }
    }
}

/// Names of `transports` as in `UCX_TLS`.
pub fn names_of(transports: &[UcxTransport]) -> String {
    let names: Vec<_> = transports.iter().map(|transport| transport.name()).collect();
    names.join(",")
}

impl RequestedScenario {
    /// Name in `--scenarios`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::LargeArray(_) => "large-array",
            Self::SmallMessages(_) => "small-messages",
            Self::PingpongFlag(_) => "pingpong-flag",
            Self::StreamingDuplex(_) => "streaming-duplex",
            Self::SegmentTransfer(_) => "segment-transfer",
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

    /// Number of measured operations: messages, round trips, or chunks in each direction. `None` for a scenario with a
    /// duration.
    pub fn iterations(&self) -> Option<u32> {
        Some(self.counted()?.iterations())
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

    fn counted(&self) -> Option<&dyn CountedWorkload> {
        match self {
            Self::LargeArray(scenario) => Some(scenario),
            Self::SmallMessages(scenario) => Some(scenario),
            Self::PingpongFlag(scenario) => Some(scenario),
            Self::StreamingDuplex(scenario) => Some(scenario),
            Self::SegmentTransfer(_) => None,
        }
    }

    fn check(&self, max: Size) -> Result<(), RequestError> {
        match self {
            Self::LargeArray(scenario) => {
                size("--large-bytes", &scenario.sizes, max)?;
                operations("--large-iterations", scenario.iterations)?;
                warmup("--large-warmup", scenario.warmup)
            }
            Self::SmallMessages(scenario) => {
                size("--small-bytes", &scenario.sizes, max)?;
                within("--small-concurrency", scenario.concurrency.into(), 1..=256)?;
                let batches = MAX_OPERATIONS / u64::from(scenario.concurrency);
                within("--small-iterations", scenario.batches.into(), 1..=batches)?;
                within("--small-warmup", scenario.warmup_batches.into(), 0..=batches)?;
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
                operations("--flag-iterations", scenario.iterations)?;
                warmup("--flag-warmup", scenario.warmup)
            }
            Self::StreamingDuplex(scenario) => {
                size("--stream-bytes", &scenario.sizes, max)?;
                within("--stream-window", scenario.window.into(), 1..=4096)?;
                operations("--stream-iterations", scenario.iterations)?;
                warmup("--stream-warmup", scenario.warmup)
            }
            // Only a target has a segment, whose limits are checked.
            Self::SegmentTransfer(_) => Ok(()),
        }
    }
}

fn size(flag: &'static str, sizes: &[Size], max: Size) -> Result<(), RequestError> {
    let [size] = sizes else {
        return Err(RequestError::new(
            flag,
            format!("has {} sizes: choose one", sizes.len()),
        ));
    };
    ensure!(
        (1..=max.bytes()).contains(&size.bytes()),
        RequestSnafu {
            flag,
            reason: format!("is {size}: choose a size from 1 to {max} (limit of the server: --max-bytes)"),
        }
    );
    Ok(())
}

fn operations(flag: &'static str, count: u32) -> Result<(), RequestError> {
    within(flag, count.into(), 1..=MAX_OPERATIONS)
}

fn warmup(flag: &'static str, count: u32) -> Result<(), RequestError> {
    within(flag, count.into(), 0..=MAX_OPERATIONS)
}

fn within(flag: &'static str, value: u64, bounds: RangeInclusive<u64>) -> Result<(), RequestError> {
    ensure!(
        bounds.contains(&value),
        RequestSnafu {
            flag,
            reason: format!(
                "is {value}: choose a number from {} to {}",
                bounds.start(),
                bounds.end()
            ),
        }
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(scenario: RequestedScenario) -> Request {
        Request {
            run_id: "0123456789abcdef0123456789abcdef".into(),
            transport: RequestedTransport::Ucx {
                transports: vec![UcxTransport::Tcp],
                rails: 1,
            },
            memory: MemoryKind::Heap,
            scenarios: vec![scenario],
            integrity: true,
            case_timeout_seconds: 60,
            segment: None,
            allow_emulation: false,
        }
    }

    fn error(scenario: RequestedScenario) -> String {
        request(scenario)
            .check(&Limits::default())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn accepts_the_defaults_of_every_scenario() {
        for scenario in [
            RequestedScenario::LargeArray(LargeArray::default()),
            RequestedScenario::SmallMessages(SmallMessages::default()),
            RequestedScenario::PingpongFlag(PingpongFlag::default()),
            RequestedScenario::StreamingDuplex(StreamingDuplex::default()),
        ] {
            assert_eq!(request(scenario).check(&Limits::default()), Ok(()));
        }
    }

    #[test]
    fn names_the_flag_of_a_value_that_is_out_of_bounds() {
        let large = |sizes| {
            RequestedScenario::LargeArray(LargeArray {
                sizes,
                ..LargeArray::default()
            })
        };
        assert!(error(large(vec![Size(0)])).starts_with("--large-bytes is 0: choose a size from 1 to 4Gi"));
        assert!(error(large(vec![Size(5 << 30)])).starts_with("--large-bytes is 5Gi: choose"));
        assert!(error(large(vec![])).starts_with("--large-bytes has 0 sizes"));
        let small = SmallMessages {
            batches: u32::MAX,
            ..SmallMessages::default()
        };
        assert!(
            error(RequestedScenario::SmallMessages(small)).starts_with("--small-iterations is 4294967295")
        );
        let small = SmallMessages {
            concurrency: 0,
            ..SmallMessages::default()
        };
        assert!(error(RequestedScenario::SmallMessages(small)).starts_with("--small-concurrency is 0"));
        let flag = PingpongFlag {
            iterations: 0,
            warmup: 0,
        };
        assert!(error(RequestedScenario::PingpongFlag(flag)).starts_with("--flag-iterations is 0"));
        let duplex = StreamingDuplex {
            window: 0,
            ..StreamingDuplex::default()
        };
        assert!(error(RequestedScenario::StreamingDuplex(duplex)).starts_with("--stream-window is 0"));
    }

    #[test]
    fn rejects_a_transport_that_the_server_does_not_accept() {
        let mut limits = Limits {
            transport: Some(RequestedTransport::Libfabric {
                provider: LibfabricProvider::Tcp,
                rails: 1,
            }),
            ..Limits::default()
        };
        let request = request(RequestedScenario::PingpongFlag(PingpongFlag::default()));
        let message = request.check(&limits).unwrap_err().to_string();
        assert!(
            message.contains("`--tls tcp`") && message.contains("`--provider tcp`"),
            "{message}"
        );
        let mut request = request;
        let two = |transports| RequestedTransport::Ucx { transports, rails: 2 };
        limits.transport = Some(two(vec![UcxTransport::Sm, UcxTransport::Tcp]));
        assert!(request.check(&limits).is_err());
        request.transport = two(vec![UcxTransport::Tcp, UcxTransport::Sm]);
        assert_eq!(request.check(&limits), Ok(()));
    }

    #[test]
    fn rejects_a_scenario_that_is_named_twice_and_an_invalid_run_identifier() {
        let mut twice = request(RequestedScenario::PingpongFlag(PingpongFlag::default()));
        twice.scenarios.push(twice.scenarios[0].clone());
        let message = twice.check(&Limits::default()).unwrap_err().to_string();
        assert_eq!(message, "--scenarios contains pingpong-flag twice: name it once");
        twice.run_id = "../etc".into();
        assert!(twice.check(&Limits::default()).is_err());
    }

    #[test]
    fn a_request_cannot_contain_a_path_or_a_setting() {
        let valid =
            serde_json::to_value(request(RequestedScenario::PingpongFlag(PingpongFlag::default()))).unwrap();
        assert!(serde_json::from_value::<Request>(valid.clone()).is_ok());
        for (pointer, name) in [("", "library"), ("/transport/ucx", "settings"), ("", "env")] {
            let mut changed = valid.clone();
            let object = changed.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
            object.insert(name.into(), serde_json::json!("x"));
            let error = serde_json::from_value::<Request>(changed)
                .unwrap_err()
                .to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
