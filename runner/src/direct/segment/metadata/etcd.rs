//! Entries in etcd, through the JSON gateway of its v3 API. An entry is attached to a lease, so that etcd removes it
//! when it expires. Uses TCP.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use ureq::http::Method;

use super::entry::{Entry, key, now_seconds};
use super::exchange::{exchange, unexpected_response, url};
use super::{Credentials, MetadataError, Store};

/// gRPC status codes for missing or wrong credentials: PERMISSION_DENIED and UNAUTHENTICATED.
const CREDENTIALS_CODES: [u64; 2] = [7, 16];

/// Client of an etcd server.
pub(super) struct Etcd {
    service: String,
    server: String,
    credentials: Option<Credentials>,
}

/// An entry, its revision and its lease.
struct FoundEntry {
    entry: Entry,
    revision: String,
    lease: String,
}

/// Access to a server, with a token if there are credentials.
struct Session<'a> {
    etcd: &'a Etcd,
    token: Option<String>,
}

impl Etcd {
    pub(super) fn new(server: &str, credentials: Option<&Credentials>) -> Self {
        Self {
            service: format!("etcd at {server}"),
            server: server.to_owned(),
            credentials: credentials.cloned(),
        }
    }

    fn session(&self) -> Result<Session<'_>, MetadataError> {
        let mut session = Session {
            etcd: self,
            token: None,
        };
        if let Some(credentials) = &self.credentials {
            let body = json!({"name": credentials.user, "password": credentials.password});
            let response = session.call("auth/authenticate", &body)?;
            session.token = Some(self.text(&response, "/token")?);
        }
        Ok(session)
    }

    fn text(&self, response: &Value, pointer: &str) -> Result<String, MetadataError> {
        let value = response.pointer(pointer).and_then(Value::as_str);
        value.map(str::to_owned).ok_or_else(|| {
            unexpected_response(
                &self.service,
                &format!("the response has no {pointer}: {response}"),
            )
        })
    }
}

impl Session<'_> {
    /// Calls a method and returns its response.
    fn call(&self, method: &str, body: &Value) -> Result<Value, MetadataError> {
        let service = &self.etcd.service;
        let url = url(&self.etcd.server, "/v3/") + method;
        let response = exchange(
            service,
            Method::POST,
            &url,
            self.token.as_deref(),
            &body.to_string(),
        )?;
        let parsed: Value = serde_json::from_str(&response.body)
            .map_err(|error| unexpected_response(service, &format!("status {}: {error}", response.status)))?;
        if response.status == 200 {
            return Ok(parsed);
        }
        let message = parsed["message"].as_str().unwrap_or(&response.body).to_owned();
        let code = parsed["code"].as_u64().unwrap_or_default();
        // etcd reports a wrong password or missing credentials as an invalid argument.
        let is_credentials_error = CREDENTIALS_CODES.contains(&code)
            || message.contains("authentication")
            || message.contains("user name is empty");
        Err(match is_credentials_error {
            true => MetadataError::LoginRefused {
                service: service.clone(),
                reason: message,
            },
            false => unexpected_response(service, &format!("status {}: {message}", response.status)),
        })
    }

    fn find(&self, name: &str) -> Result<Option<FoundEntry>, MetadataError> {
        let service = &self.etcd.service;
        let response = self.call("kv/range", &json!({"key": STANDARD.encode(key(name))}))?;
        if response.get("header").is_none() {
            return Err(unexpected_response(
                service,
                &format!("the response has no header: {response}"),
            ));
        }
        let Some(found) = response.pointer("/kvs/0") else {
            return Ok(None);
        };
        let value = self.etcd.text(found, "/value")?;
        let value = STANDARD
            .decode(value)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .ok_or_else(|| unexpected_response(service, "the value is not text"))?;
        Ok(Some(FoundEntry {
            entry: Entry::parse(service, &value)?,
            revision: self.etcd.text(found, "/mod_revision")?,
            lease: found["lease"].as_str().unwrap_or("0").to_owned(),
        }))
    }

    /// Revokes a lease, which removes its entry. An expired lease is not an error.
    fn revoke(&self, lease: &str) -> Result<(), MetadataError> {
        if lease == "0" {
            return Ok(());
        }
        match self.call("lease/revoke", &json!({"ID": lease})) {
            Err(MetadataError::UnexpectedResponse { reason, .. }) if reason.contains("lease not found") => {
                Ok(())
            }
            other => other.map(drop),
        }
    }
}

impl Store for Etcd {
    fn find(&self, name: &str) -> Result<Option<Entry>, MetadataError> {
        Ok(self.session()?.find(name)?.map(|found| found.entry))
    }

    fn publish(&self, entry: &Entry, ttl_seconds: u64) -> Result<Option<Entry>, MetadataError> {
        let session = self.session()?;
        let found = session.find(&entry.segment)?;
        if let Some(found) = &found
            && found.entry.is_taken(&entry.run, now_seconds())
        {
            return Ok(Some(found.entry.clone()));
        }
        let granted = session.call("lease/grant", &json!({"TTL": ttl_seconds}))?;
        let lease = self.text(&granted, "/ID")?;
        let key = STANDARD.encode(key(&entry.segment));
        let value = STANDARD.encode(serde_json::to_string(entry).unwrap_or_default());
        // The entry is stored only if no entry has been created, changed or removed since the read.
        let revision = found.as_ref().map_or("0", |found| found.revision.as_str());
        let transaction = json!({
            "compare": [{"key": key, "target": "MOD", "result": "EQUAL", "mod_revision": revision}],
            "success": [{"request_put": {"key": key, "value": value, "lease": lease}}],
        });
        let stored = session.call("kv/txn", &transaction)?;
        if stored["succeeded"].as_bool() != Some(true) {
            session.revoke(&lease)?;
            return session.find(&entry.segment)?.map_or_else(
                || {
                    Err(unexpected_response(
                        &self.service,
                        "the entry changed while it was being written",
                    ))
                },
                |found| Ok(Some(found.entry)),
            );
        }
        if let Some(found) = found {
            session.revoke(&found.lease)?;
        }
        Ok(None)
    }

    fn withdraw(&self, name: &str, run: &str) -> Result<(), MetadataError> {
        let session = self.session()?;
        match session.find(name)? {
            Some(found) if found.entry.run == run => session.revoke(&found.lease),
            _ => Ok(()),
        }
    }
}
