//! What a cluster can carry out, and what an installation allows a run to choose: images by prefix, environment variables by
//! name. Pure.

use crds::v1alpha1::{BenchmarkRun, Libfabric, LibfabricProvider, TransportSpec};

use super::build::Installation;

/// Why the installation does not allow `run`, with the path of the field; nothing where it does.
pub fn refusal(run: &BenchmarkRun, installation: &Installation) -> Option<String> {
    let spec = &run.spec;
    if let TransportSpec::Libfabric(Libfabric {
        provider: LibfabricProvider::Shm,
        ..
    }) = &spec.transport
    {
        return Some(
            "spec.transport.libfabric.provider: shm needs both sides on one host, and the workers of a run in a cluster are on \
             different nodes. Use tcp, or `fabricbench run` on one machine"
                .to_owned(),
        );
    }
    let of_variants = spec.variants.iter().enumerate().filter_map(|(index, variant)| {
        let image = variant.image.as_ref()?;
        Some((format!("spec.variants[{index}].image"), image))
    });
    let images = spec.image.iter().map(|image| ("spec.image".to_owned(), image));
    let allowed = &installation.allowed_images;
    let image = images.chain(of_variants).find(|(_, image)| {
        let begins = |prefix: &String| image.starts_with(prefix.as_str());
        !allowed.is_empty() && !allowed.iter().any(begins)
    });
    if let Some((path, image)) = image {
        return Some(format!(
            "{path}: {image:?} is not allowed here: images begin with {}",
            allowed.join(" or ")
        ));
    }
    let variables = spec.variants.iter().enumerate().flat_map(|(index, variant)| {
        let names = variant.env.iter().enumerate();
        names.map(move |(place, variable)| (index, place, &variable.name))
    });
    let allowed = &installation.allowed_env;
    let mut refused = variables
        .filter(|(_, _, name)| !allowed.is_empty() && !allowed.iter().any(|pattern| matches(pattern, name)));
    refused.next().map(|(index, place, name)| {
        format!(
            "spec.variants[{index}].env[{place}].name: {name} is not allowed here: names are {}",
            allowed.join(" or ")
        )
    })
}

/// A name, or its beginning before a `*`.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(images: &[&str], env: &[&str]) -> Option<String> {
        let installation = Installation {
            allowed_images: images.iter().map(|&image| image.to_owned()).collect(),
            allowed_env: env.iter().map(|&name| name.to_owned()).collect(),
            ..Installation::new("example.test/runner:1")
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
        refusal(&serde_json::from_value(run).unwrap(), &installation)
    }

    #[test]
    fn shared_memory_between_nodes_is_refused() {
        let run = serde_json::json!({
            "apiVersion": "fabricbench.dev/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "r"},
            "spec": {
                "baseline": "a",
                "variants": [{"name": "a"}],
                "transport": {"libfabric": {"provider": "shm"}},
                "scenarios": [{"name": "s", "pingPong": {"sizes": [64], "iterations": 10}}],
            },
        });
        let installation = Installation::new("example.test/runner:1");
        let refused = refusal(&serde_json::from_value(run).unwrap(), &installation).unwrap();
        assert!(
            refused.starts_with("spec.transport.libfabric.provider: shm "),
            "{refused}"
        );
    }

    #[test]
    fn everything_is_allowed_where_nothing_is_named() {
        assert_eq!(refused(&[], &[]), None);
    }

    #[test]
    fn what_is_not_named_is_refused_with_its_path() {
        assert_eq!(refused(&["other.example/", "registry.example/"], &["FI_*"]), None);
        let image = refused(&["other.example/"], &[]).unwrap();
        assert!(
            image.starts_with("spec.variants[1].image: \"registry.example/nixl:2\""),
            "{image}"
        );
        for names in [&["UCX_*", "FI_LOG"][..], &["FI_LOG_LEVELS"]] {
            let name = refused(&[], names).unwrap();
            assert!(
                name.starts_with("spec.variants[1].env[0].name: FI_LOG_LEVEL "),
                "{name}"
            );
        }
        assert_eq!(refused(&[], &["FI_LOG_LEVEL"]), None);
    }
}
