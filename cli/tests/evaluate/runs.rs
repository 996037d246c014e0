//! Comparisons of two finished runs.

use campaign::Evaluation;
use campaign::compare_runs::{Difference, FinishedRun, RunComparison, compare_runs, differences};
use campaign::plan::Plan;
use crds::record::CaseResult;
use crds::v1alpha1::{Metric, Verdict};
use fabricbench_cli::report::runs::ComparedRuns;
use fabricbench_cli::report::text::{self, TextOptions};
use fabricbench_cli::report::{Subject, html, junit, markdown};

use crate::fixture::{Campaign, plan};

/// Modifies the evaluation of a run.
type Change = fn(&mut Evaluation);

fn finished_run<'a>(plan: &'a Plan, evaluation: &'a Evaluation) -> FinishedRun<'a> {
    FinishedRun { plan, evaluation }
}

/// Compares two runs of the fixture's plan.
fn compare_evaluations(first: &Evaluation, second: &Evaluation) -> Vec<RunComparison> {
    let plan = plan();
    compare_runs(&finished_run(&plan, first), &finished_run(&plan, second)).unwrap()
}

fn comparison<'a>(all: &'a [RunComparison], arm: &str, size: u64) -> &'a RunComparison {
    let found = all
        .iter()
        .find(|one| (one.arm.as_str(), one.size_bytes) == (arm, size));
    found.unwrap()
}

/// Asserts that the baseline and `fi-inject` have an interval at `size`, but no verdict, for a reason that contains
/// `text`.
#[track_caller]
fn assert_withheld(all: &[RunComparison], size: u64, text: &str) {
    for arm in ["baseline", "fi-inject"] {
        let one = comparison(all, arm, size);
        assert!(one.interval_percent.is_some());
        assert_eq!(one.verdict, None, "{arm}");
        let reason = one.reason.as_ref().unwrap();
        assert!(reason.contains(text), "{reason}");
    }
}

/// Creates a campaign in which all arms except the control arm are faster at `size`.
fn faster_campaign(size: u64) -> Campaign {
    let arms = ["baseline", "fi-inject", "doorbell", "coalesce", "combined"];
    Campaign {
        effects: arms.map(|arm| ((arm, size), 0.7)).into(),
        ..Campaign::default()
    }
}

#[test]
fn detects_a_change() {
    let before = Campaign::default().evaluation();
    let after = Campaign {
        effects: [(("fi-inject", 64), 0.7)].into(),
        ..Campaign::default()
    };
    let all = compare_evaluations(&before, &after.evaluation());
    let inject = comparison(&all, "fi-inject", 64);
    assert_eq!(inject.metric, Metric::LatencyP50);
    assert_eq!(inject.verdict, Some(Verdict::Improved));
    let all = compare_evaluations(&after.evaluation(), &before);
    assert_eq!(
        comparison(&all, "fi-inject", 64).verdict,
        Some(Verdict::Regressed)
    );
}

#[test]
fn every_format_shows_a_regression_between_runs() {
    let plan = plan();
    let before = Campaign::default().evaluation();
    let after = Campaign {
        effects: [(("fi-inject", 64), 1.5)].into(),
        ..Campaign::default()
    };
    let after = after.evaluation();
    let (first, second) = (finished_run(&plan, &before), finished_run(&plan, &after));
    let comparisons = compare_runs(&first, &second).unwrap();
    let compared = ComparedRuns {
        first: &first,
        second: &second,
        locations: ["last-week/t/run.json", "today/t/run.json"],
        differences: &[],
        comparisons: &comparisons,
    };
    let document = compared.document();
    let pages = [
        text::render(&document, &TextOptions::default()),
        markdown::render(&document),
        html::render(&document),
        compared.json().unwrap(),
    ];
    for page in &pages {
        assert!(page.contains("Regressed") && page.contains("fi-inject"), "{page}");
    }
    for page in &pages {
        assert!(
            page.contains("last-week/t/run.json") && page.contains("today/t/run.json"),
            "{page}"
        );
    }
    let verdict = "improved 0, regressed 1, no change ";
    assert!(
        pages[..3].iter().all(|page| page.contains(verdict)),
        "{}",
        pages[0]
    );
    let tests = junit::render(&document).unwrap();
    let failed = r#"<testcase name="fi-inject: no regression at any size" classname="#;
    let (_, test) = tests.split_once(failed).unwrap();
    let (test, _) = test.split_once("</testcase>").unwrap();
    assert!(
        test.contains(r#"<failure message="worse than in the first run">small 64 B: +"#),
        "{test}"
    );
    assert!(
        compared
            .csv()
            .unwrap_err()
            .to_string()
            .contains("has no CSV report")
    );

    let forced = ComparedRuns {
        differences: &[Difference {
            property: "kernel".to_owned(),
            first: "1".to_owned(),
            second: "2".to_owned(),
        }],
        ..compared
    };
    let document = forced.document();
    for page in [
        text::render(&document, &TextOptions::default()),
        markdown::render(&document),
        html::render(&document),
    ] {
        let is_stated = page.contains("not comparable") && page.contains("kernel: 1 ");
        assert!(is_stated, "{page}");
    }
    let tests = junit::render(&document).unwrap();
    assert!(
        tests.contains(r#"<error message="the runs are not comparable">kernel: 1 | 2<"#),
        "{tests}"
    );
}

#[test]
fn change_common_to_all_arms_is_not_attributed_to_an_arm() {
    let before = Campaign::default().evaluation();
    let mut whole = faster_campaign(64);
    whole.effects.insert(("control", 64), 0.7);
    let all = compare_evaluations(&before, &whole.evaluation());
    let baseline = comparison(&all, "baseline", 64);
    assert_eq!(baseline.verdict, None);
    assert!(baseline.interval_percent.unwrap().1 < -20.0, "{baseline:?}");
    assert!(
        baseline
            .reason
            .as_ref()
            .unwrap()
            .starts_with("baseline: it changed between the runs, "),
        "{baseline:?}"
    );
    for one in all.iter().filter(|one| one.arm != "baseline") {
        let (low, high) = one.interval_percent.unwrap();
        assert!(low <= 0.0 && high >= 0.0, "{one:?}");
    }
}

#[test]
fn no_arm_has_a_verdict_at_a_size_at_which_the_baseline_changed() {
    let before = Campaign::default().evaluation();
    let mut slower = faster_campaign(64);
    slower.effects.values_mut().for_each(|effect| *effect = 3.0);
    slower
        .effects
        .extend([(("control", 64), 3.0), (("fi-inject", 64), 2.0)]);
    let all = compare_evaluations(&before, &slower.evaluation());
    assert_withheld(&all, 64, "changed");
    let inject = comparison(&all, "fi-inject", 64);
    assert!(
        inject
            .reason
            .as_ref()
            .unwrap()
            .starts_with("the baseline changed by +"),
        "{inject:?}"
    );
    assert!(inject.baseline_changed && !comparison(&all, "baseline", 64).baseline_changed);
    // The baseline did not change at the other sizes.
    assert!(
        all.iter()
            .any(|one| one.size_bytes != 64 && one.verdict == Some(Verdict::NoChange)),
        "{all:?}"
    );
}

#[test]
fn baseline_of_only_one_run_is_not_compared() {
    let (evaluation, first) = (Campaign::default().evaluation(), plan());
    let mut second = Plan::from(plan());
    second.baseline = 1;
    let all = compare_runs(
        &finished_run(&first, &evaluation),
        &finished_run(&second, &evaluation),
    )
    .unwrap();
    assert!(!all.is_empty());
    let baselines = [&first.arms[0].name, &first.arms[1].name];
    assert!(all.iter().all(|one| !baselines.contains(&&one.arm)), "{all:?}");
}

#[test]
fn arms_missing_from_one_run_are_reported_as_a_difference() {
    let (evaluation, first) = (Campaign::default().evaluation(), plan());
    let mut second = Plan::from(plan());
    second.arms[1].name = "another".to_owned();
    let found = differences(
        &finished_run(&first, &evaluation),
        &finished_run(&second, &evaluation),
    );
    let what: Vec<&str> = found.iter().map(|one| one.property.as_str()).collect();
    assert_eq!(what, ["arms"]);
}

#[test]
fn violated_control_in_either_run_removes_the_verdict() {
    let before = Campaign::default().evaluation();
    let after = faster_campaign(64).evaluation();
    for all in [
        compare_evaluations(&before, &after),
        compare_evaluations(&after, &before),
    ] {
        assert_withheld(&all, 64, "suspect: the control arm");
    }
}

#[test]
fn arms_compared_with_a_contradicted_baseline_have_no_verdict() {
    let before = Campaign::default().evaluation();
    let after = Campaign {
        tweak: |case| {
            if let CaseResult::Measured(measurement) = &mut case.result
                && (case.arm.as_str(), case.size_bytes, case.round) == ("baseline", 64, 3)
            {
                measurement.initiator.interfaces[0].tx_bytes = 0;
                measurement.target.interfaces[0].tx_bytes = 0;
            }
        },
        effects: [(("fi-inject", 64), 0.7)].into(),
        ..Campaign::default()
    };
    let after = after.evaluation();
    for all in [
        compare_evaluations(&before, &after),
        compare_evaluations(&after, &before),
    ] {
        assert_withheld(&all, 64, "fabric contradicted: baseline: ");
        let valid = comparison(&all, "fi-inject", 256);
        assert!(
            !valid
                .reason
                .as_ref()
                .is_some_and(|reason| reason.contains("contradicted")),
            "{valid:?}"
        );
    }
}

#[test]
fn optimization_that_did_not_engage_has_no_verdict() {
    let before = Campaign::default().evaluation();
    let mut whole = faster_campaign(256);
    whole.effects.insert(("control", 256), 0.7);
    let all = compare_evaluations(&before, &whole.evaluation());
    let inject = comparison(&all, "fi-inject", 256);
    assert!(inject.interval_percent.is_some());
    assert_eq!(inject.verdict, None);
    assert!(inject.reason.as_ref().unwrap().contains("NotEngaged"));
}

#[test]
fn every_environment_difference_is_reported() {
    let plan = plan();
    let first = Campaign::default().evaluation();
    let different = |change: Change| {
        let mut second = first.clone();
        change(&mut second);
        let found = differences(&finished_run(&plan, &first), &finished_run(&plan, &second));
        found.into_iter().map(|one| one.property).collect::<Vec<_>>()
    };
    assert_eq!(different(|_| {}), Vec::<String>::new());
    let rows: [(&str, Change); 9] = [
        ("runner", |run| {
            run.summary.environment.workers[0].hello.runner_version = "0".into();
        }),
        ("RDMA devices", |run| {
            let worker = &mut run.summary.environment.workers[0];
            worker.hello.environment.rdma_devices.push("0000:00:06.0".into());
        }),
        ("memory limit", |run| {
            let worker = &mut run.summary.environment.workers[0];
            worker.hello.environment.memory_limit_bytes = Some(1 << 31);
        }),
        ("CPU limit", |run| {
            let worker = &mut run.summary.environment.workers[0];
            worker.hello.environment.cpu_limit_millis = Some(1500);
        }),
        ("library", |run| {
            let library = run.summary.environment.arms[0].fabric.library.as_mut().unwrap();
            library.build_id = Some("0123".into());
        }),
        ("rails", |run| {
            run.summary.environment.arms[0].fabric.rails[0].interface = Some("eth7".into());
        }),
        ("rails", |run| {
            run.summary.environment.arms[0].fabric.rails[0].line_bits_per_second = Some(7);
        }),
        ("variables of baseline", |run| {
            let variables = &mut run.summary.environment.arms[0].fabric.variables;
            variables.insert("FI_TCP_NO_CONNECT".into(), "1".into());
        }),
        ("variables of baseline", |run| {
            run.summary.environment.arms[0].fabric.variables_sha256 = Some("0123".into());
        }),
    ];
    for (what, change) in rows {
        assert_eq!(different(change), [what]);
    }
}
