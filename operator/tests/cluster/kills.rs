//! The operator is killed while a campaign goes on: at every write, and at any time. The next one finds the same to do, so
//! that nothing is lost, measured twice or created twice.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crds::v1alpha1::State;
use futures::future::join_all;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::time::sleep;

use super::campaign::{PATIENCE, Place, with_rounds};
use super::cluster::until_within;
use super::operator::Operator;
use super::proxy::{Moment, Proxy, Shot};
use super::testbed::image_of;
use super::undisturbed::{CaseKey, Lane, Tally};

/// How many random instants; a few where it is not said.
const KILLS: &str = "FABRICBENCH_KILLS";
/// Seed of these instants; the time where it is not said.
const SEED: &str = "FABRICBENCH_KILL_SEED";
/// Campaigns at once: as many gangs as two nodes of two processors hold.
const LANES: u64 = 2;
/// Writes of a life that may be its last: those for an attempt, ConfigMap, Service, Job and status.
const FIRST_WRITES: usize = 4;
/// Rounds of a campaign whose operator dies once.
const ROUNDS: u32 = 4;
/// Rounds of one that goes on for long enough that its records are kept in several writes.
const LONG: u32 = 8;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// An operator behind a door, which dies at `write`, counted from 0.
pub(super) async fn doomed(place: &Place, write: usize, moment: Moment) -> (Proxy, Operator) {
    let proxy = Proxy::open(&place.client).await;
    let operator = place.operator_by(&proxy.kubeconfig);
    proxy.arm(Shot {
        write,
        moment,
        victim: operator.id(),
    });
    (proxy, operator)
}

async fn is_complete(place: &Place, name: &str) {
    until_within(PATIENCE, || async {
        let state = place.status(name).await.state;
        assert_ne!(state, Some(State::Failed), "{name} failed");
        (state == Some(State::Complete)).then_some(())
    })
    .await;
}

/// The cases of a campaign that nobody disturbs, and the writes of its operator.
async fn undisturbed(lane: &Lane, run: &crds::v1alpha1::BenchmarkRun) -> (BTreeSet<CaseKey>, Vec<String>) {
    let name = run.metadata.name.as_deref().unwrap();
    let proxy = Proxy::open(&lane.place.client).await;
    let _operator = lane.place.operator_by(&proxy.kubeconfig);
    lane.place.create(run).await;
    lane.place.completed(name).await;
    let (cases, writes) = (lane.cases(name).await, proxy.writes());
    lane.delete(name).await;
    (cases, writes)
}

/// A campaign whose operator dies at `write`; another finishes it. Whether it came to that write.
async fn dies_at(lane: &Lane, write: usize, moment: Moment, cases: &BTreeSet<CaseKey>) -> (bool, Tally) {
    let name = format!("{moment:?}-{write}").to_lowercase();
    let (proxy, mut operator) = doomed(&lane.place, write, moment).await;
    lane.place.create(&with_rounds(&name, ROUNDS)).await;
    let died = tokio::select! {
        _ = operator.end() => true,
        () = is_complete(&lane.place, &name) => proxy.fired(),
    };
    drop(operator);
    let _next = lane.place.operator();
    let mut tally = lane.finish(&name, cases).await;
    tally.kills = died.into();
    (died, tally)
}

#[tokio::test]
async fn killed_at_each_write_the_next_one_finishes_the_same_campaign() {
    let lanes = join_all((0..LANES).map(|_| Lane::new())).await;
    let (cases, writes) = undisturbed(&lanes[0], &with_rounds("undisturbed", ROUNDS)).await;
    println!("{} writes of an undisturbed campaign: {writes:#?}", writes.len());
    let mut all = Tally::default();
    for write in 0.. {
        let (before, after) = tokio::join!(
            dies_at(&lanes[0], write, Moment::Before, &cases),
            dies_at(&lanes[1], write, Moment::After, &cases)
        );
        all.add(&before.1);
        all.add(&after.1);
        if !before.0 && !after.0 {
            break;
        }
    }
    all.told("killed before and after each write");
    // The last write, an event, comes after the status that says that it is complete.
    assert!(
        all.kills as usize >= 2 * (writes.len() - 2),
        "{} kills at {} writes",
        all.kills,
        writes.len()
    );
    for lane in lanes {
        lane.leave().await;
    }
}

/// Every operator dies at one of the first writes it makes, in turn before and after the API server does it.
#[tokio::test]
async fn killed_at_its_first_writes_each_time_the_campaign_is_finished_all_the_same() {
    let lane = Lane::new().await;
    // An image each: legs follow each other, and the Job of one goes before the next comes.
    let mut run = with_rounds("undisturbed", 1);
    run.spec.variants[0].image = Some(image_of("baseline"));
    run.spec.variants[1].image = Some(image_of("fi-inject"));
    let (cases, writes) = undisturbed(&lane, &run).await;
    run.metadata.name = Some("disturbed".to_owned());
    lane.place.create(&run).await;
    let mut kills = 0;
    // Who begins anew meets what was created before: it has to come further than that.
    let shots = (0..FIRST_WRITES).flat_map(|write| [(write, Moment::Before), (write, Moment::After)]);
    for (write, moment) in shots.cycle() {
        let (_proxy, mut operator) = doomed(&lane.place, write, moment).await;
        tokio::select! {
            _ = operator.end() => kills += 1,
            () = is_complete(&lane.place, "disturbed") => break,
        }
    }
    let _next = lane.place.operator();
    let mut tally = lane.finish("disturbed", &cases).await;
    tally.kills = kills;
    tally.told("killed at its first writes each time");
    println!("{} writes of an undisturbed campaign", writes.len());
    assert!(kills as usize >= 2 * FIRST_WRITES, "{kills} kills");
    lane.leave().await;
}

/// Campaigns whose operators die after random times, until there were `kills`.
async fn at_any_time(number: u64, lane: &Lane, seed: u64, kills: u32, cases: &BTreeSet<CaseKey>) -> Tally {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(number);
    let mut all = Tally::default();
    while all.kills < kills {
        let name = format!("random-{}", all.campaigns);
        lane.place.create(&with_rounds(&name, LONG)).await;
        let mut died = 0;
        loop {
            let operator = lane.place.operator();
            // From 30 ms, before it has begun, to 8 s, after it has kept records: every order of magnitude as often.
            let life = Duration::from_secs_f64(0.03 * (8.0_f64 / 0.03).powf(random.random_range(0.0..1.0)));
            tokio::select! {
                () = sleep(life) => died += 1,
                () = is_complete(&lane.place, &name) => break,
            }
            drop(operator);
        }
        let _next = lane.place.operator();
        let mut tally = lane.finish(&name, cases).await;
        tally.kills = died;
        all.add(&tally);
    }
    all
}

#[tokio::test]
async fn killed_at_any_time_the_campaign_is_finished_all_the_same() {
    let kills = number(KILLS).unwrap_or(10);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let seed = number(SEED).unwrap_or(now);
    println!("{SEED}={seed}");
    let lanes = join_all((0..LANES).map(|_| Lane::new())).await;
    let (cases, writes) = undisturbed(&lanes[0], &with_rounds("undisturbed", LONG)).await;
    println!("{} writes of an undisturbed campaign", writes.len());
    let each = u32::try_from(kills.div_ceil(LANES)).unwrap();
    let lives = (0..)
        .zip(&lanes)
        .map(|(number, lane)| at_any_time(number, lane, seed, each, &cases));
    let mut all = Tally::default();
    join_all(lives).await.iter().for_each(|tally| all.add(tally));
    all.told("killed at random instants");
    assert!(u64::from(all.kills) >= kills);
    for lane in lanes {
        lane.leave().await;
    }
}
