//! External commands: processes that are not part of the runner, such as the benchmarks that an image provides.
//!
//! A command runs under a supervisor ([`supervisor`]), which is another process of this binary. The supervisor adopts
//! every process that the command leaves behind, even when it has left the process group, and kills all of them when
//! the command is stopped, when its time limit has passed, and when the instrument exits. The instrument's side
//! ([`process`]) starts the supervisor, reads the output up to a limit ([`output`]), and waits for the exit.

mod descendants;
pub mod listening;
mod message;
mod output;
pub mod process;
mod supervisor;

pub use message::CommandLine;
pub use output::Output;
pub use process::{Exit, Process};
pub use supervisor::{SupervisorError, run};
