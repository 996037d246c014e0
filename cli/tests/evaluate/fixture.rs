//! A campaign with known effects: its plan and the record streams of its simulated workers.

mod measure;
mod plan;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use campaign::collect::{Reports, collect};
use campaign::plan::{Arm, HashedPlan, Leg};
use campaign::status::{Phase, StatusInput, fit, status};
use campaign::{Evaluation, evaluate};
use crds::assignment::{AttemptIdentity, Pass};
use crds::record::{
    BlockRecord, CaseRecord, CaseResult, ChainWriter, ClockFacts, ColdRecord, EndRecord, EndpointsRecord,
    FabricFacts, HelloRecord, HostEnvironment, InjectLimits, IntegrityReport, LibraryFacts, RECORD_VERSION,
    RailFacts, Record, WarningReason, WarningRecord,
};
use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus};
use fabricbench_cli::report::text::TextOptions;
use fabricbench_cli::report::{Format, Report, StoredReport};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use test_support::rederive::{LINES, assert_run_rederived};

pub use measure::measurement;
pub use plan::{ARMS, plan, plan_of, run, settled_run};

pub const UID: &str = "11111111-2222-4333-8444-555555555555";

static PLAN: LazyLock<HashedPlan> = LazyLock::new(plan);

/// Renders `report`, whose run is `run`, in every format.
pub fn outputs(run: &BenchmarkRun, report: &Report<'_>) -> Vec<(&'static str, String)> {
    let stored = StoredReport {
        run,
        report: *report,
        state_summary: None,
    };
    let formats = Format::all().iter();
    let outputs = formats.map(|format| {
        let output = format.render(&stored, &TextOptions::default()).unwrap();
        (format.name(), output)
    });
    outputs.collect()
}

/// A campaign and the behavior of its simulated workers.
pub struct Campaign {
    pub plan: HashedPlan,
    /// Factor by which the latency of an arm at a size is multiplied; 1 by default.
    pub effects: BTreeMap<(&'static str, u64), f64>,
    /// Modifies a case before it is written.
    pub tweak: fn(&mut CaseRecord),
    /// Modifies endpoints before they are written.
    pub tweak_endpoints: fn(&mut EndpointsRecord),
}

impl Default for Campaign {
    fn default() -> Self {
        Self {
            plan: PLAN.clone(),
            effects: BTreeMap::new(),
            tweak: |_| {},
            tweak_endpoints: |_| {},
        }
    }
}

impl Campaign {
    /// Returns the stream of leg 0 in `attempt`: all blocks except those in `without`.
    pub fn stream(&self, attempt: u32, without: &[u32]) -> String {
        let leg = self.plan.legs.first().expect("one leg");
        self.stream_of_leg(leg, attempt, without)
    }

    /// Returns the stream of `leg` in `attempt`: all blocks except those in `without`.
    pub fn stream_of_leg(&self, leg: &Leg, attempt: u32, without: &[u32]) -> String {
        stream_of(&self.records(leg, attempt, without))
    }

    pub fn reports(&self) -> Reports {
        collect(&self.plan, UID, self.stream(1, &[]).as_bytes())
    }

    /// Evaluates the campaign, and checks the status with a program that shares no code with the product.
    #[track_caller]
    pub fn evaluation(&self) -> Evaluation {
        self.evaluation_of(run(), &self.stream(1, &[]))
    }

    /// Returns the status of a run in `phase`.
    pub fn status(&self, evaluation: &Evaluation, phase: Phase) -> BenchmarkRunStatus {
        fit(status(&StatusInput {
            plan: &self.plan,
            phase,
            evaluation,
            records: None,
            generation: None,
            now: "2026-03-01T11:00:00Z",
            previous: None,
        }))
    }

    /// Evaluates the records in `text`, and checks the status of `run` as [`evaluation`](Self::evaluation) does.
    #[track_caller]
    pub fn evaluation_of(&self, run: BenchmarkRun, text: &str) -> Evaluation {
        let reports = collect(&self.plan, UID, text.as_bytes());
        let evaluation = evaluate(&self.plan, &reports).expect("the fixture's plan is valid");
        let run = BenchmarkRun {
            status: Some(self.status(&evaluation, Phase::finished(&evaluation))),
            ..run
        };
        assert_run_rederived(&run, LINES, text.as_bytes());
        evaluation
    }

    /// Records of `leg` in `attempt`, with all blocks except those in `without`.
    pub fn records(&self, leg: &Leg, attempt: u32, without: &[u32]) -> Vec<Record> {
        let hello_of_leg = |rank| {
            let mut hello = hello(rank, attempt);
            hello.identity.leg = leg.leg;
            hello.identity.plan_hash = self.plan.hash().to_owned();
            Record::Hello(Box::new(hello))
        };
        let mut records: Vec<Record> = (0..self.plan.workers).map(hello_of_leg).collect();
        let arms = leg.arms.iter().filter_map(|(arm, _)| self.plan.arms.get(*arm));
        let arms: Vec<&Arm> = arms.collect();
        for arm in &arms {
            for rank in 0..self.plan.workers {
                let mut endpoints = endpoints(&arm.name, rank);
                (self.tweak_endpoints)(&mut endpoints);
                records.push(Record::Endpoints(Box::new(endpoints)));
            }
        }
        records.push(Record::Warning(WarningRecord {
            rank: Some(0),
            reason: WarningReason::Evidence,
            message: "Using fi_injectdata for small message size=64".into(),
        }));
        let mut clock = 0;
        let mut done = 0;
        for round in &leg.rounds {
            for arm in &arms {
                records.push(Record::Cold(cold(round.round, &arm.name)));
            }
            for block in round
                .blocks
                .iter()
                .filter(|block| !without.contains(&block.block))
            {
                let scenario = &self.plan.scenarios[block.scenario as usize];
                for (position, leg_arm) in block.order.iter().enumerate() {
                    let arm = leg.arms[*leg_arm as usize].0;
                    let name = &self.plan.arms[arm].name;
                    let effect = self.effects.get(&(name.as_str(), block.size_bytes)).copied();
                    let seed = u64::from(block.block) << 8 | arm as u64;
                    let mut rng = ChaCha8Rng::seed_from_u64(seed);
                    let result = match block.pass {
                        Pass::Integrity => CaseResult::Checked(IntegrityReport {
                            transfers: 10,
                            bytes: 10 * block.size_bytes,
                            crc32c_expected: "8a9136aa".into(),
                            crc32c_found: "8a9136aa".into(),
                            ..IntegrityReport::default()
                        }),
                        Pass::Pilot | Pass::Measure => CaseResult::Measured(Box::new(measurement(
                            &self.plan,
                            block.scenario as usize,
                            block.size_bytes,
                            arm,
                            effect.unwrap_or(1.0),
                            &mut rng,
                        ))),
                    };
                    let mut case = CaseRecord {
                        block: block.block,
                        round: round.round,
                        restart: 0,
                        pass: block.pass,
                        scenario: scenario.assignment.name.clone(),
                        size_bytes: block.size_bytes,
                        arm: name.clone(),
                        position: position as u32,
                        initiator: 0,
                        target: 1,
                        started_nanos: clock,
                        span_nanos: None,
                        result,
                    };
                    clock += 10_000_000_000;
                    (self.tweak)(&mut case);
                    records.push(Record::Case(Box::new(case)));
                }
                records.push(Record::Block(BlockRecord {
                    block: block.block,
                    cases: block.order.len() as u32,
                }));
                done += 1;
            }
        }
        records.push(Record::End(EndRecord {
            blocks: done,
            complete: true,
            failure: None,
        }));
        records
    }
}

/// Serializes `records` as a stream.
pub fn stream_of(records: &[Record]) -> String {
    let mut writer = ChainWriter::default();
    records
        .iter()
        .map(|record| writer.line(record).expect("lines of the fixture are short"))
        .collect()
}

pub fn hello(rank: u32, attempt: u32) -> HelloRecord {
    HelloRecord {
        version: RECORD_VERSION,
        identity: AttemptIdentity {
            run: "planted".into(),
            uid: UID.into(),
            plan_hash: PLAN.hash().to_owned(),
            leg: 0,
            attempt,
        },
        rank,
        workers: 2,
        runner_version: "0.1.0".into(),
        started_at: "2026-03-01T10:00:00Z".into(),
        environment: HostEnvironment {
            hostname: "bench-1".into(),
            kernel: "6.1.0-18-amd64".into(),
            cpu_model: "Xeon <Gold> & \"Silver\"".into(),
            cpus_allowed: "0-3".into(),
            memory_bytes: 8 << 30,
            clock: ClockFacts {
                name: "CLOCK_MONOTONIC".into(),
                source: "tsc".into(),
                resolution_nanos: 1,
                overhead_nanos: 21.5,
            },
            ..HostEnvironment::default()
        },
    }
}

fn endpoints(arm: &str, rank: u32) -> EndpointsRecord {
    let rail = |index: u32| RailFacts {
        domain: "lo".into(),
        interface: Some("lo".into()),
        address: format!("127.0.{index}.{}", rank + 1),
        ..RailFacts::default()
    };
    EndpointsRecord {
        round: 0,
        restart: 0,
        rank,
        arm: arm.into(),
        fabric: Some(FabricFacts {
            library: Some(LibraryFacts {
                name: "libfabric".into(),
                version: "1.17.0".into(),
                api_version: "1.17".into(),
                path: "/usr/lib/x86_64-linux-gnu/libfabric.so.1".into(),
                build_id: None,
            }),
            provider: "net".into(),
            fabric: "127.0.0.0/8".into(),
            rails: (0..4).map(rail).collect(),
            inject_limits: InjectLimits {
                send_bytes: 128,
                write_bytes: 128,
            },
            transmit_depth: 256,
            max_message_bytes: 1 << 30,
            progress: "manual".into(),
            variables: BTreeMap::from([("FI_LOG_LEVEL".to_owned(), "warn".to_owned())]),
            ..FabricFacts::default()
        }),
        failure: None,
    }
}

fn cold(round: u32, arm: &str) -> ColdRecord {
    ColdRecord {
        round,
        rank: 0,
        arm: arm.into(),
        load_nanos: 300_000_000,
        thread_start_nanos: Some(40_000 + u64::from(round)),
        open_nanos: 3_000_000 + u64::from(round) * 1000,
        registration_nanos: 20_000,
        registered_bytes: 1 << 20,
        address_insertion_nanos: 15_000,
        first_post_nanos: Some(90_000),
        prepared_requests: None,
        preparation_nanos: None,
    }
}
