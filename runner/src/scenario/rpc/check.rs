//! The integrity pass of calls that do not use the transport of the arm: every byte of every payload that arrives is checked
//! by the process at which it arrives. If the payload is in shared memory, page accounting must show that both processes
//! have the same pages.

use std::time::Duration;

use crds::assignment::Workload;
use crds::record::{CaseFailure, FailureReason, IntegrityReport};
use crds::v1alpha1::RpcChannel;

use super::host::{Arguments, HostCalls, wait_asleep};
use crate::extension::pages::{self, MappedPages};
use crate::integrity::{Verifier, fill, pattern};
use crate::scenario::case::{Case, Role};
use crate::scenario::check::finish;
use crate::scenario::engine::{Engine, data_seed, failure};
use crate::transport::Transport;

/// Number of checked samples, of which there is only one if the payload is larger than `MAX_REPEATED_BYTES`.
const SAMPLES: u64 = 2;
/// Largest payload that is checked more than once, in bytes.
const MAX_REPEATED_BYTES: u64 = 64 << 20;
/// Maximum of the proportional set sizes of a shared payload, summed over both processes, as a multiple of its size.
const MAX_COPIES: f64 = 1.01;

/// Checks the calls of a case. Returns the report of this side, and the evidence of sharing. The report is empty at the
/// target, where no payload arrives.
pub(in crate::scenario) fn check<T: Transport>(
    engine: &mut Engine<'_, T>,
    case: &Case<'_>,
) -> Result<(IntegrityReport, Vec<String>), CaseFailure> {
    engine.synchronize()?;
    let checked = match (&case.scenario.workload, case.role) {
        (Workload::Rpc(workload), Role::Initiator) => {
            check_calls(workload.hops, workload.timeout_seconds, case)?
        }
        (Workload::MemoryFootprint(workload), Role::Initiator) => {
            check_calls(1, workload.timeout_seconds, case)?
        }
        _ => {
            wait_asleep(engine, "waiting for the initiator to check its calls", |engine| {
                engine.inbox.stop
            })?;
            (IntegrityReport::default(), Vec::new())
        }
    };
    finish(engine, case.role)?;
    Ok(checked)
}

fn check_calls(
    hops: u32,
    timeout_seconds: u32,
    case: &Case<'_>,
) -> Result<(IntegrityReport, Vec<String>), CaseFailure> {
    let limit = Duration::from_secs(timeout_seconds.into());
    let mut calls = HostCalls::start(hops, limit, case.arm.channel, case.size_bytes)?;
    let seed = data_seed(case.seed, Role::Initiator, 0);
    let mut local = Verifier::new(seed);
    let samples = if case.size_bytes > MAX_REPEATED_BYTES {
        1
    } else {
        SAMPLES
    };
    for transfer in 0..samples {
        match &mut calls.arguments {
            Arguments::Bytes(bytes) => pattern::fill(seed, transfer, 0, bytes),
            Arguments::Shared(memory) => fill(memory, 0, seed, transfer, case.size_bytes)?,
        }
        if let Some(extension) = &mut calls.extension {
            extension.check_payloads(seed, transfer)?;
        }
        calls.call()?;
        // The callee of a local call has the caller's own bytes.
        if let (None, Arguments::Bytes(bytes)) = (&calls.extension, &calls.arguments) {
            local.check_bytes(bytes, transfer);
        }
    }
    let Some(extension) = &mut calls.extension else {
        return Ok((local.report(samples), Vec::new()));
    };
    let mut evidence = Vec::new();
    if let Arguments::Shared(memory) = &calls.arguments {
        let there = extension.map(calls.arguments.payload())?;
        // The extension reports its pages while both processes have mapped them. Those of the host are read afterwards, to
        // identify the file.
        let here = pages::of_mapping(std::process::id(), memory);
        evidence.push(sharing(case.arm.channel, case.size_bytes, here.as_ref(), &there)?);
    }
    Ok((extension.report()?, evidence))
}

/// Proves that a payload of `bytes` bytes is in memory only once while both processes have mapped it.
fn sharing(
    channel: RpcChannel,
    bytes: u64,
    here: Option<&MappedPages>,
    there: &MappedPages,
) -> Result<String, CaseFailure> {
    let same_file = here.is_some_and(|here| (&here.device, here.inode) == (&there.device, there.inode));
    let is_resident = there.rss_bytes >= bytes;
    let shares_all = there.private_bytes == 0;
    let copies = 2.0 * there.pss_bytes as f64 / there.rss_bytes.max(1) as f64;
    if !(same_file && is_resident && shares_all && copies <= MAX_COPIES) {
        let message = format!(
            "{channel:?} did not share the payload of {bytes} bytes: the host has {here:?}, and the extension has {there:?}"
        );
        return Err(failure(FailureReason::OperationRejected, message));
    }
    Ok(format!(
        "{channel:?}: host and extension map the same pages of a payload of {bytes} bytes: {} bytes resident in each, {} \
         private, {:.2} copies",
        there.rss_bytes, there.private_bytes, copies
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(inode: u64, pss_bytes: u64, private_bytes: u64) -> MappedPages {
        MappedPages {
            device: "00:01".to_owned(),
            inode,
            mappings: 1,
            rss_bytes: 8192,
            pss_bytes,
            private_bytes,
        }
    }

    fn shares(here: Option<&MappedPages>, there: &MappedPages) -> bool {
        sharing(RpcChannel::SharedMemory, 8000, here, there).is_ok()
    }

    #[test]
    fn only_the_same_pages_without_copies_are_shared() {
        let here = pages(7, 4096, 0);
        assert!(shares(Some(&here), &pages(7, 4096, 0)));
        assert!(!shares(Some(&here), &pages(8, 4096, 0)), "another file");
        assert!(!shares(Some(&here), &pages(7, 8192, 8192)), "a private copy");
        assert!(!shares(Some(&here), &pages(7, 4096, 4)), "a private page");
        assert!(
            !shares(None, &pages(7, 4096, 0)),
            "nothing is known about the host"
        );
        let not_resident = MappedPages {
            rss_bytes: 4096,
            ..pages(7, 2048, 0)
        };
        assert!(!shares(Some(&here), &not_resident));
    }
}
