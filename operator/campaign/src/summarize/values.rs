//! Values of the arms, computed from the valid cases.

pub(super) mod bounds;
pub(super) mod cell;
pub(super) mod cell_view;
pub(super) mod cold;
pub(super) mod disturbance;
pub(super) mod flows;
pub(super) mod load;
pub(super) mod observations;
pub(super) mod pairs;
mod quantities;
pub(super) mod round_summary;
pub(crate) mod rounds;
pub(super) mod sweep;
pub(super) mod variance;
