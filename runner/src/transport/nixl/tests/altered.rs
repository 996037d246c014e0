//! Tests with a library that changes the result of one NIXL function and forwards all other calls to NIXL.

use super::harness::{LIBRARY, Pair, PostRequest, tcp};
use crate::transport::nixl::Nixl;
use crate::transport::{OpenConfig, Operation, Transport};
use crds::record::FailureReason;
use crds::v1alpha1::NixlParameter;
use std::fs;
use std::process::Command;
use tempfile::TempDir;

/// Compiles a library that has `function`, written in C, and otherwise the functions of NIXL. Returns its directory.
fn altered_library(function: &str) -> TempDir {
    let installed = std::env::var_os(LIBRARY).unwrap();
    let nixl = nixl_sys::Library::open(&nixl_sys::Source::Path(installed.into())).unwrap();
    let nixl = &nixl.identity().path;
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("altered.c");
    fs::write(&source, function).unwrap();
    let search = format!("-Wl,--no-as-needed,-rpath,{}", nixl.parent().unwrap().display());
    let output = Command::new("cc")
        .args(["-shared", "-fPIC", &search, "-o"])
        .arg(directory.path().join("libnixl_capi.so"))
        .args([&source, nixl])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    directory
}

fn config(library: &TempDir) -> OpenConfig {
    OpenConfig {
        library: Some(library.path().into()),
        ..tcp().config()
    }
}

#[test]
#[ignore = "run by runs_the_ignored_tests"]
fn rejects_the_stub() {
    let library = altered_library("_Bool nixl_capi_is_stub(void) { return 1; }\n");
    let error = Nixl::open(&config(&library)).err().unwrap();
    assert_eq!(error.reason, FailureReason::LibraryNotFound, "{error}");
    assert!(error.message.contains("it is the NIXL stub"), "{error}");
}

/// NIXL does not return the parameter with which fabricbench marks its backend, so another backend serves the request.
#[test]
#[ignore = "run by runs_the_ignored_tests"]
fn rejects_a_request_that_another_backend_serves() {
    let library = altered_library(&format!(
        "#define _GNU_SOURCE\n\
         #include <dlfcn.h>\n\
         #include <string.h>\n\
         int nixl_capi_params_add(void *parameters, const char *name, const char *value)\n\
         {{\n\
             int (*add)(void *, const char *, const char *) = dlsym(RTLD_NEXT, \"nixl_capi_params_add\");\n\
             return strcmp(name, \"{mark}\") ? add(parameters, name, value) : 0;\n\
         }}\n",
        mark = NixlParameter::MARK
    ));
    let mut pair = Pair::open(&config(&library), None).unwrap();
    let operation = Operation::Write {
        remote: pair.remote(0),
        remote_offset: 0,
    };
    let post = PostRequest::new(operation, 4096);
    let error = pair.initiator.prepare(post, 1).unwrap_err();
    assert_eq!(error.reason, FailureReason::ProviderMismatch, "{error}");
    let expected = "NIXL would use another backend for the transfers instead of the UCX backend";
    assert!(error.message.contains(expected), "{error}");
}

#[test]
#[ignore = "run by runs_the_ignored_tests"]
fn transfers_without_telemetry_have_only_our_own_times() {
    let library = altered_library(&format!(
        "int nixl_capi_get_xfer_telemetry(void *agent, void *request, void *telemetry) {{ return {}; }}\n",
        nixl_sys::ERROR_NO_TELEMETRY
    ));
    let mut config = config(&library);
    config.counts_protocols = true;
    let mut pair = Pair::open(&config, None).unwrap();
    let operation = Operation::Write {
        remote: pair.remote(0),
        remote_offset: 0,
    };
    for _ in 0..3 {
        pair.post(PostRequest::new(operation, 4096));
        pair.poll_until(|observed| !observed.initiator.is_empty());
    }
    let Pair {
        initiator, target, ..
    } = pair;
    let protocols = initiator.transport.close();
    drop(target);
    let steps = protocols[0].steps.as_ref().unwrap();
    assert_eq!((steps.transfers, steps.reported_transfers), (3, 0), "{steps:?}");
    assert!(steps.post_nanos > 0 && steps.reported_bytes == 0, "{steps:?}");
}
