//! Two network namespaces with rate-limited links between them. The namespaces are deleted when the test ends.

use std::process::{self, Command};
use std::thread;
use std::time::{Duration, Instant};

/// Returns whether this process is permitted to create network namespaces. If not, prints that `test` is skipped.
pub fn can_create_namespaces(test: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("skipped {test}: it creates network namespaces, which requires root");
    }
    is_root
}

/// Two namespaces that are connected by one pair of interfaces for each rail and one pair for the rendezvous.
pub struct Namespaces {
    sides: [String; 2],
    rails: usize,
}

impl Namespaces {
    /// Creates the namespaces. `rate` limits every rail in each direction.
    pub fn with_rails(rails: usize, rate: &str) -> Self {
        let unique = format!("{:x}{:x}", process::id(), unique_number());
        let namespaces = Self {
            sides: [format!("fbr-a-{unique}"), format!("fbr-b-{unique}")],
            rails,
        };
        for side in &namespaces.sides {
            ip(&["netns", "add", side]);
            ip(&["-n", side, "link", "set", "lo", "up"]);
        }
        for link in 0..=rails {
            namespaces.connect(link, (link < rails).then_some(rate));
        }
        for side in &namespaces.sides {
            (0..=rails).for_each(|link| wait_until_up(side, &namespaces.rail_interface(link)));
        }
        namespaces
    }

    /// Name of the namespace of `side`, 0 or 1.
    pub fn name(&self, side: usize) -> &str {
        &self.sides[side]
    }

    /// Returns a command that starts the runner in the namespace of `side`, with a host name of its own, as on another machine.
    /// The name of the host identifies an interface together with its own name.
    pub fn runner(&self, side: usize) -> Command {
        let mut command = Command::new("ip");
        let rename = format!(r#"echo machine-{side} > /proc/sys/kernel/hostname && exec "$0" "$@""#);
        command.args([
            "netns",
            "exec",
            self.name(side),
            "unshare",
            "--uts",
            "sh",
            "-c",
            &rename,
        ]);
        command.arg(env!("CARGO_BIN_EXE_fabricbench-runner"));
        command
    }

    /// Address of rail `rail` in the namespace of `side`.
    pub fn rail_address(&self, side: usize, rail: usize) -> String {
        format!("10.91.{rail}.{}", side + 1)
    }

    /// Name of the interface of rail `rail`, which is the same in both namespaces.
    pub fn rail_interface(&self, rail: usize) -> String {
        format!("rail{rail}")
    }

    /// Rendezvous address in the namespace of `side`.
    pub fn rendezvous_address(&self, side: usize) -> String {
        self.rail_address(side, self.rails)
    }

    fn connect(&self, link: usize, rate: Option<&str>) {
        let device = &self.rail_interface(link);
        let [a, b] = &self.sides;
        ip(&[
            "link", "add", device, "netns", a, "type", "veth", "peer", "name", device, "netns", b,
        ]);
        for (side, namespace) in self.sides.iter().enumerate() {
            let (own, peer) = (self.rail_address(side, link), self.rail_address(1 - side, link));
            ip(&[
                "-n",
                namespace,
                "addr",
                "add",
                &own,
                "peer",
                &format!("{peer}/32"),
                "dev",
                device,
            ]);
            ip(&["-n", namespace, "link", "set", device, "up"]);
            if let Some(rate) = rate {
                let shape = ["root", "tbf", "rate", rate, "burst", "256k", "latency", "50ms"];
                run(
                    "tc",
                    &[&["-n", namespace, "qdisc", "add", "dev", device], &shape[..]].concat(),
                );
            }
        }
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for side in &self.sides {
            // The status is ignored, because creating the namespace may have failed.
            let _ = Command::new("ip").args(["netns", "delete", side]).status();
        }
    }
}

fn unique_number() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Waits until the kernel reports the interface as running, which may take up to a second after both ends are up. UCX
/// ignores interfaces that are not running.
fn wait_until_up(namespace: &str, interface: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    let arguments = ["-n", namespace, "-oneline", "link", "show", interface];
    while !output("ip", &arguments).contains("state UP") {
        assert!(
            Instant::now() < deadline,
            "{interface} in {namespace} is not running"
        );
        thread::sleep(Duration::from_millis(10));
    }
}

fn ip(arguments: &[&str]) {
    run("ip", arguments);
}

fn run(binary: &str, arguments: &[&str]) {
    output(binary, arguments);
}

/// Runs `binary` with `arguments` and returns its standard output.
pub fn output(binary: &str, arguments: &[&str]) -> String {
    let output = Command::new(binary).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{binary} {}: {} (network namespaces require root)",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}
