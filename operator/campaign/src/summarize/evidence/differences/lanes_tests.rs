use crds::record::{
    ConfigurationRecord, EndpointsRecord, FabricFacts, RailFacts, VariableFacts, VariableKnowledge,
};
use crds::v1alpha1::{BenchmarkRun, Engagement};

use super::*;
use crate::fixture::run_from_yaml;
use crate::plan::plan;
use crate::summarize::evidence::difference_evidence::{DifferenceEvidence, DifferenceFinding};
use crate::summarize::workers::configurations::ConfigurationIndex;
use crate::validate::validate;

/// Evidence about a variant that sets only `name`, and whether it is inert. The spec lists `transports`, and the workers
/// of the baseline and of the variant reported `lanes`.
fn assessed(name: &str, transports: &str, lanes: [&[&str]; 2]) -> (DifferenceEvidence, bool) {
    let run: BenchmarkRun = run_from_yaml(&format!(
        r#"
apiVersion: fabricbench.dev/v1alpha1
kind: BenchmarkRun
metadata: {{name: a-run}}
spec:
  baseline: baseline
  variants:
  - {{name: baseline}}
  - {{name: tuned, env: [{{name: {name}, value: "64"}}]}}
  transport: {{ucx: {{transports: [{transports}]}}}}
  scenarios:
  - {{name: small, pingPong: {{sizes: [64], iterations: 10}}}}
"#
    ));
    let hashed = plan(&validate(&run).unwrap()).unwrap();
    let plan = &hashed;
    let names = ["baseline", "tuned"];
    let records: Vec<ConfigurationRecord> = [("baseline", "256"), ("tuned", "64")]
        .map(|(arm, effective)| ConfigurationRecord {
            ranks: vec![0],
            arms: vec![arm.to_owned()],
            variables: vec![VariableFacts {
                name: name.to_owned(),
                knowledge: VariableKnowledge::Known,
                effective: Some(effective.to_owned()),
                nearest: None,
                reason: "a setting of UCX".to_owned(),
            }],
            ..ConfigurationRecord::default()
        })
        .into();
    let endpoints: Vec<EndpointsRecord> = names
        .iter()
        .zip(lanes)
        .map(|(arm, lanes)| {
            let rail = RailFacts {
                lanes: lanes.iter().map(|lane| (*lane).to_owned()).collect(),
                ..RailFacts::default()
            };
            EndpointsRecord {
                arm: (*arm).to_owned(),
                fabric: Some(FabricFacts {
                    rails: vec![rail],
                    ..FabricFacts::default()
                }),
                round: 0,
                restart: 0,
                rank: 0,
                failure: None,
            }
        })
        .collect();
    let mut index = ConfigurationIndex::from_records(plan, records.iter());
    index.add_lanes(plan, endpoints.iter());
    let arm = plan.arms.iter().position(|one| one.name == "tuned").unwrap();
    let found = assess(plan, &plan.scenarios[0], arm, &index);
    let inert = are_inert(plan, &plan.scenarios[0], arm, &found);
    (found[0].clone(), inert)
}

#[test]
fn a_variable_of_a_transport_without_a_lane_is_not_engaged() {
    let tcp: &[&str] = &["tcp/lo"];
    let memory: &[&str] = &["cma/memory", "posix/memory"];
    for (name, transports, lanes) in [
        ("UCX_RC_TX_QUEUE_LEN", "tcp", tcp),
        ("UCX_DC_MLX5_NUM_DCI", "tcp", tcp),
        ("UCX_UD_TIMEOUT", "all", tcp),
        ("UCX_IB_SEG_SIZE", "tcp", tcp),
        ("UCX_TCP_TX_SEG_SIZE", "sm", memory),
        (
            "UCX_DC_MLX5_NUM_DCI",
            "rc",
            &["rc_mlx5/mlx5_0:1", "ud_mlx5/mlx5_0:1"],
        ),
    ] {
        let (found, inert) = assessed(name, transports, [lanes, lanes]);
        assert!(inert, "{found:?}");
        assert_eq!(
            (found.finding, found.engagement),
            (DifferenceFinding::NotLoaded, Engagement::NotEngaged)
        );
        assert!(found.reason.contains(name), "{}", found.reason);
        assert!(found.reason.ends_with(&lanes.join(", ")), "{}", found.reason);
    }
}

#[test]
fn a_variable_that_a_lane_may_read_is_judged_by_its_effective_value() {
    let tcp: &[&str] = &["tcp/lo"];
    let rc: &[&str] = &["rc_verbs/mlx5_0:1"];
    let dc: &[&str] = &["dc_mlx5/mlx5_0:1"];
    for (name, transports, lanes) in [
        ("UCX_TCP_TX_SEG_SIZE", "tcp", [tcp, tcp]),
        ("UCX_RC_TX_QUEUE_LEN", "rc", [rc, rc]),
        ("UCX_RC_TX_QUEUE_LEN", "dc", [dc, dc]),
        ("UCX_UD_TIMEOUT", "dc", [dc, dc]),
        ("UCX_IB_SEG_SIZE", "ib", [dc, dc]),
        // The variable may be why only one of them uses rc.
        ("UCX_RC_MAX_NUM_EPS", "all", [rc, tcp]),
        ("UCX_RC_MAX_NUM_EPS", "all", [tcp, rc]),
        // UCX registers memory with devices that it may use.
        ("UCX_IB_REG_METHODS", "all", [tcp, tcp]),
        ("UCX_MM_SEG_SIZE", "tcp", [tcp, tcp]),
        // Unknown lanes.
        ("UCX_RC_TX_QUEUE_LEN", "tcp", [&[], tcp]),
        ("UCX_RC_TX_QUEUE_LEN", "tcp", [tcp, &[]]),
        (
            "UCX_RC_TX_QUEUE_LEN",
            "all",
            [&["srd/rdmap0:1"], &["srd/rdmap0:1"]],
        ),
    ] {
        let (found, inert) = assessed(name, transports, lanes);
        assert!(!inert, "{name} {found:?}");
        assert_eq!(
            (found.finding, found.engagement),
            (DifferenceFinding::Known, Engagement::Confirmed),
            "{name}"
        );
    }
}
