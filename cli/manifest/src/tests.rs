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
