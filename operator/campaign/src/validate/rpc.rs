//! Validates `rpc` and `memoryFootprint` scenarios, and the channels of the variants.

use crds::v1alpha1::{BenchmarkRunSpec, MemoryFootprint, MemoryKind, Rpc, RpcChannel, RpcPattern, Variant};

use super::problem::Reporter;
use super::{ProblemKind, ValidatedScenario};

/// Reports depths of calls that are not recursive, time limits above the case deadline, memory and channels that cannot
/// be combined with a scenario, channels in a run without calls, and settings of variants that have no effect on their
/// channel.
pub(super) fn check(spec: &BenchmarkRunSpec, scenarios: &[ValidatedScenario], report: &mut Reporter) {
    for scenario in scenarios {
        let given = spec.scenarios.get(scenario.index);
        if let Some(rpc) = given.and_then(|given| given.rpc.as_ref()) {
            let path = format!("spec.scenarios[{}]", scenario.index);
            check_limits(&path, rpc, spec.run_policy.case_deadline_seconds, report);
            check_memory(&path, scenario, spec, report);
        }
        if let Some(footprint) = given.and_then(|given| given.memory_footprint.as_ref()) {
            check_footprint(scenario, footprint, spec, report);
        }
    }
    let mut given = spec.scenarios.iter();
    let has_calls = given.any(|scenario| scenario.rpc.is_some() || scenario.memory_footprint.is_some());
    for (index, variant) in spec.variants.iter().enumerate() {
        let path = format!("spec.variants[{index}]");
        if variant.channel.is_some() && !has_calls {
            report.add(format!("{path}.channel"), ProblemKind::ChannelWithoutCalls);
        } else {
            check_tuning(&path, variant, report);
        }
    }
}

fn check_limits(path: &str, rpc: &Rpc, deadline: u32, report: &mut Reporter) {
    if rpc.depth.is_some() && rpc.pattern != RpcPattern::Recursive {
        let pattern = rpc.pattern;
        report.add(
            format!("{path}.rpc.depth"),
            ProblemKind::DepthWithoutRecursion { pattern },
        );
    }
    if rpc.timeout_seconds > deadline {
        let given = rpc.timeout_seconds;
        report.add(
            format!("{path}.rpc.timeoutSeconds"),
            ProblemKind::TimeoutAboveDeadline { given, deadline },
        );
    }
}

fn check_memory(path: &str, scenario: &ValidatedScenario, spec: &BenchmarkRunSpec, report: &mut Reporter) {
    if scenario.assignment.memory != MemoryKind::Cuda {
        return;
    }
    let off_fabric = |variant: &&Variant| !variant.channel.unwrap_or_default().is_transport();
    if let Some(variant) = spec.variants.iter().find(off_fabric) {
        let kind = ProblemKind::GpuOffFabric {
            variant: variant.name.clone(),
            channel: variant.channel.unwrap_or_default(),
        };
        report.add(format!("{path}.memory"), kind);
    }
}

fn check_footprint(
    scenario: &ValidatedScenario,
    given: &MemoryFootprint,
    spec: &BenchmarkRunSpec,
    report: &mut Reporter,
) {
    let path = format!("spec.scenarios[{}]", scenario.index);
    if scenario.assignment.memory != MemoryKind::Heap {
        report.add(format!("{path}.memory"), ProblemKind::FootprintMemory);
    }
    let deadline = spec.run_policy.case_deadline_seconds;
    if given.timeout_seconds > deadline {
        let given = given.timeout_seconds;
        report.add(
            format!("{path}.memoryFootprint.timeoutSeconds"),
            ProblemKind::TimeoutAboveDeadline { given, deadline },
        );
    }
    for (index, variant) in spec.variants.iter().enumerate() {
        let channel = variant.channel.unwrap_or_default();
        if matches!(channel, RpcChannel::Transport | RpcChannel::Local) {
            let variant = variant.name.clone();
            report.add(
                format!("spec.variants[{index}].channel"),
                ProblemKind::FootprintChannel { variant, channel },
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
            ProblemKind::TuningOffFabric { channel, field },
        );
    }
}
