//! Reads one document as a run and collects all its defects. Performs no I/O.
//!
//! A value that violates the schema is replaced before the rest of the document is checked, so that the defects of all
//! stages are reported together: names, types and bounds, rules between fields, and what only the validation of a run
//! can find.

use campaign::validate::{Problem, ProblemKind, validate};
use crds::v1alpha1::BenchmarkRun;
use serde_json::Value;

use super::error::DefectKind;
use super::repaired::Repaired;
use super::schema::SchemaRules;
use super::{Defect, Overlay, document};

/// Maximum number of passes over a document. Each pass may reveal fields below a misspelled one.
const MAX_PASSES: usize = 8;

/// Reads a document and applies the overlay.
///
/// # Errors
/// Returns all defects that were found.
pub(super) fn run(
    mut value: Value,
    rules: &SchemaRules,
    overlay: Option<&Overlay>,
) -> Result<BenchmarkRun, Vec<Defect>> {
    let mut found = document::check_top_level(&mut value);
    if document::is_another_resource(&value) {
        return Err(found);
    }
    if found.iter().any(|defect| defect.path.is_none()) || !value.get("spec").is_some_and(Value::is_object) {
        add_violations_of_spec(&value, rules, &mut found);
        return Err(found);
    }
    let mut repaired = Repaired::new(value);
    repair_violations(&mut repaired, rules, &mut found);
    let run = deserialize(&mut repaired, rules, &mut found);
    let Some(mut run) = run else {
        return Err(found);
    };
    found.extend(document::check_run_name(&mut run));
    if let Some(overlay) = overlay {
        overlay.apply(&mut run.spec);
    }
    let is_valid = found.is_empty();
    if let Err(defects) = rules.check(&run) {
        add_problems(defects, &run, &repaired, &mut found);
    } else if !is_valid {
        add_problems(Vec::new(), &run, &repaired, &mut found);
    }
    match found.is_empty() {
        true => Ok(run),
        false => Err(found),
    }
}

/// Problems of a valid document that only the validation of its run finds.
pub(super) fn problems(run: &BenchmarkRun) -> Vec<Defect> {
    let problems = validate(run).err().map(|problems| problems.0).unwrap_or_default();
    problems.into_iter().map(Defect::from).collect()
}

/// Reports a spec that is missing or not an object.
fn add_violations_of_spec(value: &Value, rules: &SchemaRules, found: &mut Vec<Defect>) {
    if value.get("spec").is_some() {
        let violations = rules.violations(value).into_iter();
        found.extend(violations.map(|violation| violation.defect));
    }
}

/// Reports and repairs all violations of the schema.
fn repair_violations(repaired: &mut Repaired, rules: &SchemaRules, found: &mut Vec<Defect>) {
    for _ in 0..MAX_PASSES {
        let mut has_changed = false;
        let mut violations = rules.violations(&repaired.value);
        // Renaming a field changes the paths below it, so the innermost values are repaired first.
        violations.sort_by_key(|violation| std::cmp::Reverse(violation.pointer.len()));
        for violation in violations {
            let defect = in_file(violation.defect.clone(), repaired);
            let is_consequence = is_consequence_of_removal(&violation.defect, repaired);
            if !is_consequence && !found.contains(&defect) {
                found.push(defect);
                has_changed |= repaired.repair(violation);
            }
        }
        if !has_changed {
            break;
        }
    }
}

/// Whether no alternative is left because an unknown field that is meant to be one was removed.
fn is_consequence_of_removal(defect: &Defect, repaired: &Repaired) -> bool {
    let path = defect.path.as_deref().unwrap_or_default();
    defect.kind == DefectKind::NoAlternative && repaired.is_unclear_below(path)
}

/// Deserializes the document. Reports every value that cannot be read, and replaces it. Returns `None` if a value cannot
/// be replaced.
fn deserialize(
    repaired: &mut Repaired,
    rules: &SchemaRules,
    found: &mut Vec<Defect>,
) -> Option<BenchmarkRun> {
    for _ in 0..super::error::MAX_DEFECTS {
        let defect = match document::benchmark_run(repaired.value.clone()) {
            Ok(run) => return Some(run),
            Err(defect) => defect,
        };
        let path = defect.path.clone().unwrap_or_default();
        if is_consequence_of_removal(&defect, repaired) {
            return None;
        }
        let defect = in_file(defect, repaired);
        // Both the schema and deserialization report a missing field.
        let is_missing = |defect: &Defect| defect.kind == DefectKind::Missing;
        if is_missing(&defect) && found.iter().any(is_missing) {
            return None;
        }
        let is_consequence = is_below_another(&defect, found);
        match found.iter_mut().find(|known| known.path == defect.path) {
            // A name that the schema rejects has a better message there, but the parser of a value knows more than its
            // regular expression.
            Some(known) if known.kind == DefectKind::Unit => *known = defect,
            Some(_) => {}
            None if is_consequence => {}
            None => found.push(defect),
        }
        if !repaired.substitute(&path, rules) {
            return None;
        }
    }
    None
}

/// Whether a defect is in a value that has the wrong type, such as the item of a list in place of an object.
fn is_below_another(defect: &Defect, found: &[Defect]) -> bool {
    let path = defect.path.as_deref().unwrap_or_default();
    found.iter().any(|known| {
        let rest = known.path.as_deref().and_then(|known| path.strip_prefix(known));
        known.kind == DefectKind::Other && rest.is_some_and(|rest| rest.starts_with('['))
    })
}

/// Adds the violations of rules between fields, and the problems that the validation finds. Of a violated rule and a
/// problem at the same field, the problem is shown if it names the valid values, and otherwise the rule.
fn add_problems(rules: Vec<Defect>, run: &BenchmarkRun, repaired: &Repaired, found: &mut Vec<Defect>) {
    let has_violations = !found.is_empty();
    let problems = validate(run).err().map(|problems| problems.0).unwrap_or_default();
    let mut problems = problems;
    problems.retain(|problem| {
        // Variants that differ only in a field with a defect look identical.
        let may_look_identical = has_violations && problem.kind == ProblemKind::IdenticalVariants;
        !may_look_identical
            && (problem.kind == ProblemKind::UnknownName || !rules.iter().any(|rule| is_same(rule, problem)))
    });
    let rules = rules
        .into_iter()
        .filter(|rule| !problems.iter().any(|problem| is_same(rule, problem)));
    let rules: Vec<Defect> = rules.collect();
    let problems = problems.into_iter().map(|problem| {
        let is_consequence = match problem.kind == ProblemKind::UnknownName {
            true => repaired.may_rename(),
            false => repaired.may_be_a_consequence(&problem.path),
        };
        (Defect::from(problem), is_consequence)
    });
    let rules = rules.into_iter().map(|rule| {
        let is_consequence = repaired.may_be_a_consequence(rule.path.as_deref().unwrap_or_default());
        (rule, is_consequence)
    });
    for (defect, is_consequence) in rules.chain(problems) {
        let defect = in_file(defect, repaired);
        let is_known = found.iter().any(|known| known.path == defect.path);
        let may_follow = has_violations && is_consequence;
        if !is_known && !may_follow {
            found.push(defect);
        }
    }
}

/// Whether a problem is the violation of a rule: both are at the same field, or the rule is about the items of a list and
/// the problem about one item.
fn is_same(rule: &Defect, problem: &Problem) -> bool {
    let Some(rule_path) = &rule.path else {
        return false;
    };
    let rest = problem.path.strip_prefix(rule_path.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
}

/// The defect with the path of the field in the file.
fn in_file(defect: Defect, repaired: &Repaired) -> Defect {
    Defect {
        path: defect.path.map(|path| repaired.path_in_file(&path)),
        ..defect
    }
}
