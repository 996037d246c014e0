//! Who may read `/metrics`. The metrics contain the results of all namespaces, so a reader needs the right to `get` the
//! path: the API server says whose bearer token a request carries (TokenReview), and whether that user has the right
//! (SubjectAccessReview). Performs I/O; the decisions are kept by [`decisions`].

mod decisions;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use snafu::{OptionExt, ResultExt, Snafu};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

pub(super) use decisions::Decision;
use decisions::{Decisions, digest};

/// Path of the metrics. Readers need the right to `get` it as a nonResourceURL.
pub(super) const PATH: &str = "/metrics";
/// Maximum length of a token in bytes, several times the length of a service account's token.
const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// Maximum number of concurrent reviews.
const MAX_REVIEWS: usize = 4;
/// Time that a refused review keeps its place. It limits the requests that a client with invented tokens causes at the API
/// server to 8 per second.
const REFUSAL_DELAY: Duration = Duration::from_millis(500);
/// Maximum time to wait for the API server's answers. Prometheus waits 10 s for a response by default.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(5);

/// The API server did not say whether a request is permitted.
#[derive(Debug, Snafu)]
pub(super) enum ReviewError {
    #[snafu(display("the API server cannot review the request for the metrics: {source}"))]
    Request { source: kube::Error },
    #[snafu(display("the API server returned a {kind} without a status"))]
    NoStatus { kind: &'static str },
    #[snafu(display(
        "the API server did not review the request for the metrics within {} s",
        REVIEW_TIMEOUT.as_secs()
    ))]
    Timeout,
}

/// Rule for requests for the metrics.
#[derive(Clone)]
pub(super) enum MetricsAccess {
    /// Everyone who can connect may read them.
    Open,
    /// Readers need the right to `get` [`PATH`].
    Authorized(Arc<Reviewer>),
}

impl MetricsAccess {
    /// Requires that readers have the right to `get` [`PATH`].
    pub(super) fn authorized(client: Client) -> Self {
        Self::Authorized(Arc::new(Reviewer {
            client,
            places: Semaphore::new(MAX_REVIEWS),
            decisions: Mutex::default(),
        }))
    }

    /// Decides about a request with `headers`.
    ///
    /// # Errors
    /// Returns an error if the API server does not answer. The request must then be refused.
    pub(super) async fn decide(&self, headers: &HeaderMap) -> Result<Decision, ReviewError> {
        match (self, bearer_token(headers)) {
            (Self::Open, _) => Ok(Decision::Allowed),
            (Self::Authorized(_), None) => Ok(Decision::Unauthenticated),
            (Self::Authorized(reviewer), Some(token)) => reviewer.decide(token).await,
        }
    }
}

/// Asks the API server, and keeps its answers for a short time.
pub(super) struct Reviewer {
    client: Client,
    places: Semaphore,
    decisions: Mutex<Decisions>,
}

impl Reviewer {
    async fn decide(&self, token: &str) -> Result<Decision, ReviewError> {
        let digest = digest(token);
        if let Some(decision) = self.known(&digest) {
            return Ok(decision);
        }
        // The semaphore is never closed.
        let _place = self.places.acquire().await.ok();
        // Another request with the same token may have been reviewed meanwhile.
        if let Some(decision) = self.known(&digest) {
            return Ok(decision);
        }
        let reviewed = timeout(REVIEW_TIMEOUT, self.review(token)).await;
        let decision = reviewed.unwrap_or_else(|_| TimeoutSnafu.fail())?;
        self.decisions().insert(digest, decision, Instant::now());
        if decision != Decision::Allowed {
            sleep(REFUSAL_DELAY).await;
        }
        Ok(decision)
    }

    fn known(&self, digest: &[u8; 32]) -> Option<Decision> {
        self.decisions().get(digest, Instant::now())
    }

    fn decisions(&self) -> std::sync::MutexGuard<'_, Decisions> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn review(&self, token: &str) -> Result<Decision, ReviewError> {
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: Some(token.to_owned()),
                audiences: None,
            },
            ..TokenReview::default()
        };
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let review = reviews.create(&PostParams::default(), &review).await;
        let status = review.context(RequestSnafu)?.status;
        let status = status.context(NoStatusSnafu { kind: "TokenReview" })?;
        match (status.authenticated, status.user) {
            (Some(true), Some(user)) => self.may_read(user).await,
            _ => Ok(Decision::Unauthenticated),
        }
    }

    async fn may_read(&self, user: UserInfo) -> Result<Decision, ReviewError> {
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: user.username,
                uid: user.uid,
                groups: user.groups,
                extra: user.extra,
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(PATH.to_owned()),
                    verb: Some("get".to_owned()),
                }),
                resource_attributes: None,
            },
            ..SubjectAccessReview::default()
        };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let review = reviews.create(&PostParams::default(), &review).await;
        let status = review.context(RequestSnafu)?.status;
        let status = status.context(NoStatusSnafu {
            kind: "SubjectAccessReview",
        })?;
        // An explicit denial takes precedence.
        match status.allowed && status.denied != Some(true) {
            true => Ok(Decision::Allowed),
            false => Ok(Decision::Forbidden),
        }
    }
}

/// Returns the bearer token in `headers` (RFC 6750, section 2.1).
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    let is_usable = !token.is_empty() && token.len() <= MAX_TOKEN_BYTES;
    (scheme.eq_ignore_ascii_case("bearer") && is_usable).then_some(token)
}

#[cfg(test)]
mod tests;
