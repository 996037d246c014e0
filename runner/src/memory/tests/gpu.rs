//! GPU memory tests with the simulated CUDA driver in `driver.c`, which is compiled for these tests. They are ignored
//! by default and run in a separate process, because the dynamic linker reads its search path only when a process
//! starts.

use std::path::{Path, PathBuf};
use std::process::Command;

use crds::record::FailureReason;
use crds::v1alpha1::MemoryKind;

use crate::memory::{GpuHandle, HANDLE_BYTES, Memory, gpu_count, used_gpu_bytes};

/// Number of a device that the driver does not have.
const MISSING: u32 = 2;

/// Runs this module's ignored tests and those of segments with the simulated driver.
#[test]
fn gpu_memory_is_accessed_only_through_the_driver() {
    let directory = tempfile::tempdir().unwrap();
    if !compile(directory.path()) {
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--test-threads=1",
            "memory::tests::gpu::",
            "uses_all_gpus",
        ])
        .env("LD_LIBRARY_PATH", directory.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}\n{errors}", output.status);
    assert!(text.contains("test result: ok. 8 passed"), "{text}");
}

/// Compiles the driver in `directory`. Prints a message and returns false if there is no C compiler.
fn compile(directory: &Path) -> bool {
    let source: PathBuf = [env!("CARGO_MANIFEST_DIR"), "src/memory/tests/driver.c"]
        .iter()
        .collect();
    let library = directory.join("libcuda.so.1");
    let mut command = Command::new("cc");
    command
        .args(["-shared", "-fPIC", "-Wall", "-Werror", "-pthread", "-o"])
        .args([&library, &source]);
    match command.status() {
        Ok(status) => {
            assert!(status.success());
            true
        }
        Err(error) => {
            println!("skipped: there is no C compiler: {error}");
            false
        }
    }
}

#[test]
#[ignore = "run by gpu_memory_is_accessed_only_through_the_driver"]
fn copies_and_fills_reach_only_their_range() {
    const LENGTH: usize = 100_000;
    for gpu in [0, 1] {
        let memory = Memory::allocate_on_gpu(gpu, LENGTH).unwrap();
        assert!(memory.is_device());
        assert_eq!(memory.pci(), Some(format!("0000:a{gpu}:00.0").as_str()));
        assert_eq!(memory.address().addr() % (64 * 1024), 0);
        memory.fill(7).unwrap();
        memory.write_from(LENGTH - 10, b"0123456789").unwrap();
        let mut all = vec![0; LENGTH];
        memory.read_into(0, &mut all).unwrap();
        assert!(all[..LENGTH - 10].iter().all(|byte| *byte == 7));
        assert_eq!(&all[LENGTH - 10..], b"0123456789");
        assert!(memory.write_from(LENGTH - 9, b"0123456789").is_err());
        assert!(memory.read_into(1, &mut all).is_err());
    }
}

#[test]
#[ignore = "run by gpu_memory_is_accessed_only_through_the_driver"]
fn every_thread_can_use_the_memory() {
    let memory = Memory::allocate_on_gpu(1, 4096).unwrap();
    std::thread::scope(|scope| {
        for part in 0..4_u8 {
            let memory = &memory;
            scope.spawn(move || {
                memory
                    .write_from(usize::from(part) * 1024, &[part; 1024])
                    .unwrap()
            });
        }
    });
    let mut all = vec![9; 4096];
    memory.read_into(0, &mut all).unwrap();
    assert!(
        all.chunks(1024)
            .enumerate()
            .all(|(part, bytes)| bytes.iter().all(|byte| usize::from(*byte) == part))
    );
}

#[test]
#[ignore = "run by gpu_memory_is_accessed_only_through_the_driver"]
fn errors_explain_missing_devices_and_insufficient_memory() {
    let error = |bytes, gpu| Memory::allocate_on_gpu(gpu, bytes).unwrap_err();
    for (error, text) in [
        (error(4096, MISSING), "device 2: cuDeviceGet failed"),
        (error(4096, MISSING), "can use 2 GPUs, numbered from 0"),
    ] {
        assert_eq!(error.reason(), FailureReason::MemoryUnavailable);
        assert!(error.to_string().contains(text), "{error}");
    }
    let error = error(65 << 20, 0);
    assert_eq!(error.reason(), FailureReason::NotEnoughMemory);
    assert!(
        error.to_string().contains("device 0: cuMemAlloc failed"),
        "{error}"
    );
}

/// Environment variable with the error that the simulated driver returns when it is initialized.
const ENV_INIT: &str = "TEST_DRIVER_INIT";

#[test]
#[ignore = "run by gpu_memory_is_accessed_only_through_the_driver"]
fn the_number_of_gpus_is_unknown_if_the_driver_fails() {
    match std::env::var(ENV_INIT).as_deref() {
        // CUDA_ERROR_NO_DEVICE.
        Ok("100") => assert_eq!(gpu_count(), Ok(0)),
        Ok(_) => {
            let error = gpu_count().unwrap_err();
            assert_eq!(error.reason(), FailureReason::MemoryUnavailable);
            let text = error.to_string();
            assert!(
                text.starts_with("the CUDA driver failed: cuInit returned "),
                "{text}"
            );
            let error = Memory::allocate_on_gpu(0, 4096).unwrap_err();
            assert!(error.to_string().contains("device 0: cuInit failed"), "{error}");
        }
        Err(_) => {
            assert_eq!(gpu_count(), Ok(MISSING));
            let name = "memory::tests::gpu::the_number_of_gpus_is_unknown_if_the_driver_fails";
            // 803 is CUDA_ERROR_SYSTEM_DRIVER_MISMATCH.
            for error in ["100", "803"] {
                let mut other = Command::new(std::env::current_exe().unwrap());
                other.args(["--ignored", name]).env(ENV_INIT, error);
                let output = other.output().unwrap();
                let text = String::from_utf8_lossy(&output.stdout);
                assert!(
                    output.status.success() && text.contains("1 passed"),
                    "{error}: {text}"
                );
            }
        }
    }
}

/// Threads that only post transfers make no copies.
#[test]
#[ignore = "run by gpu_memory_is_accessed_only_through_the_driver"]
fn the_context_becomes_current_on_a_thread_that_makes_no_copies() {
    let memory = Memory::allocate_on_gpu(1, 4096).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert!(cudarc::driver::result::ctx::synchronize().is_err());
            memory.make_current().unwrap();
            cudarc::driver::result::ctx::synchronize().unwrap();
        });
    });
}

/// Environment variable with the handle that the other process maps, in hexadecimal.
const ENV_HANDLE: &str = "TEST_GPU_HANDLE";

#[test]
#[ignore = "run by gpu_memory_is_accessed_only_through_the_driver"]
fn another_process_maps_the_memory() {
    let used = used_gpu_bytes(1).unwrap();
    let memory = Memory::allocate_on_gpu(1, 100_000).unwrap();
    assert_eq!(used_gpu_bytes(1).unwrap() - used, 3 * 64 * 1024);
    memory.fill(1).unwrap();
    memory.write_from(99_990, b"0123456789").unwrap();
    let handle = memory.gpu_handle().unwrap().unwrap();
    assert_eq!(GpuHandle::from_bytes(&handle.to_bytes()), Some(handle));
    assert_eq!(GpuHandle::from_bytes(&[0; HANDLE_BYTES - 1]), None);
    // A process cannot map its own memory.
    let own = Memory::open_on_gpu(1, &handle, 100_000).unwrap_err();
    assert_eq!(own.reason(), FailureReason::MemoryUnavailable, "{own}");
    let hexadecimal: String = handle
        .to_bytes()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let other = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "memory::tests::gpu::maps_the_memory_of_another_process",
        ])
        .env(ENV_HANDLE, hexadecimal)
        .output()
        .unwrap();
    assert!(other.status.success(), "{other:?}");
    // The other process wrote to the same memory.
    let mut first = [0; 2];
    memory.read_into(0, &mut first).unwrap();
    assert_eq!(first, [9, 1]);
    assert_eq!(
        Memory::allocate(MemoryKind::Heap, 1).unwrap().gpu_handle(),
        Ok(None)
    );
}

/// The other process of [`another_process_maps_the_memory`].
#[test]
#[ignore = "run by another_process_maps_the_memory"]
fn maps_the_memory_of_another_process() {
    let Ok(text) = std::env::var(ENV_HANDLE) else {
        return;
    };
    let bytes: Vec<u8> = (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect();
    let handle = GpuHandle::from_bytes(&bytes).unwrap();
    // The handle belongs to the other device.
    assert!(Memory::open_on_gpu(0, &handle, 100_000).is_err());
    let memory = Memory::open_on_gpu(1, &handle, 100_000).unwrap();
    assert!(memory.is_device());
    let mut last = [0; 11];
    memory.read_into(99_989, &mut last).unwrap();
    assert_eq!(&last, b"\x010123456789");
    memory.write_from(0, &[9]).unwrap();
}
