//! Two network namespaces with a link between them and an SSH server in each, instead of two machines. Requires `ip`
//! (Debian package iproute2) and `sshd` (openssh-server).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio, id};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Maximum time for an SSH server to listen, and for processes to exit.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Two machines, which are removed with all their processes when this value is dropped.
pub struct Fabric {
    number: u32,
    directory: TempDir,
    servers: Vec<Child>,
}

impl Fabric {
    /// Creates the machines. Returns `None` without root, which network namespaces and `sshd` need.
    pub fn create() -> Option<Self> {
        Self::with_directory(|_| {})
    }

    /// Creates the machines after `prepare` got their [worker directory](Self::worker_directory), which does not exist. The
    /// machines see only file systems that were mounted before.
    pub fn with_directory(prepare: impl FnOnce(&Path)) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if !rustix::process::geteuid().is_root() {
            println!("skipped: not root");
            return None;
        }
        let mut fabric = Self {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            directory: TempDir::new().unwrap(),
            servers: Vec::new(),
        };
        prepare(&fabric.worker_directory());
        let (machines, links) = (fabric.machines(), fabric.links());
        for machine in &machines {
            shell(&format!(
                "ip netns add {machine} && ip -n {machine} link set lo up"
            ));
        }
        let [a, b] = &machines;
        shell(&format!(
            "ip link add {} netns {a} type veth peer name {} netns {b}",
            links[0], links[1]
        ));
        for ((machine, link), address) in machines.iter().zip(&links).zip(ADDRESSES) {
            shell(&format!(
                "ip -n {machine} address add {address}/24 dev {link} && ip -n {machine} link set {link} up"
            ));
        }
        fabric.start_servers();
        Some(fabric)
    }

    /// Names of the machines, which are network namespaces.
    pub fn machines(&self) -> [String; 2] {
        ["a", "b"].map(|side| format!("fb-{}-{}-{side}", id(), self.number))
    }

    /// Names of the interfaces of the link.
    pub fn links(&self) -> [String; 2] {
        ["a", "b"].map(|side| format!("fb{}{side}", self.number))
    }

    /// Directory on both machines to which the runner is copied.
    pub fn worker_directory(&self) -> PathBuf {
        self.directory.path().join("worker")
    }

    /// A launcher that enters the network namespace. Its hosts are [`Self::machines`].
    pub fn enter(&self) -> String {
        "ip netns exec {host}".to_owned()
    }

    /// A launcher that connects from the first machine to the SSH servers. Its hosts are [`ADDRESSES`].
    pub fn ssh(&self) -> String {
        let directory = self.directory.path().display();
        let options = format!(
            "-o BatchMode=yes -o ConnectTimeout=10 -o StrictHostKeyChecking=no -o UserKnownHostsFile={directory}/known \
             -o LogLevel=ERROR"
        );
        format!(
            "ip netns exec {} ssh -T -i {directory}/key {options} {{host}}",
            self.machines()[0]
        )
    }

    /// Options of `fabricbench run` for two workers that `launcher` starts.
    pub fn options(&self, launcher: &str) -> Vec<String> {
        let hosts = match launcher.contains("ssh") {
            true => ADDRESSES.map(str::to_owned),
            false => self.machines(),
        };
        let directory = self.worker_directory().display().to_string();
        let fixed = ["--launcher", launcher, "--worker-directory", &directory].map(str::to_owned);
        let workers = hosts.into_iter().flat_map(|host| ["--worker".to_owned(), host]);
        fixed.into_iter().chain(workers).collect()
    }

    /// Cuts the link between the machines.
    pub fn cut(&self) {
        shell(&format!(
            "ip -n {} link set {} down",
            self.machines()[0],
            self.links()[0]
        ));
    }

    /// Repairs the link.
    pub fn repair(&self) {
        shell(&format!(
            "ip -n {} link set {} up",
            self.machines()[0],
            self.links()[0]
        ));
    }

    /// IDs of the runner's processes on the machines.
    pub fn processes(&self) -> Vec<u32> {
        let directory = self.worker_directory();
        let entries = fs::read_dir("/proc").unwrap().flatten();
        entries
            .filter_map(|entry| {
                let pid = entry.file_name().to_str()?.parse().ok()?;
                let program = fs::read_link(entry.path().join("exe")).ok()?;
                program.starts_with(&directory).then_some(pid)
            })
            .collect()
    }

    /// Waits until no process of the runner is left on the machines.
    #[track_caller]
    pub fn assert_no_processes(&self) {
        until("no process of the runner is left", || self.processes().is_empty());
    }

    fn start_servers(&mut self) {
        let directory = self.directory.path().to_owned();
        let shown = directory.display();
        for key in ["host", "key"] {
            shell(&format!("ssh-keygen -q -t ed25519 -N '' -f {shown}/{key}"));
        }
        // sshd requires its privilege separation directory.
        fs::create_dir_all("/run/sshd").unwrap();
        for (machine, address) in self.machines().iter().zip(ADDRESSES) {
            let server = Command::new("ip")
                .args([
                    "netns",
                    "exec",
                    machine,
                    "/usr/sbin/sshd",
                    "-D",
                    "-e",
                    "-f",
                    "/dev/null",
                ])
                .args(options(&directory, address))
                .stderr(Stdio::from(fs::File::create(directory.join(machine)).unwrap()))
                .spawn()
                .unwrap();
            self.servers.push(server);
            let log = directory.join(machine);
            until("sshd listens", || {
                fs::read_to_string(&log).is_ok_and(|log| log.contains("Server listening"))
            });
        }
    }
}

/// Addresses of the machines.
pub const ADDRESSES: [&str; 2] = ["10.77.0.1", "10.77.0.2"];

/// Options of an SSH server that admits only the key in `directory`.
fn options(directory: &Path, address: &str) -> Vec<String> {
    let directory = directory.display();
    [
        format!("ListenAddress={address}"),
        format!("HostKey={directory}/host"),
        format!("AuthorizedKeysFile={directory}/key.pub"),
        "PidFile=none".to_owned(),
        "UsePAM=no".to_owned(),
        "PasswordAuthentication=no".to_owned(),
        "PermitRootLogin=prohibit-password".to_owned(),
        // The key is in a temporary directory.
        "StrictModes=no".to_owned(),
    ]
    .into_iter()
    .flat_map(|option| ["-o".to_owned(), option])
    .collect()
}

impl Drop for Fabric {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
        for machine in self.machines() {
            let script = format!("ip netns pids {machine} | xargs -r kill -9; ip netns del {machine}");
            let _ = Command::new("sh").args(["-c", &script]).status();
        }
    }
}

/// Waits until `check` is true.
#[track_caller]
pub fn until(what: &str, mut check: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !check() {
        assert!(Instant::now() < deadline, "not within {TIMEOUT:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[track_caller]
fn shell(script: &str) {
    let output = Command::new("sh").args(["-c", script]).output().unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
}
