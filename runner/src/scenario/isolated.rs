//! Code shared by the scenarios that run processes on the initiator's machine: calls that do not use the arm's
//! transport, and memory footprints. The target makes no calls and sleeps.

mod check;

use std::thread;
use std::time::Duration;

use crds::record::{CaseFailure, FailureReason};
use crds::units::Size;

pub(super) use check::{Checked, check, check_sharing, samples};

use super::case_protocol::Work;
use super::engine::{Engine, failure};
use crate::environment;
use crate::topology::SystemRoots;
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
        }
    }
    Ok(())
}

/// Checks that `needed` bytes for `purpose` are available, so that no process is swapped out or killed.
pub(super) fn check_available(needed: u64, purpose: &str) -> Result<(), CaseFailure> {
    match environment::available_memory(&SystemRoots::default()) {
        Some(available) if available.bytes < needed => Err(failure(
            FailureReason::NotEnoughMemory,
            format!(
                "{purpose} need {}, but {} has only {} available",
                Size(needed),
                available.source.name(),
                Size(available.bytes)
            ),
        )),
        _ => Ok(()),
    }
}
