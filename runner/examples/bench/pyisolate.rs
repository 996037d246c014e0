//! Compares calls over a UNIX socket with calls in PyIsolate.

use std::path::Path;
use std::process::Command;

use crds::units::Size;
use crds::v1alpha1::RpcPayload;

use crate::{runner, table};

/// PyIsolate call counts for small and large payloads. A call with 8 MB takes seconds.
const CALLS: (u32, u32) = (200, 2);
/// Largest small payload in bytes.
const MAX_SMALL_BYTES: u64 = 64 * 1024;

/// Payloads to measure.
const PAYLOADS: [RpcPayload; 3] = [
    RpcPayload::SmallInt,
    RpcPayload::SmallString,
    RpcPayload::LargeArray,
];

/// Prints a line for each payload with the mean times of `repeats` alternating measurements. `python` is the
/// interpreter of an environment with PyIsolate.
pub fn measure(python: &Path, repeats: usize) {
    println!("\n{}", table::CALLS_HEADER);
    for payload in PAYLOADS {
        let bytes = payload.size().bytes();
        let is_small = bytes <= MAX_SMALL_BYTES;
        let (calls, calls_of_other) = if is_small { (1000, CALLS.0) } else { (100, CALLS.1) };
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for repetition in 0..repeats {
            // The order alternates, so that no tool always runs in the same position.
            if repetition % 2 == 0 {
                own.push(runner::measure_calls(bytes, calls));
            }
            match mean_call_micros(python, bytes, calls_of_other) {
                Ok(micros) => others.push(micros),
                Err(error) => {
                    eprintln!("omitted: {error}");
                    return;
                }
            }
            if repetition % 2 == 1 {
                own.push(runner::measure_calls(bytes, calls));
            }
        }
        println!(
            "{}",
            table::calls_line(payload.name(), &Size(bytes).to_string(), &own, &others)
        );
    }
}

/// Returns the mean PyIsolate call time in microseconds.
fn mean_call_micros(python: &Path, bytes: u64, calls: u32) -> Result<f64, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/bench/echo.py");
    let output = Command::new(python)
        .arg(script)
        .args([bytes.to_string(), calls.to_string()])
        .output()
        .map_err(|error| format!("pyisolate: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let value: Option<f64> = text.lines().last().and_then(|line| line.trim().parse().ok());
    value
        .map(|nanos| nanos / 1e3)
        .ok_or_else(|| format!("pyisolate: {}", String::from_utf8_lossy(&output.stderr)))
}
