//! Records that were cut off, re-ordered or edited after they were measured.

use std::fs;
use std::path::Path;

use super::manifest::{INJECT_64, LOOPBACK, NAME, SHORT, run};
use super::program::{Desk, Ended, Running, fabricbench};
use super::stored::Stored;

/// A finished run of four blocks, its manifest and the lines of its records.
fn finished() -> (Desk, String, Vec<String>) {
    let desk = Desk::new();
    let manifest = desk.manifest(&run(INJECT_64, LOOPBACK, SHORT, &["sampling: {rounds: 1}"]));
    Running::start(desk.run(&manifest)).end().exits(0);
    let text = fs::read_to_string(desk.run_folder(NAME).join("records.jsonl")).unwrap();
    let lines = text.lines().map(str::to_owned).collect();
    (desk, manifest, lines)
}

fn report(folder: &Path) -> Ended {
    Running::start(fabricbench(["report", &folder.display().to_string()])).end()
}

/// The lines count no more from `line` on (from 1), which is said with `words`, and the run can be resumed.
#[track_caller]
fn is_noticed_and_mended(desk: &Desk, manifest: &str, text: &str, line: usize, words: &str) {
    let folder = desk.run_folder(NAME);
    fs::write(folder.join("records.jsonl"), text).unwrap();
    let ended = report(&folder).exits(3);
    ended.shows("of 4 blocks: not complete");
    ended.shows(&format!("records, line {line}"));
    ended.shows(words);

    let ended = Running::start(desk.resume(manifest)).end().exits(0);
    ended.shows(words);
    let stored = Stored::read(&folder);
    stored.is_complete();
    assert!(
        stored
            .status()
            .warnings
            .iter()
            .any(|warning| warning.contains(words))
    );
    report(&folder).exits(0).shows(words);
}

#[test]
fn lines_in_another_order() {
    let (desk, manifest, mut lines) = finished();
    let middle = lines.len() / 2;
    lines.swap(middle, middle + 1);
    let text = lines.join("\n") + "\n";
    is_noticed_and_mended(
        &desk,
        &manifest,
        &text,
        middle + 1,
        "missing, doubled or re-ordered",
    );
}

#[test]
fn a_line_that_is_missing() {
    let (desk, manifest, mut lines) = finished();
    let middle = lines.len() / 2;
    lines.remove(middle);
    let text = lines.join("\n") + "\n";
    is_noticed_and_mended(
        &desk,
        &manifest,
        &text,
        middle + 1,
        "missing, doubled or re-ordered",
    );
}

#[test]
fn a_number_that_was_edited() {
    let (desk, manifest, mut lines) = finished();
    let case = lines
        .iter()
        .position(|line| line.contains("\"windowNanos\":"))
        .unwrap();
    lines[case] = lines[case].replacen("\"windowNanos\":", "\"windowNanos\":1", 1);
    let text = lines.join("\n") + "\n";
    is_noticed_and_mended(&desk, &manifest, &text, case + 1, "chained digest differs");
}

#[test]
fn a_line_that_was_cut_off() {
    let (desk, manifest, lines) = finished();
    let middle = lines.len() / 2;
    let cut = &lines[middle][..lines[middle].len() / 2];
    let text = lines[..middle].join("\n") + "\n" + cut;
    let folder = desk.run_folder(NAME);
    fs::write(folder.join("records.jsonl"), &text).unwrap();
    let ended = report(&folder).exits(3);
    ended.shows(&format!("the last line is cut off after {} bytes", cut.len()));

    Running::start(desk.resume(&manifest)).end().exits(0);
    Stored::read(&folder).is_complete();
    report(&folder).exits(0);
}

#[test]
fn a_file_that_is_another_or_gone() {
    let (desk, _, lines) = finished();
    let folder = desk.run_folder(NAME);
    report(&folder).exits(0);
    // The folder above holds this one run.
    report(&desk.output()).exits(0);

    let records = folder.join("records.jsonl");
    let doubled = [lines.join("\n"), lines.join("\n"), String::new()].join("\n");
    fs::write(&records, doubled).unwrap();
    let ended = report(&folder).exits(3);
    ended.shows("is not the file that was measured");
    ended.says("is not the file that was measured");
    fs::write(&records, "").unwrap();
    report(&folder).exits(3).says("is not the file that was measured");
    fs::remove_file(&records).unwrap();
    report(&folder).exits(2).says("records.jsonl is missing");
}
