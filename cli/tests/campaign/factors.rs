//! Factors in a real campaign: planted effects, including an interaction, are found.

use crds::v1alpha1::{FactorEffectKind, FactorEffectResult, Optimization};

use super::harness::{RunningCommand, TestDir, planted_runner};
use super::manifest::{NAME, run};
use super::stored_run::StoredRun;

/// Two rails, so that the 128 bytes are sent as two chunks, or as one if they are coalesced.
const RAILS: &str = "{libfabric: {provider: tcp, rails: 2}}";
const PING_PONG: &str = "[{name: small, pingPong: {sizes: [128], iterations: 300, warmup: 50}}]";
const ONE: &str = "[{name: baseline}]";

/// Runs a campaign with `runner`, or with the ordinary runner if `runner` is `None`. Returns the effects and the
/// standard output.
fn effects(runner: Option<&str>) -> (Vec<FactorEffectResult>, String) {
    let dir = TestDir::new();
    let manifest = dir.manifest(&run(
        ONE,
        RAILS,
        PING_PONG,
        &[
            "striping: {policy: Nixl, thresholdBytes: 64, minChunkBytes: 64}",
            "factors: {inject: {maxBytes: 128}, coalesce: {minChunkBytes: 128}}",
            "sampling: {rounds: 12, minWindow: 5ms}",
        ],
    ));
    let command = match runner {
        Some(runner) => dir.run_with(runner, &manifest),
        None => dir.run(&manifest),
    };
    let output = RunningCommand::start(command).wait();
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    (stored.status().factor_effects.clone(), output.stdout)
}

fn find(
    effects: &[FactorEffectResult],
    kind: FactorEffectKind,
    factors: &[Optimization],
) -> FactorEffectResult {
    let mut effects = effects.iter();
    effects
        .find(|one| (one.kind, &one.factors[..]) == (kind, factors))
        .unwrap()
        .clone()
}

#[test]
fn planted_interaction_is_found() {
    use Optimization::{Coalesce, Inject};
    let planted = planted_runner();
    let (natural, _) = effects(None);
    let (found, text) = effects(Some(&planted));
    println!("natural {natural:#?}\nplanted {found:#?}\n{text}");
    assert_eq!((natural.len(), found.len()), (3, 3));
    // The planted factor multiplies the time of every combination, regardless of what the optimizations change.
    let planted_ratio = |kind, factors: &[Optimization]| {
        let ratio = |effects: &[FactorEffectResult]| {
            1.0 + find(effects, kind, factors).effect_ppm.unwrap() as f64 / 1e6
        };
        ratio(&found) / ratio(&natural)
    };
    let main_of_inject = planted_ratio(FactorEffectKind::Main, &[Inject]);
    let main_of_coalesce = planted_ratio(FactorEffectKind::Main, &[Coalesce]);
    let together = planted_ratio(FactorEffectKind::Interaction, &[Inject, Coalesce]);
    println!("{main_of_inject} {main_of_coalesce} {together}");
    // The interaction of 1.5 contributes its square root to each main effect. The tolerance allows for a loaded machine.
    for (ratio, expected) in [
        (main_of_inject, 1.2 * 1.5_f64.sqrt()),
        (main_of_coalesce, 1.1 * 1.5_f64.sqrt()),
        (together, 1.5),
    ] {
        assert!((ratio / expected - 1.0).abs() < 0.3, "{ratio} {expected}");
    }
    assert!(text.contains("inject x coalesce"), "{text}");
}
