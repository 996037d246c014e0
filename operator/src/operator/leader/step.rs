//! What a replica does with the Lease it read. Pure; the time comes in.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;

use super::LEASE_SECONDS;

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// There is no Lease.
    Create,
    /// Nobody has it, or its holder stopped renewing.
    Take,
    /// It is this replica's.
    Renew,
    /// Its holder renews.
    Wait {
        /// Who that is.
        holder: String,
    },
}

/// A version of the Lease, and when this replica saw it first.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    version: Option<String>,
    since: Instant,
}

impl Seen {
    /// What is known after `lease` was read at `now`.
    pub(super) fn again(before: Option<Self>, lease: &Lease, now: Instant) -> Self {
        let version = lease.metadata.resource_version.clone();
        match before {
            Some(before) if before.version == version => before,
            _ => Self { version, since: now },
        }
    }
}

pub(super) fn step(lease: Option<&Lease>, seen: Option<&Seen>, identity: &str, now: Instant) -> Step {
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
    let told = spec.and_then(|spec| spec.lease_duration_seconds);
    // Its holder's word counts, so that replicas of different versions agree.
    let seconds = told.filter(|seconds| *seconds > 0).unwrap_or(LEASE_SECONDS);
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
    fn a_holder_that_renews_keeps_it_and_one_that_does_not_loses_it() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let waits = Step::Wait {
            holder: "other".to_owned(),
        };
        let first = lease("1", Some("other"));
        let seen = Seen::again(None, &first, begin);
        assert_eq!(step(Some(&first), Some(&seen), "me", at(15)), waits);
        let renewed = lease("2", Some("other"));
        let seen_later = Seen::again(Some(seen.clone()), &renewed, at(14));
        assert_eq!(step(Some(&renewed), Some(&seen_later), "me", at(29)), waits);
        assert_eq!(step(Some(&renewed), Some(&seen_later), "me", at(30)), Step::Take);
        let same = Seen::again(Some(seen), &first, at(14));
        assert_eq!(step(Some(&first), Some(&same), "me", at(16)), Step::Take);
    }

    #[test]
    fn what_nobody_holds_is_taken_and_what_is_mine_renewed() {
        let now = Instant::now();
        assert_eq!(step(None, None, "me", now), Step::Create);
        assert_eq!(step(Some(&lease("1", None)), None, "me", now), Step::Take);
        assert_eq!(step(Some(&lease("1", Some(""))), None, "me", now), Step::Take);
        assert_eq!(step(Some(&lease("1", Some("me"))), None, "me", now), Step::Renew);
    }
}
