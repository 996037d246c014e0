//! Finds the field of a run from which a field of a created object was set. Performs no I/O.

/// Start of the path of each field of a Job that a run sets, and the path of the field in the run. What follows is the same
/// in both.
const FIELDS_OF_JOB: [(&str, &str); 6] = [
    (
        "spec.template.spec.priorityClassName",
        "spec.placement.priorityClassName",
    ),
    ("spec.template.spec.nodeSelector", "spec.placement.nodeSelector"),
    ("spec.template.spec.tolerations", "spec.placement.tolerations"),
    ("metadata.labels", "spec.placement.queueName"),
    ("spec.template.spec.containers[0].image", "spec.image"),
    ("spec.template.spec.containers[0].resources", "spec.resources"),
];

/// Returns the field of the run that sets `field` of an object of this `kind`; `None` if no field of the run does.
pub(super) fn of(kind: &str, field: &str) -> Option<String> {
    if kind == "ResourceClaimTemplate" {
        let request = field.strip_prefix("spec.spec.devices.")?;
        let (request, rest) = request.split_once(".exactly.")?;
        let name = rest.split('.').next()?;
        return Some(format!(
            "{name} of {request} in spec.resources.claims, or in the claims of a variant,"
        ));
    }
    let of_job = FIELDS_OF_JOB.iter().filter(|_| kind == "Job");
    let mut matching =
        of_job.filter_map(|(start, ours)| Some(format!("{ours}{}", field.strip_prefix(start)?)));
    matching.next()
}
