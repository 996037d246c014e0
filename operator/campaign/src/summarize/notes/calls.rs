//! Warnings about calls below the clock, inconsistent calls, times that grow faster than the payload, and growing memory.

use crds::v1alpha1::RpcPayload;

use super::prefix::prefix;
use crate::format;
use crate::summarize::values::cell_view::CellView;

/// Mean in nanoseconds below which the deviation is not reported, because it results mainly from reading the clock.
const MIN_DEVIATING_NANOS: f64 = 1000.0;
/// Ratio of deviation to mean above which calls are reported as inconsistent.
const MAX_DEVIATION_RATIO: f64 = 0.5;
/// Maximum ratio of the time per byte to the time per byte of the next smaller payload.
const MAX_SCALING_RATIO: f64 = 1.5;
/// Size in bytes of the smallest payload whose time is expected to grow with its size.
const MIN_SCALING_BYTES: u64 = 64 * 1024;
/// Memory growth of the host and the extension during a case, in bytes, above which a warning is reported.
const MAX_GROWTH_BYTES: u64 = 1024 * 1024;

/// Warnings about calls below the clock, inconsistent calls, times that grow faster than the payload, and growing memory.
pub(super) fn warnings(cells: &[CellView<'_>]) -> Vec<String> {
    let mut warnings = Vec::new();
    for view in cells {
        let Some(call) = &view.cell.call else { continue };
        let Some(prefix) = prefix(view, call.payload.name()) else {
            continue;
        };
        if let Some(clock) = call.below_clock_nanos() {
            warnings.push(format!(
                "{prefix}: the calls take less time than one reading of the clock, {}, so their times are mainly those of the \
                 clock, and changes between them and other arms are only bounds",
                format::nanos(clock)
            ));
        }
        let moments = call.moments_of_calls();
        if let Some((mean, deviation)) =
            moments.and_then(|moments| Some((moments.mean_nanos, moments.deviation_nanos?)))
            && mean >= MIN_DEVIATING_NANOS
            && deviation > MAX_DEVIATION_RATIO * mean
        {
            warnings.push(format!(
                "{prefix}: the standard deviation {} is more than half of the mean {}: individual calls took much \
                 longer than others",
                format::nanos(deviation),
                format::nanos(mean)
            ));
        }
        if let Some(growth) = call
            .memory_growth_bytes
            .filter(|growth| *growth > MAX_GROWTH_BYTES)
        {
            warnings.push(format!(
                "{prefix}: the memory of host and extension grew by {} after the warm-up",
                format::bytes(growth)
            ));
        }
        if let Some((smaller, payload, ratio)) = superlinear_growth(view, cells) {
            let scenario = match smaller.cell.scenario == view.cell.scenario {
                true => String::new(),
                false => format!(" in scenario {}", smaller.scenario.assignment.name),
            };
            warnings.push(format!(
                "{prefix}: the time per byte is {ratio:.1} times that of {}{scenario}",
                payload.name()
            ));
        }
    }
    warnings
}

/// Result of the same arm with the next smaller payload, that payload, and the ratio of the times per byte, if this ratio
/// is too large. The payloads may be in different scenarios, if their calls have the same pattern and the same number of
/// hops, and use the same kind of memory. If several scenarios have the next smaller payload, the one of `view` is preferred.
fn superlinear_growth<'a, 'b>(
    view: &CellView<'a>,
    views: &'b [CellView<'a>],
) -> Option<(&'b CellView<'a>, RpcPayload, f64)> {
    let kind = |view: &CellView<'_>| {
        let call = view.cell.call.as_ref()?;
        let assignment = &view.scenario.assignment;
        let memory = (assignment.memory, assignment.workload.gpu());
        Some((view.cell.arm, call.pattern, call.hops, memory))
    };
    let mean = |view: &CellView<'_>| Some(view.cell.call.as_ref()?.moments_of_calls()?.mean_nanos);
    let smaller = views.iter().filter(|other| {
        (MIN_SCALING_BYTES..view.cell.size_bytes).contains(&other.cell.size_bytes)
            && kind(other) == kind(view)
            && mean(other).is_some_and(|mean| mean > 0.0)
    });
    let smaller =
        smaller.max_by_key(|other| (other.cell.size_bytes, other.cell.scenario == view.cell.scenario))?;
    let growth = mean(view)? / mean(smaller)?;
    let ratio = growth * smaller.cell.size_bytes as f64 / view.cell.size_bytes as f64;
    (ratio > MAX_SCALING_RATIO).then_some((smaller, smaller.cell.call.as_ref()?.payload, ratio))
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::{CallSection, RpcPattern};

    use super::*;
    use crate::fixture::run_from_yaml;
    use crate::plan::HashedPlan;
    use crate::summarize::values::cell::CellSummary;
    use crate::validate::validate;
    use crate::workload::rpc::summary::{CallSummary, Moments};

    const RUN: &str = "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: test}\nspec:\n  \
                       baseline: a\n  transport: {loopback: {}}\n  variants: [{name: a}]\n  resources: {gpus: 1}\n  \
                       scenarios:\n  - {name: small, rpc: {payloads: [SmallInt, MediumTensor]}}\n  \
                       - {name: large, rpc: {payloads: [LargeTensor]}}\n  \
                       - {name: chain, rpc: {payloads: [LargeTensor], pattern: Chain}}\n  \
                       - {name: device, memory: Cuda, rpc: {payloads: [LargeTensor]}}\n  \
                       - {name: load, rpc: {payloads: [LargeTensor], load: {openLoop: {rate: 1000}}}}\n";
    const SMALL: usize = 0;
    const LARGE: usize = 1;
    const CHAIN: usize = 2;
    const DEVICE: usize = 3;
    const LOAD: usize = 4;

    fn plan() -> HashedPlan {
        let run = run_from_yaml(RUN);
        crate::plan::plan(&validate(&run).unwrap()).unwrap()
    }

    fn cell(scenario: usize, payload: RpcPayload, hops: u32, mean_nanos: f64) -> CellSummary {
        CellSummary {
            scenario,
            size_bytes: payload.size().bytes(),
            call: Some(CallSummary {
                payload,
                pattern: RpcPattern::Call,
                section: CallSection::Successful,
                cause: None,
                message: None,
                hops,
                is_open_loop: scenario == LOAD,
                moments: Some(Moments {
                    samples: 10,
                    mean_nanos,
                    deviation_nanos: None,
                }),
                clock_nanos: Some(20.0),
                below_clock: false,
                memory_growth_bytes: None,
            }),
            ..CellSummary::default()
        }
    }

    fn of_cells(plan: &HashedPlan, cells: &[CellSummary]) -> Vec<String> {
        warnings(&CellView::all(plan, cells).collect::<Vec<_>>())
    }

    #[test]
    fn time_per_byte_is_compared_with_the_next_smaller_payload() {
        let plan = plan();
        let cells = |mean| {
            [
                cell(SMALL, RpcPayload::SmallInt, 1, 1.0),
                cell(SMALL, RpcPayload::MediumTensor, 1, 1000.0),
                cell(SMALL, RpcPayload::LargeTensor, 1, mean),
            ]
        };
        assert_eq!(of_cells(&plan, &cells(5000.0)), [""; 0]);
        // The time of small payloads does not depend on their size, so there is no warning about `MediumTensor`.
        assert_eq!(
            of_cells(&plan, &cells(8000.0)),
            ["small large_tensor: arm \"a\": the time per byte is 2.0 times that of medium_tensor"]
        );
    }

    #[test]
    fn calls_below_the_clock_are_reported_and_not_compared_by_size() {
        let below = |payload| {
            let mut cell = cell(SMALL, payload, 1, 31.0);
            if let Some(call) = &mut cell.call {
                call.below_clock = true;
            }
            cell
        };
        let cells = [
            below(RpcPayload::MediumTensor),
            cell(SMALL, RpcPayload::LargeTensor, 1, 8000.0),
        ];
        assert_eq!(
            of_cells(&plan(), &cells),
            [
                "small medium_tensor: arm \"a\": the calls take less time than one reading of the clock, 20 ns, so their times \
                 are mainly those of the clock, and changes between them and other arms are only bounds"
            ]
        );
    }

    #[test]
    fn payloads_of_different_scenarios_are_compared_if_the_calls_are_of_the_same_kind() {
        let plan = plan();
        let cells = [
            cell(SMALL, RpcPayload::MediumTensor, 1, 1000.0),
            cell(LARGE, RpcPayload::LargeTensor, 1, 8000.0),
            cell(CHAIN, RpcPayload::LargeTensor, 3, 24000.0),
            cell(DEVICE, RpcPayload::LargeTensor, 1, 8000.0),
        ];
        assert_eq!(
            of_cells(&plan, &cells),
            [
                "large large_tensor: arm \"a\": the time per byte is 2.0 times that of medium_tensor in scenario small"
            ]
        );
        // The scenario of the larger payload is preferred.
        let [small, large, ..] = cells;
        let own = cell(LARGE, RpcPayload::MediumTensor, 1, 2000.0);
        assert_eq!(of_cells(&plan, &[own, small, large]), [""; 0]);
    }

    #[test]
    fn queueing_in_an_open_loop_is_not_reported() {
        let plan = plan();
        let deviating = |scenario| {
            let mut cell = cell(scenario, RpcPayload::LargeTensor, 1, 90_000.0);
            let moments = cell.call.as_mut().and_then(|call| call.moments.as_mut());
            moments.unwrap().deviation_nanos = Some(80_000.0);
            cell
        };
        let smaller = cell(SMALL, RpcPayload::MediumTensor, 1, 10_000.0);
        assert_eq!(of_cells(&plan, &[smaller.clone(), deviating(LOAD)]), [""; 0]);
        assert_eq!(of_cells(&plan, &[smaller, deviating(LARGE)]).len(), 2);
    }
}
