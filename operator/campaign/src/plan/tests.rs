//! Tests the plans of small runs: control arms, processes, random orders, and which orders stay the same when the run
//! changes.

use std::collections::BTreeSet;

use crds::assignment::{Assignment, AttemptIdentity, Pass, Rendezvous};

use super::*;
use crate::plan_check::{Severity, check};
use crate::validate::validate;

const HEAD: &str = "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: test}\nspec:\n  baseline: a\n  \
                    transport: {libfabric: {provider: tcp, rails: 4}}\n";
const SCENARIOS: &str = "  scenarios:\n  - {name: small, pingPong: {sizes: [64, 128]}}\n  - {name: mid, integrity: false, transfer: {sizes: [32Ki], batch: 16}}\n";

fn plan_variants(variants: &str, rest: &str) -> Result<HashedPlan, PlanError> {
    let text = format!(
        "{HEAD}  striping: {{policy: Nixl, thresholdBytes: 16Ki}}\n  variants: [{{name: a}}{variants}]\n{rest}"
    );
    let run = crate::fixture::run_from_yaml(&text);
    let plan = plan(&validate(&run).unwrap())?;
    let fatal: Vec<_> = check(&plan)
        .into_iter()
        .filter(|note| note.severity == Severity::Fatal)
        .collect();
    assert_eq!(fatal, [], "the planner must not create an inconsistent plan");
    Ok(plan)
}

const INJECT: &str = ", {name: b, inject: {maxBytes: 256}}";
const ENVIRONMENT: &str = ", {name: c, env: [{name: FI_X, value: '1'}]}";
const IMAGE: &str = ", {name: d, image: other}";

fn names(plan: &Plan) -> Vec<&str> {
    plan.arms.iter().map(|arm| arm.name.as_str()).collect()
}

#[test]
fn every_separation_has_a_control_arm() {
    let all = plan_variants(&format!("{INJECT}{ENVIRONMENT}{IMAGE}"), SCENARIOS).unwrap();
    assert_eq!(
        names(&all),
        [
            "a",
            "b",
            "c",
            "d",
            "control",
            "control-environment",
            "control-image"
        ]
    );
    assert_eq!(
        names(&plan_variants(ENVIRONMENT, SCENARIOS).unwrap()),
        ["a", "c", "control-environment"]
    );
    assert_eq!(names(&plan_variants("", SCENARIOS).unwrap()), ["a", "control"]);
    let without_control =
        plan_variants(INJECT, &format!("{SCENARIOS}  sampling: {{control: false}}\n")).unwrap();
    assert_eq!(names(&without_control), ["a", "b"]);
}

#[test]
fn arms_with_the_same_environment_share_a_process() {
    let plan = plan_variants(&format!("{INJECT}{ENVIRONMENT}"), SCENARIOS).unwrap();
    let [leg] = plan.legs.as_slice() else {
        panic!("expected a single leg");
    };
    assert_eq!(leg.processes.len(), 3);
    // `a`, `b` and `control` share a process. `c` and `control-environment` each have a separate process. The process
    // of `control-environment` has the environment of `a`.
    assert_eq!(leg.arms, [(0, 0), (1, 0), (2, 1), (3, 0), (4, 2)]);
    assert_eq!(leg.processes[2], leg.processes[0]);
}

#[test]
fn every_image_has_its_pilot_before_the_first_round() {
    let plan = plan_variants(IMAGE, &format!("{SCENARIOS}  sampling: {{rounds: 8}}\n")).unwrap();
    assert_eq!(plan.legs.len(), 9 * 3);
    let rounds = |legs: &[Leg]| -> Vec<u32> {
        let rounds = legs.iter().flat_map(|leg| &leg.rounds);
        rounds.map(|round| round.round).collect()
    };
    assert_eq!(rounds(&plan.legs[..3]), [0; 3]);
    assert_eq!(rounds(&plan.legs[3..6]), [1; 3]);
}

#[test]
fn every_image_has_one_leg_per_round() {
    let plan = plan_variants(
        IMAGE,
        &format!("{SCENARIOS}  sampling: {{rounds: 8, minWindow: 0s}}\n"),
    )
    .unwrap();
    assert_eq!(plan.legs.len(), 8 * 3);
    for (index, legs) in plan.legs.chunks(3).enumerate() {
        let rounds: BTreeSet<_> = legs
            .iter()
            .filter_map(|leg| leg.rounds.last())
            .map(|round| round.round)
            .collect();
        assert_eq!(rounds, BTreeSet::from([index as u32 + 1]));
        let arms: BTreeSet<_> = legs
            .iter()
            .flat_map(|leg| &leg.arms)
            .map(|(arm, _)| *arm)
            .collect();
        assert_eq!(arms, BTreeSet::from([0, 1, 2]));
    }
    let firsts: BTreeSet<_> = plan.legs.chunks(3).map(|legs| legs[0].arms[0].0).collect();
    assert!(firsts.len() > 1, "every round has the same order of gangs");
}

#[test]
fn rounds_default_to_four_more_than_the_minimum() {
    let plan = plan_variants(INJECT, SCENARIOS).unwrap();
    // One variant at two sizes: log2(2 * 2 / 0.05) = 6.3.
    assert_eq!(
        (plan.scenarios[0].comparisons, plan.scenarios[0].minimum_rounds),
        (2, 7)
    );
    assert_eq!(plan.scenarios[1].minimum_rounds, 6);
    assert_eq!(plan.rounds, 11);
    assert_eq!(plan.sampling.rounds, Some(11));
}

#[test]
fn integrity_pass_and_pilot_precede_the_first_round() {
    let plan = plan_variants(INJECT, SCENARIOS).unwrap();
    let round = &plan.legs[0].rounds[0];
    assert_eq!(round.round, 0);
    let sizes = |pass: Pass| -> BTreeSet<u64> {
        let blocks = round.blocks.iter().filter(|block| block.pass == pass);
        blocks.map(|block| block.size_bytes).collect()
    };
    assert_eq!(sizes(Pass::Integrity), BTreeSet::from([64, 128]));
    assert_eq!(sizes(Pass::Pilot), BTreeSet::from([64, 128, 32 << 10]));
    assert!(round.blocks.is_sorted_by_key(|block| block.pass));
    assert_eq!(plan.blocks_total, 2 + 3 + 11 * 3);
}

#[test]
fn only_scenarios_without_a_duration_have_a_pilot() {
    let passes = |scenarios: &str| -> Vec<Pass> {
        let plan = plan_variants(INJECT, scenarios).unwrap();
        let blocks = plan.legs[0].rounds[0].blocks.iter();
        blocks.map(|block| block.pass).collect()
    };
    assert_eq!(
        passes("  scenarios: [{name: s, pingPong: {sizes: [64], duration: 1s}}]\n"),
        [Pass::Integrity]
    );
    let scenario = "  scenarios: [{name: s, pingPong: {sizes: [64]}}]\n";
    assert_eq!(passes(scenario), [Pass::Integrity, Pass::Pilot]);
    let disabled = format!("{scenario}  sampling: {{minWindow: 0s}}\n");
    assert_eq!(passes(&disabled), [Pass::Integrity]);
}

#[test]
fn order_depends_on_the_seed_and_not_on_other_arms() {
    let few = plan_variants(INJECT, SCENARIOS).unwrap();
    assert_eq!(few.hash(), plan_variants(INJECT, SCENARIOS).unwrap().hash());
    let other = plan_variants(INJECT, &format!("{SCENARIOS}  sampling: {{seed: 7}}\n")).unwrap();
    assert_ne!(few.legs, other.legs);

    let more = plan_variants(
        &format!("{INJECT}, {{name: e, inject: {{maxBytes: 64}}}}"),
        SCENARIOS,
    )
    .unwrap();
    for (before, after) in few.legs[0].rounds.iter().zip(&more.legs[0].rounds) {
        for (before, after) in before.blocks.iter().zip(&after.blocks) {
            assert_eq!(
                (before.scenario, before.size_bytes),
                (after.scenario, after.size_bytes)
            );
            let other_arms = |plan: &Plan, order: &[u32]| -> Vec<String> {
                let arms = order
                    .iter()
                    .map(|index| plan.arms[plan.legs[0].arms[*index as usize].0].name.clone());
                arms.filter(|name| name != "e").collect()
            };
            assert_eq!(other_arms(&few, &before.order), other_arms(&more, &after.order));
        }
    }
}

#[test]
fn blocks_draw_different_orders_of_arms() {
    let plan = plan_variants(INJECT, SCENARIOS).unwrap();
    let orders: BTreeSet<_> = plan.legs[0]
        .rounds
        .iter()
        .flat_map(|round| &round.blocks)
        .map(|block| &block.order)
        .collect();
    assert!(
        orders.len() > 3,
        "38 blocks use too few of the 6 possible orders of 3 arms: {orders:?}"
    );
}

#[test]
fn cell_identical_to_the_baseline_is_a_negative_control() {
    let coalesce = ", {name: b, striping: {policy: NixlCoalesce}}";
    let scenarios = "  scenarios: [{name: mid, transfer: {sizes: [32Ki, 64Ki], batch: 16}}]\n";
    let plan = plan_variants(coalesce, scenarios).unwrap();
    let cell = |size, arm| plan.cell(0, size, arm).unwrap();
    assert_eq!(
        (cell(32 << 10, 0).rails, cell(32 << 10, 0).chunk_bytes),
        (4, 8 << 10)
    );
    assert_eq!(
        (cell(32 << 10, 1).rails, cell(32 << 10, 1).chunk_bytes),
        (2, 16 << 10)
    );
    assert_eq!(cell(32 << 10, 1).role, Some(Role::Variant));
    assert_eq!(cell(64 << 10, 1).role, Some(Role::NegativeControl));
    assert_eq!(
        cell(64 << 10, 0).role,
        None,
        "the baseline is not compared with itself"
    );
    assert_eq!(cell(32 << 10, 2).role, Some(Role::ControlArm));
    // One size gets a verdict; the control arm at both sizes and the negative control must not show a change.
    assert_eq!((plan.scenarios[0].comparisons, plan.controls), (1, 3));
}

#[test]
fn arm_with_a_different_inject_limit_is_never_a_negative_control() {
    let scenarios = "  scenarios: [{name: small, pingPong: {sizes: [64, 1Ki]}}]\n";
    let plan = plan_variants(INJECT, scenarios).unwrap();
    assert_eq!(plan.cell(0, 64, 1).unwrap().role, Some(Role::Variant));
    assert_eq!(plan.cell(0, 1024, 1).unwrap().role, Some(Role::NotApplicable));
    assert_eq!((plan.scenarios[0].comparisons, plan.controls), (1, 2));
}

#[test]
fn long_streams_are_split_between_blocks() {
    let many = "  placement: {workers: 8}\n  sampling: {rounds: 40}\n";
    let plan = plan_variants(INJECT, &format!("{SCENARIOS}{many}")).unwrap();
    assert!(plan.legs.len() > 1);
    for leg in &plan.legs {
        assert!(leg_estimate(&plan, leg).stream_bytes <= crds::record::MAX_STREAM_BYTES);
        let json = serde_json::to_vec(&assignment(&plan, leg, inputs(&BTreeSet::new()))).unwrap();
        assert!(Assignment::parse(&json).is_ok());
    }
}

#[test]
fn rejects_a_block_that_does_not_fit_in_a_stream() {
    let variants: String = (0..14)
        .map(|index| format!(", {{name: v{index}, inject: {{maxBytes: {}}}}}", 64 + index))
        .collect();
    let sizes: Vec<_> = (64..80).map(|size| size.to_string()).collect();
    let scenarios = format!(
        "  scenarios: [{{name: small, pingPong: {{sizes: [{}]}}}}]\n",
        sizes.join(", ")
    );
    let result = plan_variants(&variants, &format!("{scenarios}  placement: {{workers: 64}}\n"));
    assert!(
        matches!(
            result,
            Err(PlanError::BlockTooLarge {
                arms: 16,
                pairs: 2016,
                ..
            })
        ),
        "{result:?}"
    );
}

fn inputs(finished_blocks: &BTreeSet<u32>) -> AssignmentInputs<'_> {
    AssignmentInputs {
        identity: AttemptIdentity {
            run: "test".to_owned(),
            uid: "uid".to_owned(),
            plan_hash: "hash".to_owned(),
            leg: 0,
            attempt: 1,
        },
        rendezvous: Rendezvous {
            host: "127.0.0.1".to_owned(),
            bind: "127.0.0.1".to_owned(),
            port: 0,
            timeout_seconds: 10,
        },
        bindings: Vec::new(),
        finished_blocks,
        operation_counts: Vec::new(),
    }
}

#[test]
fn assignment_omits_finished_blocks() {
    let plan = plan_variants(INJECT, SCENARIOS).unwrap();
    let leg = &plan.legs[0];
    let whole = assignment(&plan, leg, inputs(&BTreeSet::new()));
    assert_eq!(whole.rounds, leg.rounds);
    assert!(Assignment::parse(&serde_json::to_vec(&whole).unwrap()).is_ok());

    // Round 0 has blocks 0 to 4, and round 1 has blocks 5 to 7.
    let rest = assignment(&plan, leg, inputs(&BTreeSet::from([0, 1, 2, 3, 4, 6])));
    assert_eq!(rest.rounds[0].round, 1);
    let blocks: Vec<_> = rest.rounds[0].blocks.iter().map(|block| block.block).collect();
    assert_eq!(blocks, [5, 7]);

    let all = (0..plan.blocks_total).collect();
    assert!(assignment(&plan, leg, inputs(&all)).rounds.is_empty());
}

/// Role of arm 1 at the only size of the only scenario.
fn role_of_second_arm(variant: &str, scenario: &str) -> Role {
    let scenarios = format!("  scenarios: [{{name: one, integrity: false, {scenario}}}]\n");
    let plan = plan_variants(&format!(", {variant}"), &scenarios).unwrap();
    plan.scenarios[0]
        .cells
        .iter()
        .find(|cell| cell.arm == 1)
        .and_then(|cell| cell.role)
        .unwrap()
}

#[test]
fn variant_that_changes_only_an_unused_library_is_a_negative_control() {
    const FILES: &str =
        "parameterServing: {mode: Filesystem, directory: /tmp, sizes: [64Ki], workers: [1], maxTime: 1s}";
    const DATAGRAMS: &str = "parameterServing: {mode: Multicast, sizes: [64Ki], workers: [1], maxTime: 1s}";
    const WRITES: &str = "parameterServing: {mode: Push, sizes: [64Ki], workers: [1], maxTime: 1s}";
    let library = "{name: b, env: [{name: FI_TCP_NODELAY, value: '0'}]}";
    let provider = "{name: b, transport: {libfabric: {provider: net, rails: 4}}}";
    let tuning = "{name: b, striping: {policy: Single}}";
    let process = "{name: b, env: [{name: LD_PRELOAD, value: /x.so}, {name: FI_X, value: '1'}]}";
    let image = "{name: b, image: other}";
    for scenario in [FILES, DATAGRAMS] {
        for variant in [library, provider, tuning] {
            assert_eq!(
                role_of_second_arm(variant, scenario),
                Role::NegativeControl,
                "{variant} {scenario}"
            );
        }
        for variant in [process, image] {
            assert_eq!(
                role_of_second_arm(variant, scenario),
                Role::Variant,
                "{variant} {scenario}"
            );
        }
    }
    for variant in [library, provider] {
        assert_eq!(role_of_second_arm(variant, WRITES), Role::Variant, "{variant}");
    }
}

#[test]
fn local_calls_of_two_arms_differ_only_in_what_is_not_a_library() {
    const CALLS: &str = "rpc: {pattern: Call, payloads: [SmallTensor], iterations: 10}";
    let plan = |variants: &str| {
        let run = crate::fixture::run_from_yaml(&format!(
            "{HEAD}  variants: [{variants}]\n  scenarios: [{{name: one, integrity: false, {CALLS}}}]\n"
        ));
        plan(&validate(&run).unwrap()).unwrap()
    };
    let role = |variants: &str| plan(variants).scenarios[0].cells[1].role.unwrap();
    assert_eq!(
        role("{name: a, channel: Local}, {name: b, channel: Local, env: [{name: FI_X, value: '1'}]}"),
        Role::NegativeControl
    );
    assert_eq!(
        role("{name: a, channel: Local}, {name: b, channel: UnixSocket, env: [{name: FI_X, value: '1'}]}"),
        Role::Variant,
        "the channels differ"
    );
    assert_eq!(
        role(
            "{name: a, channel: Local}, {name: b, channel: Local, env: [{name: OMP_NUM_THREADS, value: '1'}]}"
        ),
        Role::Variant
    );
    assert_eq!(
        role("{name: a}, {name: b, env: [{name: FI_X, value: '1'}]}"),
        Role::Variant,
        "calls over the transport use its library"
    );
    let reason =
        plan("{name: a, channel: Local}, {name: b, channel: Local, env: [{name: UCX_X, value: '1'}]}");
    let notes = check(&reason);
    assert!(
        notes
            .iter()
            .any(|note| note.message.contains("do not use the library")),
        "{notes:?}"
    );
}
