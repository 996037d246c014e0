//! Tests every CEL rule in the schema with a real API server, one manifest that violates only this rule, and a similar
//! valid manifest.

use std::collections::BTreeSet;

use crds::v1alpha1::BenchmarkRun;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams, ValidationDirective};
use serde::Deserialize;
use serde_json::Value;

use test_support::cluster::{client, create_namespace, definition};

#[derive(Deserialize)]
struct Rules {
    run: Value,
    pairs: Vec<Pair>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Pair {
    /// Path of the object that has the rule.
    at: String,
    /// Start of the rule's message.
    message: String,
    /// Whether the rule compares the run with its previous version.
    #[serde(default)]
    on_update: bool,
    rejected: Value,
    accepted: Value,
}

fn rules() -> Rules {
    serde_yaml::from_str(include_str!("rules.yaml")).unwrap()
}

/// Adds the path and message of every rule in `schema` to `found`. `path` is the path of `schema` itself.
fn find_rules(schema: &Value, path: &str, found: &mut Vec<(String, String)>) {
    let rules = schema["x-kubernetes-validations"].as_array();
    for rule in rules.into_iter().flatten() {
        found.push((path.to_owned(), rule["message"].as_str().unwrap().to_owned()));
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let dot = if path.is_empty() { "" } else { "." };
        find_rules(field, &format!("{path}{dot}{name}"), found);
    }
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(inner) = schema.get(key) {
            find_rules(inner, &format!("{path}{mark}"), found);
        }
    }
}

/// This test does not need an API server.
#[test]
fn every_rule_has_one_pair() {
    let mut declared_rules = Vec::new();
    let schema = &definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    find_rules(schema, "", &mut declared_rules);
    let pairs = rules().pairs;
    for (at, message) in &declared_rules {
        let pairs_of_rule = pairs
            .iter()
            .filter(|pair| pair.at == *at && message.starts_with(&pair.message));
        assert_eq!(pairs_of_rule.count(), 1, "{at}: {message}");
    }
    assert_eq!(pairs.len(), declared_rules.len(), "a pair has no rule");
}

/// Creates `run`, or applies it to `before` as a patch, in a dry run. Returns the causes of a rejection.
async fn dry_run(api: &Api<DynamicObject>, run: &Value, before: Option<&Value>) -> Result<(), Vec<String>> {
    let result = match before {
        None => {
            let params = PostParams {
                dry_run: true,
                ..PostParams::default()
            };
            api.create(&params, &serde_json::from_value(run.clone()).unwrap())
                .await
        }
        Some(before) => {
            let name = before["metadata"]["name"].as_str().unwrap();
            let params = PatchParams {
                dry_run: true,
                field_validation: Some(ValidationDirective::Strict),
                ..PatchParams::default()
            };
            api.patch(name, &params, &Patch::Merge(run)).await
        }
    };
    match result {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => {
            let causes = status.details.as_ref().map(|details| details.causes.clone());
            let causes = causes.unwrap_or_default().into_iter();
            Err(causes
                .map(|cause| format!("{}: {}", cause.field, cause.message))
                .collect())
        }
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn each_rule_rejects_only_its_violation() {
    let client = client().await;
    let namespace = create_namespace(&client).await;
    let kind = ApiResource::erase::<BenchmarkRun>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(client, &namespace, &kind);
    let Rules { run, pairs } = rules();
    let stored = serde_json::from_value(run.clone()).unwrap();
    api.create(&PostParams::default(), &stored).await.unwrap();
    let mut messages = BTreeSet::new();
    for pair in &pairs {
        let mut other = run.clone();
        other["metadata"]["name"] = "other".into();
        let changed = |change: &Value| {
            let mut changed = other.clone();
            json_patch::merge(&mut changed, change);
            changed
        };
        let (rejected, accepted) = match pair.on_update {
            true => (
                dry_run(&api, &pair.rejected, Some(&run)).await,
                dry_run(&api, &pair.accepted, Some(&run)).await,
            ),
            false => (
                dry_run(&api, &changed(&pair.rejected), None).await,
                dry_run(&api, &changed(&pair.accepted), None).await,
            ),
        };
        let [cause] = &rejected.expect_err(&pair.message)[..] else {
            panic!("{}: other rules reject the manifest too", pair.message);
        };
        assert!(cause.contains(&pair.message), "{}: {cause}", pair.message);
        assert_eq!(accepted, Ok(()), "{}", pair.message);
        messages.insert(cause.clone());
    }
    println!("{} rules with distinct messages:", messages.len());
    messages.iter().for_each(|message| println!("  {message}"));
    assert_eq!(messages.len(), pairs.len());
}
