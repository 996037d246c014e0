//! Compares the runner's transfers with those of NIXL's Python interface, over the same library and backend.

use std::path::Path;
use std::process::Command;

use crds::units::Size;
use crds::v1alpha1::MemoryKind;

use crate::Setting;
use crate::fabric::Fabric;
use crate::runner::{self, Case, WINDOW};
use crate::table::{NIXL_HEADER, Row};

/// Maximum duration of one run, as a `timeout` argument.
const DEADLINE: &str = "120";

/// Measures writes and reads of each size and prints a table. `python` is an interpreter that can import numpy, and
/// `library` is the directory with the unpacked NIXL wheel.
pub fn measure(python: &Path, library: &Path, sizes: &[u64], repeats: usize) {
    println!("\n{NIXL_HEADER}");
    let directory = library.to_path_buf();
    for (case, operation) in [(Case::Writes, "WRITE"), (Case::Reads, "READ")] {
        for &size in sizes {
            let setting = Setting {
                library: Some(&directory),
                fabric: Fabric::Nixl,
                memory: MemoryKind::Heap,
                size,
                cpus: [0, 1],
            };
            let transfers = setting.iterations(case);
            let mut row = Row::new(1);
            for repetition in 0..repeats {
                // The order alternates, so that no tool always runs in the same position.
                let (own, other);
                if repetition % 2 == 0 {
                    own = runner::measure(&setting, case).value;
                    other = measure_python(python, library, operation, size, transfers);
                } else {
                    other = measure_python(python, library, operation, size, transfers);
                    own = runner::measure(&setting, case).value;
                }
                row.add(own, other);
            }
            println!("| {operation} | {} |{}", Size(size), row.values());
        }
    }
}

fn measure_python(python: &Path, library: &Path, operation: &str, size: u64, transfers: u32) -> f64 {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/bench/nixl_loop.py");
    let output = Command::new("timeout")
        .arg(DEADLINE)
        .arg(python)
        .arg(script)
        .arg(operation)
        .args([size, WINDOW.into(), transfers.into()].map(|number| number.to_string()))
        .env("PYTHONPATH", library)
        .env("NIXL_LOG_LEVEL", "ERROR")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8_lossy(&output.stdout);
    let rate = text.trim().parse();
    assert!(rate.is_ok(), "{text}{errors}");
    rate.unwrap()
}
