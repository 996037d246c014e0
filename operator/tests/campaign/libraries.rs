//! Two libfabrics as two variants of one run.

use std::collections::{BTreeMap, BTreeSet};
use std::{env, fs};

use crds::assignment::Pass;
use serde_yaml::Value;

use super::program::{Desk, Running, fabricbench, workspace};
use super::stored::Stored;

const VARIABLE: &str = "FABRICBENCH_TEST_LIBFABRIC_2";
/// Fewest rounds with an interval over two comparisons at 95 percent.
const ROUNDS: u32 = 7;

/// The folder of a libfabric of version 2.
pub fn newer_library() -> String {
    let explain = format!("{VARIABLE} must name a folder with libfabric.so.1 of version 2; .ci/test sets it");
    let folder = env::var(VARIABLE).expect(&explain);
    assert!(
        fs::exists(format!("{folder}/libfabric.so.1")).unwrap(),
        "{explain}"
    );
    folder
}

/// `examples/libfabric-versions.yaml` with the library that is here, without its third variant, and shorter.
fn manifest(library: &str) -> String {
    let text = fs::read_to_string(workspace().join("examples/libfabric-versions.yaml")).unwrap();
    let mut manifest: Value = serde_yaml::from_str(&text).unwrap();
    let spec = &mut manifest["spec"];
    spec["variants"].as_sequence_mut().unwrap().truncate(2);
    spec["variants"][1]["library"] = library.into();
    spec["scenarios"][0]["pingPong"]["iterations"] = 200.into();
    spec["scenarios"][1]["transfer"]["duration"] = "20ms".into();
    serde_yaml::to_string(&manifest).unwrap()
}

#[test]
fn two_libraries_in_one_run() {
    let library = newer_library();
    let desk = Desk::new();
    let mut command = desk.run(&desk.manifest(&manifest(&library)));
    command.args(["--rounds", &ROUNDS.to_string()]);
    let ended = Running::start(command).end();
    // Whether the newer one is slower here, or the machine too restless, is not what is asked.
    assert!(matches!(ended.status.code(), Some(0 | 1 | 3)), "{ended}");

    let stored = Stored::read(&desk.run_folder("libfabric-versions"));
    stored.is_complete();
    assert_eq!(stored.failures(), Vec::new());
    both_are_named(&stored, &library);
    both_are_shown(&desk, &library);
    arms_are_interleaved(&stored);
    for scenario in [
        ("small", 64),
        ("small", 1024),
        ("stream", 64 * 1024),
        ("stream", 1024 * 1024),
    ] {
        let mut comparisons = stored.status().comparisons.iter();
        let found = comparisons.find(|one| {
            (one.scenario.as_str(), one.size_bytes) == scenario && one.arm == "libfabric-2-5" && one.primary
        });
        let comparison = found.unwrap();
        assert_eq!(comparison.rounds, ROUNDS);
        assert!(comparison.lower_ppm < comparison.upper_ppm, "{comparison:?}");
    }
}

fn both_are_named(stored: &Stored, library: &str) {
    let mut loaded: BTreeMap<&str, BTreeSet<(&str, &str)>> = BTreeMap::new();
    for endpoints in stored.endpoints() {
        let facts = endpoints.fabric.as_ref().unwrap().library.as_ref().unwrap();
        loaded
            .entry(&endpoints.arm)
            .or_default()
            .insert((&facts.version, &facts.path));
    }
    let only = |arm: &str| {
        let of_arm = &loaded[arm];
        assert_eq!(of_arm.len(), 1, "{loaded:?}");
        *of_arm.first().unwrap()
    };
    let (old, new) = (only("baseline"), only("libfabric-2-5"));
    assert!(old.0.starts_with("1."), "{old:?}");
    assert!(!old.1.starts_with(library), "{old:?}");
    assert!(new.0.starts_with("2."), "{new:?}");
    assert!(new.1.starts_with(library), "{new:?}");
    let libraries = &stored.status().environment.as_ref().unwrap().libraries;
    for (version, path) in [old, new] {
        let named = |text: &&String| text.contains(version) && text.contains(path);
        assert!(libraries.iter().any(|text| named(&text)), "{libraries:?}");
    }
}

fn both_are_shown(desk: &Desk, library: &str) {
    let folder = desk.run_folder("libfabric-versions").display().to_string();
    let text = Running::start(fabricbench(["report", &folder])).end();
    text.shows("library baseline, control-environment: libfabric 1.");
    text.shows("libfabric-2-5: libfabric 2.");
    text.shows(library);
}

/// In every round each library was asked, and none was always first.
fn arms_are_interleaved(stored: &Stored) {
    let mut rounds: BTreeMap<u32, Vec<(u64, &str)>> = BTreeMap::new();
    for case in stored.cases() {
        if case.pass == Pass::Measure {
            let of_round = rounds.entry(case.round).or_default();
            of_round.push((case.started_nanos, &case.arm));
        }
    }
    assert_eq!(rounds.len(), ROUNDS as usize);
    let mut first = BTreeSet::new();
    for cases in rounds.values() {
        let arms: BTreeSet<&str> = cases.iter().map(|(_, arm)| *arm).collect();
        assert!(
            arms.contains("baseline") && arms.contains("libfabric-2-5"),
            "{arms:?}"
        );
        first.insert(cases.iter().min().unwrap().1);
    }
    assert!(first.len() > 1, "always first: {first:?}");
}
