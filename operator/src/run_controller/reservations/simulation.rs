//! Simulates a cluster with many tenants, some of whose runs can never be placed or started. Each run is reconciled only
//! when its pods change, when its timer expires, or when another run's registration wakes it, as in the controller. No
//! run that can be placed may wait behind the others for longer than the bound in `docs/places.md`.

mod cluster;
mod kind;

use cluster::Cluster;
use kind::Kind;

/// Kinds of runs that can never be measured and that no queue admits.
const BAD: [Kind; 7] = [
    Kind::WrongSelector,
    Kind::HalfSelector,
    Kind::HalfQuota,
    Kind::NoPods,
    Kind::Unschedulable,
    Kind::MissingImage,
    Kind::MissingVolume,
];

#[test]
fn hundred_tenants_wait_at_most_for_one_turn_of_each_other_tenant() {
    for (nodes, seed) in [(2, 1), (3, 2), (8, 3), (20, 4)] {
        let mut cluster = Cluster::new(nodes, seed);
        for tenant in 0..100 {
            let kind = match tenant % 4 {
                0 => Kind::Good,
                1 => BAD[tenant / 4 % BAD.len()],
                2 => BAD[(tenant / 4 + 3) % BAD.len()],
                _ => [Kind::Good, Kind::Preempted][tenant / 4 % 2],
            };
            let delay = cluster.below(60) as i64;
            cluster.add(tenant, kind, delay);
        }
        cluster.run_to_end(100_000);
        cluster.print_figures("100 tenants");
        assert!(cluster.lost_places > 0);
    }
}

#[test]
fn many_bad_runs_of_one_tenant_delay_another_tenant_by_one_turn() {
    for kind in BAD {
        let mut cluster = Cluster::new(2, 5);
        for number in 0..30 {
            cluster.add(0, kind, number % 7);
        }
        cluster.add(1, Kind::Good, 100);
        cluster.run_to_end(200_000);
        assert!(cluster.longest_behind() <= kind.longest_turn(), "{kind:?}");
        cluster.print_figures(&format!("30 runs {kind:?}"));
    }
}

/// A queue admits gangs in any order, so that several gangs are partly placed at the same time.
#[test]
fn gangs_that_a_queue_admits_do_not_hold_each_other_forever() {
    for seed in 0..6 {
        let mut cluster = Cluster::new(3, seed);
        for tenant in 0..12 {
            let kind = [
                Kind::Queued,
                Kind::Good,
                Kind::Queued,
                Kind::QueuedHalfQuota,
                Kind::Queued,
                Kind::HalfQuota,
            ][tenant % 6];
            cluster.add(tenant, kind, 0);
        }
        cluster.run_to_end(50_000);
        cluster.print_figures("half of the runs queued");
        assert!(cluster.lost_places > 0);
    }
}
