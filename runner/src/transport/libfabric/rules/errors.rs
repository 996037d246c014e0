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

/// What an error in a completion means. A provider cancels what was queued when something ends a connection, and
/// its own error number says what that was: the peer, or an operation that the peer refused.
pub(in crate::transport::libfabric) fn completion_failure(number: i32, provider: i32) -> FailureReason {
    let lost = if number == FI_ECANCELED {
        connection_is_lost(provider)
    } else {
        connection_is_lost(number)
    };
    if lost {
        FailureReason::PeerLost
    } else {
        FailureReason::CompletionFailed
    }
}

fn connection_is_lost(number: i32) -> bool {
    matches!(
        number,
        FI_ECONNABORTED
            | FI_ECONNREFUSED
            | FI_ECONNRESET
            | FI_EHOSTDOWN
            | FI_EHOSTUNREACH
            | FI_ENETDOWN
            | FI_ENETUNREACH
            | FI_ENOTCONN
            | FI_ESHUTDOWN
            | FI_ETIMEDOUT
    )
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
        assert_eq!(completion_failure(FI_ECONNRESET, 0), FailureReason::PeerLost);
        assert_eq!(completion_failure(FI_EINVAL, 0), FailureReason::CompletionFailed);
    }

    #[test]
    fn a_cancelled_operation_is_what_the_provider_says() {
        assert_eq!(
            completion_failure(FI_ECANCELED, FI_ENOTCONN),
            FailureReason::PeerLost
        );
        assert_eq!(
            completion_failure(FI_ECANCELED, FI_EINVAL),
            FailureReason::CompletionFailed
        );
    }
}
