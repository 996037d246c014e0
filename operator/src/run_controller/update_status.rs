//! Writes the status: one write, only where it says something new; then the events; then the metrics. I/O.

use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus, Condition};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::{Patch, PatchParams};
use kube::core::PartialObjectMeta;
use kube::runtime::events::{Event, Recorder};
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde_json::json;
use snafu::{ResultExt, Snafu};
use tracing::{info, warn};

use super::store::RunKey;
use crate::events;
use crate::metrics::operator::{Category, Metrics};

/// Why a status was not written.
#[derive(Debug, Snafu)]
pub enum StatusError {
    /// The run was changed or deleted since it was read; it is read again.
    #[snafu(display("the run was changed meanwhile: {source}"))]
    Changed {
        /// What the API server says.
        source: kube::Error,
    },
    /// The API server does not take it.
    #[snafu(display("writing the status: {source}"))]
    Write {
        /// Why not.
        source: kube::Error,
    },
    /// The API server refuses every write of this object: its spec does not satisfy the schema.
    #[snafu(display("the status cannot be written: {source}"))]
    Invalid {
        /// What the API server says.
        source: kube::Error,
    },
    /// It cannot be written as JSON.
    #[snafu(display("writing the status: {source}"))]
    Encode {
        /// Why not.
        source: serde_json::Error,
    },
}

impl StatusError {
    /// The label of the metric.
    pub(super) fn category(&self) -> Category {
        match self {
            Self::Changed { .. } => Category::Conflict,
            Self::Write { .. } => Category::StatusWriteFailed,
            Self::Invalid { .. } => Category::StatusRejected,
            Self::Encode { .. } => Category::EncodingFailed,
        }
    }
}

/// What writing needs.
#[derive(Clone)]
pub(super) struct Writer {
    /// The way to the API server.
    pub(super) client: Client,
    /// Where events go.
    pub(super) recorder: Recorder,
    /// The metrics.
    pub(super) metrics: Metrics,
}

/// A run as it was when its status was computed.
pub(super) struct Target<'a> {
    pub(super) key: &'a RunKey,
    pub(super) uid: &'a str,
    /// The version that was read: a status that was computed from another is not written over it.
    pub(super) version: &'a str,
    pub(super) before: Option<&'a BenchmarkRunStatus>,
}

impl Writer {
    /// Writes `status` where it differs from the one before, and gives the version of the run after that.
    pub(super) async fn write(
        &self,
        target: &Target<'_>,
        status: &BenchmarkRunStatus,
    ) -> Result<Option<String>, StatusError> {
        if target.before == Some(status) {
            self.metrics.status("unchanged");
            return Ok(None);
        }
        let patch = patch(target.version, "/status", status)?;
        let version = self.patch(target, patch).await?;
        self.tell(target, &events::between(target.before, status)).await;
        self.metrics.status("written");
        Ok(version)
    }

    /// The same for the conditions alone.
    pub(super) async fn write_conditions(
        &self,
        target: &Target<'_>,
        conditions: &[Condition],
    ) -> Result<Option<String>, StatusError> {
        if target.before.is_none_or(|before| before.conditions == conditions) {
            self.metrics.status("unchanged");
            return Ok(None);
        }
        let patch = patch(target.version, "/status/conditions", conditions)?;
        let version = self.patch(target, patch).await?;
        let after = BenchmarkRunStatus {
            conditions: conditions.to_vec(),
            ..BenchmarkRunStatus::default()
        };
        self.tell(target, &events::between(target.before, &after)).await;
        self.metrics.status("written");
        Ok(version)
    }

    async fn patch(
        &self,
        target: &Target<'_>,
        patch: json_patch::Patch,
    ) -> Result<Option<String>, StatusError> {
        let RunKey { namespace, name } = target.key;
        // The answer is read for its version only, so that a spec that cannot be read does no harm.
        let api: Api<PartialObjectMeta<BenchmarkRun>> = Api::namespaced(self.client.clone(), namespace);
        let written = api
            .patch_status(name, &PatchParams::default(), &Patch::Json::<()>(patch))
            .await;
        match written {
            Ok(written) => Ok(written.metadata.resource_version),
            Err(source) if is_changed(&source) => Err(StatusError::Changed { source }),
            Err(source) if is_invalid(&source) => Err(StatusError::Invalid { source }),
            Err(source) => Err(StatusError::Write { source }),
        }
    }

    /// Tells events, each once.
    pub(super) async fn tell(&self, target: &Target<'_>, events: &[Event]) {
        for event in events {
            let note = event.note.as_deref().unwrap_or_default();
            info!(run = %target.key, condition = event.action, reason = event.reason, "{note}");
            let reference = ObjectReference {
                api_version: Some(BenchmarkRun::api_version(&()).into_owned()),
                kind: Some(BenchmarkRun::kind(&()).into_owned()),
                namespace: Some(target.key.namespace.clone()),
                name: Some(target.key.name.clone()),
                uid: Some(target.uid.to_owned()),
                ..ObjectReference::default()
            };
            // The status says the same: a lost event is no reason to write it again.
            if let Err(error) = self.recorder.publish(event, &reference).await {
                warn!(run = %target.key, %error, "an event was not recorded");
            }
        }
    }
}

/// `value` instead of what was at `path` before, refused by the API server where the run has another version.
fn patch(
    version: &str,
    path: &str,
    value: &(impl Serialize + ?Sized),
) -> Result<json_patch::Patch, StatusError> {
    let operations = json!([
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        {"op": "add", "path": path, "value": value},
    ]);
    serde_json::from_value(operations).context(EncodeSnafu)
}

fn is_invalid(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 422)
}

fn is_changed(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_conflict() || status.is_not_found())
}

#[cfg(test)]
mod tests {
    use http::{Request, Response, StatusCode};
    use kube::client::Body;
    use kube::runtime::events::Reporter;
    use serde_json::Value;
    use tower_test::mock::pair;

    use super::*;

    /// Writes `status` over `before`, while the API server answers the first request with `code` and `body`, and any
    /// other with its own body. Gives the bodies of all requests.
    async fn written(
        before: &BenchmarkRunStatus,
        status: &BenchmarkRunStatus,
        code: u16,
        body: Value,
    ) -> (Result<Option<String>, StatusError>, Vec<Value>) {
        let (service, mut server) = pair::<Request<Body>, Response<Body>>();
        let client = Client::new(service, "n");
        let reporter = Reporter {
            controller: "test".to_owned(),
            instance: None,
        };
        let writer = Writer {
            recorder: Recorder::new(client.clone(), reporter),
            client,
            metrics: Metrics::new().unwrap(),
        };
        let key = RunKey {
            namespace: "n".to_owned(),
            name: "r".to_owned(),
        };
        let target = Target {
            key: &key,
            uid: "u",
            version: "7",
            before: Some(before),
        };
        let played = tokio::spawn(async move {
            let mut requests = Vec::new();
            let mut first = Some((StatusCode::from_u16(code).unwrap(), body));
            while let Some((request, send)) = server.next_request().await {
                let sent = request.into_body().collect_bytes().await.unwrap();
                let sent: Value = serde_json::from_slice(&sent).unwrap();
                let (code, body) = first.take().unwrap_or((StatusCode::CREATED, sent.clone()));
                requests.push(sent);
                let body = Body::from(serde_json::to_vec(&body).unwrap());
                send.send_response(Response::builder().status(code).body(body).unwrap());
            }
            requests
        });
        let outcome = writer.write(&target, status).await;
        drop(writer);
        (outcome, played.await.unwrap())
    }

    fn failed() -> BenchmarkRunStatus {
        crate::campaign::status::refused("spec.x: bad", Some(1), "2026-01-01T00:00:00Z", None)
    }

    #[tokio::test]
    async fn what_is_the_same_is_not_written() {
        let (outcome, requests) = written(&failed(), &failed(), 200, Value::Null).await;
        assert_eq!((outcome.unwrap(), requests.len()), (None, 0));
    }

    #[tokio::test]
    async fn one_write_of_the_version_that_was_read_and_then_the_event() {
        let answered = json!({"metadata": {"name": "r", "resourceVersion": "8"}});
        let (outcome, requests) = written(&BenchmarkRunStatus::default(), &failed(), 200, answered).await;
        assert_eq!(outcome.unwrap().as_deref(), Some("8"));
        assert_eq!(requests.len(), 2);
        assert_eq!(
            requests[0][0],
            json!({"op": "replace", "path": "/metadata/resourceVersion", "value": "7"})
        );
        assert_eq!(requests[0][1]["value"]["conditions"][0]["type"], "Accepted");
        assert_eq!(requests[1]["reason"], "InvalidSpec");
    }

    #[tokio::test]
    async fn a_run_that_was_changed_is_read_again_and_no_event_is_told() {
        let conflict =
            json!({"kind": "Status", "status": "Failure", "reason": "Conflict", "code": 409, "message": "m"});
        let (outcome, requests) = written(&BenchmarkRunStatus::default(), &failed(), 409, conflict).await;
        assert!(matches!(outcome, Err(StatusError::Changed { .. })));
        assert_eq!(requests.len(), 1);
    }
}
