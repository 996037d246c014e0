//! Invalid sizes that the schema accepts: the operator rejects the run and names the field.

use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::api::batch::v1::Job;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, PostParams};

use super::schema::{INVALID_SIZES, documents};
use super::start;
use test_support::cluster::{all, client, create_namespace, delete_namespace, kubeconfig, root, until};

#[tokio::test]
async fn rejects_invalid_sizes_that_the_schema_accepts() {
    let client = client().await;
    let namespace = create_namespace(&client).await;
    let _operator = start::without_election(&kubeconfig(), &namespace);
    let kind = ApiResource::erase::<BenchmarkRun>(&());
    let any: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &kind);
    for name in INVALID_SIZES {
        let path = root().join(format!("cli/manifest/bad_manifests/{name}.yaml"));
        let mut run: DynamicObject = serde_json::from_value(documents(&path).remove(0)).unwrap();
        run.metadata.name = Some(name.to_owned());
        any.create(&PostParams::default(), &run).await.unwrap();
        // The first line contains the expected field and message.
        let text = std::fs::read_to_string(&path).unwrap();
        let (field, _) = text.lines().next().unwrap()[2..].split_once(" | ").unwrap();
        let accepted = until(|| async {
            let run = any.get(name).await.ok()?;
            let conditions = run.data["status"]["conditions"].as_array()?.clone();
            conditions
                .into_iter()
                .find(|condition| condition["type"] == "Accepted")
        })
        .await;
        let message = accepted["message"].as_str().unwrap();
        println!("{name}: {message}");
        assert_eq!(accepted["status"], "False", "{name}");
        assert!(
            message.contains(&format!("{field}: ")),
            "{name}: the message does not name {field}: {message}"
        );
    }
    assert!(all::<Job>(&client, &namespace).await.is_empty());
    delete_namespace(&client, &namespace).await;
}
