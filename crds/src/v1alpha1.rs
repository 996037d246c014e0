//! `fabricbench.dev/v1alpha1`: the `BenchmarkRun` resource.
//!
//! The schema derived from these types defines the structure, bounds and rules of the spec. The `validate` module of
//! the campaign crate checks what the schema cannot express, such as sizes with suffixes and identical variants.

mod answer;
mod claims;
mod condition_type;
#[cfg(feature = "crd")]
mod definition;
mod devices;
mod execution;
mod expectation;
mod factors;
mod load;
mod many_to_many;
mod metric;
mod placement;
mod rate_format;
mod reason;
mod resources;
mod run;
mod run_policy;
mod sampling;
mod scenario;
mod spec_workload;
mod status;
mod step_times;
mod sweep;
mod transport;
mod variant;

pub use crate::workload::command::spec::{Command, CommandPattern, CommandTool, TimeUnit};
pub use crate::workload::footprint::spec::{Consumers, MemoryFootprint};
pub use crate::workload::parameter_serving::spec::{Multicast, ParameterServing, ServingMode};
pub use crate::workload::ping_pong::spec::{PingPong, PingPongOperation};
pub use crate::workload::rpc::spec::{Rpc, RpcChannel, RpcPattern, RpcPayload};
pub use crate::workload::segment_transfer::spec::{MIN_VRAM_THREADS, SegmentTransfer, SegmentWorkload};
pub use crate::workload::starway::spec::{LargeArray, PingpongFlag, SmallMessages, StreamingDuplex};
pub use crate::workload::transfer::spec::{Direction, Transfer, TransferBuffers, TransferOperation};
pub use answer::Answer;
pub use claims::{ATTRIBUTE_NUMA_NODE, ATTRIBUTE_PCI_ROOT, ClaimRequest, Claims, EXPRESSION_PATTERN};
pub use condition_type::ConditionType;
#[cfg(feature = "crd")]
pub use definition::definition;
pub use devices::Devices;
pub use execution::{AttemptState, AttemptStatus, ExecutionStatus};
pub use expectation::{Change, Expectation, SizeRange};
pub use factors::{Coalesce, FactorEffectKind, FactorEffectResult, Factors};
pub use load::{Arrivals, Load, OpenLoop, Sweep};
pub use many_to_many::ManyToMany;
pub use metric::Metric;
pub use placement::{Alignment, Pattern, Placement, PreflightMode, Toleration};
pub use rate_format::{RateFormat, RateUnit};
pub use reason::Reason;
pub use resources::Resources;
#[cfg(feature = "crd")]
pub use run::BenchmarkRun;
pub use run::BenchmarkRunSpec;
pub use run_policy::RunPolicy;
pub use sampling::{Sampling, SharedInterface, Stop};
pub use scenario::{MemoryKind, Polling, Scenario, ScenarioWorkload, SizeOperations};
pub use spec_workload::SpecWorkload;
pub use status::{
    ArmResult, BenchmarkRunStatus, CallCause, CallResult, CallSection, CaseValidity, ComparisonEnd,
    ComparisonResult, Condition, EndReason, Engagement, EnvironmentSummary, ExpectationOutcome,
    ExpectationResult, FabricProof, FabricSummary, FootprintResult, InconclusiveReason, NodeResult,
    Optimization, OptimizationResult, Outcome, PairResult, PlacementStatus, Progress, ProtocolResult,
    RecordsReference, State, Verdict, WithheldReason,
};
pub use step_times::StepTimes;
pub use sweep::{KneePosition, SweepKnee, SweepPoint, SweepResult};
pub use transport::{
    Libfabric, LibfabricProvider, Loopback, Nixl, NixlBackend, NixlDescriptors, NixlParameter, NixlRequests,
    TransportSpec, Ucx, UcxAllocation, UcxEmulation, UcxErrorHandling, UcxMessages, UcxPreset, UcxSetting,
    UcxTransport, UcxWriteCompletion, Verbs, VerbsSignaling, readers_of_variable, tls_value,
    unrequested_lane, uses_memory_lane,
};
pub use variant::{Doorbell, EnvVar, Inject, Striping, Variant};
