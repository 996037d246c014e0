//! Text about a scenario's calls: how many succeeded, and which failed or were skipped.

use campaign::format;
use campaign::summarize::{CallSummary, CellSummary};
use crds::v1alpha1::CallSection;

use super::Report;

/// Calls of one arm with one payload.
pub struct CallTest<'a> {
    /// Name of the arm.
    pub arm: &'a str,
    /// Summary of the calls.
    pub call: &'a CallSummary,
}

impl CallTest<'_> {
    /// Returns the test name: the payload and the arm.
    pub fn name(&self) -> String {
        format!("{} over {}", self.call.payload.name(), self.arm)
    }

    /// Returns the cause of a failure or a skip, with its message.
    pub fn problem(&self) -> String {
        let cause = self.call.cause.map(|cause| format!("{cause:?}"));
        let parts = cause.into_iter().chain(self.call.message.clone());
        parts.collect::<Vec<_>>().join(": ")
    }
}

/// Returns the calls of the scenario with index `scenario`, by payload and arm, without control arms. Empty if the
/// scenario makes no calls.
pub fn tests<'a>(report: &Report<'a>, scenario: usize) -> Vec<CallTest<'a>> {
    let plan = report.plan;
    let test = |cell: &'a CellSummary| {
        let arm = plan.arms.get(cell.arm).filter(|arm| arm.control.is_none())?;
        Some(CallTest {
            arm: arm.name.as_str(),
            call: cell.call.as_ref()?,
        })
    };
    let cells = report.evaluation.summary.cells.iter();
    cells
        .filter(|cell| cell.scenario == scenario)
        .filter_map(test)
        .collect()
}

/// Heading and text of each line: the counts and the fastest calls, then every failure and every skip.
pub fn lines(tests: &[CallTest<'_>]) -> Vec<(&'static str, String)> {
    if tests.is_empty() {
        return Vec::new();
    }
    let of = |section| tests.iter().filter(move |test| test.call.section == section);
    let count = |section| of(section).count();
    let mut summary = format!(
        "{} successful, {} failed, {} skipped (total {})",
        count(CallSection::Successful),
        count(CallSection::Failed),
        count(CallSection::Skipped),
        tests.len()
    );
    let successful =
        of(CallSection::Successful).filter_map(|test| Some((test, test.call.moments?.mean_nanos)));
    if let Some((fastest, mean)) = successful.min_by(|one, other| one.1.total_cmp(&other.1)) {
        summary.push_str(&format!(
            "; fastest {}, mean {}",
            fastest.name(),
            format::nanos(mean)
        ));
    }
    let problems = |section, heading| {
        of(section).map(move |test| (heading, format!("{}: {}", test.name(), test.problem())))
    };
    std::iter::once(("calls", summary))
        .chain(problems(CallSection::Failed, "failed"))
        .chain(problems(CallSection::Skipped, "skipped"))
        .collect()
}

#[cfg(test)]
mod tests {
    use campaign::summarize::Moments;
    use crds::v1alpha1::{CallCause, RpcPayload};

    use super::*;

    #[test]
    fn sections_are_counted_and_problems_are_listed() {
        let call = |payload, section, cause, mean_nanos: Option<f64>| CallSummary {
            payload,
            section,
            cause,
            message: cause.map(|_| "because".to_owned()),
            hops: 1,
            moments: mean_nanos.map(|mean_nanos| Moments {
                samples: 10,
                mean_nanos,
                deviation_nanos: None,
            }),
            memory_growth_bytes: None,
        };
        let calls = [
            call(RpcPayload::LargeBytes, CallSection::Successful, None, Some(2e6)),
            call(RpcPayload::SmallInt, CallSection::Successful, None, Some(900.0)),
            // The values from the rounds before the failure must not make this call the fastest.
            call(
                RpcPayload::TinyTensor,
                CallSection::Failed,
                Some(CallCause::Timeout),
                Some(1.0),
            ),
            call(
                RpcPayload::ModelTensor,
                CallSection::Skipped,
                Some(CallCause::NotEnoughMemory),
                None,
            ),
        ];
        let all: Vec<CallTest<'_>> = calls.iter().map(|call| CallTest { arm: "unix", call }).collect();
        let expected = [
            (
                "calls",
                "2 successful, 1 failed, 1 skipped (total 4); fastest small_int over unix, mean 900 ns",
            ),
            ("failed", "tiny_tensor over unix: Timeout: because"),
            ("skipped", "model_tensor over unix: NotEnoughMemory: because"),
        ];
        let found = lines(&all);
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(heading, text)| (*heading, text.as_str()))
            .collect();
        assert_eq!(found, expected);
        assert_eq!(lines(&[]), []);
    }
}
