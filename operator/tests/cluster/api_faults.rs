//! Campaigns whose operator reaches the API server through a proxy that injects random faults: conflicts; rejected,
//! lost and delayed requests; lost responses; expired watches; and watch and log streams that end early.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use futures::future::join_all;

use super::kills::{LANES, random_seed, run_undisturbed};
use super::lane::{CaseKey, Lane, Tally};
use super::nodes::reserve_nodes;
use super::test_namespace::with_rounds;
use test_support::env_number;
use test_support::proxy::{Proxy, ProxyOptions};

/// Environment variable that sets the number of campaigns. The default is 8.
const CAMPAIGNS: &str = "FABRICBENCH_FAULT_CAMPAIGNS";
/// Environment variable that sets the fault seed. The default is the current time.
const SEED: &str = "FABRICBENCH_FAULT_SEED";
/// Probability that the proxy injects a fault into a request.
const PROBABILITY: f64 = 0.2;
/// Number of rounds in each campaign.
const ROUNDS: u32 = 2;
/// Maximum number of requests in a disturbed campaign, as a multiple of those in an undisturbed one. A loop that
/// retried failed requests without a delay would far exceed this limit.
const MAX_REQUESTS: u64 = 6;

/// Kinds of faults. All of them must occur.
const KINDS: [&str; 10] = [
    "Conflict",
    "InternalError",
    "ServiceUnavailable",
    "TooManyRequests",
    "delayed",
    "request lost",
    "response lost",
    "stream ended",
    "stream reset",
    "watch expired",
];

/// Maximum number of campaigns that are run until every kind of fault has occurred, as a multiple of the requested
/// number.
const MAX_CAMPAIGNS: u64 = 6;

/// Runs `campaigns` campaigns with faults, one after another, and more until every kind of fault has occurred. Returns
/// the counts, the number of requests, and the number of faults by kind.
async fn run_with_faults(
    lane: &Lane,
    seed: u64,
    campaigns: u64,
    cases: &BTreeSet<CaseKey>,
) -> (Tally, u64, BTreeMap<&'static str, u64>) {
    let options = ProxyOptions {
        faults: Some((seed, PROBABILITY)),
        ..ProxyOptions::default()
    };
    let proxy = Proxy::with_options(&lane.namespace.client, options).await;
    let _operator = lane.namespace.operator_with(&proxy.kubeconfig);
    let mut total = Tally::default();
    for number in 0..campaigns * MAX_CAMPAIGNS {
        let faults = proxy.faults();
        if number >= campaigns && KINDS.iter().all(|kind| faults.contains_key(kind)) {
            break;
        }
        let name = format!("faults-{number}");
        lane.namespace.create(&with_rounds(&name, ROUNDS)).await;
        total.add(&lane.finish(&name, cases).await);
    }
    (total, proxy.requests(), proxy.faults())
}

#[tokio::test]
async fn campaigns_complete_despite_api_server_faults() {
    let nodes = reserve_nodes().await;
    let campaigns: u64 = env_number(CAMPAIGNS).unwrap_or(8);
    let seed = random_seed(SEED);
    let lanes = join_all((0..LANES).map(|_| Lane::new(&nodes))).await;
    let (cases, writes, requests) = run_undisturbed(&lanes[0], &with_rounds("undisturbed", ROUNDS)).await;
    println!(
        "an undisturbed campaign: {requests} requests, {} of them writes",
        writes.len()
    );
    let started = Instant::now();
    let disturbed = (0..LANES).zip(&lanes).map(|(number, lane)| {
        run_with_faults(lane, seed.wrapping_add(number), campaigns.div_ceil(LANES), &cases)
    });
    let (mut total, mut sum, mut faults) = (Tally::default(), 0, BTreeMap::new());
    for (tally, requests, of_lane) in join_all(disturbed).await {
        total.add(&tally);
        sum += requests;
        for (name, count) in of_lane {
            *faults.entry(name).or_insert(0) += count;
        }
    }
    let each = sum / u64::from(total.campaigns);
    println!(
        "{sum} requests in {:?}, {each} per campaign; faults: {faults:?}",
        started.elapsed()
    );
    for kind in KINDS {
        assert!(
            faults.contains_key(kind),
            "no fault of kind \"{kind}\" occurred: {faults:?}"
        );
    }
    total.assert_undisturbed("with API server faults");
    assert!(
        each <= MAX_REQUESTS * requests,
        "{each} requests per campaign, but only {requests} without faults"
    );
    for lane in lanes {
        lane.close().await;
    }
}
