//! Setup costs of an arm before its first measured operation: one value for each round, since every round starts new
//! processes. Restarts within a round do not count.

use std::collections::BTreeMap;

use crds::record::ColdRecord;
use serde::Serialize;

use super::round_summary::RoundSummary;
use crate::collect::Reports;
use crate::plan::Plan;
use crate::stats::median_of;

/// A setup step before the first measured operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SetupStep {
    /// Time to load the library and to initialize its providers.
    Load,
    /// Time to start the measuring thread.
    ThreadStart,
    /// Time to open the fabric, domains and endpoints.
    Open,
    /// Time to register all buffers on all rails.
    Registration,
    /// Time to insert the addresses of all peers.
    AddressInsertion,
    /// Time from the first post to its completion.
    FirstPost,
    /// Time to prepare the requests of all cases.
    Preparation,
}

/// All setup steps, in the order in which they run.
pub const SETUP_STEPS: [SetupStep; 7] = [
    SetupStep::Load,
    SetupStep::ThreadStart,
    SetupStep::Open,
    SetupStep::Registration,
    SetupStep::AddressInsertion,
    SetupStep::FirstPost,
    SetupStep::Preparation,
];

impl SetupStep {
    /// Name of the step in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::ThreadStart => "thread start",
            Self::Open => "open",
            Self::Registration => "registration",
            Self::AddressInsertion => "address insertion",
            Self::FirstPost => "first post",
            Self::Preparation => "request preparation",
        }
    }

    fn nanos(self, record: &ColdRecord) -> Option<u64> {
        match self {
            Self::Load => Some(record.load_nanos),
            Self::ThreadStart => record.thread_start_nanos,
            Self::Open => Some(record.open_nanos),
            Self::Registration => Some(record.registration_nanos),
            Self::AddressInsertion => Some(record.address_insertion_nanos),
            Self::FirstPost => record.first_post_nanos,
            Self::Preparation => record.preparation_nanos,
        }
    }
}

/// Setup costs of one arm before its first measured operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetupCostSummary {
    /// Index of the arm in the plan.
    pub arm: usize,
    /// Largest number of bytes that any worker registered.
    pub registered_bytes: u64,
    /// Duration of each step in nanoseconds: for each round, the median over the workers.
    pub nanos: BTreeMap<SetupStep, RoundSummary>,
}

/// Summarizes the setup costs of every arm that has cold records.
pub(in crate::summarize) fn cold(plan: &Plan, reports: &Reports) -> Vec<SetupCostSummary> {
    let summarize_arm = |(arm, name): (usize, &str)| {
        let records = || {
            reports
                .cold
                .iter()
                .map(|from| &from.record)
                .filter(|record| record.arm == name)
        };
        let registered_bytes = records().map(|record| record.registered_bytes).max()?;
        let summary = |step: SetupStep| {
            let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
            for record in records() {
                let nanos = step.nanos(record).map(|nanos| nanos as f64);
                rounds.entry(record.round).or_default().extend(nanos);
            }
            let values = rounds.iter_mut();
            let values = values.filter_map(|(round, nanos)| median_of(nanos).map(|nanos| (*round, nanos)));
            RoundSummary::from_rounds(values.collect()).map(|summary| (step, summary))
        };
        Some(SetupCostSummary {
            arm,
            registered_bytes,
            nanos: SETUP_STEPS.into_iter().filter_map(summary).collect(),
        })
    };
    let arms = plan.arms.iter().map(|arm| arm.name.as_str()).enumerate();
    arms.filter_map(summarize_arm).collect()
}
