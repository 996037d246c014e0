//! One look at one run: persist what was read, observe, decide, do the one thing; again until there is nothing to do. I/O.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crds::v1alpha1::BenchmarkRun;
use jiff::Timestamp;
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
use super::unreadable;
use super::update_status::{StatusError, Target};
use crate::events;
use crate::metrics::operator::Category;

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
    /// The run cannot be read from where it is kept.
    #[snafu(display("the run cannot be read again: {message}"))]
    Unpack {
        /// Why not.
        message: String,
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
    /// Whether the run is another by now, which is no fault.
    fn is_change(&self) -> bool {
        match self {
            Self::Status { source } => matches!(source, StatusError::Changed { .. }),
            Self::Apply { source } => source.is_change(),
            _ => false,
        }
    }

    /// The label of the metric.
    fn category(&self) -> Category {
        match self {
            Self::Apply { source } => source.category(),
            Self::Status { source } => source.category(),
            Self::List { .. } => Category::ListFailed,
            Self::Unpack { .. } => Category::EncodingFailed,
            Self::Records { source } => source.category(),
            Self::Evaluate { .. } => Category::EvaluationFailed,
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
            Err(error) if error.is_change() => {
                debug!(%error, "the run was changed while it was looked at");
                Again::Backoff
            }
            Err(error) => {
                warn!(%error, "this look failed; there will be another");
                failed(&context, &key, &error).await;
                Again::Backoff
            }
        }
    }
    .instrument(span)
    .await
}

/// Tells who looks at the run what cannot be done for it, and lets others have their turn.
async fn failed(context: &Context, key: &RunKey, error: &LookError) {
    let Some(stored) = context.runs.get(key) else {
        return;
    };
    observe::note_gang(context, &stored);
    let (uid, version) = stored.version();
    let target = Target {
        key,
        uid: uid.unwrap_or_default(),
        version: version.unwrap_or_default(),
        before: None,
    };
    let event = events::reconcile_failed(error.category().as_str(), &error.to_string());
    context.writer.tell(&target, &[event]).await;
}

async fn reconcile(context: &Arc<Context>, key: &RunKey) -> Result<Again, LookError> {
    let stored = context.runs.get(key);
    let run = &match &stored {
        None => {
            context.forget(key);
            return Ok(Again::OnChange);
        }
        Some(StoredRun::Unreadable(object)) => return unreadable::look(context, key, object).await,
        Some(StoredRun::Run(run, _)) => run.unpack().map_err(|message| LookError::Unpack { message })?,
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
        let facts = observe::facts(context, &look.current, look.session);
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
