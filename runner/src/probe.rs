//! Probes the transports, memory kinds and devices of this machine. Performs I/O.
//!
//! Each transport and memory kind is tried in a separate process, so that a library that crashes or hangs results in a
//! finding instead of ending the probe.

mod attempt;
mod devices;
mod table;

use std::env;
use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crds::record::{CaseFailure, FailureReason};
use crds::v1alpha1::{
    Libfabric, LibfabricProvider, Loopback, MemoryKind, Nixl, NixlBackend, TransportSpec, Ucx, UcxTransport,
    Verbs,
};
use serde::{Deserialize, Serialize};

use crate::process;
use crate::topology::{Machine, SystemRoots};
use crate::transport::environment::required_environment;

pub use attempt::attempt;
pub use table::format_table;

/// Timeout of one attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum number of bytes read from the output of one attempt.
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// Transport or memory kind to try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Target {
    /// Transport, with endpoints for host memory.
    Transport(TransportSpec),
    /// Transport, with endpoints for GPU memory and a registered buffer on the GPU.
    TransportWithCuda(TransportSpec),
    /// Memory kind.
    Memory(MemoryKind),
}

/// Result of one probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Category: `transport`, `memory`, `device` or `gpu`.
    pub what: String,
    /// Name of the transport, memory kind or device, or PCI address of the GPU.
    pub name: String,
    /// Description of the transport, memory or device, or why it is unavailable and how to fix it.
    pub result: Result<String, CaseFailure>,
}

/// Tries all transports and memory kinds, and lists the RDMA devices and GPUs.
pub fn probe() -> Vec<Finding> {
    let mut findings: Vec<_> = targets()
        .into_iter()
        .map(|target| Finding {
            what: category(&target).into(),
            name: name(&target),
            result: try_in_process(&target).unwrap_or_else(|error| {
                Err(operation_rejected(format!("the probe process failed: {error}")))
            }),
        })
        .collect();
    findings.extend(devices::findings(&Machine::read(&SystemRoots::default())));
    findings
}

fn targets() -> Vec<Target> {
    use LibfabricProvider as P;
    let providers = [P::Tcp, P::Net, P::TcpRxm, P::Shm, P::Verbs, P::Efa, P::EfaDirect];
    let libfabric = providers.map(|provider| TransportSpec::Libfabric(Libfabric { provider, rails: 1 }));
    let ucx = [
        UcxTransport::Tcp,
        UcxTransport::Sm,
        UcxTransport::Rc,
        UcxTransport::Ud,
    ]
    .map(|transport| TransportSpec::Ucx(Ucx::new(vec![transport], 1)));
    let nixl =
        [NixlBackend::Ucx, NixlBackend::Libfabric].map(|backend| TransportSpec::Nixl(Nixl::new(backend, 1)));
    let others = [TransportSpec::Verbs(Verbs::new(1))];
    let transports = [TransportSpec::Loopback(Loopback { rails: 1 })]
        .into_iter()
        .chain(libfabric)
        .chain(ucx)
        .chain(nixl)
        .chain(others);
    let kinds = [
        MemoryKind::Heap,
        MemoryKind::HugePages,
        MemoryKind::SharedMemory,
        MemoryKind::Cuda,
    ];
    // A library or NIC and a GPU that each work separately might not work together.
    let libfabric_with_cuda = [P::Efa, P::EfaDirect, P::Verbs, P::Shm]
        .map(|provider| TransportSpec::Libfabric(Libfabric { provider, rails: 1 }));
    let ucx_with_cuda = [
        vec![UcxTransport::Tcp, UcxTransport::CudaCopy],
        vec![UcxTransport::Sm, UcxTransport::CudaCopy, UcxTransport::CudaIpc],
        vec![UcxTransport::Rc, UcxTransport::CudaCopy],
    ]
    .map(|transports| TransportSpec::Ucx(Ucx::new(transports, 1)));
    let with_cuda = libfabric_with_cuda
        .into_iter()
        .chain(ucx_with_cuda)
        .chain([TransportSpec::Nixl(Nixl::new(NixlBackend::Ucx, 1))])
        .map(Target::TransportWithCuda);
    transports
        .map(Target::Transport)
        .chain(with_cuda)
        .chain(kinds.map(Target::Memory))
        .collect()
}

fn category(target: &Target) -> &'static str {
    match target {
        Target::Transport(_) | Target::TransportWithCuda(_) => "transport",
        Target::Memory(_) => "memory",
    }
}

fn name(target: &Target) -> String {
    match target {
        Target::Transport(TransportSpec::Libfabric(spec)) => format!("libfabric {}", spec.provider.name()),
        Target::Transport(TransportSpec::Ucx(spec)) => {
            let transports: Vec<_> = spec.transports.iter().map(|transport| transport.name()).collect();
            format!("ucx {}", transports.join(","))
        }
        Target::Transport(TransportSpec::Nixl(spec)) => format!("nixl {}", spec.backend.name()),
        Target::Transport(spec) => spec.library().into(),
        Target::TransportWithCuda(spec) => {
            format!("{} with GPU memory", name(&Target::Transport(spec.clone())))
        }
        Target::Memory(kind) => format!("{kind:?}"),
    }
}

fn try_in_process(target: &Target) -> io::Result<Result<String, CaseFailure>> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("attempt").arg(serde_json::to_string(target)?);
    if let Target::Transport(spec) | Target::TransportWithCuda(spec) = target {
        let unset = |(name, _): &(&str, String)| env::var_os(name).is_none();
        command.envs(required_environment(spec, 1).into_iter().filter(unset));
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let output = child
        .stdout
        .take()
        .map(|stdout| process::collect(stdout, MAX_OUTPUT_BYTES))
        .transpose()?;
    let Some(status) = process::wait_until(&mut child, Instant::now() + ATTEMPT_TIMEOUT)? else {
        process::kill(child);
        return Ok(Err(operation_rejected(format!(
            "the probe process did not respond within {} s",
            ATTEMPT_TIMEOUT.as_secs()
        ))));
    };
    let output = output.map(process::StreamCollector::finish).unwrap_or_default();
    // The last line contains the result. Libraries may have printed other lines before it.
    let line = output.lines().last().unwrap_or_default();
    Ok(serde_json::from_str(line).unwrap_or_else(|_| {
        Err(operation_rejected(format!(
            "the probe process {}",
            process::describe(status)
        )))
    }))
}

fn operation_rejected(message: String) -> CaseFailure {
    CaseFailure {
        reason: FailureReason::OperationRejected,
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_rdma_providers_with_and_without_gpu_memory() {
        let targets = targets();
        for provider in [
            LibfabricProvider::Efa,
            LibfabricProvider::EfaDirect,
            LibfabricProvider::Verbs,
        ] {
            let spec = TransportSpec::Libfabric(Libfabric { provider, rails: 1 });
            for target in [
                Target::Transport(spec.clone()),
                Target::TransportWithCuda(spec.clone()),
            ] {
                assert!(targets.contains(&target), "{target:?}");
            }
        }
    }

    #[test]
    fn names_a_transport_with_gpu_memory() {
        let spec = TransportSpec::Libfabric(Libfabric {
            provider: LibfabricProvider::Efa,
            rails: 1,
        });
        let target = Target::TransportWithCuda(spec);
        assert_eq!(
            (category(&target), name(&target).as_str()),
            ("transport", "libfabric efa with GPU memory")
        );
    }
}
