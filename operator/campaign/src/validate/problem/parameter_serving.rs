//! Problems of parameter serving.

use crds::units::{Duration, Size};
use snafu::Snafu;

/// Cause and fix of a problem.
#[derive(Clone, Debug, PartialEq, Snafu)]
pub enum ServingProblem {
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
}
