//! Images that do not contain the runner. The operator installs the runner in their containers. An image based on
//! another distribution, with its own C library and libfabric, can be measured. If an image does not meet a
//! requirement, the status names the requirement.

use std::collections::BTreeSet;

use crds::v1alpha1::{BenchmarkRunStatus, CaseValidity, State};

use super::nodes::{Nodes, share_nodes};
use super::test_namespace::{TestNamespace, condition, planned, reports, with_rounds};
use super::testbed::Testbed;

/// Directory that contains the Dockerfile, relative to the repository root.
const DIRECTORY: &str = "operator/tests/cluster/images/foreign";
/// An image that contains only a static binary.
const WITHOUT_LIBC: &str = "fabricbench.dev/testbed/pause:1";

/// Builds an image and loads it onto the nodes if necessary. Returns its name.
pub async fn load_image(target: &str) -> String {
    let directory = test_support::cluster::root().join(DIRECTORY);
    let testbed = Testbed::lock().await;
    testbed
        .run(&["load", &format!("{}:{target}", directory.display())])
        .trim()
        .to_owned()
}

/// Runs a campaign whose second variant uses `image`, and returns its final status.
async fn run_with_image(namespace: &TestNamespace, name: &str, image: &str) -> BenchmarkRunStatus {
    let mut run = with_rounds(name, 1);
    run.spec.variants[1].image = Some(image.to_owned());
    namespace.create(&run).await;
    namespace.wait_for_end(name).await
}

#[tokio::test]
async fn measures_an_image_from_another_distribution_with_the_same_runner() {
    let nodes = share_nodes().await;
    let image = load_image("newer").await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    run_with_image(&namespace, "foreign", &image).await;
    let status = namespace.wait_for_completion("foreign").await;
    let run = namespace.runs.get("foreign").await.unwrap();
    let reports = reports(&run, &planned(&run), &namespace.lines(&run).await);
    let versions: BTreeSet<_> = reports
        .streams
        .iter()
        .map(|stream| &stream.runner_version)
        .collect();
    let digests: BTreeSet<_> = status
        .execution
        .unwrap()
        .attempts
        .into_iter()
        .map(|attempt| attempt.image_digest)
        .collect();
    let libraries = status.environment.unwrap().libraries;
    println!("runner {versions:?}\nimages {digests:#?}\nlibraries {libraries:#?}");
    assert_eq!(versions.len(), 1, "all arms must use the same runner");
    assert_eq!((digests.len(), digests.contains(&None)), (2, false));
    assert_eq!(libraries.len(), 2, "each image must use its own libfabric");
    namespace.delete().await;
}

/// Runs a campaign to completion, and returns why its variant with `image` is invalid.
async fn invalid_reason(nodes: &Nodes, name: &str, image: &str) -> String {
    let namespace = TestNamespace::new(nodes).await;
    let _operator = namespace.operator();
    let status = run_with_image(&namespace, name, image).await;
    assert_eq!(status.state, Some(State::Complete), "{:#?}", status.conditions);
    let arm = |arm: &str| status.results.iter().find(|result| result.arm == arm).unwrap();
    let baseline = arm("baseline");
    assert_eq!(
        baseline.validity,
        CaseValidity::Valid,
        "the other arm must be valid: {baseline:?}"
    );
    assert_eq!(arm("fi-inject").validity, CaseValidity::Invalid);
    let reason = arm("fi-inject").reason.clone().unwrap();
    println!("{name}: {reason}");
    namespace.delete().await;
    reason
}

#[tokio::test]
async fn reports_a_missing_libfabric() {
    let nodes = share_nodes().await;
    let reason = invalid_reason(&nodes, "without-libfabric", &load_image("bare").await).await;
    assert!(
        reason.contains("LibraryNotFound") && reason.contains("libfabric.so.1 not found"),
        "{reason}"
    );
}

#[tokio::test]
async fn reports_an_outdated_libfabric() {
    let nodes = share_nodes().await;
    let reason = invalid_reason(&nodes, "older-libfabric", &load_image("older").await).await;
    assert!(
        reason.contains("LibraryNotFound") && reason.contains("1.17 or later"),
        "{reason}"
    );
}

#[tokio::test]
async fn reports_a_missing_c_library() {
    let nodes = share_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    let status = run_with_image(&namespace, "without-libc", WITHOUT_LIBC).await;
    let (_, reason, message) = condition(&status, "Failed").unwrap();
    println!("{reason}: {message}");
    assert_eq!(
        (status.state, reason.as_str()),
        (Some(State::Failed), "WorkerStartFailed")
    );
    assert!(message.contains("glibc"), "{message}");
    namespace.delete().await;
}
