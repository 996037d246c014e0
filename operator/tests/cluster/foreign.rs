//! Images that know nothing of us: an operator brings the runner into them. One of another distribution, with an older C
//! library and libfabric, is measured; one that lacks something is refused with the reason.

use std::collections::BTreeSet;

use crds::v1alpha1::{BenchmarkRunStatus, State};

use super::campaign::{Place, condition, planned, reports};
use super::testbed::testbed;
use super::undisturbed::short;

/// Folder of their Dockerfile, from the root of the repository.
const FOLDER: &str = "operator/tests/cluster/images/foreign";
/// A program without any library, and nothing else.
const WITHOUT_LIBC: &str = "fabricbench.dev/testbed/pause:1";

/// Builds an image and loads it into the nodes, where it is not there yet. Gives its name.
fn loaded(target: &str) -> String {
    let folder = super::cluster::root().join(FOLDER);
    testbed(&["load", &format!("{}:{target}", folder.display())])
        .trim()
        .to_owned()
}

/// The end of a campaign whose second variant is in `image`.
async fn with_image(place: &Place, name: &str, image: &str) -> BenchmarkRunStatus {
    let mut run = short(name, 1);
    run.spec.variants[1].image = Some(image.to_owned());
    place.create(&run).await;
    place.ended(name).await
}

#[tokio::test]
async fn an_image_of_another_distribution_is_measured_by_the_same_runner() {
    let image = loaded("libfabric");
    let place = Place::new().await;
    let _operator = place.operator();
    with_image(&place, "foreign", &image).await;
    let status = place.completed("foreign").await;
    let run = place.runs.get("foreign").await.unwrap();
    let reports = reports(&run, &planned(&run), &place.lines(&run).await);
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
    assert_eq!(versions.len(), 1, "all arms are measured by the same runner");
    assert_eq!((digests.len(), digests.contains(&None)), (2, false));
    assert_eq!(libraries.len(), 2, "each image has a libfabric of its own");
    place.leave().await;
}

/// Reason and words of the failure of a campaign with `image`.
async fn failed(name: &str, image: &str) -> (String, String) {
    let place = Place::new().await;
    let _operator = place.operator();
    let status = with_image(&place, name, image).await;
    let (_, reason, message) = condition(&status, "Failed").unwrap();
    println!("{name}: {reason}: {message}");
    assert_eq!(status.state, Some(State::Failed));
    place.leave().await;
    (reason, message)
}

#[tokio::test]
async fn an_image_without_libfabric_is_told_that_it_has_none() {
    let (reason, message) = failed("without-libfabric", &loaded("bare")).await;
    assert_eq!(reason, "MeasurementFailed");
    assert!(
        message.contains("LibraryAbsent") && message.contains("libfabric.so.1"),
        "{message}"
    );
}

#[tokio::test]
async fn an_image_without_a_c_library_is_told_that_the_runner_needs_one() {
    let (reason, message) = failed("without-libc", WITHOUT_LIBC).await;
    assert_eq!(reason, "WorkerNotStarted");
    assert!(message.contains("glibc"), "{message}");
}
