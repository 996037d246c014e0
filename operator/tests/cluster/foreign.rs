//! Images that know nothing of us: an operator brings the runner into them. One of another distribution, with its own C
//! library and libfabric, is measured; of one that lacks something it is said what.

use std::collections::BTreeSet;

use crds::v1alpha1::{BenchmarkRunStatus, CaseValidity, State};

use super::campaign::{Place, condition, planned, reports, with_rounds};
use super::testbed::testbed;

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
    let mut run = with_rounds(name, 1);
    run.spec.variants[1].image = Some(image.to_owned());
    place.create(&run).await;
    place.ended(name).await
}

#[tokio::test]
async fn an_image_of_another_distribution_is_measured_by_the_same_runner() {
    let image = loaded("newer");
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

/// Why the variant in `image` has no numbers, in a campaign that is complete all the same.
async fn without_numbers(name: &str, image: &str) -> String {
    let place = Place::new().await;
    let _operator = place.operator();
    let status = with_image(&place, name, image).await;
    assert_eq!(status.state, Some(State::Complete), "{:#?}", status.conditions);
    let arm = |arm: &str| status.results.iter().find(|result| result.arm == arm).unwrap();
    assert_eq!(
        arm("baseline").validity,
        CaseValidity::Valid,
        "others are measured"
    );
    assert_eq!(arm("fi-inject").validity, CaseValidity::Invalid);
    let reason = arm("fi-inject").reason.clone().unwrap();
    println!("{name}: {reason}");
    place.leave().await;
    reason
}

#[tokio::test]
async fn an_image_without_libfabric_is_told_where_it_was_looked_for() {
    let reason = without_numbers("without-libfabric", &loaded("bare")).await;
    assert!(
        reason.contains("LibraryNotFound") && reason.contains("libfabric.so.1 not found"),
        "{reason}"
    );
}

#[tokio::test]
async fn an_image_with_too_old_a_libfabric_is_told_its_version() {
    let reason = without_numbers("older-libfabric", &loaded("older")).await;
    assert!(
        reason.contains("LibraryNotFound") && reason.contains("1.17 or later"),
        "{reason}"
    );
}

#[tokio::test]
async fn an_image_without_a_c_library_is_told_that_the_runner_needs_one() {
    let place = Place::new().await;
    let _operator = place.operator();
    let status = with_image(&place, "without-libc", WITHOUT_LIBC).await;
    let (_, reason, message) = condition(&status, "Failed").unwrap();
    println!("{reason}: {message}");
    assert_eq!(
        (status.state, reason.as_str()),
        (Some(State::Failed), "WorkerStartFailed")
    );
    assert!(message.contains("glibc"), "{message}");
    place.leave().await;
}
