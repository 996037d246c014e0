//! Leader election by a Lease: at most one replica acts. I/O; what to do with a Lease that was read is decided in `step`.
//!
//! The kept library for this compares clocks of different nodes and takes an expired Lease without comparing its
//! version, so that two replicas may lead for a moment. Here every write carries the version that was read, and
//! another's Lease is expired when it did not change for its whole duration of this replica's own clock.

mod step;

use std::fmt;
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
use step::{Seen, Step, step};

/// A Lease that is not renewed for so long may be taken.
const LEASE_SECONDS: i32 = 15;
/// Time between two renewals, and between two looks at another's Lease.
const RENEW_EVERY: Duration = Duration::from_secs(5);
/// A leader that could not renew for so long stops, well before another may begin.
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// Time between two tries of a write that failed.
const RETRY: Duration = Duration::from_secs(1);

/// Namespace and name of the Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for LeaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Why this replica does not lead.
#[derive(Debug, Snafu)]
pub enum LeaderError {
    /// The account may not use the Lease: waiting does not help.
    #[snafu(display("the Lease {lease} cannot be used: {source}. Allow get, create and update of it"))]
    Refused {
        /// The Lease.
        lease: LeaseName,
        /// What the API server says.
        source: kube::Error,
    },
    /// Another replica has it.
    #[snafu(display("the Lease {lease} was taken by {holder}"))]
    Taken {
        /// The Lease.
        lease: LeaseName,
        /// Who has it.
        holder: String,
    },
    /// It could not be renewed in time.
    #[snafu(display("the Lease {lease} could not be renewed within {RENEW_DEADLINE:?}"))]
    Expired {
        /// The Lease.
        lease: LeaseName,
    },
}

/// One replica's part in an election.
pub(super) struct Election {
    api: Api<Lease>,
    lease: LeaseName,
    identity: String,
    seen: Option<Seen>,
}

impl Election {
    /// A replica with an identity of its own: the pod's name where there is one, so that people know it.
    pub(super) fn new(client: Client, lease: &LeaseName) -> Self {
        let uname = rustix::system::uname();
        let host = uname.nodename().to_string_lossy();
        Self {
            api: Api::namespaced(client, &lease.namespace),
            lease: lease.clone(),
            identity: format!("{host}_{}", uuid::Uuid::new_v4()),
            seen: None,
        }
    }

    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    /// Ends when this replica leads.
    ///
    /// # Errors
    /// When the account may not use the Lease.
    pub(super) async fn acquire(&mut self) -> Result<(), LeaderError> {
        loop {
            let Ok(once) = timeout(RENEW_DEADLINE, self.once()).await else {
                warn!(lease = %self.lease, "the API server does not answer");
                continue;
            };
            match once {
                Ok(Held::Mine) => return Ok(()),
                Ok(Held::Theirs(holder)) => debug!(lease = %self.lease, holder, "waiting"),
                Err(source) if refused(&source) => {
                    let lease = self.lease.clone();
                    return Err(LeaderError::Refused { lease, source });
                }
                Err(error) => {
                    let cause = root_cause(&error);
                    warn!(lease = %self.lease, cause, "cannot use the Lease yet");
                }
            }
            sleep(RENEW_EVERY).await;
        }
    }

    /// Renews; ends when this replica must stop acting, and says why.
    pub(super) async fn hold(&mut self) -> LeaderError {
        loop {
            sleep(RENEW_EVERY).await;
            match timeout(RENEW_DEADLINE - RENEW_EVERY, self.renew()).await {
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
            match self.once().await {
                Ok(Held::Mine) => return Ok(()),
                Ok(Held::Theirs(holder)) => {
                    let lease = self.lease.clone();
                    return Err(LeaderError::Taken { lease, holder });
                }
                Err(error) => warn!(lease = %self.lease, %error, "the Lease is not renewed"),
            }
            sleep(RETRY).await;
        }
    }

    /// Gives the Lease to whoever waits; where that fails, they wait for its end.
    pub(super) async fn release(&mut self) {
        if timeout(RENEW_DEADLINE, self.give_back()).await.is_err() {
            warn!(lease = %self.lease, "the API server does not answer; the Lease ends by itself");
        }
    }

    async fn give_back(&self) {
        let current = self.api.get_opt(&self.lease.name).await;
        let Ok(Some(mut lease)) = current else { return };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() != Some(self.identity.as_str()) {
            return;
        }
        spec.holder_identity = None;
        if let Err(error) = self.replace(&lease).await {
            warn!(lease = %self.lease, %error, "the Lease is not given back; it ends by itself");
        }
    }

    /// One look at the Lease and, where it is this replica's turn, one write.
    async fn once(&mut self) -> Result<Held, kube::Error> {
        let current = self.api.get_opt(&self.lease.name).await?;
        let now = Instant::now();
        if let Some(lease) = &current {
            self.seen = Some(Seen::again(self.seen.take(), lease, now));
        }
        let written = match step(current.as_ref(), self.seen.as_ref(), &self.identity, now) {
            Step::Wait { holder } => return Ok(Held::Theirs(holder)),
            Step::Create => {
                let lease = self.write_over(None);
                self.api.create(&PostParams::default(), &lease).await
            }
            Step::Take | Step::Renew => {
                let lease = self.write_over(current);
                self.replace(&lease).await
            }
        };
        match written {
            Ok(_) => Ok(Held::Mine),
            // Another was faster; the next look says who.
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {
                Ok(Held::Theirs("another replica".to_owned()))
            }
            Err(error) => Err(error),
        }
    }

    async fn replace(&self, lease: &Lease) -> Result<Lease, kube::Error> {
        self.api
            .replace(&self.lease.name, &PostParams::default(), lease)
            .await
    }

    /// The Lease as this replica writes it, over the one that was read, whose version it keeps.
    fn write_over(&self, current: Option<Lease>) -> Lease {
        let mut lease = current.unwrap_or_else(|| Lease {
            metadata: ObjectMeta {
                name: Some(self.lease.name.clone()),
                ..ObjectMeta::default()
            },
            spec: None,
        });
        let before = lease.spec.take().unwrap_or_default();
        let now = MicroTime(Timestamp::now());
        let mine = before.holder_identity.as_deref() == Some(self.identity.as_str());
        let transitions = before.lease_transitions.unwrap_or(0);
        lease.spec = Some(LeaseSpec {
            acquire_time: if mine {
                before.acquire_time
            } else {
                Some(now.clone())
            },
            holder_identity: Some(self.identity.clone()),
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

/// Whose the Lease is.
enum Held {
    Mine,
    Theirs(String),
}

fn refused(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403 || status.code == 401)
}
