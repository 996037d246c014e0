//! Leader election with a Lease: at most one replica is the leader. Performs I/O; `step` decides what to do with a
//! Lease.
//!
//! The available Rust leader-election library compares the clocks of different nodes and takes over an expired Lease
//! without checking its resourceVersion, so two replicas can briefly be leaders simultaneously. Here, every write
//! includes the resourceVersion that was read, and another replica's Lease is considered expired only if it has not
//! changed for its full duration, measured with the local clock.

mod identity;
mod step;

use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use snafu::Snafu;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use crate::cause::root_cause;
use crate::options::LeaseName;
use identity::Identity;
use step::{SeenLease, Step, step};

/// Duration of the Lease in seconds. Another replica may take over a Lease that has not been renewed for this long.
const LEASE_SECONDS: i32 = 15;
/// Interval between renewals, and between reads of a Lease held by another replica.
const RENEW_INTERVAL: Duration = Duration::from_secs(5);
/// A leader that has been unable to renew the Lease for this long stops before another replica can take it over.
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// Delay before a failed renewal is retried.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Error returned if this replica is not, or is no longer, the leader.
#[derive(Debug, Snafu)]
pub(crate) enum LeaderError {
    /// The service account is not permitted to use the Lease. This error is permanent.
    #[snafu(display(
        "cannot use the Lease {lease}: {source}. Grant the service account the verbs get, create and update on leases.coordination.k8s.io"
    ))]
    Forbidden {
        /// Name of the Lease.
        lease: LeaseName,
        /// Cause.
        source: kube::Error,
    },
    /// Another replica holds the Lease.
    #[snafu(display("the Lease {lease} is held by {holder}"))]
    Taken {
        /// Name of the Lease.
        lease: LeaseName,
        /// Identity of the holder.
        holder: String,
    },
    /// The Lease could not be renewed in time.
    #[snafu(display("the Lease {lease} could not be renewed within {RENEW_DEADLINE:?}"))]
    Expired {
        /// Name of the Lease.
        lease: LeaseName,
    },
}

/// Participation of one replica in the election.
pub(super) struct Election {
    api: Api<Lease>,
    lease: LeaseName,
    identity: Identity,
    seen: Option<SeenLease>,
}

impl Election {
    /// Creates a participant.
    pub(super) fn new(client: Client, lease: &LeaseName) -> Self {
        Self {
            api: Api::namespaced(client, &lease.namespace),
            lease: lease.clone(),
            identity: Identity::new(lease),
            seen: None,
        }
    }

    pub(super) fn identity(&self) -> &str {
        self.identity.as_str()
    }

    /// Waits until this replica is the leader.
    ///
    /// # Errors
    /// Returns an error if the service account is not permitted to use the Lease.
    pub(super) async fn acquire(&mut self) -> Result<(), LeaderError> {
        loop {
            let Ok(attempt) = timeout(RENEW_DEADLINE, self.try_acquire()).await else {
                warn!(lease = %self.lease, "the API server is not responding");
                continue;
            };
            match attempt {
                Ok(LeaseHolder::Mine) => return Ok(()),
                Ok(LeaseHolder::Theirs(holder)) => {
                    debug!(lease = %self.lease, holder, "another replica is the leader")
                }
                Err(source) if is_forbidden(&source) => {
                    let lease = self.lease.clone();
                    return Err(LeaderError::Forbidden { lease, source });
                }
                Err(error) => {
                    let cause = root_cause(&error);
                    warn!(lease = %self.lease, %cause, "cannot use the Lease");
                }
            }
            sleep(RENEW_INTERVAL).await;
        }
    }

    /// Renews the Lease until this replica must stop, and returns the reason.
    pub(super) async fn hold(&mut self) -> LeaderError {
        loop {
            sleep(RENEW_INTERVAL).await;
            match timeout(RENEW_DEADLINE - RENEW_INTERVAL, self.renew()).await {
                Ok(Ok(())) => {}
                Ok(Err(lost)) => return lost,
                Err(_) => {
                    let lease = self.lease.clone();
                    return LeaderError::Expired { lease };
                }
            }
        }
    }

    async fn renew(&mut self) -> Result<(), LeaderError> {
        loop {
            match self.try_acquire().await {
                Ok(LeaseHolder::Mine) => return Ok(()),
                Ok(LeaseHolder::Theirs(holder)) => {
                    let lease = self.lease.clone();
                    return Err(LeaderError::Taken { lease, holder });
                }
                Err(error) => warn!(lease = %self.lease, %error, "failed to renew the Lease"),
            }
            sleep(RETRY_DELAY).await;
        }
    }

    /// Releases the Lease. If this fails, the Lease expires on its own.
    pub(super) async fn release(&mut self) {
        if timeout(RENEW_DEADLINE, self.clear_holder()).await.is_err() {
            warn!(lease = %self.lease, "the API server is not responding; the Lease will expire");
        }
    }

    async fn clear_holder(&self) {
        let current = self.api.get_opt(&self.lease.name).await;
        let Ok(Some(mut lease)) = current else { return };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() != Some(self.identity()) {
            return;
        }
        spec.holder_identity = None;
        if let Err(error) = self.replace(&lease).await {
            warn!(lease = %self.lease, %error, "failed to release the Lease; it will expire");
        }
    }

    /// Reads the Lease once and writes it if this replica may hold it.
    async fn try_acquire(&mut self) -> Result<LeaseHolder, kube::Error> {
        let current = self.api.get_opt(&self.lease.name).await?;
        let now = Instant::now();
        if let Some(lease) = &current {
            self.seen = Some(SeenLease::update(self.seen.take(), lease, now));
        }
        let written = match step(current.as_ref(), self.seen.as_ref(), self.identity(), now) {
            Step::Wait { holder } => return Ok(LeaseHolder::Theirs(holder)),
            Step::Create => {
                let lease = self.lease_to_write(None);
                self.api.create(&PostParams::default(), &lease).await
            }
            Step::Take | Step::Renew => {
                let lease = self.lease_to_write(current);
                self.replace(&lease).await
            }
        };
        match written {
            Ok(_) => Ok(LeaseHolder::Mine),
            // Another replica wrote the Lease first. The next read shows its identity.
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {
                Ok(LeaseHolder::Theirs("another replica".to_owned()))
            }
            Err(error) => Err(error),
        }
    }

    async fn replace(&self, lease: &Lease) -> Result<Lease, kube::Error> {
        self.api
            .replace(&self.lease.name, &PostParams::default(), lease)
            .await
    }

    /// Builds the Lease to write from the Lease that was read, including its resourceVersion.
    fn lease_to_write(&self, current: Option<Lease>) -> Lease {
        let mut lease = current.unwrap_or_else(|| Lease {
            metadata: ObjectMeta {
                name: Some(self.lease.name.clone()),
                ..ObjectMeta::default()
            },
            spec: None,
        });
        let before = lease.spec.take().unwrap_or_default();
        let now = MicroTime(Timestamp::now());
        let mine = before.holder_identity.as_deref() == Some(self.identity());
        let transitions = before.lease_transitions.unwrap_or(0);
        lease.spec = Some(LeaseSpec {
            acquire_time: if mine {
                before.acquire_time
            } else {
                Some(now.clone())
            },
            holder_identity: Some(self.identity().to_owned()),
            lease_duration_seconds: Some(LEASE_SECONDS),
            lease_transitions: Some(if mine {
                transitions
            } else {
                transitions.saturating_add(1)
            }),
            renew_time: Some(now),
            ..LeaseSpec::default()
        });
        lease
    }
}

/// Holder of the Lease.
enum LeaseHolder {
    Mine,
    Theirs(String),
}

fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403 || status.code == 401)
}
