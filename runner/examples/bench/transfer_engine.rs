//! Runs transfer_engine_bench from the mooncake-transfer-engine-non-cuda Python package over tcp, alternating with the
//! runner's segment transfers over libfabric.
//!
//! The tool and the runner each use one thread, the same batches and sizes, heap memory, and one CPU for each side. The
//! tool counts the batches that its thread has completed; the runner counts the requests of complete batches.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crds::assignment::Extent;
use crds::units::Size;
use crds::v1alpha1::{LibfabricProvider, MemoryKind, SegmentTransfer, SegmentWorkload};

use crate::Setting;
use crate::fabric::Fabric;
use crate::runner;
use crate::table::{Row, TRANSFER_ENGINE_HEADER};
use crate::tools::pinned;

/// Request sizes, in bytes.
const SIZES: [u64; 4] = [4 << 10, 64 << 10, 1 << 20, 16 << 20];
/// Batch sizes, in requests.
const BATCHES: [u32; 2] = [1, 16];
/// Size of the tool's buffer, in bytes: at least the largest batch.
const BUFFER_BYTES: u64 = 512 << 20;
const DEADLINE: Duration = Duration::from_secs(30);

/// Tool arguments that are the same on both sides.
const COMMON: [&str; 3] = [
    "--protocol=tcp",
    "--metadata_server=P2PHANDSHAKE",
    "--local_server_name=127.0.0.1",
];

/// Measures reads and writes with every batch and size, and prints one line for each.
pub fn measure(binary: &Path, repeats: usize, seconds: u32) {
    let variables: Vec<String> = std::env::vars()
        .filter(|(name, _)| name.starts_with("MC_"))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    println!(
        "transfer_engine_bench: {} --threads=1 --buffer_size={BUFFER_BYTES} --duration={seconds} \
         MC_TCP_BIND_ADDRESS=127.0.0.1 {}\n\n{TRANSFER_ENGINE_HEADER}",
        COMMON.join(" "),
        variables.join(" ")
    );
    for (workload, operation) in [(SegmentWorkload::Read, "read"), (SegmentWorkload::Write, "write")] {
        for (batch, size) in BATCHES
            .into_iter()
            .flat_map(|batch| SIZES.map(|size| (batch, size)))
        {
            let setting = Setting {
                library: None,
                fabric: Fabric::Libfabric(LibfabricProvider::Tcp),
                memory: MemoryKind::Heap,
                size,
                cpus: [0, 1],
            };
            let scenario = SegmentTransfer {
                workload,
                batch,
                threads: 1,
                ..SegmentTransfer::default()
            };
            let extent = Extent::DurationNanos(u64::from(seconds) * 1_000_000_000);
            let mut row = Row::new(1);
            for repetition in 0..repeats {
                let tool = || match run(binary, operation, batch, size, seconds) {
                    Ok(value) => Some(value),
                    Err(error) => {
                        eprintln!("omitted: transfer_engine_bench, {operation}, {size} bytes: {error}");
                        None
                    }
                };
                // The order alternates, so that neither always runs first.
                let early = (repetition % 2 == 0).then(tool);
                row.add_runner(runner::measure_transfer(&setting, scenario.workload(extent)));
                row.tools[0].push(early.unwrap_or_else(tool));
            }
            println!("| {operation} | {batch} {}", row.line(size));
        }
    }
}

/// Measures the tool once and returns its throughput in MB/s.
fn run(binary: &Path, operation: &str, batch: u32, size: u64, seconds: u32) -> Result<f64, String> {
    let side = |cpu: u32| {
        let mut command = pinned(cpu);
        command
            .arg(binary)
            .args(COMMON)
            .arg(format!("--buffer_size={BUFFER_BYTES}"))
            .env("MC_TCP_BIND_ADDRESS", "127.0.0.1");
        command
    };
    let mut target = side(0);
    let mut target = Target(
        target
            .arg("--mode=target")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?,
    );
    let segment = target.segment()?;
    let mut initiator = side(1);
    initiator.args([
        "--mode=initiator",
        "--threads=1",
        "--report_unit=MB",
        "--report_precision=3",
        &format!("--segment_id={segment}"),
        &format!("--operation={operation}"),
        &format!("--block_size={size}"),
        &format!("--batch_size={batch}"),
        &format!("--duration={seconds}"),
    ]);
    let mut timed = Command::new("timeout");
    timed
        .arg((DEADLINE.as_secs() + u64::from(seconds)).to_string())
        .arg(initiator.get_program())
        .args(initiator.get_args())
        .env("MC_TCP_BIND_ADDRESS", "127.0.0.1");
    let output = timed.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stderr);
    let value = text
        .split_once("throughput ")
        .and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
    value.ok_or_else(|| {
        let last = text.lines().last().unwrap_or("no message");
        format!("no result for {} ({}): {last}", Size(size), output.status)
    })
}

/// The tool's running target process.
struct Target(Child);

impl Target {
    /// Waits until the target prints its segment name. Its messages are read until it exits.
    fn segment(&mut self) -> Result<String, String> {
        let stderr = self.0.stderr.take().ok_or("the target has no standard error")?;
        let (sender, names) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if let Some((_, name)) = line.split_once("P2P handshake, listening on ") {
                    let _ = sender.send(name.trim().to_owned());
                }
                // The target is reachable once it has allocated its memory, which it reports in its last message.
                if line.contains("numa node num") {
                    let _ = sender.send(String::new());
                }
            }
        });
        let deadline = Instant::now() + DEADLINE;
        let mut segment = String::new();
        loop {
            match names.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(name) if name.is_empty() && !segment.is_empty() => return Ok(segment),
                Ok(name) => segment = name,
                Err(RecvTimeoutError::Timeout) => return Err("the target is not ready".to_owned()),
                Err(RecvTimeoutError::Disconnected) => return Err("the target exited".to_owned()),
            }
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
