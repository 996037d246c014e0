//! Entries in Redis. An entry has a time to live, so that Redis removes it when it expires. Uses TCP.
//!
//! The `redis` crate encodes the commands and decodes the replies. Its connections limit only the duration of a single
//! read, so a server that sends its reply slowly could block the caller for any length of time. The connections of this
//! module have a deadline and a limit on the reply length.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use redis::{Cmd, ErrorKind, FromRedisValue, Parser, RedisError, RedisResult, cmd, from_redis_value};

use super::entry::{Entry, MAX_ENTRY_BYTES, key};
use super::exchange::{MAX_RESPONSE_BYTES, TIMEOUT, unexpected_response};
use super::{Credentials, MetadataError, Store};

/// Lua script that stores an entry, unless another run has published one. In that case, returns the existing entry.
/// Redis removes expired entries.
const PUBLISH: &str = "local old = redis.call('GET', KEYS[1])
if old and cjson.decode(old).run ~= ARGV[1] then return old end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return false";
/// Lua script that removes the entry of a run.
const WITHDRAW: &str = "local old = redis.call('GET', KEYS[1])
if old and cjson.decode(old).run == ARGV[1] then redis.call('DEL', KEYS[1]) end
return false";
/// First bytes of the replies to the commands that this module sends: a simple string, an error, a number and a string.
const REPLIES: [u8; 4] = *b"+-:$";

/// Client of a Redis server.
pub(super) struct Redis {
    service: String,
    server: String,
    credentials: Option<Credentials>,
}

/// Connection whose replies end before a deadline and have a limited total length.
struct Connection {
    stream: TcpStream,
    deadline: Instant,
    bytes_left: u64,
}

impl Connection {
    fn open(server: &str) -> io::Result<Self> {
        let deadline = Instant::now() + TIMEOUT;
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in server.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, time_left(deadline)?) {
                Ok(stream) => {
                    return Ok(Self {
                        stream,
                        deadline,
                        bytes_left: MAX_RESPONSE_BYTES,
                    });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Sends a command and reads its reply.
    fn query<T: FromRedisValue>(&mut self, command: &Cmd) -> RedisResult<T> {
        self.stream.set_write_timeout(Some(time_left(self.deadline)?))?;
        self.stream.write_all(&command.get_packed_command())?;
        let mut first = [0];
        self.read_exact(&mut first)?;
        if !REPLIES.contains(&first[0]) {
            return Err((ErrorKind::Parse, "this is not a Redis reply").into());
        }
        let value = Parser::new().parse_value((&first[..]).chain(self))?;
        Ok(from_redis_value(value.extract_error()?)?)
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.bytes_left == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.stream.set_read_timeout(Some(time_left(self.deadline)?))?;
        let max = buffer.len().min(self.bytes_left as usize);
        let count = self.stream.read(&mut buffer[..max])?;
        self.bytes_left -= count as u64;
        Ok(count)
    }
}

/// Returns the time until `deadline`.
///
/// # Errors
/// Returns `TimedOut` if `deadline` has passed.
fn time_left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(io::ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

impl Redis {
    pub(super) fn new(server: &str, credentials: Option<&Credentials>) -> Self {
        Self {
            service: format!("redis at {server}"),
            server: server.to_owned(),
            credentials: credentials.cloned(),
        }
    }

    /// Authenticates if there are credentials, and executes `command`.
    fn execute<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, MetadataError> {
        let mut connection =
            Connection::open(&self.server).map_err(|error| self.request_error(&error.into()))?;
        let mut query = || {
            if let Some(credentials) = &self.credentials {
                let mut auth = cmd("AUTH");
                auth.arg(&credentials.user).arg(&credentials.password);
                connection.query::<()>(&auth)?;
            }
            connection.query(command)
        };
        query().map_err(|error| match connection.bytes_left {
            0 => unexpected_response(&self.service, "the response is too long"),
            _ => self.request_error(&error),
        })
    }

    /// Runs a script with the key of the segment `name`.
    fn script(&self, text: &str, name: &str, arguments: &[&str]) -> Result<Option<String>, MetadataError> {
        let mut command = cmd("EVAL");
        command.arg(text).arg(1).arg(key(name)).arg(arguments);
        self.execute(&command)
    }

    fn request_error(&self, error: &RedisError) -> MetadataError {
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
        unexpected_response(&service, &reason)
    }
}

impl Store for Redis {
    fn find(&self, name: &str) -> Result<Option<Entry>, MetadataError> {
        let mut command = cmd("GET");
        command.arg(key(name));
        let found: Option<String> = self.execute(&command)?;
        let Some(text) = found else {
            return Ok(None);
        };
        if text.len() > MAX_ENTRY_BYTES {
            return Err(unexpected_response(&self.service, "the entry is too long"));
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
