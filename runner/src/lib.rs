//! The instrument: meets its peers, opens a transport, moves bytes and says exactly what it saw.
//!
//! The control plane (rendezvous, session, output) may await and allocate; from the scenarios down nothing does while
//! a window is measured.

pub mod measure;
pub mod memory;
pub mod posting;
pub mod topology;
pub mod transport;
