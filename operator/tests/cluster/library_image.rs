//! Libraries copied from an image that only one variant specifies.

use crds::v1alpha1::{CaseValidity, FabricProof, State};

use super::custom_images::load_image;
use super::nodes::share_nodes;
use super::test_namespace::{TestNamespace, condition, with_rounds};

/// Directory in the `libraries` image that contains its libfabric.
const DIRECTORY: &str = "/opt/libfabric";

/// All workers run in the `newer` image. One variant uses the libfabric in that image, and the other uses the older
/// libfabric from the `libraries` image, in the same pods.
#[tokio::test]
async fn libfabric_from_another_image_is_interleaved_with_the_workers_libfabric() {
    let nodes = share_nodes().await;
    let (workers, libraries) = (load_image("newer").await, load_image("libraries").await);
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    let mut run = with_rounds("library-image", 2);
    for variant in &mut run.spec.variants {
        variant.image = Some(workers.clone());
    }
    let copied = &mut run.spec.variants[1];
    copied.inject = None;
    copied.library = Some(DIRECTORY.to_owned());
    copied.library_image = Some(libraries);
    let path = copied.library_directory().unwrap();
    namespace.create(&run).await;
    let status = namespace.wait_for_completion("library-image").await;
    assert_eq!(
        status.execution.unwrap().attempts.len(),
        1,
        "all rounds must run in the same pods"
    );
    let loaded = status.environment.unwrap().libraries;
    println!("{loaded:#?}");
    for result in &status.results {
        assert_eq!(
            (result.validity, result.valid_rounds, result.fabric),
            (CaseValidity::Valid, 2, Some(FabricProof::Verified)),
            "{result:?}"
        );
    }
    assert_eq!(loaded.len(), 2, "{loaded:?}");
    assert_eq!(
        loaded.iter().filter(|library| library.contains(&path)).count(),
        1,
        "one variant must use the copy: {loaded:?}"
    );
    namespace.delete().await;
}

#[tokio::test]
async fn error_names_a_directory_that_the_image_does_not_contain() {
    let nodes = share_nodes().await;
    let libraries = load_image("libraries").await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    let mut run = with_rounds("library-image", 1);
    run.spec.variants[1].library = Some("/opt/missing".to_owned());
    run.spec.variants[1].library_image = Some(libraries);
    namespace.create(&run).await;
    let status = namespace.wait_for_end("library-image").await;
    let (_, reason, message) = condition(&status, "Failed").unwrap();
    println!("{reason}: {message}");
    assert_eq!(
        (status.state, reason.as_str()),
        (Some(State::Failed), "WorkerStartFailed")
    );
    assert!(message.contains("/opt/missing"), "{message}");
    namespace.delete().await;
}
