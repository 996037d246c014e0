//! Structured logs on standard error.

use std::env;

use tracing::warn;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::options::LogFormat;
use crate::terminal::LogWriter;

/// Environment variable that holds the log filter, such as `debug` or `info,kube_client=warn`.
const FILTER_VARIABLE: &str = "RUST_LOG";
/// Log filter used if the variable is unset, empty or invalid.
const DEFAULT_FILTER: &str = "info,kube_client=warn,kube_runtime=warn,hyper_util=warn";

/// Initializes logging for this process. Further calls have no effect.
pub(super) fn start(format: LogFormat) {
    let value = env::var(FILTER_VARIABLE).ok().filter(|filter| !filter.is_empty());
    let parsed = value.as_deref().map(str::parse::<Targets>);
    let filter = match &parsed {
        Some(Ok(filter)) => filter.clone(),
        Some(Err(_)) | None => default_filter(),
    };
    let lines = fmt::layer();
    let registry = tracing_subscriber::registry().with(filter);
    // If logging has already been initialized, it remains unchanged.
    let _ = match format {
        LogFormat::Json => {
            let lines = lines.json().flatten_event(true);
            registry.with(lines.with_writer(|| LogWriter::Json)).try_init()
        }
        LogFormat::Text => {
            let lines = lines.with_ansi(false);
            registry.with(lines.with_writer(|| LogWriter::Text)).try_init()
        }
    };
    if let Some(Err(error)) = parsed {
        warn!(%error, "invalid {FILTER_VARIABLE}, using {DEFAULT_FILTER}. Use a level, or targets with levels, such as info,kube_client=debug");
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
    fn default_filter_excludes_info_lines_from_libraries() {
        let filter = default_filter();
        assert!(filter.would_enable("fabricbench_operator::run_controller", &Level::INFO));
        assert!(!filter.would_enable("kube_client::client", &Level::INFO));
    }
}
