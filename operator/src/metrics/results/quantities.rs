//! Metrics of the catalogue's quantities. A metric contains one quantity, or several that a label distinguishes.

use std::sync::LazyLock;

use crds::quantity::Quantity;

use super::metric::{
    ARM, ARM_LABELS, Emit, RUN, RUN_NAMESPACE, ResultMetric, SCENARIO, SIZE, Samples, label, metric,
};
use crate::metrics::values::ArmValues;

/// Prefix of the metrics' names.
const PREFIX: &str = "fabricbench_arm_";

/// Units of the metrics. Their names contain the unit.
const UNITS: [&str; 12] = [
    "seconds_per_gib",
    "bytes_per_second",
    "completions_per_second",
    "seconds",
    "bytes",
    "ratio",
    "iterations",
    "workers",
    "versions",
    "steps",
    "datagrams",
    "rounds",
];

/// Metrics with several quantities: the name without the prefix, the label that distinguishes them, and the description.
const LABELED: [(&str, &str, &str); 14] = [
    (
        "latency_seconds",
        "quantile_level",
        "Latency over all rounds and pairs: one-way for ping-pong, from post to completion for transfers, from the first call \
         of a sample to its reply for calls, from the message to its confirmation for a memory footprint, and from the \
         publication of a version to its use for parameter serving",
    ),
    (
        "direction_bytes_per_second",
        "sender",
        "Payload bytes per second in each direction if both workers send, median of the rounds",
    ),
    (
        "flush_seconds",
        "quantile_level",
        "Time from the local completion of a message to the completion of the flush that follows it, over all rounds",
    ),
    (
        "ping_p99_seconds",
        "fabric",
        "99th percentile of the ping round-trip time on the idle fabric and during the messages, over all rounds",
    ),
    (
        "call_seconds",
        "statistic",
        "Time from a call to its reply, over all rounds: mean and standard deviation of a sample, mean of each of its calls, and \
         the time of one reading of the clock if the calls are shorter",
    ),
    (
        "footprint_bytes",
        "memory",
        "Memory of a host and its consumers, median of the rounds: Pss and Rss of the host alone, Pss of a consumer without and \
         with the tensor, its Rss, Pss of the tensor in all processes, its GPU memory, and memory saved by sharing",
    ),
    (
        "flow_bytes_per_second",
        "flow",
        "Payload bytes per second of the slowest, median and fastest flow in the ManyToMany pattern",
    ),
    (
        "receiver_bytes_per_second",
        "receiver",
        "Payload bytes per second of the slowest and fastest receiver in the ManyToMany pattern",
    ),
    (
        "read_back_seconds",
        "quantile_level",
        "Time from post to completion of the reads that follow the writes of a batch, over all rounds",
    ),
    (
        "version_lag",
        "quantile_level",
        "Version lag at worker steps in parameter serving, over all rounds: the number of newer versions",
    ),
    (
        "time_lag_seconds",
        "quantile_level",
        "Time lag at worker steps in parameter serving, over all rounds",
    ),
    (
        "posted_staleness",
        "lag",
        "Mean staleness that the trainer in parameter serving computes from the workers' posts, in versions: store lag, post \
         lag, and the value of the original benchmark",
    ),
    (
        "push_seconds",
        "quantile_level",
        "Time from the publication of a version to its delivery to all workers in parameter serving, for the versions that all \
         workers received, over all rounds",
    ),
    (
        "disturbance_ratio",
        "disturbance",
        "Other work on the machines in the valid cases: time that a thread of the instrument waited for a CPU as a share of \
         the measured time, and CPU time of other processes as a share of the worker's CPUs",
    ),
];

/// Metrics of all quantities, in the order of the catalogue. Their texts live as long as the process.
pub(super) static METRICS: LazyLock<Vec<ResultMetric>> = LazyLock::new(|| {
    let mut names: Vec<&str> = Vec::new();
    for quantity in Quantity::ALL {
        let name = quantity.definition().series.metric;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.into_iter().map(result_metric).collect()
});

/// Emits the values of the quantities that the metric called `name` in the catalogue contains.
pub(super) fn emit(name: &str, arm: &ArmValues, emit: &mut Emit<'_>) {
    for (quantity, value) in &arm.values {
        let definition = quantity.definition();
        if definition.series.metric == name {
            let value = *value as f64 / definition.unit.per_base_unit();
            match definition.series.label {
                "" => emit(&[], value),
                label => emit(&[label], value),
            }
        }
    }
}

/// Returns the name of the metric that contains `quantity`, and the name and value of the label that distinguishes it from
/// the metric's other quantities, if there are any.
pub fn metric_of(quantity: Quantity) -> (String, Option<(&'static str, &'static str)>) {
    let series = quantity.definition().series;
    let labeled = LABELED.iter().find(|(name, ..)| *name == series.metric);
    let label = labeled.map(|(_, label, _)| (*label, series.label));
    (format!("{PREFIX}{}", series.metric), label)
}

/// Returns the metric that contains `quantity`, with its label if it has one.
pub fn series_of(quantity: Quantity) -> String {
    let (metric, label) = metric_of(quantity);
    let label = label.map(|(name, value)| format!("{{{name}=\"{value}\"}}"));
    metric + &label.unwrap_or_default()
}

/// The metric called `name`, which is without the prefix.
fn result_metric(name: &'static str) -> ResultMetric {
    let quantities = || Quantity::ALL.into_iter().map(Quantity::definition);
    let own = || quantities().filter(move |definition| definition.series.metric == name);
    let contains = |unit: &&str| {
        let rest = name.strip_suffix(unit).or_else(|| name.strip_prefix(unit));
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('_') || rest.starts_with('_'))
    };
    let unit = UNITS.into_iter().find(contains).unwrap_or_default();
    let full_name: &'static str = format!("{PREFIX}{name}").leak();
    if let Some((_, label_name, help)) = LABELED.iter().find(|(labeled, ..)| *labeled == name) {
        let values: Vec<&str> = own().map(|definition| definition.series.label).collect();
        let distinguishing = label(label_name, values.join(", ").leak());
        let labels = vec![RUN_NAMESPACE, RUN, SCENARIO, SIZE, ARM, distinguishing];
        return metric(full_name, unit, help, labels.leak(), Samples::Quantities(name));
    }
    let help = own().next().map(|definition| definition.help).unwrap_or_default();
    let (first, rest) = help.split_at_checked(1).unwrap_or_default();
    let help = (first.to_ascii_uppercase() + rest).leak();
    metric(full_name, unit, help, ARM_LABELS, Samples::Quantities(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_metrics_with_several_quantities_have_a_label() {
        for (name, ..) in LABELED {
            let own = |quantity: &Quantity| quantity.definition().series.metric == name;
            assert!(Quantity::ALL.into_iter().filter(own).count() > 1, "{name}");
        }
        for quantity in Quantity::ALL {
            let series = quantity.definition().series;
            let is_labeled = LABELED.iter().any(|(name, ..)| *name == series.metric);
            assert_eq!(!series.label.is_empty(), is_labeled, "{quantity}");
        }
    }
}
