//! Checks whether the operator's configuration allows the images (by prefix) and the environment variables (by name) of
//! a run, and whether the provider of the run works across nodes. Performs no I/O.

use crds::v1alpha1::{BenchmarkRun, Libfabric, LibfabricProvider, TransportSpec};

use crate::options::OperatorConfig;

/// Reason why `run` is not allowed, with the path of the field; `None` if it is allowed.
pub fn rejection(run: &BenchmarkRun, config: &OperatorConfig) -> Option<String> {
    let spec = &run.spec;
    let own = spec.variants.iter().enumerate().filter_map(|(index, variant)| {
        let transport = variant.transport.as_ref()?;
        Some((format!("spec.variants[{index}].transport"), transport))
    });
    let mut transports = std::iter::once(("spec.transport".to_owned(), &spec.transport)).chain(own);
    if let Some((path, _)) = transports.find(|(_, transport)| uses_shared_memory(transport)) {
        return Some(format!(
            "{path}.libfabric.provider: shm requires both workers on one host, but in a cluster they run on different \
             nodes. Use tcp, or `fabricbench run` on one machine"
        ));
    }
    let variant_images = spec.variants.iter().enumerate().filter_map(|(index, variant)| {
        let image = variant.image.as_ref()?;
        Some((format!("spec.variants[{index}].image"), image))
    });
    let images = spec.image.iter().map(|image| ("spec.image".to_owned(), image));
    let allowed = &config.allowed_images;
    let image = images.chain(variant_images).find(|(_, image)| {
        let has_prefix = |prefix: &String| image.starts_with(prefix.as_str());
        !allowed.is_empty() && !allowed.iter().any(has_prefix)
    });
    if let Some((path, image)) = image {
        return Some(format!(
            "{path}: image {image:?} is not allowed in this cluster. Allowed prefixes: {}",
            allowed.join(", ")
        ));
    }
    let variables = spec.variants.iter().enumerate().flat_map(|(index, variant)| {
        let names = variant.env.iter().enumerate();
        names.map(move |(position, variable)| (index, position, &variable.name))
    });
    let allowed = &config.allowed_env;
    let mut rejected = variables
        .filter(|(_, _, name)| !allowed.is_empty() && !allowed.iter().any(|pattern| matches(pattern, name)));
    rejected.next().map(|(index, position, name)| {
        format!(
            "spec.variants[{index}].env[{position}].name: {name} is not allowed in this cluster. Allowed names: {}",
            allowed.join(", ")
        )
    })
}

fn uses_shared_memory(transport: &TransportSpec) -> bool {
    matches!(
        transport,
        TransportSpec::Libfabric(Libfabric {
            provider: LibfabricProvider::Shm,
            ..
        })
    )
}

/// Whether `name` equals `pattern`, or, if `pattern` ends with `*`, starts with the part before the `*`.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(images: &[&str], env: &[&str]) -> Option<String> {
        let config = OperatorConfig {
            allowed_images: images.iter().map(|&image| image.to_owned()).collect(),
            allowed_env: env.iter().map(|&name| name.to_owned()).collect(),
            ..OperatorConfig::new("example.test/runner:1")
        };
        let run = serde_json::json!({
            "apiVersion": "fabricbench.dev/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "r"},
            "spec": {
                "baseline": "a",
                "variants": [
                    {"name": "a"},
                    {"name": "b", "image": "registry.example/nixl:2", "env": [{"name": "FI_LOG_LEVEL", "value": "warn"}]},
                ],
                "transport": {"loopback": {}},
                "scenarios": [{"name": "s", "pingPong": {"sizes": [64], "iterations": 10}}],
            },
        });
        rejection(&serde_json::from_value(run).unwrap(), &config)
    }

    #[test]
    fn rejects_the_shm_provider() {
        let run = serde_json::json!({
            "apiVersion": "fabricbench.dev/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "r"},
            "spec": {
                "baseline": "a",
                "variants": [{"name": "a"}],
                "transport": {"libfabric": {"provider": "shm"}},
                "scenarios": [{"name": "s", "pingPong": {"sizes": [64], "iterations": 10}}],
            },
        });
        let config = OperatorConfig::new("example.test/runner:1");
        let rejected = rejection(&serde_json::from_value(run).unwrap(), &config).unwrap();
        assert!(
            rejected.starts_with("spec.transport.libfabric.provider: shm "),
            "{rejected}"
        );
    }

    #[test]
    fn empty_lists_allow_everything() {
        assert_eq!(rejected(&[], &[]), None);
    }

    #[test]
    fn rejects_images_and_variables_that_are_not_allowed() {
        assert_eq!(
            rejected(&["other.example/", "registry.example/"], &["FI_*"]),
            None
        );
        let image = rejected(&["other.example/"], &[]).unwrap();
        assert!(
            image.starts_with("spec.variants[1].image: image \"registry.example/nixl:2\""),
            "{image}"
        );
        for names in [&["UCX_*", "FI_LOG"][..], &["FI_LOG_LEVELS"]] {
            let name = rejected(&[], names).unwrap();
            assert!(
                name.starts_with("spec.variants[1].env[0].name: FI_LOG_LEVEL "),
                "{name}"
            );
        }
        assert_eq!(rejected(&[], &["FI_LOG_LEVEL"]), None);
    }
}
