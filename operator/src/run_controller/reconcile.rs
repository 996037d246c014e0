//! One look at one run: persist what was read, observe, decide, do the one thing; again until there is nothing to do. I/O.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crds::v1alpha1::BenchmarkRun;
use jiff::Timestamp;
use kube::Api;
use kube::api::{ApiResource, DynamicObject};
use kube::core::error_boundary::InvalidObject;
use snafu::Snafu;
use tracing::{Instrument, debug, info_span, warn};

use super::act::{Look, Next};
use super::apply::ApplyError;
use super::context::Context;
use super::decide::decide;
use super::observe::{self, Current, ListError};
use super::queue::Again;
use super::records::RecordsError;
use super::session::Session;
use super::store::{RunKey, StoredRun};
use super::update_status::{StatusError, Target};
use crate::campaign::status;
use crate::events;

/// Most things done for one run in one look; what is left is done in the next, after others had their turn.
const MAX_STEPS: usize = 16;
/// When a run is looked at again that did so many things at once.
const SOON: Duration = Duration::from_millis(100);

/// Why a look at a run failed. The next one begins anew.
#[derive(Debug, Snafu)]
pub enum LookError {
    /// An object could not be created or deleted.
    #[snafu(transparent)]
    Apply {
        /// Why not.
        source: ApplyError,
    },
    /// The status could not be written.
    #[snafu(transparent)]
    Status {
        /// Why not.
        source: StatusError,
    },
    /// Pods could not be listed.
    #[snafu(transparent)]
    List {
        /// Why not.
        source: ListError,
    },
    /// Records could not be read or written.
    #[snafu(transparent)]
    Records {
        /// Why not.
        source: RecordsError,
    },
    /// The records could not be evaluated.
    #[snafu(display("the records cannot be evaluated: {message}"))]
    Evaluate {
        /// Why not.
        message: String,
    },
}

impl LookError {
    /// The label of the metric.
    fn category(&self) -> &'static str {
        match self {
            Self::Apply { source } => source.category(),
            Self::Status { source } => source.category(),
            Self::List { .. } => "List",
            Self::Records { source } => source.category(),
            Self::Evaluate { .. } => "Evaluate",
        }
    }
}

/// Looks at the run `key` and does what it needs next.
pub(super) async fn look(context: Arc<Context>, key: RunKey) -> Again {
    let span = info_span!("look", run = %key);
    async {
        let began = Instant::now();
        let ended = reconcile(&context, &key).await;
        let category = ended.as_ref().err().map(LookError::category);
        context.metrics.reconciled(began.elapsed(), category);
        match ended {
            Ok(again) => again,
            // What was changed meanwhile comes with its own look.
            Err(LookError::Status {
                source: StatusError::Changed { source },
            }) => {
                debug!(%source, "the run was changed while it was looked at");
                Again::Backoff
            }
            Err(error) => {
                warn!(%error, "this look failed; there will be another");
                Again::Backoff
            }
        }
    }
    .instrument(span)
    .await
}

async fn reconcile(context: &Arc<Context>, key: &RunKey) -> Result<Again, LookError> {
    let stored = context.runs.get(key);
    let run = match &stored {
        None => {
            context.forget(key);
            return Ok(Again::OnChange);
        }
        Some(StoredRun::Unreadable(invalid)) => {
            refuse_unreadable(context, key, invalid).await?;
            return Ok(Again::OnChange);
        }
        Some(StoredRun::Run(run)) => run,
    };
    let uid = run.metadata.uid.as_deref().unwrap_or_default();
    let session = context.sessions.of(key, uid);
    let mut session = session.lock().await;
    let again = steps(context, key, run, uid, &mut session).await;
    session.rest();
    let finished = Current::of(key, run, uid, &mut session)
        .kept()
        .finished_at
        .is_some();
    let writing = session.written.is_some();
    drop(session);
    if finished && !writing {
        context.sessions.forget(key);
    }
    again
}

async fn steps(
    context: &Arc<Context>,
    key: &RunKey,
    run: &BenchmarkRun,
    uid: &str,
    session: &mut Session,
) -> Result<Again, LookError> {
    let mut listed = None;
    for _ in 0..MAX_STEPS {
        let current = Current::of(key, run, uid, session);
        let mut look = Look {
            context,
            current,
            session,
        };
        look.persist().await?;
        let finished = look.current.kept().finished_at.is_some();
        let facts = observe::facts(run, finished, look.session);
        let observed = observe::observe(context, &look.current, look.session, listed.take());
        let decision = decide(&facts, &observed, Timestamp::now());
        drop(observed);
        debug!(action = ?decision.action, "decided");
        match look.act(decision).await? {
            Next::Again => {}
            Next::Listed(pods) => listed = Some(pods),
            Next::Ends(again) => return Ok(again),
        }
    }
    Ok(Again::After(SOON))
}

/// Says why an object cannot be read, once for each version of its spec.
async fn refuse_unreadable(
    context: &Context,
    key: &RunKey,
    invalid: &InvalidObject,
) -> Result<(), StatusError> {
    let metadata = &invalid.metadata;
    let version = (metadata.uid.clone(), metadata.generation);
    if !context.tell_once(key, version) {
        return Ok(());
    }
    let why = fault(context, key, invalid).await;
    let message =
        format!("this object cannot be read as a BenchmarkRun: {why}. Delete it, and make a new run");
    let refused = status::refused(&message, metadata.generation, &Timestamp::now().to_string(), None);
    let target = Target {
        key,
        uid: metadata.uid.as_deref().unwrap_or_default(),
        version: metadata.resource_version.as_deref().unwrap_or_default(),
        before: None,
    };
    match context.writer.write(&target, &refused).await {
        Ok(_) => Ok(()),
        // Where not even a status is taken, an event says why.
        Err(StatusError::Invalid { .. }) => {
            let events = events::between(None, &refused);
            context.writer.tell(&target, &events).await;
            Ok(())
        }
        Err(error) => {
            context.tell_again(key);
            Err(error)
        }
    }
}

/// Why an object cannot be read, with the path of the field: the cache knows the reason alone, so the object is read once
/// more.
async fn fault(context: &Context, key: &RunKey, invalid: &InvalidObject) -> String {
    let kind = ApiResource::erase::<BenchmarkRun>(&());
    let client = context.writer.client.clone();
    let api: Api<DynamicObject> = Api::namespaced_with(client, &key.namespace, &kind);
    let object = api.get(&key.name).await;
    let object = object
        .inspect_err(|error| warn!(%error, "the object cannot be read for its faulty field"))
        .ok();
    let value = object.and_then(|object| serde_json::to_value(object).ok());
    let decoded = value.map(serde_path_to_error::deserialize::<_, BenchmarkRun>);
    match decoded {
        Some(Err(error)) => format!("{}: {}", error.path(), error.inner()),
        // It changed meanwhile, or is not to be had: there will be another look.
        Some(Ok(_)) | None => invalid.error.clone(),
    }
}
