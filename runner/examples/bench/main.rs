//! Compares the runner with established tools: alternates repeated measurements with fabricbench-runner and
//! fi_pingpong, fabtests, ucx_perftest, NIXL's Python interface and the Starway benchmark suite, over the same library
//! and transport on this machine, and with transfer_engine_bench over tcp.
//!
//! Run it with `cargo run --release -p fabricbench-runner --example bench -- --help`, after building the runner with
//! the same profile. A ratio is the runner's value divided by the tool's value from the same repetition.
//!
//! - Latency: the one-way latency of a ping-pong. The tools print means, so the runner's mean is compared: half the
//!   window divided by the number of round trips. Like the tools, the runner polls without pauses and injects small
//!   messages.
//! - Throughput: writes with 64 transfers in flight, compared with fi_rma_bw. In both, a write is complete when its
//!   data is in the target's memory (FI_DELIVERY_COMPLETE), and all transfers use the same buffers. With UCX, both tools
//!   count local completions of puts, and the measured time ends with a flush.
//!
//! For UCX, the last column shows whether the row reaches the [goal](table::Goal) at the worse end of its ratio's
//! interval.
//!
//! In UCX measurements, UCX allocates the memory on both sides, which is the ucx_perftest default.
//!
//! Calls: the mean time of a call and its reply over a UNIX socket, compared with PyIsolate, whose host and extension
//! are also two processes on this machine.
//!
//! Each side is pinned to a separate CPU, except for calls. A tool that fails is reported and omitted.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "an interactive tool that exits on errors"
)]
#![allow(missing_docs, reason = "an example binary")]

mod fabric;
mod nixl;
mod pyisolate;
mod runner;
mod starway;
mod table;
mod tools;
mod transfer_engine;

#[path = "../../tests/common/leg.rs"]
mod leg;

use std::path::PathBuf;

use clap::Parser;
use crds::v1alpha1::MemoryKind;

use fabric::Fabric;
use runner::Case;
use table::{Goal, Row};
use tools::{Fabtest, Tool};

/// Compare the runner's latency and throughput with those of fi_pingpong, fabtests, ucx_perftest, NIXL and Starway.
#[derive(Debug, Parser)]
struct Arguments {
    /// Directory with another libfabric.so.1, measured after the system's library. Can be given several times.
    #[arg(long = "library", value_name = "DIRECTORY")]
    libraries: Vec<PathBuf>,
    /// Directory with fi_rdm_tagged_pingpong and fi_rma_bw from a library's fabtests. Can be given once for each
    /// library, starting with the system's library.
    #[arg(long, value_name = "DIRECTORY")]
    fabtests: Vec<PathBuf>,
    /// Directory with another libucp.so.0, measured after the system's library. Can be given several times. Uses
    /// bin/ucx_perftest next to the directory.
    #[arg(long = "ucx-library", value_name = "DIRECTORY")]
    ucx_libraries: Vec<PathBuf>,
    /// Python interpreter of an environment with the pyisolate, numpy and uv packages. PyIsolate calls are compared
    /// with calls over a UNIX socket.
    #[arg(long, value_name = "FILE")]
    pyisolate: Option<PathBuf>,
    /// Python interpreter that can import Starway 0.6.0. Starway uses the first --ucx-library.
    #[arg(long, value_name = "FILE", requires = "ucx_libraries")]
    starway: Option<PathBuf>,
    /// Path of transfer_engine_bench. Without it, segment transfers are not measured.
    #[arg(long, value_name = "FILE")]
    transfer_engine: Option<PathBuf>,
    /// Duration of each measurement with transfer_engine_bench, in seconds.
    #[arg(long, default_value_t = 2)]
    transfer_engine_seconds: u32,
    /// Directory with the unpacked nixl_cu12 Python package. NIXL transfers are measured with the --pyisolate
    /// interpreter, which has numpy.
    #[arg(long, value_name = "DIRECTORY", requires = "pyisolate")]
    nixl: Option<PathBuf>,
    /// Measure only libfabric, UCX, NIXL, Starway, segment transfers or calls.
    #[arg(long)]
    only: Option<Library>,
    /// Measure only these ucx_perftest tests, for example tag_lat. Can be given several times.
    #[arg(long = "ucx-test", value_name = "TEST", value_parser = UCX_CASES.map(|(.., test)| test))]
    ucx_tests: Vec<String>,
    /// Memory that libfabric and UCX transfer. GPU memory is on GPU 0, and fi_pingpong, which cannot use it, is omitted.
    #[arg(long, default_value = "heap")]
    memory: MemoryName,
    /// CPUs to which the two sides of libfabric, UCX and their tools are pinned. They should be on separate cores.
    #[arg(long, value_name = "CPU,CPU", default_value = "0,1", value_parser = parse_cpus)]
    cpus: [u32; 2],
    /// Of libfabric and UCX, measure only network transports, or only shared memory.
    #[arg(long)]
    over: Option<Medium>,
    /// Number of measurements per size and tool.
    #[arg(long, default_value_t = 15)]
    repeats: usize,
    /// Ping-pong message sizes, in bytes.
    #[arg(long, value_delimiter = ',', default_values_t = (0..10).map(|step| 64 << (2 * step)))]
    sizes: Vec<u64>,
    /// Write sizes, in bytes.
    #[arg(long, value_delimiter = ',', default_values_t = [4 << 10, 64 << 10, 1 << 20])]
    write_sizes: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Library {
    Libfabric,
    Ucx,
    Nixl,
    Calls,
    Starway,
    TransferEngine,
}

/// Memory that is transferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum MemoryName {
    Heap,
    Cuda,
}

impl From<MemoryName> for MemoryKind {
    fn from(name: MemoryName) -> Self {
        match name {
            MemoryName::Heap => Self::Heap,
            MemoryName::Cuda => Self::Cuda,
        }
    }
}

/// What carries the data between the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Medium {
    Network,
    SharedMemory,
}

impl Medium {
    fn of(fabric: Fabric) -> Self {
        if fabric.uses_network() {
            Self::Network
        } else {
            Self::SharedMemory
        }
    }
}

/// What to compare with ucx_perftest, and the names of its tests.
const UCX_CASES: [(Case, [Fabric; 2], &str); 5] = [
    (Case::PingPong, fabric::UCX, "tag_lat"),
    (Case::Writes, fabric::UCX, "ucp_put_bw"),
    (Case::Reads, fabric::UCX, "ucp_get"),
    (Case::PingPong, fabric::UCX_ACTIVE_MESSAGES, "ucp_am_lat"),
    (Case::Messages, fabric::UCX_ACTIVE_MESSAGES, "ucp_am_bw"),
];

/// Parameters of one measurement.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    pub library: Option<&'a PathBuf>,
    pub fabric: Fabric,
    pub memory: MemoryKind,
    pub size: u64,
    /// CPU of each side.
    pub cpus: [u32; 2],
}

impl Setting<'_> {
    /// Number of operations, chosen so that a measurement takes a few tenths of a second, or up to two seconds for large sizes
    /// over shared memory.
    pub fn iterations(&self, case: Case) -> u32 {
        let (bytes, max) = match case {
            Case::PingPong => (400_000_000, 20_000),
            Case::Writes | Case::Reads | Case::Messages => (2_000_000_000, 100_000),
        };
        // Small operations over shared memory take about a tenth of the time of those over a network. On a GPU, they take
        // longer, because the driver is called for each copy.
        let tenths = match (self.memory, Medium::of(self.fabric)) {
            (MemoryKind::Cuda, _) => 1,
            (_, Medium::Network) => 10,
            (_, Medium::SharedMemory) => 100,
        };
        u32::try_from((tenths * bytes / self.size).clamp(200, tenths * max) / 10).unwrap()
    }
}

/// Number of operations that the runner, fabtests and ucx_perftest perform before a measurement. TCP needs more than ten round
/// trips of 16 MiB until its windows no longer grow.
pub const WARM_UP: u32 = 100;

fn parse_cpus(text: &str) -> Result<[u32; 2], String> {
    let numbers = text
        .split_once(',')
        .map(|(one, other)| [one, other].map(str::parse));
    match numbers {
        Some([Ok(one), Ok(other)]) if one != other => Ok([one, other]),
        _ => Err("two different CPU numbers are required, for example 0,1".to_owned()),
    }
}

fn main() {
    let arguments = Arguments::parse();
    let measures = |library| arguments.only.is_none_or(|only| only == library);
    if measures(Library::Libfabric) {
        measure_libfabric(&arguments);
    }
    if measures(Library::Ucx) {
        measure_ucx(&arguments);
    }
    if let Some(python) = arguments.pyisolate.as_ref().filter(|_| measures(Library::Calls)) {
        pyisolate::measure(python, arguments.repeats);
    }
    if let (Some(python), Some(library), true) =
        (&arguments.pyisolate, &arguments.nixl, measures(Library::Nixl))
    {
        nixl::measure(python, library, &arguments.write_sizes, arguments.repeats);
    }
    if let (Some(python), [library, ..]) = (&arguments.starway, arguments.ucx_libraries.as_slice())
        && measures(Library::Starway)
    {
        starway::measure(python, library, arguments.repeats);
    }
    if let (true, Some(binary)) = (measures(Library::TransferEngine), &arguments.transfer_engine) {
        transfer_engine::measure(binary, arguments.repeats, arguments.transfer_engine_seconds);
    }
}

impl Arguments {
    fn sizes_of(&self, case: Case) -> &[u64] {
        match case {
            Case::PingPong => &self.sizes,
            Case::Writes | Case::Reads | Case::Messages => &self.write_sizes,
        }
    }

    fn fabrics(&self, fabrics: [Fabric; 2]) -> Vec<Fabric> {
        let is_measured = |fabric: &Fabric| self.over.is_none_or(|over| over == Medium::of(*fabric));
        fabrics.into_iter().filter(is_measured).collect()
    }
}

fn measure_libfabric(arguments: &Arguments) {
    let fabrics = arguments.fabrics(fabric::LIBFABRIC);
    let libraries = std::iter::once(None).chain(arguments.libraries.iter().map(Some));
    let libraries: Vec<_> = libraries
        .enumerate()
        .map(|(index, library)| (library, arguments.fabtests.get(index)))
        .collect();
    println!("{}", table::LATENCY_HEADER);
    for (library, fabtests) in &libraries {
        let is_host = arguments.memory == MemoryName::Heap;
        let tools = [
            is_host.then_some(Tool::Fabtest(Fabtest::FiPingpong)),
            fabtests.map(|directory| Tool::Fabtest(Fabtest::TaggedPingpong(directory))),
        ];
        measure(Case::PingPong, &fabrics, *library, &tools, arguments);
    }
    println!("\n{}", table::THROUGHPUT_HEADER);
    for (library, fabtests) in &libraries {
        let tools = [fabtests.map(|directory| Tool::Fabtest(Fabtest::RmaBandwidth(directory)))];
        measure(Case::Writes, &fabrics, *library, &tools, arguments);
    }
}

fn measure_ucx(arguments: &Arguments) {
    let is_measured =
        |test: &str| arguments.ucx_tests.is_empty() || arguments.ucx_tests.iter().any(|name| name == test);
    for (case, fabrics, test) in UCX_CASES.into_iter().filter(|(.., test)| is_measured(test)) {
        let fabrics = arguments.fabrics(fabrics);
        let (unit, goal): (_, fn(u64) -> Goal) = match case {
            Case::PingPong => ("us", |_| Goal::Latency),
            Case::Writes | Case::Reads | Case::Messages => ("MB/s", |size| Goal::Throughput { size }),
        };
        println!("\n{}", table::ucx_header(test, unit));
        let mut reached = [0; 2];
        for library in std::iter::once(None).chain(arguments.ucx_libraries.iter().map(Some)) {
            let tools = [Some(Tool::UcxPerftest { test })];
            for (size, row) in rows(case, &fabrics, library, &tools, arguments) {
                let is_reached = row.reaches(goal(size));
                if let Some(is_reached) = is_reached {
                    reached[usize::from(is_reached)] += 1;
                }
                println!("{} {} |", row.line(size), table::goal_text(is_reached));
            }
        }
        println!(
            "\n{test}: {} rows reach the goal, {} miss it",
            reached[1], reached[0]
        );
    }
}

/// Measures every size with each of `fabrics`, and prints one line for each combination.
fn measure(
    case: Case,
    fabrics: &[Fabric],
    library: Option<&PathBuf>,
    tools: &[Option<Tool<'_>>],
    arguments: &Arguments,
) {
    for (size, row) in rows(case, fabrics, library, tools, arguments) {
        println!("{}", row.line(size));
    }
}

/// Measures every size with each of `fabrics`, one after another.
fn rows<'a>(
    case: Case,
    fabrics: &'a [Fabric],
    library: Option<&'a PathBuf>,
    tools: &'a [Option<Tool<'_>>],
    arguments: &'a Arguments,
) -> impl Iterator<Item = (u64, Row)> + 'a {
    fabrics.iter().copied().flat_map(move |fabric| {
        arguments.sizes_of(case).iter().copied().map(move |size| {
            let setting = Setting {
                library,
                fabric,
                memory: arguments.memory.into(),
                size,
                cpus: arguments.cpus,
            };
            let mut row = Row::new(tools.len());
            let mut tools: Vec<_> = tools.iter().map(Option::as_ref).collect();
            for repetition in 0..arguments.repeats {
                // The order alternates, so that no tool always runs in the same position.
                if repetition % 2 == 0 {
                    row.add_runner(runner::measure(&setting, case));
                }
                let provider = row.provider.clone();
                for (values, tool) in row.tools.iter_mut().zip(&mut tools) {
                    let measured = tool.as_ref().map(|tool| tool.measure(&setting, case, &provider));
                    if let Some(Err(error)) = &measured {
                        eprintln!("omitted: {error}");
                        *tool = None;
                    }
                    values.push(measured.and_then(Result::ok));
                }
                if repetition % 2 == 1 {
                    row.add_runner(runner::measure(&setting, case));
                }
            }
            (size, row)
        })
    })
}
