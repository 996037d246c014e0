//! Lines that print a setting, or repeat a command. They do not show which path was used.

/// Whether `line` prints the values of variables or options, or is a command. `lower` is `line` in ASCII lowercase.
pub(super) fn is_setting(line: &str, lower: &str) -> bool {
    // UCX: `UCX_* env variables: A=1 B=2`. NCCL: `NCCL_ALGO set by environment to Ring`. libfabric: `variable
    // hmem_disable_p2p=<not set>` and `read string var provider=tcp`.
    let texts = [
        "env variable",
        "set by environment",
        "=<not set>",
        " var provider=",
        ": variable ",
    ];
    let trimmed = line.trim();
    // nixlbench prints `Backend (--backend=[UCX, ...])   : UCX`.
    let is_option = trimmed.contains("(--");
    let is_command = ["+ ", "$ ", "export "]
        .iter()
        .any(|start| trimmed.starts_with(start));
    texts.iter().any(|text| lower.contains(text)) || is_option || is_command || has_only_assignments(trimmed)
}

/// Whether every word assigns a value to a variable, such as `FI_PROVIDER=tcp`.
fn has_only_assignments(line: &str) -> bool {
    let is_assignment = |word: &str| {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        let is_part = |character: char| {
            character.is_ascii_uppercase() || character.is_ascii_digit() || character == '_'
        };
        !name.is_empty() && name.chars().all(is_part)
    };
    !line.is_empty() && line.split_whitespace().all(is_assignment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_not_evidence() {
        let setting = |line: &str| is_setting(line, &line.to_ascii_lowercase());
        for line in [
            "[1.0] [h:1:0] parser.c:1916 UCX  INFO  UCX_* env variables: UCX_RNDV_THRESH_FALLBACK=inf UCX_TLS=tcp",
            "h:1:1 [0] NCCL INFO NCCL_SOCKET_FALLBACK set by environment to 1",
            "X_FALLBACK=1 FI_PROVIDER=tcp",
            "export UCX_TLS=tcp # fallback",
            "libfabric:1:1::core:core:fi_param_get_():278<info> variable disable_cma=<not set>",
            "Disable fallback (--fallback=[on,off])  : off",
        ] {
            assert!(setting(line), "{line}");
        }
        assert!(!setting(
            "W: falling back to TCP; set X=1 to suppress this warning"
        ));
        assert!(!setting(""));
    }
}
