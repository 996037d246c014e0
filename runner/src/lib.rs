//! The fabricbench runner: joins the rendezvous, opens transports, transfers data and reports measurements.
//!
//! The control plane (rendezvous, session, worker, output) may block and allocate memory. The scenarios and the layers
//! below them do not take locks or allocate memory during a measured window.

pub mod arm_endpoints;
mod attempt;
pub mod cli;
pub mod command;
pub mod configuration;
mod copy_library;
pub mod direct;
pub mod environment;
pub mod extension;
#[allow(unsafe_code)]
mod ffi;
pub mod frame;
pub(crate) mod immediate;
pub mod install;
pub mod instrument;
pub mod integrity;
pub mod measure;
pub mod memory;
pub mod output;
pub mod posting;
pub mod probe;
mod process;
mod rank_list;
pub mod rendezvous;
pub mod scenario;
pub mod session;
pub mod topology;
pub mod transport;
pub mod worker;
pub mod worker_event;

#[cfg(test)]
mod test_transport;
