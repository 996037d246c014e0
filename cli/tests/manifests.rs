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
use test_support::bad_manifests::{bad_manifests, valid_manifests};

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

/// Prints the plan of an example in a format.
fn plan_in(format: &str, example: &str) -> String {
    let file = format!("examples/{example}.yaml");
    let output = fabricbench(&["plan", &file, "--seed", "42", "--format", format]);
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn markdown_of_a_plan_has_its_tables_and_the_first_legs() {
    let text = plan_in("markdown", "nixl-images");
    assert!(text.starts_with("### nixl-images\n"), "{text}");
    assert!(
        text.contains("| leg | rounds | blocks | processes | arms | image |"),
        "{text}"
    );
    assert!(
        text.contains("| 7 | round 1 |") && !text.contains("| 8 | round"),
        "{text}"
    );
    assert!(text.contains("legs in total"), "{text}");
    assert!(text.contains("primary metric Throughput"), "{text}");
}

#[test]
fn a_page_has_the_plans_of_all_runs_with_all_legs() {
    let page = plan_in("html", "nixl-images");
    assert!(
        page.contains("<h1>nixl-images</h1>") && page.contains("round 2"),
        "{page}"
    );
    let page = plan_in("html", "demo");
    assert_eq!(page.matches("<!DOCTYPE html>").count(), 1);
    for heading in ["demo-shm: Arms", "demo-shm: Legs", "demo-tcp: Arms"] {
        assert!(page.contains(heading), "{page}");
    }
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
            render(&plan, &[])
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
fn plan_warns_about_a_program_that_is_not_installed() {
    let example = std::fs::read_to_string(root().join("examples/command-fi-pingpong.yaml")).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        file.path(),
        example
            .replace("client: [fi_pingpong", "client: [no-such-tool")
            .replace("server: [fi_pingpong", "server: [sh"),
    )
    .unwrap();
    let output = fabricbench(&["plan", file.path().to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("warning: scenario pingpong: the program no-such-tool is not in PATH on this machine"),
        "{text}"
    );
    assert!(!text.contains("the program sh "), "{text}");
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

/// Words of the libraries that read manifests, which say nothing to a user.
const LIBRARY_WORDS: [&str; 9] = [
    "unknown variant `",
    "invalid type",
    "invalid value",
    "expected one of",
    "a sequence",
    "struct ",
    "u32",
    "additionalProperties",
    "oneOf",
];

#[test]
fn rejects_every_bad_manifest_with_the_position_and_the_path_of_the_invalid_field() {
    let directory = tempfile::tempdir().unwrap();
    let mut failures = Vec::new();
    for case in bad_manifests() {
        let file = directory.path().join(format!("{}.yaml", case.name));
        std::fs::write(&file, &case.text).unwrap();
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
        let is_described = message.lines().any(|line| {
            let rest = line.strip_prefix(name).unwrap_or_default();
            let (position, rest) = rest.split_once(": ").unwrap_or_default();
            let rest = match rest.split_once(": ") {
                Some((document, rest)) if document.starts_with("document ") => rest,
                _ => rest,
            };
            let has_position = position
                .split(':')
                .skip(1)
                .filter(|one| one.parse::<u32>().is_ok())
                .count()
                == 2;
            let start = format!("{}: ", case.path);
            let names_field = case.path.is_empty() || (has_position && rest.starts_with(&start));
            names_field && rest.contains(&case.message)
        });
        if exit != Some(Exit::InvalidInput) || !is_described {
            failures.push(format!(
                "{}: expected {}: ... {}\n  {exit:?}: {message}",
                case.name, case.path, case.message
            ));
        }
        if let Some(word) = LIBRARY_WORDS.iter().find(|word| message.contains(**word)) {
            failures.push(format!("{}: {message} contains {word}", case.name));
        }
        assert!(
            message.len() < 4000,
            "{}: the message has {} bytes, which is too long to read",
            case.name,
            message.len()
        );
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The defect of a bad manifest is then what its case adds.
#[test]
fn accepts_the_manifests_without_the_defects() {
    let mut failures = Vec::new();
    for text in valid_manifests() {
        match manifest::parse(&text, None) {
            Ok(runs) => failures.extend(
                runs.iter()
                    .filter_map(|run| validate(run).err())
                    .map(|error| format!("{error:#?}\n{text}")),
            ),
            Err(error) => failures.push(format!("{error:#?}\n{text}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn plan_prints_why_it_rejects_a_manifest() {
    let case = bad_manifests()
        .into_iter()
        .find(|case| case.name == "rounds-high")
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bad.yaml");
    std::fs::write(&file, case.text).unwrap();
    let output = fabricbench(&["plan", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    let start = format!("{}:", file.display());
    assert!(message.starts_with(&start), "{message}");
    assert!(message.contains(": spec.sampling.rounds: "), "{message}");
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
    let cases: [(&str, Vec<u8>, &str); 9] = [
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
        (
            "nul.yaml",
            vec![0; 1000],
            "nul.yaml:1:1: the file contains U+0000 (the NUL character). Remove it",
        ),
        (
            "escape.yaml",
            b"a: 1\nb: \x1b[31m".to_vec(),
            "escape.yaml:2:4: the file contains U+001B (the escape character). Remove it",
        ),
        (
            "space.yaml",
            "kind:\u{a0}BenchmarkRun\nspec: {}\n".into(),
            "The text before this position contains U+00A0 (a no-break space)",
        ),
        (
            "colon.yaml",
            "kind\u{ff1a} BenchmarkRun\nspec: {}\n".into(),
            "The text before this position contains U+FF1A (a fullwidth character)",
        ),
        (
            "number.yaml",
            "spec: {rounds: 99999999999999999999999}".into(),
            "spec.rounds: 99999999999999999999999 is too large for a number; use a smaller value",
        ),
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

/// Changes of a value that users make by mistake.
const CHANGES: [fn(&serde_json::Value) -> serde_json::Value; 8] = [
    |_| serde_json::Value::Null,
    |_| serde_json::json!("x"),
    |_| serde_json::json!(-1),
    |_| serde_json::json!(1.5),
    |_| serde_json::json!([]),
    |_| serde_json::json!({}),
    |value| serde_json::json!([value]),
    |value| serde_json::json!({"name": value}),
];

/// JSON pointers to all values below `value`, whose pointer is `pointer`.
fn pointers(value: &serde_json::Value, pointer: &str, found: &mut Vec<String>) {
    let children: Vec<(String, &serde_json::Value)> = match value {
        serde_json::Value::Object(fields) => {
            fields.iter().map(|(name, child)| (name.clone(), child)).collect()
        }
        serde_json::Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, child)| (index.to_string(), child))
            .collect(),
        _ => Vec::new(),
    };
    for (name, child) in children {
        let child_pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
        found.push(child_pointer.clone());
        pointers(child, &child_pointer, found);
    }
}

/// Reads a manifest. Fails if an error has no position or no message.
fn assert_readable_or_located(text: &str, description: &str) {
    match manifest::parse(text, None) {
        Ok(runs) => runs.iter().for_each(|run| drop(validate(run))),
        Err(defects) => {
            assert!(!defects.is_empty(), "{description}");
            for defect in defects.iter().take(20) {
                assert!(!defect.message.is_empty(), "{description}");
                assert!(defect.position.is_some(), "{description}: {defect}");
                let message = defect.to_string();
                for word in LIBRARY_WORDS {
                    assert!(
                        !message.contains(word),
                        "{description}: {message} contains {word}"
                    );
                }
            }
        }
    }
}

/// Every value of every example is replaced, and every field is misspelled. Each change is made to one of several
/// examples, so that the test stays short.
#[test]
fn changed_examples_cause_errors_with_a_position() {
    let mut index = 0_usize;
    let mut read = 0;
    for file in yaml_files("examples") {
        let text = std::fs::read_to_string(&file).unwrap();
        let first = serde_yaml::Deserializer::from_str(&text).next().unwrap();
        let document = serde_json::Value::deserialize(first).unwrap();
        let mut found = Vec::new();
        pointers(&document, "", &mut found);
        for pointer in found {
            index += 1;
            if !index.is_multiple_of(7) {
                continue;
            }
            let mut changed = document.clone();
            let value = changed.pointer_mut(&pointer).unwrap();
            let change = index / 7 % (CHANGES.len() + 1);
            match CHANGES.get(change) {
                Some(change) => *value = change(value),
                None => {
                    let (parent, name) = pointer.rsplit_once('/').unwrap();
                    let parent = changed.pointer_mut(parent).unwrap();
                    if let Some(fields) = parent.as_object_mut() {
                        let value = fields.remove(name).unwrap_or_default();
                        fields.insert(format!("{name}s"), value);
                    }
                }
            }
            let text = serde_yaml::to_string(&changed).unwrap();
            assert_readable_or_located(
                &text,
                &format!("{}: change {change} of {pointer}", file.display()),
            );
            read += 1;
        }
    }
    assert!(read > 100, "{read}");
}

#[test]
fn damaged_text_causes_errors_without_a_panic() {
    let text = std::fs::read_to_string(root().join("examples/nixl-optimizations.yaml")).unwrap();
    for (index, (position, _)) in text.char_indices().enumerate() {
        if index % 97 != 0 {
            continue;
        }
        let (before, after) = text.split_at(position);
        for inserted in ["\t", "- ", "}", "\"", "\u{200b}", "\u{0}", ": "] {
            match manifest::parse(&format!("{before}{inserted}{after}"), None) {
                Ok(runs) => runs.iter().for_each(|run| drop(validate(run))),
                Err(defects) => assert!(!defects.is_empty()),
            }
        }
    }
}

/// Parses the base of the bad manifests with `field` in its spec, and returns the errors.
fn errors_of(text: &str) -> Vec<String> {
    match manifest::parse(text, None) {
        Ok(runs) => {
            let errors = runs.iter().filter_map(|run| validate(run).err());
            errors.map(|problems| problems.to_string()).collect()
        }
        Err(defects) => defects.iter().map(ToString::to_string).collect::<Vec<_>>(),
    }
}

const MANIFEST: &str = "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: one}\nspec:\n  \
    baseline: base\n  variants:\n  - {name: base}\n  - {name: other, inject: {maxBytes: 64}}\n  \
    transport: {libfabric: {provider: tcp}}\n  scenarios:\n  - {name: small, pingPong: {sizes: [64]}}\n";

#[test]
fn shows_all_errors_in_the_order_of_their_positions() {
    let text = MANIFEST
        .replace("baseline: base", "baseline: bsae")
        .replace("provider: tcp", "provider: tpc")
        .replace("sizes: [64]", "size: 64")
        .replace(
            "inject: {maxBytes: 64}",
            "env: {\"FI_EFA_X\": 1}, inject: {maxBytes: 64B}",
        );
    let defects = manifest::parse(&text, None).unwrap_err();
    let found: Vec<_> = defects
        .iter()
        .map(|defect| (defect.position.unwrap().line, defect.to_string()))
        .collect();
    let expected = [
        (5, "spec.baseline: `bsae` is not a variant. Did you mean `base`?"),
        (
            8,
            "spec.variants[1].env: {\"FI_EFA_X\":1} is not a list; write `env: [{name: FI_EFA_X, value: \"1\"}]`",
        ),
        (
            8,
            "spec.variants[1].inject.maxBytes: `64B` has the unknown unit `B`",
        ),
        (
            9,
            "spec.transport.libfabric.provider: `tpc` is not a valid value. Did you mean `tcp`?",
        ),
        (
            11,
            "spec.scenarios[0].pingPong.size: unknown field `size`. Did you mean `sizes`?",
        ),
        (
            11,
            "spec.scenarios[0].pingPong.size: 64 is not a list; write `sizes: [64]`",
        ),
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for ((line, message), (expected_line, start)) in found.iter().zip(expected) {
        assert!(
            *line == expected_line && message.starts_with(start),
            "{line} {message}\n{start}"
        );
    }
}

#[test]
fn shows_the_right_form_of_a_value_in_the_wrong_shape() {
    let text = "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: one}\nspec:\n  baseline: base\n  \
                rounds: 5\n  variants:\n    base: {}\n    fast: {inject: 64}\n  transport: tcp\n  scenarios:\n  \
                - {name: small, pingPong: [64, 256]}\n  - name: big\n    transfer: {sizes: \"1Mi,2Mi\", window: \"16\"}\n  \
                expectations:\n  - {variant: fats, scenario: smal, metric: LatencyP5O, decreasePercent: 5}\n";
    let defects = manifest::parse(text, None).unwrap_err();
    let found: Vec<String> = defects.iter().map(ToString::to_string).collect();
    for expected in [
        "spec.rounds: unknown field `rounds`. It belongs to spec.sampling.",
        "is not a list; write `variants: [{name: base}, {",
        "spec.variants[1].inject: 64 is not an object; write `inject: {maxBytes: 64}`",
        "spec.transport: \"tcp\" is not an object; write `transport: {libfabric: {provider: tcp}}`",
        "pingPong: [64,256] is not an object; write `pingPong: {sizes: [64, 256]}`",
        "\"1Mi,2Mi\" is not a list; write `sizes: [\"1Mi\", \"2Mi\"]`",
        "window: \"16\" is not an integer; write `window: 16`",
        "metric: `LatencyP5O` is not a valid value. Did you mean `LatencyP50`?",
        "decreasePercent: 5 is not an object; write `decreasePercent: {min: 5}`",
        "spec.expectations[0].variant: `fats` is not a variant other than the baseline. Did you mean `fast`?",
        "spec.expectations[0].scenario: `smal` is not a scenario. Did you mean `small`?",
    ] {
        assert!(
            found.iter().any(|message| message.contains(expected)),
            "{expected}\n{found:#?}"
        );
    }
    assert_eq!(found.len(), 11, "{found:#?}");
}

#[test]
fn shows_at_most_20_errors() {
    let text = MANIFEST.replace("sizes: [64]", &format!("sizes: [{}64]", "0, ".repeat(30)));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("many.yaml");
    std::fs::write(&file, text).unwrap();
    let output = fabricbench(&["plan", file.to_str().unwrap()]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(message.lines().count(), 21, "{message}");
    assert!(message.ends_with("and 10 more\n"), "{message}");
}

#[test]
fn reads_forms_of_numbers_as_kubectl_does_and_words_as_text() {
    for (field, error) in [
        ("sampling: {rounds: 0x10}", None),
        ("sampling: {rounds: 0b11}", None),
        (
            "sampling: {rounds: 010}",
            Some("spec.sampling.rounds: \"010\" is not an integer"),
        ),
        ("sampling: {rounds: null}", None),
        (
            "sampling: {control: yes}",
            Some("\"yes\" is not true or false; write `control: true`"),
        ),
        ("sampling: {control: true}", None),
    ] {
        let errors = errors_of(&format!("{MANIFEST}  {field}\n"));
        match error {
            None => assert!(errors.is_empty(), "{field}: {errors:?}"),
            Some(error) => assert!(
                errors.iter().any(|found| found.contains(error)),
                "{field}: {errors:?}"
            ),
        }
    }
    let run = manifest::parse(&format!("{MANIFEST}  sampling: {{rounds: 0x10}}\n"), None)
        .unwrap()
        .remove(0);
    assert_eq!(run.spec.sampling.rounds, Some(16));
}

#[test]
fn rejects_characters_that_deceive_and_prints_none() {
    for (field, character) in [
        (
            "env: [{name: FI_X, value: \"1\\u200b\"}]",
            "U+200B (a zero-width space)",
        ),
        (
            "env: [{name: FI_X, value: \"\\u0435fa\"}]",
            "U+0435 (a Cyrillic letter)",
        ),
        (
            "library: \"/opt/\\u202elib\"",
            "U+202E (a mark of the writing direction)",
        ),
        ("library: \"/opt/\\u00a0lib\"", "U+00A0 (a no-break space)"),
        (
            "env: [{name: FI_X, value: \"a\\0b\"}]",
            "U+0000 (the NUL character)",
        ),
    ] {
        let text = MANIFEST.replace("name: other", &format!("name: other, {field}"));
        let errors = errors_of(&text).join("\n");
        assert!(errors.contains(character), "{field}: {errors}");
    }
    for field in [
        "placement: {nodeSelector: {\"a\\u200b\": b}}",
        "placement: {nodeSelector: {a: \"b\\u202e\"}}",
        "placement: {tolerations: [{key: \"a\\u2060\", operator: Exists}]}",
        "baseline2: \"\\u001b[2J\"",
        "\"spec\\u202e\": 1",
        "\"\\u0007\": 1",
    ] {
        let text = format!("{MANIFEST}  {field}\n");
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("text.yaml");
        std::fs::write(&file, text).unwrap();
        let output = fabricbench(&["plan", file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{field}");
        let message = String::from_utf8(output.stderr).unwrap();
        let hidden = message
            .trim_end()
            .chars()
            .find(|c| *c != '\n' && crds::printable::is_hidden(*c));
        assert_eq!(hidden, None, "{field}: {message:?}");
    }
}

#[test]
fn rejects_duplicates_and_amounts_beyond_reason() {
    for (before, after, error) in [
        (
            "{libfabric: {provider: tcp}}",
            "{ucx: {transports: [tcp, sm, tcp]}}",
            "spec.transport.ucx.transports[2]: this is the same as spec.transport.ucx.transports[0]",
        ),
        (
            "  scenarios:",
            "  resources: {memory: 900Ti}\n  scenarios:",
            "spec.resources.memory: 900Ti is greater than the maximum of 64Ti",
        ),
        (
            "pingPong: {sizes: [64]}",
            "parameterServing: {mode: Multicast, sizes: [4Ki], multicast: {rate: 500T}}",
            "multicast.rate: 500 TB/s is greater than the maximum of 100 GB/s",
        ),
    ] {
        let errors = errors_of(&MANIFEST.replace(before, after)).join("\n");
        assert!(errors.contains(error), "{errors}");
    }
}

#[test]
fn a_scenario_without_a_workload_does_not_make_variants_identical() {
    let errors = errors_of(&MANIFEST.replace(", pingPong: {sizes: [64]}", ""));
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors
            .iter()
            .all(|error| error.contains("exactly one of pingPong"))
    );
}

#[test]
fn an_overlay_that_does_not_fit_the_variants_says_why() {
    let claims = "claims: {requests: [{name: nic, deviceClassName: nics}]}";
    let with_transport = MANIFEST.replace(
        "inject: {maxBytes: 64}",
        "transport: {libfabric: {provider: net, rails: 8}}",
    );
    let with_claims = MANIFEST.replace("inject: {maxBytes: 64}", claims).replace(
        "  scenarios:",
        &format!("  resources: {{{claims}}}\n  scenarios:"),
    );
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("variants.yaml");
    for text in [with_transport, with_claims] {
        std::fs::write(&file, text).unwrap();
        let overlay = "examples/overlays/local-tcp.yaml";
        let output = fabricbench(&["plan", file.to_str().unwrap(), "--overlay", overlay]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains(
                "The overlay replaces the transport or the resources of the run, but not those of variants"
            ),
            "{message}"
        );
    }
}

/// Every bound in the spec's schema must have a bad manifest, so that new bounds are always tested.
#[test]
fn every_schema_bound_has_a_bad_manifest() {
    let crd: serde_yaml::Value = serde_yaml::from_slice(&fabricbench(&["crd"]).stdout).unwrap();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let mut bounded = BTreeSet::new();
    bounded_fields(schema, "spec", &mut bounded);
    let tested: BTreeSet<_> = bad_manifests()
        .iter()
        .map(|case| {
            case.path
                .replace(|c: char| c.is_ascii_digit(), "")
                .replace("hugepagesMi", "hugepages2Mi")
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
