//! Tests the defaults, and the rejection of mistakes that the schema cannot detect.

use crds::assignment::{Extent, TransferMode, Workload};
use crds::striping::{NIXL_THRESHOLD_BYTES, StripingPolicy};
use crds::v1alpha1::{Arrivals, BenchmarkRun, Direction, MemoryKind, Metric, TransferOperation};

use super::*;

/// A run with the variants, transport and scenarios in `spec`.
fn run(spec: &str) -> BenchmarkRun {
    let head = "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: test}\nspec:\n";
    let spec: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    crate::fixture::run_from_yaml(&format!("{head}  baseline: a\n{spec}"))
}

fn problems(spec: &str) -> Vec<String> {
    match validate(&run(spec)) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.0.iter().map(Problem::to_string).collect(),
    }
}

const TCP: &str = "transport: {libfabric: {provider: tcp, rails: 4}}\n";
const SHM: &str = "transport: {libfabric: {provider: shm}}\n";
const MID: &str = "scenarios: [{name: mid, transfer: {sizes: [16Ki, 32Ki, 128Ki], batch: 16}}]\n";

#[test]
fn applies_the_defaults() {
    let valid = validate(&run(&format!(
        "variants: [{{name: a}}]\n{TCP}scenarios: [{{name: small, pingPong: {{sizes: [64]}}}}, {{name: mid, transfer: {{sizes: [1Ki, 1k]}}}}]"
    )))
    .unwrap();
    let Workload::PingPong(ping_pong) = &valid.scenarios[0].assignment.workload else {
        panic!("expected a ping-pong");
    };
    let measured = Extent::FillWindow {
        min_iterations: 1000,
        min_window_nanos: 20_000_000,
    };
    assert_eq!(ping_pong.measured, measured);
    assert_eq!(ping_pong.warmup, Extent::Iterations(100));
    assert_eq!(valid.scenarios[0].primary, Metric::LatencyP50);
    assert_eq!(valid.scenarios[1].primary, Metric::Throughput);
    assert_eq!(valid.scenarios[1].sizes, [1024, 1000]);
    assert_eq!(valid.variants[0].tuning.striping.policy, StripingPolicy::Nixl);
    assert_eq!(
        valid.variants[0].tuning.striping.threshold_bytes,
        NIXL_THRESHOLD_BYTES
    );
}

/// A scenario is valid with only its required fields, so that the suites' first commands work without further settings.
#[test]
fn every_scenario_is_valid_with_its_defaults() {
    let message = [
        "pingPong: {sizes: [64]}",
        "transfer: {sizes: [64]}",
        "transfer: {sizes: [64], operation: Read}",
        "transfer: {sizes: [64], direction: Bidirectional}",
        "largeArray: {}",
        "smallMessages: {}",
        "smallMessages: {load: {openLoop: {rate: 1000}}}",
        "pingpongFlag: {}",
        "streamingDuplex: {}",
        "segmentTransfer: {}",
        "segmentTransfer: {workload: Write}",
        "segmentTransfer: {workload: Mix}",
        "rpc: {}",
        "rpc: {pattern: Recursive}",
        "rpc: {pattern: Chain}",
        "rpc: {pattern: Singleton}",
        "rpc: {quick: true}",
        "parameterServing: {mode: Push}",
        "parameterServing: {mode: Pull}",
        "parameterServing: {mode: Multicast}",
        "parameterServing: {mode: Filesystem, directory: /dev/shm}",
        "primaryMetric: ReportedLatency, command: {tool: Fabtests, sizes: [64], client: [fi_pingpong]}",
    ];
    let problems_of = |variants: &str, workload: &str, rest: &str| {
        problems(&format!(
            "variants: {variants}\n{TCP}{rest}scenarios: [{{name: one, {workload}}}]"
        ))
    };
    for workload in message {
        assert_eq!(
            problems_of("[{name: a}]", workload, ""),
            Vec::<String>::new(),
            "{workload}"
        );
    }
    let local = "[{name: a, channel: UnixSocket}]";
    for workload in ["rpc: {}", "memoryFootprint: {}"] {
        assert_eq!(
            problems_of(local, workload, ""),
            Vec::<String>::new(),
            "{workload}"
        );
    }
    let placement = "placement: {pattern: ManyToMany, senders: 1, receivers: 2}\n";
    for mode in ["Push", "Pull", "Multicast"] {
        let workload = format!("parameterServing: {{mode: {mode}}}");
        assert_eq!(
            problems_of("[{name: a}]", &workload, placement),
            Vec::<String>::new()
        );
    }
}

/// The limit of a case follows from what the scenario needs, so a longer duration or time limit is not refused.
#[test]
fn scenarios_may_need_more_time_than_the_case_deadline() {
    for workload in [
        "pingPong: {sizes: [64], duration: 45s}",
        "segmentTransfer: {duration: 2m}",
        "rpc: {timeoutSeconds: 90}",
        "parameterServing: {mode: Push, maxTime: 10m}",
        "primaryMetric: ReportedLatency, command: {tool: Fabtests, sizes: [64], client: [fi_pingpong], timeoutSeconds: 3600}",
    ] {
        let found = problems(&format!(
            "variants: [{{name: a}}]\n{TCP}scenarios: [{{name: one, {workload}}}]"
        ));
        assert_eq!(found, Vec::<String>::new(), "{workload}");
    }
    let found = problems(&format!(
        "variants: [{{name: a}}]\n{TCP}scenarios: [{{name: one, pingPong: {{sizes: [64], duration: 31m}}}}]"
    ));
    assert!(
        found.len() == 1 && found[0].contains("is not between 1ms and 30m"),
        "{found:?}"
    );
}

#[test]
fn starway_scenarios_have_the_suite_defaults() {
    let scenarios = "scenarios: [{name: a, largeArray: {}}, {name: b, smallMessages: {}}, {name: c, pingpongFlag: {}}, \
                     {name: d, streamingDuplex: {}}, \
                     {name: e, smallMessages: {load: {openLoop: {rate: 1000}}}}]";
    let valid = validate(&run(&format!(
        "variants: [{{name: a}}]\nsampling: {{minWindow: 0s}}\n{TCP}{scenarios}"
    )))
    .unwrap();
    let summaries: Vec<_> = valid
        .scenarios
        .iter()
        .map(|scenario| {
            let workload = &scenario.assignment.workload;
            (
                scenario.sizes[0],
                workload.measured(),
                workload.warmup(),
                scenario.primary,
            )
        })
        .collect();
    let counts = Extent::Iterations;
    let expected = [
        (1 << 30, counts(3), counts(1), Metric::Throughput),
        (1 << 10, counts(640), counts(128), Metric::CompletionRate),
        (1, counts(1000), counts(100), Metric::LatencyP50),
        (4 << 20, counts(64), counts(8), Metric::Throughput),
        (1 << 10, counts(640), counts(128), Metric::LatencyP99),
    ];
    assert_eq!(summaries, expected);
    let transfers: Vec<_> = valid
        .scenarios
        .iter()
        .filter_map(|scenario| match &scenario.assignment.workload {
            Workload::Transfer(transfer) => {
                Some((transfer.window, transfer.batch, transfer.mode, transfer.direction))
            }
            _ => None,
        })
        .collect();
    let one_way = Direction::Unidirectional;
    let expected = [
        (1, 1, TransferMode::Flushed, one_way),
        (64, 64, TransferMode::Plain, one_way),
        (4, 1, TransferMode::WithPings, Direction::Bidirectional),
        (64, 1, TransferMode::Plain, one_way),
    ];
    assert_eq!(transfers, expected);
}

#[test]
fn segment_transfer_has_the_benchmark_defaults() {
    let scenarios = "scenarios: [{name: a, segmentTransfer: {}}, {name: b, memory: SharedMemory, segmentTransfer: \
                     {workload: Mix, batch: 4, threads: 2, warmupBatches: 3, duration: 1s, reportUnit: Kb}}]";
    let valid = validate(&run(&format!("variants: [{{name: a}}]\n{TCP}{scenarios}"))).unwrap();
    let [read, mix] = &valid.scenarios[..] else {
        panic!("{:?}", valid.scenarios)
    };
    let workload = |scenario: &super::ValidatedScenario| match &scenario.assignment.workload {
        Workload::Transfer(transfer) => transfer.clone(),
        other => panic!("not a transfer: {other:?}"),
    };
    let (read_workload, mix_workload) = (workload(read), workload(mix));
    let segments = |read_back| TransferMode::Segments {
        read_back,
        second_memory: None,
    };
    assert_eq!(read.sizes, [64 << 10]);
    assert_eq!(read.primary, Metric::Throughput);
    assert_eq!(
        read.rate_format.map(|format| format.text(1.5e9)),
        Some("1.50 GB/s".to_owned())
    );
    assert_eq!(
        (read_workload.window, read_workload.batch, read_workload.threads),
        (16, 16, 4)
    );
    assert_eq!(
        (read_workload.operation, read_workload.mode),
        (TransferOperation::Read, segments(false))
    );
    assert_eq!(read_workload.measured, Extent::DurationNanos(10_000_000_000));
    assert_eq!(read_workload.warmup, Extent::Iterations(160));
    assert_eq!(
        (mix_workload.operation, mix_workload.mode),
        (TransferOperation::Write, segments(true))
    );
    // Each batch of writes is followed by a batch of reads.
    assert_eq!(mix_workload.warmup, Extent::Iterations(24));
}

#[test]
fn a_segment_with_vram_needs_host_memory_a_gpu_and_two_threads() {
    let spec = |gpus: u32, fields: &str, segment: &str| {
        let scenario =
            format!("scenarios: [{{name: a, {fields} segmentTransfer: {{useVram: true, {segment}}}}}]");
        format!("variants: [{{name: a}}]\nresources: {{gpus: {gpus}}}\n{TCP}{scenario}")
    };
    let valid = validate(&run(&spec(8, "memory: SharedMemory,", "threads: 5"))).unwrap();
    let assignment = &valid.scenarios[0].assignment;
    assert_eq!(assignment.workload.second_memory(), Some((MemoryKind::Cuda, 3)));
    assert_eq!(assignment.threads_on_gpus(), 2);
    for (gpus, fields, segment) in [
        (8, "", "threads: 1"),
        (8, "memory: Cuda,", ""),
        (8, "memory: HugePages,", ""),
        (8, "targetMemory: SharedMemory,", ""),
        (0, "", ""),
    ] {
        let found = problems(&spec(gpus, fields, segment));
        let expected = "spec.scenarios[0].segmentTransfer.useVram: ";
        assert!(
            found.iter().any(|problem| problem.starts_with(expected)),
            "{found:?}"
        );
    }
}

/// The threads of a segment use all GPUs if none are named, and all scenarios of a process share the memory of a thread.
#[test]
fn a_segment_on_all_gpus_does_not_move_the_memory_of_another_scenario() {
    let spec = |devices: &str, segment: &str, other: &str| {
        let scenarios = format!("scenarios: [{{name: a, {segment}}}, {{name: b, {other}}}]");
        format!(
            "variants: [{{name: a}}, {{name: b, library: /opt}}]\nresources: {{gpus: 8}}\n{devices}\n{TCP}{scenarios}"
        )
    };
    let vram = "segmentTransfer: {useVram: true}";
    let cuda = "memory: Cuda, segmentTransfer: {threads: 1}";
    let transfer = "transfer: {operation: Write, sizes: [4Ki], threads: 2}";
    let threads = format!("memory: Cuda, {transfer}");
    let target = format!("targetMemory: Cuda, {transfer}");
    for (segment, other) in [(vram, &threads), (cuda, &threads), (vram, &target)] {
        let found = problems(&spec("", segment, other));
        let expected = "spec.devices.gpus: the segment of scenario \"a\" uses all GPUs of a worker by default, but the \
                        threads of scenario \"b\" use GPU 0";
        assert!(
            matches!(&found[..], [problem] if problem.starts_with(expected)),
            "{found:?}"
        );
        assert_eq!(problems(&spec("devices: {gpus: [0]}", segment, other)), [""; 0]);
    }
    // One thread uses the first GPU in any case.
    for other in [cuda, vram, "memory: Cuda, pingPong: {sizes: [64]}", transfer] {
        assert_eq!(problems(&spec("", vram, other)), [""; 0], "{other}");
    }
    assert_eq!(problems(&spec("", "segmentTransfer: {}", &threads)), [""; 0]);
}

#[test]
fn segments_have_memory_for_every_request_in_flight() {
    let scenario = "scenarios: [{name: a, segmentTransfer: {sizes: [16Mi]}}]";
    let valid = validate(&run(&format!("variants: [{{name: a}}]\n{TCP}{scenario}"))).unwrap();
    let assignment = &valid.scenarios[0].assignment;
    assert!(assignment.area_bytes(1) >= 16 * (16 << 20));
    let both_areas = 2 * assignment.area_bytes(1) * 4;
    assert_eq!(super::memory::bytes_per_process(assignment, 1, None), both_areas);
}

#[test]
fn variant_inherits_unset_values_from_the_run() {
    let valid = validate(&run(&format!(
        "striping: {{policy: Nixl, thresholdBytes: 16Ki}}\nvariants: [{{name: a}}, {{name: b, striping: {{policy: NixlCoalesce}}}}]\n{TCP}{MID}"
    )))
    .unwrap();
    let rule = valid.variants[1].tuning.striping;
    assert_eq!(
        (rule.policy, rule.threshold_bytes),
        (StripingPolicy::NixlCoalesce, 16 << 10)
    );
}

#[test]
fn rejects_threshold_above_every_size() {
    let striping = "{policy: NixlCoalesce, thresholdBytes: 262144}";
    let found = problems(&format!(
        "variants: [{{name: a}}, {{name: b, striping: {striping}}}]\n{TCP}{MID}"
    ));
    // The baseline stripes 128Ki because of NIXL's default threshold, and the variant does not, so they differ at that
    // size.
    assert_eq!(found, [""; 0]);
    let found = problems(&format!(
        "striping: {{policy: Nixl, thresholdBytes: 262144}}\nvariants: [{{name: a}}, {{name: b, striping: {striping}}}]\n{TCP}{MID}"
    ));
    assert_eq!(
        found,
        [
            "spec.variants[1].striping.thresholdBytes: 256Ki is above every size of scenario \"mid\" (16Ki to 128Ki), so \
          \"b\" and \"a\" would post exactly the same messages. Set it to 16Ki or less"
        ]
    );
}

#[test]
fn rejects_default_threshold_above_every_size_at_the_field_that_sets_it() {
    let found = problems(&format!(
        "variants: [{{name: a}}, {{name: b, striping: {{policy: NixlCoalesce}}}}]\n{TCP}scenarios: [{{name: mid, transfer: {{sizes: [16Ki, 64Ki]}}}}]"
    ));
    assert!(
        found[0].starts_with("spec.striping.thresholdBytes: 128Ki (the default) is above"),
        "{found:?}"
    );
}

#[test]
fn accepts_variants_that_are_identical_because_of_a_single_rail() {
    let spec = format!(
        "striping: {{policy: Nixl, thresholdBytes: 16Ki}}\nvariants: [{{name: a}}, {{name: b, striping: {{policy: NixlCoalesce}}}}]\n{SHM}{MID}"
    );
    assert_eq!(problems(&spec), [""; 0]);
}

#[test]
fn rejects_inject_below_every_size_and_doorbell_without_bursts() {
    let small = "scenarios: [{name: small, pingPong: {sizes: [64, 128]}}]";
    let found = problems(&format!(
        "variants: [{{name: a}}, {{name: b, inject: {{maxBytes: 32}}}}]\n{TCP}{small}"
    ));
    assert!(
        found[0].starts_with("spec.variants[1].inject.maxBytes: 32 is below every size"),
        "{found:?}"
    );
    let found = problems(&format!(
        "variants: [{{name: a}}, {{name: b, doorbell: {{maxBatch: 4}}}}]\n{TCP}{small}"
    ));
    assert!(
        found[0].starts_with("spec.variants[1].doorbell: no scenario posts"),
        "{found:?}"
    );
    let found = problems(&format!(
        "variants: [{{name: a}}, {{name: b, doorbell: {{maxBatch: 4}}}}]\n{TCP}scenarios: [{{name: mid, transfer: {{sizes: [1Mi]}}}}]"
    ));
    assert!(
        found[0].starts_with("spec.scenarios[0].transfer.batch: a batch of 1 posts at most one message"),
        "{found:?}"
    );
    assert!(found[0].ends_with("Set it to 8 or more"), "{found:?}");
}

#[test]
fn accepts_identical_tuning_in_separate_processes() {
    let spec = format!(
        "variants: [{{name: a}}, {{name: b, env: [{{name: FI_X, value: '1'}}]}}, {{name: c, image: other}}]\n{TCP}{MID}"
    );
    assert_eq!(problems(&spec), [""; 0]);
    let spec = format!("variants: [{{name: a}}, {{name: b}}]\n{TCP}{MID}");
    assert!(problems(&spec)[0].starts_with("spec.variants[1]: it has the same tuning"));
}

#[test]
fn rejects_device_memory_only_if_a_message_would_be_injected() {
    let spec = |sizes: &str| {
        format!(
            "resources: {{gpus: 1}}\nvariants: [{{name: a}}, {{name: b, inject: {{maxBytes: 256}}, doorbell: {{maxBatch: 4}}}}]\n{TCP}scenarios: [{{name: large, memory: Cuda, transfer: {{operation: WriteImmediate, sizes: [{sizes}], batch: 4}}}}]"
        )
    };
    assert_eq!(problems(&spec("128Ki")), [""; 0]);
    assert!(
        problems(&spec("64, 128Ki"))[0]
            .starts_with("spec.scenarios[0].memory: messages in GPU memory (`Cuda`) cannot be injected")
    );
}

#[test]
fn devices_must_exist_and_be_used() {
    let spec = |transport: &str, devices: &str, more: &str| {
        format!(
            "resources: {{gpus: 8, efas: 32}}\ndevices: {{{devices}}}\n{more}\nvariants: [{{name: a}}, {{name: b, library: /opt}}]\ntransport: {{{transport}}}\nscenarios: [{{name: large, memory: Cuda, transfer: {{operation: WriteImmediate, sizes: [128Ki], threads: 2}}}}]"
        )
    };
    let efa = "libfabric: {provider: efa-direct, rails: 2}";
    for (transport, devices, more) in [
        (efa, "gpus: [0, 7]", "placement: {align: PciRoot}"),
        (efa, "gpus: [3, 1], nics: [a, b, c, d]", ""),
        (efa, "numaNode: 1", ""),
        ("libfabric: {provider: tcp, rails: 2}", "nics: [eth0, eth0]", ""),
    ] {
        assert_eq!(problems(&spec(transport, devices, more)), [""; 0], "{devices}");
    }
    for (transport, devices, more, expected) in [
        (
            efa,
            "gpus: [8]",
            "",
            "spec.devices.gpus[0]: GPU 8 does not exist in the container: `spec.resources.gpus` is 8",
        ),
        (
            efa,
            "gpus: [1, 1]",
            "",
            "spec.devices.gpus[1]: `1` is in the list twice",
        ),
        (
            efa,
            "gpus: [0, 1, 2]",
            "",
            "spec.devices.gpus: the list has more GPUs than a scenario with GPU memory (`Cuda`) can use: each thread uses \
             one GPU, and no such scenario has more than 2 threads",
        ),
        (
            efa,
            "nics: [a, b, c]",
            "",
            "spec.devices.nics: 3 NICs are named, but there are 2 rails",
        ),
        (
            efa,
            "nics: [a, a]",
            "",
            "spec.devices.nics[1]: `a` is in the list twice",
        ),
        (
            "libfabric: {provider: efa-direct, rails: 20}",
            "gpus: [0, 1]",
            "",
            "spec.transport.libfabric.rails: every rail needs an EFA device: a worker has 40 rails",
        ),
        (
            "libfabric: {provider: tcp, rails: 40}",
            "gpus: [0, 1]",
            "",
            "spec.devices.gpus: every GPU has its own rails, 80 in total, but the maximum is 64",
        ),
        (
            "libfabric: {provider: shm}",
            "nics: [a]",
            "",
            "spec.devices.nics: the transport uses no NICs",
        ),
        (
            "loopback: {}",
            "",
            "placement: {align: NumaNode}",
            "spec.placement.align: the transport uses no NICs",
        ),
    ] {
        let found = problems(&spec(transport, devices, more));
        assert!(
            found.len() == 1 && found[0].starts_with(expected),
            "{devices}: {found:?}"
        );
    }
}

#[test]
fn huge_pages_are_required_for_every_process() {
    let spec = |pages: &str, control: bool| {
        format!(
            "sampling: {{control: {control}}}\nresources: {{hugepages2Mi: {pages}}}\nvariants: [{{name: a}}, {{name: b, library: /opt}}]\n{TCP}scenarios: [{{name: large, memory: HugePages, transfer: {{sizes: [1Mi], window: 16}}}}]"
        )
    };
    // Each of the three processes has two areas of 16 MiB.
    assert_eq!(problems(&spec("96Mi", true)), [""; 0]);
    assert!(problems(&spec("94Mi", true))[0].contains("3 instrument processes need 96Mi"));
    assert_eq!(problems(&spec("64Mi", false)), [""; 0]);
}

#[test]
fn all_problems_are_reported_at_once() {
    let found = problems(&format!(
        "variants: [{{name: a}}]\n{TCP}scenarios: [{{name: s, pingPong: {{sizes: [0, 64, 64, 2Gi]}}}}]"
    ));
    let paths: Vec<_> = found
        .iter()
        .filter_map(|problem| problem.split(": ").next())
        .collect();
    assert_eq!(
        paths,
        [
            "spec.scenarios[0].pingPong.sizes[0]",
            "spec.scenarios[0].pingPong.sizes[2]",
            "spec.scenarios[0].pingPong.sizes[3]"
        ]
    );
}

#[test]
fn rejects_transports_that_cannot_be_compared() {
    let variants = "variants: [{name: a}, {name: b, transport: {ucx: {transports: [tcp], rails: 2}}}]\n";
    assert_eq!(
        problems(&format!(
            "{variants}{TCP}scenarios: [{{name: put, transfer: {{sizes: [64], operation: WriteImmediate}}}}]"
        )),
        [
            "spec.variants[1].transport.ucx.rails: 2 rails, but `spec.transport` has 4: all arms must use the same \
             number of rails. Set `rails` to 4",
            "spec.scenarios[0].transfer.operation: WriteImmediate cannot be compared between libfabric and ucx: UCX has \
             no write with immediate data, so it needs a flush and a separate message. Use Write, Read or Send",
        ]
    );
}

#[test]
fn ucx_allocates_only_host_memory_for_a_single_rail() {
    let scenarios = "scenarios: [{name: a, pingPong: {sizes: [64]}}, {name: b, memory: SharedMemory, pingPong: {sizes: [64]}}]";
    let transport = "transport: {ucx: {transports: [tcp], rails: 2, allocation: Library}}\n";
    let variants = "variants: [{name: a}, {name: b, env: [{name: X, value: y}]}]\n";
    assert_eq!(
        problems(&format!("{variants}{transport}{scenarios}")),
        [
            "spec.transport.ucx.rails: `allocation: Library` supports only one rail, but there are 2, and UCX allocates the memory of \
             each rail separately. Set `rails` to 1, or remove `allocation`",
            "spec.scenarios[1].memory: UCX cannot allocate `SharedMemory` memory, which \
             `spec.transport.ucx.allocation` requires. Use `Heap`, or remove `allocation`",
        ]
    );
}

#[test]
fn local_write_completions_need_a_unidirectional_closed_loop() {
    let transport = "transport: {ucx: {transports: [tcp], writeCompletion: Local}}\n";
    let delivery = "{name: b, transport: {ucx: {transports: [tcp]}}}";
    let scenarios = "scenarios: [{name: one-way, transfer: {sizes: [64]}}, \
                     {name: both, transfer: {sizes: [64], direction: Bidirectional}}, \
                     {name: gets, transfer: {sizes: [64], operation: Read, direction: Bidirectional}}, \
                     {name: segments, segmentTransfer: {sizes: [64], workload: Mix}}, \
                     {name: file, parameterServing: {mode: Filesystem, directory: /dev/shm, sizes: [4Ki]}}, \
                     {name: open, transfer: {sizes: [64], load: {openLoop: {rate: 100}}}}]";
    let unsuitable = |scenario: usize| {
        format!(
            "spec.scenarios[{scenario}]: `spec.transport.ucx.writeCompletion: Local` supports writes only in `transfer` \
             and `segmentTransfer` scenarios in one direction, without `load` and `workload: Mix`, and with \
             `spec.placement.pattern: Pairwise`; parameterServing writes in every mode. Use `writeCompletion: Delivery`, \
             or change the scenario or the pattern"
        )
    };
    let found = problems(&format!(
        "variants: [{{name: a}}, {delivery}]\n{transport}{scenarios}"
    ));
    let expected = [
        unsuitable(1),
        unsuitable(3),
        unsuitable(4),
        unsuitable(5),
        "spec.variants[1].transport: the writes of this variant and those of `spec.transport` complete at different \
         events, so their latencies cannot be compared. Use the same `writeCompletion` in `spec.transport` and in all \
         variants; other libraries than UCX use `Delivery`"
            .to_owned(),
    ];
    for problem in &expected {
        assert!(found.contains(problem), "{problem} is not in {found:#?}");
    }
    assert!(
        !found.contains(&unsuitable(0)) && !found.contains(&unsuitable(2)),
        "{found:#?}"
    );
    let flows = "placement: {pattern: ManyToMany, workers: 2}\n";
    let found = problems(&format!(
        "variants: [{{name: a}}, {{name: b, env: [{{name: X, value: y}}]}}]\n{transport}{flows}\
         scenarios: [{{name: one-way, transfer: {{sizes: [64]}}}}]"
    ));
    assert!(found.contains(&unsuitable(0)), "{found:#?}");
}

#[test]
fn active_messages_need_host_memory() {
    let scenarios = "scenarios: [{name: a, memory: Cuda, pingPong: {sizes: [64]}}]";
    let variants = "variants: [{name: a}, {name: b, env: [{name: X, value: y}]}]\n";
    let transport = "transport: {ucx: {transports: [tcp, cuda_copy], messages: ActiveMessage}}\n";
    let found = problems(&format!("{variants}{transport}{scenarios}"));
    let expected = "spec.scenarios[0].memory: GPU memory (`Cuda`) cannot be used with `spec.transport.ucx.messages: \
                    ActiveMessage`, because the runner copies short active messages to host memory. Use \
                    `messages: Tag`";
    assert!(found.contains(&expected.to_owned()), "{found:?}");
}

#[test]
fn variant_that_repeats_the_run_transport_shares_its_process() {
    let valid = validate(&run(&format!(
        "variants: [{{name: a}}, {{name: b, inject: {{maxBytes: 64}}, transport: {{libfabric: {{provider: shm}}}}}}]\n\
         {SHM}scenarios: [{{name: s, pingPong: {{sizes: [64]}}}}]"
    )))
    .unwrap();
    assert!(valid.variants[1].shares_process(&valid.variants[0]));
}

#[test]
fn sweep_becomes_one_open_loop_for_each_rate() {
    let counts = "operationCounts: [{size: 64, rate: 10, iterations: 1}, {size: 64, rate: 20, iterations: 2}, \
                  {size: 64, rate: 40, iterations: 4}]";
    let valid = validate(&run(&format!(
        "variants: [{{name: a}}]\n{TCP}scenarios: [{{name: first, pingPong: {{sizes: [64]}}}}, {{name: load, {counts}, \
         transfer: {{sizes: [64], load: {{sweep: {{from: 10, to: 40, steps: 3, arrivals: Constant}}}}}}}}, \
         {{name: last, pingPong: {{sizes: [64]}}}}]"
    )))
    .unwrap();
    let described = valid.scenarios.iter().map(|scenario| {
        let open_loop = match &scenario.assignment.workload {
            Workload::Transfer(transfer) => transfer.open_loop,
            _ => None,
        };
        let rate = open_loop.map(|open_loop| (open_loop.rate, open_loop.arrivals));
        let name = scenario.assignment.name.as_str();
        (
            name,
            scenario.sweep.as_deref(),
            scenario.index,
            rate,
            scenario.operation_counts.get(&64).copied(),
        )
    });
    let rate = |name, rate, count| {
        let open_loop = Some((rate, Arrivals::Constant));
        (name, Some("load"), 1, open_loop, Some(count))
    };
    assert_eq!(
        described.collect::<Vec<_>>(),
        [
            ("first", None, 0, None, None),
            rate("load-10", 10, 1),
            rate("load-20", 20, 2),
            rate("load-40", 40, 4),
            ("last", None, 2, None, None),
        ]
    );
    assert_eq!(valid.scenarios[1].primary, Metric::LatencyP99);
}

#[test]
fn sweep_problem_is_reported_once() {
    let found = problems(&format!(
        "variants: [{{name: a}}]\n{TCP}scenarios: [{{name: load, memory: Cuda, \
         transfer: {{sizes: [64], load: {{sweep: {{from: 10, to: 40, steps: 3}}}}}}}}]"
    ));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("spec.scenarios[0].memory: "), "{found:?}");
}

#[test]
fn worker_counts_become_scenarios_without_a_pilot_or_an_integrity_pass() {
    let valid = validate(&run(&format!(
        "variants: [{{name: a}}]\n{TCP}scenarios: [{{name: push, parameterServing: {{mode: Push, workers: [1, 8], \
         maxTime: 20s}}}}, {{name: pull, parameterServing: {{mode: Pull, maxTime: 20s}}}}]"
    )))
    .unwrap();
    let described: Vec<_> = valid
        .scenarios
        .iter()
        .map(|scenario| {
            let workload = &scenario.assignment.workload;
            let extent = crds::assignment::pilot::extent(workload);
            (
                scenario.assignment.name.as_str(),
                scenario.several_counts.as_deref(),
                workload.threads(),
                scenario.integrity || extent.is_some(),
            )
        })
        .collect();
    let expected = [
        ("push-1", Some("push"), 1, false),
        ("push-8", Some("push"), 8, false),
        ("pull", None, 4, false),
    ];
    assert_eq!(described, expected);
    // The defaults of the Parameter Serving Benchmark.
    let Workload::ParameterServing(pull) = &valid.scenarios[2].assignment.workload else {
        panic!("not parameter serving");
    };
    let periods = [pull.push_nanos, pull.pull_nanos, pull.post_nanos, pull.step_nanos];
    assert_eq!(periods, [200_000_000, 200_000_000, 2_000_000_000, 5_000_000]);
    assert_eq!((pull.max_version, valid.scenarios[2].sizes[0]), (500, 10_000_000));
}

#[test]
fn total_worker_count_is_workers_per_node_times_receivers() {
    let valid = validate(&run(&format!(
        "variants: [{{name: a}}]\n{TCP}placement: {{pattern: ManyToMany, senders: 1, receivers: 4}}\n\
         scenarios: [{{name: push, parameterServing: {{mode: Push, workersPerNode: [1, 10], maxTime: 20s}}}}, \
         {{name: pull, parameterServing: {{mode: Pull, maxTime: 20s}}}}]"
    )))
    .unwrap();
    let described = valid.scenarios.iter().map(|scenario| {
        (
            scenario.assignment.name.as_str(),
            scenario.assignment.workload.threads(),
        )
    });
    // By default, the workers do not share nodes.
    let expected = [("push-4", 1), ("push-40", 10), ("pull", 1)];
    assert_eq!(described.collect::<Vec<_>>(), expected);
}

#[test]
fn sizes_that_a_tool_prints_alike_are_invalid() {
    let spec = |tool: &str, sizes: &str, option: &str| {
        format!(
            "variants: [{{name: a}}]\n{TCP}scenarios: [{{name: s, primaryMetric: ReportedLatency, command: {{tool: {tool}, \
             sizes: [{sizes}], client: [tool, {option}, \"{{size}}\"]}}}}]"
        )
    };
    let found = problems(&spec("Fabtests", "1100, 1400, 1120", "-S"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("spec.scenarios[0].command.sizes[2]: "),
        "{found:?}"
    );
    assert!(
        found[0].contains("prints 1100 and 1120 bytes alike, as `1k`"),
        "{found:?}"
    );
    for (tool, sizes, option) in [
        ("Fabtests", "1100, 1400, 1500, 3000, 9000, 12345", "-S"),
        ("Fabtests", "1100, 1120", "-m"),
        ("UcxPerftest", "1100, 1120", "-s"),
    ] {
        assert_eq!(
            problems(&spec(tool, sizes, option)),
            Vec::<String>::new(),
            "{tool} {sizes}"
        );
    }
}
