//! Problems of transports.

use crds::units::Size;
use crds::v1alpha1::{MemoryKind, NixlDescriptors};
use snafu::Snafu;

use crate::format::pluralized;

/// Cause and fix of a problem.
#[derive(Clone, Debug, PartialEq, Snafu)]
pub enum TransportProblem {
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
    /// A NIXL parameter with UCX settings contains a part that is not a setting.
    #[snafu(display(
        "NIXL splits engine_config at commas, and \"{setting}\" is not of the form NAME=VALUE. If the value of a setting \
         is a list, set the variable in the variant's environment instead, for example UCX_TLS"
    ))]
    ListInEngineConfig {
        /// Part of the value between two commas.
        setting: String,
    },
}
