//! Classifies UCX's status codes. Performs no I/O.

use crate::transport::PostError;
use crds::record::FailureReason;
use ucx_sys::bindings::{
    UCS_ERR_BUFFER_TOO_SMALL, UCS_ERR_CANCELED, UCS_ERR_CONNECTION_RESET, UCS_ERR_ENDPOINT_TIMEOUT,
    UCS_ERR_EXCEEDS_LIMIT, UCS_ERR_FIRST_ENDPOINT_FAILURE, UCS_ERR_FIRST_LINK_FAILURE, UCS_ERR_INVALID_PARAM,
    UCS_ERR_LAST_ENDPOINT_FAILURE, UCS_ERR_MESSAGE_TRUNCATED, UCS_ERR_NO_MEMORY, UCS_ERR_NO_RESOURCE,
    UCS_ERR_NOT_CONNECTED, UCS_ERR_NOT_IMPLEMENTED, UCS_ERR_TIMED_OUT, UCS_ERR_UNREACHABLE,
    UCS_ERR_UNSUPPORTED, ucs_status_t,
};

/// Classifies the negative status of a posting call.
pub(in crate::transport::ucx) fn post_error(status: ucs_status_t) -> PostError {
    match status {
        UCS_ERR_NO_RESOURCE => PostError::Again,
        UCS_ERR_UNSUPPORTED | UCS_ERR_NOT_IMPLEMENTED => PostError::Refused(libc::EOPNOTSUPP),
        UCS_ERR_INVALID_PARAM => PostError::Refused(libc::EINVAL),
        UCS_ERR_EXCEEDS_LIMIT | UCS_ERR_BUFFER_TOO_SMALL => PostError::Refused(libc::EMSGSIZE),
        UCS_ERR_NO_MEMORY => PostError::Failed(libc::ENOMEM),
        UCS_ERR_CONNECTION_RESET => PostError::Failed(libc::ECONNRESET),
        UCS_ERR_UNREACHABLE => PostError::Failed(libc::EHOSTUNREACH),
        UCS_ERR_ENDPOINT_TIMEOUT | UCS_ERR_TIMED_OUT => PostError::Failed(libc::ETIMEDOUT),
        UCS_ERR_NOT_CONNECTED => PostError::Failed(libc::ENOTCONN),
        UCS_ERR_MESSAGE_TRUNCATED => PostError::Failed(libc::EMSGSIZE),
        // After an endpoint fails, UCX cancels every operation that is posted to it.
        lost if completion_failure_reason(lost) == FailureReason::PeerLost => {
            PostError::Failed(libc::ECONNRESET)
        }
        _ => PostError::Failed(libc::EIO),
    }
}

/// Classifies the status of a failed completion. After an endpoint fails, UCX cancels the operations on it.
pub(in crate::transport::ucx) fn completion_failure_reason(status: ucs_status_t) -> FailureReason {
    let endpoint_failed = (UCS_ERR_LAST_ENDPOINT_FAILURE..=UCS_ERR_FIRST_ENDPOINT_FAILURE).contains(&status)
        || (UCS_ERR_LAST_ENDPOINT_FAILURE..=UCS_ERR_FIRST_LINK_FAILURE).contains(&status);
    let lost = matches!(
        status,
        UCS_ERR_CONNECTION_RESET
            | UCS_ERR_NOT_CONNECTED
            | UCS_ERR_UNREACHABLE
            | UCS_ERR_TIMED_OUT
            | UCS_ERR_CANCELED
    );
    if endpoint_failed || lost {
        FailureReason::PeerLost
    } else {
        FailureReason::CompletionFailed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::failed_post_reason;

    #[test]
    fn distinguishes_a_full_queue_a_refusal_and_a_failure() {
        assert_eq!(post_error(UCS_ERR_NO_RESOURCE), PostError::Again);
        assert_eq!(
            post_error(UCS_ERR_UNSUPPORTED),
            PostError::Refused(libc::EOPNOTSUPP)
        );
        assert_eq!(
            post_error(UCS_ERR_CONNECTION_RESET),
            PostError::Failed(libc::ECONNRESET)
        );
    }

    #[test]
    fn a_post_to_a_failed_endpoint_reports_a_lost_peer() {
        for status in [
            UCS_ERR_CONNECTION_RESET,
            UCS_ERR_UNREACHABLE,
            UCS_ERR_ENDPOINT_TIMEOUT,
            UCS_ERR_NOT_CONNECTED,
            UCS_ERR_CANCELED,
            -40,
        ] {
            let PostError::Failed(errno) = post_error(status) else {
                panic!("{status}: {:?}", post_error(status));
            };
            assert_eq!(failed_post_reason(errno), FailureReason::PeerLost, "{status}");
        }
        let PostError::Failed(errno) = post_error(UCS_ERR_NO_MEMORY) else {
            panic!("{:?}", post_error(UCS_ERR_NO_MEMORY));
        };
        assert_eq!(failed_post_reason(errno), FailureReason::PostFailed);
    }

    #[test]
    fn reports_a_failed_endpoint_as_a_lost_peer() {
        for status in [
            UCS_ERR_CONNECTION_RESET,
            UCS_ERR_ENDPOINT_TIMEOUT,
            UCS_ERR_CANCELED,
            -40,
        ] {
            assert_eq!(
                completion_failure_reason(status),
                FailureReason::PeerLost,
                "{status}"
            );
        }
        assert_eq!(
            completion_failure_reason(UCS_ERR_MESSAGE_TRUNCATED),
            FailureReason::CompletionFailed
        );
    }
}
