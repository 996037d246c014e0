//! Watches one kind of object until the process ends. Performs I/O.

use std::fmt::Debug;
use std::pin::pin;

use futures::StreamExt;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;
use tracing::{debug, warn};

use super::Cache;
use crate::cause::root_cause;

/// The objects of one watch.
pub(in crate::run_controller) struct WatchScope<T> {
    /// Index of the watch, unique among the watches of one [`Cache`].
    pub(in crate::run_controller) number: usize,
    /// Kind of the objects, for the log.
    pub(in crate::run_controller) kind: &'static str,
    /// API client for the objects in the watched namespace, or in all namespaces.
    pub(in crate::run_controller) api: Api<T>,
    /// Selectors for the objects.
    pub(in crate::run_controller) config: watcher::Config,
    /// Receives a message when the initial list is complete.
    pub(in crate::run_controller) complete: oneshot::Sender<()>,
}

/// Keeps `cache` up to date with the objects of `scope`. `extract` reduces an object to its key and its cached value.
/// `changed` is called for each object that appears, disappears or gets a different cached value, but not for other
/// updates, such as node heartbeats.
pub(in crate::run_controller) async fn watch<T, K, V>(
    scope: WatchScope<T>,
    cache: &Cache<K, V>,
    extract: impl Fn(T) -> Option<(K, V)>,
    changed: impl Fn(&K, &V),
) where
    T: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    K: Clone + Ord,
    V: Clone + PartialEq,
{
    let WatchScope {
        number,
        kind,
        api,
        config,
        complete,
    } = scope;
    let mut first = Some(complete);
    let listed = watcher(api.clone(), config.clone()).default_backoff();
    let streamed = watcher(api, config.streaming_lists()).default_backoff();
    // Streaming lists need less memory in the client and in the API server. An API server that does not support them
    // rejects the first request.
    let streamed = streamed.take_while(|event| std::future::ready(!is_unsupported_list(event)));
    let mut events = pin!(streamed.chain(listed));
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                let cause = root_cause(&error);
                warn!(kind, %cause, "the watch failed and will be restarted");
                continue;
            }
        };
        match event {
            Event::Init => cache.start_list(number),
            Event::Apply(object) | Event::InitApply(object) => {
                let Some((key, value)) = extract(object) else {
                    continue;
                };
                if cache.insert(number, key.clone(), value.clone()).as_ref() != Some(&value) {
                    changed(&key, &value);
                }
            }
            Event::Delete(object) => {
                let Some((key, value)) = extract(object) else {
                    continue;
                };
                cache.remove(&key);
                changed(&key, &value);
            }
            Event::InitDone => {
                for (key, value) in cache.finish_list(number) {
                    changed(&key, &value);
                }
                debug!(kind, number, "the cache is complete");
                if let Some(first) = first.take() {
                    // The receiver may be gone at shutdown.
                    let _ = first.send(());
                }
            }
        }
    }
}

/// Whether `event` shows that the API server does not support streaming lists.
fn is_unsupported_list<T>(event: &Result<Event<T>, watcher::Error>) -> bool {
    let Err(watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error)) = event
    else {
        return false;
    };
    matches!(error, kube::Error::Api(status) if matches!(status.code, 400 | 422))
}
