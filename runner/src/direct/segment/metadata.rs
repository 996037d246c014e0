//! Metadata services, in which a target publishes the address of its segment under a name.
//!
//! An entry contains the target's run and version, and the time at which the entry expires. The target renews its entry
//! while it is running and removes it when it exits. If a target is killed, its entry expires. A target with a
//! different run cannot replace an entry before it has expired.
//!
//! The service modules perform I/O. Every operation has a timeout.

mod entry;
mod error;
mod etcd;
mod exchange;
mod http;
mod publication;
mod redis;

use std::env;

use clap::{Args, ValueEnum};

pub use entry::{Entry, check_name};
pub use error::MetadataError;
pub use publication::Publication;

use crate::direct::bounds::FlagError;

/// Environment variable that contains the password for the metadata service.
pub const ENV_PASSWORD: &str = "FABRICBENCH_METADATA_PASSWORD";

/// Flags that select the metadata service.
#[derive(Clone, Debug, Args)]
pub struct MetadataFlags {
    /// How the initiator finds the segment: by its address (p2p), or by its name in a metadata service.
    #[arg(long, value_enum, default_value_t = MetadataType::P2p)]
    pub metadata_type: MetadataType,
    /// Metadata server: HOST:PORT or, for http, also a URL such as http://HOST:PORT/metadata. For etcd, this can be a
    /// comma-separated list of members of the same cluster; the first one that responds is used.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub metadata_servers: Vec<String>,
    /// User name for the metadata service. The password is read from the FABRICBENCH_METADATA_PASSWORD environment
    /// variable.
    #[arg(long, value_name = "NAME")]
    pub metadata_user: Option<String>,
}

/// Metadata service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MetadataType {
    /// No metadata service: the segment name is its address.
    P2p,
    /// etcd, through its JSON API.
    Etcd,
    /// Redis.
    Redis,
    /// HTTP service such as `fabricbench metadata`.
    Http,
}

impl MetadataType {
    /// Port on which the service usually listens; for http, the one in the documentation of `fabricbench metadata`.
    fn usual_port(self) -> u16 {
        match self {
            Self::Etcd => 2379,
            Self::Redis => 6379,
            Self::Http | Self::P2p => 8080,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::P2p => "p2p",
            Self::Etcd => "etcd",
            Self::Redis => "redis",
            Self::Http => "http",
        }
    }
}

/// User and password for a metadata service.
#[derive(Clone, PartialEq, Eq)]
struct Credentials {
    user: Option<String>,
    password: String,
}

/// Client of a metadata service.
#[derive(Clone)]
pub struct MetadataClient {
    kind: MetadataType,
    servers: Vec<String>,
    credentials: Option<Credentials>,
}

/// Operations on one server's entries.
trait Store {
    /// Returns the entry of the segment `name`; `None` if there is no such entry.
    fn find(&self, name: &str) -> Result<Option<Entry>, MetadataError>;

    /// Stores `entry` for `ttl_seconds`, unless another run has published an entry. In that case, returns the existing
    /// entry.
    fn publish(&self, entry: &Entry, ttl_seconds: u64) -> Result<Option<Entry>, MetadataError>;

    /// Removes the entry of the segment `name` if `run` published it.
    fn withdraw(&self, name: &str, run: &str) -> Result<(), MetadataError>;
}

impl MetadataFlags {
    /// Returns the client of the metadata service; `None` for p2p.
    ///
    /// # Errors
    /// Returns an error if servers are missing, superfluous or invalid.
    pub fn client(&self) -> Result<Option<MetadataClient>, FlagError> {
        let servers = |reason: String| FlagError::new("--metadata-servers", reason);
        if self.metadata_type == MetadataType::P2p {
            return match self.metadata_servers.is_empty() && self.metadata_user.is_none() {
                true => Ok(None),
                false => Err(servers(
                    "and --metadata-user need --metadata-type etcd, redis or http: p2p uses no metadata service"
                        .into(),
                )),
            };
        }
        if self.metadata_servers.iter().all(String::is_empty) {
            return Err(servers(format!(
                "is missing: specify a server for --metadata-type {}, such as 127.0.0.1:{}",
                self.metadata_type.name(),
                self.metadata_type.usual_port()
            )));
        }
        // All members of an etcd cluster have the same entries. Several servers of any other kind would each have their
        // own.
        if self.metadata_type != MetadataType::Etcd && self.metadata_servers.len() > 1 {
            return Err(servers(format!(
                "contains {} servers: specify one for --metadata-type {}, because its servers do not share their entries; only \
                 etcd can have several",
                self.metadata_servers.len(),
                self.metadata_type.name()
            )));
        }
        for server in &self.metadata_servers {
            if server.contains('@') {
                return Err(servers(format!(
                    "contains credentials: use --metadata-user and {ENV_PASSWORD} instead, because other users can read \
                     the arguments of a process"
                )));
            }
            exchange::check_server(server).map_err(servers)?;
        }
        let password = env::var(ENV_PASSWORD).ok();
        if self.metadata_user.is_some() && password.is_none() {
            return Err(FlagError::new(
                "--metadata-user",
                format!("needs a password: set {ENV_PASSWORD}"),
            ));
        }
        Ok(Some(MetadataClient {
            kind: self.metadata_type,
            servers: self.metadata_servers.clone(),
            credentials: password.map(|password| Credentials {
                user: self.metadata_user.clone(),
                password,
            }),
        }))
    }

    /// Returns the flags for an initiator command; empty for p2p.
    pub fn arguments(&self) -> Vec<String> {
        if self.metadata_type == MetadataType::P2p {
            return Vec::new();
        }
        let mut arguments = vec![
            "--metadata-type".to_owned(),
            self.metadata_type.name().to_owned(),
            "--metadata-servers".to_owned(),
            self.metadata_servers.join(","),
        ];
        if let Some(user) = &self.metadata_user {
            arguments.extend(["--metadata-user".to_owned(), user.clone()]);
        }
        arguments
    }
}

impl MetadataClient {
    /// Returns the entry of the segment `name`.
    ///
    /// # Errors
    /// Returns an error if no server responds, there is no entry, or the entry has expired or has a different version.
    pub fn find(&self, name: &str) -> Result<Entry, MetadataError> {
        let found = self.with_store(|store| store.find(name))?;
        let entry = found.ok_or_else(|| MetadataError::NoEntry {
            service: self.display_name(),
            segment: name.to_owned(),
        })?;
        entry.check(name, entry::now_seconds())?;
        Ok(entry)
    }

    fn publish(&self, entry: &Entry, ttl_seconds: u64) -> Result<(), MetadataError> {
        match self.with_store(|store| store.publish(entry, ttl_seconds))? {
            None => Ok(()),
            Some(other) => Err(MetadataError::Taken {
                segment: entry.segment.clone(),
                run: other.run,
                address: other.address,
                seconds: other.expires_at.saturating_sub(entry::now_seconds()),
            }),
        }
    }

    fn withdraw(&self, name: &str, run: &str) -> Result<(), MetadataError> {
        self.with_store(|store| store.withdraw(name, run))
    }

    /// Runs `operation` with the first server that responds.
    fn with_store<R>(
        &self,
        operation: impl Fn(&dyn Store) -> Result<R, MetadataError>,
    ) -> Result<R, MetadataError> {
        let mut last = None;
        for server in &self.servers {
            let result = match self.kind {
                MetadataType::Etcd => operation(&etcd::Etcd::new(server, self.credentials.as_ref())),
                MetadataType::Redis => operation(&redis::Redis::new(server, self.credentials.as_ref())),
                MetadataType::Http | MetadataType::P2p => {
                    operation(&http::Http::new(server, self.credentials.as_ref()))
                }
            };
            match result {
                Err(error @ MetadataError::Unreachable { .. }) => last = Some(error),
                result => return result,
            }
        }
        Err(last.unwrap_or_else(|| MetadataError::Unreachable {
            service: self.display_name(),
            reason: "no server is specified".into(),
        }))
    }

    /// Returns the service name for messages.
    pub fn display_name(&self) -> String {
        format!("{} at {}", self.kind.name(), self.servers.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(kind: MetadataType, servers: &[&str]) -> MetadataFlags {
        MetadataFlags {
            metadata_type: kind,
            metadata_servers: servers.iter().map(|server| (*server).to_owned()).collect(),
            metadata_user: None,
        }
    }

    #[test]
    fn servers_must_match_the_service() {
        let problem = |kind, servers: &[&str]| match flags(kind, servers).client() {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        assert_eq!(problem(MetadataType::P2p, &[]), "");
        assert_eq!(problem(MetadataType::Etcd, &["127.0.0.1:2379", "node:2379"]), "");
        assert_eq!(problem(MetadataType::Http, &["http://node:8080/metadata"]), "");
        assert!(problem(MetadataType::P2p, &["node:1"]).contains("need --metadata-type"));
        assert!(
            problem(MetadataType::Redis, &[])
                .contains("is missing: specify a server for --metadata-type redis, such as 127.0.0.1:6379")
        );
        for kind in [MetadataType::Redis, MetadataType::Http] {
            let several = problem(kind, &["127.0.0.1:1", "127.0.0.1:2"]);
            assert!(several.contains("contains 2 servers: specify one"), "{several}");
        }
        assert!(problem(MetadataType::Redis, &["user:secret@node:1"]).contains(ENV_PASSWORD));
        assert!(problem(MetadataType::Etcd, &["https://node:1"]).contains("https"));
        assert!(problem(MetadataType::Etcd, &["node"]).contains("HOST:PORT"));
    }

    #[test]
    fn initiator_command_names_the_same_service() {
        assert!(flags(MetadataType::P2p, &[]).arguments().is_empty());
        assert_eq!(
            flags(MetadataType::Etcd, &["a:1", "b:2"]).arguments(),
            ["--metadata-type", "etcd", "--metadata-servers", "a:1,b:2"]
        );
    }
}
