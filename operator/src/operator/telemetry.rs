//! Structured logs on standard error.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use super::LogFormat;

/// What is logged where `RUST_LOG` says nothing.
const DEFAULT_FILTER: &str = "info,kube_client=warn,kube_runtime=warn,hyper_util=warn";

/// Starts logging for this process; a second call changes nothing.
pub(super) fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT_FILTER));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // Who started logging before goes on.
    let _ = match format {
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).try_init(),
    };
}
