//! `fabricbench run --worker`: workers on other machines, which are network namespaces with an SSH server here. Needs
//! root.

mod fabric;
mod interrupted;
mod rejected;

use crds::v1alpha1::{ComparisonResult, Verdict};
use fabric::Fabric;

use super::harness::{RunningCommand, TestDir, planted_runner};
use super::manifest::{NAME, TCP, run};
use super::stored_run::StoredRun;

/// The runner delays every message of the other arm, so that its round trips take 25 percent longer.
const SLOWER: &str = "[{name: baseline}, {name: slower-25, env: [{name: UNUSED, value: '25'}]}]";
const PING_PONG: &str = "[{name: small, pingPong: {sizes: [64], iterations: 500, warmup: 50}}]";

/// The comparison of the arm whose messages are delayed, of a run that adds `options` to the command.
fn planted_effect(dir: &TestDir, options: &[String]) -> (ComparisonResult, StoredRun) {
    let manifest = dir.manifest(&run(
        SLOWER,
        TCP,
        PING_PONG,
        &["sampling: {rounds: 12, minWindow: 5ms}"],
    ));
    let mut command = dir.run_with(&planted_runner(), &manifest);
    command.args(options);
    let output = RunningCommand::start(command).wait();
    assert!(output.stdout.contains("slower-25"), "{output:?}");
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    assert_eq!(stored.failures(), Vec::new());
    let mut comparisons = stored.status().comparisons.iter().filter(|one| one.primary);
    (comparisons.next().unwrap().clone(), stored)
}

#[test]
fn the_effect_between_two_machines_agrees_with_the_effect_on_one() {
    let Some(fabric) = Fabric::create() else {
        return;
    };
    let (here, _) = planted_effect(&TestDir::new(), &[]);
    for launcher in [fabric.ssh(), fabric.enter()] {
        let dir = TestDir::new();
        let (there, stored) = planted_effect(&dir, &fabric.options(&launcher));
        println!("{launcher}: here {here:?}\nthere {there:?}");
        assert_eq!(there.verdict, Some(Verdict::Regressed));
        let interval = |one: &ComparisonResult| (one.lower_ppm.unwrap(), one.upper_ppm.unwrap());
        let ((here_lower, here_upper), (there_lower, there_upper)) = (interval(&here), interval(&there));
        assert!(here_lower <= there_upper && there_lower <= here_upper);
        // The bytes took the link between the two namespaces.
        let proof = format!("{:?}", stored.status().fabric);
        assert!(
            proof.contains(&fabric.links()[0]) && proof.contains("Verified"),
            "{proof}"
        );
    }
    fabric.assert_no_processes();
}
