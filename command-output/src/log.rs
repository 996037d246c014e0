//! Finds the data path that a tool's libraries report in their log lines: UCX lanes (`UCX_LOG_LEVEL=info`), the NCCL
//! network (`NCCL_DEBUG=INFO`), and phrases that libraries use to report a fallback.

use crds::v1alpha1::CommandTool;

/// Maximum number of stored lines of each kind.
const MAX_LINES: usize = 8;
/// Maximum length of a stored line, in characters.
const MAX_CHARACTERS: usize = 200;
/// Phrases that libraries use to report that they do not use the requested transport.
const FALLBACK_WORDS: [&str; 4] = ["fallback", "falling back", "fall back", "fell back"];

/// Data path according to the log lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Lanes or networks that the library chose.
    pub lanes: Vec<String>,
    /// Lines that report a path other than the requested one.
    pub fallbacks: Vec<String>,
}

/// Environment variables that make the library of `tool` log its data path.
pub fn variables(tool: CommandTool) -> &'static [(&'static str, &'static str)] {
    match tool {
        CommandTool::UcxPerftest | CommandTool::Nixlbench => &[("UCX_LOG_LEVEL", "info")],
        CommandTool::NcclTests => &[("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_SUBSYS", "INIT,NET")],
        CommandTool::Perftest
        | CommandTool::Fabtests
        | CommandTool::TransferEngineBench
        | CommandTool::Regex => &[],
    }
}

/// Whether the library of `tool` logs its data path in a form that [`read`] understands.
pub fn is_read(tool: CommandTool) -> bool {
    !variables(tool).is_empty()
}

/// Reads the log lines in `output`.
pub fn read(output: &str) -> Evidence {
    let mut evidence = Evidence::default();
    let mut attempts = Vec::new();
    let mut network = None;
    for line in output.lines() {
        if let Some(lanes) = ucx_lanes(line) {
            add(&mut evidence.lanes, &format!("UCX {lanes}"));
            if lanes.contains("rma_am(") || lanes.contains("amo_am(") {
                add(
                    &mut evidence.fallbacks,
                    &format!("UCX emulates remote memory access with active messages: {lanes}"),
                );
            }
        } else if let Some((_, message)) = line.split_once(" NCCL ") {
            let message = message.split_once(' ').map_or(message, |(_, rest)| rest);
            if message.starts_with("NET/") && (message.contains("Using") || message.contains("Selected")) {
                add(&mut evidence.lanes, &format!("NCCL {message}"));
            }
            network = message.strip_prefix("Using network ").or(network);
            let failed = message.contains("No device found")
                || message.contains("Failed to initialize NET plugin")
                || message.contains("initialization failed");
            if failed {
                attempts.push(message);
            }
        }
        if is_fallback(line) {
            add(&mut evidence.fallbacks, line);
        }
    }
    if let Some(network) = network {
        add(&mut evidence.lanes, &format!("NCCL network {network}"));
        // NCCL tries its networks in order, with sockets last.
        if network.trim() == "Socket" {
            for attempt in attempts {
                add(
                    &mut evidence.fallbacks,
                    &format!("NCCL uses sockets, because another network failed: {attempt}"),
                );
            }
        }
    }
    evidence
}

/// Lanes of a UCX endpoint: `ep_cfg[0]: tag(tcp/lo)` up to 1.13, and `perftest intra-node cfg#0 tag(tcp/lo)` later.
fn ucx_lanes(line: &str) -> Option<&str> {
    let (_, message) = line.split_once("UCX  INFO ")?;
    let lanes = match message.split_once("ep_cfg[") {
        Some((_, rest)) => rest.split_once("]: ")?.1,
        None => message.split_once(" cfg#")?.1.split_once(' ')?.1,
    };
    Some(lanes.trim())
}

fn is_fallback(line: &str) -> bool {
    let lower = line.to_lowercase();
    // A line that prints the value of a variable does not report a path.
    let is_variable = lower.contains("env variable") || lower.contains("set by environment");
    !is_variable && FALLBACK_WORDS.iter().any(|word| lower.contains(word))
}

fn add(lines: &mut Vec<String>, line: &str) {
    let line = line.trim().chars().filter(|character| !character.is_control());
    let line: String = line.take(MAX_CHARACTERS).collect();
    if lines.len() < MAX_LINES && !lines.contains(&line) {
        lines.push(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_after_a_failed_network_are_a_fallback() {
        let log = "h:1:1 [0] NCCL INFO NET/IB : No device found.\n\
                   h:1:1 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.2<0>\n\
                   h:1:1 [0] NCCL INFO Using network Socket\n";
        let found = read(log);
        assert_eq!(
            found.lanes,
            [
                "NCCL NET/Socket : Using [0]eth0:10.0.0.2<0>",
                "NCCL network Socket"
            ]
        );
        assert_eq!(
            found.fallbacks,
            ["NCCL uses sockets, because another network failed: NET/IB : No device found."]
        );
    }

    #[test]
    fn does_not_report_requested_sockets_or_efa_as_fallback() {
        let log = "h:1:1 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.2<0>\n\
                   h:1:1 [0] NCCL INFO Using network Socket\n";
        assert_eq!(read(log).fallbacks, Vec::<String>::new());
        let log = "h:1:1 [0] NCCL INFO NET/OFI Selected Provider is efa (found 4 nics)\n\
                   h:1:1 [0] NCCL INFO Using network AWS Libfabric\n";
        let found = read(log);
        assert_eq!(found.fallbacks, Vec::<String>::new());
        assert_eq!(found.lanes.len(), 2);
    }

    #[test]
    fn fallback_phrases_are_reported_once_and_truncated() {
        let line = format!("W: Falling back to TCP {}\n", "x".repeat(500));
        let found = read(&line.repeat(3));
        assert_eq!(found.fallbacks.len(), 1);
        assert_eq!(found.fallbacks[0].len(), MAX_CHARACTERS);
        assert_eq!(read("env variable: X_FALLBACK=1\n"), Evidence::default());
        let many: String = (0..100).map(|number| format!("fallback {number}\n")).collect();
        assert_eq!(read(&many).fallbacks.len(), MAX_LINES);
    }
}
