//! .

pub mod quantile;
