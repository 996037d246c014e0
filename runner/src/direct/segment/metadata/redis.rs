//! Entries in Redis. An entry has a time to live, so that Redis removes it when it expires. Uses TCP.

use redis::{Client, Connection, ErrorKind, RedisError, cmd};

use super::entry::{Entry, MAX_ENTRY_BYTES, key};
use super::exchange::{TIMEOUT, nonsense};
use super::{Login, MetadataError, Store};

/// Stores an entry, unless there is one of another run, which it returns. Redis removes expired entries.
const PUBLISH: &str = "local old = redis.call('GET', KEYS[1])
if old and cjson.decode(old).run ~= ARGV[1] then return old end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return false";
/// Removes the entry of a run.
const WITHDRAW: &str = "local old = redis.call('GET', KEYS[1])
if old and cjson.decode(old).run == ARGV[1] then redis.call('DEL', KEYS[1]) end
return false";

/// Server.
pub(super) struct Redis {
    service: String,
    server: String,
    login: Option<Login>,
}

impl Redis {
    pub(super) fn new(server: &str, login: Option<&Login>) -> Self {
        Self {
            service: format!("redis at {server}"),
            server: server.to_owned(),
            login: login.cloned(),
        }
    }

    fn connect(&self) -> Result<Connection, MetadataError> {
        let open = || {
            let client = Client::open(format!("redis://{}", self.server))?;
            let connection = client.get_connection_with_timeout(TIMEOUT)?;
            connection.set_read_timeout(Some(TIMEOUT))?;
            connection.set_write_timeout(Some(TIMEOUT))?;
            Ok(connection)
        };
        let mut connection = open().map_err(|error| self.failed(&error))?;
        if let Some(login) = &self.login {
            let mut command = cmd("AUTH");
            command.arg(&login.user).arg(&login.password);
            command
                .query::<()>(&mut connection)
                .map_err(|error| self.failed(&error))?;
        }
        Ok(connection)
    }

    /// Runs a script with the key of the segment `name`.
    fn script(&self, text: &str, name: &str, arguments: &[&str]) -> Result<Option<String>, MetadataError> {
        let mut connection = self.connect()?;
        let mut command = cmd("EVAL");
        command.arg(text).arg(1).arg(key(name)).arg(arguments);
        command
            .query(&mut connection)
            .map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &RedisError) -> MetadataError {
        let (service, reason) = (self.service.clone(), error.to_string());
        let code = error.code().unwrap_or_default();
        if ["NOAUTH", "WRONGPASS", "NOPERM"].contains(&code)
            || error.kind() == ErrorKind::AuthenticationFailed
            || reason.contains("AUTH")
        {
            return MetadataError::LoginRefused { service, reason };
        }
        if error.is_io_error() || error.is_timeout() || error.is_connection_dropped() {
            return MetadataError::Unreachable { service, reason };
        }
        nonsense(&service, &reason)
    }
}

impl Store for Redis {
    fn find(&self, name: &str) -> Result<Option<Entry>, MetadataError> {
        let mut connection = self.connect()?;
        let found: Option<String> = cmd("GET")
            .arg(key(name))
            .query(&mut connection)
            .map_err(|error| self.failed(&error))?;
        let Some(text) = found else {
            return Ok(None);
        };
        if text.len() > MAX_ENTRY_BYTES {
            return Err(nonsense(&self.service, "the entry is too long"));
        }
        Entry::parse(&self.service, &text).map(Some)
    }

    fn publish(&self, entry: &Entry, ttl_seconds: u64) -> Result<Option<Entry>, MetadataError> {
        let text = serde_json::to_string(entry).unwrap_or_default();
        let ttl = ttl_seconds.to_string();
        let other = self.script(PUBLISH, &entry.segment, &[&entry.run, &text, &ttl])?;
        other.map(|text| Entry::parse(&self.service, &text)).transpose()
    }

    fn withdraw(&self, name: &str, run: &str) -> Result<(), MetadataError> {
        self.script(WITHDRAW, name, &[run]).map(drop)
    }
}
