//! The Transfer Engine Benchmark scenario, over UCX and libfabric.

use crds::quantity::{Observation, Quantity};
use crds::record::{CaseRecord, CaseResult, Posted};
use crds::v1alpha1::{ArmResult, FabricProof, MemoryKind};

use super::harness::{RunningCommand, TestDir, workspace};
use super::rpc::gpu::runner_with_driver;
use super::stored_run::StoredRun;

/// Runs an example for two rounds with the additional `fields` in its workload, and returns its output and results.
fn run(name: &str, fields: &str) -> (String, StoredRun) {
    let text = std::fs::read_to_string(workspace().join(format!("examples/{name}.yaml"))).unwrap();
    let shorter = match name {
        "segment-transfer" => text.replace("segmentTransfer: {}", &format!("segmentTransfer: {{{fields}}}")),
        _ => text.replace("duration: 1s", fields),
    };
    assert_ne!(shorter, text);
    let dir = TestDir::new();
    let mut command = dir.run(&dir.manifest(&shorter));
    command.args(["--rounds", "2"]);
    let output = RunningCommand::start(command).wait();
    // Two rounds are too few for a verdict.
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
    let stored = StoredRun::read(&dir.run_dir(name));
    stored.assert_complete();
    assert_eq!(stored.failures(), Vec::new());
    let (junit, metrics) = dir.machine_reports(name);
    assert!(
        junit.contains("<testcase name=\"complete and trustworthy\"")
            && junit.contains(&format!("classname=\"{name}\"")),
        "{junit}"
    );
    for metric in [
        "fabricbench_arm_first_batch_seconds{",
        "fabricbench_arm_throughput_bytes_per_second{",
    ] {
        assert!(metrics.contains(metric), "{metric}: {metrics}");
    }
    let reads = metrics.contains("fabricbench_arm_read_back_seconds{");
    assert_eq!(reads, name == "segment-transfer-mix", "{metrics}");
    (output.to_string(), stored)
}

fn results(stored: &StoredRun) -> Vec<ArmResult> {
    stored.status().results.clone()
}

fn initiator_posts(case: &CaseRecord) -> Option<&Posted> {
    match &case.result {
        CaseResult::Measured(measured) => measured.initiator.posted.as_ref(),
        _ => None,
    }
}

#[test]
fn threads_read_batches_for_the_given_time() {
    for workload in ["Read", "Write"] {
        let fields = format!(
            "workload: {workload}, sizes: [16Ki], batch: 4, threads: 3, duration: 200ms, reportUnit: MiB"
        );
        let (output, stored) = run("segment-transfer", &fields);
        for result in results(&stored) {
            assert!(result.value(Quantity::BytesPerSecond).unwrap() > 0, "{result:?}");
            assert!(result.value(Quantity::CpuNanosPerGib).is_some(), "{result:?}");
            assert!(
                result.value(Quantity::LatencyP50Nanos) < result.value(Quantity::LatencyMaxNanos),
                "{result:?}"
            );
            assert!(result.value(Quantity::FirstBatchNanos).unwrap() > 0, "{result:?}");
            assert_eq!(result.value(Quantity::ReadBackP50Nanos), None);
            assert_eq!(result.fabric, Some(FabricProof::Verified), "{result:?}");
        }
        assert!(output.contains(" MiB/s"), "{output}");
        let cases = stored.cases();
        let measured: Vec<&Posted> = cases.into_iter().filter_map(initiator_posts).collect();
        assert!(!measured.is_empty());
        for posted in measured {
            assert_eq!(posted.latency.count(), posted.operations);
            // All threads post whole batches.
            assert_eq!(posted.operations % 4, 0);
            assert_eq!(posted.counters.posts_per_burst, 4);
            assert!(posted.elapsed_nanos >= 190_000_000, "{}", posted.elapsed_nanos);
        }
        for endpoints in stored.endpoints() {
            let facts = endpoints.fabric.as_ref().unwrap();
            let nodes = facts.thread_numa_nodes.len();
            // The threads are bound to NUMA nodes if they are pinned and the kernel reports the NUMA node of each CPU.
            assert!(
                nodes == 3 || nodes == 0 && facts.pinned_cpus.is_empty(),
                "{facts:?}"
            );
        }
    }
}

#[test]
fn mix_reads_back_what_it_writes_in_shared_memory() {
    let (output, stored) = run("segment-transfer-mix", "duration: 100ms");
    for result in results(&stored) {
        let median = result.value(Quantity::ReadBackP50Nanos).unwrap();
        assert!(
            median > 0 && result.value(Quantity::ReadBackP99Nanos).unwrap() >= median,
            "{result:?}"
        );
        assert_eq!(result.fabric, Some(FabricProof::Verified), "{result:?}");
    }
    assert!(output.contains(" MiB/s"), "{output}");
    let checked: Vec<_> = stored
        .cases()
        .into_iter()
        .filter_map(|case| match &case.result {
            CaseResult::Checked(report) => Some((case.size_bytes, report)),
            _ => None,
        })
        .collect();
    assert!(!checked.is_empty());
    for (size, report) in checked {
        // 4 threads check at least 2 batches of 16 writes and 16 reads.
        assert!(report.transfers >= 4 * 2 * 32, "{report:?}");
        assert_eq!(report.bytes, report.transfers * size);
    }
    for case in stored.cases() {
        if let Some(posted) = initiator_posts(case) {
            let reads = posted
                .observations
                .distribution(Observation::ReadBack)
                .unwrap()
                .histogram
                .count();
            assert_eq!(2 * reads, posted.operations);
        }
    }
}

/// The loopback transport cannot access GPU memory: only the scenario whose segment has VRAM fails, with a cause that names
/// it, and the segment with DRAM is measured.
#[test]
fn a_segment_whose_gpu_memory_cannot_be_used_fails_alone() {
    let (dir, driver) = (TestDir::new(), tempfile::tempdir().unwrap());
    let Some(runner) = runner_with_driver(&dir, driver.path()) else {
        return;
    };
    let segment = "sizes: [4Ki], batch: 4, threads: 3, duration: 100ms";
    let manifest = format!(
        "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {{name: vram-segment}}\nspec:\n  baseline: a\n  \
         variants: [{{name: a}}]\n  transport: {{loopback: {{rails: 1}}}}\n  resources: {{gpus: 2}}\n  \
         sampling: {{rounds: 1, control: false}}\n  scenarios:\n  - {{name: dram, segmentTransfer: {{{segment}}}}}\n  \
         - {{name: both, segmentTransfer: {{{segment}, useVram: true}}}}\n"
    );
    let output = RunningCommand::start(dir.run_with(&runner, &dir.manifest(&manifest))).wait();
    let stored = StoredRun::read(&dir.run_dir("vram-segment"));
    let failures = format!("{:?}", stored.failures());
    assert!(
        failures.contains("cannot access GPU memory"),
        "{failures}\n{output}"
    );
    for case in stored.cases() {
        let is_measured = matches!(case.result, CaseResult::Measured(_) | CaseResult::Checked(_));
        assert_eq!(is_measured, case.scenario == "dram", "{case:?}");
    }
    for endpoints in stored.endpoints() {
        let memory = &endpoints.fabric.as_ref().unwrap().memory;
        let kinds: Vec<_> = memory
            .iter()
            .map(|one| (one.scenario.as_str(), one.kind))
            .collect();
        assert_eq!(kinds, [("dram", MemoryKind::Heap), ("both", MemoryKind::Heap)]);
    }
}
