//! Decides the next step of a replica after it has read the Lease. Performs no I/O; the current time is an argument.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;

use super::LEASE_SECONDS;

/// Next step in the election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Create the Lease, which does not exist.
    Create,
    /// Take over the Lease, which has no holder or has expired.
    Take,
    /// Renew the Lease, which this replica holds.
    Renew,
    /// Wait, because another replica holds the Lease.
    Wait {
        /// Identity of the holder.
        holder: String,
    },
}

/// Version of the Lease, and the time at which this replica first saw it.
#[derive(Clone, Debug)]
pub(super) struct SeenLease {
    version: Option<String>,
    since: Instant,
}

impl SeenLease {
    /// Updates `before` for `lease`, which was read at `now`.
    pub(super) fn update(before: Option<Self>, lease: &Lease, now: Instant) -> Self {
        let version = lease.metadata.resource_version.clone();
        match before {
            Some(before) if before.version == version => before,
            _ => Self { version, since: now },
        }
    }
}

pub(super) fn step(lease: Option<&Lease>, seen: Option<&SeenLease>, identity: &str, now: Instant) -> Step {
    let Some(lease) = lease else {
        return Step::Create;
    };
    let spec = lease.spec.as_ref();
    let holder = spec
        .and_then(|spec| spec.holder_identity.as_deref())
        .unwrap_or_default();
    if holder.is_empty() {
        return Step::Take;
    }
    if holder == identity {
        return Step::Renew;
    }
    let duration_seconds = spec.and_then(|spec| spec.lease_duration_seconds);
    // The duration set by the holder applies, so that replicas running different releases agree.
    let seconds = duration_seconds
        .filter(|seconds| *seconds > 0)
        .unwrap_or(LEASE_SECONDS);
    let duration = Duration::from_secs(seconds.unsigned_abs().into());
    match seen {
        Some(seen) if now.duration_since(seen.since) > duration => Step::Take,
        _ => Step::Wait {
            holder: holder.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::coordination::v1::LeaseSpec;
    use kube::api::ObjectMeta;

    use super::*;

    fn lease(version: &str, holder: Option<&str>) -> Lease {
        Lease {
            metadata: ObjectMeta {
                resource_version: Some(version.to_owned()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: holder.map(str::to_owned),
                lease_duration_seconds: Some(15),
                ..LeaseSpec::default()
            }),
        }
    }

    #[test]
    fn lease_expires_only_without_renewal() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let waits = Step::Wait {
            holder: "other".to_owned(),
        };
        let first = lease("1", Some("other"));
        let seen = SeenLease::update(None, &first, start);
        assert_eq!(step(Some(&first), Some(&seen), "me", at(15)), waits);
        let renewed = lease("2", Some("other"));
        let seen_later = SeenLease::update(Some(seen.clone()), &renewed, at(14));
        assert_eq!(step(Some(&renewed), Some(&seen_later), "me", at(29)), waits);
        assert_eq!(step(Some(&renewed), Some(&seen_later), "me", at(30)), Step::Take);
        let same = SeenLease::update(Some(seen), &first, at(14));
        assert_eq!(step(Some(&first), Some(&same), "me", at(16)), Step::Take);
    }

    #[test]
    fn takes_over_a_free_lease_and_renews_its_own() {
        let now = Instant::now();
        assert_eq!(step(None, None, "me", now), Step::Create);
        assert_eq!(step(Some(&lease("1", None)), None, "me", now), Step::Take);
        assert_eq!(step(Some(&lease("1", Some(""))), None, "me", now), Step::Take);
        assert_eq!(step(Some(&lease("1", Some("me"))), None, "me", now), Step::Renew);
    }
}
