//! Maximum lengths of the lists and strings in a status.

/// Maximum length of a string in a status, in characters.
pub const MAX_TEXT: usize = 1024;
/// Maximum number of warnings in a status.
pub const MAX_WARNINGS: usize = 64;
/// Maximum number of pairs of nodes, as in the schema. The pairs that deviate most are retained.
pub const MAX_PAIRS: usize = 16;
/// Maximum number of sweep results, as in the schema.
pub const MAX_SWEEPS: usize = 32;
/// Maximum number of factor effects, as in the schema.
pub const MAX_FACTOR_EFFECTS: usize = 128;
/// Maximum number of nodes, as in the schema.
pub const MAX_NODES: usize = 64;
/// Maximum number of results and of comparisons. Including their strings, they stay well below 1.5 MiB, the size limit
/// of a Kubernetes object.
pub const MAX_RESULTS: usize = 512;
/// Maximum number of protocols of a result.
pub const MAX_PROTOCOLS: usize = 4;
