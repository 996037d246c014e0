//! What an error number means to the caller.

use crate::transport::PostError;
use crds::record::FailureReason;
use libfabric_sys::bindings::{
    FI_EAGAIN, FI_ECANCELED, FI_ECONNABORTED, FI_ECONNREFUSED, FI_ECONNRESET, FI_EHOSTDOWN, FI_EHOSTUNREACH,
    FI_EINVAL, FI_EMSGSIZE, FI_ENETDOWN, FI_ENETUNREACH, FI_ENOSYS, FI_ENOTCONN, FI_EOPNOTSUPP, FI_ESHUTDOWN,
    FI_ETIMEDOUT,
};

/// What a negative return code of a posting call means.
pub(in crate::transport::libfabric) fn post_error(code: isize) -> PostError {
    let number = i32::try_from(-code).unwrap_or(i32::MAX);
    match number {
        FI_EAGAIN => PostError::Again,
        FI_ENOSYS | FI_EOPNOTSUPP | FI_EINVAL | FI_EMSGSIZE => PostError::Refused(number),
        other => PostError::Failed(other),
    }
}

/// What an error number in a completion means. Nothing is ever cancelled from this side, so a cancelled operation is
/// one whose connection went away while it was queued.
pub(in crate::transport::libfabric) fn completion_failure(number: i32) -> FailureReason {
    match number {
        FI_ECANCELED | FI_ECONNABORTED | FI_ECONNREFUSED | FI_ECONNRESET | FI_EHOSTDOWN | FI_EHOSTUNREACH
        | FI_ENETDOWN | FI_ENETUNREACH | FI_ENOTCONN | FI_ESHUTDOWN | FI_ETIMEDOUT => FailureReason::PeerLost,
        _ => FailureReason::CompletionFailed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_is_not_a_refusal_and_a_refusal_is_not_a_failure() {
        assert_eq!(post_error(-(FI_EAGAIN as isize)), PostError::Again);
        assert_eq!(post_error(-(FI_ENOSYS as isize)), PostError::Refused(FI_ENOSYS));
        assert_eq!(
            post_error(-(FI_ECONNRESET as isize)),
            PostError::Failed(FI_ECONNRESET)
        );
    }

    #[test]
    fn a_broken_connection_is_a_lost_peer() {
        assert_eq!(completion_failure(FI_ECONNRESET), FailureReason::PeerLost);
        assert_eq!(completion_failure(FI_EINVAL), FailureReason::CompletionFailed);
    }
}
