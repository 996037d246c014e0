//! Every rule of the schema in a real API server: one manifest that it alone refuses, and one that is accepted.

use std::collections::BTreeSet;

use crds::v1alpha1::BenchmarkRun;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams, ValidationDirective};
use serde::Deserialize;
use serde_json::Value;

use super::cluster::{client, definition, namespace};

#[derive(Deserialize)]
struct Rules {
    run: Value,
    pairs: Vec<Pair>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Pair {
    /// Path of the object with the rule.
    at: String,
    /// How its message begins.
    says: String,
    /// Whether the rule compares a run with what it was before.
    #[serde(default)]
    of_a_change: bool,
    refused: Value,
    accepted: Value,
}

fn rules() -> Rules {
    serde_yaml::from_str(include_str!("rules.yaml")).unwrap()
}

/// Path and message of every rule within `schema`, which is at `path`.
fn declared(schema: &Value, path: &str, found: &mut Vec<(String, String)>) {
    let rules = schema["x-kubernetes-validations"].as_array();
    for rule in rules.into_iter().flatten() {
        found.push((path.to_owned(), rule["message"].as_str().unwrap().to_owned()));
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let dot = if path.is_empty() { "" } else { "." };
        declared(field, &format!("{path}{dot}{name}"), found);
    }
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(inner) = schema.get(key) {
            declared(inner, &format!("{path}{mark}"), found);
        }
    }
}

/// Without a cluster: a rule that comes or goes needs its pair.
#[test]
fn every_rule_has_one_pair() {
    let mut declared_rules = Vec::new();
    let schema = &definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    declared(schema, "", &mut declared_rules);
    let pairs = rules().pairs;
    for (at, message) in &declared_rules {
        let of_rule = pairs
            .iter()
            .filter(|pair| pair.at == *at && message.starts_with(&pair.says));
        assert_eq!(of_rule.count(), 1, "{at}: {message}");
    }
    assert_eq!(pairs.len(), declared_rules.len(), "a pair is of no rule");
}

/// What the API server says of `run`, which is not created; `before` is what it was.
async fn told(api: &Api<DynamicObject>, run: &Value, before: Option<&Value>) -> Result<(), Vec<String>> {
    let answer = match before {
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
    match answer {
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
async fn each_rule_refuses_what_breaks_it_and_nothing_near_it() {
    let client = client().await;
    let namespace = namespace(&client).await;
    let kind = ApiResource::erase::<BenchmarkRun>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(client, &namespace, &kind);
    let Rules { run, pairs } = rules();
    let stored = serde_json::from_value(run.clone()).unwrap();
    api.create(&PostParams::default(), &stored).await.unwrap();
    let mut refusals = BTreeSet::new();
    for pair in &pairs {
        let mut other = run.clone();
        other["metadata"]["name"] = "other".into();
        let changed = |change: &Value| {
            let mut changed = other.clone();
            json_patch::merge(&mut changed, change);
            changed
        };
        let (refused, accepted) = match pair.of_a_change {
            true => (
                told(&api, &pair.refused, Some(&run)).await,
                told(&api, &pair.accepted, Some(&run)).await,
            ),
            false => (
                told(&api, &changed(&pair.refused), None).await,
                told(&api, &changed(&pair.accepted), None).await,
            ),
        };
        let [cause] = &refused.expect_err(&pair.says)[..] else {
            panic!("{}: not this rule alone", pair.says);
        };
        assert!(cause.contains(&pair.says), "{}: {cause}", pair.says);
        assert_eq!(accepted, Ok(()), "{}", pair.says);
        refusals.insert(cause.clone());
    }
    println!("{} rules, each with a refusal of its own:", refusals.len());
    refusals.iter().for_each(|refusal| println!("  {refusal}"));
    assert_eq!(refusals.len(), pairs.len());
}
