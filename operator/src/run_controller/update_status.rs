//! Writes a changed status in one request, then publishes its events and updates the metrics. Performs I/O.

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

/// Error writing a status.
#[derive(Debug, Snafu)]
pub(super) enum StatusError {
    /// The run has been changed or deleted since it was read.
    #[snafu(display("the run was changed concurrently: {source}"))]
    Changed {
        /// Response of the API server.
        source: kube::Error,
    },
    /// The request failed.
    #[snafu(display("cannot write the status: {source}"))]
    Write {
        /// Cause.
        source: kube::Error,
    },
    /// The API server rejects every write to the object, because its spec violates the schema.
    #[snafu(display("the API server rejects the status: {source}"))]
    Invalid {
        /// Response of the API server.
        source: kube::Error,
    },
    /// The status cannot be encoded as JSON.
    #[snafu(display("cannot encode the status: {source}"))]
    Encode {
        /// Cause.
        source: serde_json::Error,
    },
}

impl StatusError {
    /// Returns the error category for the error metric.
    pub(super) fn category(&self) -> Category {
        match self {
            Self::Changed { .. } => Category::Conflict,
            Self::Write { .. } => Category::StatusWriteFailed,
            Self::Invalid { .. } => Category::StatusRejected,
            Self::Encode { .. } => Category::EncodingFailed,
        }
    }
}

/// Writes statuses and publishes events.
#[derive(Clone)]
pub(super) struct Writer {
    /// Rate-limited client.
    pub(super) client: Client,
    pub(super) recorder: Recorder,
    pub(super) metrics: Metrics,
}

/// The version of a run from which a status was computed.
pub(super) struct RunVersion<'a> {
    pub(super) key: &'a RunKey,
    pub(super) uid: &'a str,
    /// Precondition of the write.
    pub(super) resource_version: &'a str,
    /// Status of the run at `resource_version`. `None` if it has no status yet.
    pub(super) status: Option<&'a BenchmarkRunStatus>,
}

impl Writer {
    /// Writes `status` if it differs from the previous one. Returns the new resource version of the run. `explanation` is
    /// the whole text of a condition that the status shortens.
    pub(super) async fn write(
        &self,
        version: &RunVersion<'_>,
        status: &BenchmarkRunStatus,
        explanation: Option<&str>,
    ) -> Result<Option<String>, StatusError> {
        if version.status == Some(status) {
            self.metrics.status("unchanged");
            return Ok(None);
        }
        let patch = patch(version.resource_version, "/status", status)?;
        let written = self.patch(version, patch).await?;
        self.publish(version, &events::between(version.status, status, explanation))
            .await;
        self.metrics.status("written");
        Ok(written)
    }

    /// Writes only the conditions, if they differ from the previous ones. Returns the new resource version of the run.
    pub(super) async fn write_conditions(
        &self,
        version: &RunVersion<'_>,
        conditions: &[Condition],
    ) -> Result<Option<String>, StatusError> {
        if version
            .status
            .is_none_or(|status| status.conditions == conditions)
        {
            self.metrics.status("unchanged");
            return Ok(None);
        }
        let patch = patch(version.resource_version, "/status/conditions", conditions)?;
        let written = self.patch(version, patch).await?;
        let after = BenchmarkRunStatus {
            conditions: conditions.to_vec(),
            ..BenchmarkRunStatus::default()
        };
        self.publish(version, &events::between(version.status, &after, None))
            .await;
        self.metrics.status("written");
        Ok(written)
    }

    async fn patch(
        &self,
        version: &RunVersion<'_>,
        patch: json_patch::Patch,
    ) -> Result<Option<String>, StatusError> {
        let RunKey { namespace, name } = version.key;
        // Only the metadata of the response is read, so that an unreadable spec causes no error.
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

    /// Publishes events for the run.
    pub(super) async fn publish(&self, version: &RunVersion<'_>, events: &[Event]) {
        for event in events {
            let note = event.note.as_deref().unwrap_or_default();
            info!(run = %version.key, condition = event.action, reason = event.reason, "{note}");
            let reference = ObjectReference {
                api_version: Some(BenchmarkRun::api_version(&()).into_owned()),
                kind: Some(BenchmarkRun::kind(&()).into_owned()),
                namespace: Some(version.key.namespace.clone()),
                name: Some(version.key.name.clone()),
                uid: Some(version.uid.to_owned()),
                ..ObjectReference::default()
            };
            // The status holds the same information, so a lost event is not retried.
            if let Err(error) = self.recorder.publish(event, &reference).await {
                warn!(run = %version.key, %error, "failed to publish an event");
            }
        }
    }
}

/// Returns a JSON patch that sets `path` to `value`, with the resource version `version` as a precondition.
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

    /// Writes `status` over `previous`. The simulated API server responds to the first request with `code` and `body`,
    /// and echoes all other requests. Returns the result and the bodies of all requests.
    async fn write_status(
        previous: &BenchmarkRunStatus,
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
        let version = RunVersion {
            key: &key,
            uid: "u",
            resource_version: "7",
            status: Some(previous),
        };
        let server = tokio::spawn(async move {
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
        let outcome = writer.write(&version, status, None).await;
        drop(writer);
        (outcome, server.await.unwrap())
    }

    fn failed_status() -> BenchmarkRunStatus {
        campaign::status::rejected_status("spec.x: bad", Some(1), "2026-01-01T00:00:00Z", None)
    }

    #[tokio::test]
    async fn does_not_write_an_unchanged_status() {
        let (outcome, requests) = write_status(&failed_status(), &failed_status(), 200, Value::Null).await;
        assert_eq!((outcome.unwrap(), requests.len()), (None, 0));
    }

    #[tokio::test]
    async fn writes_once_with_the_resource_version_and_then_publishes_the_event() {
        let response = json!({"metadata": {"name": "r", "resourceVersion": "8"}});
        let (outcome, requests) =
            write_status(&BenchmarkRunStatus::default(), &failed_status(), 200, response).await;
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
    async fn conflict_is_reported_and_publishes_no_event() {
        let conflict =
            json!({"kind": "Status", "status": "Failure", "reason": "Conflict", "code": 409, "message": "m"});
        let (outcome, requests) =
            write_status(&BenchmarkRunStatus::default(), &failed_status(), 409, conflict).await;
        assert!(matches!(outcome, Err(StatusError::Changed { .. })));
        assert_eq!(requests.len(), 1);
    }
}
