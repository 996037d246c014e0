//! What this machine can measure with, and why not with the rest. Starts a process of this program for each thing that
//! is tried, so that a library that crashes or hangs is an answer, too.

mod attempt;
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
use crate::topology::{Device, DeviceClass, SystemRoots};
use crate::transport::choice::required_environment;

pub use attempt::attempt;
pub use table::table;

/// How long one attempt may take.
const ATTEMPT_WAIT: Duration = Duration::from_secs(20);
/// Bytes of one attempt's answer that are read.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// Something that is tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Target {
    /// A transport with one rail.
    Transport(TransportSpec),
    /// Memory of a kind.
    Memory(MemoryKind),
}

/// What was found out about one thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// `transport`, `memory` or `device`.
    pub what: String,
    /// Its name.
    pub name: String,
    /// What it is, or why it is not available and what to do.
    pub result: Result<String, CaseFailure>,
}

/// Tries everything there is to try.
pub fn probe() -> Vec<Finding> {
    let mut findings: Vec<_> = targets()
        .into_iter()
        .map(|target| Finding {
            what: what(&target).into(),
            name: name(&target),
            result: in_a_process(&target)
                .unwrap_or_else(|error| Err(failed(format!("cannot be tried: {error}")))),
        })
        .collect();
    findings.extend(devices(&SystemRoots::default()));
    findings
}

fn targets() -> Vec<Target> {
    use LibfabricProvider as P;
    let providers = [P::Tcp, P::Net, P::TcpRxm, P::Shm, P::Verbs, P::Efa, P::EfaDirect];
    let libfabric = providers.map(|provider| TransportSpec::Libfabric(Libfabric { provider, rails: 1 }));
    let others = [
        TransportSpec::Ucx(Ucx {
            transports: vec![UcxTransport::Tcp],
            rails: 1,
        }),
        TransportSpec::Nixl(Nixl {
            backend: NixlBackend::Ucx,
            rails: 1,
        }),
        TransportSpec::Verbs(Verbs { rails: 1 }),
    ];
    let transports = [TransportSpec::Loopback(Loopback { rails: 1 })]
        .into_iter()
        .chain(libfabric)
        .chain(others);
    let kinds = [
        MemoryKind::Heap,
        MemoryKind::HugePages,
        MemoryKind::SharedMemory,
        MemoryKind::Cuda,
    ];
    transports
        .map(Target::Transport)
        .chain(kinds.map(Target::Memory))
        .collect()
}

fn what(target: &Target) -> &'static str {
    match target {
        Target::Transport(_) => "transport",
        Target::Memory(_) => "memory",
    }
}

fn name(target: &Target) -> String {
    match target {
        Target::Transport(TransportSpec::Libfabric(spec)) => format!("libfabric {}", spec.provider.name()),
        Target::Transport(spec) => spec.library().into(),
        Target::Memory(kind) => format!("{kind:?}"),
    }
}

fn in_a_process(target: &Target) -> io::Result<Result<String, CaseFailure>> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("attempt").arg(serde_json::to_string(target)?);
    if let Target::Transport(spec) = target {
        let unset = |(name, _): &(&str, String)| env::var_os(name).is_none();
        command.envs(required_environment(spec, 1).into_iter().filter(unset));
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let answer = child
        .stdout
        .take()
        .map(|stdout| process::collect(stdout, MAX_ANSWER_BYTES))
        .transpose()?;
    let Some(status) = process::wait_until(&mut child, Instant::now() + ATTEMPT_WAIT)? else {
        child.kill()?;
        child.wait()?;
        return Ok(Err(failed(format!(
            "hangs: no answer within {} s",
            ATTEMPT_WAIT.as_secs()
        ))));
    };
    let answer = answer.map(process::Collected::finish).unwrap_or_default();
    // The last line is the answer; a library may have printed before it.
    let line = answer.lines().last().unwrap_or_default();
    Ok(serde_json::from_str(line)
        .unwrap_or_else(|_| Err(failed(format!("crashes: {}", process::describe(status))))))
}

fn devices(roots: &SystemRoots) -> Vec<Finding> {
    let found = Device::all(DeviceClass::Rdma, roots);
    if found.is_empty() {
        return vec![Finding {
            what: "device".into(),
            name: "RDMA".into(),
            result: Err(CaseFailure {
                reason: FailureReason::NoDevice,
                message: "the kernel shows none in /sys/class/infiniband: ask for them in spec.resources, or load the \
                          device's driver"
                    .into(),
            }),
        }];
    }
    let describe = |device: Device| {
        let pci = device
            .pci
            .map(|place| format!(" at {}", place.address()))
            .unwrap_or_default();
        let driver = device.driver.unwrap_or_else(|| "no driver".into());
        Finding {
            what: "device".into(),
            name: device.name,
            result: Ok(format!("{driver}{pci}")),
        }
    };
    found.into_iter().map(describe).collect()
}

fn failed(message: String) -> CaseFailure {
    CaseFailure {
        reason: FailureReason::Refused,
        message,
    }
}
