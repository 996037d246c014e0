//! Processors: which, of what kind, how driven.

use std::collections::BTreeSet;
use std::path::Path;

use super::text;

/// Processors a list may name at most; more than any machine has, so that `0-4294967295` stays harmless.
const MAX_CPUS: u32 = 65_536;

/// The list of allowed processors in `/proc/self/status`, such as `0-3,8`.
pub(super) fn allowed_list(status: &str) -> String {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap_or_default().trim().to_owned()
}

/// The processors of a list such as `0-3,8`, in order; parts that are no number are left out.
pub fn parse_list(list: &str) -> Vec<u32> {
    let mut cpus = BTreeSet::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            cpus.extend(first..=last.min(MAX_CPUS));
        }
    }
    cpus.into_iter().collect()
}

/// Model of the first processor; the architecture's own words where there is no `model name`.
pub(super) fn model(proc: &Path) -> String {
    let info = text(&proc.join("cpuinfo")).unwrap_or_default();
    let field = |name: &str| {
        info.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    // Arm kernels give numbers instead of a name.
    let arm = || {
        Some(format!(
            "implementer {} part {}",
            field("CPU implementer")?,
            field("CPU part")?
        ))
    };
    field("model name").or_else(arm).unwrap_or_default()
}

/// Frequency governor of `cpus`; all of them, by comma, where they differ.
pub(super) fn governor(sys: &Path, cpus: &[u32]) -> Option<String> {
    let governors: BTreeSet<_> = cpus
        .iter()
        .filter_map(|cpu| text(&sys.join(format!("devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"))))
        .collect();
    let joined = governors.into_iter().collect::<Vec<_>>().join(",");
    (!joined.is_empty()).then_some(joined)
}
