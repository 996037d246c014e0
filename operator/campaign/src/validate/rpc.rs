//! Validates `rpc` and `memoryFootprint` scenarios, and the channels of the variants.

use crds::v1alpha1::{BenchmarkRunSpec, MemoryKind, Rpc, RpcChannel, RpcPattern, Variant};

use super::reporter::Reporter;
use super::validated::ValidatedScenario;

/// Reports depths of calls that are not recursive, memory and channels that cannot be combined with a scenario, channels
/// in a run without calls, and settings of variants that have no effect on their channel.
pub(super) fn check(spec: &BenchmarkRunSpec, scenarios: &[ValidatedScenario], report: &mut Reporter) {
    for scenario in scenarios {
        let given = spec.scenarios.get(scenario.index);
        if let Some(rpc) = given.and_then(|given| given.rpc.as_ref()) {
            let path = format!("spec.scenarios[{}]", scenario.index);
            check_depth(&path, rpc, report);
        }
        if given.is_some_and(|given| given.memory_footprint.is_some()) {
            check_footprint(scenario, spec, report);
        }
    }
    let mut given = spec.scenarios.iter();
    let has_calls = given.any(|scenario| scenario.rpc.is_some() || scenario.memory_footprint.is_some());
    for (index, variant) in spec.variants.iter().enumerate() {
        let path = format!("spec.variants[{index}]");
        if variant.channel.is_some() && !has_calls {
            report.add(
                format!("{path}.channel"),
                "no scenario makes calls. Add a scenario with `rpc` or `memoryFootprint`, or remove `channel`",
            );
        } else {
            check_tuning(&path, variant, report);
        }
    }
}

fn check_depth(path: &str, rpc: &Rpc, report: &mut Reporter) {
    if rpc.depth.is_some() && rpc.pattern != RpcPattern::Recursive {
        let pattern = rpc.pattern;
        report.add(
            format!("{path}.rpc.depth"),
            format!(
                "calls with `pattern: {pattern:?}` have no depth. Remove `depth`, or use `pattern: Recursive`"
            ),
        );
    }
}

fn check_footprint(scenario: &ValidatedScenario, spec: &BenchmarkRunSpec, report: &mut Reporter) {
    let path = format!("spec.scenarios[{}]", scenario.index);
    let memory = spec.scenarios.get(scenario.index).map(|given| given.memory);
    if !matches!(memory, Some(MemoryKind::Heap | MemoryKind::Cuda)) {
        report.add(
            format!("{path}.memory"),
            "the consumers measure ordinary host memory or GPU memory. Use `memory: Heap` or `Cuda`, or \
             remove `memory`",
        );
    }
    for (index, variant) in spec.variants.iter().enumerate() {
        let channel = variant.channel.unwrap_or_default();
        if matches!(channel, RpcChannel::Transport | RpcChannel::Local) {
            let variant = &variant.name;
            report.add(
                format!("spec.variants[{index}].channel"),
                format!(
                    "a tensor can be passed to other processes over `channel: UnixSocket`, `Tcp` or \
                     `SharedMemory`, but variant \"{variant}\" uses {channel:?}. Set its `channel`"
                ),
            );
        }
    }
}

fn check_tuning(path: &str, variant: &Variant, report: &mut Reporter) {
    let Some(channel) = variant.channel.filter(|channel| !channel.is_transport()) else {
        return;
    };
    let fields = [
        ("inject", variant.inject.is_some()),
        ("doorbell", variant.doorbell.is_some()),
        ("striping", variant.striping.is_some()),
    ];
    for (field, _) in fields.into_iter().filter(|(_, is_set)| *is_set) {
        report.add(
            format!("{path}.{field}"),
            format!(
                "calls over channel {channel:?} post no messages to which `{field}` could apply. Remove \
                 `{field}`, or use `channel: Transport`"
            ),
        );
    }
}
