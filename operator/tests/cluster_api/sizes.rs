//! Sizes that the schema lets through: the operator refuses the run, and names the field.

use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::api::batch::v1::Job;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, PostParams};

use super::cluster::{all, client, kubeconfig, leave, namespace, root, until};
use super::operator::Operator;
use super::schema::{SIZES, documents};

#[tokio::test]
async fn a_size_that_the_schema_lets_through_is_refused_with_its_field() {
    let client = client().await;
    let namespace = namespace(&client).await;
    let _operator = Operator::start_alone(&kubeconfig(), &namespace);
    let kind = ApiResource::erase::<BenchmarkRun>(&());
    let any: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &kind);
    for name in SIZES {
        let path = root().join(format!("operator/tests/bad_manifests/{name}.yaml"));
        let mut run: DynamicObject = serde_json::from_value(documents(&path).remove(0)).unwrap();
        run.metadata.name = Some(name.to_owned());
        any.create(&PostParams::default(), &run).await.unwrap();
        // Its first line says what every other reader of it must say.
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
            "{name}: not of {field}: {message}"
        );
    }
    assert!(all::<Job>(&client, &namespace).await.is_empty());
    leave(&client, &namespace).await;
}
