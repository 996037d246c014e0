//! Segment entry in a metadata service. Reads the clock, and performs no other I/O.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::MetadataError;

/// Version of new entries. Entries with any other version are rejected.
const VERSION: u32 = 1;
/// Maximum length of an entry, in bytes.
pub(super) const MAX_ENTRY_BYTES: usize = 16 * 1024;
/// Maximum length of a segment name.
const MAX_NAME: usize = 200;

/// Entry for a published segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Version of the entry.
    pub version: u32,
    /// The target's runner version.
    pub runner_version: String,
    /// Name of the segment.
    pub segment: String,
    /// Random identifier of the target run.
    pub run: String,
    /// Address at which initiators reach the target.
    pub address: String,
    /// Time at which the entry expires, in seconds since 1970 (UTC).
    pub expires_at: u64,
}

impl Entry {
    /// Creates an entry that expires after `ttl_seconds`.
    pub fn new(segment: &str, run: &str, address: &str, ttl_seconds: u64) -> Self {
        Self {
            version: VERSION,
            runner_version: env!("CARGO_PKG_VERSION").into(),
            segment: segment.into(),
            run: run.into(),
            address: address.into(),
            expires_at: now_seconds().saturating_add(ttl_seconds),
        }
    }

    /// Parses an entry that `service` returned.
    ///
    /// # Errors
    /// Returns an error if `text` is not an entry.
    pub(super) fn parse(service: &str, text: &str) -> Result<Self, MetadataError> {
        serde_json::from_str(text).map_err(|error| MetadataError::UnexpectedResponse {
            service: service.to_owned(),
            reason: format!("its value is not a segment entry: {error}"),
        })
    }

    /// Whether the entry has expired at `now`.
    pub(super) fn is_expired(&self, now: u64) -> bool {
        self.expires_at <= now
    }

    /// Whether, at time `now`, the entry prevents the target of run `run` from publishing the same segment.
    pub(super) fn is_taken(&self, run: &str, now: u64) -> bool {
        self.run != run && !self.is_expired(now)
    }

    /// Checks that the entry belongs to a running target.
    ///
    /// # Errors
    /// Returns an error if the entry has expired, or has a different segment or version.
    pub(super) fn check(&self, name: &str, now: u64) -> Result<(), MetadataError> {
        let runner = env!("CARGO_PKG_VERSION");
        if self.version != VERSION || self.runner_version != runner {
            return Err(MetadataError::VersionMismatch {
                segment: name.into(),
                found: self.runner_version.clone(),
                expected: runner,
            });
        }
        if self.segment != name {
            return Err(MetadataError::SegmentMismatch {
                segment: name.into(),
                found: self.segment.clone(),
            });
        }
        if self.is_expired(now) {
            return Err(MetadataError::Stale {
                segment: self.segment.clone(),
                run: self.run.clone(),
                seconds: now.saturating_sub(self.expires_at),
            });
        }
        Ok(())
    }
}

/// Key of the segment `name` in all services.
pub(super) fn key(name: &str) -> String {
    format!("fabricbench/segment/{name}")
}

/// Checks a segment name.
///
/// # Errors
/// Returns a description of the problem.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:".contains(&byte);
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_allowed) {
        return Err(format!(
            "is `{name:.50}`: use 1 to {MAX_NAME} letters, digits, dots, colons, hyphens and underscores"
        ));
    }
    Ok(())
}

/// Current time in seconds since 1970 (UTC).
pub(super) fn now_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |duration| duration.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_entries_that_are_expired_or_have_another_name_or_version() {
        let entry = Entry::new("segment", "run", "host:1", 30);
        let now = now_seconds();
        assert!(entry.check("segment", now).is_ok());
        let error = entry.check("segment", now + 100).unwrap_err().to_string();
        assert!(
            error.contains("segment") && error.contains("run run") && error.contains("expired"),
            "{error}"
        );
        let newer = Entry {
            runner_version: "99.0".into(),
            ..entry.clone()
        };
        assert!(
            newer
                .check("segment", now)
                .unwrap_err()
                .to_string()
                .contains("99.0")
        );
        let other = entry.check("other", now).unwrap_err().to_string();
        assert!(
            other.contains("the entry of segment other describes segment segment")
                && !other.contains("expired"),
            "{other}"
        );
        assert!(entry.is_taken("other", now));
        assert!(!entry.is_taken("run", now) && !entry.is_taken("other", now + 100));
    }

    #[test]
    fn names_are_safe_in_keys_and_urls() {
        for name in ["a", "node-1:17777", "my_Segment.2"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", "a b", "../a", "a&key=b", &"a".repeat(201)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
