//! Warnings about inconsistent calls, times that grow faster than the payload, and growing memory.

use crds::v1alpha1::RpcPayload;

use super::prefix::prefix;
use crate::format;
use crate::plan::Plan;
use crate::summarize::CellSummary;

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

/// Warnings about inconsistent calls, times that grow faster than the payload, and growing memory.
pub(super) fn warnings(plan: &Plan, cells: &[CellSummary]) -> Vec<String> {
    let mut warnings = Vec::new();
    for cell in cells {
        let Some(call) = &cell.call else { continue };
        let Some(prefix) = prefix(plan, cell, call.payload.name()) else {
            continue;
        };
        let moments = call.moments;
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
        if let Some((smaller, ratio)) = superlinear_growth(cell, cells) {
            warnings.push(format!(
                "{prefix}: the time per byte is {ratio:.1} times that of {}",
                smaller.name()
            ));
        }
    }
    warnings
}

/// The next smaller payload of the same arm and scenario, and the ratio of the times per byte, if it is too large.
fn superlinear_growth(cell: &CellSummary, cells: &[CellSummary]) -> Option<(RpcPayload, f64)> {
    let mean = |cell: &CellSummary| Some(cell.call.as_ref()?.moments?.mean_nanos);
    let smaller = cells.iter().filter(|other| {
        (other.scenario, other.arm) == (cell.scenario, cell.arm)
            && (MIN_SCALING_BYTES..cell.size_bytes).contains(&other.size_bytes)
            && mean(other).is_some_and(|mean| mean > 0.0)
    });
    let smaller = smaller.max_by_key(|other| other.size_bytes)?;
    let growth = mean(cell)? / mean(smaller)?;
    let ratio = growth * smaller.size_bytes as f64 / cell.size_bytes as f64;
    (ratio > MAX_SCALING_RATIO).then_some((smaller.call.as_ref()?.payload, ratio))
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::CallSection;

    use super::*;
    use crate::summarize::{CallSummary, Moments};

    #[test]
    fn time_per_byte_is_compared_with_the_next_smaller_payload() {
        let cell = |payload: RpcPayload, mean_nanos| CellSummary {
            size_bytes: payload.size().bytes(),
            call: Some(CallSummary {
                payload,
                section: CallSection::Successful,
                cause: None,
                message: None,
                hops: 1,
                moments: Some(Moments {
                    samples: 10,
                    mean_nanos,
                    deviation_nanos: None,
                }),
                memory_growth_bytes: None,
            }),
            ..CellSummary::default()
        };
        let medium = cell(RpcPayload::MediumTensor, 1000.0);
        let cells = |mean| {
            [
                cell(RpcPayload::SmallInt, 1.0),
                medium.clone(),
                cell(RpcPayload::LargeTensor, mean),
            ]
        };
        let linear = cells(5000.0);
        assert_eq!(superlinear_growth(&linear[2], &linear), None);
        let steep = cells(8000.0);
        assert_eq!(
            superlinear_growth(&steep[2], &steep),
            Some((RpcPayload::MediumTensor, 2.0))
        );
        // The time of small payloads does not depend on their size.
        assert_eq!(superlinear_growth(&steep[1], &steep), None);
    }
}
