//! Tables of `docs/metrics.md`.

use super::{Definition, Label, operator, results};

/// Formats the definitions of all Prometheus metrics as Markdown.
pub fn tables() -> String {
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
