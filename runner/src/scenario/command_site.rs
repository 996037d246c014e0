//! Where the commands of one arm run: addresses and CPUs.

/// Where the commands of one arm run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandSite {
    /// Address of this worker.
    pub own_address: String,
    /// Address of the other worker.
    pub peer_address: String,
    /// CPUs that a command may use. If empty, it may use the CPUs of this process.
    pub cpus: Vec<u32>,
}
