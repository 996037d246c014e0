//! Kills the operator during a campaign, at each kind of write and at random times. The next operator continues without
//! losing or duplicating measurements or objects.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crds::v1alpha1::State;
use futures::future::join_all;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::time::sleep;

use super::lane::{CaseKey, Lane, Tally};
use super::nodes::{GANGS_PER_PAIR, reserve_nodes, share_nodes};
use super::test_namespace::{TIMEOUT, TestNamespace, with_rounds};
use super::testbed::image_of;
use test_support::cluster::until_within;
use test_support::env_number;
use test_support::operator::Operator;
use test_support::proxy::{KillPoint, Moment, Proxy, kind_of_write};

/// Environment variable that sets the number of kills at random times. The default is 10.
const KILLS: &str = "FABRICBENCH_KILLS";
/// Environment variable that sets the seed for the random times. The default is the current time.
const SEED: &str = "FABRICBENCH_KILL_SEED";
/// Number of concurrent campaigns.
pub(super) const LANES: u64 = GANGS_PER_PAIR as u64;
/// Number of writes with which the operator starts an attempt: Service, ConfigMap, Job and status.
const FIRST_WRITES: usize = 4;
/// Maximum number of writes of each kind at which an operator is killed. A campaign has two events, two ConfigMaps, and
/// a number of status updates that depends on its duration.
const MAX_KILLS_PER_KIND: usize = 2;
/// Number of rounds in a campaign whose operator is killed once.
const ROUNDS: u32 = 2;
/// Number of rounds in a campaign that is long enough for records to be written several times.
const LONG_ROUNDS: u32 = 8;

/// Returns and prints the seed in the environment variable `name`, or, if it is not set, a seed based on the current
/// time.
pub(super) fn random_seed(name: &str) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let seed = env_number(name).unwrap_or(now);
    println!("{name}={seed}");
    seed
}

/// Starts an operator behind a proxy that kills it at write `index` of `kind`, or of all writes, counting from 0.
pub(super) async fn operator_killed_at(
    namespace: &TestNamespace,
    kind: Option<&str>,
    index: usize,
    moment: Moment,
) -> (Proxy, Operator) {
    let proxy = Proxy::open(&namespace.client).await;
    let operator = namespace.operator_with(&proxy.kubeconfig);
    proxy.kill_at(KillPoint {
        kind: kind.map(str::to_owned),
        index,
        moment,
        pid: operator.id(),
    });
    (proxy, operator)
}

/// Returns the first writes of each kind, as the kind and the index among the writes of this kind, ordered by kind.
fn first_of_each_kind(writes: &[String]) -> BTreeSet<(String, usize)> {
    let mut counts = BTreeMap::new();
    for write in writes {
        *counts.entry(kind_of_write(write)).or_default() += 1;
    }
    let kinds = counts.into_iter();
    kinds
        .flat_map(|(kind, count): (String, usize)| {
            (0..count.min(MAX_KILLS_PER_KIND)).map(move |index| (kind.clone(), index))
        })
        .collect()
}

async fn wait_until_complete(namespace: &TestNamespace, name: &str) {
    until_within(TIMEOUT, || async {
        let state = namespace.status(name).await.state;
        assert_ne!(state, Some(State::Failed), "{name} failed");
        (state == Some(State::Complete)).then_some(())
    })
    .await;
}

/// Runs a campaign without disturbing it. Returns its cases, and its operator's writes and number of requests.
pub(super) async fn run_undisturbed(
    lane: &Lane,
    run: &crds::v1alpha1::BenchmarkRun,
) -> (BTreeSet<CaseKey>, Vec<String>, u64) {
    let name = run.metadata.name.as_deref().unwrap();
    let proxy = Proxy::open(&lane.namespace.client).await;
    let _operator = lane.namespace.operator_with(&proxy.kubeconfig);
    lane.namespace.create(run).await;
    lane.namespace.wait_for_completion(name).await;
    let (cases, writes) = (lane.cases(name).await, proxy.writes());
    lane.delete(name).await;
    (cases, writes, proxy.requests())
}

/// Runs a campaign whose operator is killed at write `index` of `kind`, and completes it with another operator.
async fn check_kill_at(
    lane: &Lane,
    kind: &str,
    index: usize,
    moment: Moment,
    cases: &BTreeSet<CaseKey>,
) -> Tally {
    let (proxy, mut operator) = operator_killed_at(&lane.namespace, Some(kind), index, moment).await;
    lane.namespace.create(&with_rounds("killed", ROUNDS)).await;
    let died = tokio::select! {
        _ = operator.wait(TIMEOUT) => true,
        () = wait_until_complete(&lane.namespace, "killed") => proxy.has_killed(),
    };
    drop(operator);
    let _next = lane.namespace.operator();
    let mut tally = lane.finish("killed", cases).await;
    tally.kills = died.into();
    println!(
        "{moment:?} {kind} {index}: {}",
        if died { "killed" } else { "not reached" }
    );
    tally
}

#[tokio::test]
async fn campaign_completes_after_the_operator_is_killed_at_each_kind_of_write() {
    let nodes = reserve_nodes().await;
    let lanes = join_all((0..LANES).map(|_| Lane::new(&nodes))).await;
    let (cases, writes, _) = run_undisturbed(&lanes[0], &with_rounds("undisturbed", ROUNDS)).await;
    println!("{} writes in an undisturbed campaign: {writes:#?}", writes.len());
    let kill_points = first_of_each_kind(&writes);
    let mut total = Tally::default();
    for (kind, index) in &kill_points {
        let (before, after) = tokio::join!(
            check_kill_at(&lanes[0], kind, *index, Moment::Before, &cases),
            check_kill_at(&lanes[1], kind, *index, Moment::After, &cases)
        );
        total.add(&before);
        total.add(&after);
    }
    total.assert_undisturbed("killed before and after the first writes of each kind");
    // The operator writes an event after the final status, so the campaign may be complete before the event is written.
    // A ConfigMap with records is updated only if the records arrive in several parts.
    assert!(
        total.kills as usize >= 2 * (kill_points.len() - 2),
        "{} kills at {kill_points:#?}",
        total.kills
    );
    for lane in lanes {
        lane.close().await;
    }
}

/// Kills each operator at one of its first writes, alternately before and after the API server executes it.
#[tokio::test]
async fn campaign_completes_after_repeated_kills_at_the_first_writes() {
    let nodes = share_nodes().await;
    let lane = Lane::new(&nodes).await;
    // Each variant has its own image, so there are several legs, whose Jobs run one after another.
    let mut run = with_rounds("undisturbed", 1);
    run.spec.variants[0].image = Some(image_of("baseline"));
    run.spec.variants[1].image = Some(image_of("fi-inject"));
    let (cases, writes, _) = run_undisturbed(&lane, &run).await;
    run.metadata.name = Some("disturbed".to_owned());
    lane.namespace.create(&run).await;
    let mut kills = 0;
    // Each new operator finds the objects that the previous operators created, and must make further progress.
    let kill_points = (0..FIRST_WRITES).flat_map(|write| [(write, Moment::Before), (write, Moment::After)]);
    for (write, moment) in kill_points.cycle() {
        let (_proxy, mut operator) = operator_killed_at(&lane.namespace, None, write, moment).await;
        tokio::select! {
            _ = operator.wait(TIMEOUT) => kills += 1,
            () = wait_until_complete(&lane.namespace, "disturbed") => break,
        }
    }
    let _next = lane.namespace.operator();
    let mut tally = lane.finish("disturbed", &cases).await;
    tally.kills = kills;
    tally.assert_undisturbed("killed repeatedly at the first writes");
    println!("{} writes in an undisturbed campaign", writes.len());
    assert!(kills as usize >= 2 * FIRST_WRITES, "{kills} kills");
    lane.close().await;
}

/// Runs campaigns whose operators are killed at random times, until `kills` kills have occurred.
async fn kill_at_random_times(
    number: u64,
    lane: &Lane,
    seed: u64,
    kills: u32,
    cases: &BTreeSet<CaseKey>,
) -> Tally {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(number);
    let mut total = Tally::default();
    while total.kills < kills {
        let name = format!("random-{}", total.campaigns);
        lane.namespace.create(&with_rounds(&name, LONG_ROUNDS)).await;
        let mut kills_of_campaign = 0;
        loop {
            let operator = lane.namespace.operator();
            // The lifetime is log-uniform between 30 ms, after which the operator is still starting, and 8 s, after
            // which it has stored records.
            let lifetime =
                Duration::from_secs_f64(0.03 * (8.0_f64 / 0.03).powf(random.random_range(0.0..1.0)));
            tokio::select! {
                () = sleep(lifetime) => kills_of_campaign += 1,
                () = wait_until_complete(&lane.namespace, &name) => break,
            }
            drop(operator);
        }
        let _next = lane.namespace.operator();
        let mut tally = lane.finish(&name, cases).await;
        tally.kills = kills_of_campaign;
        total.add(&tally);
    }
    total
}

#[tokio::test]
async fn campaign_completes_after_kills_at_random_times() {
    let nodes = reserve_nodes().await;
    let kills: u64 = env_number(KILLS).unwrap_or(10);
    let seed = random_seed(SEED);
    let lanes = join_all((0..LANES).map(|_| Lane::new(&nodes))).await;
    let (cases, writes, _) = run_undisturbed(&lanes[0], &with_rounds("undisturbed", LONG_ROUNDS)).await;
    println!("{} writes in an undisturbed campaign", writes.len());
    let kills_per_lane = u32::try_from(kills.div_ceil(LANES)).unwrap();
    let campaigns = (0..)
        .zip(&lanes)
        .map(|(number, lane)| kill_at_random_times(number, lane, seed, kills_per_lane, &cases));
    let mut total = Tally::default();
    join_all(campaigns)
        .await
        .iter()
        .for_each(|tally| total.add(tally));
    total.assert_undisturbed("killed at random times");
    assert!(u64::from(total.kills) >= kills);
    for lane in lanes {
        lane.close().await;
    }
}
