//! Entries of the metadata service, by key, with their expiry. Performs no I/O.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Maximum number of entries.
const MAX_ENTRIES: usize = 1024;
/// Maximum length of a key, in bytes.
const MAX_KEY_BYTES: usize = 512;

/// Fields of an entry that the service interprets.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    /// Run that published the entry.
    run: String,
    /// Time at which the entry expires, in seconds since 1970 (UTC).
    expires_at: u64,
}

/// Entry in the form in which it is stored.
#[derive(Debug)]
struct StoredEntry {
    text: String,
    run: String,
    expires_at: u64,
}

/// Reason for rejecting an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rejection {
    /// The entry or its key is invalid.
    Invalid(&'static str),
    /// Another run has published the key, and its entry has not expired.
    Taken,
    /// There are too many entries.
    Full,
}

/// Entries by key.
#[derive(Debug, Default)]
pub(super) struct Entries(BTreeMap<String, StoredEntry>);

impl Entries {
    /// Returns the entry with this key, or `None` if it does not exist or has expired at `now`.
    pub(super) fn get(&mut self, key: &str, now: u64) -> Option<String> {
        self.expire(now);
        self.0.get(key).map(|stored| stored.text.clone())
    }

    /// Stores an entry.
    ///
    /// # Errors
    /// Returns the reason if the entry is not stored.
    pub(super) fn put(&mut self, key: &str, text: String, now: u64) -> Result<(), Rejection> {
        self.expire(now);
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            return Err(Rejection::Invalid("the key is empty or longer than 512 bytes"));
        }
        let header: Header = serde_json::from_str(&text).map_err(|_| {
            Rejection::Invalid("the entry is not a JSON object with the fields run and expiresAt")
        })?;
        if header.expires_at <= now {
            return Err(Rejection::Invalid("the entry has already expired"));
        }
        match self.0.get(key) {
            Some(stored) if stored.run != header.run => return Err(Rejection::Taken),
            None if self.0.len() >= MAX_ENTRIES => return Err(Rejection::Full),
            _ => {}
        }
        let stored = StoredEntry {
            text,
            run: header.run,
            expires_at: header.expires_at,
        };
        self.0.insert(key.to_owned(), stored);
        Ok(())
    }

    /// Removes the entry with this key. If `run` is set, the entry is removed only if this run published it.
    pub(super) fn remove(&mut self, key: &str, run: Option<&str>) {
        if self
            .0
            .get(key)
            .is_some_and(|stored| run.is_none_or(|run| stored.run == run))
        {
            self.0.remove(key);
        }
    }

    fn expire(&mut self, now: u64) {
        self.0.retain(|_, stored| stored.expires_at > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(run: &str, expires_at: u64) -> String {
        format!(r#"{{"run":"{run}","expiresAt":{expires_at},"address":"node:1"}}"#)
    }

    #[test]
    fn an_entry_is_kept_until_it_expires_or_its_run_removes_it() {
        let mut entries = Entries::default();
        assert_eq!(entries.put("a", entry("one", 20), 10), Ok(()));
        assert_eq!(entries.get("a", 19), Some(entry("one", 20)));
        assert_eq!(entries.put("a", entry("two", 30), 19), Err(Rejection::Taken));
        assert_eq!(entries.put("a", entry("one", 25), 19), Ok(()));
        entries.remove("a", Some("two"));
        assert_eq!(entries.get("a", 24), Some(entry("one", 25)));
        assert_eq!(entries.get("a", 25), None);
        assert_eq!(entries.put("a", entry("two", 30), 25), Ok(()));
        entries.remove("a", Some("two"));
        assert_eq!(entries.get("a", 25), None);
    }

    #[test]
    fn rejects_invalid_entries() {
        let mut entries = Entries::default();
        for text in ["", "text", "[]", r#"{"run":"one"}"#] {
            assert!(matches!(
                entries.put("a", text.to_owned(), 0),
                Err(Rejection::Invalid(_))
            ));
        }
        assert!(matches!(
            entries.put("", entry("one", 9), 0),
            Err(Rejection::Invalid(_))
        ));
        assert!(matches!(
            entries.put("a", entry("one", 9), 9),
            Err(Rejection::Invalid(_))
        ));
    }

    #[test]
    fn limits_the_number_of_entries() {
        let mut entries = Entries::default();
        for index in 0..MAX_ENTRIES {
            assert_eq!(entries.put(&index.to_string(), entry("one", 9), 0), Ok(()));
        }
        assert_eq!(entries.put("more", entry("one", 9), 0), Err(Rejection::Full));
        assert_eq!(entries.put("0", entry("one", 12), 0), Ok(()));
        assert_eq!(entries.put("more", entry("one", 20), 9), Ok(()));
    }
}
