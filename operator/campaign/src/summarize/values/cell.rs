//! Results of one arm at one size, over all rounds and pairs.

use std::collections::{BTreeMap, BTreeSet};

use crds::assignment::Pass;
use crds::record::{CaseResult, Measurement, PostingCounters, ProtocolUse};
use crds::v1alpha1::{Answer, FabricProof, Metric, TransportSpec};
use serde::Serialize;

use super::disturbance::Disturbance;
use super::flows::{FlowsSummary, flows};
use super::load::completed_share;
use super::observations::{Observations, observations};
use super::round_summary::RoundSummary;
use super::rounds::Rounds;
use crate::collect::{Case, Reports};
use crate::pilot::iterations_of;
use crate::plan::{Plan, PlannedScenario};
use crate::stats::{BoundedValue, Distribution, median_of};
use crate::summarize::evidence::difference_evidence::DifferenceEvidence;
use crate::summarize::evidence::differences;
use crate::summarize::evidence::offload::OperationProtocols;
use crate::summarize::evidence::optimizations::Evidence;
use crate::summarize::evidence::settings::{self, SettingsEvidence};
use crate::summarize::evidence::{offload, optimizations as evidence};
use crate::summarize::statistic::{METRICS, bounded_statistic, cpu_percent};
use crate::summarize::validity::case_check::{CaseCheck, CaseProof, Invalid};
use crate::summarize::workers::clock::clock_nanos;
use crate::summarize::workers::configurations::ConfigurationIndex;
use crate::summarize::workers::endpoints::EndpointIndex;
use crate::workload::footprint::summary::FootprintSummary;
use crate::workload::rpc::summary::CallSummary;
use crate::workload::{CellCases, rules};

/// Results of one arm at one size, over all rounds and pairs.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CellSummary {
    /// Index of the scenario in the plan.
    pub scenario: usize,
    /// Message or transfer size in bytes.
    pub size_bytes: u64,
    /// Index of the arm in the plan.
    pub arm: usize,
    /// Number of recorded cases. For the many-to-many pattern, there is one case per flow.
    pub cases: u32,
    /// Number of valid cases.
    pub valid_cases: u32,
    /// Number of rounds with at least one recorded case.
    pub recorded_rounds: u32,
    /// Rounds with at least one valid case.
    pub valid_rounds: Vec<u32>,
    /// Number of operations per thread, if it is the same in all valid cases.
    pub iterations: Option<u32>,
    /// Invalid cases, grouped by the type of their reason, most frequent first.
    pub invalid: Vec<InvalidCases>,
    /// Merged latencies of all valid cases, in nanoseconds.
    pub latency: Distribution,
    /// Smallest latency of a valid case, in nanoseconds.
    pub min_nanos: Option<u64>,
    /// Largest latency of a valid case, in nanoseconds.
    pub max_nanos: Option<u64>,
    /// Percentiles of the raw samples, if they were recorded.
    pub exclusive_quantiles: Option<ExclusiveMedians>,
    /// For each metric, one value per round: the median over pairs. The units are nanoseconds, bytes per second,
    /// operations per second, and seconds per GiB.
    pub metrics: BTreeMap<Metric, RoundSummary>,
    /// Metrics that a command's tool printed as 0 in a valid case, so that they are below its resolution. They are not
    /// in `metrics`.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub below_resolution: BTreeSet<Metric>,
    /// For each metric that a command's tool printed, the least and the greatest true value of each round that is printed
    /// in this way: the medians over pairs. Empty in records of earlier releases, whose values are taken as exact.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub printed_ranges: BTreeMap<Metric, BTreeMap<u32, (f64, f64)>>,
    /// Completed rate of an open loop as a fraction of its intended rate: the median over the rounds, where the value
    /// of a round is the median over its pairs. `None` for other workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_share: Option<f64>,
    /// Total CPU use of both workers, as a percentage of one CPU: the median over the rounds, where the value of a
    /// round is the median over its pairs.
    pub cpu_percent: Option<f64>,
    /// Additional observations, such as the mean round trip, directions, flushes and pings.
    pub observations: Observations,
    /// Values specific to calls; `None` for other workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallSummary>,
    /// Memory use of the host and the consumers; `None` for other workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub footprint: Option<FootprintSummary>,
    /// Flow rates of the many-to-many pattern; `None` for other patterns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<FlowsSummary>,
    /// Evidence for each optimization that the arm requests.
    pub evidence: Vec<Evidence>,
    /// Weakest proof among the measured cases.
    pub fabric: Option<CaseProof>,
    /// Other work on the machines and interfaces in the valid cases; `None` if nothing is known about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disturbance: Option<Disturbance>,
    /// Whether the provider executed the operations in software; `None` if the question does not apply to these
    /// operations.
    pub emulated: Option<Answer>,
    /// Protocols that the library used for the scenario's operations at this size. Empty if it does not report them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<ProtocolUse>,
    /// Evidence about the UCX settings in which the arm differs from the baseline; `None` if there are no such
    /// settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<SettingsEvidence>,
    /// Evidence about the environment variables, the library and the image in which the arm differs from the baseline.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<DifferenceEvidence>,
    /// Posting counters of all valid cases, combined by [`PostingCounters::merge`].
    pub counters: PostingCounters,
}

/// Invalid cases with the same type of reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InvalidCases {
    /// Reason for the first of these cases.
    pub example: Invalid,
    /// Round of the first of these cases.
    pub round: u32,
    /// Number of cases.
    pub cases: u32,
}

/// Medians, over rounds and pairs, of percentiles computed from raw samples by exclusive interpolation.
///
/// They are reported in addition to the histogram percentiles, for comparison with scripts that use this interpolation.
/// Unlike histograms, percentiles cannot be merged, so their medians are reported.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExclusiveMedians {
    /// Median, in nanoseconds.
    pub p50_nanos: f64,
    /// 95th percentile, in nanoseconds.
    pub p95_nanos: f64,
    /// 99th percentile, in nanoseconds.
    pub p99_nanos: f64,
}

impl CellSummary {
    /// Message with the most frequent reason for invalid cases.
    pub fn invalid_reason(&self) -> Option<String> {
        let first = self.invalid.first()?;
        Some(format!(
            "{} of {} cases: {}",
            first.cases, self.cases, first.example
        ))
    }

    /// Reason for the first failure if every case failed; `None` otherwise.
    pub fn failure(&self) -> Option<String> {
        self.invalid.iter().find_map(|kind| match &kind.example {
            Invalid::Failed { failure, message } if kind.cases == self.cases => {
                Some(format!("{failure:?}: {message}"))
            }
            _ => None,
        })
    }

    /// Values of `metric`, one for each round.
    pub fn metric(&self, metric: Metric) -> Option<&RoundSummary> {
        self.metrics.get(&metric)
    }
}

/// A case and its validity.
type CheckedCase<'a> = (&'a Case, &'a CaseCheck);

/// Summarizes every cell of the plan, in plan order.
pub(in crate::summarize) fn cells(
    plan: &Plan,
    reports: &Reports,
    validities: &[CaseCheck],
    endpoints: &EndpointIndex<'_>,
    configurations: &ConfigurationIndex<'_>,
) -> Vec<CellSummary> {
    let mut cases_of_cell: BTreeMap<_, Vec<CheckedCase<'_>>> = BTreeMap::new();
    for (case, validity) in reports.cases.iter().zip(validities) {
        if case.pass == Pass::Measure {
            let key = (case.scenario, case.size_bytes, case.arm);
            cases_of_cell.entry(key).or_default().push((case, validity));
        }
    }
    let clock_nanos = clock_nanos(reports);
    let mut cells = Vec::new();
    for (index, scenario) in plan.scenarios.iter().enumerate() {
        let differences: Vec<Vec<DifferenceEvidence>> = (0..plan.arms.len())
            .map(|arm| differences::assess(plan, scenario, arm, configurations))
            .collect();
        for size_bytes in &scenario.sizes {
            for arm in 0..plan.arms.len() {
                let cases = cases_of_cell
                    .remove(&(index, *size_bytes, arm))
                    .unwrap_or_default();
                let mut cell = cell(plan, scenario, (*size_bytes, arm), &cases, clock_nanos);
                (cell.scenario, cell.size_bytes, cell.arm) = (index, *size_bytes, arm);
                let planned = plan.cell(index, *size_bytes, arm);
                let found = planned.map_or_else(OperationProtocols::default, |planned| {
                    offload::protocols_of(plan, scenario, planned, endpoints)
                });
                cell.emulated = offload::emulation_answer(scenario, endpoints, arm, &found);
                cell.protocols = found.uses().cloned().collect();
                cell.differences = differences.get(arm).cloned().unwrap_or_default();
                if let Some(planned) = planned {
                    cell.settings = settings::assess(plan, scenario, planned, endpoints);
                    let baseline = plan.cell(index, *size_bytes, plan.baseline);
                    let valid: Vec<&Measurement> =
                        valid_measurements(&cases).map(|(_, measured)| measured).collect();
                    // Rank 0 represents all workers: a run is valid only if they have the same kind of device.
                    let facts = endpoints.first(0, arm);
                    let inline_bytes = facts.and_then(|facts| facts.offload.inline_bytes);
                    let rails = plan.transport.rails();
                    let transport = plan.arms.get(arm).map(|arm| plan.transport_of(arm));
                    let over_verbs = matches!(transport, Some(TransportSpec::Verbs(_)));
                    cell.evidence = evidence::cell_evidence(
                        planned,
                        baseline,
                        &cell.counters,
                        &valid,
                        rails,
                        inline_bytes,
                        over_verbs,
                    );
                }
                cells.push(cell);
            }
        }
    }
    cells
}

/// Returns the valid cases with their measurements.
fn valid_measurements<'a>(cases: &'a [CheckedCase<'a>]) -> impl Iterator<Item = (&'a Case, &'a Measurement)> {
    let valid = cases.iter().filter(|(_, validity)| validity.is_valid());
    valid.filter_map(|(case, _)| match &case.outcome {
        CaseResult::Measured(measured) => Some((*case, measured.as_ref())),
        CaseResult::Checked(_) | CaseResult::Failed(_) => None,
    })
}

fn cell(
    plan: &Plan,
    scenario: &PlannedScenario,
    (size_bytes, arm): (u64, usize),
    cases: &[CheckedCase<'_>],
    clock_nanos: Option<f64>,
) -> CellSummary {
    let workload = &scenario.assignment.workload;
    let mut cell = CellSummary {
        cases: cases.len() as u32,
        recorded_rounds: cases
            .iter()
            .map(|(case, _)| case.round)
            .collect::<BTreeSet<_>>()
            .len() as u32,
        invalid: invalid(cases),
        fabric: cases
            .iter()
            .filter_map(|(_, validity)| validity.proof.clone())
            .min_by_key(|proof: &CaseProof| proof.proof),
        ..CellSummary::default()
    };
    let mut rounds = Rounds::new(plan.many_to_many.is_some());
    let mut exclusive = [Vec::new(), Vec::new(), Vec::new()];
    for (case, measured) in valid_measurements(cases) {
        cell.valid_cases += 1;
        rounds.add(case.round, measured);
        measured
            .posters(workload)
            .for_each(|posted| cell.latency.add_latencies(posted));
        // A command's posts have no latencies.
        let posters = measured.posters(workload).filter(|_| workload.tool().is_none());
        for posted in posters {
            cell.min_nanos = Some(
                cell.min_nanos
                    .map_or(posted.min_nanos, |min| min.min(posted.min_nanos)),
            );
            cell.max_nanos = Some(
                cell.max_nanos
                    .map_or(posted.max_nanos, |max| max.max(posted.max_nanos)),
            );
            cell.counters.merge(&posted.counters);
            if let Some(quantiles) = &posted.exclusive_quantiles {
                let values = [quantiles.p50_nanos, quantiles.p95_nanos, quantiles.p99_nanos];
                exclusive
                    .iter_mut()
                    .zip(values)
                    .for_each(|(list, value)| list.push(value));
            }
        }
    }
    let [p50, p95, p99] = &mut exclusive;
    cell.exclusive_quantiles =
        median_of(p50)
            .zip(median_of(p95))
            .zip(median_of(p99))
            .map(|((p50_nanos, p95_nanos), p99_nanos)| ExclusiveMedians {
                p50_nanos,
                p95_nanos,
                p99_nanos,
            });
    let mut iterations = rounds.cases().map(|measured| iterations_of(workload, measured));
    let first = iterations.next().flatten();
    cell.iterations = first.filter(|_| iterations.all(|count| count == first));
    cell.cpu_percent = rounds.median(|cases| cpu_percent(workload, cases));
    cell.observations = observations(workload, &rounds);
    let own = rules(workload).own_results(&CellCases {
        scenario,
        size_bytes,
        many_to_many: plan.many_to_many,
        cases,
        rounds: &rounds,
        clock_nanos,
        median_nanos: cell.latency.quantile(0.5),
    });
    cell.observations.serving = own.serving;
    cell.call = own.call;
    cell.footprint = own.footprint;
    cell.completed_share = rounds.median_of_pairs(|case| completed_share(workload, case));
    let have_rates = plan.many_to_many.is_some() && rules(workload).has_flow_rates();
    cell.flows = have_rates.then(|| flows(valid_measurements(cases))).flatten();
    cell.valid_rounds = rounds.numbers().collect();
    let moves_payload = plan.moves_payload(scenario, arm, size_bytes);
    for metric in METRICS {
        let value = |cases: &[&Measurement]| bounded_statistic(workload, moves_payload, cases, metric);
        let below = |case: &Measurement| value(&[case]).is_some_and(|value| value.is_below_resolution());
        let is_printed = workload.tool().is_some();
        if is_printed && rounds.cases().any(below) {
            // The other cases would be a selection by their values.
            cell.below_resolution.insert(metric);
            continue;
        }
        let medians = |select: fn(BoundedValue) -> f64| rounds.medians(|cases| value(cases).map(select));
        if is_printed {
            let ranges = medians(|value| value.least)
                .into_iter()
                .zip(medians(|value| value.most));
            let ranges: BTreeMap<u32, (f64, f64)> = ranges
                .map(|((round, least), (_, most))| (round, (least, most)))
                .collect();
            if ranges.values().any(|(least, most)| least < most) {
                cell.printed_ranges.insert(metric, ranges);
            }
        }
        let summary = RoundSummary::from_rounds(medians(|value| value.value));
        cell.metrics.extend(summary.map(|summary| (metric, summary)));
    }
    cell
}

fn invalid(cases: &[CheckedCase<'_>]) -> Vec<InvalidCases> {
    let mut kinds: Vec<InvalidCases> = Vec::new();
    for (case, validity) in cases {
        for reason in &validity.invalid {
            let kind = std::mem::discriminant(reason);
            let known = kinds
                .iter_mut()
                .find(|known| std::mem::discriminant(&known.example) == kind);
            match known {
                Some(known) => known.cases += 1,
                None => kinds.push(InvalidCases {
                    example: reason.clone(),
                    round: case.round,
                    cases: 1,
                }),
            }
        }
    }
    // The reason for an invalid flow explains why the others are invalid.
    kinds.sort_by_key(|kind| {
        let is_consequence = matches!(kind.example, Invalid::FlowInvalid { .. });
        (is_consequence, std::cmp::Reverse(kind.cases))
    });
    kinds
}

impl CellSummary {
    /// Proof of the cell if it is `proof`.
    pub fn proof_if(&self, proof: FabricProof) -> Option<&CaseProof> {
        self.fabric.as_ref().filter(|found| found.proof == proof)
    }
}
