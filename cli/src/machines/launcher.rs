//! The command that starts a shell on another machine.

use std::fmt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::str::FromStr;

/// Part of a launcher that the name of the host replaces.
const HOST: &str = "{host}";
/// Shell that the launcher starts. It reads its commands from standard input, so that their quoting does not depend on
/// the launcher: ssh passes words to another shell, and other launchers do not.
const SHELL: &str = "sh";

/// Command that starts a program on another machine, such as `ssh {host}`, and passes standard input and output on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launcher {
    text: String,
    words: Vec<String>,
}

impl Launcher {
    /// ssh, which must not ask for a password, because the question would not be seen.
    pub(crate) const DEFAULT: &str = "ssh -T -o BatchMode=yes -o ConnectTimeout=15 {host}";

    /// The command that starts a shell on `host`, in a process group of its own, so that Ctrl-C in the terminal does not end
    /// the connection before the worker has stopped.
    pub(super) fn shell(&self, host: &str) -> Command {
        let mut words = self.words.iter().map(|word| word.replace(HOST, host));
        let mut command = Command::new(words.next().unwrap_or_default());
        command
            .args(words)
            .arg(SHELL)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        command
    }
}

impl fmt::Display for Launcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl FromStr for Launcher {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = shlex::split(text).ok_or("has a quote that is not closed")?;
        match words.iter().any(|word| word.contains(HOST)) {
            true => Ok(Self {
                text: text.to_owned(),
                words,
            }),
            false => Err(format!(
                "must contain {HOST}, which the name of each worker's host replaces"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_replaces_its_part() {
        let launcher: Launcher = "sudo -n ip netns exec 'test {host}'".parse().unwrap();
        let command = launcher.shell("a");
        let words: Vec<_> = command.get_args().collect();
        assert_eq!(words, ["-n", "ip", "netns", "exec", "test a", "sh"]);
    }

    #[test]
    fn rejects_launchers_without_a_host() {
        assert!("ssh gpu-1".parse::<Launcher>().unwrap_err().contains("{host}"));
        assert!("ssh '{host}".parse::<Launcher>().is_err() && "".parse::<Launcher>().is_err());
        assert!(Launcher::DEFAULT.parse::<Launcher>().is_ok());
    }
}
