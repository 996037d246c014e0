//! Computes the hash that identifies a plan.

use crds::record::hex;
use sha2::{Digest, Sha256};

use super::Plan;

/// Computes the SHA-256 of the plan's JSON (fields in declaration order, maps sorted), in hexadecimal.
pub fn hash(plan: &Plan) -> String {
    // A plan contains only text, numbers, lists and maps, so serializing it into memory cannot fail.
    let json = serde_json::to_vec(plan).unwrap_or_default();
    hex(&Sha256::digest(&json))
}
