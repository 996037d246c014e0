//! Chooses whether a segment has GPU memory if no flag says so, as in the Transfer Engine Benchmark, whose segments have
//! GPU memory if it was compiled with CUDA. Starts and stops a process.

use std::io::{self, Write};

use crds::assignment::Assignment;
use crds::record::CaseFailure;
use crds::v1alpha1::MIN_VRAM_THREADS;

use super::flags::SegmentFlags;
use super::registered::RegisteredSegment;
use crate::direct::bounds::FlagError;
use crate::memory::gpu_count;
use crate::worker::signals::StopFlag;

/// Chooses whether the segment has GPU memory, and writes the choice to `flags`. `assignment` creates the assignment of a
/// target with the given flags. A choice that no flag makes is reported on standard error.
///
/// # Errors
/// Returns an error if GPU memory was requested, but this process can use no GPU, or the driver fails.
pub(super) fn choose(
    flags: &mut SegmentFlags,
    stop: &StopFlag,
    assignment: impl FnOnce(&SegmentFlags) -> Result<Assignment, FlagError>,
) -> Result<(), FlagError> {
    let gpus = gpu_count();
    if flags.use_vram.is_some() || !flags.use_dram {
        let cause = match gpus {
            Ok(0) if flags.has_vram() => {
                "the CUDA driver (libcuda.so.1) offers none to this process".to_owned()
            }
            Err(failure) if flags.has_vram() => failure.to_string(),
            _ => return Ok(()),
        };
        let reason = format!(
            "needs a GPU, but {cause}: use --use-dram=true --use-vram=false, or a machine with NVIDIA GPUs and their driver"
        );
        return Err(FlagError::new("--use-vram", &reason));
    }
    flags.use_vram = Some(false);
    let gpus = match gpus {
        Ok(0) => {
            without("there is no GPU");
            return Ok(());
        }
        Ok(gpus) => gpus,
        Err(failure) => {
            without(&failure.to_string());
            return Ok(());
        }
    };
    if flags.threads < MIN_VRAM_THREADS {
        without("a single thread uses only one kind of memory");
        return Ok(());
    }
    let with_vram = SegmentFlags {
        use_vram: Some(true),
        ..flags.clone()
    };
    let registered = RegisteredSegment::new(&assignment(&with_vram)?, stop);
    match registered.and_then(RegisteredSegment::deregister) {
        Ok(()) => {
            flags.use_vram = Some(true);
            note(&format!(
                "the segment has DRAM and the VRAM of {gpus} GPUs, because there is a GPU; --use-vram=false excludes VRAM"
            ));
        }
        Err(CaseFailure { message, .. }) => without(&format!("its VRAM cannot be used: {message}")),
    }
    Ok(())
}

/// Reports that the segment has only DRAM.
fn without(reason: &str) {
    note(&format!(
        "the segment has only DRAM, because {reason}; with --use-vram it must have VRAM, and --use-vram=false excludes it"
    ));
}

fn note(text: &str) {
    // The note is lost if standard error is closed.
    let _ = writeln!(io::stderr(), "{text}");
}
