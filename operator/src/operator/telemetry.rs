//! Structured logs on standard error.

use std::env;
use std::io::IsTerminal;

use tracing::warn;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::LogFormat;

/// Says which lines are logged, as `debug` or `info,kube_client=warn`.
const VARIABLE: &str = "RUST_LOG";
/// What is logged where that says nothing.
const DEFAULT_FILTER: &str = "info,kube_client=warn,kube_runtime=warn,hyper_util=warn";

/// Starts logging for this process; a second call changes nothing.
pub(super) fn start(format: LogFormat) {
    let asked = env::var(VARIABLE).ok().filter(|filter| !filter.is_empty());
    let wanted = asked.as_deref().map(str::parse::<Targets>);
    let filter = match &wanted {
        Some(Ok(filter)) => filter.clone(),
        Some(Err(_)) | None => default_filter(),
    };
    let lines = fmt::layer().with_writer(std::io::stderr);
    let registry = tracing_subscriber::registry().with(filter);
    // Who started logging before goes on.
    let _ = match format {
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
        LogFormat::Text => registry
            .with(lines.with_ansi(std::io::stderr().is_terminal()))
            .try_init(),
    };
    if let Some(Err(error)) = wanted {
        warn!(%error, "{VARIABLE} cannot be read, {DEFAULT_FILTER} is used: write levels, or targets and theirs: info,kube_client=debug");
    }
}

fn default_filter() -> Targets {
    DEFAULT_FILTER.parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn without_a_filter_our_own_lines_are_logged_and_those_of_libraries_are_not() {
        let filter = default_filter();
        assert!(filter.would_enable("fabricbench_operator::run_controller", &Level::INFO));
        assert!(!filter.would_enable("kube_client::client", &Level::INFO));
    }
}
