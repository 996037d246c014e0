//! Tests of manifests: the plans of the examples match golden files, and every invalid manifest is rejected with the
//! path of the invalid field.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use campaign::plan::plan;
use campaign::plan_check::{Severity, check};
use campaign::validate::validate;
use crds::assignment::Assignment;
use fabricbench_cli::commands::Input;
use fabricbench_cli::report::plan::render;
use operator::commands::Exit;
use serde::Deserialize;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn fabricbench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fabricbench"))
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap()
}

/// Returns the YAML files in a directory, sorted by name.
fn yaml_files(directory: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(directory))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

/// Compares `actual` with a golden file, or updates the file if `FABRICBENCH_UPDATE_GOLDEN` is set.
fn assert_golden(name: &str, actual: &str) {
    let path = root().join("cli/tests/golden").join(name);
    if std::env::var_os("FABRICBENCH_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == actual,
        "the output differs from {}. If the change is intended, run this test with FABRICBENCH_UPDATE_GOLDEN=1 and review \
         the difference. Output:\n{actual}",
        path.display()
    );
}

/// The tests of the images start runners without an operator, with a handwritten assignment in a ConfigMap.
#[test]
fn assignment_in_the_image_tests_is_valid() {
    let text = std::fs::read_to_string(root().join("images/tests/manifests/leg.yaml")).unwrap();
    let first = serde_yaml::Deserializer::from_str(&text).next().unwrap();
    let config_map = serde_yaml::Value::deserialize(first).unwrap();
    let assignment = config_map["data"]["assignment.json"].as_str().unwrap();
    Assignment::parse(assignment.as_bytes()).unwrap();
}

#[test]
fn plans_of_examples_match_golden_files() {
    for file in yaml_files("examples") {
        let runs = manifest::load(&file, None).unwrap_or_else(|error| panic!("{error}"));
        let texts = runs.into_iter().map(|mut run| {
            run.spec.sampling.seed = Some(42);
            let plan =
                plan(&validate(&run).unwrap_or_else(|error| panic!("{}: {error}", file.display()))).unwrap();
            let fatal: Vec<_> = check(&plan)
                .into_iter()
                .filter(|note| note.severity == Severity::Fatal)
                .collect();
            assert_eq!(fatal, [], "{}", file.display());
            render(&plan)
        });
        let stem = file.file_stem().unwrap().to_str().unwrap();
        assert_golden(&format!("{stem}.txt"), &texts.collect::<Vec<_>>().join("\n"));
    }
}

#[test]
fn overlay_adapts_the_test_procedures_to_this_machine() {
    let overlay = manifest::load_overlay(&root().join("examples/overlays/local-tcp.yaml")).unwrap();
    for example in [
        "nixl-t1-baseline",
        "nixl-t2-inject",
        "nixl-t3-doorbell",
        "nixl-t4-coalesce",
        "nixl-t5-combined",
        "all-gpus",
    ] {
        let file = root().join(format!("examples/{example}.yaml"));
        let run = manifest::load(&file, Some(&overlay)).unwrap().pop().unwrap();
        let original = manifest::load(&file, None).unwrap().pop().unwrap();
        assert_eq!(run.spec.variants, original.spec.variants);
        assert_eq!(run.spec.transport.rails(), original.spec.transport.rails());
        plan(&validate(&run).unwrap()).unwrap();
    }
}

#[test]
fn plan_prints_text_and_json() {
    let output = fabricbench(&["plan", "examples/demo.yaml", "--seed", "42"]);
    assert_eq!(output.status.code(), Some(0));
    assert_golden("demo.txt", &String::from_utf8(output.stdout).unwrap());

    let output = fabricbench(&[
        "plan",
        "examples/demo.yaml",
        "--format",
        "json",
        "--rounds",
        "3",
        "--seed",
        "7",
    ]);
    let plans: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(plans[0]["plan"]["rounds"], 3);
    assert_eq!(plans[1]["plan"]["sampling"]["seed"], 7);
    assert_eq!(plans[0]["planHash"].as_str().map(str::len), Some(64));
}

#[test]
fn every_plan_has_a_different_random_seed_unless_one_is_set() {
    let plan = || {
        let output = fabricbench(&["plan", "examples/libfabric-versions.yaml", "--format", "json"]);
        let plans: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        plans[0]["plan"].clone()
    };
    let (first, second) = (plan(), plan());
    assert!(first["seed"].as_u64().is_some(), "{first}");
    assert_ne!(first["seed"], second["seed"]);
    assert_ne!(first["legs"], second["legs"]);
    assert_eq!(first["sampling"], second["sampling"]);
}

/// The first line of each file contains the expected error: `# PATH | PART OF THE MESSAGE`.
#[test]
fn rejects_every_bad_manifest_with_the_path_of_the_invalid_field() {
    let mut failures = Vec::new();
    for file in yaml_files("cli/manifest/bad_manifests") {
        let text = std::fs::read_to_string(&file).unwrap();
        let (path, part) = text
            .lines()
            .next()
            .unwrap()
            .trim_start_matches("# ")
            .split_once('|')
            .unwrap();
        let (path, part) = (path.trim(), part.trim());
        let name = file.to_str().unwrap();
        let input = Input {
            file: file.clone(),
            overlay: None,
            rounds: None,
            seed: None,
        };
        let (exit, message) = match input.load() {
            Ok(_) => (None, String::new()),
            Err(failure) => (Some(failure.exit), failure.to_string()),
        };
        let start = if path.is_empty() {
            format!("{name}: ")
        } else {
            format!("{name}: {path}: ")
        };
        let named = message
            .lines()
            .any(|line| line.starts_with(&start) || line.starts_with(&format!("{name}: bad: {path}: ")));
        let document = message
            .lines()
            .any(|line| line.starts_with(&format!("{name}: document 2: {path}: ")));
        if exit != Some(Exit::InvalidInput) || !(named || document) || !message.contains(part) {
            failures.push(format!(
                "{name}: expected {path}: ... {part}\n  {exit:?}: {message}"
            ));
        }
        assert!(
            message.len() < 4000,
            "{name}: the message has {} bytes, which is too long to read",
            message.len()
        );
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn plan_prints_why_it_rejects_a_manifest() {
    let file = "cli/manifest/bad_manifests/rounds-high.yaml";
    let output = fabricbench(&["plan", file]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.starts_with(&format!("{file}: spec.sampling.rounds: ")),
        "{message}"
    );
    assert!(output.stdout.is_empty());
}

#[test]
fn rejects_malformed_files_quickly() {
    let directory = tempfile::tempdir().unwrap();
    let binary: Vec<u8> = (0..200_000_u32)
        .map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let bomb: String = (1..30)
        .map(|level| format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1))
        .collect();
    let cases: [(&str, Vec<u8>, &str); 5] = [
        ("binary.yaml", binary, "the file is not valid UTF-8"),
        (
            "long.yaml",
            vec![b'-'; 10_000_000],
            "the file is larger than 1048576 bytes",
        ),
        (
            "bomb.yaml",
            format!("a0: &a0 [x, x]\n{bomb}").into_bytes(),
            "invalid or unsupported YAML",
        ),
        (
            "deep.yaml",
            "[".repeat(1_000_000).into_bytes(),
            "brackets are nested more than",
        ),
        ("nul.yaml", vec![0; 1000], "invalid or unsupported YAML"),
    ];
    for (name, content, part) in cases {
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        let start = Instant::now();
        let output = fabricbench(&["plan", path.to_str().unwrap()]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {message}");
        assert!(message.contains(part), "{name}: {message}");
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{name} took {:?}",
            start.elapsed()
        );
    }
    let output = fabricbench(&["plan", "no-such-file.yaml"]);
    assert_eq!(output.status.code(), Some(2));
}

/// Every bound in the spec's schema must have a bad manifest, so that new bounds are always tested.
#[test]
fn every_schema_bound_has_a_bad_manifest() {
    let crd: serde_yaml::Value = serde_yaml::from_slice(&fabricbench(&["crd"]).stdout).unwrap();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let mut bounded = BTreeSet::new();
    bounded_fields(schema, "spec", &mut bounded);
    let tested: BTreeSet<_> = yaml_files("cli/manifest/bad_manifests")
        .iter()
        .filter_map(|file| {
            let text = std::fs::read_to_string(file).unwrap();
            let path = text
                .lines()
                .next()?
                .trim_start_matches("# ")
                .split('|')
                .next()?
                .trim()
                .to_owned();
            Some(
                path.replace(|c: char| c.is_ascii_digit(), "")
                    .replace("hugepagesMi", "hugepages2Mi"),
            )
        })
        .collect();
    let missing: Vec<_> = bounded.iter().filter(|path| !tested.contains(*path)).collect();
    assert!(missing.is_empty(), "no bad manifest for {missing:#?}");
}

/// Adds the paths of all fields with a bound or an enumeration to `found`.
fn bounded_fields(schema: &serde_yaml::Value, path: &str, found: &mut BTreeSet<String>) {
    const BOUNDS: [&str; 8] = [
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "maxProperties",
        "pattern",
    ];
    // A minimum of 0 follows from the unsigned type and needs no test.
    let bounded = BOUNDS.iter().any(|bound| {
        schema
            .get(*bound)
            .is_some_and(|value| !(*bound == "minimum" && value.as_f64() == Some(0.0)))
    });
    if bounded || schema.get("enum").is_some() {
        found.insert(path.to_owned());
    }
    for (name, field) in schema
        .get("properties")
        .and_then(serde_yaml::Value::as_mapping)
        .into_iter()
        .flatten()
    {
        bounded_fields(field, &format!("{path}.{}", name.as_str().unwrap()), found);
    }
    if let Some(items) = schema.get("items") {
        bounded_fields(items, &format!("{path}[]"), found);
    }
}
