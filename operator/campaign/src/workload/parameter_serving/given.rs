//! Validates parameter serving, and expands its worker counts.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use crds::assignment::{Delivery, MAX_DURATION, MulticastDelivery, ServingWorkload, Workload};
use crds::units;
use crds::v1alpha1::{ManyToMany, Multicast, ParameterServing, ServingMode};

use crate::validate::problem::duration_bounds;
use crate::validate::reporter::Reporter;
use crate::validate::{ValidatedScenario, counts};
use crate::workload::flows::check_threads;
use crate::workload::{Context, GivenWorkload};

/// Minimum size of the parameters, in bytes.
const MIN_SIZE_BYTES: u64 = 4096;
/// Minimum period of steps.
const MIN_STEP: Duration = Duration::from_micros(100);
/// Minimum of all other periods.
const MIN_PERIOD: Duration = Duration::from_millis(1);
/// Maximum number of steps of one worker. Their lags are stored in memory for the evaluation.
const MAX_STEPS: u128 = 500_000;
/// Maximum number of posts of one worker. The number is transmitted in 15 bits.
const MAX_POSTS: u32 = 30_000;
/// Bounds of the datagram payload, in bytes. The upper bound leaves room for headers in a UDP datagram.
const DATAGRAM_BYTES: std::ops::RangeInclusive<u64> = 512..=60_000;
/// Maximum number of datagrams in a case. A worker has one bit for each.
const MAX_DATAGRAMS: u64 = 1 << 26;

impl GivenWorkload for ParameterServing {
    /// The workload with the first of the worker counts per pod.
    fn workload(&self, context: &mut Context<'_>) -> Workload {
        check_times(self, context);
        match context.many_to_many {
            Some(pattern) if self.workers.is_some() => {
                let receivers = pattern.receivers;
                context.add(
                    "workers",
                    format!(
                        "if `spec.placement.pattern` is ManyToMany, the workers of a trainer run in the pods of \
                         all {receivers} receivers. Use `workersPerNode` or `pattern: Pairwise`"
                    ),
                );
            }
            None if self.workers_per_node.is_some() => {
                context.add(
                    "workersPerNode",
                    "all workers of a trainer run in one pod, because `spec.placement.pattern` is not \
                     ManyToMany. Use `workers`, or `pattern: ManyToMany` with `senders: 1` and one receiver for \
                     each node"
                        .to_owned(),
                );
            }
            Some(_) | None => {}
        }
        for (index, size) in self.sizes.iter().enumerate() {
            if (1..MIN_SIZE_BYTES).contains(&size.bytes()) {
                let min = units::Size(MIN_SIZE_BYTES);
                context.add(
                    &format!("sizes[{index}]"),
                    format!("{size} is less than {min}, the minimum size of parameters. Use a larger size"),
                );
            }
        }
        let delivery = match self.mode {
            ServingMode::Filesystem => {
                let directory = self.directory.clone().unwrap_or_default();
                if !directory.starts_with('/') {
                    context.add(
                        "directory",
                        format!("`{directory}` is not an absolute path. Use a path that starts with /"),
                    );
                }
                Delivery::Filesystem { directory }
            }
            ServingMode::Multicast => {
                let multicast = self.multicast.clone().unwrap_or_default();
                Delivery::Multicast(delivery(self, &multicast, context))
            }
            ServingMode::Push => Delivery::Push,
            ServingMode::Pull => Delivery::Pull,
        };
        Workload::ParameterServing(ServingWorkload {
            delivery,
            workers: self
                .workers_in_pod(context.many_to_many.is_some())
                .first()
                .copied()
                .unwrap_or(1),
            push_nanos: nanos(self.push_period),
            pull_nanos: nanos(self.pull_period),
            post_nanos: nanos(self.post_period),
            step_nanos: nanos(self.step_period),
            max_version: self.max_version,
            max_time_nanos: nanos(self.max_time),
        })
    }

    fn set_largest(&self, workload: &mut Workload, context: &Context<'_>) {
        let in_pod = self.workers_in_pod(context.many_to_many.is_some());
        if let (Workload::ParameterServing(serving), Some(workers)) = (workload, in_pod.iter().max()) {
            serving.workers = *workers;
        }
    }

    /// One scenario for each worker count, in spec order.
    fn expand(&self, scenario: ValidatedScenario, context: &mut Context<'_>) -> Vec<ValidatedScenario> {
        let totals = total_workers(self, context.many_to_many);
        let in_pod = self.workers_in_pod(context.many_to_many.is_some());
        counts::check_length(context.path, &scenario.assignment.name, &totals, context.report);
        counts::expand(scenario, &totals, |workload, index| {
            if let (Workload::ParameterServing(serving), Some(workers)) = (workload, in_pod.get(index)) {
                serving.workers = *workers;
            }
        })
    }

    fn check_flows(&self, path: &str, pattern: ManyToMany, report: &mut Reporter) {
        for (index, workers) in self.workers_in_pod(true).iter().enumerate() {
            check_threads(
                format!("{path}.workersPerNode[{index}]"),
                *workers,
                pattern,
                report,
            );
        }
    }
}

/// A period in nanoseconds. A period of 0 has already been reported.
fn nanos(period: units::Duration) -> u64 {
    u64::try_from(period.0.as_nanos()).unwrap_or(u64::MAX).max(1)
}

fn check_times(given: &ParameterServing, context: &mut Context<'_>) {
    let max_time = given.max_time.0;
    let longest = MAX_DURATION;
    let fields = [
        ("maxTime", given.max_time, MIN_PERIOD, longest),
        ("pushPeriod", given.push_period, MIN_PERIOD, max_time),
        ("pullPeriod", given.pull_period, MIN_PERIOD, max_time),
        (
            "postPeriod",
            given.post_period,
            MIN_PERIOD.max(max_time / MAX_POSTS),
            longest,
        ),
        ("stepPeriod", given.step_period, MIN_STEP, max_time),
    ];
    for (field, period, min, max) in fields {
        // A maximum time that is out of bounds cannot serve as a bound for the periods.
        let max = max.max(min);
        if !(min..=max).contains(&period.0) {
            let (given, is_total) = (period, max == longest);
            let (min, max) = (units::Duration(min), units::Duration(max));
            let message = if is_total {
                duration_bounds(given, min, max)
            } else if min == max {
                format!(
                    "{given} is not {min}, the only period that `maxTime` allows. Use it, or raise `maxTime`"
                )
            } else {
                format!(
                    "{given} is not between {min} and {max}. Use a period that is not longer than `maxTime`"
                )
            };
            context.add(field, message);
        }
    }
    let step = given.step_period.0.max(MIN_STEP);
    let steps = max_time.as_nanos() / step.as_nanos();
    if steps > MAX_STEPS {
        context.add(
            "stepPeriod",
            format!(
                "`maxTime` contains {steps} steps, more than {MAX_STEPS}. Use longer steps or a shorter \
                 `maxTime`"
            ),
        );
    }
}

fn delivery(given: &ParameterServing, multicast: &Multicast, context: &mut Context<'_>) -> MulticastDelivery {
    if !multicast
        .group
        .parse()
        .is_ok_and(|group: Ipv4Addr| group.is_multicast())
    {
        let value = &multicast.group;
        context.add(
            "multicast.group",
            format!(
                "`{value}` is not an IPv4 multicast address. Use an address from 224.0.0.0 to 239.255.255.255"
            ),
        );
    }
    if let Some(value) = &multicast.interface
        && value.parse::<Ipv4Addr>().is_err()
    {
        context.add(
            "multicast.interface",
            format!("`{value}` is not an IPv4 address. Use the address of an interface, such as 10.0.0.5"),
        );
    }
    if let Some(value) = &multicast.relay
        && value.parse::<SocketAddrV4>().is_err()
    {
        context.add(
            "multicast.relay",
            format!("`{value}` is not an IPv4 address with a port. Use a value such as 10.0.0.5:17772"),
        );
    }
    let size = multicast.datagram;
    if !DATAGRAM_BYTES.contains(&size.bytes()) {
        let (min, max) = (
            units::Size(*DATAGRAM_BYTES.start()),
            units::Size(*DATAGRAM_BYTES.end()),
        );
        context.add(
            "multicast.datagram",
            format!("{size} is not between {min} and {max}. Use a payload that fits into a datagram"),
        );
    } else {
        let largest = given.sizes.iter().map(|size| size.bytes()).max().unwrap_or(0);
        let datagrams = largest.div_ceil(size.bytes()) * u64::from(given.max_version);
        if datagrams > MAX_DATAGRAMS {
            let max = MAX_DATAGRAMS;
            context.add(
                "maxVersion",
                format!("{datagrams} datagrams are more than {max}. Use fewer versions or larger datagrams"),
            );
        }
    }
    if multicast.rate.is_some_and(|rate| rate.bytes() == 0) {
        context.add(
            "multicast.rate",
            "a rate of 0 sends nothing. Use a higher rate, or remove `rate` for no limit".to_owned(),
        );
    }
    let group = format!("{}:{}", multicast.group, multicast.port);
    MulticastDelivery {
        destination: multicast.relay.clone().unwrap_or_else(|| group.clone()),
        group,
        interface: multicast.interface.clone(),
        datagram_bytes: u32::try_from(size.bytes()).unwrap_or(u32::MAX),
        bytes_per_second: multicast.rate.map(|rate| rate.bytes()),
    }
}

/// Number of workers of a trainer for each count in one pod.
fn total_workers(given: &ParameterServing, many_to_many: Option<ManyToMany>) -> Vec<u32> {
    let pods = many_to_many.map_or(1, |pattern| pattern.receivers);
    let in_pod = given.workers_in_pod(many_to_many.is_some()).iter();
    in_pod.map(|workers| workers.saturating_mul(pods)).collect()
}
