//! Whether the environment variables, the library and the image in which arms differ from the baseline took effect, as
//! the report formats present it.

use campaign::summarize::DifferenceEvidence;

use crate::report::Report;

/// Evidence about one difference between an arm and the baseline.
pub(super) struct ArmDifference<'a> {
    /// Name of the arm.
    pub arm: &'a str,
    /// The evidence, which is the same at all sizes.
    pub evidence: &'a DifferenceEvidence,
}

impl ArmDifference<'_> {
    /// What is known, the engagement and the reason, in one line.
    pub(super) fn description(&self) -> String {
        let DifferenceEvidence {
            finding,
            engagement,
            reason,
            ..
        } = self.evidence;
        format!("{finding:?}, {engagement:?}: {reason}")
    }
}

/// Evidence about all differences between the arms and the baseline in the scenario with index `scenario`, in the order
/// of the arms. Empty for arms that were not measured.
pub(super) fn of_scenario<'a>(report: &Report<'a>, scenario: usize) -> Vec<ArmDifference<'a>> {
    let arms = report.plan.arms.iter().enumerate();
    let of_arm = |(index, arm): (usize, &'a campaign::plan::Arm)| {
        let cells = report.cells_of(scenario).map(|view| view.cell);
        let mut measured = cells.filter(move |cell| cell.arm == index && cell.cases > 0);
        let differences = measured
            .next()
            .map_or(&[][..], |cell| cell.differences.as_slice());
        differences.iter().map(|evidence| ArmDifference {
            arm: arm.name.as_str(),
            evidence,
        })
    };
    arms.flat_map(of_arm).collect()
}
