//! The words in which every format answers.

use std::collections::{BTreeMap, BTreeSet};

use crds::record::LibraryFacts;
use crds::v1alpha1::{
    Engagement, ExpectationOutcome, FabricProof, MemoryKind, Metric, Optimization, TransportSpec, Verdict,
};

use super::Report;
use crate::campaign::compare::{Comparison, ExpectationAnswer, Role, Withheld, metric_name};
use crate::campaign::format;
use crate::campaign::plan::PlannedScenario;
use crate::campaign::summarize::{CellSummary, FabricEvidence};

/// What a cell comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Improved.
    Better,
    /// Regressed.
    Worse,
    /// No change, shown.
    Same,
    /// Inconclusive.
    Open,
    /// Nothing to compare here, by plan.
    NotApplicable,
    /// The optimization did not take part.
    NotEngaged,
    /// The numbers cannot be trusted.
    Invalid,
}

/// What one comparison answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What it comes to.
    pub tone: Tone,
    /// In a word: a verdict, or why there is none.
    pub word: &'static str,
    /// The change with its interval, such as `-6.2 % [-7.9, -4.4]`.
    pub change: Option<String>,
    /// What the word needs to be understood.
    pub reason: Option<String>,
}

impl Answer {
    /// All of it in a line.
    pub fn line(&self) -> String {
        let Self {
            tone,
            word,
            change,
            reason,
        } = self;
        match (tone, change, reason) {
            (Tone::Better | Tone::Worse | Tone::Same | Tone::Open, Some(change), None) => {
                format!("{change} {word}")
            }
            (Tone::Open, Some(change), Some(reason)) => format!("{change} {word}: {reason}"),
            (Tone::NotApplicable, Some(change), Some(reason)) => format!("{word}: {reason} ({change})"),
            (_, _, Some(reason)) => format!("{word}: {reason}"),
            (_, _, None) => (*word).to_owned(),
        }
    }
}

/// What `comparison` answers.
pub fn answer(comparison: &Comparison) -> Answer {
    let (tone, word) = match (comparison.verdict, &comparison.reason) {
        (Some(Verdict::Improved), _) => (Tone::Better, "Improved"),
        (Some(Verdict::Regressed), _) => (Tone::Worse, "Regressed"),
        (Some(Verdict::NoChange), _) => (Tone::Same, "NoChange"),
        (Some(Verdict::Inconclusive), _) => (Tone::Open, "Inconclusive"),
        (None, Some(Withheld::NotEngaged { .. })) => (Tone::NotEngaged, "NotEngaged"),
        (None, Some(Withheld::Identical { .. })) => (Tone::NotApplicable, "n/a"),
        (None, Some(Withheld::Control)) => (Tone::NotApplicable, "control"),
        (None, Some(Withheld::NotPrimary)) => (Tone::NotApplicable, "described"),
        (None, Some(Withheld::NotYet { .. })) => (Tone::NotApplicable, "not measured yet"),
        (None, _) => (Tone::Invalid, "invalid"),
    };
    let reason = match (&comparison.reason, comparison.rounds_to_settle) {
        (Some(Withheld::NotEngaged { message, .. } | Withheld::Identical { message }), _) => {
            Some(message.clone())
        }
        (Some(Withheld::NotYet { .. }), _) => None,
        (Some(Withheld::Control), _) => Some("the noise floor".to_owned()),
        (Some(Withheld::NotPrimary), _) => Some("no verdict on this metric".to_owned()),
        (Some(Withheld::ControlViolated { .. }), _) => comparison
            .reason
            .as_ref()
            .map(|reason| reason.to_string().replacen("invalid: ", "", 1)),
        (Some(reason), _) => Some(reason.to_string()),
        (None, Some(rounds)) => Some(format!("needs {rounds}")),
        (None, None) => None,
    };
    Answer {
        tone,
        word,
        change: change(comparison),
        reason,
    }
}

/// The change with its interval, or without one where there is none.
pub fn change(comparison: &Comparison) -> Option<String> {
    let effect = format::percent(comparison.effect?.percent);
    Some(match comparison.interval_percent() {
        Some((low, high)) => format!("{effect} {}", format::interval(low, high)),
        None => effect,
    })
}

/// `value` of `metric` with its unit.
pub fn figure(metric: Metric, value: f64) -> String {
    match metric {
        Metric::LatencyP50 | Metric::LatencyP95 | Metric::LatencyP99 | Metric::LatencyP999 => {
            format::nanos(value)
        }
        Metric::Throughput => format::bytes_per_second(value),
        Metric::CompletionRate => format::per_second(value),
        Metric::CpuSecondsPerGib => format!("{value:.2} s/GiB"),
    }
}

/// Name of the metric in the scenario: half a round trip is a one-way latency.
pub fn metric_title(ping_pong: bool, metric: Metric) -> String {
    let latency = !matches!(
        metric,
        Metric::Throughput | Metric::CompletionRate | Metric::CpuSecondsPerGib
    );
    match (latency, ping_pong) {
        (true, true) => format!("one-way {}", metric_name(metric)),
        (true, false) => format!("post-to-completion {}", metric_name(metric)),
        (false, _) => metric_name(metric).to_owned(),
    }
}

/// What the baseline did at a size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// The figure with its unit.
    Measured(String),
    /// No case can be trusted: why.
    Invalid(String),
    /// There is no case yet.
    NotYet,
}

impl Baseline {
    /// All of it in a line.
    pub fn line(&self) -> String {
        match self {
            Self::Measured(figure) => figure.clone(),
            Self::Invalid(reason) => format!("invalid: {reason}"),
            Self::NotYet => "not measured yet".to_owned(),
        }
    }
}

/// What the baseline did at `size` on the primary metric, or why there is no such number.
pub fn baseline(report: &Report<'_>, index: usize, scenario: &PlannedScenario, size: u64) -> Baseline {
    let cell = report.evaluation.summary.cell(index, size, report.plan.baseline);
    match (cell.and_then(|cell| cell.metric(scenario.primary)), cell) {
        (Some(spread), _) => Baseline::Measured(figure(scenario.primary, spread.median)),
        (None, Some(cell)) if cell.cases > 0 => Baseline::Invalid(
            cell.invalid_reason()
                .unwrap_or_else(|| "no case has this figure".to_owned()),
        ),
        (None, _) => Baseline::NotYet,
    }
}

/// Whether nothing says yet if the variant is worse here: no verdict, or one that settles nothing.
pub fn is_open(comparison: &Comparison) -> bool {
    comparison.role == Role::Variant && matches!(comparison.verdict, None | Some(Verdict::Inconclusive))
}

/// A complete run of which nothing is missed, in a sentence: that nothing got worse only where all of it was shown.
pub fn passed(report: &Report<'_>) -> (Tone, String) {
    let comparisons = &report.evaluation.comparisons;
    let variants = || comparisons.primary().filter(|one| one.role == Role::Variant);
    let expectations = comparisons.expectations.iter();
    let unsettled = expectations.filter(|answer| answer.outcome == ExpectationOutcome::Inconclusive);
    let counts = [
        (
            variants().filter(|one| is_open(one)).count(),
            variants().count(),
            "comparisons",
        ),
        (unsettled.count(), comparisons.expectations.len(), "expectations"),
    ];
    let open = counts.iter().filter(|(open, ..)| *open > 0);
    let open: Vec<String> = open
        .map(|(open, all, what)| format!("{open} of {all} {what}"))
        .collect();
    if !open.is_empty() {
        let said = "Complete; no expectation was missed and no regression was shown, but open are";
        return (Tone::NotApplicable, format!("{said} {}.", open.join(" and ")));
    }
    match variants().next() {
        Some(_) => (
            Tone::Better,
            "Complete; no expectation was missed, nothing got worse.".to_owned(),
        ),
        None => (
            Tone::NotApplicable,
            "Complete; there was nothing to compare.".to_owned(),
        ),
    }
}

/// What became of an expectation, in a word or a few.
pub fn outcome(answer: &ExpectationAnswer) -> &'static str {
    match answer.outcome {
        ExpectationOutcome::Met if answer.above_maximum => "Met, and more than expected",
        ExpectationOutcome::Met => "Met",
        ExpectationOutcome::NotMet => "NotMet",
        ExpectationOutcome::Inconclusive => "Inconclusive",
    }
}

/// Name of an optimization.
pub fn optimization(optimization: Optimization) -> &'static str {
    match optimization {
        Optimization::Inject => "inject",
        Optimization::Doorbell => "doorbell",
        Optimization::Coalesce => "coalesce",
    }
}

/// Name of a proof.
pub fn proof(proof: FabricProof) -> &'static str {
    match proof {
        FabricProof::Verified => "verified",
        FabricProof::Declared => "declared only",
        FabricProof::Contradicted => "contradicted",
    }
}

/// The fabric in a line.
pub fn fabric(fabric: Option<&FabricEvidence>) -> String {
    let Some(fabric) = fabric else {
        return "nothing was measured yet".to_owned();
    };
    let word = proof(fabric.proof);
    match (fabric.proof, fabric.counted_bytes) {
        (FabricProof::Verified, Some(counted)) => format!(
            "{word}: {} counted {} for {} of payload",
            fabric.interfaces.join(", "),
            format::bytes(counted),
            format::bytes(fabric.payload_bytes)
        ),
        _ => format!("{word}: {}", fabric.reason),
    }
}

/// Library and provider: what was asked for, and in brackets what was returned where its name differs.
pub fn transport(report: &Report<'_>) -> String {
    let arms = &report.evaluation.summary.environment.arms;
    let mut versions: Vec<String> = Vec::new();
    for arm in arms {
        if let Some(library) = &arm.fabric.library
            && !versions.contains(&library.version)
        {
            versions.push(library.version.clone());
        }
    }
    let library = report.plan.transport.library();
    let asked = match &report.plan.transport {
        TransportSpec::Libfabric(libfabric) => libfabric.provider.name(),
        TransportSpec::Loopback(_)
        | TransportSpec::Ucx(_)
        | TransportSpec::Nixl(_)
        | TransportSpec::Verbs(_) => "",
    };
    let returned: BTreeSet<&str> = arms.iter().map(|arm| arm.fabric.provider.as_str()).collect();
    let returned: Vec<&str> = returned
        .into_iter()
        .filter(|name| *name != asked && *name != library)
        .collect();
    let mut words = vec![library.to_owned()];
    if !versions.is_empty() {
        words.push(versions.join(" and "));
    }
    if !asked.is_empty() {
        words.push(asked.to_owned());
    }
    if !returned.is_empty() {
        words.push(format!("({})", returned.join(", ")));
    }
    words.join(" ")
}

/// Version and file of the library of each arm, where not all arms have the same.
pub fn libraries(report: &Report<'_>) -> Option<String> {
    let mut arms_of: Vec<(&LibraryFacts, Vec<&str>)> = Vec::new();
    for arm in &report.evaluation.summary.environment.arms {
        let Some(library) = &arm.fabric.library else {
            continue;
        };
        match arms_of.iter_mut().find(|(known, _)| *known == library) {
            Some((_, arms)) => arms.push(&arm.arm),
            None => arms_of.push((library, vec![&arm.arm])),
        }
    }
    let said = arms_of.iter().map(|(library, arms)| {
        let LibraryFacts {
            name, version, path, ..
        } = library;
        format!("{}: {name} {version} ({path})", arms.join(", "))
    });
    (arms_of.len() > 1).then(|| said.collect::<Vec<_>>().join("; "))
}

/// Rails, memory, workers, rounds, seed and duration.
pub fn setting(report: &Report<'_>) -> Vec<String> {
    let plan = report.plan;
    let mut memory: Vec<&str> = Vec::new();
    for scenario in &plan.scenarios {
        let kind = match scenario.assignment.memory {
            MemoryKind::Heap => "heap",
            MemoryKind::HugePages => "huge pages",
            MemoryKind::SharedMemory => "shared memory",
            MemoryKind::Cuda => "GPU memory",
        };
        if !memory.contains(&kind) {
            memory.push(kind);
        }
    }
    let environment = &report.evaluation.summary.environment;
    let hosts: BTreeSet<&str> = environment
        .workers
        .iter()
        .map(|worker| worker.hello.environment.hostname.as_str())
        .collect();
    let place = match hosts.len() {
        1 => " on one machine",
        _ => "",
    };
    let counted = |count: u32, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut said = vec![
        counted(plan.transport.rails(), "rail"),
        memory.join(", "),
        format!("{}{place}", counted(plan.workers, "worker")),
        counted(plan.rounds, "round"),
        format!("seed {}", plan.sampling.seed),
    ];
    if environment.duration_nanos > 0 {
        said.push(format::duration(environment.duration_nanos));
    }
    said
}

/// How far the numbers move where nothing changes: the widest interval of a control arm on the primary metric, of one
/// scenario or of all, and how many of the sizes have one.
pub fn noise(report: &Report<'_>, scenario: Option<usize>) -> String {
    let mut floor: Option<f64> = None;
    let mut known: BTreeMap<(usize, u64), bool> = BTreeMap::new();
    let controls = report.evaluation.comparisons.primary().filter(|one| {
        one.role == Role::ControlArm && scenario.is_none_or(|scenario| one.scenario == scenario)
    });
    for control in controls {
        let ends = control.interval_percent();
        // A run may have a control arm for each separation: a size is covered where all have an interval.
        *known
            .entry((control.scenario, control.size_bytes))
            .or_insert(true) &= ends.is_some();
        if let Some((low, high)) = ends {
            floor = Some(low.abs().max(high.abs()).max(floor.unwrap_or_default()));
        }
    }
    let covered = known.values().filter(|known| **known).count();
    match (floor, known.len()) {
        (_, 0) => "not known: the run has no control arm (sampling.control)".to_owned(),
        (None, _) => "not known: too few valid rounds for an interval of the control arm".to_owned(),
        (Some(floor), sizes) if covered == sizes => {
            format!("within ±{floor:.1} % (control arm, all sizes)")
        }
        (Some(floor), sizes) => {
            format!("within ±{floor:.1} % (control arm, {covered} of {sizes} sizes)")
        }
    }
}

/// One optimization of one arm in one scenario: for each kind of engagement the sizes and the reason of the first.
pub fn engagements(cells: &[&CellSummary], wanted: Optimization) -> Vec<(Engagement, Vec<u64>, String)> {
    let mut kinds: Vec<(Engagement, Vec<u64>, String)> = Vec::new();
    for cell in cells {
        for evidence in cell
            .evidence
            .iter()
            .filter(|evidence| evidence.optimization == wanted)
        {
            match kinds
                .iter_mut()
                .find(|(engagement, ..)| *engagement == evidence.engagement)
            {
                Some((_, sizes, _)) => sizes.push(cell.size_bytes),
                None => kinds.push((
                    evidence.engagement,
                    vec![cell.size_bytes],
                    evidence.reason.clone(),
                )),
            }
        }
    }
    kinds
}

/// Sizes in a list: `64 B, 128 B`.
pub fn sizes(sizes: &[u64]) -> String {
    sizes
        .iter()
        .map(|bytes| format::size(*bytes))
        .collect::<Vec<_>>()
        .join(", ")
}
