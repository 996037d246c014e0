//! Memory use of a host and its consumers: medians over the rounds, and memory saved by sharing. Performs no I/O.

use crds::assignment::FootprintWorkload;
use crds::record::{FootprintReport, Measurement};
use crds::v1alpha1::{CallCause, CallSection};
use serde::Serialize;

use crate::summarize::{Rounds, SectionOutcome};
use crate::workload::cell_cases::CellCases;

/// Memory use of a host and its consumers, over all rounds and pairs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FootprintSummary {
    /// Section of the report that contains the arm.
    pub section: CallSection,
    /// Cause of the first failure, or reason that the cases were skipped; `None` for a successful arm.
    pub cause: Option<CallCause>,
    /// Message of the first failure or of the first skipped case; `None` for a successful arm.
    pub message: Option<String>,
    /// Number of consumers.
    pub consumers: u32,
    /// Medians over the rounds; `None` if there is no valid case.
    pub memory: Option<FootprintMedians>,
}

/// Medians over the rounds, where the value of a round is the median over its pairs. The values are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FootprintMedians {
    /// Proportional set size (Pss) of the host before it allocates the tensor and starts the consumers.
    pub baseline: f64,
    /// Resident set size of the host at that time.
    pub baseline_rss: f64,
    /// Pss of a consumer before it receives the tensor.
    pub own: f64,
    /// Lowest and highest Pss of a consumer before it receives the tensor; `None` for records of earlier releases.
    pub own_range: Option<(f64, f64)>,
    /// Pss of a consumer that has the tensor.
    pub consumer: f64,
    /// Resident set size of a consumer that has the tensor.
    pub consumer_rss: f64,
    /// Memory of the tensor in the host and all consumers: its Pss, or the GPU memory that it takes.
    pub tensor: f64,
    /// GPU memory of the tensor and of the consumers' CUDA contexts; `None` if the tensor is in host memory.
    pub vram: Option<f64>,
    /// Memory that separate copies of the tensor in the host and in each consumer need.
    pub copies: f64,
    /// Change in the Pss of the host and its consumers from one distribution to the next.
    pub slope: f64,
}

impl FootprintMedians {
    /// Memory saved compared with separate copies in the host and in each consumer, in bytes; 0 if nothing is saved.
    pub fn saved_bytes(&self) -> f64 {
        (self.copies - self.tensor).max(0.0)
    }

    /// Saved memory as a fraction of the memory that separate copies in the host and in each consumer need.
    pub fn saved_share(&self) -> f64 {
        self.saved_bytes() / self.copies
    }
}

/// Summarizes the cases of an arm at one size; `None` if no case was recorded.
pub(super) fn summary(footprint: &FootprintWorkload, cell: &CellCases<'_>) -> Option<FootprintSummary> {
    let (first, _) = cell.cases.first()?;
    let needs_gpu = cell.scenario.assignment.needs_gpu();
    let SectionOutcome { section, problem } = SectionOutcome::new(needs_gpu, cell.cases);
    let (cause, message) = problem.unzip();
    Some(FootprintSummary {
        section,
        cause,
        message,
        consumers: footprint.consumers,
        memory: medians(cell.rounds, first.size_bytes, footprint.consumers),
    })
}

fn medians(rounds: &Rounds<'_>, size_bytes: u64, consumers: u32) -> Option<FootprintMedians> {
    let optional_median = |value: fn(&FootprintReport) -> Option<f64>| {
        rounds
            .median_of_pairs(|case: &Measurement| value(case.initiator.posted.as_ref()?.footprint.as_ref()?))
    };
    let median = |value: fn(&FootprintReport) -> f64| {
        rounds.median_of_pairs(|case: &Measurement| {
            Some(value(case.initiator.posted.as_ref()?.footprint.as_ref()?))
        })
    };
    let own_min = optional_median(|one| Some(one.own_pss_min_bytes? as f64));
    let own_max = optional_median(|one| Some(one.own_pss_max_bytes? as f64));
    let consumers = f64::from(consumers);
    Some(FootprintMedians {
        baseline: median(|one| one.baseline_pss_bytes as f64)?,
        baseline_rss: median(|one| one.baseline_rss_bytes as f64)?,
        own: median(|one| one.own_pss_bytes as f64)? / consumers,
        own_range: own_min.zip(own_max),
        consumer: median(|one| one.consumers_pss_bytes as f64)? / consumers,
        consumer_rss: median(|one| one.consumers_rss_bytes as f64)? / consumers,
        tensor: median(|one| one.tensor_pss_bytes as f64)?,
        vram: optional_median(|one| Some(one.vram_bytes? as f64)),
        copies: size_bytes as f64 * (consumers + 1.0),
        slope: median(|one| one.slope_bytes)?,
    })
}

#[cfg(test)]
mod tests {
    use crds::record::{Posted, SideReport};

    use super::*;

    fn case(report: FootprintReport) -> Measurement {
        Measurement {
            initiator: SideReport {
                posted: Some(Posted {
                    footprint: Some(report),
                    ..Posted::default()
                }),
                ..SideReport::default()
            },
            target: SideReport::default(),
        }
    }

    fn by_round(cases: &[Measurement]) -> Rounds<'_> {
        let mut rounds = Rounds::new(false);
        (1..).zip(cases).for_each(|(round, case)| rounds.add(round, case));
        rounds
    }

    #[test]
    fn savings_are_relative_to_a_copy_in_every_process() {
        let report = |tensor_pss_bytes| FootprintReport {
            consumers: 4,
            baseline_pss_bytes: 500,
            baseline_rss_bytes: 700,
            own_pss_bytes: 400,
            own_pss_min_bytes: Some(90),
            own_pss_max_bytes: Some(120),
            consumers_pss_bytes: 4400,
            consumers_rss_bytes: 8000,
            tensor_pss_bytes,
            vram_bytes: Some(7000),
            slope_bytes: -3.0,
        };
        let cases = [case(report(1000)), case(report(1020)), case(report(1000))];
        let rounds = by_round(&cases);
        let found = medians(&rounds, 1000, 4).unwrap();
        assert_eq!(
            (found.own, found.consumer, found.consumer_rss),
            (100.0, 1100.0, 2000.0)
        );
        assert_eq!(found.own_range, Some((90.0, 120.0)));
        assert_eq!(found.vram, Some(7000.0));
        assert_eq!((found.baseline, found.baseline_rss), (500.0, 700.0));
        assert_eq!((found.tensor, found.copies, found.slope), (1000.0, 5000.0, -3.0));
        assert_eq!((found.saved_bytes(), found.saved_share()), (4000.0, 0.8));
        // Copies that occupy more than their payload save nothing.
        let cases = [case(report(5100))];
        let rounds = by_round(&cases);
        assert_eq!(medians(&rounds, 1000, 4).unwrap().saved_bytes(), 0.0);
        assert_eq!(medians(&Rounds::new(false), 1000, 4), None);
    }
}
