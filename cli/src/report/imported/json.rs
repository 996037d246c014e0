//! JSON report of an imported run.

use serde_json::json;

use crate::imported::{ImportedRun, NOT_CONTROLLED, NOT_CONTROLLED_SHORT};
use crate::report::csv::unit;
use crate::report::json;

/// Renders the report as JSON with a final newline.
///
/// # Errors
/// Returns an error if serialization fails, which does not happen when writing to memory.
pub(super) fn render(run: &ImportedRun) -> Result<String, serde_json::Error> {
    let manifest = &run.manifest;
    let names = manifest.variants();
    let values = run.values.iter().map(|value| {
        let observed = &value.observed;
        let baseline = run
            .value_summary(0, value.size, value.metric)
            .filter(|_| value.variant > 0);
        let difference = baseline.and_then(|baseline| observed.difference(baseline));
        json!({
            "variant": names.get(value.variant),
            "sizeBytes": value.size,
            "metric": value.metric,
            "unit": unit(value.metric),
            "logs": observed.logs,
            "median": observed.median,
            "min": observed.min,
            "max": observed.max,
            "range": [observed.range.0, observed.range.1],
            "differencePercent": difference.map(|difference| difference.percent),
            "differenceRangePercent": difference.map(|difference| difference.range_percent),
            "verdict": null,
        })
    });
    let values: Vec<_> = values.collect();
    let document = json!({
        "kind": manifest.kind,
        "run": manifest.name,
        "status": manifest.status,
        "controlled": false,
        "message": format!("{NOT_CONTROLLED_SHORT}: {NOT_CONTROLLED}"),
        "verdict": null,
        "tool": manifest.tool,
        "pattern": manifest.pattern,
        "importedAt": manifest.imported_at,
        "version": manifest.version,
        "logs": manifest.logs,
        "values": values,
        "reported": run.reported,
        "warnings": run.warnings,
    });
    json::text(&document)
}
