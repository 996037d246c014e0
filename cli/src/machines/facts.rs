//! What a machine says about itself, and the address of its worker. Performs no I/O.

use std::net::IpAddr;

use super::host::Host;

/// What a machine says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// Name of the kernel, such as `Linux`.
    pub(super) kernel: String,
    /// Architecture, such as `x86_64`.
    pub(super) machine: String,
    /// Address at which ssh reached the machine.
    pub(super) ssh: Option<IpAddr>,
    /// Addresses of its interfaces, without loopback and link-local addresses.
    pub(super) addresses: Vec<IpAddr>,
    /// SHA-256 hash of the runner that is there.
    pub(super) digest: Option<String>,
}

impl Facts {
    /// Parses lines of `NAME=VALUE`.
    pub(super) fn parse(output: &str) -> Self {
        let value = |name: &str| {
            let mut lines = output.lines().filter_map(|line| line.split_once('='));
            let found = lines.find(|(found, _)| *found == name);
            found.map(|(_, value)| value.trim()).unwrap_or_default()
        };
        Self {
            kernel: value("kernel").to_owned(),
            machine: value("machine").to_owned(),
            // Address and port of the client, then of the server.
            ssh: value("ssh")
                .split(' ')
                .nth(2)
                .and_then(|address| address.parse().ok()),
            addresses: value("addresses")
                .split_whitespace()
                .filter_map(|address| address.parse().ok())
                .collect(),
            digest: Some(value("digest").to_owned()).filter(|digest| !digest.is_empty()),
        }
    }

    /// Address at which the other workers reach the one on `host`: the one that the user set, that ssh used, or the only one
    /// that the machine has.
    ///
    /// # Errors
    /// Returns an error, without the name of the host, if the address is not clear.
    pub(super) fn address(&self, host: &Host) -> Result<String, String> {
        if let Some(address) = &host.address {
            return Ok(address.clone());
        }
        if let Some(address) = self.ssh {
            return Ok(address.to_string());
        }
        let ipv4: Vec<_> = self
            .addresses
            .iter()
            .filter(|address| address.is_ipv4())
            .collect();
        let candidates = match ipv4.is_empty() {
            true => self.addresses.iter().collect(),
            false => ipv4,
        };
        match candidates.as_slice() {
            [address] => Ok(address.to_string()),
            found => {
                let found: Vec<_> = found.iter().map(ToString::to_string).collect();
                let found = match found.is_empty() {
                    true => "it reported no address".to_owned(),
                    false => format!("it has several ({})", found.join(", ")),
                };
                Err(format!(
                    "at which address do the other workers reach it? {found}. Give it as --worker {}=ADDRESS",
                    host.name
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Host {
        text.parse().unwrap()
    }

    #[test]
    fn reads_what_the_script_prints() {
        let facts = Facts::parse(
            "kernel=Linux\nmachine=aarch64\nssh=10.0.0.9 50000 10.0.0.1 22\naddresses=10.0.0.1 fd00::1 \ndigest=ab\n",
        );
        assert_eq!(
            (facts.machine.as_str(), facts.digest.as_deref()),
            ("aarch64", Some("ab"))
        );
        assert_eq!(facts.addresses.len(), 2);
        assert_eq!(facts.address(&host("a")).unwrap(), "10.0.0.1");
        assert_eq!(facts.address(&host("a=b.example")).unwrap(), "b.example");
    }

    #[test]
    fn asks_for_the_address_if_there_are_several() {
        let one = Facts::parse("addresses=10.0.0.1 fd00::1\n");
        assert_eq!(one.address(&host("a")).unwrap(), "10.0.0.1");
        let two = Facts::parse("addresses=10.0.0.1 10.0.1.1\n")
            .address(&host("a"))
            .unwrap_err();
        assert!(
            two.contains("10.0.0.1, 10.0.1.1") && two.contains("--worker a=ADDRESS"),
            "{two}"
        );
        assert!(
            Facts::parse("")
                .address(&host("a"))
                .unwrap_err()
                .contains("no address")
        );
    }
}
