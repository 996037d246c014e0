//! Integrity pass for processes on the initiator's machine. If the payload is in shared memory, page accounting must
//! show that both processes have mapped the same pages.

use crds::record::{CaseFailure, FailureReason};
use crds::v1alpha1::RpcChannel;

use super::wait_asleep;
use crate::extension::pages::MappedPages;
use crate::measure::deadline::Deadline;
use crate::scenario::case::Role;
use crate::scenario::check::finish;
use crate::scenario::engine::{Engine, failure};
use crate::scenario::program::Checked;
use crate::transport::Transport;

/// Number of checked samples. If the payload is larger than `MAX_REPEATED_BYTES`, only one sample is checked.
const SAMPLES: u64 = 2;
/// Largest payload that is checked more than once, in bytes.
const MAX_REPEATED_BYTES: u64 = 64 << 20;
/// Maximum sum of a shared payload's proportional set sizes over both processes, as a multiple of the payload size.
const MAX_COPIES: f64 = 1.01;

/// Executes `verify` on the initiator, and passes it the deadline of the case. The target's report is empty, because no payload
/// arrives there.
pub(in crate::scenario) fn check<T: Transport>(
    engine: &mut Engine<'_, T>,
    role: Role,
    verify: impl FnOnce(Deadline) -> Result<Checked, CaseFailure>,
) -> Result<Checked, CaseFailure> {
    engine.synchronize()?;
    let checked = match role {
        Role::Initiator => verify(engine.waiter.deadline())?,
        Role::Target => {
            wait_asleep(engine, "waiting for the initiator to check its calls", |engine| {
                engine.inbox.stop
            })?;
            Checked::default()
        }
    };
    finish(engine, role)?;
    Ok(checked)
}

/// Number of times that a payload of `bytes` bytes is checked.
pub(in crate::scenario) fn samples(bytes: u64) -> u64 {
    if bytes > MAX_REPEATED_BYTES { 1 } else { SAMPLES }
}

/// Verifies that a payload of `bytes` bytes is in memory only once while both processes have mapped it.
pub(in crate::scenario) fn check_sharing(
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
        "{channel:?}: host and extension map the same pages of a {bytes}-byte payload: {} bytes resident in each, {} \
         private, {:.2} copies",
        there.rss_bytes, there.private_bytes, copies
    ))
}

/// Evidence that an extension accessed a payload of `bytes` bytes on a GPU through the host's allocation.
pub(in crate::scenario) fn mapped_on_gpu(channel: RpcChannel, bytes: u64, gpu: u32) -> String {
    format!(
        "{channel:?}: the extension maps the host's allocation of a {bytes}-byte payload on GPU {gpu} through a CUDA IPC \
         handle, and every byte was read through this mapping"
    )
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
        check_sharing(RpcChannel::SharedMemory, 8000, here, there).is_ok()
    }

    #[test]
    fn pages_are_shared_only_if_identical_and_not_copied() {
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
