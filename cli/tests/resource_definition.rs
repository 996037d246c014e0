//! Tests the generated CustomResourceDefinition (size, structure, bounds and immutability rules), and checks that the
//! generated files are up to date.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use kube::core::cel::{Validator, compile_schema, estimate_rule_cost};
use serde_json::{Value, json};

fn fabricbench(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_fabricbench"))
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success());
    output.stdout
}

fn schema() -> Value {
    let definition: Value = serde_yaml::from_slice(&fabricbench(&["crd"])).unwrap();
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// Calls `visit` with every schema nested in `schema` and its path.
fn visit_schemas(schema: &Value, path: &str, visit: &mut impl FnMut(&str, &Value)) {
    visit(path, schema);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        visit_schemas(field, &format!("{path}.{name}"), visit);
    }
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(inner) = schema.get(key) {
            visit_schemas(inner, &format!("{path}{mark}"), visit);
        }
    }
}

#[test]
fn generated_files_are_up_to_date() {
    let generated: [(&str, &[&str]); 4] = [
        ("charts/fabricbench/crds/benchmarkruns.yaml", &["crd"]),
        ("docs/benchmarkrun.schema.json", &["crd", "--schema", "run"]),
        ("docs/record.schema.json", &["crd", "--schema", "records"]),
        ("docs/assignment.schema.json", &["crd", "--schema", "assignment"]),
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for (file, arguments) in generated {
        let wanted = fabricbench(arguments);
        let found = std::fs::read(root.join(file)).unwrap_or_default();
        assert!(found == wanted, "{file} is out of date; run `make generate`");
    }
}

/// `kubectl apply` stores the whole object as JSON in an annotation of at most 256 KiB, and a reader sees all of it as YAML.
#[test]
fn definition_is_small() {
    let yaml = fabricbench(&["crd"]);
    assert!(yaml.len() <= 170_000, "{} bytes", yaml.len());
}

/// kubectl and Helm read YAML 1.1, in which words such as `Yes` and `Off` are booleans. `serde_yaml` writes YAML 1.2 and
/// does not quote them.
#[test]
fn definition_has_no_words_that_yaml_1_1_reads_as_booleans() {
    let definition = String::from_utf8(fabricbench(&["crd"])).unwrap();
    let booleans: Vec<&str> = definition
        .lines()
        .filter(|line| {
            let scalar = line.trim().rsplit(['-', ':']).next().unwrap_or_default().trim();
            let word = scalar.to_lowercase();
            ["y", "n", "yes", "no", "on", "off"].contains(&word.as_str())
                || matches!(scalar, "True" | "False")
        })
        .collect();
    assert!(booleans.is_empty(), "{booleans:?}");
}

#[test]
fn schema_is_structural_and_described() {
    let mut invalid = Vec::new();
    visit_schemas(&schema(), "", &mut |path, schema| {
        let is_untyped = |key| schema[key] == true;
        let typed = schema.get("type").is_some()
            || is_untyped("x-kubernetes-int-or-string")
            // A number or a list of numbers.
            || (path.ends_with(".consumers") && is_untyped("x-kubernetes-preserve-unknown-fields"));
        let unsupported = ["$ref", "$defs", "definitions", "const", "not", "if"]
            .iter()
            .any(|key| schema.get(key).is_some());
        let closed = schema["additionalProperties"].is_boolean();
        let described = schema.get("description").is_some() || path.ends_with(['}', ']']) || path.is_empty();
        if !typed || unsupported || closed || !described {
            invalid.push(path.to_owned());
        }
        for branch in schema["oneOf"].as_array().into_iter().flatten() {
            let keys: Vec<_> = branch.as_object().unwrap().keys().collect();
            assert_eq!(
                keys,
                ["required"],
                "{path}: a branch must contain only `required`"
            );
        }
    });
    assert!(invalid.is_empty(), "{invalid:#?}");
}

#[test]
fn every_list_and_string_in_the_spec_is_bounded() {
    let mut unbounded = Vec::new();
    visit_schemas(&schema()["properties"]["spec"], "spec", &mut |path, schema| {
        let bounded = match schema["type"].as_str() {
            Some("array") => schema.get("maxItems").is_some(),
            // A pattern that lists all permitted values is also a bound.
            Some("string") => {
                let lists_values = schema["pattern"]
                    .as_str()
                    .is_some_and(|pattern| pattern.starts_with("^(") && pattern.ends_with(")$"));
                lists_values || schema.get("maxLength").is_some() || schema.get("enum").is_some()
            }
            Some("object") => {
                schema.get("additionalProperties").is_none() || schema.get("maxProperties").is_some()
            }
            _ => true,
        };
        if !bounded {
            unbounded.push(path.to_owned());
        }
    });
    assert!(unbounded.is_empty(), "{unbounded:#?}");
}

#[test]
fn rules_compile_within_the_cost_limit() {
    let mut count = 0;
    visit_schemas(&schema(), "", &mut |path, schema| {
        let compiled = compile_schema(schema);
        assert!(
            !compiled.has_errors(),
            "{path}: {:?}",
            compiled.compilation_errors()
        );
        for rule in schema["x-kubernetes-validations"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let warnings = estimate_rule_cost(rule["rule"].as_str().unwrap(), &compiled);
            assert!(warnings.is_empty(), "{path}: {warnings:?}");
            count += 1;
        }
    });
    assert!(count >= 10, "{count} rules");
}

/// Returns a run with every optional field.
fn full_run() -> Value {
    json!({
        "apiVersion": "fabricbench.dev/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "run"},
        "spec": {
            "suspend": false, "image": "one", "baseline": "a", "striping": {"policy": "Nixl"},
            "variants": [{"name": "a"}, {"name": "b", "inject": {"maxBytes": 64}}],
            "transport": {"libfabric": {"provider": "tcp", "rails": 4}},
            "scenarios": [{"name": "s", "pingPong": {"sizes": [64]}}],
            "placement": {"workers": 2}, "resources": {"gpus": 0}, "sampling": {"seed": 42},
            "expectations": [{"variant": "b", "scenario": "s", "metric": "LatencyP50", "decreasePercent": {"min": 1}}],
            "runPolicy": {
                "activeDeadlineSeconds": 100, "pendingDeadlineSeconds": 100, "ttlSecondsAfterFinished": 100,
                "backoffLimit": 2, "caseDeadlineSeconds": 60
            }
        }
    })
}

fn is_update_rejected(schema: &Value, new: &Value, old: &Value) -> bool {
    let refused = Validator::new().validate(schema, new, Some(old));
    refused.is_err_and(|errors| {
        errors
            .as_slice()
            .iter()
            .any(|error| error.message.contains("immutable"))
    })
}

#[test]
fn spec_is_immutable_except_for_suspend_and_ttl() {
    let (schema, old) = (schema(), full_run());
    assert!(!is_update_rejected(&schema, &old, &old));

    let changed = |pointer: &str, value: Value| {
        let mut new = old.clone();
        *new.pointer_mut(pointer).unwrap() = value;
        is_update_rejected(&schema, &new, &old)
    };
    assert!(!changed("/spec/suspend", json!(true)));
    assert!(!changed("/spec/runPolicy/ttlSecondsAfterFinished", json!(1)));
    let immutable = [
        ("/spec/image", json!("two")),
        ("/spec/baseline", json!("b")),
        ("/spec/striping/policy", json!("Single")),
        ("/spec/variants/1/inject/maxBytes", json!("1Ki")),
        ("/spec/transport/libfabric/rails", json!(2)),
        ("/spec/scenarios/0/pingPong/sizes/0", json!(128)),
        ("/spec/placement/workers", json!(3)),
        ("/spec/resources/gpus", json!(1)),
        ("/spec/sampling/seed", json!(1)),
        ("/spec/expectations/0/decreasePercent/min", json!(2)),
        ("/spec/runPolicy/activeDeadlineSeconds", json!(1000)),
        ("/spec/runPolicy/pendingDeadlineSeconds", json!(1000)),
        ("/spec/runPolicy/backoffLimit", json!(3)),
        ("/spec/runPolicy/caseDeadlineSeconds", json!(1000)),
    ];
    for (pointer, value) in immutable {
        assert!(changed(pointer, value), "{pointer} could be changed");
    }
    for field in ["image", "striping", "expectations"] {
        let mut without = old.clone();
        without["spec"].as_object_mut().unwrap().remove(field);
        assert!(
            is_update_rejected(&schema, &without, &old),
            "{field} could be removed"
        );
        assert!(
            is_update_rejected(&schema, &old, &without),
            "{field} could be added"
        );
    }
}

/// A spec field that the rule does not compare could be changed after the run has been planned.
#[test]
fn immutability_rule_covers_every_immutable_field() {
    let schema = schema();
    let spec = &schema["properties"]["spec"];
    let rules = spec["x-kubernetes-validations"].as_array().unwrap();
    let rule = rules
        .iter()
        .filter_map(|rule| rule["rule"].as_str())
        .find(|rule| rule.contains("oldSelf"))
        .unwrap();
    let is_compared = |field: &str| rule.contains(&format!("self.{field} == oldSelf.{field}"));
    for field in spec["properties"].as_object().unwrap().keys() {
        assert!(
            is_compared(field) || ["suspend", "runPolicy"].contains(&field.as_str()),
            "{field}"
        );
    }
    for field in spec["properties"]["runPolicy"]["properties"]
        .as_object()
        .unwrap()
        .keys()
    {
        assert!(
            is_compared(&format!("runPolicy.{field}")) || field == "ttlSecondsAfterFinished",
            "runPolicy.{field}"
        );
    }
}
