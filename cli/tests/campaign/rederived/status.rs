//! Changes to a status.

use serde_json::json;

use super::values::{changed_value, leaves};
use super::{Mutant, Original};

/// Lists in the status whose items the re-derivation checks.
const LISTS: [&str; 6] = [
    "results",
    "sweeps",
    "comparisons",
    "expectations",
    "pairs",
    "nodes",
];
/// Other parts of the status that the re-derivation checks.
const PARTS: [&str; 8] = [
    "/seed",
    "/planHash",
    "/progress",
    "/placement",
    "/fabric",
    "/outcome",
    "/records/sha256",
    "/omittedValues",
];

/// Changes each value in the status except text.
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
            *value = changed_value(value);
        })
    })
}

/// Changes each digit of the sentence that answers what the run was asked.
pub fn changed_answers(original: &Original) -> impl Iterator<Item = Mutant> {
    let text = original.run["status"]["verdict"].as_str().unwrap();
    let digits = text.char_indices().filter(|(_, letter)| letter.is_ascii_digit());
    digits.map(|(index, digit)| {
        let other = if digit == '9' { "1" } else { "9" };
        let mut changed = text.to_owned();
        changed.replace_range(index..=index, other);
        original.with_status("verdict", changed.clone(), |status| {
            status["verdict"] = json!(changed)
        })
    })
}

/// Removes each list item, and most result values.
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
            let values = result["values"].as_object_mut().unwrap();
            values.retain(|name, _| !name.ends_with("Nanos"));
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
        "InterfaceShared",
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
