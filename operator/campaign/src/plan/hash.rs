//! The hash by which a plan is known.

use crds::record::hex;
use sha2::{Digest, Sha256};

use super::Plan;

/// SHA-256 of the plan's JSON (fields in declaration order, maps sorted), in hexadecimal.
pub fn hash(plan: &Plan) -> String {
    // Serializing into memory what holds text, numbers and lists only cannot fail.
    let json = serde_json::to_vec(plan).unwrap_or_default();
    hex(&Sha256::digest(&json))
}
