//! Checks the settings of the transport.

use crds::v1alpha1::{BenchmarkRunSpec, TransportSpec};

use super::problem::{ProblemKind, Reporter};

const SETTINGS: &str = "spec.transport.ucx.settings";

pub(super) fn check(spec: &BenchmarkRunSpec, report: &mut Reporter) {
    let TransportSpec::Ucx(ucx) = &spec.transport else {
        return;
    };
    report.unique_names(SETTINGS, ucx.settings.iter().map(|setting| setting.name.as_str()));
    for (index, setting) in ucx.settings.iter().enumerate() {
        if setting.is_reserved() {
            report.add(
                format!("{SETTINGS}[{index}].name"),
                ProblemKind::ReservedSetting {
                    name: setting.name.clone(),
                },
            );
        }
    }
}
