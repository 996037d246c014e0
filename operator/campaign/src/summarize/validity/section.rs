//! Report section of an arm that executes its operations in processes of their own. Performs no I/O.

use crds::record::FailureReason;
use crds::v1alpha1::{CallCause, CallSection};

use super::case_check::{CaseCheck, Invalid};
use crate::collect::Case;

/// Report section that contains an arm, and the arm's problem: the first failure or, if no case ran, the first skipped
/// case.
pub(crate) struct SectionOutcome {
    /// The section.
    pub(crate) section: CallSection,
    /// Cause and message of the problem; `None` for a successful arm.
    pub(crate) problem: Option<(CallCause, String)>,
}

impl SectionOutcome {
    /// Determines the section of an arm with these `cases`, whose scenario uses a GPU if `needs_gpu`.
    pub(crate) fn new(needs_gpu: bool, cases: &[(&Case, &CaseCheck)]) -> Self {
        let problems = cases.iter().filter_map(|(_, check)| {
            let reason = check.invalid.first()?;
            let (section, cause) = classify(reason, needs_gpu);
            Some((section, (cause, reason.to_string())))
        });
        let mut problems: Vec<_> = problems.collect();
        let failed = problems
            .iter()
            .position(|(section, _)| *section == CallSection::Failed);
        let all_skipped = problems.len() == cases.len();
        let (section, problem) = match failed {
            Some(index) => problems.swap_remove(index),
            None if all_skipped && !problems.is_empty() => problems.swap_remove(0),
            None => {
                return Self {
                    section: CallSection::Successful,
                    problem: None,
                };
            }
        };
        Self {
            section,
            problem: Some(problem),
        }
    }
}

/// The report section that contains a case that is invalid for `reason`, and the cause.
fn classify(reason: &Invalid, needs_gpu: bool) -> (CallSection, CallCause) {
    let (Invalid::Failed { failure, .. }
    | Invalid::Integrity {
        failure: Some(failure),
        ..
    }) = reason
    else {
        return (CallSection::Failed, CallCause::Invalid);
    };
    match failure {
        FailureReason::NotEnoughMemory => (CallSection::Skipped, CallCause::NotEnoughMemory),
        FailureReason::NoDevice | FailureReason::MemoryUnavailable if needs_gpu => {
            (CallSection::Skipped, CallCause::NoGpu)
        }
        FailureReason::OutOfMemory => (CallSection::Failed, CallCause::OutOfMemory),
        FailureReason::DeadlineExceeded => (CallSection::Failed, CallCause::Timeout),
        FailureReason::PeerLost => (CallSection::Failed, CallCause::Died),
        _ => (CallSection::Failed, CallCause::Error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_and_skipped_cases_determine_the_section() {
        let classify_failure = |failure, needs_gpu| {
            let reason = Invalid::Failed {
                failure,
                message: String::new(),
            };
            classify(&reason, needs_gpu)
        };
        let heap = false;
        let failed = |cause| (CallSection::Failed, cause);
        assert_eq!(
            classify_failure(FailureReason::OutOfMemory, heap),
            failed(CallCause::OutOfMemory)
        );
        assert_eq!(
            classify_failure(FailureReason::DeadlineExceeded, heap),
            failed(CallCause::Timeout)
        );
        assert_eq!(
            classify_failure(FailureReason::PeerLost, heap),
            failed(CallCause::Died)
        );
        assert_eq!(
            classify_failure(FailureReason::MemoryUnavailable, heap),
            failed(CallCause::Error)
        );
        assert_eq!(
            classify(&Invalid::NothingMeasured, heap),
            failed(CallCause::Invalid)
        );
        // If the integrity pass could not verify the bytes, its failure determines the cause. Wrong bytes are
        // `Invalid`.
        let integrity = |failure| {
            let message = String::new();
            classify(&Invalid::Integrity { failure, message }, heap)
        };
        assert_eq!(integrity(None), failed(CallCause::Invalid));
        assert_eq!(
            integrity(Some(FailureReason::OutOfMemory)),
            failed(CallCause::OutOfMemory)
        );
        assert_eq!(
            integrity(Some(FailureReason::DeadlineExceeded)),
            failed(CallCause::Timeout)
        );
        let skipped = |cause| (CallSection::Skipped, cause);
        assert_eq!(
            classify_failure(FailureReason::NotEnoughMemory, heap),
            skipped(CallCause::NotEnoughMemory)
        );
        assert_eq!(
            classify_failure(FailureReason::MemoryUnavailable, true),
            skipped(CallCause::NoGpu)
        );
    }
}
