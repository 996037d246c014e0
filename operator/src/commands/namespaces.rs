//! The `--namespace` flag, which several subcommands have.

use std::collections::BTreeSet;

use campaign::validate::{MAX_LABEL, is_label};
use clap::Args;

use super::exit::Failure;
use crate::options::Namespaces;

/// Namespaces that a subcommand is limited to.
#[derive(Debug, Args)]
pub(super) struct NamespaceFlag {
    /// Namespace of the runs. Can be repeated. Defaults to all namespaces.
    #[arg(
        long = "namespace",
        env = "FABRICBENCH_NAMESPACES",
        value_name = "NAME",
        value_delimiter = ','
    )]
    names: Vec<String>,
}

impl NamespaceFlag {
    /// # Errors
    /// Returns an error if a name is not valid.
    pub(super) fn namespaces(&self) -> Result<Namespaces, Failure> {
        let names: BTreeSet<String> = self.names.iter().cloned().collect();
        for name in &names {
            check_name("--namespace", name, ", or omit the flag for all namespaces")?;
        }
        Ok(match names.is_empty() {
            true => Namespaces::All,
            false => Namespaces::Only(names),
        })
    }
}

/// Checks that the value of `flag` is a name that Kubernetes accepts. `hint` ends the message.
///
/// # Errors
/// Returns an error if it is not.
pub(super) fn check_name(flag: &str, name: &str, hint: &str) -> Result<(), Failure> {
    match is_label(name, MAX_LABEL) {
        true => Ok(()),
        false => Err(Failure::invalid_input(format!(
            "{flag}: `{name}` is not a valid name. Use at most {MAX_LABEL} lowercase letters, digits and hyphens{hint}"
        ))),
    }
}
