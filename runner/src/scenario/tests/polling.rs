//! Tests that a scenario's polling mode applies only to that scenario.

use crds::v1alpha1::{PingPongOperation, Polling};

use super::fixture::{BASELINE, Pair, assignment, ping_pong};
use crate::arm_endpoints::{ArmEndpoints, Buffers, open_config};
use crate::test_transport::TestTransport;

#[test]
fn a_scenario_that_sleeps_does_not_change_the_polling_mode_of_others() {
    let scenario = Pair::new(ping_pong(PingPongOperation::Send, 1), BASELINE, 1, 64).scenario;
    let mut assignment = assignment(&scenario, &BASELINE, 1);
    for polling in [Polling::Wait, Polling::Spin] {
        let mut other = scenario.clone();
        other.name = format!("{polling:?}");
        other.polling = Some(polling);
        assignment.scenarios.push(other);
    }
    let config = open_config(&BASELINE, &assignment, 0);
    assert!(config.uses_wait);
    let mut buffers = Buffers::new(&assignment, 0);
    let endpoints = ArmEndpoints::<TestTransport>::open(
        &BASELINE,
        &assignment,
        &config,
        Polling::Yield,
        &[],
        &mut buffers,
    )
    .unwrap();
    assert_eq!(endpoints.polling, Polling::Yield);
    let recorded: Vec<_> = endpoints.facts().polling.clone().into_iter().collect();
    let expected = [
        ("Spin", Polling::Spin),
        ("Wait", Polling::Wait),
        ("test", Polling::Yield),
    ];
    assert_eq!(
        recorded,
        expected.map(|(name, polling)| (name.to_owned(), polling))
    );
}
