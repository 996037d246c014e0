//! Runs fi_pingpong and fabtests. Each measurement starts a server and a client, and the client prints the result.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::Setting;
use crate::runner::{Case, WINDOW};

const PORT: u16 = 17_920;
const DEADLINE: Duration = Duration::from_secs(20);

/// A tool, with the directory that contains it if it belongs to the fabtests.
pub enum Tool<'a> {
    FiPingpong,
    TaggedPingpong(&'a Path),
    RmaBandwidth(&'a Path),
}

impl Tool<'_> {
    /// Mean one-way latency in microseconds, or throughput in MB/s.
    ///
    /// # Errors
    /// If the tool cannot be started, does not listen, or prints no result.
    pub fn measure(&self, setting: &Setting<'_>, case: Case, provider: &str) -> Result<f64, String> {
        let (binary, column) = match self {
            Self::FiPingpong => ("fi_pingpong".to_owned(), "usec/xfer"),
            Self::TaggedPingpong(directory) => {
                (in_directory(directory, "fi_rdm_tagged_pingpong"), "usec/xfer")
            }
            Self::RmaBandwidth(directory) => (in_directory(directory, "fi_rma_bw"), "MB/sec"),
        };
        let side = |cpu: u32| {
            let mut command = common(&binary, cpu, setting, case, provider);
            match self {
                Self::FiPingpong => {
                    command.args(["-e", "rdm", "-d", if provider == "shm" { "shm" } else { "lo" }])
                }
                Self::TaggedPingpong(_) => command.args(["-w", "10"]).arg(format!("-E={PORT}")),
                Self::RmaBandwidth(_) => {
                    let window = WINDOW.to_string();
                    let options = ["-o", "write", "-U", "-w", "100", "-W", &window];
                    command.args(options).arg(format!("-E={PORT}"))
                }
            };
            command
        };
        let (mut server, mut client) = (side(0), side(1));
        if matches!(self, Self::FiPingpong) {
            server.args(["-B", &PORT.to_string()]);
            client.args(["-P", &PORT.to_string()]);
        }
        client.arg("127.0.0.1");
        run(server, client, column)
            .map_err(|error| format!("{binary}, {provider}, {} bytes: {error}", setting.size))
    }
}

fn in_directory(directory: &Path, name: &str) -> String {
    directory.join(name).display().to_string()
}

fn common(binary: &str, cpu: u32, setting: &Setting<'_>, case: Case, provider: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string(), binary]);
    command.args(["-p", provider]);
    command.args([
        "-I",
        &setting.iterations(case).to_string(),
        "-S",
        &setting.size.to_string(),
    ]);
    if let Some(directory) = setting.library {
        command.env("LD_LIBRARY_PATH", directory);
    }
    command
}

/// Runs both sides and returns the value in the column `name` of the client's last line.
fn run(mut server: Command, mut client: Command, name: &str) -> Result<f64, String> {
    let silent = server.stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = Server(silent.spawn().map_err(|error| error.to_string())?);
    server.wait_until_listening()?;
    let mut timed = Command::new("timeout");
    timed
        .arg(DEADLINE.as_secs().to_string())
        .arg(client.get_program())
        .args(client.get_args());
    timed.envs(client.get_envs().filter_map(|(name, value)| Some((name, value?))));
    client = timed;
    let output = client.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    column(&text, name).ok_or_else(|| {
        let errors = String::from_utf8_lossy(&output.stderr);
        format!(
            "no result ({}): {}",
            output.status,
            errors.lines().next().unwrap_or("no message")
        )
    })
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
    fn wait_until_listening(&mut self) -> Result<(), String> {
        let start = Instant::now();
        let listens = format!(":{PORT:04X} ");
        while start.elapsed() < DEADLINE {
            let sockets =
                fs::read_to_string("/proc/net/tcp").unwrap() + &fs::read_to_string("/proc/net/tcp6").unwrap();
            if sockets
                .lines()
                .any(|line| line.contains(&listens) && line.contains(" 0A "))
            {
                return Ok(());
            }
            if let Ok(Some(status)) = self.0.try_wait() {
                return Err(format!("the server ended ({status})"));
            }
            thread::sleep(Duration::from_millis(2));
        }
        Err(format!("the server is not listening on port {PORT}"))
    }
}

impl Drop for Server {
    /// Waits until the server exits, and kills it if it does not, for example because the client failed.
    fn drop(&mut self) {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(2) {
            if let Ok(Some(_)) = self.0.try_wait() {
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
