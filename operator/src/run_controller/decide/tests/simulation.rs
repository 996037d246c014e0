//! Simulates a small cluster in which pods start, fail and are lost, logs are truncated, caches are stale, the
//! controller is killed and loses its in-memory state, and the user suspends, resumes and deletes the run at any time.

mod cluster;
mod controller;
mod invariants;

use proptest::prelude::*;

use cluster::{Cluster, Loss};
use controller::Controller;

/// An event in the cluster.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The controller executes up to `actions` actions, and is then killed if `killed` is true.
    Reconcile {
        actions: usize,
        killed: bool,
    },
    /// The caches catch up.
    Sync {
        jobs: bool,
        pods: bool,
    },
    /// The scheduler and the kubelets start a pod.
    Start,
    /// Worker 0 finishes a block.
    Measure,
    /// The controller reads the log.
    ReadLog,
    /// The pods of deleted Jobs are removed.
    RemoveOrphanedPods,
    /// A worker is lost.
    Lose {
        rank: u32,
        loss: Loss,
    },
    /// The measurement fails.
    FailMeasurement,
    /// The log is truncated.
    TruncateLog,
    /// The user deletes the Job.
    DeleteJob,
    Suspend,
    Resume,
    DeleteRun,
    /// Another run starts or stops blocking the placement of the gang.
    SetBlocked(bool),
    /// A quota is exhausted or becomes available again.
    SetQuotaFull(bool),
    /// A queue admits or suspends the Job.
    SetAdmitted(bool),
    /// This many seconds pass.
    Wait(i64),
}

fn event() -> impl Strategy<Value = Event> {
    let loss = prop_oneof![
        Just(Loss::Evicted),
        Just(Loss::Killed),
        Just(Loss::OutOfMemory),
        Just(Loss::Deleted),
        Just(Loss::NodeLost),
    ];
    prop_oneof![
        12 => (1..6_usize, prop::bool::weighted(0.2)).prop_map(|(actions, killed)| Event::Reconcile { actions, killed }),
        8 => (any::<bool>(), any::<bool>()).prop_map(|(jobs, pods)| Event::Sync { jobs, pods }),
        6 => Just(Event::Start),
        6 => Just(Event::Measure),
        6 => Just(Event::ReadLog),
        4 => Just(Event::RemoveOrphanedPods),
        2 => (0..2_u32, loss).prop_map(|(rank, loss)| Event::Lose { rank, loss }),
        1 => Just(Event::FailMeasurement),
        1 => Just(Event::TruncateLog),
        1 => Just(Event::DeleteJob),
        1 => Just(Event::Suspend),
        1 => Just(Event::Resume),
        1 => Just(Event::DeleteRun),
        1 => any::<bool>().prop_map(Event::SetBlocked),
        1 => any::<bool>().prop_map(Event::SetQuotaFull),
        1 => any::<bool>().prop_map(Event::SetAdmitted),
        3 => (1..200_i64).prop_map(Event::Wait),
    ]
}

const SYNC: Event = Event::Sync {
    jobs: true,
    pods: true,
};

/// Events during which an undisturbed run makes progress. The controller executes up to `actions` actions.
fn cycle(actions: usize) -> [Event; 7] {
    [
        SYNC,
        Event::Reconcile {
            actions,
            killed: false,
        },
        Event::Start,
        Event::Measure,
        Event::ReadLog,
        Event::RemoveOrphanedPods,
        Event::Wait(2),
    ]
}

struct Simulation {
    cluster: Cluster,
    controller: Controller,
}

impl Simulation {
    fn new() -> Self {
        Self {
            cluster: Cluster::new(),
            controller: Controller::default(),
        }
    }

    fn apply(&mut self, event: Event) {
        let cluster = &mut self.cluster;
        match event {
            Event::Reconcile { actions, killed } => {
                self.controller.reconcile(cluster, actions);
                if killed {
                    self.controller = Controller::started(cluster);
                }
            }
            Event::Sync { jobs, pods } => self.controller.sync(cluster, jobs, pods),
            Event::Start => cluster.start_pod(),
            Event::Measure => cluster.measure(),
            Event::ReadLog => self.controller.read_log(cluster),
            Event::RemoveOrphanedPods => cluster.remove_orphaned_pods(),
            Event::Lose { rank, loss } => cluster.lose(rank, loss),
            Event::FailMeasurement => cluster.fail_measurement(),
            Event::TruncateLog => cluster.truncate_log(),
            Event::DeleteJob => cluster.jobs.clear(),
            Event::Suspend => cluster.suspend = true,
            Event::Resume => cluster.suspend = false,
            Event::DeleteRun => cluster.delete_run(),
            Event::SetBlocked(blocked) => cluster.blocked = blocked,
            Event::SetQuotaFull(full) => cluster.quota_full = full,
            Event::SetAdmitted(admitted) => cluster.set_admitted(admitted),
            Event::Wait(seconds) => cluster.now += seconds,
        }
    }

    /// Removes all disturbances, and checks that the run finishes within a bounded time and leaves no pods running.
    fn run_to_end(&mut self) {
        self.cluster.suspend = false;
        self.cluster.blocked = false;
        self.cluster.quota_full = false;
        for _ in 0..400 {
            self.cluster.remove_lost_nodes();
            self.cluster.set_admitted(true);
            for event in cycle(4) {
                self.apply(event);
            }
            if self.is_finished() {
                return;
            }
        }
        panic!("the run does not finish: {:#?}", self.cluster);
    }

    fn is_finished(&self) -> bool {
        let cluster = &self.cluster;
        let finished = cluster.persisted.finished_at.is_some() && !cluster.deleting;
        cluster.run_gone || (finished && cluster.pods.iter().all(|pod| pod.phase.is_finished()))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn run_finishes_from_every_reachable_state(
        events in prop::collection::vec(event(), 0..120),
        deadlines in (300..100_000_u32, 300..100_000_u32),
        ttl in prop::option::of(0..100_u32),
        queued in any::<bool>(),
    ) {
        let mut simulation = Simulation::new();
        simulation.cluster.policy.queue = queued.then(|| "team-a".to_owned());
        let policy = &mut simulation.cluster.policy;
        (policy.active_deadline_seconds, policy.pending_deadline_seconds) = deadlines;
        policy.ttl_seconds_after_finished = ttl;
        for event in events {
            simulation.apply(event);
            invariants::check_state(&simulation.cluster);
        }
        simulation.run_to_end();
        invariants::check_final_state(&simulation.cluster);
    }
}

#[test]
fn undisturbed_run_completes_with_one_attempt_per_leg() {
    for queued in [false, true] {
        let mut simulation = Simulation::new();
        simulation.cluster.policy.queue = queued.then(|| "team-a".to_owned());
        simulation.run_to_end();
        let persisted = &simulation.cluster.persisted;
        assert_eq!(simulation.cluster.phase, Some(campaign::status::Phase::Complete));
        let attempts = persisted.attempts.len();
        assert_eq!(
            (attempts, persisted.disruptions, persisted.preemptions),
            (3, 0, 0),
            "queued: {queued}"
        );
    }
}

/// A queue preempts the gang once at each step of a run with several legs, and the controller observes this or only that
/// the queue has admitted the Job again. The backoff limit does not allow a single disruption.
#[test]
fn preemption_by_a_queue_at_any_instant_is_no_disruption() {
    let mut preempted = [0, 0];
    for (instant, observed) in (0..200).flat_map(|instant| [(instant, false), (instant, true)]) {
        let mut simulation = Simulation::new();
        simulation.cluster.policy.queue = Some("team-a".to_owned());
        simulation.cluster.policy.backoff_limit = 0;
        simulation.cluster.policy.legs = Ok(vec![6, 6]);
        for event in cycle(1).into_iter().cycle().take(instant) {
            simulation.cluster.set_admitted(true);
            simulation.apply(event);
            invariants::check_state(&simulation.cluster);
        }
        simulation.apply(Event::SetAdmitted(false));
        if observed {
            // The watch for pods is ahead of the watch for Jobs.
            simulation.apply(Event::Sync {
                jobs: false,
                pods: true,
            });
            simulation.apply(Event::Reconcile {
                actions: 2,
                killed: false,
            });
        }
        simulation.run_to_end();
        let persisted = &simulation.cluster.persisted;
        assert_eq!(
            simulation.cluster.phase,
            Some(campaign::status::Phase::Complete),
            "at {instant}: {persisted:#?}"
        );
        assert_eq!((persisted.disruptions, persisted.preemptions <= 1), (0, true));
        preempted[usize::from(observed)] += persisted.preemptions;
    }
    assert!(
        preempted.iter().all(|count| *count > 10),
        "only {preempted:?} of the preemptions met a gang that had started"
    );
}

/// For each disturbance and each step of a run, executes one run that is disturbed only at that step.
#[test]
fn run_completes_after_one_disturbance_at_any_instant() {
    let losses = [Loss::Evicted, Loss::Killed, Loss::Deleted, Loss::NodeLost];
    let losses = losses
        .into_iter()
        .flat_map(|loss| [0, 1].map(|rank| Event::Lose { rank, loss }));
    let others = [
        Event::TruncateLog,
        Event::DeleteJob,
        Event::Suspend,
        Event::Reconcile {
            actions: 1,
            killed: true,
        },
        Event::Reconcile {
            actions: 2,
            killed: true,
        },
    ];
    for disturbance in losses.chain(others) {
        for instant in 0..120 {
            let mut simulation = Simulation::new();
            for event in cycle(1).into_iter().cycle().take(instant) {
                simulation.apply(event);
                invariants::check_state(&simulation.cluster);
            }
            simulation.apply(disturbance);
            simulation.run_to_end();
            invariants::check_final_state(&simulation.cluster);
            let phase = &simulation.cluster.phase;
            assert_eq!(
                *phase,
                Some(campaign::status::Phase::Complete),
                "{disturbance:?} at {instant}: {:#?}",
                simulation.cluster.persisted
            );
        }
    }
}
