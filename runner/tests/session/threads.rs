//! Tests of the number of threads of an instrument that is measuring.

use std::fs;

use crds::assignment::{Assignment, Workload};
use crds::record::Record;
use crds::v1alpha1::LibfabricProvider;
use rustix::process::{Pid, Signal, kill_process};

use super::gang::{Gang, eventually};
use super::plan::{assignment, endless, libfabric, loopback};

/// CPU time, in clock ticks of 10 ms, that a process uses within a case and not for the start of one.
const TICKS_OF_A_CASE: u64 = 20;

#[test]
fn one_measuring_thread_is_the_main_thread() {
    for transport in [loopback(), libfabric(LibfabricProvider::Tcp)] {
        assert_eq!(threads_while_measuring(assignment(2, transport, 1)), 1);
    }
}

/// A scenario with two threads also determines the threads of the other scenarios.
#[test]
fn with_several_measuring_threads_the_main_thread_only_waits() {
    let mut assignment = assignment(2, loopback(), 1);
    if let Workload::Transfer(transfer) = &mut assignment.scenarios[1].workload {
        transfer.threads = 2;
    }
    assert_eq!(threads_while_measuring(assignment), 2);
}

/// Number of threads of an instrument while it runs a case with one measuring thread.
fn threads_while_measuring(assignment: Assignment) -> usize {
    let mut gang = Gang::start(&endless(assignment), 0..2, &[]);
    gang.wait_for(|record| matches!(record, Record::Block(_)));
    let instrument = gang.instrument(0);
    let start = cpu_ticks(instrument);
    eventually(|| (cpu_ticks(instrument) >= start + TICKS_OF_A_CASE).then_some(()));
    let directory = format!("/proc/{}/task", instrument.as_raw_nonzero());
    let threads = fs::read_dir(directory).unwrap().count();
    kill_process(instrument, Signal::KILL).unwrap();
    drop(gang);
    threads
}

/// CPU time that `process` has used, in clock ticks, from `/proc/PID/stat` (proc(5), fields 14 and 15).
fn cpu_ticks(process: Pid) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    fields[11..13]
        .iter()
        .map(|ticks| ticks.parse::<u64>().unwrap())
        .sum()
}
