//! The sizes of messages and tensors, and the payloads of calls.

use crds::units::{MAX_MESSAGE_BYTES, Size};
use crds::v1alpha1::Rpc;

use super::reporter::Reporter;

/// Maximum size of a tensor, which is not transferred over a fabric.
pub(crate) const MAX_TENSOR_BYTES: u64 = 64 << 30;
/// Fix for a size or payload that a list contains twice.
const REMOVE_ONE: &str =
    "is in the list twice. Remove one; `spec.sampling.rounds` sets the number of repetitions";

/// Returns the valid `sizes` of the workload at `path`, in bytes, and reports the others.
pub(crate) fn check(path: &str, given: &[Size], max: u64, report: &mut Reporter) -> Vec<u64> {
    let mut sizes = Vec::new();
    for (index, size) in given.iter().copied().enumerate() {
        let problem = if !(1..=max).contains(&size.bytes()) {
            let max = Size(max);
            format!("{size} is not between 1 and {max} bytes. Choose another size")
        } else if sizes.contains(&size.bytes()) {
            format!("{size} {REMOVE_ONE}")
        } else {
            sizes.push(size.bytes());
            continue;
        };
        report.add(format!("{path}.sizes[{index}]"), problem);
    }
    sizes
}

/// Returns the sizes, in bytes, of the payloads of `given`, the calls at `path`. Reports duplicates, and payloads that no message
/// can contain if the calls are `over_transport`.
pub(crate) fn payloads(path: &str, given: &Rpc, over_transport: bool, report: &mut Reporter) -> Vec<u64> {
    let mut sizes = Vec::new();
    for (index, payload) in given.payloads.iter().copied().enumerate() {
        let bytes = payload.size().bytes();
        let problem = if sizes.contains(&bytes) {
            format!("{payload:?} {REMOVE_ONE}")
        } else if over_transport && bytes > MAX_MESSAGE_BYTES {
            let max = Size(MAX_MESSAGE_BYTES);
            format!(
                "{payload:?} is larger than {max}, the largest message of a transport. Set the channel of every \
                 variant to Local, UnixSocket, Tcp or SharedMemory, or remove the payload"
            )
        } else {
            sizes.push(bytes);
            continue;
        };
        report.add(format!("{path}.payloads[{index}]"), problem);
    }
    sizes
}
