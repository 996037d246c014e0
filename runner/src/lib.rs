//! The instrument: meets its peers, opens a transport, moves bytes and says exactly what it saw.
//!
//! The control plane (rendezvous, session, output) may await and allocate; from the scenarios down nothing does while
//! a window is measured.

pub mod bench;
pub mod integrity;
pub mod measure;
pub mod memory;
pub mod posting;
pub mod scenario;
pub mod topology;
pub mod transport;

#[cfg(test)]
mod test_transport;
