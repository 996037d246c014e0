//! Runs that end comparisons as soon as they are decided. As in a real run, the simulated workers measure only what
//! each stage still needs.

use std::collections::BTreeMap;

use campaign::collect::collect;
use campaign::plan::{Leg, Role};
use campaign::{Evaluation, RunOutcome, analyze};
use crds::assignment::Pass;
use crds::v1alpha1::{BenchmarkRun, EndReason, ExpectationOutcome, Metric, Verdict};

use crate::fixture::{ARMS, Campaign, UID, plan_of, settled_run};

const KIB: u64 = 1 << 10;
/// Maximum number of rounds.
const ROUNDS: u32 = 40;

fn campaign() -> Campaign {
    Campaign {
        plan: plan_of(&settled_run(ROUNDS)),
        effects: [
            (("fi-inject", 64), 0.85),
            // This effect is close to the margin of 2 percent, so more rounds are needed to decide it.
            (("doorbell", 128 * KIB), 1.028),
            (("coalesce", 32 * KIB), 0.90),
            (("combined", 64), 0.80),
        ]
        .into(),
        ..Campaign::default()
    }
}

/// Measures the blocks of every leg that are still needed, as an executor does. If `interrupted` is set, every leg is
/// first measured without the blocks whose index modulo 3 equals `interrupted`, and then resumed.
fn measure(campaign: &Campaign, interrupted: Option<u32>) -> String {
    let mut text = String::new();
    for leg in &campaign.plan.legs {
        let reports = collect(&campaign.plan, UID, text.as_bytes());
        let leg = analyze(&campaign.plan, &reports)
            .unwrap()
            .reduce(&campaign.plan, leg)
            .into_owned();
        if leg.rounds.is_empty() {
            continue;
        }
        let (missing, rest): (Vec<u32>, Vec<u32>) = blocks(&leg)
            .into_iter()
            .partition(|block| interrupted == Some(block % 3));
        text.push_str(&campaign.stream_of_leg(&leg, 1, &missing));
        if interrupted.is_some() {
            text.push_str(&campaign.stream_of_leg(&leg, 2, &rest));
        }
    }
    text
}

fn blocks(leg: &Leg) -> Vec<u32> {
    let blocks = leg.rounds.iter().flat_map(|round| &round.blocks);
    blocks.map(|block| block.block).collect()
}

/// Number of rounds of a comparison, the reason it ended early, and its verdict.
type End = (usize, Option<EndReason>, Option<Verdict>);

/// Returns the end of each variant comparison, by size and arm.
fn ends(evaluation: &Evaluation) -> BTreeMap<(u64, &'static str), End> {
    let primary = evaluation.comparisons.primary();
    let variants = primary.filter(|one| one.role == Role::Variant);
    variants
        .map(|one| {
            let reason = one.ended.map(|ended| ended.reason);
            ((one.size_bytes, ARMS[one.arm]), (one.rounds, reason, one.verdict))
        })
        .collect()
}

#[test]
fn comparisons_end_at_the_analysis_that_decides_them() {
    let campaign = campaign();
    assert_eq!(campaign.plan.analyses, [15, 24, 40]);
    let evaluation = campaign.evaluation_of(settled_run(ROUNDS), &measure(&campaign, None));
    assert!(evaluation.summary.is_complete());
    assert_eq!(evaluation.outcome(), RunOutcome::Missed);
    let ends = ends(&evaluation);
    let improved = (15, Some(EndReason::Settled), Some(Verdict::Improved));
    assert_eq!(ends[&(64, "fi-inject")], improved);
    assert_eq!(ends[&(32 * KIB, "coalesce")], improved);
    assert!(ends[&(128 * KIB, "doorbell")].0 > 15, "{ends:?}");
    // The variant requests inject calls, but 256 bytes exceed the provider's limit of 128 bytes.
    assert_eq!(ends[&(256, "fi-inject")].1, Some(EndReason::NoVerdict));
    let met = |index: usize| evaluation.comparisons.expectations[index].outcome;
    assert_eq!(
        (met(0), met(1)),
        (ExpectationOutcome::Met, ExpectationOutcome::Met)
    );
    let saved = evaluation.summary.saved_percent.unwrap();
    assert!((40.0..65.0).contains(&saved), "{saved}");
}

#[test]
fn baseline_and_controls_are_measured_while_a_comparison_at_their_size_is_open() {
    let campaign = campaign();
    let reports = collect(&campaign.plan, UID, measure(&campaign, None).as_bytes());
    let stopping = analyze(&campaign.plan, &reports).unwrap();
    for (scenario, planned) in campaign.plan.scenarios.iter().enumerate() {
        for size in &planned.sizes {
            let rounds = |arm: usize| {
                let measured = reports.cases.iter().filter(|case| case.pass == Pass::Measure);
                let of_cell = measured
                    .filter(|case| (case.scenario, case.size_bytes, case.arm) == (scenario, *size, arm));
                of_cell.count() as u32
            };
            let is_variant = |arm: &usize| {
                let cell = campaign.plan.cell(scenario, *size, *arm);
                cell.and_then(|cell| cell.role) == Some(Role::Variant)
            };
            let arms = 0..campaign.plan.arms.len();
            let variants = arms.clone().filter(is_variant);
            let last_of = |arm| {
                stopping
                    .early_end((scenario, *size, arm))
                    .map_or(ROUNDS, |ended| ended.rounds)
            };
            for arm in variants.clone() {
                assert_eq!(rounds(arm), last_of(arm), "{} at {size}", ARMS[arm]);
            }
            let longest = variants.map(last_of).max().unwrap_or(15);
            for arm in arms.filter(|arm| !is_variant(arm)) {
                assert_eq!(rounds(arm), longest, "{} at {size}", ARMS[arm]);
            }
        }
    }
}

#[test]
fn interrupted_run_ends_like_an_uninterrupted_one() {
    let campaign = campaign();
    let run = settled_run(ROUNDS);
    let expected = campaign.evaluation_of(run.clone(), &measure(&campaign, None));
    for residue in 0..3 {
        let resumed = campaign.evaluation_of(run.clone(), &measure(&campaign, Some(residue)));
        assert!(resumed.summary.is_complete());
        assert_eq!(ends(&resumed), ends(&expected));
    }
}

/// Returns the run with one variant in another image, so that every image has a leg in each round.
fn run_with_two_images() -> BenchmarkRun {
    let mut run = settled_run(24);
    let variants = &mut run.spec.variants;
    let other = variants.iter_mut().find(|variant| variant.name == "coalesce");
    other.unwrap().image = Some("registry.example/runner:2".into());
    run
}

#[test]
fn image_is_not_started_again_after_its_comparisons_have_ended() {
    let run = run_with_two_images();
    let mut campaign = Campaign {
        plan: plan_of(&run),
        ..campaign()
    };
    for size in [64, 256, 512, 32 * KIB, 64 * KIB, 128 * KIB] {
        campaign.effects.insert(("coalesce", size), 0.5);
    }
    let first = campaign.plan.analyses[0];
    let text = measure(&campaign, None);
    let evaluation = campaign.evaluation_of(run.clone(), &text);
    assert!(evaluation.summary.is_complete());
    let ends = ends(&evaluation);
    let of_coalesce: Vec<&End> = ends
        .iter()
        .filter(|((_, arm), _)| *arm == "coalesce")
        .map(|(_, end)| end)
        .collect();
    assert_eq!(of_coalesce.len(), 6);
    let improved = (first as usize, Some(EndReason::Settled), Some(Verdict::Improved));
    assert!(of_coalesce.iter().all(|end| **end == improved), "{ends:?}");
    assert!(ends[&(128 * KIB, "doorbell")].0 > first as usize, "{ends:?}");

    let reports = collect(&campaign.plan, UID, text.as_bytes());
    let last_round = |image: Option<&str>| {
        let legs = campaign
            .plan
            .legs
            .iter()
            .filter(|leg| leg.image.as_deref() == image);
        let measured = legs.flat_map(|leg| {
            let cases = reports.cases.iter();
            cases
                .filter(|case| case.leg == leg.leg)
                .map(|case| case.round)
                .collect::<Vec<_>>()
        });
        measured.max()
    };
    assert_eq!(last_round(Some("registry.example/runner:2")), Some(first));
    assert!(last_round(None) > Some(first));

    let resumed = campaign.evaluation_of(run.clone(), &measure(&campaign, Some(1)));
    assert!(resumed.summary.is_complete());
    assert_eq!(self::ends(&resumed), ends);
}

#[test]
fn no_verdict_exists_before_the_first_analysis() {
    let campaign = campaign();
    let leg = &campaign.plan.legs[0];
    let last = *blocks(leg).last().unwrap();
    let reports = collect(
        &campaign.plan,
        UID,
        campaign.stream_of_leg(leg, 1, &[last]).as_bytes(),
    );
    let evaluation = campaign::evaluate(&campaign.plan, &reports).unwrap();
    assert_eq!(evaluation.outcome(), RunOutcome::Incomplete);
    for comparison in &evaluation.comparisons.all {
        assert_eq!(
            (comparison.interval, comparison.verdict),
            (None, None),
            "{comparison:?}"
        );
        assert_eq!(
            (comparison.effect, comparison.pairs.len()),
            (None, 0),
            "{comparison:?}"
        );
        assert!(
            comparison.round_percents.is_empty() && comparison.reason.is_some(),
            "{comparison:?}"
        );
    }
    let inject = evaluation.comparisons.find(0, 64, 1, Metric::LatencyP50).unwrap();
    let reason = inject.reason.as_ref().unwrap().to_string();
    assert_eq!(reason, "the first analysis takes place after 15 rounds");
}

#[test]
fn rounds_after_an_analysis_do_not_change_results_before_the_next_one() {
    let campaign = campaign();
    let text = measure(&campaign, None);
    let leg_1 = text.match_indices("\"leg\":1,").next().unwrap().0;
    let start = text[..leg_1].rfind('\n').unwrap() + 1;
    let results = |text: &str| {
        let reports = collect(&campaign.plan, UID, text.as_bytes());
        let evaluation = campaign::evaluate(&campaign.plan, &reports).unwrap();
        let all = evaluation.comparisons.all.iter();
        all.map(|one| (one.rounds, one.effect, one.interval))
            .collect::<Vec<_>>()
    };
    let at_analysis = results(&text[..start]);
    let blocks = text[start..].match_indices("\"kind\":\"block\"");
    let middle = start + blocks.map(|(index, _)| index).nth(3).unwrap();
    let middle = middle + text[middle..].find('\n').unwrap() + 1;
    assert_eq!(results(&text[..middle]), at_analysis);
}

/// Returns the records of the first leg, and the second leg reduced to the blocks and arms that are still needed after
/// the first leg.
fn second_stage(campaign: &Campaign) -> (String, Leg) {
    let text = campaign.stream_of_leg(&campaign.plan.legs[0], 1, &[]);
    let reports = collect(&campaign.plan, UID, text.as_bytes());
    let stopping = analyze(&campaign.plan, &reports).unwrap();
    let leg = stopping.reduce(&campaign.plan, &campaign.plan.legs[1]);
    (text, leg.into_owned())
}

#[test]
fn block_without_a_needed_arm_is_measured_again_and_replaced() {
    let campaign = campaign();
    let (mut text, leg) = second_stage(&campaign);
    let mut short = leg.clone();
    let block = &mut short.rounds[0].blocks[0];
    block.order.pop();
    let number = block.block;
    text.push_str(&campaign.stream_of_leg(&short, 1, &[]));
    let finished = |text: &str| {
        let reports = collect(&campaign.plan, UID, text.as_bytes());
        let stopping = analyze(&campaign.plan, &reports).unwrap();
        let blocks = stopping.finished_blocks(&campaign.plan, &campaign.plan.legs[1], &reports);
        let cases = reports.cases.iter().filter(|case| case.block == number);
        (
            blocks.contains(&number),
            cases.count(),
            stopping.blocks_by_leg(&campaign.plan, &reports)[1],
        )
    };
    let needed = leg.rounds[0].blocks[0].order.len();
    let blocks = blocks(&leg).len() as u32;
    // Both the short block and the block that will replace it are counted.
    assert_eq!(finished(&text), (false, needed - 1, blocks + 1));
    let others: Vec<u32> = self::blocks(&leg)
        .into_iter()
        .filter(|other| *other != number)
        .collect();
    text.push_str(&campaign.stream_of_leg(&leg, 2, &others));
    assert_eq!(finished(&text), (true, needed, blocks));
    // A later block with fewer arms does not replace the complete block.
    let mut short_again = short.clone();
    short_again.rounds[0].blocks.truncate(1);
    text.push_str(&campaign.stream_of_leg(&short_again, 3, &[]));
    assert_eq!(finished(&text), (true, needed, blocks));
}

#[test]
fn comparisons_continue_while_a_control_shows_a_change() {
    let campaign = Campaign {
        effects: [(("fi-inject", 64), 0.85), (("control", 64), 1.2)].into(),
        ..campaign()
    };
    let text = measure(&campaign, None);
    let evaluation = campaign.evaluation_of(settled_run(ROUNDS), &text);
    let (rounds, end, verdict) = ends(&evaluation)[&(64, "fi-inject")];
    assert_eq!((rounds, end, verdict), (ROUNDS as usize, None, None));
    assert_eq!(evaluation.outcome(), RunOutcome::Suspect);
}
