//! Merges the results of the two sides of a case. Performs no I/O.

use crds::record::{CaseFailure, CaseResult, FailureReason, Measurement};

use crate::integrity;
use crate::rank_list::rank_list;
use crate::rendezvous::message::SideResult;

/// Result of one side of a case.
pub type SideOrFailure = Result<SideResult, CaseFailure>;

/// Merges the results of the two sides, each given with its rank.
pub fn merge_sides(initiator: (u32, SideOrFailure), target: (u32, SideOrFailure)) -> CaseResult {
    let failed = {
        let failure = |side: &(u32, SideOrFailure)| (side.0, side.1.as_ref().err().cloned());
        let (initiator, target) = (failure(&initiator), failure(&target));
        merge_failures([(initiator.0, initiator.1.as_ref()), (target.0, target.1.as_ref())])
    };
    if let Some(failure) = failed {
        return CaseResult::Failed(failure);
    }
    match (initiator.1, target.1) {
        (Ok(SideResult::Measured(initiator)), Ok(SideResult::Measured(target))) => {
            CaseResult::Measured(Box::new(Measurement {
                initiator: *initiator,
                target: *target,
            }))
        }
        (Ok(SideResult::Checked(initiator)), Ok(SideResult::Checked(target))) => {
            CaseResult::Checked(integrity::combine(initiator, target))
        }
        (initiator, target) => CaseResult::Failed(CaseFailure {
            reason: FailureReason::Internal,
            message: format!(
                "the two sides returned results of different types: {initiator:?} and {target:?}"
            ),
        }),
    }
}

/// Merges the failures of several ranks into one failure, or returns `None` if no rank failed.
///
/// The result has the most specific reason and the messages of all ranks. Equal messages are combined.
pub fn merge_failures<'a>(
    sides: impl IntoIterator<Item = (u32, Option<&'a CaseFailure>)>,
) -> Option<CaseFailure> {
    let mut cause: Option<&CaseFailure> = None;
    let mut messages: Vec<(&str, Vec<u32>)> = Vec::new();
    for (rank, failure) in sides {
        let Some(failure) = failure else { continue };
        if cause.is_none_or(|cause| specificity(failure.reason) > specificity(cause.reason)) {
            cause = Some(failure);
        }
        match messages
            .iter_mut()
            .find(|(message, _)| *message == failure.message)
        {
            Some((_, ranks)) => ranks.push(rank),
            None => messages.push((&failure.message, vec![rank])),
        }
    }
    let messages: Vec<_> = messages
        .into_iter()
        .map(|(message, ranks)| format!("{}: {message}", rank_list(&ranks)))
        .collect();
    Some(CaseFailure {
        reason: cause?.reason,
        message: messages.join("; "),
    })
}

/// Specificity of a reason; higher is more specific.
///
/// If one side fails, the other side is interrupted, exceeds its deadline or loses the connection while it is waiting.
/// These reasons are therefore less specific than all others.
fn specificity(reason: FailureReason) -> u8 {
    match reason {
        FailureReason::Interrupted => 0,
        FailureReason::DeadlineExceeded => 1,
        FailureReason::PeerLost => 2,
        FailureReason::CompletionFailed => 3,
        // A worker whose peer lacks the memory of a scenario only knows that this memory is unavailable.
        FailureReason::MemoryUnavailable => 4,
        _ => 5,
    }
}

#[cfg(test)]
mod tests {
    use crds::record::{IntegrityReport, SideReport};

    use super::*;

    fn failure(reason: FailureReason, message: &str) -> SideOrFailure {
        let message = message.into();
        Err(CaseFailure { reason, message })
    }

    #[test]
    fn keeps_the_measurements_of_both_sides() {
        let side = |nanos| {
            let report = SideReport {
                window_nanos: nanos,
                ..SideReport::default()
            };
            Ok(SideResult::Measured(Box::new(report)))
        };
        let CaseResult::Measured(measured) = merge_sides((0, side(5)), (1, side(6))) else {
            panic!("expected a measurement");
        };
        assert_eq!(
            (measured.initiator.window_nanos, measured.target.window_nanos),
            (5, 6)
        );
    }

    #[test]
    fn prefers_the_cause_over_a_deadline() {
        let result = merge_sides(
            (3, failure(FailureReason::DeadlineExceeded, "too long")),
            (7, failure(FailureReason::MemoryUnavailable, "no pages")),
        );
        let CaseResult::Failed(failure) = result else {
            panic!("expected a failure");
        };
        assert_eq!(failure.reason, FailureReason::MemoryUnavailable);
        assert_eq!(failure.message, "rank 3: too long; rank 7: no pages");
    }

    #[test]
    fn prefers_any_cause_over_an_interruption() {
        let result = merge_sides(
            (0, failure(FailureReason::Interrupted, "another flow failed")),
            (1, failure(FailureReason::PeerLost, "killed")),
        );
        let CaseResult::Failed(failure) = result else {
            panic!("expected a failure");
        };
        assert_eq!(failure.reason, FailureReason::PeerLost);
    }

    #[test]
    fn merges_identical_failure_messages() {
        let side = || failure(FailureReason::NoDevice, "no efa");
        let CaseResult::Failed(failure) = merge_sides((0, side()), (1, side())) else {
            panic!("expected a failure");
        };
        assert_eq!(failure.message, "ranks 0 and 1: no efa");
    }

    #[test]
    fn combines_integrity_reports() {
        let side = |bytes| {
            let report = IntegrityReport {
                transfers: 1,
                bytes,
                ..IntegrityReport::default()
            };
            Ok(SideResult::Checked(report))
        };
        let CaseResult::Checked(both) = merge_sides((0, side(20)), (1, side(50))) else {
            panic!("expected an integrity report");
        };
        assert_eq!((both.bytes, both.transfers), (70, 2));
    }

    #[test]
    fn results_of_different_types_are_an_internal_failure() {
        let checked = Ok(SideResult::Checked(IntegrityReport::default()));
        let CaseResult::Failed(failure) = merge_sides((0, checked), (1, Ok(SideResult::Reached))) else {
            panic!("expected a failure");
        };
        assert_eq!(failure.reason, FailureReason::Internal);
    }
}
