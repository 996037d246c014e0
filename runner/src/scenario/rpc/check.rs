//! Integrity pass for calls that do not use the arm's transport: every byte of a payload is checked by the process that
//! receives it.

use crds::assignment::RpcWorkload;
use crds::record::CaseFailure;

use super::host::HostCalls;
use crate::extension::{Arguments, TimeLimit, pages};
use crate::integrity::Verifier;
use crate::measure::deadline::Deadline;
use crate::scenario::case::{Case, Role};
use crate::scenario::engine::data_seed;
use crate::scenario::isolated::{check_sharing, mapped_on_gpu, samples};
use crate::scenario::program::Checked;

/// Checks the calls of a case before `deadline`. Returns the initiator's report, and the evidence of sharing.
pub(super) fn check(
    workload: &RpcWorkload,
    case: &Case<'_>,
    deadline: Deadline,
) -> Result<Checked, CaseFailure> {
    let mut calls = HostCalls::prepare(workload, case.arm.channel, case.size_bytes, &deadline)?;
    let seed = data_seed(case.seed, Role::Initiator, 0);
    let mut local = Verifier::new(seed);
    let samples = samples(case.size_bytes);
    // Filling a large payload takes a long time and is not part of the calls.
    calls.arguments.fill(seed, 0, &deadline)?;
    calls.start_extension(TimeLimit::Case(deadline))?;
    for transfer in 0..samples {
        if transfer > 0 {
            calls.arguments.fill(seed, transfer, &deadline)?;
        }
        if let Some(extension) = &mut calls.extension {
            extension.check_payloads(seed, transfer)?;
        }
        calls.make()?;
        // A local call passes a reference to the caller's bytes.
        if let (None, Arguments::Bytes(bytes)) = (&calls.extension, &calls.arguments) {
            local.check_bytes(bytes, transfer);
        }
        if let (None, Arguments::Device(memory)) = (&calls.extension, &calls.arguments) {
            local.check_chunk(memory, 0, transfer, (0, case.size_bytes))?;
        }
    }
    let mapped_gpu = calls.mapped_gpu();
    let Some(extension) = &mut calls.extension else {
        return Ok((local.report(samples), Vec::new()));
    };
    let mut evidence = Vec::new();
    // An extension that could not map the allocation would have failed the calls.
    if let Some(gpu) = mapped_gpu {
        evidence.push(mapped_on_gpu(case.arm.channel, case.size_bytes, gpu));
    }
    if let Some(memory) = calls.arguments.shared() {
        let there = extension.map(calls.arguments.payload())?;
        // The extension reports its pages while both processes have mapped them. The host's pages are read afterwards,
        // to identify the file.
        let here = pages::mapping_pages(std::process::id(), memory);
        evidence.push(check_sharing(
            case.arm.channel,
            case.size_bytes,
            here.as_ref(),
            &there,
        )?);
    }
    Ok((extension.report()?, evidence))
}
