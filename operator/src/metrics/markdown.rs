//! Tables for `docs/metrics.md`.

use super::{Definition, Label, operator, results};

/// Formats the definitions of all Prometheus metrics as Markdown.
pub(crate) fn tables() -> String {
    let results = results::all().map(|metric| metric.definition);
    format!(
        "## Results: `/metrics` of the operator, `fabricbench report --format openmetrics`\n\n{}\n## The operator itself\n\n{}",
        table(results),
        table(operator::ALL.into_iter())
    )
}

fn table(definitions: impl Iterator<Item = Definition>) -> String {
    let mut text =
        "| name | type | unit | labels | definition |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for definition in definitions {
        let labels: Vec<String> = definition.labels.iter().map(label).collect();
        text += &format!(
            "| `{}` | {} | {} | {} | {} |\n",
            definition.name,
            definition.kind.as_str(),
            definition.unit,
            labels.join("; "),
            definition.help.trim_end_matches('.'),
        );
    }
    text
}

fn label(label: &Label) -> String {
    match label.values {
        "" => format!("`{}`", label.name),
        values => format!("`{}` ({values})", label.name),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Metrics that no dashboard shows, each with the reason.
    const NOT_SHOWN: [(&str, &str); 5] = [
        ("process_virtual_memory_bytes", "the resident memory is shown"),
        ("process_open_fds", "the operator opens few files"),
        ("process_max_fds", "the operator opens few files"),
        (
            "process_start_time_seconds",
            "Kubernetes reports restarts of the pod",
        ),
        ("process_threads", "constant"),
    ];

    /// Whether `text` contains the metric `name`, with or without a histogram suffix.
    fn contains_metric(text: &str, name: &str) -> bool {
        let mut rest = text.split(name);
        rest.next();
        rest.any(|after| {
            let suffixes = ["_bucket", "_count", "_sum"];
            let after = suffixes
                .iter()
                .find_map(|suffix| after.strip_prefix(suffix))
                .unwrap_or(after);
            !after.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_')
        })
    }

    #[test]
    fn every_metric_is_on_a_dashboard() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts/fabricbench/dashboards");
        let files = fs::read_dir(directory).unwrap();
        let dashboards: String = files
            .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
            .collect();
        let results = results::all().map(|metric| metric.definition);
        for definition in results.chain(operator::ALL) {
            let is_exception = NOT_SHOWN.iter().any(|(name, _)| *name == definition.name);
            assert_ne!(
                contains_metric(&dashboards, definition.name),
                is_exception,
                "{}: add it to a dashboard, or to NOT_SHOWN with the reason",
                definition.name
            );
        }
        assert!(contains_metric("a_b_bucket{}", "a_b") && !contains_metric("a_b_c", "a_b"));
    }
}
