//! A machine on which a worker runs, as the user names it.

use std::fmt;
use std::str::FromStr;

/// Machine on which a worker runs, such as `gpu-1`, `admin@gpu-1` or `gpu-1=10.0.0.1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// Name that the launcher gets.
    pub name: String,
    /// Address or name at which the other workers reach this one, if the user set it.
    pub address: Option<String>,
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, address) = match text.split_once('=') {
            Some((name, address)) => (name, Some(address)),
            None => (text, None),
        };
        for part in [Some(name), address].into_iter().flatten() {
            if part.is_empty() {
                return Err("must be HOST or HOST=ADDRESS".to_owned());
            }
            // Otherwise, the launcher takes the name for an option.
            if part.starts_with('-') {
                return Err("must not start with '-'".to_owned());
            }
            if part.contains(|character: char| character.is_whitespace() || character.is_control()) {
                return Err("must not contain spaces or control characters".to_owned());
            }
        }
        Ok(Self {
            name: name.to_owned(),
            address: address.map(str::to_owned),
        })
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Some(address) => write!(formatter, "{}={address}", self.name),
            None => formatter.write_str(&self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_can_have_an_address() {
        let host: Host = "admin@gpu-1=fd00::1".parse().unwrap();
        assert_eq!(
            (host.name.as_str(), host.address.as_deref()),
            ("admin@gpu-1", Some("fd00::1"))
        );
        assert_eq!("gpu-1".parse::<Host>().unwrap().address, None);
        assert_eq!(host.to_string(), "admin@gpu-1=fd00::1");
    }

    #[test]
    fn rejects_names_that_a_launcher_would_misread() {
        for text in ["", "=10.0.0.1", "a=", "-oProxyCommand=x", "a b", "a=-x", "a\nb"] {
            assert!(text.parse::<Host>().is_err(), "{text:?}");
        }
    }
}
