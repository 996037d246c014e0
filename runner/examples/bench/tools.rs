//! Runs fi_pingpong and fabtests. Each starts a server and a client, and the client prints the mean one-way latency.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::Setting;

const PORT: u16 = 17_920;
const DEADLINE: Duration = Duration::from_secs(20);

/// Mean one-way latency in microseconds, measured by fi_pingpong.
pub fn fi_pingpong(setting: &Setting<'_>, provider: &str) -> f64 {
    let tool = |cpu: u32, more: &[&str]| {
        let mut command = common("fi_pingpong", cpu, setting, provider);
        command.args(["-e", "rdm", "-d", if provider == "shm" { "shm" } else { "lo" }]);
        command.args(more);
        command
    };
    let port = PORT.to_string();
    latency(tool(0, &["-B", &port]), tool(1, &["-P", &port, "127.0.0.1"]))
}

/// Mean one-way latency in microseconds, measured by fi_rdm_tagged_pingpong from fabtests.
pub fn fabtests(setting: &Setting<'_>, provider: &str, directory: &Path) -> f64 {
    let binary = directory.join("fi_rdm_tagged_pingpong").display().to_string();
    let tool = |cpu: u32, more: &[&str]| {
        let mut command = common(&binary, cpu, setting, provider);
        command.args(["-w", "10"]).arg(format!("-E={PORT}")).args(more);
        command
    };
    latency(tool(0, &[]), tool(1, &["127.0.0.1"]))
}

fn common(binary: &str, cpu: u32, setting: &Setting<'_>, provider: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string(), binary]);
    command.args(["-p", provider]);
    command.args([
        "-I",
        &setting.iterations().to_string(),
        "-S",
        &setting.size.to_string(),
    ]);
    if let Some(directory) = setting.library {
        command.env("LD_LIBRARY_PATH", directory);
    }
    command
}

fn latency(mut server: Command, mut client: Command) -> f64 {
    let mut server = Server(
        server
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    server.wait_until_listening();
    let output = client.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    server.0.wait().unwrap();
    column(&text, "usec/xfer")
        .unwrap_or_else(|| unreachable!("{client:?}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// Value of the column `name` in the last line.
fn column(text: &str, name: &str) -> Option<f64> {
    let header = text.lines().find(|line| line.contains(name))?;
    let index = header.split_whitespace().position(|word| word == name)?;
    text.lines().last()?.split_whitespace().nth(index)?.parse().ok()
}

struct Server(Child);

impl Server {
    /// Waits until the server is listening. This cannot be tested by connecting, because the server would treat the
    /// connection as its client.
    fn wait_until_listening(&mut self) {
        let start = Instant::now();
        let listens = format!(":{PORT:04X} ");
        loop {
            let sockets =
                fs::read_to_string("/proc/net/tcp").unwrap() + &fs::read_to_string("/proc/net/tcp6").unwrap();
            if sockets
                .lines()
                .any(|line| line.contains(&listens) && line.contains(" 0A "))
            {
                return;
            }
            assert!(
                start.elapsed() < DEADLINE,
                "the server is not listening on port {PORT}"
            );
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server has exited already, unless the client failed.
        let _ = self.0.kill();
    }
}
