//! Tests variants with different images, which run in alternating gangs, and variants with different environments or
//! transports, which are interleaved in one gang.

use std::collections::{BTreeMap, BTreeSet};

use crds::quantity::Quantity;
use crds::v1alpha1::{
    BenchmarkRunStatus, EnvVar, TransportSpec, Ucx, UcxEmulation, UcxTransport, Variant, Verdict,
};

use super::nodes::share_nodes;
use super::test_namespace::{TestNamespace, planned, reports, with_rounds};
use super::testbed::image_of;

fn improved_or_regressed_verdicts<'a>(
    status: &'a BenchmarkRunStatus,
    arm: &'a str,
) -> impl Iterator<Item = Verdict> + 'a {
    let comparisons = status
        .comparisons
        .iter()
        .filter(move |one| one.arm.starts_with(arm));
    comparisons
        .filter_map(|one| one.verdict)
        .filter(|verdict| matches!(verdict, Verdict::Improved | Verdict::Regressed))
}

#[tokio::test]
async fn variants_with_different_images_alternate_on_the_same_nodes() {
    let nodes = share_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    // A pilot and two rounds with five gangs each result in 15 attempts. The status holds at most 16 attempts, so it
    // contains all of them.
    let mut run = with_rounds("images", 2);
    run.spec.variants[0].image = Some(image_of("baseline"));
    run.spec.variants[1].image = Some(image_of("fi-inject"));
    for target in ["doorbell", "coalesce"] {
        run.spec.variants.push(Variant {
            name: target.to_owned(),
            image: Some(image_of(target)),
            ..Variant::default()
        });
    }
    namespace.create(&run).await;
    let status = namespace.wait_for_completion("images").await;

    let run = namespace.runs.get("images").await.unwrap();
    let (plan, lines) = (planned(&run), namespace.lines(&run).await);
    let attempts = &status.execution.as_ref().unwrap().attempts;
    let legs: Vec<_> = attempts.iter().map(|attempt| attempt.leg).collect();
    let expected: Vec<u32> = (0..u32::try_from(plan.legs.len()).unwrap()).collect();
    assert_eq!(legs, expected, "the legs must follow plan order");
    let order: Vec<_> = plan.legs.iter().map(|leg| leg.image.clone()).collect();
    println!("{} legs: {order:?}", legs.len());
    let hellos = reports(&run, &plan, &lines).hellos;
    let mut nodes = BTreeSet::new();
    for leg in expected {
        let hellos_of_leg = hellos.iter().filter(|hello| hello.leg == leg);
        let hosts: BTreeSet<_> = hellos_of_leg
            .map(|hello| hello.record.environment.node.clone().unwrap())
            .collect();
        assert_eq!(hosts.len(), 2, "the workers must run on distinct hosts");
        nodes.insert(hosts);
    }
    assert_eq!(nodes.len(), 1, "every leg must use the same nodes: {nodes:?}");
    let digests: BTreeSet<_> = attempts
        .iter()
        .map(|attempt| attempt.image_digest.clone().unwrap())
        .collect();
    assert_eq!(digests.len(), 4, "{digests:?}");
    // The other images declare a tuning that their variants do not request, so their cases fail.
    let mut iterations: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for arm in ["baseline", "fi-inject", "control-image"] {
        for result in status.results.iter().filter(|result| result.arm == arm) {
            let of_size = iterations
                .entry((&result.scenario, result.size_bytes))
                .or_default();
            of_size.insert(result.value(Quantity::Iterations));
        }
    }
    assert!(
        !iterations.is_empty()
            && iterations
                .values()
                .all(|counts| counts.len() == 1 && !counts.contains(&None)),
        "all images must use the operation count that the pilot determines: {:#?}",
        status.results
    );
    println!(
        "the workers ran for {} s",
        status.execution.as_ref().unwrap().active_seconds
    );
    namespace.delete().await;
}

#[tokio::test]
async fn ucx_and_libfabric_are_interleaved_in_one_gang() {
    let nodes = share_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    let mut run = with_rounds("libraries", 3);
    run.spec.variants[1] = Variant {
        name: "ucx".to_owned(),
        transport: Some(TransportSpec::Ucx(Ucx {
            emulation: UcxEmulation::Allow,
            ..Ucx::new(vec![UcxTransport::Tcp], run.spec.transport.rails())
        })),
        ..Variant::default()
    };
    namespace.create(&run).await;
    let status = namespace.wait_for_completion("libraries").await;
    assert_eq!(status.execution.as_ref().unwrap().attempts.len(), 1);
    let run = namespace.runs.get("libraries").await.unwrap();
    let (plan, lines) = (planned(&run), namespace.lines(&run).await);
    let of_ucx = reports(&run, &plan, &lines).endpoints;
    let of_ucx = of_ucx.iter().filter(|from| from.record.arm == "ucx");
    let lanes: BTreeSet<String> = of_ucx
        .filter_map(|from| from.record.fabric.as_ref())
        .flat_map(|facts| facts.rails.iter().flat_map(|rail| rail.lanes.clone()))
        .collect();
    println!("lanes: {lanes:?}");
    assert!(
        !lanes.is_empty() && lanes.iter().all(|lane| lane.starts_with("tcp/")),
        "{lanes:?}"
    );
    for result in &status.results {
        assert_eq!(result.valid_rounds, 3, "{result:?}");
    }
    namespace.delete().await;
}

#[tokio::test]
async fn equivalent_environments_are_interleaved_in_one_gang_and_do_not_differ() {
    let nodes = share_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    let mut run = with_rounds("environments", 10);
    // A variable that nothing reads requires a separate process but does not change the measurement.
    run.spec.variants[1] = Variant {
        name: "same".to_owned(),
        env: vec![EnvVar {
            name: "NOTHING_READS_THIS".to_owned(),
            value: "1".to_owned(),
        }],
        ..Variant::default()
    };
    namespace.create(&run).await;
    let status = namespace.wait_for_completion("environments").await;
    assert_eq!(
        status.execution.as_ref().unwrap().attempts.len(),
        1,
        "expected a single gang"
    );
    for arm in ["same", "control"] {
        let differences: Vec<_> = improved_or_regressed_verdicts(&status, arm).collect();
        assert!(differences.is_empty(), "{:#?}", status.comparisons);
    }
    namespace.delete().await;
}
