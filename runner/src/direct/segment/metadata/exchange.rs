//! One HTTP request and its response, with a timeout and a length limit. Uses TCP.

use std::time::Duration;

use ureq::Agent;
use ureq::http::{Method, Request};

use super::MetadataError;

/// Timeout for a metadata service operation.
pub(super) const TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum length of a response, in bytes.
pub(super) const MAX_RESPONSE_BYTES: u64 = 64 * 1024;

/// Response from a server.
#[derive(Clone, Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) body: String,
}

/// Sends a request and reads the response.
///
/// # Errors
/// Returns an error if the server does not respond in time, or the response is not HTTP or is too long.
pub(super) fn exchange(
    service: &str,
    method: Method,
    url: &str,
    authorization: Option<&str>,
    body: &str,
) -> Result<Response, MetadataError> {
    let agent: Agent = Agent::config_builder()
        .timeout_global(Some(TIMEOUT))
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .build()
        .into();
    let mut request = Request::builder().method(method).uri(url);
    if !body.is_empty() {
        request = request.header("content-type", "application/json");
    }
    if let Some(authorization) = authorization {
        request = request.header("authorization", authorization);
    }
    let request = request
        .body(body.to_owned())
        .map_err(|error| unexpected_response(service, &error.to_string()))?;
    let mut response = agent
        .run(request)
        .map_err(|error| request_error(service, error))?;
    let status = response.status().as_u16();
    let body = response
        .body_mut()
        .with_config()
        .limit(MAX_RESPONSE_BYTES)
        .read_to_string()
        .map_err(|error| request_error(service, error))?;
    Ok(Response { status, body })
}

fn request_error(service: &str, error: ureq::Error) -> MetadataError {
    let reason = match error {
        ureq::Error::Io(source) => source.to_string(),
        ureq::Error::Timeout(_) => "there was no complete response in time".to_owned(),
        ureq::Error::HostNotFound => "no address is known for the host name".to_owned(),
        ureq::Error::ConnectionFailed => "the connection failed".to_owned(),
        other => return unexpected_response(service, &other.to_string()),
    };
    MetadataError::Unreachable {
        service: service.to_owned(),
        reason,
    }
}

pub(super) fn unexpected_response(service: &str, reason: &str) -> MetadataError {
    MetadataError::UnexpectedResponse {
        service: service.to_owned(),
        reason: reason.chars().take(200).collect(),
    }
}

/// URL of `server`, which is HOST:PORT or a URL. `path` is used if the server has no path.
pub(super) fn url(server: &str, path: &str) -> String {
    let address = server.strip_prefix("http://").unwrap_or(server);
    match address.split_once('/') {
        Some((host, given)) if !given.is_empty() => format!("http://{host}/{given}"),
        Some((host, _)) => format!("http://{host}{path}"),
        None => format!("http://{address}{path}"),
    }
}

/// Checks that `server` is HOST:PORT or an HTTP URL.
pub(super) fn check_server(server: &str) -> Result<(), String> {
    if server.starts_with("https://") {
        return Err(format!(
            "contains {server}: https is not supported; use a server on a trusted network, or a local proxy"
        ));
    }
    let address = server.strip_prefix("http://").unwrap_or(server);
    let host = address.split('/').next().unwrap_or_default();
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    match has_port && url(server, "/").parse::<ureq::http::Uri>().is_ok() {
        true => Ok(()),
        false => Err(format!("contains `{server:.100}`: use HOST:PORT")),
    }
}
