//! Whether each case is valid, and whether its bytes used the requested fabric. Each file has the rules for one kind of
//! fault; `cases` applies them.

pub(crate) mod case_check;
pub(super) mod cases;
mod contradictions;
pub(super) mod fabric;
mod flow_limits;
pub(in crate::summarize) mod limits;
mod reported_rate;
pub(crate) mod section;
