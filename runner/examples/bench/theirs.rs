//! The field's tools: a server and a client, of which the client prints the mean one-way latency.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::Setting;

const PORT: u16 = 17_920;
const DEADLINE: Duration = Duration::from_secs(20);

/// Mean one-way latency in microseconds, by fi_pingpong.
pub fn fi_pingpong(setting: &Setting<'_>, provider: &str) -> f64 {
    let tool = |processor: u32, more: &[&str]| {
        let mut command = common("fi_pingpong", processor, setting, provider);
        command.args(["-e", "rdm", "-d", if provider == "shm" { "shm" } else { "lo" }]);
        command.args(more);
        command
    };
    let port = PORT.to_string();
    latency(tool(0, &["-B", &port]), tool(1, &["-P", &port, "127.0.0.1"]))
}

/// Mean one-way latency in microseconds, by fabtests' fi_rdm_tagged_pingpong.
pub fn fabtests(setting: &Setting<'_>, provider: &str, folder: &Path) -> f64 {
    let program = folder.join("fi_rdm_tagged_pingpong").display().to_string();
    let tool = |processor: u32, more: &[&str]| {
        let mut command = common(&program, processor, setting, provider);
        command.args(["-w", "10"]).arg(format!("-E={PORT}")).args(more);
        command
    };
    latency(tool(0, &[]), tool(1, &["127.0.0.1"]))
}

fn common(program: &str, processor: u32, setting: &Setting<'_>, provider: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", &processor.to_string(), program]);
    command.args(["-p", provider]);
    command.args([
        "-I",
        &setting.iterations().to_string(),
        "-S",
        &setting.size.to_string(),
    ]);
    if let Some(folder) = setting.library {
        command.env("LD_LIBRARY_PATH", folder);
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
    server.await_listening();
    let output = client.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    server.0.wait().unwrap();
    column(&text, "usec/xfer")
        .unwrap_or_else(|| unreachable!("{client:?}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// The last line's value in the column of this name.
fn column(text: &str, name: &str) -> Option<f64> {
    let header = text.lines().find(|line| line.contains(name))?;
    let place = header.split_whitespace().position(|word| word == name)?;
    text.lines().last()?.split_whitespace().nth(place)?.parse().ok()
}

struct Server(Child);

impl Server {
    /// Returns when it listens for its client; asking it by a connection would be taken for the client.
    fn await_listening(&mut self) {
        let began = Instant::now();
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
            assert!(began.elapsed() < DEADLINE, "the server does not listen on {PORT}");
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended, unless its client failed.
        let _ = self.0.kill();
    }
}
