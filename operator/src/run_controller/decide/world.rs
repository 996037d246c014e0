//! A small cluster that is made up: pods start, fail and get lost, logs are cut, caches lag, the controller is killed and
//! forgets all but what the API keeps, and the user suspends and deletes at any time.

mod checks;
mod cluster;
mod controller;

use proptest::prelude::*;

use cluster::{Cluster, Loss};
use controller::Controller;

/// Something that happens.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The controller does so many things, then perhaps dies.
    Reconcile {
        actions: usize,
        dies: bool,
    },
    /// The caches catch up.
    Sync {
        jobs: bool,
        pods: bool,
    },
    /// The scheduler and the kubelets do their work.
    Start,
    /// Worker 0 finishes a block.
    Measure,
    /// The controller reads what is in the log.
    ReadLog,
    /// Pods of Jobs that are gone leave.
    Leave,
    /// A worker is lost.
    Lose {
        rank: u32,
        how: Loss,
    },
    /// The workers cannot measure.
    FailMeasuring,
    /// The log is cut.
    CutLog,
    /// Somebody deletes the Job.
    DeleteJob,
    Suspend,
    Resume,
    DeleteRun,
    Gate(bool),
    /// A quota is full, or is not.
    Refuse(bool),
    /// A queue takes the place of the gang back, or gives it.
    Queue {
        admits: bool,
    },
    Time(i64),
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
        12 => (1..6_usize, prop::bool::weighted(0.2)).prop_map(|(actions, dies)| Event::Reconcile { actions, dies }),
        8 => (any::<bool>(), any::<bool>()).prop_map(|(jobs, pods)| Event::Sync { jobs, pods }),
        6 => Just(Event::Start),
        6 => Just(Event::Measure),
        6 => Just(Event::ReadLog),
        4 => Just(Event::Leave),
        2 => (0..2_u32, loss).prop_map(|(rank, how)| Event::Lose { rank, how }),
        1 => Just(Event::FailMeasuring),
        1 => Just(Event::CutLog),
        1 => Just(Event::DeleteJob),
        1 => Just(Event::Suspend),
        1 => Just(Event::Resume),
        1 => Just(Event::DeleteRun),
        1 => any::<bool>().prop_map(Event::Gate),
        1 => any::<bool>().prop_map(Event::Refuse),
        1 => any::<bool>().prop_map(|admits| Event::Queue { admits }),
        3 => (1..200_i64).prop_map(Event::Time),
    ]
}

struct World {
    cluster: Cluster,
    controller: Controller,
}

impl World {
    fn new() -> Self {
        Self {
            cluster: Cluster::new(),
            controller: Controller::default(),
        }
    }

    fn happens(&mut self, event: Event) {
        let cluster = &mut self.cluster;
        match event {
            Event::Reconcile { actions, dies } => {
                self.controller.reconcile(cluster, actions);
                if dies {
                    self.controller = Controller::started(cluster);
                }
            }
            Event::Sync { jobs, pods } => self.controller.sync(cluster, jobs, pods),
            Event::Start => cluster.start_pods(),
            Event::Measure => cluster.measure(),
            Event::ReadLog => self.controller.read_log(cluster),
            Event::Leave => cluster.pods_leave(),
            Event::Lose { rank, how } => cluster.lose(rank, how),
            Event::FailMeasuring => cluster.fail_measuring(),
            Event::CutLog => cluster.cut_log(),
            Event::DeleteJob => cluster.jobs.clear(),
            Event::Suspend => cluster.suspend = true,
            Event::Resume => cluster.suspend = false,
            Event::DeleteRun => cluster.delete_run(),
            Event::Gate(gated) => cluster.gated = gated,
            Event::Refuse(refuses) => cluster.refuses = refuses,
            Event::Queue { admits } => cluster.queue(admits),
            Event::Time(seconds) => cluster.now += seconds,
        }
    }

    /// From here on everything works: the run comes to its end in bounded time, and leaves nothing running.
    fn comes_to_its_end(&mut self) {
        self.cluster.suspend = false;
        self.cluster.gated = false;
        self.cluster.refuses = false;
        for _ in 0..400 {
            self.cluster.nodes_come_back();
            self.cluster.queue(true);
            for event in [
                Event::Sync {
                    jobs: true,
                    pods: true,
                },
                Event::Reconcile {
                    actions: 4,
                    dies: false,
                },
                Event::Start,
                Event::Measure,
                Event::ReadLog,
                Event::Leave,
                Event::Time(2),
            ] {
                self.happens(event);
            }
            if self.is_over() {
                return;
            }
        }
        panic!("it never ends: {:#?}", self.cluster);
    }

    fn is_over(&self) -> bool {
        let cluster = &self.cluster;
        let finished = cluster.kept.finished_at.is_some() && !cluster.deleting;
        cluster.run_gone || (finished && cluster.pods.iter().all(|pod| pod.phase.is_over()))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn from_any_reachable_state_it_ends(
        events in prop::collection::vec(event(), 0..120),
        deadlines in (300..100_000_u32, 300..100_000_u32),
        ttl in prop::option::of(0..100_u32),
    ) {
        let mut world = World::new();
        let facts = &mut world.cluster.facts;
        (facts.active_deadline_seconds, facts.pending_deadline_seconds) = deadlines;
        facts.ttl_seconds_after_finished = ttl;
        for event in events {
            world.happens(event);
            checks::always(&world.cluster);
        }
        world.comes_to_its_end();
        checks::at_the_end(&world.cluster);
    }
}

#[test]
fn undisturbed_it_completes_with_one_attempt_a_leg() {
    let mut world = World::new();
    world.comes_to_its_end();
    let kept = &world.cluster.kept;
    assert_eq!(
        world.cluster.phase,
        Some(crate::campaign::status::Phase::Complete)
    );
    assert_eq!((kept.attempts.len(), kept.disruptions), (3, 0));
}

/// The user, a restart and every loss at every instant of an undisturbed life, one at a time.
#[test]
fn one_disturbance_at_any_instant_is_survived() {
    let losses = [Loss::Evicted, Loss::Killed, Loss::Deleted, Loss::NodeLost];
    let losses = losses
        .into_iter()
        .flat_map(|how| [0, 1].map(|rank| Event::Lose { rank, how }));
    let others = [
        Event::CutLog,
        Event::DeleteJob,
        Event::Suspend,
        Event::Reconcile {
            actions: 1,
            dies: true,
        },
        Event::Reconcile {
            actions: 2,
            dies: true,
        },
    ];
    for disturbance in losses.chain(others) {
        for instant in 0..120 {
            let mut world = World::new();
            let life = [
                Event::Sync {
                    jobs: true,
                    pods: true,
                },
                Event::Reconcile {
                    actions: 1,
                    dies: false,
                },
                Event::Start,
                Event::Measure,
                Event::ReadLog,
                Event::Leave,
                Event::Time(2),
            ];
            for event in life.into_iter().cycle().take(instant) {
                world.happens(event);
                checks::always(&world.cluster);
            }
            world.happens(disturbance);
            world.comes_to_its_end();
            checks::at_the_end(&world.cluster);
            let phase = &world.cluster.phase;
            assert_eq!(
                *phase,
                Some(crate::campaign::status::Phase::Complete),
                "{disturbance:?} at {instant}: {:#?}",
                world.cluster.kept
            );
        }
    }
}
