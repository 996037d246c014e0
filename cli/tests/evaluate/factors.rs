//! Effects of factors: planted main effects and a planted interaction are found, with their verdicts.

use campaign::compare::{FactorEffect, Withheld};
use campaign::plan::plan;
use campaign::validate::validate;
use campaign::{Evaluation, RunOutcome};
use crds::record::CaseResult;
use crds::v1alpha1::{BenchmarkRun, FactorEffectKind, Optimization, Stop, Verdict};

use crate::fixture::{Campaign, run};

const INJECT: Optimization = Optimization::Inject;
const DOORBELL: Optimization = Optimization::Doorbell;
const COALESCE: Optimization = Optimization::Coalesce;
/// Size at which all factors apply: its four chunks of 64 bytes are injected, posted in bursts, and coalesced to two.
const SMALL: u64 = 256;
/// Size at which only the doorbell applies.
const LARGE: u64 = 64 << 10;

/// A run with all combinations of three factors.
fn factorial() -> BenchmarkRun {
    let spec = "
variants: [{name: baseline}]
striping: {policy: Nixl, thresholdBytes: 128, minChunkBytes: 128}
factors: {inject: {maxBytes: 128}, doorbell: {maxBatch: 16}, coalesce: {}}
scenarios:
- name: mid
  memory: Heap
  transfer: {operation: Send, sizes: [256, 64Ki], iterations: 200, warmup: 20, window: 16, batch: 4}
expectations:
- {variant: inject-doorbell, scenario: mid, sizes: {below: 1Ki}, metric: Throughput, increasePercent: {min: 2}}
";
    let changes: serde_json::Value = serde_yaml::from_str(spec).unwrap();
    let mut run = serde_json::to_value(run()).unwrap();
    for (field, value) in changes.as_object().unwrap() {
        run["spec"][field] = value.clone();
    }
    run["spec"]["sampling"]["rounds"] = serde_json::Value::Null;
    serde_json::from_value(run).unwrap()
}

/// `inject` takes 0.8 times as long as the baseline, `doorbell` 0.9 times, and both together 1.25 times as long as the
/// product; `coalesce` changes nothing.
fn planted_campaign(run: &BenchmarkRun) -> Campaign {
    let (inject, doorbell, together) = (0.8, 0.9, 1.25);
    let at_small = [
        ("inject", inject),
        ("doorbell", doorbell),
        ("inject-doorbell", inject * doorbell * together),
        ("inject-coalesce", inject),
        ("doorbell-coalesce", doorbell),
        ("inject-doorbell-coalesce", inject * doorbell * together),
    ];
    let at_large = [
        "doorbell",
        "inject-doorbell",
        "doorbell-coalesce",
        "inject-doorbell-coalesce",
    ];
    let small = at_small.map(|(arm, effect)| ((arm, SMALL), effect));
    let large = at_large.map(|arm| ((arm, LARGE), 1.1));
    Campaign {
        plan: plan(&validate(run).unwrap()).unwrap(),
        effects: small.into_iter().chain(large).collect(),
        ..Campaign::default()
    }
}

fn evaluation(run: &BenchmarkRun, campaign: &Campaign) -> Evaluation {
    campaign.evaluation_of(run.clone(), &campaign.stream(1, &[]))
}

#[track_caller]
fn effect<'a>(
    evaluation: &'a Evaluation,
    size: u64,
    kind: FactorEffectKind,
    factors: &[Optimization],
) -> &'a FactorEffect {
    let mut effects = evaluation.comparisons.factor_effects.iter();
    let found = effects.find(|one| (one.size_bytes, one.kind, &one.factors[..]) == (size, kind, factors));
    found.unwrap_or_else(|| panic!("{:#?}", evaluation.comparisons.factor_effects))
}

#[track_caller]
fn assert_effect(one: &FactorEffect, percent: f64, verdict: Verdict) {
    let (lower, upper) = one.interval_percent().unwrap();
    assert!(
        lower < percent && percent < upper && upper - lower < 5.0,
        "{one:?}"
    );
    assert_eq!(one.verdict, Some(verdict), "{one:?}");
}

#[test]
fn finds_planted_main_effects_and_a_planted_interaction() {
    use FactorEffectKind::{Combination, Interaction, Main};
    let run = factorial();
    let campaign = planted_campaign(&run);
    assert_eq!(campaign.plan.rounds, 14);
    let evaluation = evaluation(&run, &campaign);
    let at = |kind, factors: &[Optimization]| effect(&evaluation, SMALL, kind, factors);
    // The interaction slows down half of the combinations, and throughput is inverse to latency.
    let main = |effect: f64| 100.0 * (1.0 / (effect * 1.25_f64.sqrt()) - 1.0);
    assert_effect(at(Main, &[INJECT]), main(0.8), Verdict::Improved);
    assert_effect(at(Main, &[COALESCE]), 0.0, Verdict::NoChange);
    let doorbell = at(Main, &[DOORBELL]);
    let (lower, upper) = doorbell.interval_percent().unwrap();
    assert!(lower < main(0.9) && main(0.9) < upper, "{doorbell:?}");
    let together = at(Interaction, &[INJECT, DOORBELL]);
    assert_effect(together, -20.0, Verdict::Regressed);
    let changes = together.conditional.unwrap();
    for change in &changes {
        let (lower, upper) = change.interval_percent.unwrap();
        assert!(
            lower <= change.percent && change.percent <= upper && lower < upper,
            "{change:?}"
        );
    }
    let [without, with] = changes.map(|change| change.percent);
    assert!(
        (without - 25.0).abs() < 2.0 && with.abs() < 2.0,
        "{without} {with}"
    );
    for factors in [&[INJECT, COALESCE][..], &[DOORBELL, COALESCE]] {
        assert_effect(at(Interaction, factors), 0.0, Verdict::NoChange);
    }
    let combination = at(Combination, &[INJECT, DOORBELL, COALESCE]);
    assert_effect(combination, -20.0, Verdict::Regressed);
}

#[test]
fn factors_that_do_not_apply_have_no_effect() {
    use FactorEffectKind::{Combination, Interaction, Main};
    let run = factorial();
    let evaluation = evaluation(&run, &planted_campaign(&run));
    let at = |kind, factors: &[Optimization]| effect(&evaluation, LARGE, kind, factors);
    assert_effect(at(Main, &[DOORBELL]), 100.0 / 1.1 - 100.0, Verdict::Regressed);
    let all = [INJECT, DOORBELL, COALESCE];
    for (kind, factors) in [
        (Main, &all[..1]),
        (Main, &all[2..]),
        (Interaction, &all[..2]),
        (Interaction, &all),
        (Combination, &all),
    ] {
        let one = at(kind, factors);
        assert_eq!(one.verdict, None, "{one:?}");
        assert!(
            matches!(one.reason, Some(Withheld::NotApplicable { .. })),
            "{one:?}"
        );
    }
}

#[test]
fn combination_that_was_not_measured_withholds_the_effects_at_its_size() {
    let run = factorial();
    let campaign = Campaign {
        tweak: |case| {
            if case.arm == "inject-doorbell"
                && case.size_bytes == SMALL
                && let CaseResult::Measured(measured) = &mut case.result
            {
                // The provider reports that it injected nothing.
                let posted = measured.initiator.posted.as_mut().unwrap();
                (posted.counters.injected, posted.counters.over_limit) = (0, posted.counters.posts);
            }
        },
        ..planted_campaign(&run)
    };
    let evaluation = evaluation(&run, &campaign);
    let effects = evaluation.comparisons.factor_effects.iter();
    for one in effects.filter(|one| one.size_bytes == SMALL) {
        assert_eq!(one.verdict, None);
        assert!(matches!(one.reason, Some(Withheld::NotEngaged { .. })), "{one:?}");
        assert!(one.effect.is_some());
    }
    assert!(
        effect(&evaluation, LARGE, FactorEffectKind::Main, &[DOORBELL])
            .verdict
            .is_some()
    );
    assert_eq!(evaluation.outcome(), RunOutcome::Missed);
}

#[test]
fn effects_of_an_interrupted_run_use_the_common_rounds() {
    let run = factorial();
    let campaign = planted_campaign(&run);
    let missing: Vec<u32> = campaign.plan.legs[0]
        .rounds
        .iter()
        .filter(|round| round.round > 3)
        .flat_map(|round| round.blocks.iter().map(|block| block.block))
        .collect();
    let evaluation = campaign.evaluation_of(run.clone(), &campaign.stream(1, &missing));
    let one = effect(&evaluation, SMALL, FactorEffectKind::Main, &[INJECT]);
    assert_eq!((one.rounds, one.verdict), (3, Some(Verdict::Inconclusive)));
    assert!(matches!(one.reason, Some(Withheld::NoInterval { .. })), "{one:?}");
}

#[test]
fn settled_run_effects_use_the_rounds_until_the_first_comparison_ends() {
    let mut run = factorial();
    run.spec.sampling.stop = Stop::Settled;
    run.spec.sampling.rounds = Some(40);
    let campaign = planted_campaign(&run);
    let first = campaign.plan.analyses[0] as usize;
    let evaluation = evaluation(&run, &campaign);
    let one = effect(&evaluation, SMALL, FactorEffectKind::Main, &[INJECT]);
    assert_eq!((one.rounds, one.verdict), (first, Some(Verdict::Improved)));
}

#[test]
fn reports_show_the_effects() {
    let run = factorial();
    let campaign = planted_campaign(&run);
    let evaluation = evaluation(&run, &campaign);
    let report = fabricbench_cli::report::Report {
        plan: &campaign.plan,
        evaluation: &evaluation,
    };
    let document = report.document();
    let text = fabricbench_cli::report::text::render(&document, &Default::default());
    assert!(text.contains("inject x doorbell: -"), "{text}");
    assert!(
        text.contains("worse than the product of the separate effects"),
        "{text}"
    );
    assert!(!text.contains("64 KiB  inject x doorbell"), "{text}");
    let html = fabricbench_cli::report::html::render(&document);
    assert!(html.contains("Change by inject at each size, without doorbell"));
    let markdown = fabricbench_cli::report::markdown::render(&document);
    assert!(markdown.contains("**mid**: effects of the factors"), "{markdown}");
    let json = fabricbench_cli::report::json::render(&report).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["factorEffects"].as_array().unwrap().len(), 16);
}
