//! Manifests for the tests.

/// Name of the run that [`run`] describes.
pub const NAME: &str = "campaign";

/// Two arms that differ in how they post operations.
pub const INJECT_64: &str = "[{name: baseline}, {name: fi-inject, inject: {maxBytes: 64}}]";

/// Short cases with two sizes.
pub const SHORT: &str = "[{name: small, pingPong: {sizes: [64, 256], iterations: 200, warmup: 20}}]";

/// Loopback transport with one rail.
pub const LOOPBACK: &str = "{loopback: {rails: 1}}";

/// TCP with one rail.
pub const TCP: &str = "{libfabric: {provider: tcp, rails: 1}}";

/// Shared memory with one rail. The files of this transport remain if a process is killed.
pub const SHM: &str = "{libfabric: {provider: shm, rails: 1}}";

/// Returns the manifest of a run with two workers. The arguments are in YAML flow style; `rest` contains additional
/// spec lines.
pub fn run(variants: &str, transport: &str, scenarios: &str, rest: &[&str]) -> String {
    let mut text = format!(
        "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {{name: {NAME}}}\nspec:\n  \
         baseline: baseline\n  variants: {variants}\n  transport: {transport}\n  scenarios: {scenarios}\n"
    );
    for line in rest {
        text.push_str(&format!("  {line}\n"));
    }
    text
}
