//! Code shared by the scenarios that run processes on the initiator's machine: calls that do not use the arm's
//! transport, and memory footprints. The target makes no calls and sleeps.

mod check;

use std::thread;
use std::time::Duration;

use crds::record::CaseFailure;

pub(super) use check::{check, check_sharing, mapped_on_gpu, samples};

use super::case_protocol::Work;
use super::engine::Engine;
use crate::extension::pages;
use crate::transport::Transport;

/// Polling interval of a side that only participates in the steps of a case.
const BYSTANDER_INTERVAL: Duration = Duration::from_millis(1);
/// Interval at which the host polls between samples, so that the transport can answer its peer.
pub(super) const POLL_INTERVAL_NANOS: u64 = 500_000_000;
/// Memory that an extension needs in addition to its payload, in bytes.
pub(super) const EXTENSION_BYTES: u64 = 16 << 20;

/// Side that makes no calls.
pub(super) struct IdleSide;

impl<T: Transport> Work<T> for IdleSide {
    fn serve(
        &mut self,
        engine: &mut Engine<'_, T>,
        activity: &'static str,
        until: impl Fn(&Engine<'_, T>) -> bool,
    ) -> Result<(), CaseFailure> {
        wait_asleep(engine, activity, until)
    }
}

/// Serves the peer until `until` returns true, and sleeps between polls, so that the CPUs are available to the host
/// and the extension.
pub(super) fn wait_asleep<T: Transport>(
    engine: &mut Engine<'_, T>,
    activity: &'static str,
    until: impl Fn(&Engine<'_, T>) -> bool,
) -> Result<(), CaseFailure> {
    while !until(engine) {
        if !engine.poll()? && !until(engine) {
            thread::sleep(BYSTANDER_INTERVAL);
            engine.idle(activity)?;
            if engine.waiter.deadline_has_passed() {
                return Err(engine.deadline_exceeded(activity));
            }
        }
    }
    Ok(())
}

/// Proportional set size of this process in bytes; `None` if the kernel does not report it.
pub(super) fn own_memory_bytes() -> Option<u64> {
    Some(pages::process_memory(std::process::id())?.pss_bytes)
}
