//! Tests of what a server accepts.

use crds::assignment::{BlockAssignment, CountedWorkload, OperationCount, Pass, RoundAssignment};
use crds::v1alpha1::{
    LargeArray, Libfabric, LibfabricProvider, MemoryKind, PingpongFlag, SegmentTransfer, SmallMessages,
    StreamingDuplex, Ucx, UcxSetting, UcxTransport,
};

use super::*;
use crate::rendezvous::proposal::ExpectedSegment;

fn transport() -> TransportSpec {
    TransportSpec::Libfabric(Libfabric {
        provider: LibfabricProvider::Tcp,
        rails: 1,
    })
}

fn proposal(workload: Workload, size: u64) -> Proposal {
    let assignment = serde_json::json!({
        "version": crds::assignment::ASSIGNMENT_VERSION,
        "identity": {"run": "r", "uid": "u", "planHash": "", "leg": 0, "attempt": 1},
        "workers": 2,
        "rendezvous": {"host": "", "bind": "", "port": 0, "timeoutSeconds": 1},
        "transport": transport(),
        "processes": [{}],
        "scenarios": [{"name": "one", "memory": "Heap", "workload": workload, "maxSizeBytes": size}],
        "arms": [{
            "name": "baseline",
            "process": 0,
            "striping": {"policy": "Nixl", "thresholdBytes": 1, "minChunkBytes": 1},
        }],
        "rounds": [],
        "caseDeadlineSeconds": 60,
    });
    Proposal {
        assignment: serde_json::from_value(assignment).unwrap(),
        segment: None,
    }
}

fn counted(scenario: &dyn CountedWorkload) -> Workload {
    scenario.workload(Extent::Iterations(scenario.iterations()))
}

fn suite() -> Limits {
    Limits {
        accepted: AcceptedScenarios::Suite {
            max_bytes: DEFAULT_MAX_BYTES,
        },
        transport: None,
    }
}

fn segment() -> Limits {
    Limits {
        accepted: AcceptedScenarios::Segment(SegmentLimits {
            name: "here".into(),
            run: "1".into(),
            bytes: 1 << 30,
            memory: MemoryKind::Heap,
            use_vram: false,
            time_limit_seconds: 60,
        }),
        transport: Some(transport()),
    }
}

fn segment_proposal(change: impl FnOnce(&mut SegmentTransfer)) -> Proposal {
    let mut scenario = SegmentTransfer::default();
    change(&mut scenario);
    let nanos = scenario.duration.0.as_nanos() as u64;
    let size = scenario.sizes[0].bytes();
    proposal(scenario.workload(Extent::DurationNanos(nanos)), size)
}

#[test]
fn accepts_the_defaults_of_every_scenario() {
    for (workload, size) in [
        (counted(&LargeArray::default()), 1 << 30),
        (counted(&SmallMessages::default()), 1 << 10),
        (counted(&PingpongFlag::default()), 1),
        (counted(&StreamingDuplex::default()), 4 << 20),
    ] {
        assert_eq!(suite().check(&proposal(workload.clone(), size)), Ok(()));
        let error = segment().check(&proposal(workload, size)).unwrap_err();
        assert!(error.contains("fabricbench-runner serve"), "{error}");
    }
    assert_eq!(segment().check(&segment_proposal(|_| {})), Ok(()));
    let error = suite().check(&segment_proposal(|_| {})).unwrap_err();
    assert!(error.contains("start `fabricbench-runner target`"), "{error}");
}

#[test]
fn refuses_what_a_client_may_not_choose() {
    type Change = fn(&mut Assignment);
    let changes: [(Change, &str); 14] = [
        (|it| it.processes[0].library = Some("/tmp".into()), "files"),
        (
            |it| {
                it.processes[0]
                    .env
                    .extend([("LD_PRELOAD".into(), "/tmp/x".into())])
            },
            "files",
        ),
        (|it| it.processes[0].transport = Some(transport()), "files"),
        (|it| it.arms[0].arguments.push("-x".into()), "files"),
        (|it| it.bindings.resize(2, Default::default()), "devices"),
        (|it| it.devices.gpus.push(0), "devices"),
        (|it| it.arms.push(it.arms[0].clone()), "one arm"),
        (|it| it.processes.push(it.processes[0].clone()), "one process"),
        (|it| it.workers = 3, "two workers"),
        (|it| it.case_deadline_seconds = 3601, "3600"),
        (|it| it.scenarios[0].name = "\u{1b}[2J".into(), "letters"),
        (|it| it.identity.run = "../x".into(), "letters"),
        (|it| it.scenarios.clear(), "1 to 8 scenarios"),
        (
            |it| it.scenarios[0].target_memory = Some(MemoryKind::Cuda),
            "one kind",
        ),
    ];
    for (change, expected) in changes {
        let mut changed = proposal(counted(&PingpongFlag::default()), 1);
        change(&mut changed.assignment);
        let error = suite().check(&changed).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn refuses_transports_with_settings_and_other_transports_than_the_servers() {
    let mut changed = proposal(counted(&PingpongFlag::default()), 1);
    let ucx = Ucx::new(vec![UcxTransport::Tcp], 1);
    changed.assignment.transport = TransportSpec::Ucx(ucx.clone());
    assert_eq!(suite().check(&changed), Ok(()));
    let only = Limits {
        transport: Some(transport()),
        ..suite()
    };
    let error = only.check(&changed).unwrap_err();
    assert!(
        error.contains("`--tls tcp`, but the server uses `--provider tcp`"),
        "{error}"
    );
    let setting: UcxSetting =
        serde_json::from_value(serde_json::json!({"name": "LOG_FILE", "value": "/tmp/x"})).unwrap();
    changed.assignment.transport = TransportSpec::Ucx(Ucx {
        settings: vec![setting],
        ..ucx
    });
    assert!(suite().check(&changed).unwrap_err().contains("has settings"));
}

#[test]
fn refuses_sizes_and_counts_beyond_the_limits() {
    let mut large = proposal(counted(&LargeArray::default()), 5 << 30);
    let error = suite().check(&large).unwrap_err();
    assert!(
        error.contains("is 5Gi: choose a size from 1 to 1Gi (server limit: --max-bytes)"),
        "{error}"
    );
    large.assignment.scenarios[0].max_size_bytes = 1;
    large.assignment.scenarios[0]
        .workload
        .set_measured(Extent::Iterations(MAX_OPERATIONS + 1));
    assert!(
        suite()
            .check(&large)
            .unwrap_err()
            .contains("at most 1000000 operations")
    );
    large.assignment.scenarios[0]
        .workload
        .set_measured(Extent::DurationNanos(1));
    assert!(suite().check(&large).is_err());
    let mut counts = proposal(counted(&PingpongFlag::default()), 1);
    counts.assignment.operation_counts.push(OperationCount {
        scenario: 0,
        size_bytes: 1,
        iterations: MAX_OPERATIONS + 1,
    });
    assert!(suite().check(&counts).is_err());
    let block = BlockAssignment {
        block: 0,
        pass: Pass::Measure,
        scenario: 0,
        size_bytes: 1,
        order: vec![0],
    };
    let mut blocks = proposal(counted(&PingpongFlag::default()), 1);
    blocks.assignment.rounds.push(RoundAssignment {
        round: 1,
        process_order: vec![0],
        arm_order: vec![0],
        blocks: vec![block; 3],
    });
    assert!(suite().check(&blocks).unwrap_err().contains("at most once"));
    let mut streaming = proposal(counted(&StreamingDuplex::default()), 1);
    if let Workload::Transfer(work) = &mut streaming.assignment.scenarios[0].workload {
        work.window = 4097;
    }
    assert!(suite().check(&streaming).unwrap_err().contains("at most 4096"));
}

#[test]
fn refuses_what_the_segment_does_not_have() {
    let error = |proposal| segment().check(&proposal).unwrap_err();
    let large = error(segment_proposal(|it| {
        it.sizes = vec![Size(256 << 20)];
        it.batch = 5;
        it.threads = 1;
    }));
    assert!(large.contains("start the target with the same values"), "{large}");
    let vram = error(segment_proposal(|it| it.use_vram = true));
    assert!(
        vram.contains("is Heap and Cuda, but the segment here is in Heap memory"),
        "{vram}"
    );
    let long = error(segment_proposal(|it| {
        it.duration = crds::units::Duration(std::time::Duration::from_secs(31))
    }));
    assert!(
        long.contains("--duration is 31, but the target ends a session after 60 s"),
        "{long}"
    );
    let threads = error(segment_proposal(|it| it.threads = 65));
    assert!(threads.contains("64 threads"), "{threads}");
    let mut other = segment_proposal(|_| {});
    other.segment = Some(ExpectedSegment {
        name: "here".into(),
        run: "2".into(),
    });
    assert!(error(other).contains("the entry in the metadata service is stale"));
}
