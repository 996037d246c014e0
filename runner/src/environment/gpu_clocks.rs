//! GPU clocks, as reported by `nvidia-smi`. Starts a process; parsing performs no I/O.
//!
//! The kernel driver does not expose clocks in `/proc`. The NVIDIA container runtime adds `nvidia-smi` to containers
//! that request GPUs.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crds::record::GpuClocks;

use crate::process;

/// Queried properties, in column order.
const QUERY: &str =
    "--query-gpu=pci.bus_id,clocks.current.sm,clocks.current.memory,clocks.max.sm,clocks.max.memory";
/// Timeout for the query, which takes a few seconds on a machine without the persistence daemon.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum number of bytes read from the output.
const MAX_OUTPUT_BYTES: usize = 16 * 1024;
/// Maximum number of GPUs that are reported.
const MAX_GPUS: usize = 16;

/// Clocks of all GPUs that this process can use; empty if `nvidia-smi` does not exist or fails.
pub fn read() -> Vec<GpuClocks> {
    let child = Command::new("nvidia-smi")
        .args([QUERY, "--format=csv,noheader,nounits"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        return Vec::new();
    };
    let output = child
        .stdout
        .take()
        .and_then(|stdout| process::collect(stdout, MAX_OUTPUT_BYTES).ok());
    match process::wait_until(&mut child, Instant::now() + TIMEOUT) {
        Ok(Some(status)) if status.success() => {
            parse(&output.map(process::StreamCollector::finish).unwrap_or_default())
        }
        _ => {
            process::kill(child);
            Vec::new()
        }
    }
}

/// Parses lines such as `00000000:53:00.0, 345, 2619, 1980, 2619`, in MHz.
fn parse(text: &str) -> Vec<GpuClocks> {
    let gpu = |line: &str| {
        let mut columns = line.split(',').map(str::trim);
        let pci = columns.next()?.to_ascii_lowercase();
        // `nvidia-smi` prints the PCI domain with eight digits, whereas sysfs uses four.
        let pci = pci.strip_prefix("0000").unwrap_or(&pci).to_owned();
        // `nvidia-smi` prints `[N/A]` for an unsupported property.
        let mut megahertz = || columns.next().and_then(|text| text.parse().ok());
        Some(GpuClocks {
            pci: pci.contains(':').then_some(pci)?,
            sm_mhz: megahertz(),
            memory_mhz: megahertz(),
            max_sm_mhz: megahertz(),
            max_memory_mhz: megahertz(),
        })
    };
    text.lines().filter_map(gpu).take(MAX_GPUS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_clocks_of_each_gpu() {
        let text = "00000000:53:00.0, 345, 2619, 1980, 2619\n00000000:CA:00.0, [N/A], 2619, 1980, [N/A]\nNo devices\n";
        let clocks = parse(text);
        assert_eq!(clocks.len(), 2);
        assert_eq!(
            (clocks[0].pci.as_str(), clocks[0].max_sm_mhz),
            ("0000:53:00.0", Some(1980))
        );
        assert_eq!((clocks[1].pci.as_str(), clocks[1].sm_mhz), ("0000:ca:00.0", None));
        assert_eq!(clocks[1].memory_mhz, Some(2619));
    }
}
