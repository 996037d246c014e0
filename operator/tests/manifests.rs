//! Files given to the real program: every example plans as its golden file says, every bad manifest is refused with the
//! path of its field, and generated files are current.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use fabricbench_operator::campaign::plan::plan;
use fabricbench_operator::campaign::plan_check::{Severity, check};
use fabricbench_operator::campaign::validate::validate;
use fabricbench_operator::manifest;
use fabricbench_operator::report::plan::render;

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

/// The YAML files of a folder, by name.
fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

/// Compares `found` with a golden file, or writes it where `FABRICBENCH_UPDATE_GOLDEN` is set.
fn golden(name: &str, found: &str) {
    let path = root().join("operator/tests/golden").join(name);
    if std::env::var_os("FABRICBENCH_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        wanted == found,
        "{} is not what this program prints. If the change is meant, run this test with FABRICBENCH_UPDATE_GOLDEN=1 and \
         review the difference. It prints:\n{found}",
        path.display()
    );
}

#[test]
fn every_example_plans_as_its_golden_file_says() {
    for file in files("examples") {
        let runs = manifest::load(&file, None).unwrap_or_else(|error| panic!("{error}"));
        let texts = runs.iter().map(|run| {
            let plan =
                plan(&validate(run).unwrap_or_else(|error| panic!("{}: {error}", file.display()))).unwrap();
            let grave: Vec<_> = check(&plan)
                .into_iter()
                .filter(|note| note.severity == Severity::Fatal)
                .collect();
            assert_eq!(grave, [], "{}", file.display());
            render(&plan)
        });
        let stem = file.file_stem().unwrap().to_str().unwrap();
        golden(&format!("{stem}.txt"), &texts.collect::<Vec<_>>().join("\n"));
    }
}

#[test]
fn the_procedures_move_to_this_machine_by_one_overlay() {
    let overlay = manifest::load_overlay(&root().join("examples/overlays/local-tcp.yaml")).unwrap();
    for test in [
        "t1-baseline",
        "t2-inject",
        "t3-doorbell",
        "t4-coalesce",
        "t5-combined",
    ] {
        let file = root().join(format!("examples/nixl-{test}.yaml"));
        let run = manifest::load(&file, Some(&overlay)).unwrap().pop().unwrap();
        let there = manifest::load(&file, None).unwrap().pop().unwrap();
        assert_eq!(run.spec.variants, there.spec.variants);
        assert_eq!(run.spec.transport.rails(), there.spec.transport.rails());
        plan(&validate(&run).unwrap()).unwrap();
    }
}

#[test]
fn plan_prints_text_and_json() {
    let output = fabricbench(&["plan", "examples/demo.yaml"]);
    assert_eq!(output.status.code(), Some(0));
    golden("demo.txt", &String::from_utf8(output.stdout).unwrap());

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

/// The first line of each file says what is expected: `# PATH | PART OF THE MESSAGE`.
#[test]
fn every_bad_manifest_is_refused_with_the_path_of_its_field() {
    let mut wrong = Vec::new();
    for file in files("operator/tests/bad_manifests") {
        let given = std::fs::read_to_string(&file).unwrap();
        let (path, part) = given
            .lines()
            .next()
            .unwrap()
            .trim_start_matches("# ")
            .split_once('|')
            .unwrap();
        let (path, part) = (path.trim(), part.trim());
        let name = file.to_str().unwrap();
        let output = fabricbench(&["plan", name]);
        let message = String::from_utf8(output.stderr).unwrap();
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
        if output.status.code() != Some(2) || !(named || document) || !message.contains(part) {
            wrong.push(format!(
                "{name}: expected {path}: ... {part}\n  {:?}: {message}",
                output.status.code()
            ));
        }
        assert!(
            message.len() < 4000,
            "{name}: a message is for reading, not {} bytes",
            message.len()
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_no_manifest_at_all_is_refused_quickly() {
    let folder = tempfile::tempdir().unwrap();
    let binary: Vec<u8> = (0..200_000_u32)
        .map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let bomb: String = (1..30)
        .map(|level| format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1))
        .collect();
    let cases: [(&str, Vec<u8>, &str); 5] = [
        ("binary.yaml", binary, "it is not UTF-8 text"),
        (
            "long.yaml",
            vec![b'-'; 10_000_000],
            "it is longer than 1048576 bytes",
        ),
        (
            "bomb.yaml",
            format!("a0: &a0 [x, x]\n{bomb}").into_bytes(),
            "no YAML that is read here",
        ),
        (
            "deep.yaml",
            "[".repeat(1_000_000).into_bytes(),
            "brackets are open at once",
        ),
        ("nul.yaml", vec![0; 1000], "no YAML that is read here"),
    ];
    for (name, content, part) in cases {
        let path = folder.path().join(name);
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

/// Every bound of the spec's schema must have a bad manifest, so that none is added without being seen to hold.
#[test]
fn every_rule_of_the_schema_has_a_bad_manifest() {
    let crd: serde_yaml::Value = serde_yaml::from_slice(&fabricbench(&["crd"]).stdout).unwrap();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let mut bounded = BTreeSet::new();
    bounded_fields(schema, "spec", &mut bounded);
    let tested: BTreeSet<_> = files("operator/tests/bad_manifests")
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
    // Every unsigned number has the minimum 0 from its type.
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
