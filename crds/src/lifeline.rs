//! How a worker on another machine and the command that started it notice that the other one is lost.
//!
//! The worker's standard input stays open. Each side writes an empty line at this interval: the command to the worker's
//! standard input, and the worker to its standard error. A side that has heard nothing for [`MAX_SILENCE`], or sees the
//! end of the stream, stops.

use std::time::Duration;

/// Interval between two empty lines.
pub const HEARTBEAT: Duration = Duration::from_secs(5);
/// Maximum time without any line from the other side.
pub const MAX_SILENCE: Duration = Duration::from_secs(30);
