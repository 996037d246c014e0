//! Runs another project's benchmark between pods. The benchmark is in a separate image.

use crds::quantity::Quantity;
use crds::v1alpha1::{CaseValidity, FabricProof, State};

use super::custom_images::load_image;
use super::example::example;
use super::nodes::{reserve_nodes, share_nodes};
use super::start;
use super::test_namespace::{TestNamespace, condition};
use test_support::cluster::kubeconfig;

/// The image contains only fi_pingpong and its libraries. The operator installs the runner, which executes the program
/// with each variant's arguments and reads its output.
#[tokio::test]
async fn compares_two_providers_with_a_benchmark_from_another_image() {
    let nodes = reserve_nodes().await;
    let image = load_image("benchmark").await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    let mut run = example("command-fi-pingpong");
    for variant in &mut run.spec.variants {
        variant.image = Some(image.clone());
    }
    namespace.create(&run).await;
    let status = namespace.wait_for_completion("command-fi-pingpong").await;
    let rounds = run.spec.sampling.rounds.unwrap();
    for result in &status.results {
        assert_eq!(
            (result.validity, result.valid_rounds, result.fabric),
            (CaseValidity::Valid, rounds, Some(FabricProof::Verified)),
            "{result:?}"
        );
        assert!(
            result
                .value(Quantity::ReportedLatencyNanos)
                .is_some_and(|nanos| nanos > 1000),
            "{result:?}"
        );
    }
    let mut verdicts = 0;
    for comparison in status
        .comparisons
        .iter()
        .filter(|one| one.arm == "udp" && one.primary)
    {
        println!(
            "{} B: {:?} {:?} [{:?}, {:?}]",
            comparison.size_bytes,
            comparison.verdict,
            comparison.effect_ppm,
            comparison.lower_ppm,
            comparison.upper_ppm
        );
        assert!(comparison.verdict.is_some(), "{comparison:?}");
        verdicts += 1;
    }
    assert_eq!(verdicts, 2, "one verdict for each size");
    namespace.delete().await;
}

#[tokio::test]
async fn administrator_can_forbid_commands() {
    let nodes = share_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let arguments = [
        "--no-leader-election",
        "--namespace",
        &namespace.name,
        "--commands",
        "forbid",
    ];
    let _operator = start::operator(&kubeconfig(), &arguments);
    namespace.create(&example("command-fi-pingpong")).await;
    let status = namespace.wait_for_end("command-fi-pingpong").await;
    let (_, reason, message) = condition(&status, "Failed").unwrap();
    println!("{reason}: {message}");
    assert_eq!(status.state, Some(State::Failed));
    assert!(
        message.contains("spec.scenarios[0].command") && message.contains("--commands forbid"),
        "{message}"
    );
    assert_eq!(
        status.execution.unwrap_or_default().attempts,
        [],
        "no worker may have started"
    );
    namespace.delete().await;
}
