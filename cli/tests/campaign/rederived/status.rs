//! Changes to a status.

use serde_json::{Value, json};

use super::{Mutant, Original};

/// Lists in the status whose items the re-derivation checks.
const LISTS: [&str; 5] = ["results", "comparisons", "expectations", "pairs", "nodes"];
/// Other parts of the status that the re-derivation checks.
const PARTS: [&str; 9] = [
    "/seed",
    "/planHash",
    "/progress",
    "/placement",
    "/fabric",
    "/outcome",
    "/best",
    "/records/sha256",
    "/omittedValues",
];
/// Text fields that the re-derivation does not check, except for the numbers in the reason of a result.
const TEXTS: [&str; 3] = ["reason", "text", "message"];

/// Changes each value of the status, except text fields.
pub fn changed_values(original: &Original) -> impl Iterator<Item = Mutant> {
    let status = &original.run["status"];
    let lists = LISTS.map(|list| format!("/{list}"));
    let mut found = Vec::new();
    for part in PARTS.map(str::to_owned).into_iter().chain(lists) {
        if let Some(value) = status.pointer(&part) {
            leaves(&part, value, &mut found);
        }
    }
    found.into_iter().map(|pointer| {
        let parts = pointer.split('/').filter(|part| part.parse::<usize>().is_err());
        let kind = parts.collect::<Vec<_>>().join(" ").trim().to_owned();
        original.with_status(&kind, &pointer, |status| {
            let value = status.pointer_mut(&pointer).unwrap();
            *value = changed(value);
        })
    })
}

/// Appends the JSON pointers of all values in `value` to `found`.
fn leaves(pointer: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let is_text = |name: &str| TEXTS.contains(&name) && !pointer.ends_with("/ended");
            let fields = fields.iter().filter(|(name, _)| !is_text(name));
            fields.for_each(|(name, value)| leaves(&format!("{pointer}/{name}"), value, found));
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, value)| leaves(&format!("{pointer}/{index}"), value, found));
        }
        _ => found.push(pointer.to_owned()),
    }
}

fn changed(value: &Value) -> Value {
    match value {
        // The change exceeds the rounding difference between the two programs: 1, or 3 for a minimum detectable effect.
        Value::Number(number) => {
            let number = number.as_i64().unwrap();
            json!(number + 1 + number.abs() / 1000 + 4)
        }
        Value::Bool(value) => json!(!value),
        Value::String(text) => json!(match text.as_str() {
            "Regressed" => "Improved",
            "Improved" | "NoChange" => "Regressed",
            "Verified" | "Contradicted" => "Declared",
            "Declared" => "Verified",
            "Confirmed" | "NotApplicable" => "RequestedOnly",
            "RequestedOnly" | "NotEngaged" => "Confirmed",
            "Valid" => "Invalid",
            "Settled" => "Futile",
            other => return json!(format!("{other}x")),
        }),
        other => panic!("{other}"),
    }
}

/// Removes each list item in turn, and the times of all results.
pub fn missing_items(original: &Original) -> impl Iterator<Item = Mutant> {
    let items = |list: &'static str| 0..original.run["status"][list].as_array().map_or(0, Vec::len);
    let items = LISTS.into_iter().flat_map(move |list| {
        items(list).map(move |index| {
            original.with_status("missing item", format!("{list} {index}"), |status| {
                status[list].as_array_mut().unwrap().remove(index);
            })
        })
    });
    let times = original.with_status("missing item", "times of all results", |status| {
        status["omittedValues"] = json!(1);
        for result in status["results"].as_array_mut().unwrap() {
            let fields = result.as_object_mut().unwrap();
            fields.retain(|name, _| !name.ends_with("Nanos"));
        }
    });
    items.chain([times])
}

/// Withholds each verdict for each reason other than the actual one.
pub fn withheld_verdicts(original: &Original) -> impl Iterator<Item = Mutant> {
    let reasons = [
        "NotEngaged",
        "NotApplicable",
        "NotMeasured",
        "FabricContradicted",
        "DifferentDevices",
        "ControlViolated",
    ];
    let comparisons = original.run["status"]["comparisons"].as_array().unwrap();
    let both = (0..comparisons.len()).flat_map(move |index| reasons.map(|reason| (index, reason)));
    let others = both.filter(|(index, reason)| comparisons[*index]["withheld"] != *reason);
    others.map(|(index, reason)| {
        original.with_status("withheld verdict", format!("{index} as {reason}"), |status| {
            let comparison = status["comparisons"][index].as_object_mut().unwrap();
            comparison.remove("verdict");
            comparison.insert("withheld".to_owned(), json!(reason));
        })
    })
}
