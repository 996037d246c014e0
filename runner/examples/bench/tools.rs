//! Runs fi_pingpong, fabtests and ucx_perftest. Each measurement starts a server and a client, and the client prints
//! the result.
//!
//! The fabtests get `-l`, so that their buffers start at a page, like those of the runner and of fi_pingpong. Otherwise,
//! messages of 64 KiB over tcp take 12 percent less time, because their source does not start at a page.
//!
//! Over tcp, both sides of ucx_perftest get `-e`, which selects the `peer` error handling mode, because the runner uses
//! this mode there. In `none` mode, the tool's default, UCX 1.22 writes directly to sockets; in `peer` mode, it
//! emulates writes with active messages. UCX refuses a connection whose sides use different modes. Over shared memory,
//! both the runner and the tool use `none` mode.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crds::v1alpha1::MemoryKind;

use crate::fabric::{FILL_HEAP, Fabric, ucx_transports};
use crate::runner::{Case, WINDOW};
use crate::{Setting, WARM_UP};

const PORT: u16 = 17_920;
const DEADLINE: Duration = Duration::from_secs(20);

/// A tool to compare with the runner.
pub enum Tool<'a> {
    Fabtest(Fabtest<'a>),
    /// A ucx_perftest test.
    UcxPerftest {
        test: &'static str,
    },
}

impl Tool<'_> {
    /// Returns the mean one-way latency in microseconds, or the throughput in MB/s. `provider` is the name that the
    /// library uses.
    ///
    /// # Errors
    /// Returns an error if the tool cannot be started, does not listen, or prints no result.
    pub fn measure(&self, setting: &Setting<'_>, case: Case, provider: &str) -> Result<f64, String> {
        match self {
            Self::Fabtest(tool) => tool.measure(setting, case, provider),
            Self::UcxPerftest { test } => ucx_perftest(setting, case, test),
        }
    }
}

/// A libfabric tool, with the directory that contains it if it belongs to fabtests.
pub enum Fabtest<'a> {
    FiPingpong,
    TaggedPingpong(&'a Path),
    RmaBandwidth(&'a Path),
}

impl Fabtest<'_> {
    fn measure(&self, setting: &Setting<'_>, case: Case, provider: &str) -> Result<f64, String> {
        let (binary, column) = match self {
            Self::FiPingpong => ("fi_pingpong".to_owned(), "usec/xfer"),
            Self::TaggedPingpong(directory) => {
                (in_directory(directory, "fi_rdm_tagged_pingpong"), "usec/xfer")
            }
            Self::RmaBandwidth(directory) => (in_directory(directory, "fi_rma_bw"), "MB/sec"),
        };
        let warm_up = WARM_UP.to_string();
        let side = |cpu: u32| {
            let mut command = fabtest_command(&binary, cpu, setting, case, provider);
            match self {
                Self::FiPingpong => {
                    command.args(["-e", "rdm", "-d", if provider == "shm" { "shm" } else { "lo" }])
                }
                Self::TaggedPingpong(_) => command.args(["-l", "-w", &warm_up]).arg(format!("-E={PORT}")),
                Self::RmaBandwidth(_) => {
                    let window = WINDOW.to_string();
                    let options = ["-l", "-o", "write", "-U", "-w", &warm_up, "-W", &window];
                    command.args(options).arg(format!("-E={PORT}"))
                }
            };
            command
        };
        let [mut server, mut client] = setting.cpus.map(side);
        if matches!(self, Self::FiPingpong) {
            server.args(["-B", &PORT.to_string()]);
            client.args(["-P", &PORT.to_string()]);
        }
        client.arg("127.0.0.1");
        let text = run(server, client);
        let value = text.and_then(|text| column_of(&text, column));
        value.map_err(|error| format!("{binary}, {provider}, {} bytes: {error}", setting.size))
    }
}

/// Whether this ucx_perftest has the option `-y`, with which it copies the payload of active messages to the receive
/// buffer. UCX 1.13 does not have it.
fn copies_payload(mut perftest: Command) -> bool {
    let help = perftest.arg("-h").output();
    help.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("\n     -y "))
}

/// Runs the ucx_perftest test named `test`. If `setting` has a library directory, the binary in `bin` next to it is
/// used.
fn ucx_perftest(setting: &Setting<'_>, case: Case, test: &str) -> Result<f64, String> {
    let Fabric::Ucx(transport, _) = setting.fabric else {
        return Err(format!("ucx_perftest -t {test} measures only UCX"));
    };
    let transports = ucx_transports(transport, setting.memory);
    let transports = transports
        .iter()
        .map(|name| name.name())
        .collect::<Vec<_>>()
        .join(",");
    let next_to_library = |directory: &PathBuf| directory.with_file_name("bin").join("ucx_perftest");
    let binary = setting
        .library
        .map_or(PathBuf::from("ucx_perftest"), next_to_library);
    let side = |cpu: u32| {
        let mut command = pinned(cpu);
        command.arg(&binary).args(["-p", &PORT.to_string()]);
        command.env("UCX_TLS", format!("{transports},self"));
        if setting.fabric.uses_network() {
            command.arg("-e").env("UCX_NET_DEVICES", "lo");
        }
        if setting.memory == MemoryKind::Cuda {
            command.args(["-m", "cuda"]);
        }
        if let Some(method) = setting.fabric.allocation_method(setting.memory) {
            command.envs([("UCX_ALLOC_PRIO", method), FILL_HEAP]);
        }
        if let Some(directory) = setting.library {
            command.env("LD_LIBRARY_PATH", directory);
        }
        command
    };
    let [server, mut client] = setting.cpus.map(side);
    client.args(["-t", test, "-f", "-v", "-w", &WARM_UP.to_string()]);
    client.args(["-n", &setting.iterations(case).to_string()]);
    client.args(["-s", &setting.size.to_string()]);
    if case != Case::PingPong {
        client.args(["-O", &WINDOW.to_string()]);
    }
    if test.starts_with("ucp_am") {
        // The runner's active messages have a header of 8 bytes, and their payload is copied to the receive buffer.
        client.args(["-H", "8"]);
        if copies_payload(side(setting.cpus[0])) {
            client.arg("-y");
        }
    }
    client.arg("127.0.0.1");
    let text = run(server, client);
    let value = text.and_then(|text| match case {
        Case::PingPong => field_of(&text, "overall_lat"),
        // The tool prints the bandwidth in MiB/s, so the throughput in MB/s is calculated from the message rate.
        Case::Writes | Case::Reads | Case::Messages => {
            Ok(field_of(&text, "overall_mr")? * setting.size as f64 / 1e6)
        }
    });
    value.map_err(|error| {
        format!(
            "ucx_perftest -t {test}, {transports}, {} bytes: {error}",
            setting.size
        )
    })
}

/// Command whose arguments are a command that runs on `cpu`. The kernel kills it if this process exits, because a tool that
/// kept polling would slow down all later measurements.
pub fn pinned(cpu: u32) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "taskset", "-c", &cpu.to_string()]);
    command
}

fn in_directory(directory: &Path, name: &str) -> String {
    directory.join(name).display().to_string()
}

fn fabtest_command(binary: &str, cpu: u32, setting: &Setting<'_>, case: Case, provider: &str) -> Command {
    let mut command = pinned(cpu);
    command.args([binary, "-p", provider]);
    if setting.memory == MemoryKind::Cuda {
        command.args(["-D", "cuda"]);
    }
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

/// Runs both sides and returns what the client prints.
fn run(mut server: Command, client: Command) -> Result<String, String> {
    let silent = server.stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = Server(silent.spawn().map_err(|error| error.to_string())?);
    server.wait_until_listening()?;
    let mut timed = Command::new("timeout");
    timed
        .arg(DEADLINE.as_secs().to_string())
        .arg(client.get_program())
        .args(client.get_args());
    timed.envs(client.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = timed.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    if text.trim().is_empty() || !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let first = errors.lines().next().unwrap_or("no message");
        return Err(format!("no result ({}): {first}", output.status));
    }
    Ok(text.into_owned())
}

/// Returns the value in the `name` column of the last line.
fn column_of(text: &str, name: &str) -> Result<f64, String> {
    let header = text.lines().find(|line| line.contains(name));
    let index = header.and_then(|header| header.split_whitespace().position(|word| word == name));
    value(
        index,
        text.lines().last(),
        |line| line.split_whitespace().collect(),
        name,
    )
}

/// Returns the value of the `name` field in the last line of comma-separated values.
fn field_of(text: &str, name: &str) -> Result<f64, String> {
    let header = text.lines().find(|line| line.contains(name));
    let index = header.and_then(|header| header.split(',').position(|word| word == name));
    value(index, text.lines().last(), |line| line.split(',').collect(), name)
}

fn value(
    index: Option<usize>,
    line: Option<&str>,
    split: impl Fn(&str) -> Vec<&str>,
    name: &str,
) -> Result<f64, String> {
    let found = index
        .zip(line)
        .and_then(|(index, line)| split(line).get(index)?.parse().ok());
    found.ok_or_else(|| format!("the output has no {name} value"))
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
                return Err(format!("the server exited ({status})"));
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
