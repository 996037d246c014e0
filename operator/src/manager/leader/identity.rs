//! Identity of a replica in the election. Reads `/proc` and binds a socket.
//!
//! A replica whose container was killed and restarted in the same pod gets the same identity, so it still holds its
//! Lease and need not wait for the Lease to expire. This is safe because two running processes never have the same
//! identity: an identity contains the boot ID of the machine and the network namespace, and a process uses it only
//! while it is bound to a socket address that can be bound only once per network namespace. The kernel releases the
//! socket when the process ends. A process that cannot bind the address uses a random identity.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::{fs, io};

use tracing::debug;

use crate::options::LeaseName;

/// Maximum length of an abstract socket name, in bytes (`sun_path` in unix(7), without the leading NUL).
const MAX_SOCKET_NAME: usize = 107;

/// Identity of a replica.
#[derive(Debug)]
pub(super) struct Identity {
    text: String,
    /// Held while the replica uses the identity of its network namespace; `None` for a random identity.
    _lock: Option<UnixDatagram>,
}

impl Identity {
    /// Creates the identity for the election of `lease`. It starts with the host name, which is the pod name.
    ///
    /// If another process in this network namespace participates in the same election, or `/proc` is not readable, the
    /// identity is random.
    pub(super) fn new(lease: &LeaseName) -> Self {
        let uname = rustix::system::uname();
        let host = uname.nodename().to_string_lossy().into_owned();
        match lock(&socket_name(lease)).and_then(|lock| Ok((lock, namespace()?))) {
            Ok((lock, namespace)) => Self {
                text: format!("{host}_{namespace}"),
                _lock: Some(lock),
            },
            Err(error) => {
                debug!(%error, "using a random identity for the election");
                Self {
                    text: format!("{host}_{}", uuid::Uuid::new_v4()),
                    _lock: None,
                }
            }
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }
}

/// Binds the abstract socket `name`.
///
/// # Errors
/// Returns an error if a process in this network namespace has already bound it.
fn lock(name: &str) -> io::Result<UnixDatagram> {
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// Returns the socket name. Leases whose names are equal after truncation share a socket. As a result, one of the
/// replicas uses a random identity.
fn socket_name(lease: &LeaseName) -> String {
    let mut name = format!("fabricbench-operator/{}/{}", lease.namespace, lease.name);
    name.truncate(name.floor_char_boundary(MAX_SOCKET_NAME));
    name
}

/// Returns the machine's boot ID and the network namespace's inode, which together identify the namespace while it
/// exists.
///
/// # Errors
/// Returns an error if `/proc` is not readable.
fn namespace() -> io::Result<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let inode = fs::metadata(Path::new("/proc/self/ns/net"))?.ino();
    Ok(format!("{}_{inode}", boot.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(name: &str) -> LeaseName {
        LeaseName {
            namespace: format!("test-{}", std::process::id()),
            name: name.to_owned(),
        }
    }

    #[test]
    fn restarted_replica_has_the_same_identity() {
        let lease = lease("restarted");
        let first = Identity::new(&lease).as_str().to_owned();
        assert_eq!(Identity::new(&lease).as_str(), first);
    }

    #[test]
    fn two_running_replicas_have_different_identities() {
        let lease = lease("running");
        let first = Identity::new(&lease);
        let second = Identity::new(&lease);
        assert_ne!(first.as_str(), second.as_str());
        let third = Identity::new(&lease);
        assert_ne!(second.as_str(), third.as_str());
    }

    #[test]
    fn long_lease_names_are_truncated() {
        let lease = lease(&"ä".repeat(253));
        assert!(socket_name(&lease).len() <= MAX_SOCKET_NAME);
        assert!(Identity::new(&lease)._lock.is_some());
    }
}
