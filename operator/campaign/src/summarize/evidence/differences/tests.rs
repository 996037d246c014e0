use crds::record::{ConfigurationRecord, LoadedFile};
use crds::v1alpha1::BenchmarkRun;

use super::*;
use crate::fixture::run_from_yaml;
use crate::plan::{HashedPlan, plan};
use crate::validate::validate;

const YAML: &str = r#"
apiVersion: fabricbench.dev/v1alpha1
kind: BenchmarkRun
metadata: {name: a-run}
spec:
  baseline: baseline
  variants:
  - {name: baseline}
  - name: misspelled
    env: [{name: FI_TCP_NODELAYY, value: "0"}]
  - name: mixed
    env: [{name: FI_TCP_NODELAYY, value: "0"}, {name: FI_TCP_TX_SIZE, value: "512"}]
  - name: same-library
    library: /opt/copy/lib
  - name: other-image
    image: registry.example/other@sha256:0000000000000000000000000000000000000000000000000000000000000001
  - name: tuned
    env: [{name: FI_TCP_NODELAYY, value: "1"}]
    inject: {maxBytes: 64}
  transport: {libfabric: {provider: tcp, rails: 1}}
  scenarios:
  - {name: small, pingPong: {sizes: [64], iterations: 10}}
"#;

fn planned() -> HashedPlan {
    let run: BenchmarkRun = run_from_yaml(YAML);
    plan(&validate(&run).unwrap()).unwrap()
}

fn facts(name: &str, knowledge: VariableKnowledge, effective: Option<&str>) -> VariableFacts {
    VariableFacts {
        name: name.to_owned(),
        knowledge,
        effective: effective.map(str::to_owned),
        nearest: (knowledge == VariableKnowledge::Unknown).then(|| "FI_TCP_NODELAY".to_owned()),
        reason: format!("{name} of libfabric 1.17.0"),
    }
}

fn record(arm: &str, transmit_size: Option<&str>, hash: Option<&str>) -> ConfigurationRecord {
    let file = |hash: &str| LoadedFile {
        path: format!("/lib/{arm}/libfabric.so.1"),
        sha256: Some(hash.to_owned()),
        version: Some("1.17.0".to_owned()),
    };
    ConfigurationRecord {
        ranks: vec![0, 1],
        arms: vec![arm.to_owned()],
        variables: vec![
            facts("FI_TCP_NODELAYY", VariableKnowledge::Unknown, None),
            facts("FI_TCP_TX_SIZE", VariableKnowledge::Known, transmit_size),
        ],
        files: hash.map(file).into_iter().collect(),
        files_sha256: hash.map(str::to_owned),
        ..ConfigurationRecord::default()
    }
}

/// Evidence about the arm with the given name, and whether all its differences are inert.
fn assessed(records: &[ConfigurationRecord], arm: &str) -> (Vec<DifferenceEvidence>, bool) {
    let plan = planned();
    let index = ConfigurationIndex::from_records(&plan, records.iter());
    let arm = plan.arms.iter().position(|one| one.name == arm).unwrap();
    let found = assess(&plan, &plan.scenarios[0], arm, &index);
    let inert = are_inert(&plan, &plan.scenarios[0], arm, &found);
    (found, inert)
}

#[test]
fn a_misspelled_variable_alone_is_inert_and_beside_others_it_is_not() {
    let records = [
        record("baseline", Some("256"), Some("aa")),
        record("misspelled", Some("256"), Some("aa")),
        record("mixed", Some("512"), Some("aa")),
        record("tuned", Some("256"), Some("aa")),
    ];
    let (found, inert) = assessed(&records, "misspelled");
    assert!(inert);
    assert_eq!(found[0].subject, "FI_TCP_NODELAYY=0");
    assert_eq!(found[0].finding, DifferenceFinding::Unknown);
    assert!(found[0].reason.ends_with("; did you mean FI_TCP_NODELAY?"));
    let (found, inert) = assessed(&records, "mixed");
    assert!(!inert);
    let engagements: Vec<_> = found.iter().map(|one| one.engagement).collect();
    assert_eq!(engagements, [Engagement::NotEngaged, Engagement::Confirmed]);
    assert!(
        found[1]
            .reason
            .ends_with("its effective value is 512 instead of 256")
    );
    // The arm also differs in its tuning, so its verdict is about the tuning.
    assert!(!assessed(&records, "tuned").1);
}

#[test]
fn an_effective_value_decides_whether_a_variable_changes_anything() {
    let with = |value: Option<&str>| {
        let records = [
            record("baseline", Some("256"), None),
            record("mixed", value, None),
        ];
        let (found, inert) = assessed(&records, "mixed");
        (found[1].finding, found[1].engagement, inert)
    };
    assert_eq!(
        with(Some("256")),
        (DifferenceFinding::Unchanged, Engagement::NotEngaged, true)
    );
    assert_eq!(
        with(Some("1")),
        (DifferenceFinding::Known, Engagement::Confirmed, false)
    );
    assert_eq!(
        with(None),
        (DifferenceFinding::Known, Engagement::RequestedOnly, false)
    );
}

#[test]
fn without_records_nothing_is_claimed() {
    for records in [vec![], vec![record("misspelled", None, None)]] {
        let (found, inert) = assessed(&records, "misspelled");
        assert!(!inert);
        assert_eq!(found[0].finding, DifferenceFinding::Unassessed);
        assert_eq!(found[0].engagement, Engagement::RequestedOnly);
    }
}

#[test]
fn a_library_with_the_same_contents_is_inert() {
    let with = |hash: Option<&str>| {
        let records = [
            record("baseline", None, Some("aa")),
            record("same-library", None, hash),
        ];
        let (found, inert) = assessed(&records, "same-library");
        (found[0].clone(), inert)
    };
    let (same, inert) = with(Some("aa"));
    assert!(inert);
    assert_eq!(
        (same.subject.as_str(), same.finding),
        ("library", DifferenceFinding::Unchanged)
    );
    assert!(
        same.reason.contains("/lib/same-library/libfabric.so.1 1.17.0"),
        "{}",
        same.reason
    );
    let (other, inert) = with(Some("bb"));
    assert!(!inert);
    assert_eq!(other.engagement, Engagement::Confirmed);
    assert!(other.reason.contains("SHA-256 bb"), "{}", other.reason);
    let (unknown, inert) = with(None);
    assert!(!inert);
    assert_eq!(unknown.finding, DifferenceFinding::Unassessed);
}

/// The environment variables of an image are not recorded completely, so the same files do not show that it has no effect.
#[test]
fn an_image_with_the_same_files_may_still_have_an_effect() {
    let records = [
        record("baseline", None, Some("aaaa")),
        record("other-image", None, Some("aaaa")),
    ];
    let (found, inert) = assessed(&records, "other-image");
    let [one] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(
        (one.finding, one.engagement),
        (DifferenceFinding::Unassessed, Engagement::RequestedOnly)
    );
    assert!(one.reason.contains("that are not recorded"), "{}", one.reason);
    assert!(!inert);
}

#[test]
fn the_strongest_evidence_of_the_workers_counts() {
    let mut other = record("misspelled", None, None);
    other.ranks = vec![1];
    other.variables[0] = facts("FI_TCP_NODELAYY", VariableKnowledge::Known, None);
    let mut first = record("misspelled", None, None);
    first.ranks = vec![0];
    let records = [record("baseline", None, None), first, other];
    let (found, inert) = assessed(&records, "misspelled");
    assert!(!inert);
    assert_eq!(found[0].finding, DifferenceFinding::Known);
}

#[test]
fn only_arms_in_separate_processes_have_differences() {
    let records = [record("baseline", None, None)];
    for arm in ["baseline", "control-environment"] {
        assert!(assessed(&records, arm).0.is_empty(), "{arm}");
    }
}
