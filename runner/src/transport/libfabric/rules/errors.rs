//! Classifies error numbers. Performs no I/O.

use crate::transport::PostError;
use crds::record::FailureReason;
use libfabric_sys::bindings::{
    FI_EAGAIN, FI_ECANCELED, FI_ECONNABORTED, FI_ECONNREFUSED, FI_ECONNRESET, FI_EHOSTDOWN, FI_EHOSTUNREACH,
    FI_EINVAL, FI_EMSGSIZE, FI_ENETDOWN, FI_ENETUNREACH, FI_ENOSYS, FI_ENOTCONN, FI_EOPNOTSUPP, FI_ESHUTDOWN,
    FI_ETIMEDOUT,
};

/// Classifies a negative return code from a posting call.
pub(in crate::transport::libfabric) fn post_error(code: isize) -> PostError {
    let number = i32::try_from(-code).unwrap_or(i32::MAX);
    match number {
        FI_EAGAIN => PostError::Again,
        FI_ENOSYS | FI_EOPNOTSUPP | FI_EINVAL | FI_EMSGSIZE => PostError::Refused(number),
        other => PostError::Failed(other),
    }
}

/// Classifies the error numbers from a failed completion.
///
/// When a connection ends, a provider cancels the queued operations with FI_ECANCELED. The provider's own error number
/// then indicates the cause: a lost peer, or an operation that the peer refused.
pub(in crate::transport::libfabric) fn completion_failure_reason(
    number: i32,
    provider: i32,
) -> FailureReason {
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
    fn distinguishes_a_full_queue_a_refusal_and_a_failure() {
        assert_eq!(post_error(-(FI_EAGAIN as isize)), PostError::Again);
        assert_eq!(post_error(-(FI_ENOSYS as isize)), PostError::Refused(FI_ENOSYS));
        assert_eq!(
            post_error(-(FI_ECONNRESET as isize)),
            PostError::Failed(FI_ECONNRESET)
        );
    }

    #[test]
    fn reports_a_broken_connection_as_a_lost_peer() {
        assert_eq!(
            completion_failure_reason(FI_ECONNRESET, 0),
            FailureReason::PeerLost
        );
        assert_eq!(
            completion_failure_reason(FI_EINVAL, 0),
            FailureReason::CompletionFailed
        );
    }

    #[test]
    fn classifies_a_cancelled_operation_by_the_provider_error() {
        assert_eq!(
            completion_failure_reason(FI_ECANCELED, FI_ENOTCONN),
            FailureReason::PeerLost
        );
        assert_eq!(
            completion_failure_reason(FI_ECANCELED, FI_EINVAL),
            FailureReason::CompletionFailed
        );
    }
}
