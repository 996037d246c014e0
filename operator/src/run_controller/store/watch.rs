//! One watch of one kind, for as long as the process lives. I/O.

use std::fmt::Debug;
use std::pin::pin;

use futures::StreamExt;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;
use tracing::{debug, warn};

use super::Mirror;
use crate::cause::root_cause;

/// What a watch is told to follow.
pub(in crate::run_controller) struct Scope<T> {
    /// Its number: unique among the watches of one [`Mirror`].
    pub(in crate::run_controller) number: usize,
    /// What is followed, for the log.
    pub(in crate::run_controller) kind: &'static str,
    /// Where.
    pub(in crate::run_controller) api: Api<T>,
    /// Which.
    pub(in crate::run_controller) config: watcher::Config,
    /// Told when the first list is complete.
    pub(in crate::run_controller) complete: oneshot::Sender<()>,
}

/// Follows `scope` into `mirror`: `keep` reduces an object to its key and what is kept of it, `changed` is called with each
/// that came or went, or of which that changed: heartbeats and the like are passed over.
pub(in crate::run_controller) async fn watch<T, K, V>(
    scope: Scope<T>,
    mirror: &Mirror<K, V>,
    keep: impl Fn(T) -> Option<(K, V)>,
    changed: impl Fn(&K, &V),
) where
    T: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    K: Clone + Ord,
    V: Clone + PartialEq,
{
    let Scope {
        number,
        kind,
        api,
        config,
        complete,
    } = scope;
    let mut first = Some(complete);
    let listed = watcher(api.clone(), config.clone()).default_backoff();
    let streamed = watcher(api, config.streaming_lists()).default_backoff();
    // The stream of lists costs less memory on both sides; an API server that does not know it says so at once.
    let streamed = streamed.take_while(|event| std::future::ready(!is_unknown_list(event)));
    let mut events = pin!(streamed.chain(listed));
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                let cause = root_cause(&error);
                warn!(kind, cause, "a watch does not go on; it is begun again");
                continue;
            }
        };
        match event {
            Event::Init => mirror.begin(number),
            Event::Apply(object) | Event::InitApply(object) => {
                let Some((key, value)) = keep(object) else {
                    continue;
                };
                if mirror.put(number, key.clone(), value.clone()).as_ref() != Some(&value) {
                    changed(&key, &value);
                }
            }
            Event::Delete(object) => {
                let Some((key, value)) = keep(object) else {
                    continue;
                };
                mirror.remove(&key);
                changed(&key, &value);
            }
            Event::InitDone => {
                for (key, value) in mirror.complete(number) {
                    changed(&key, &value);
                }
                debug!(kind, number, "the cache is complete");
                if let Some(first) = first.take() {
                    // Whoever waited for it has ended.
                    let _ = first.send(());
                }
            }
        }
    }
}

/// Whether the API server cannot send a list as the beginning of a watch.
fn is_unknown_list<T>(event: &Result<Event<T>, watcher::Error>) -> bool {
    let Err(watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error)) = event
    else {
        return false;
    };
    matches!(error, kube::Error::Api(status) if matches!(status.code, 400 | 422))
}
