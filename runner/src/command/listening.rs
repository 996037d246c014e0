//! Checks in procfs whether a process is listening on a TCP port. The check does not open a connection, because many
//! benchmarks accept only one.

use std::fs;

use crate::topology::SystemRoots;

/// State of a listening socket in `/proc/net/tcp`.
const LISTEN: &str = "0A";

/// Whether a socket in this network namespace listens on `port`.
pub fn is_listening(roots: &SystemRoots, port: u16) -> bool {
    ["net/tcp", "net/tcp6"].iter().any(|file| {
        let table = fs::read_to_string(roots.proc.join(file)).unwrap_or_default();
        has_listener(&table, port)
    })
}

fn has_listener(table: &str, port: u16) -> bool {
    table.lines().skip(1).any(|line| {
        let mut fields = line.split_whitespace();
        let local = fields.nth(1).and_then(|address| address.rsplit_once(':'));
        let state = fields.nth(1);
        local.is_some_and(|(_, local)| u16::from_str_radix(local, 16) == Ok(port)) && state == Some(LISTEN)
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn ignores_sockets_that_do_not_listen() {
        let table = "  sl  local_address rem_address   st tx_queue\n   \
                     0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n   \
                     1: 0100007F:1F91 0100007F:0050 01 00000000:00000000\n";
        assert!(has_listener(table, 8080));
        assert!(!has_listener(table, 8081) && !has_listener(table, 0x50));
    }

    #[test]
    fn finds_a_listener_on_this_machine() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(is_listening(&SystemRoots::default(), port));
        drop(listener);
        assert!(!is_listening(&SystemRoots::default(), port));
    }
}
