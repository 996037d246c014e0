//! Entries in an HTTP service, such as `fabricbench metadata`: GET, PUT and DELETE of `?key=KEY`. Uses TCP.
//!
//! `fabricbench metadata` refuses to replace the entry of another run. Other services would allow another target to
//! publish the same name between the two requests of a publication.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ureq::http::Method;

use super::entry::{Entry, key, now_seconds};
use super::exchange::{Response, exchange, unexpected_response, url};
use super::{Credentials, MetadataError, Store};

/// Client of an HTTP server.
pub(super) struct Http {
    service: String,
    url: String,
    authorization: Option<String>,
}

impl Http {
    pub(super) fn new(server: &str, credentials: Option<&Credentials>) -> Self {
        Self {
            service: format!("http at {server}"),
            url: url(server, "/metadata"),
            authorization: credentials.map(|credentials| {
                let user = credentials.user.as_deref().unwrap_or_default();
                format!(
                    "Basic {}",
                    STANDARD.encode(format!("{user}:{}", credentials.password))
                )
            }),
        }
    }

    fn exchange(&self, method: Method, query: &str, body: &str) -> Result<Response, MetadataError> {
        let url = format!("{}?key={query}", self.url);
        let response = exchange(&self.service, method, &url, self.authorization.as_deref(), body)?;
        match response.status {
            401 | 403 => Err(MetadataError::LoginRefused {
                service: self.service.clone(),
                reason: format!("status {}", response.status),
            }),
            200 | 204 | 404 | 409 => Ok(response),
            status => Err(unexpected_response(&self.service, &format!("status {status}"))),
        }
    }
}

impl Store for Http {
    fn find(&self, name: &str) -> Result<Option<Entry>, MetadataError> {
        let response = self.exchange(Method::GET, &key(name), "")?;
        match response.status {
            404 => Ok(None),
            _ => Entry::parse(&self.service, &response.body).map(Some),
        }
    }

    fn publish(&self, entry: &Entry, _ttl_seconds: u64) -> Result<Option<Entry>, MetadataError> {
        if let Some(other) = self.find(&entry.segment)?
            && other.is_taken(&entry.run, now_seconds())
        {
            return Ok(Some(other));
        }
        let body = serde_json::to_string(entry).unwrap_or_default();
        match self.exchange(Method::PUT, &key(&entry.segment), &body)?.status {
            200 | 204 => Ok(None),
            409 => self.find(&entry.segment),
            status => Err(unexpected_response(
                &self.service,
                &format!("PUT returned status {status}"),
            )),
        }
    }

    fn withdraw(&self, name: &str, run: &str) -> Result<(), MetadataError> {
        match self.find(name)? {
            Some(entry) if entry.run == run => {
                let query = format!("{}&run={run}", key(name));
                self.exchange(Method::DELETE, &query, "").map(drop)
            }
            _ => Ok(()),
        }
    }
}
