//! Calls and footprints with tensors in GPU memory, with the simulated CUDA driver of the runner's tests: its memory can be
//! accessed only through the driver, and handles are mapped only by other processes.

use std::process::Command;

use crds::quantity::Quantity;
use crds::record::{Record, WarningReason};
use crds::v1alpha1::{ArmResult, CallSection};

use super::{assert_successful, result};
use crate::harness::{RunningCommand, TestDir, workspace};
use crate::stored_run::StoredRun;

/// Bytes of an allocation of 1 MiB: whole pages of 64 KiB, and one page for the alignment.
const ALLOCATED_MIB: i64 = (1 << 20) + (64 << 10);

/// Compiles the driver in the directory of the runner that it returns. Prints a message and returns `None` if there is no
/// C compiler.
pub fn runner_with_driver(dir: &TestDir, directory: &std::path::Path) -> Option<String> {
    let mut compile = Command::new("cc");
    compile
        .args(["-shared", "-fPIC", "-pthread", "-o"])
        .arg(directory.join("libcuda.so.1"))
        .arg(workspace().join("runner/src/memory/tests/driver.c"));
    match compile.status() {
        Ok(status) => assert!(status.success()),
        Err(error) => {
            println!("skipped: there is no C compiler: {error}");
            return None;
        }
    }
    let directory = directory.display();
    Some(dir.runner(&format!(
        "export LD_LIBRARY_PATH={directory} TEST_DRIVER_USAGE={directory}/usage; exec"
    )))
}

fn measure(name: &str, spec: &str) -> Option<StoredRun> {
    let (dir, driver) = (TestDir::new(), tempfile::tempdir().unwrap());
    let runner = runner_with_driver(&dir, driver.path())?;
    let manifest = format!(
        "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {{name: {name}}}\nspec:\n  {spec}\n  \
         resources: {{gpus: 1}}\n  sampling: {{rounds: 1, control: false}}\n"
    );
    let output = RunningCommand::start(dir.run_with(&runner, &dir.manifest(&manifest))).wait();
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
    let stored = StoredRun::read(&dir.run_dir(name));
    stored.assert_complete();
    assert_eq!(stored.failures(), Vec::new(), "{output}");
    Some(stored)
}

/// Tensors in host memory and on a GPU are measured in one run, over every local channel. The transport need not support
/// GPU memory.
#[test]
fn local_channels_pass_tensors_on_a_gpu() {
    let scenarios = ["Call", "Chain"].map(|pattern| {
        ["Heap", "Cuda"].map(|memory| {
            format!(
                "  - {{name: {}-{}, memory: {memory}, rpc: {{payloads: [SmallInt, TinyTensor, LargeTensor], pattern: {pattern}, \
                 iterations: 20, warmup: 1}}}}\n",
                pattern.to_lowercase(),
                memory.to_lowercase()
            )
        })
    });
    let spec = format!(
        "baseline: unix\n  variants:\n  - {{name: unix, channel: UnixSocket}}\n  - {{name: tcp, channel: Tcp}}\n  \
         - {{name: shared, channel: SharedMemory}}\n  - {{name: local, channel: Local}}\n  \
         transport: {{libfabric: {{provider: tcp}}}}\n  scenarios:\n{}",
        scenarios.concat().concat()
    );
    let Some(stored) = measure("gpu", &spec) else {
        return;
    };
    assert_eq!(stored.status().results.len(), 4 * 3 * 4);
    for one in &stored.status().results {
        assert_successful(one);
    }
    // Times would not prove it, because other processes delay calls on a busy machine.
    let evidence: Vec<_> = stored.records().filter_map(message_of_evidence).collect();
    for (channel, mapped) in [("SharedMemory", true), ("UnixSocket", false), ("Tcp", false)] {
        let expected = format!(
            "{channel}: the extension maps the host's allocation of a {}-byte payload",
            4 << 20
        );
        let found = evidence.iter().any(|message| message.contains(&expected));
        assert_eq!(found, mapped, "{channel}: {evidence:?}");
    }
}

fn message_of_evidence(record: &Record) -> Option<&str> {
    match record {
        Record::Warning(warning) if warning.reason == WarningReason::Evidence => Some(&warning.message),
        _ => None,
    }
}

#[test]
fn footprints_contain_the_gpu_memory_of_copies_and_of_shared_tensors() {
    let spec = "baseline: copied\n  variants: [{name: copied, channel: UnixSocket}, {name: shared, channel: SharedMemory}]\n  \
                transport: {libfabric: {provider: tcp}}\n  scenarios:\n  \
                - {name: vram, memory: Cuda, memoryFootprint: {consumers: [1, 3], sizes: [1Mi], iterations: 2}}\n  \
                - {name: ram, memoryFootprint: {consumers: 1, sizes: [1Mi], iterations: 2}}";
    let Some(stored) = measure("vram", spec) else {
        return;
    };
    let footprint = |scenario, arm| -> ArmResult {
        let found = result(&stored, scenario, 1 << 20, arm);
        assert_eq!(found.footprint.unwrap().section, CallSection::Successful);
        found
    };
    for (scenario, consumers) in [("vram-1", 1), ("vram-3", 3)] {
        let (copied, shared) = (footprint(scenario, "copied"), footprint(scenario, "shared"));
        assert_eq!(copied.footprint.unwrap().consumers, consumers);
        let consumers = i64::from(consumers);
        // The host has one copy, and each consumer has one if it does not share the host's.
        assert_eq!(
            copied.value(Quantity::FootprintVramBytes),
            Some((consumers + 1) * ALLOCATED_MIB)
        );
        assert_eq!(shared.value(Quantity::FootprintVramBytes), Some(ALLOCATED_MIB));
        assert_eq!(
            copied.value(Quantity::FootprintTensorBytes),
            Some((1 << 20) + consumers * ALLOCATED_MIB)
        );
        assert_eq!(shared.value(Quantity::FootprintTensorBytes), Some(1 << 20));
        assert_eq!(copied.value(Quantity::FootprintSavedBytes), Some(0));
        assert_eq!(shared.value(Quantity::FootprintSavedBytes), Some(consumers << 20));
    }
    assert_eq!(
        footprint("ram", "copied").value(Quantity::FootprintVramBytes),
        None
    );
}
