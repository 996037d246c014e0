//! Tests with valid and invalid manifests.

use std::io::Write;
use std::time::{Duration, Instant};

use super::*;

const RUN: &str = "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: one}\nspec:\n  baseline: a\n  variants: [{name: a}]\n  transport: {libfabric: {provider: tcp}}\n  scenarios: [{name: s, pingPong: {sizes: [64]}}]\n";

fn defects(text: &str) -> Vec<String> {
    match parse(text, None) {
        Ok(_) => Vec::new(),
        Err(defects) => defects.iter().map(Defect::to_string).collect(),
    }
}

#[test]
fn accepts_a_byte_order_mark() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(format!("\u{feff}{RUN}").as_bytes()).unwrap();
    assert_eq!(load(file.path(), None).unwrap().len(), 1);
}

#[test]
fn reads_one_run_per_document() {
    let text = format!("---\n{RUN}---\n# nothing\n---\n{}", RUN.replace("one", "two"));
    let runs = parse(&text, None).unwrap();
    let names: Vec<_> = runs
        .iter()
        .map(|run| run.metadata.name.as_deref().unwrap())
        .collect();
    assert_eq!(names, ["one", "two"]);
}

#[test]
fn applies_schema_defaults() {
    let run = parse(RUN, None).unwrap().pop().unwrap();
    assert_eq!(run.spec.placement.worker_count(), 2);
    assert_eq!(run.spec.sampling.confidence_percent, 95);
    assert!(run.spec.sampling.control && run.spec.scenarios[0].integrity);
}

#[test]
fn drops_the_status_of_an_object_from_a_cluster() {
    let text = format!("{RUN}status: {{state: Complete}}\n");
    assert_eq!(parse(&text, None).unwrap()[0].status, None);
}

#[test]
fn defects_identify_the_document_and_the_field() {
    let broken = RUN.replace("one", "two").replace("[64]", "[6.4]");
    let found = defects(&format!("{RUN}---\n{broken}"));
    assert!(
        found[0].starts_with("document 2: spec.scenarios[0].pingPong.sizes[0]: "),
        "{found:?}"
    );
    let found = defects(&format!("{RUN}---\n{RUN}"));
    assert!(
        found[0].starts_with("document 2: metadata.name: an earlier document"),
        "{found:?}"
    );
}

#[test]
fn limits_nesting_and_expanded_size() {
    // Nine levels of ten aliases each, which expand to more than ten billion values.
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let alias = format!("*a{}", level - 1);
        let aliases = vec![alias; 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    // There are many aliases of one long list, but not enough to reach the parser's own limit.
    let long = format!(
        "a: &a [{}]\nb: [{}]\n",
        "x, ".repeat(50_000),
        "*a, ".repeat(50_000)
    );
    let deep_block: String = (0..2000)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    for text in [
        bomb,
        long,
        "[".repeat(500_000),
        "{a: ".repeat(200_000),
        deep_block,
        "- ".repeat(300_000),
    ] {
        let start = Instant::now();
        let found = defects(&text);
        assert_eq!(found.len(), 1, "{}", &text[..20]);
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{:?} for {}",
            start.elapsed(),
            &text[..20]
        );
    }
}

#[test]
fn rejects_a_large_file_before_parsing() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&vec![b'#'; 10_000_000]).unwrap();
    let error = load(file.path(), None).unwrap_err().to_string();
    assert!(
        error.ends_with("the file is larger than 1048576 bytes; a manifest can be split into several files"),
        "{error}"
    );
}

#[test]
fn overlay_changes_only_the_fields_that_it_sets() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("overlay.yaml");
    std::fs::write(
        &path,
        "transport: {libfabric: {provider: shm}}\nmemory: SharedMemory\nresources: {}\n",
    )
    .unwrap();
    let overlay = load_overlay(&path).unwrap();
    let before = parse(RUN, None).unwrap().pop().unwrap().spec;
    let mut after = parse(RUN, Some(&overlay)).unwrap().pop().unwrap().spec;
    assert_ne!(before, after);
    after.transport = before.transport.clone();
    after.scenarios[0].memory = before.scenarios[0].memory;
    assert_eq!(before, after);

    std::fs::write(&path, "scenarios: []\n").unwrap();
    let error = load_overlay(&path).unwrap_err().to_string();
    assert!(
        error.contains("overlay.scenarios: unknown field `scenarios`"),
        "{error}"
    );
}

/// The files in examples/ with their names.
fn examples() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let paths = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    let named = files.map(|path| (path.display().to_string(), std::fs::read_to_string(path).unwrap()));
    named.collect()
}

/// Renames each field in `value`, one at a time, and returns the changed values.
fn misspelled(value: &serde_json::Value) -> Vec<serde_json::Value> {
    let mut found = Vec::new();
    match value {
        serde_json::Value::Object(fields) => {
            for (name, inner) in fields {
                let mut other = fields.clone();
                other.remove(name);
                other.insert(format!("{name}x"), inner.clone());
                found.push(other.into());
                for inner in misspelled(inner) {
                    let mut other = fields.clone();
                    other.insert(name.clone(), inner);
                    found.push(other.into());
                }
            }
        }
        serde_json::Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                for inner in misspelled(item) {
                    let mut other = items.clone();
                    other[index] = inner;
                    found.push(other.into());
                }
            }
        }
        _ => {}
    }
    found
}

#[test]
fn the_json_schema_accepts_the_examples_and_rejects_every_misspelled_field() {
    let schema = jsonschema::draft7::new(&crds::json_schema::document()).unwrap();
    let examples = examples();
    assert!(examples.len() > 40);
    for (file, text) in &examples {
        for Document { value, .. } in yaml::documents(text).unwrap() {
            let errors: Vec<String> = schema
                .iter_errors(&value)
                .map(|error| error.to_string())
                .collect();
            assert!(errors.is_empty(), "{file}: {errors:?}");
        }
    }
    let demo = examples
        .iter()
        .find(|(file, _)| file.ends_with("/demo.yaml"))
        .unwrap();
    let demo = yaml::documents(&demo.1).unwrap().remove(0).value;
    let misspelled = misspelled(&demo);
    assert!(misspelled.len() > 50, "{}", misspelled.len());
    for value in misspelled {
        assert!(!schema.is_valid(&value), "{value}");
    }
}

/// An editor finds the schema with this line.
#[test]
fn every_example_names_the_json_schema() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for (file, text) in examples() {
        for document in text.split("---\n") {
            let line = document.lines().next().unwrap();
            let schema = line
                .strip_prefix("# yaml-language-server: $schema=")
                .unwrap_or_default();
            assert!(
                !schema.is_empty() && directory.join(schema).is_file(),
                "{file}: {line}"
            );
        }
    }
}
