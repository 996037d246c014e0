//! Entries in etcd, over the JSON gateway of its version 3 interface. An entry is attached to a lease, so that etcd removes
//! it when it expires. Uses TCP.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use ureq::http::Method;

use super::entry::{Entry, key, now_seconds};
use super::exchange::{exchange, unexpected_answer, url};
use super::{Login, MetadataError, Store};

/// gRPC status codes of a missing or wrong login: PERMISSION_DENIED and UNAUTHENTICATED.
const LOGIN_CODES: [u64; 2] = [7, 16];

/// Server.
pub(super) struct Etcd {
    service: String,
    server: String,
    login: Option<Login>,
}

/// An entry, its revision and its lease.
struct FoundEntry {
    entry: Entry,
    revision: String,
    lease: String,
}

/// One connection with its token.
struct Session<'a> {
    etcd: &'a Etcd,
    token: Option<String>,
}

impl Etcd {
    pub(super) fn new(server: &str, login: Option<&Login>) -> Self {
        Self {
            service: format!("etcd at {server}"),
            server: server.to_owned(),
            login: login.cloned(),
        }
    }

    fn session(&self) -> Result<Session<'_>, MetadataError> {
        let mut session = Session {
            etcd: self,
            token: None,
        };
        if let Some(login) = &self.login {
            let body = json!({"name": login.user, "password": login.password});
            let answer = session.call("auth/authenticate", &body)?;
            session.token = Some(self.text(&answer, "/token")?);
        }
        Ok(session)
    }

    fn text(&self, answer: &Value, pointer: &str) -> Result<String, MetadataError> {
        let value = answer.pointer(pointer).and_then(Value::as_str);
        value.map(str::to_owned).ok_or_else(|| {
            unexpected_answer(&self.service, &format!("the answer has no {pointer}: {answer}"))
        })
    }
}

impl Session<'_> {
    /// Calls a method and returns its answer.
    fn call(&self, method: &str, body: &Value) -> Result<Value, MetadataError> {
        let service = &self.etcd.service;
        let url = url(&self.etcd.server, "/v3/") + method;
        let answer = exchange(
            service,
            Method::POST,
            &url,
            self.token.as_deref(),
            &body.to_string(),
        )?;
        let parsed: Value = serde_json::from_str(&answer.body)
            .map_err(|error| unexpected_answer(service, &format!("status {}: {error}", answer.status)))?;
        if answer.status == 200 {
            return Ok(parsed);
        }
        let message = parsed["message"].as_str().unwrap_or(&answer.body).to_owned();
        let code = parsed["code"].as_u64().unwrap_or_default();
        // etcd reports a wrong password or a missing login as an invalid argument.
        let is_login = LOGIN_CODES.contains(&code)
            || message.contains("authentication")
            || message.contains("user name is empty");
        Err(match is_login {
            true => MetadataError::LoginRefused {
                service: service.clone(),
                reason: message,
            },
            false => unexpected_answer(service, &format!("status {}: {message}", answer.status)),
        })
    }

    fn find(&self, name: &str) -> Result<Option<FoundEntry>, MetadataError> {
        let service = &self.etcd.service;
        let answer = self.call("kv/range", &json!({"key": STANDARD.encode(key(name))}))?;
        if answer.get("header").is_none() {
            return Err(unexpected_answer(
                service,
                &format!("the answer has no header: {answer}"),
            ));
        }
        let Some(found) = answer.pointer("/kvs/0") else {
            return Ok(None);
        };
        let value = self.etcd.text(found, "/value")?;
        let value = STANDARD
            .decode(value)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .ok_or_else(|| unexpected_answer(service, "the value is not text"))?;
        Ok(Some(FoundEntry {
            entry: Entry::parse(service, &value)?,
            revision: self.etcd.text(found, "/mod_revision")?,
            lease: found["lease"].as_str().unwrap_or("0").to_owned(),
        }))
    }

    /// Revokes a lease, which removes its entry. A lease that has expired is not an error.
    fn revoke(&self, lease: &str) -> Result<(), MetadataError> {
        if lease == "0" {
            return Ok(());
        }
        match self.call("lease/revoke", &json!({"ID": lease})) {
            Err(MetadataError::UnexpectedAnswer { reason, .. }) if reason.contains("lease not found") => {
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
                    Err(unexpected_answer(
                        &self.service,
                        "the entry changed while it was written",
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
