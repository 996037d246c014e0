//! Kinds of variants: an image each, so that their gangs take turns; and environments on one image, interleaved in a gang.

use std::collections::BTreeSet;

use crds::v1alpha1::{BenchmarkRunStatus, EnvVar, Variant, Verdict};

use super::campaign::{Place, planned, reports, with_rounds};
use super::testbed::image_of;

fn arms_improved_or_regressed<'a>(
    status: &'a BenchmarkRunStatus,
    arm: &'a str,
) -> impl Iterator<Item = Verdict> + 'a {
    let of_arm = status
        .comparisons
        .iter()
        .filter(move |one| one.arm.starts_with(arm));
    of_arm
        .filter_map(|one| one.verdict)
        .filter(|verdict| matches!(verdict, Verdict::Improved | Verdict::Regressed))
}

#[tokio::test]
async fn an_image_each_takes_turns_on_the_same_nodes() {
    let place = Place::new().await;
    let _operator = place.operator();
    // As many legs as attempts are remembered.
    let mut run = with_rounds("images", 2);
    run.spec.variants[0].image = Some(image_of("baseline"));
    run.spec.variants[1].image = Some(image_of("fi-inject"));
    for target in ["doorbell", "coalesce", "combined"] {
        run.spec.variants.push(Variant {
            name: target.to_owned(),
            image: Some(image_of(target)),
            ..Variant::default()
        });
    }
    place.create(&run).await;
    let status = place.completed("images").await;

    let run = place.runs.get("images").await.unwrap();
    let (plan, lines) = (planned(&run), place.lines(&run).await);
    let attempts = &status.execution.as_ref().unwrap().attempts;
    let legs: Vec<_> = attempts.iter().map(|attempt| attempt.leg).collect();
    let wanted: Vec<u32> = (0..u32::try_from(plan.legs.len()).unwrap()).collect();
    assert_eq!(legs, wanted, "the order is the plan's");
    let order: Vec<_> = plan.legs.iter().map(|leg| leg.image.clone()).collect();
    println!("{} legs: {order:?}", legs.len());
    let hellos = reports(&run, &plan, &lines).hellos;
    let mut nodes = BTreeSet::new();
    for leg in wanted {
        let of_leg = hellos.iter().filter(|hello| hello.leg == leg);
        let on: BTreeSet<_> = of_leg
            .map(|hello| hello.record.environment.node.clone().unwrap())
            .collect();
        assert_eq!(on.len(), 2, "distinct hosts");
        nodes.insert(on);
    }
    assert_eq!(nodes.len(), 1, "the same nodes for every leg: {nodes:?}");
    let digests: BTreeSet<_> = attempts
        .iter()
        .map(|attempt| attempt.image_digest.clone().unwrap())
        .collect();
    assert_eq!(digests.len(), 5, "{digests:?}");
    println!(
        "{} s of workers running",
        status.execution.as_ref().unwrap().active_seconds
    );
    place.leave().await;
}

#[tokio::test]
async fn identical_environments_differ_by_nothing_and_are_interleaved_in_one_gang() {
    let place = Place::new().await;
    let _operator = place.operator();
    let mut run = with_rounds("environments", 10);
    // A variable that nothing reads: a process of its own, and the same measurement.
    run.spec.variants[1] = Variant {
        name: "same".to_owned(),
        env: vec![EnvVar {
            name: "NOTHING_READS_THIS".to_owned(),
            value: "1".to_owned(),
        }],
        ..Variant::default()
    };
    place.create(&run).await;
    let status = place.completed("environments").await;
    assert_eq!(status.execution.as_ref().unwrap().attempts.len(), 1, "one gang");
    for arm in ["same", "control"] {
        let wrong: Vec<_> = arms_improved_or_regressed(&status, arm).collect();
        assert!(wrong.is_empty(), "{:#?}", status.comparisons);
    }
    place.leave().await;
}
