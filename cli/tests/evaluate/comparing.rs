//! Verdicts for planted effects, and comparisons that must not have a verdict.

use campaign::compare::{Comparison, Withheld};
use campaign::format::change;
use campaign::plan::Role;
use campaign::{Evaluation, RunOutcome};
use crds::record::{CaseFailure, CaseResult, FailureReason};
use crds::v1alpha1::{ExpectationOutcome, Metric, Verdict};

use crate::fixture::{ARMS, Campaign};

const KIB: u64 = 1 << 10;

fn comparison<'a>(
    evaluation: &'a Evaluation,
    scenario: usize,
    size: u64,
    arm: &str,
    metric: Metric,
) -> &'a Comparison {
    let arm = ARMS.iter().position(|name| *name == arm).unwrap();
    evaluation.comparisons.find(scenario, size, arm, metric).unwrap()
}

fn planted_campaign() -> Campaign {
    Campaign {
        effects: [
            (("fi-inject", 64), 0.85),
            (("doorbell", 128 * KIB), 1.10),
            (("coalesce", 32 * KIB), 0.90),
            (("combined", 64), 0.80),
        ]
        .into(),
        ..Campaign::default()
    }
}

#[test]
fn finds_only_the_planted_effects() {
    let evaluation = planted_campaign().evaluation();
    let primary = |scenario, size, arm| {
        let metric = [Metric::LatencyP50, Metric::Throughput][scenario];
        comparison(&evaluation, scenario, size, arm, metric)
    };
    let inject = primary(0, 64, "fi-inject");
    assert_eq!(inject.verdict, Some(Verdict::Improved));
    let (low, high) = inject.interval_percent().unwrap();
    assert!(low < -15.0 && -15.0 < high && high - low < 4.0, "[{low}, {high}]");
    assert_eq!(
        primary(1, 128 * KIB, "doorbell").verdict,
        Some(Verdict::Regressed)
    );
    assert_eq!(primary(1, 32 * KIB, "coalesce").verdict, Some(Verdict::Improved));
    assert_eq!(primary(1, 32 * KIB, "doorbell").verdict, Some(Verdict::NoChange));
    let answers = [
        ("fi-inject latency p50", inject, "64 B in small, improved 1 of 2"),
        (
            "doorbell throughput",
            primary(1, 128 * KIB, "doorbell"),
            "128 KiB in mid, regressed 1 of 3",
        ),
        (
            "coalesce throughput",
            primary(1, 32 * KIB, "coalesce"),
            "32 KiB in mid, improved 1 of 1",
        ),
        (
            "combined latency p50",
            primary(0, 64, "combined"),
            "64 B in small, improved 1 of 5",
        ),
    ];
    let answers = answers.map(|(what, one, rest)| {
        let change = change(one.effect.unwrap().percent, one.interval_percent());
        format!("{what} {change} at {rest}")
    });
    assert_eq!(
        evaluation.comparisons.verdict,
        format!("noisy: {}", answers.join("; "))
    );
    assert_eq!(evaluation.outcome(), RunOutcome::Missed);
}

#[test]
fn identical_arms_and_controls_have_an_interval_but_no_verdict() {
    let evaluation = planted_campaign().evaluation();
    let negative = comparison(&evaluation, 1, 64 * KIB, "coalesce", Metric::Throughput);
    assert_eq!((negative.role, negative.verdict), (Role::NegativeControl, None));
    assert!(negative.interval.is_some());
    assert!(
        matches!(&negative.reason, Some(Withheld::Identical { message }) if message.contains("already reach minChunkBytes"))
    );
    let control = comparison(&evaluation, 0, 64, "control", Metric::LatencyP50);
    assert_eq!((control.role, control.verdict), (Role::ControlArm, None));
    assert!(matches!(control.reason, Some(Withheld::Control)));
    let other = comparison(&evaluation, 0, 64, "fi-inject", Metric::LatencyP99);
    assert_eq!((other.primary, other.verdict), (false, None));
    assert!(other.interval.is_some());
}

#[test]
fn optimization_that_did_not_engage_has_no_verdict() {
    let evaluation = planted_campaign().evaluation();
    let over = comparison(&evaluation, 0, 256, "fi-inject", Metric::LatencyP50);
    assert_eq!(over.verdict, None);
    assert!(matches!(&over.reason, Some(Withheld::NotEngaged { message, .. }) if message.contains("128 B")));
}

#[test]
fn violated_control_removes_the_verdicts_of_its_scenario_and_size() {
    let mut campaign = planted_campaign();
    campaign.effects.insert(("control", 64), 0.9);
    let evaluation = campaign.evaluation();
    let inject = comparison(&evaluation, 0, 64, "fi-inject", Metric::LatencyP50);
    assert_eq!(inject.verdict, None);
    assert!(
        inject
            .reason
            .as_ref()
            .unwrap()
            .to_string()
            .starts_with("suspect: the control arm \"control\"")
    );
    assert_eq!(
        comparison(&evaluation, 1, 32 * KIB, "coalesce", Metric::Throughput).verdict,
        Some(Verdict::Improved)
    );
    assert_eq!(evaluation.outcome(), RunOutcome::Suspect);
}

#[test]
fn violated_negative_control_removes_the_verdicts() {
    let mut campaign = planted_campaign();
    campaign.effects.insert(("coalesce", 128 * KIB), 0.9);
    let evaluation = campaign.evaluation();
    let doorbell = comparison(&evaluation, 1, 128 * KIB, "doorbell", Metric::Throughput);
    assert_eq!(doorbell.verdict, None);
    assert!(matches!(doorbell.reason, Some(Withheld::ControlViolated { .. })));
}

#[test]
fn contradicted_fabric_has_no_verdict() {
    let mut campaign = planted_campaign();
    campaign.tweak = |case| {
        if let CaseResult::Measured(measurement) = &mut case.result
            && (case.arm.as_str(), case.size_bytes, case.round) == ("fi-inject", 64, 3)
        {
            measurement.initiator.interfaces[0].tx_bytes = 0;
            measurement.target.interfaces[0].tx_bytes = 0;
        }
    };
    let evaluation = campaign.evaluation();
    let inject = comparison(&evaluation, 0, 64, "fi-inject", Metric::LatencyP50);
    assert_eq!(inject.verdict, None);
    let reason = inject.reason.as_ref().unwrap().to_string();
    assert!(reason.starts_with("fabric contradicted: fi-inject: "), "{reason}");
    assert_eq!(evaluation.outcome(), RunOutcome::Untrusted);
}

#[test]
fn a_failed_arm_explains_its_own_failure_before_that_of_the_baseline() {
    let mut campaign = planted_campaign();
    campaign.tweak = |case| {
        if case.size_bytes == 64 && ["baseline", "fi-inject"].contains(&case.arm.as_str()) {
            case.result = CaseResult::Failed(CaseFailure {
                reason: FailureReason::PeerLost,
                message: format!("no answer of {}", case.arm),
            });
        }
    };
    let evaluation = campaign.evaluation();
    let reason = |arm| {
        let one = comparison(&evaluation, 0, 64, arm, Metric::LatencyP50);
        one.reason.as_ref().unwrap().to_string()
    };
    assert!(reason("fi-inject").starts_with("fi-inject has no valid round: "));
    assert!(reason("doorbell").starts_with("baseline has no valid round: "));
}

#[test]
fn compares_expectations_with_the_intervals() {
    let evaluation = planted_campaign().evaluation();
    let answers = &evaluation.comparisons.expectations;
    assert_eq!(
        answers[0].text,
        "fi-inject: 10 to 20 % lower latency p50 in small below 256"
    );
    assert_eq!(answers[0].outcome, ExpectationOutcome::Met);
    assert_eq!(answers[1].outcome, ExpectationOutcome::Met);
    let nothing = Campaign::default().evaluation();
    assert_eq!(
        nothing.comparisons.expectations[0].outcome,
        ExpectationOutcome::NotMet
    );
    assert_eq!(nothing.outcome(), RunOutcome::Missed);
}

#[test]
fn reports_an_incomplete_run() {
    let campaign = planted_campaign();
    let text = campaign.stream(1, &[5]);
    let reports = campaign::collect::collect(&campaign.plan, crate::fixture::UID, text.as_bytes());
    let evaluation = campaign::evaluate(&campaign.plan, &reports).unwrap();
    assert_eq!(evaluation.outcome(), RunOutcome::Incomplete);
    assert!(evaluation.summary.warnings[0].contains("83 of 84 blocks"));
    // With too few rounds, there is no interval, and the required number of rounds is reported.
    let few: Vec<u32> = (30..84).collect();
    let text = campaign.stream(1, &few);
    let reports = campaign::collect::collect(&campaign.plan, crate::fixture::UID, text.as_bytes());
    let evaluation = campaign::evaluate(&campaign.plan, &reports).unwrap();
    let inject = comparison(&evaluation, 0, 64, "fi-inject", Metric::LatencyP50);
    assert_eq!(
        (inject.verdict, inject.interval),
        (Some(Verdict::Inconclusive), None)
    );
    assert!(inject.reason.as_ref().unwrap().to_string().contains("too few"));
    assert!(inject.rounds_to_settle.is_some());
}
