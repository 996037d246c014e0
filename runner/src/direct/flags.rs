//! Command-line flags, named as in the Starway benchmark suite, and the scenarios of a run that they describe. Uses standard error.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use crds::number::whole_number;
use crds::units::{MAX_MESSAGE_BYTES, Size};
use crds::v1alpha1::{
    Libfabric, LibfabricProvider, MemoryKind, SmallMessages, TransportSpec, Ucx, UcxTransport, tls_value,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::bounds::{self, FlagError, MAX_OPERATIONS};
use super::session::LocalChoices;
use super::transport::{flag, transport_names};

/// Environment variable from which UCX reads its transports.
const UCX_TLS: &str = "UCX_TLS";
/// Environment variable from which libfabric reads its provider.
const FI_PROVIDER: &str = "FI_PROVIDER";

/// Library and transports.
#[derive(Clone, Debug, Default, Args)]
pub struct TransportFlags {
    /// Communication library. By default, --tls selects ucx and --provider selects libfabric.
    #[arg(long, value_enum)]
    pub library: Option<LibraryName>,
    /// Comma-separated transports that UCX may use, with UCX's names: all, tcp, sm, posix, rc, rc_x, ud, cuda_copy and
    /// others. Overrides the UCX_TLS environment variable, which is used if the flag is omitted.
    #[arg(long, value_name = "LIST", conflicts_with = "provider")]
    pub tls: Option<String>,
    /// libfabric provider: tcp, shm, "verbs;ofi_rxm", efa and others. If --library is libfabric, the default is the
    /// FI_PROVIDER environment variable.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
}

/// Communication library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LibraryName {
    /// UCX.
    Ucx,
    /// libfabric.
    Libfabric,
}

/// Choices that each side makes for itself. They are never sent to the other side.
#[derive(Clone, Debug, Default, Args)]
pub struct LocalFlags {
    /// Directory whose libraries are loaded instead of the system libraries, on this machine.
    #[arg(long, value_name = "DIRECTORY")]
    pub library_directory: Option<PathBuf>,
    /// Device of each rail on this machine: its source address (tcp) or its name (RDMA). Repeat the flag for several
    /// rails. By default, tcp uses the interface of the connection between the two sides, and RDMA transports use the
    /// nearest devices.
    #[arg(long, value_name = "DEVICE")]
    pub device: Vec<String>,
}

/// Scenario name, or `all`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScenarioName {
    /// One-way bandwidth of one large message at a time, client to server.
    LargeArray,
    /// Rate and latency of batches of small messages, client to server.
    SmallMessages,
    /// Round-trip time of one byte.
    PingpongFlag,
    /// Chunks in both directions at the same time, with pings.
    StreamingDuplex,
    /// All scenarios.
    All,
}

/// Scenarios and their settings. Sizes take suffixes such as Ki, Mi and Gi.
#[derive(Clone, Debug, Args)]
pub struct ScenarioFlags {
    /// Scenarios to measure, separated by spaces.
    #[arg(long, value_enum, num_args = 1.., value_delimiter = ',', default_value = "all")]
    pub scenarios: Vec<ScenarioName>,
    /// Message size in large-array [default: 1Gi]
    #[arg(long, value_name = "SIZE")]
    pub large_bytes: Option<Size>,
    /// Measured messages in large-array [default: 3]
    #[arg(long, value_name = "COUNT",
        allow_negative_numbers = true, value_parser = whole_number(bounds::OPERATIONS))]
    pub large_iterations: Option<u32>,
    /// Warm-up messages in large-array [default: 1]
    #[arg(long, value_name = "COUNT",
        allow_negative_numbers = true, value_parser = whole_number(bounds::WARMUP))]
    pub large_warmup: Option<u32>,
    /// Message size in small-messages [default: 1Ki]
    #[arg(long, value_name = "SIZE")]
    pub small_bytes: Option<Size>,
    /// Measured batches in small-messages [default: 10]
    #[arg(long, value_name = "COUNT",
        allow_negative_numbers = true, value_parser = whole_number(bounds::BATCHES))]
    pub small_iterations: Option<u32>,
    /// Warm-up batches in small-messages [default: 2]
    #[arg(long, value_name = "COUNT",
        allow_negative_numbers = true, value_parser = whole_number(bounds::SMALL_WARMUP))]
    pub small_warmup: Option<u32>,
    /// Messages per batch in small-messages, all in flight together [default: 64]
    #[arg(long, visible_alias = "concurrency", value_name = "COUNT",
        allow_negative_numbers = true, value_parser = whole_number(bounds::CONCURRENCY))]
    pub small_concurrency: Option<u32>,
    /// Measured round trips in pingpong-flag [default: 1000]
    #[arg(long, value_name = "COUNT",
        allow_negative_numbers = true, value_parser = whole_number(bounds::OPERATIONS))]
    pub flag_iterations: Option<u32>,
    /// Warm-up round trips in pingpong-flag [default: 100]
    #[arg(long, value_name = "COUNT",
        allow_negative_numbers = true, value_parser = whole_number(bounds::WARMUP))]
    pub flag_warmup: Option<u32>,
    /// Chunk size in streaming-duplex [default: 4Mi]
    #[arg(long, value_name = "SIZE")]
    pub stream_bytes: Option<Size>,
    /// Measured chunks per direction in streaming-duplex [default: 64]
    #[arg(long, visible_alias = "iterations", value_name = "COUNT",
        allow_negative_numbers = true, value_parser = whole_number(bounds::OPERATIONS))]
    pub stream_iterations: Option<u32>,
    /// Warm-up chunks per direction in streaming-duplex [default: 8]
    #[arg(long, value_name = "COUNT",
        allow_negative_numbers = true, value_parser = whole_number(bounds::WARMUP))]
    pub stream_warmup: Option<u32>,
    /// Chunks in flight per direction in streaming-duplex [default: 4]
    #[arg(long, value_name = "COUNT",
        allow_negative_numbers = true, value_parser = whole_number(bounds::WINDOW))]
    pub stream_window: Option<u32>,
    /// Number of rails on each side, each with a separate device.
    #[arg(long, value_name = "COUNT", default_value_t = 1,
        allow_negative_numbers = true, value_parser = whole_number(bounds::RAILS))]
    pub rails: u32,
    /// Kind of memory to use on both sides.
    #[arg(long, value_enum, default_value_t = MemoryName::Heap)]
    pub memory: MemoryName,
    /// Skip the integrity pass, which runs every scenario once and verifies all bytes before the measurement.
    #[arg(long)]
    pub no_integrity: bool,
    /// Maximum duration of a scenario, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 300,
        allow_negative_numbers = true, value_parser = whole_number(bounds::CASE_SECONDS))]
    pub case_timeout: u32,
}

/// Kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MemoryName {
    /// Ordinary pages.
    Heap,
    /// 2 MiB huge pages.
    HugePages,
    /// Shared memory.
    SharedMemory,
    /// GPU memory.
    Cuda,
}

/// Where to write the results.
#[derive(Clone, Debug, Default, Args)]
pub struct OutputFlags {
    /// Also write the results to this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Include the samples of all operations in the JSON file.
    #[arg(long, requires = "output")]
    pub store_trace: bool,
}

impl TransportFlags {
    /// Returns the transport, with `rails` rails, that the flags select. If they select none, the variables that
    /// `variable` reads are used. Returns `None` if no variable selects a transport either.
    ///
    /// # Errors
    /// Returns an error if a name is unknown, or the flags contradict each other.
    pub fn transport(
        &self,
        rails: u32,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<TransportSpec>, FlagError> {
        let contradicts = |flag, library: &str| {
            Err(FlagError::new(
                flag,
                format!("needs --library {library}: use one library at a time"),
            ))
        };
        match (self.library, &self.tls, &self.provider) {
            (Some(LibraryName::Libfabric), Some(_), _) => return contradicts("--tls", "ucx"),
            (Some(LibraryName::Ucx), _, Some(_)) => return contradicts("--provider", "libfabric"),
            _ => {}
        }
        let uses_libfabric = self.library == Some(LibraryName::Libfabric) || self.provider.is_some();
        if uses_libfabric {
            let name = self.provider.clone().or_else(|| variable(FI_PROVIDER));
            let provider = name.map(|name| provider(&name)).transpose()?;
            return Ok(provider.map(|provider| TransportSpec::Libfabric(Libfabric { provider, rails })));
        }
        let list = self.tls.clone().or_else(|| variable(UCX_TLS));
        let transports = list.map(|list| ucx_transports(&list)).transpose()?;
        Ok(transports.map(|transports| TransportSpec::Ucx(Ucx::new(transports, rails))))
    }

    /// Like [`TransportFlags::transport`], but returns `default` if no flag and no variable selects a transport, and
    /// reports on standard error that it was chosen.
    ///
    /// # Errors
    /// Returns an error if a name is unknown, the flags contradict each other, or libfabric is selected without a
    /// provider.
    pub fn transport_or(
        &self,
        default: TransportSpec,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<TransportSpec, FlagError> {
        if let Some(transport) = self.transport(default.rails(), variable)? {
            return Ok(transport);
        }
        if self.library == Some(LibraryName::Libfabric) {
            return Err(FlagError::new(
                "--library",
                "is libfabric, but no provider is set: use --provider, such as --provider tcp",
            ));
        }
        // The note is lost if standard error is closed.
        let _ = writeln!(
            io::stderr(),
            "no transport is set: using {}; --provider selects another libfabric provider, and --tls selects UCX",
            flag(&default)
        );
        Ok(default)
    }

    /// Variables that replace those in this process's environment.
    pub fn replaced_variables(&self, variable: impl Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
        let transports = self.tls.as_deref().map(ucx_transports);
        match (transports, variable(UCX_TLS)) {
            (Some(Ok(transports)), Some(_)) => BTreeMap::from([(UCX_TLS.into(), tls_value(&transports))]),
            _ => BTreeMap::new(),
        }
    }
}

impl LocalFlags {
    /// Checks that a device is named for each of `rails` rails, or that no device is named.
    ///
    /// # Errors
    /// Returns an error if some devices are named, but not one for each rail.
    pub fn check_devices(&self, rails: u32) -> Result<(), FlagError> {
        let devices = self.device.len();
        if devices == 0 || devices == rails as usize {
            return Ok(());
        }
        let reason =
            format!("names {devices} devices, but --rails is {rails}: repeat --device once for each rail");
        Err(FlagError::new("--device", reason))
    }

    /// Directory of the library, as an absolute path: the instrument has a different working directory.
    pub fn library(&self) -> Option<String> {
        let directory = self.library_directory.as_ref()?;
        let absolute = std::path::absolute(directory);
        Some(absolute.as_ref().unwrap_or(directory).display().to_string())
    }

    /// Returns this side's choices. `rails` are the devices if no flag names them.
    pub fn choices(&self, rails: Vec<String>, env: BTreeMap<String, String>) -> LocalChoices {
        LocalChoices {
            library: self.library(),
            rails: if self.device.is_empty() {
                rails
            } else {
                self.device.clone()
            },
            env,
        }
    }
}

impl ScenarioFlags {
    /// Scenarios of a run, as in its spec. Settings that no flag sets are omitted, and have the suite's defaults.
    ///
    /// # Errors
    /// Returns an error if a scenario has too many operations.
    pub fn scenarios(&self) -> Result<Vec<Value>, FlagError> {
        let all = [
            ScenarioName::LargeArray,
            ScenarioName::SmallMessages,
            ScenarioName::PingpongFlag,
            ScenarioName::StreamingDuplex,
        ];
        let names: Vec<ScenarioName> = self
            .scenarios
            .iter()
            .flat_map(|name| match name {
                ScenarioName::All => all.as_slice(),
                one => std::slice::from_ref(one),
            })
            .copied()
            .collect();
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name) {
                let name = name.to_possible_value();
                let name = name.as_ref().map_or("a scenario", |name| name.get_name());
                return Err(FlagError::new(
                    "--scenarios",
                    format!("contains {name} twice: specify it once"),
                ));
            }
        }
        let sizes = [
            ("--large-bytes", self.large_bytes),
            ("--small-bytes", self.small_bytes),
            ("--stream-bytes", self.stream_bytes),
        ];
        for (flag, size) in sizes {
            if size.is_some_and(|size| !(1..=MAX_MESSAGE_BYTES).contains(&size.0)) {
                return Err(FlagError::new(flag, "must be between 1 byte and 1Gi"));
            }
        }
        let usual = SmallMessages::default();
        let batches = self.small_iterations.unwrap_or(usual.batches);
        let concurrency = self.small_concurrency.unwrap_or(usual.concurrency);
        let messages = u64::from(batches) * u64::from(concurrency);
        if messages > MAX_OPERATIONS.into() {
            let reason =
                format!("and --small-concurrency are {messages} messages: choose at most {MAX_OPERATIONS}");
            return Err(FlagError::new("--small-iterations", reason));
        }
        Ok(names.into_iter().map(|name| self.scenario(name)).collect())
    }

    /// The scenario `name` with its settings.
    fn scenario(&self, name: ScenarioName) -> Value {
        let (workload, settings) = match name {
            ScenarioName::LargeArray | ScenarioName::All => (
                "largeArray",
                vec![
                    sizes(self.large_bytes),
                    setting("iterations", self.large_iterations),
                    setting("warmup", self.large_warmup),
                ],
            ),
            ScenarioName::SmallMessages => (
                "smallMessages",
                vec![
                    sizes(self.small_bytes),
                    setting("concurrency", self.small_concurrency),
                    setting("batches", self.small_iterations),
                    setting("warmupBatches", self.small_warmup),
                ],
            ),
            ScenarioName::PingpongFlag => (
                "pingpongFlag",
                vec![
                    setting("iterations", self.flag_iterations),
                    setting("warmup", self.flag_warmup),
                ],
            ),
            ScenarioName::StreamingDuplex => (
                "streamingDuplex",
                vec![
                    sizes(self.stream_bytes),
                    setting("window", self.stream_window),
                    setting("iterations", self.stream_iterations),
                    setting("warmup", self.stream_warmup),
                ],
            ),
        };
        let settings: Map<String, Value> = settings.into_iter().flatten().collect();
        let name = name.to_possible_value();
        json!({
            "name": name.as_ref().map(|name| name.get_name()),
            "memory": self.memory(),
            "integrity": !self.no_integrity,
            workload: settings,
        })
    }

    /// Kind of memory on both sides.
    fn memory(&self) -> MemoryKind {
        match self.memory {
            MemoryName::Heap => MemoryKind::Heap,
            MemoryName::HugePages => MemoryKind::HugePages,
            MemoryName::SharedMemory => MemoryKind::SharedMemory,
            MemoryName::Cuda => MemoryKind::Cuda,
        }
    }
}

/// The setting `name`, if a flag sets it.
fn setting(name: &str, value: Option<impl Serialize>) -> Option<(String, Value)> {
    value.map(|value| (name.to_owned(), json!(value)))
}

fn sizes(size: Option<Size>) -> Option<(String, Value)> {
    setting("sizes", size.map(|size| [size]))
}

fn ucx_transports(list: &str) -> Result<Vec<UcxTransport>, FlagError> {
    let names = list.split(',').map(str::trim);
    // The runner always adds `self`.
    let others: Vec<&str> = names.filter(|name| *name != "self").collect();
    if others.is_empty() {
        let reason = format!(
            "(or {UCX_TLS}) contains only self, which connects a process to itself: name a transport between two processes, \
             such as sm or tcp"
        );
        return Err(FlagError::new("--tls", reason));
    }
    others
        .into_iter()
        .map(|name| {
            UcxTransport::from_name(name).ok_or_else(|| {
                let reason = format!(
                    "(or {UCX_TLS}) contains {name:?}, which is not a known transport: use {}",
                    transport_names(&UcxTransport::ALL)
                );
                FlagError::new("--tls", reason)
            })
        })
        .collect()
}

fn provider(name: &str) -> Result<LibfabricProvider, FlagError> {
    // As in manifests, `verbs` stands for the only combination in which the provider can be used.
    let full = if name == "verbs" { "verbs;ofi_rxm" } else { name };
    let known = LibfabricProvider::ALL
        .into_iter()
        .find(|provider| provider.name() == full);
    known.ok_or_else(|| {
        let names = LibfabricProvider::ALL.map(LibfabricProvider::name).join(", ");
        let reason =
            format!("(or {FI_PROVIDER}) is {name:?}, which is not a known provider: use one of {names}");
        FlagError::new("--provider", reason)
    })
}

#[cfg(test)]
mod tests;
