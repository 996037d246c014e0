//! The extension's side: answers its host's requests until the host closes the connection.

use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;

use crds::record::{CaseFailure, FailureReason};
use rustix::param::page_size;
use rustix::process::{Pid, Signal};
use rustix::thread::{sched_getaffinity, sched_setaffinity};
use snafu::ResultExt;

use super::calls::{Calls, connection_failure, unexpected_message};
use super::link::Link;
use super::message::{Message, PayloadPassing};
use super::{ExtensionError, StartSnafu, Stream, failure, pages};
use crate::measure::clock;
use crate::memory::Memory;
use crate::process::{end_with_parent, socket_on_stdin};

/// Extension options.
#[derive(Clone, Copy, Debug)]
pub struct ExtensionOptions {
    /// Process ID of the host.
    pub parent: u32,
    /// Whether the extension connects to its host over TCP. Otherwise, it uses its socket on standard input.
    pub tcp: bool,
}

/// Runs the extension until its host closes the connection.
///
/// # Errors
/// Returns an error if standard input is not a socket, or the connection to the host fails.
pub fn run(options: ExtensionOptions) -> Result<(), ExtensionError> {
    let socket = socket_on_stdin().context(StartSnafu {
        action: "duplicating the host's socket",
    })?;
    let socket = socket.ok_or(ExtensionError::NoHost)?;
    end_with_parent(options.parent, Signal::KILL).context(StartSnafu {
        action: "setting the parent-death signal",
    })?;
    use_cpus_of(options.parent);
    // The kernel then kills the extension before its host, so that the host can report the lack of memory. If the file
    // does not exist, the kernel chooses by size.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let mut calls = Calls::new(Link::new(Stream::Unix(socket)));
    if options.tcp {
        calls = connect(calls).map_err(|failure| ExtensionError::Host { failure })?;
    }
    serve(calls).map_err(|failure| ExtensionError::Host { failure })
}

/// Answers requests until the host closes the connection. If a request fails, the cause is sent to the host.
///
/// # Errors
/// Returns an error if the connection fails or a request cannot be executed.
pub(super) fn serve(mut calls: Calls) -> Result<(), CaseFailure> {
    let mut held = None;
    loop {
        match serve_one(&mut calls, &mut held) {
            Ok(()) => {}
            // The host has closed the connection.
            Err(failure) if failure.reason == FailureReason::PeerLost => return Ok(()),
            Err(failure) => {
                let _ = calls.send(&Message::Failed(failure.clone()));
                return Err(failure);
            }
        }
    }
}

/// Lets the extension run on the CPUs of its host's main thread, because the thread that starts the extension may be
/// pinned to one CPU.
fn use_cpus_of(host: u32) {
    let pid = i32::try_from(host).ok().and_then(Pid::from_raw);
    if let Ok(cpus) = sched_getaffinity(pid) {
        // If this is not permitted, the extension keeps the CPUs that it inherited.
        let _ = sched_setaffinity(None, &cpus);
    }
}

/// Connects to the host's TCP port.
fn connect(mut control: Calls) -> Result<Calls, CaseFailure> {
    let (port, token) = match control.receive()? {
        Message::Connect { port, token } => (port, token),
        other => return Err(unexpected_message(&other)),
    };
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(connection_failure)?;
    stream.set_nodelay(true).map_err(connection_failure)?;
    let mut calls = Calls::new(Link::new(Stream::Tcp(stream)));
    calls.send(&Message::Hello { token })?;
    Ok(calls)
}

fn serve_one(calls: &mut Calls, held: &mut Option<Arc<Memory>>) -> Result<(), CaseFailure> {
    match calls.receive()? {
        Message::Plan(plan) => {
            calls.set_plan(plan);
            calls.send(&Message::Ready)
        }
        Message::Request { hop } => calls.answer(hop),
        Message::Check { seed, transfer } => {
            calls.check_payloads(seed, transfer);
            Ok(())
        }
        Message::Report => {
            let report = calls.report();
            calls.send(&Message::Checked(Box::new(report)))
        }
        Message::Map => {
            let memory = calls.accept_mapping()?;
            touch_pages(&memory)?;
            let pages = pages::mapping_pages(std::process::id(), &memory).ok_or_else(no_page_accounting)?;
            calls.send(&Message::Pages(pages))
        }
        Message::Hold => {
            *held = Some(retain_payload(calls)?);
            calls.send(&Message::Ready)
        }
        Message::Release => {
            *held = None;
            calls.send(&Message::Ready)
        }
        Message::HeldPages => {
            let pages = held
                .as_deref()
                .and_then(pages::own_pages)
                .ok_or_else(no_page_accounting)?;
            calls.send(&Message::Pages(pages))
        }
        Message::Usage => {
            let cpu_nanos = clock::process_cpu_nanos();
            calls.send(&Message::Used { cpu_nanos })
        }
        other => Err(unexpected_message(&other)),
    }
}

/// Returns the payload of the last message: a copy in separate pages, or a mapping of shared memory.
fn retain_payload(calls: &mut Calls) -> Result<Arc<Memory>, CaseFailure> {
    if calls.plan().passing == PayloadPassing::Copy || calls.plan().gpu.is_some() {
        return calls.accept_retained();
    }
    let memory = calls.accept_mapping()?;
    touch_pages(&memory)?;
    Ok(memory)
}

/// Reads a byte of every page, so that every page is mapped.
fn touch_pages(memory: &Memory) -> Result<(), CaseFailure> {
    let mut byte = [0];
    for offset in (0..memory.length()).step_by(page_size()) {
        memory.read_into(offset, &mut byte)?;
        std::hint::black_box(byte);
    }
    Ok(())
}

fn no_page_accounting() -> CaseFailure {
    failure(
        FailureReason::OperationRejected,
        "the kernel does not report the pages of a mapping (/proc/self/smaps), so sharing cannot be verified"
            .to_owned(),
    )
}
