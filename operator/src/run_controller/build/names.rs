//! Names of an attempt's objects. Performs no I/O.
//!
//! The names depend only on the run's UID, the leg and the attempt, so that a retried creation finds the existing
//! object. The host name of a pod consists of the Job's name and the pod's index, and must be a DNS label.

use sha2::{Digest, Sha256};

use crate::run_controller::attempt_id::AttemptId;

/// Number of hex digits taken from the digest of the UID (40 bits). If the digits of two runs are equal, the owner UID
/// still distinguishes their objects.
const DIGITS: usize = 10;

/// Returns the name that all objects of `attempt` share: at most 37 characters. `uid` is the
/// run's UID.
pub fn attempt(uid: &str, attempt: AttemptId) -> String {
    let AttemptId { leg, attempt } = attempt;
    format!("fb-{}-l{leg}-a{attempt}", short_uid(uid))
}

/// Returns the name of the ConfigMap that holds part `part` (starting at 0) of a record chain. `uid` is the run's UID.
pub fn records(uid: &str, part: u32) -> String {
    format!("fb-{}-records-{part}", short_uid(uid))
}

/// Returns the DNS name of an attempt's worker 0 within the namespace.
pub fn coordinator(uid: &str, id: AttemptId) -> String {
    let name = attempt(uid, id);
    format!("{name}-0.{name}")
}

fn short_uid(uid: &str) -> String {
    let digest = crds::record::hex(&Sha256::digest(uid.as_bytes()));
    digest.chars().take(DIGITS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_name_with_a_pod_index_is_a_dns_label() {
        let longest = AttemptId {
            leg: u32::MAX,
            attempt: u32::MAX,
        };
        let name = attempt("2f1c7f0e-0000-4000-8000-000000000000", longest);
        assert_eq!(name.len(), 37);
        assert!(format!("{name}-63").len() <= 63);
        assert!(
            name.chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        );
    }

    #[test]
    fn names_depend_on_uid_leg_and_attempt() {
        let id = AttemptId { leg: 3, attempt: 2 };
        assert_eq!(attempt("a", id), "fb-ca978112ca-l3-a2");
        assert_eq!(coordinator("a", id), "fb-ca978112ca-l3-a2-0.fb-ca978112ca-l3-a2");
        assert_ne!(attempt("a", id), attempt("b", id));
        assert_eq!(records("a", 0), "fb-ca978112ca-records-0");
    }
}
