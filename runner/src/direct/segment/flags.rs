//! Command-line flags, named as in the Transfer Engine Benchmark, and the scenario that they describe. Performs no I/O.

use clap::{ArgAction, Args, ValueEnum};
use crds::number::whole_number;
use crds::units::{Duration, Size};
use crds::v1alpha1::{MemoryKind, RateUnit, SegmentTransfer, SegmentWorkload, TransportSpec};
use serde_json::{Value, json};

use crate::direct::bounds::{self, FlagError, MAX_CASE_SECONDS};
use crate::direct::flags::{LocalFlags, TransportFlags};
use crate::direct::transport;

/// Additional time that a case gets for the warm-up and for the verification of all bytes.
const CASE_ALLOWANCE_SECONDS: u64 = 120;

/// Flags of both roles. The flags that describe the segment must have the same values on both sides.
#[derive(Clone, Debug, Args)]
pub struct SegmentFlags {
    /// Library and transports, on both sides.
    #[command(flatten)]
    pub transport: TransportFlags,
    /// Library and devices on this machine.
    #[command(flatten)]
    pub local: LocalFlags,
    /// Number of rails on each side, each with a separate device.
    #[arg(long, value_name = "COUNT", default_value_t = 1,
        allow_negative_numbers = true, value_parser = whole_number(bounds::RAILS))]
    pub rails: u32,
    /// Measure UCX even when it emulates reads and writes with messages, as it does over tcp.
    #[arg(long)]
    pub allow_emulation: bool,
    /// Operations: reads from the remote segment, writes to it, or batches of writes, each followed by reads of the
    /// same memory.
    #[arg(long, value_enum, default_value_t = WorkloadName::Read)]
    pub workload: WorkloadName,
    /// Before the measurement, run the workload once and verify every byte.
    #[arg(long, visible_alias = "check", value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1,
          require_equals = true, default_value_t = true, default_missing_value = "true")]
    pub integrity_check: bool,
    /// Allocate the segment in shared memory.
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value_t = false, default_missing_value = "true")]
    pub shmfs: bool,
    /// Allocate the segment in host memory.
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value_t = true, default_missing_value = "true")]
    pub use_dram: bool,
    /// Allocate memory of all GPUs: with --use-dram for the last half of the threads, and otherwise for all threads. By
    /// default, this is done if there are at least 2 threads, this machine has a GPU and the transport accepts its memory.
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true")]
    pub use_vram: Option<bool>,
    /// Requests per batch, all in flight at once.
    #[arg(long, value_name = "COUNT", default_value_t = 16,
        allow_negative_numbers = true, value_parser = whole_number(bounds::BATCH))]
    pub batch: u32,
    /// Request size.
    #[arg(long, value_name = "SIZE", default_value_t = Size(64 << 10))]
    pub size: Size,
    /// Duration of the measurement, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10,
        allow_negative_numbers = true, value_parser = whole_number(bounds::DURATION_SECONDS))]
    pub duration: u64,
    /// Threads, each with its own endpoints and memory. Thread t uses NUMA node t modulo the number of nodes.
    #[arg(long, value_name = "COUNT", default_value_t = 4,
        allow_negative_numbers = true, value_parser = whole_number(bounds::THREADS))]
    pub threads: u32,
    /// Warm-up batches that each thread runs before the measurement. The first one is timed separately.
    #[arg(long, value_name = "COUNT", default_value_t = 10,
        allow_negative_numbers = true, value_parser = whole_number(bounds::WARMUP_BATCHES))]
    pub warmup_batches: u32,
    /// Throughput unit.
    #[arg(long, value_parser = rate_unit, value_name = "UNIT", default_value_t = RateUnit::GB)]
    pub report_unit: RateUnit,
    /// Decimal places in the throughput.
    #[arg(long, value_name = "COUNT", default_value_t = 2,
        allow_negative_numbers = true, value_parser = whole_number(bounds::PRECISION))]
    pub report_precision: u32,
}

/// Operations in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WorkloadName {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Writes, each batch followed by reads of the same memory.
    Mix,
}

impl WorkloadName {
    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Mix => "mix",
        }
    }
}

/// Parses the name of a unit.
fn rate_unit(name: &str) -> Result<RateUnit, String> {
    let unit = RateUnit::ALL.into_iter().find(|unit| unit.to_string() == name);
    unit.ok_or_else(|| {
        let names = RateUnit::ALL.map(|unit| unit.to_string());
        format!("use one of {}", names.join(", "))
    })
}

impl SegmentFlags {
    /// Returns the scenario that the flags describe.
    pub fn scenario(&self) -> SegmentTransfer {
        SegmentTransfer {
            workload: match self.workload {
                WorkloadName::Read => SegmentWorkload::Read,
                WorkloadName::Write => SegmentWorkload::Write,
                WorkloadName::Mix => SegmentWorkload::Mix,
            },
            sizes: vec![self.size],
            batch: self.batch,
            threads: self.threads,
            use_vram: self.has_vram() && self.use_dram,
            duration: Duration(std::time::Duration::from_secs(self.duration)),
            warmup_batches: self.warmup_batches,
            report_unit: self.report_unit,
            report_precision: self.report_precision,
        }
    }

    /// Whether the segment has GPU memory. If neither --use-vram nor another flag says so, it has none.
    pub fn has_vram(&self) -> bool {
        self.use_vram.unwrap_or(!self.use_dram)
    }

    /// Kind of memory that the segment uses, or that the first half of its threads uses if it has DRAM and VRAM.
    ///
    /// # Errors
    /// Returns an error if the flags contradict each other.
    pub fn memory(&self) -> Result<MemoryKind, FlagError> {
        match (self.use_dram, self.has_vram(), self.shmfs) {
            (true, _, false) => Ok(MemoryKind::Heap),
            (true, _, true) => Ok(MemoryKind::SharedMemory),
            (false, true, false) => Ok(MemoryKind::Cuda),
            (false, true, true) => Err(FlagError::new(
                "--shmfs",
                "does not apply to GPU memory: remove it, or use --use-vram=false --use-dram=true",
            )),
            (false, false, _) => Err(FlagError::new(
                "--use-dram",
                "is false, and so is --use-vram: choose at least one of them",
            )),
        }
    }

    /// The scenario, as in the spec of a run.
    ///
    /// # Errors
    /// Returns an error if the flags contradict each other.
    pub fn run_scenario(&self) -> Result<Value, FlagError> {
        Ok(json!({
            "name": super::NAME,
            "memory": self.memory()?,
            "integrity": self.integrity_check,
            "segmentTransfer": self.scenario(),
        }))
    }

    /// Time limit of the case, in seconds.
    pub fn case_timeout_seconds(&self) -> u32 {
        let seconds = self.duration.saturating_mul(2) + CASE_ALLOWANCE_SECONDS;
        u32::try_from(seconds).map_or(MAX_CASE_SECONDS, |seconds| seconds.min(MAX_CASE_SECONDS))
    }

    /// Command that starts an initiator with these flags and those for the metadata service.
    pub fn initiator_command(&self, segment: &str, transport: &TransportSpec, metadata: &[String]) -> String {
        let mut command = format!(
            "fabricbench-runner initiator --remote-segment {} {} --workload {} --batch {} --size {} --threads {} \
             --duration {} --warmup-batches {} --report-unit {} --report-precision {}",
            quote(segment),
            with_quoted_value(&transport::flag(transport)),
            self.workload.name(),
            self.batch,
            self.size,
            self.threads,
            self.duration,
            self.warmup_batches,
            self.report_unit,
            self.report_precision
        );
        for (flag, set) in [
            (" --rails ", self.rails != 1),
            (" --allow-emulation", self.allow_emulation),
            (" --integrity-check=false", !self.integrity_check),
            (" --shmfs", self.shmfs),
            (" --use-dram=false", !self.use_dram),
            (" --use-vram", self.has_vram()),
            (" --use-vram=false", !self.has_vram()),
        ] {
            if set {
                command.push_str(flag);
            }
            if set && flag == " --rails " {
                command.push_str(&self.rails.to_string());
            }
        }
        for word in metadata {
            command.push(' ');
            command.push_str(&quote(word));
        }
        command
    }
}

/// Quotes `text` as a single shell word.
fn quote(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:/,[]".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Formats a flag with its quoted value.
fn with_quoted_value(text: &str) -> String {
    match text.split_once(' ') {
        Some((flag, value)) => format!("{flag} {}", quote(value)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use crds::v1alpha1::{Libfabric, LibfabricProvider};

    use super::*;

    #[derive(Debug, Parser)]
    struct Flags {
        #[command(flatten)]
        flags: SegmentFlags,
    }

    fn parse(flags: &[&str]) -> Result<SegmentFlags, clap::Error> {
        let parsed = Flags::try_parse_from(std::iter::once(&"x").chain(flags))?;
        Ok(parsed.flags)
    }

    #[test]
    fn defaults_match_the_scenario() {
        let flags = parse(&[]).unwrap();
        assert_eq!(flags.scenario(), SegmentTransfer::default());
        assert_eq!(flags.memory(), Ok(MemoryKind::Heap));
        assert!(flags.integrity_check);
    }

    #[test]
    fn accepts_the_flags_of_the_benchmark() {
        let flags = parse(&[
            "--workload=mix",
            "--integrity-check",
            "--shmfs=true",
            "--use-dram=true",
            "--use-vram=false",
            "--batch=4",
            "--size=4096",
            "--duration=3",
            "--threads=2",
            "--report-unit=KiB",
            "--report-precision=0",
        ])
        .unwrap();
        let expected = SegmentTransfer {
            workload: SegmentWorkload::Mix,
            sizes: vec![Size(4096)],
            batch: 4,
            threads: 2,
            duration: Duration(std::time::Duration::from_secs(3)),
            report_unit: RateUnit::KiB,
            report_precision: 0,
            ..SegmentTransfer::default()
        };
        assert_eq!(flags.scenario(), expected);
        assert_eq!(flags.memory(), Ok(MemoryKind::SharedMemory));
        for unit in RateUnit::ALL {
            let flags = parse(&["--report-unit", &unit.to_string()]).unwrap();
            assert_eq!(flags.report_unit, unit);
        }
        for (flag, range) in [
            ("--duration=-1", "from 1 to 1800"),
            ("--threads=0", "from 1 to 64"),
            ("--batch=257", "from 1 to 256"),
        ] {
            let error = parse(&[flag]).unwrap_err().to_string();
            assert!(error.contains(&format!("use a whole number {range}")), "{error}");
        }
        let error = parse(&["--report-unit", "TB"]).unwrap_err().to_string();
        assert!(error.contains("GB, GiB, Gb, MB, MiB, Mb, KB, KiB, Kb"), "{error}");
    }

    #[test]
    fn a_segment_has_dram_or_vram_or_both() {
        let memory = |flags: &[&str]| {
            let flags = parse(flags).unwrap();
            let memory = flags.memory().map_err(|error| error.to_string())?;
            Ok::<_, String>((memory, flags.scenario().use_vram))
        };
        for (flags, expected) in [
            (&[][..], (MemoryKind::Heap, false)),
            (&["--use-vram=false"], (MemoryKind::Heap, false)),
            (&["--use-vram"], (MemoryKind::Heap, true)),
            (&["--use-vram", "--shmfs"], (MemoryKind::SharedMemory, true)),
            (&["--use-dram=false", "--use-vram"], (MemoryKind::Cuda, false)),
            (&["--use-dram=false"], (MemoryKind::Cuda, false)),
        ] {
            assert_eq!(memory(flags), Ok(expected), "{flags:?}");
        }
        for flags in [
            &["--use-dram=false", "--use-vram=false"][..],
            &["--use-dram=false", "--use-vram", "--shmfs"],
            &["--use-dram=false", "--shmfs"],
        ] {
            assert!(memory(flags).unwrap_err().starts_with("--"), "{flags:?}");
        }
    }

    #[test]
    fn initiator_command_has_the_same_flags() {
        let flags = parse(&[
            "--shmfs",
            "--integrity-check=false",
            "--rails=2",
            "--size=1Mi",
            "--workload=write",
        ]);
        let flags = flags.unwrap();
        let transport = TransportSpec::Libfabric(Libfabric {
            provider: LibfabricProvider::TcpRxm,
            rails: 2,
        });
        let command = flags.initiator_command("a b", &transport, &[]);
        assert!(
            command
                .starts_with("fabricbench-runner initiator --remote-segment 'a b' --provider 'tcp;ofi_rxm' ")
        );
        let words: Vec<&str> = command.split_whitespace().skip(7).collect();
        let parsed = parse(&words).unwrap();
        assert_eq!(parsed.scenario(), flags.scenario());
        assert_eq!(parsed.memory(), flags.memory());
        assert_eq!((parsed.rails, parsed.integrity_check), (2, false));
        // The command says which memory the target uses, so that the initiator does not choose for itself.
        assert_eq!(parsed.use_vram, Some(false));
        for flags in [&["--use-vram"][..], &["--use-dram=false", "--use-vram"]] {
            let flags = parse(flags).unwrap();
            let command = flags.initiator_command("a", &transport, &[]);
            let words: Vec<&str> = command.split_whitespace().skip(6).collect();
            let parsed = parse(&words).unwrap();
            assert_eq!(parsed.use_vram, Some(true), "{command}");
            assert_eq!(
                (parsed.memory(), parsed.scenario()),
                (flags.memory(), flags.scenario())
            );
        }
    }
}
