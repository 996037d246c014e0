//! Checks whether the operator's configuration allows a run's images (by prefix), environment variables (by name) and
//! commands, whether its priority is one that runs may have, and whether its provider and directories work across nodes.
//! Performs no I/O.

use std::path::{Component, Path};

use crds::names::SHARED_DIRECTORY;
use crds::v1alpha1::{BenchmarkRun, BenchmarkRunSpec, Libfabric, LibfabricProvider, TransportSpec};

use crate::options::{CommandPolicy, OperatorConfig};

/// Start of the names of the PriorityClasses that Kubernetes reserves for the components of a cluster. Their pods preempt the
/// pods of all namespaces, which a user who may create runs, but no pods, must not cause.
const SYSTEM_PRIORITY: &str = "system-";

/// Returns why `run` is not allowed, including the field path; `None` if it is allowed.
pub(super) fn rejection(run: &BenchmarkRun, config: &OperatorConfig) -> Option<String> {
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
    if let Some(rejection) = private_directory_rejection(spec) {
        return Some(rejection);
    }
    let priority = spec.placement.priority_class_name.as_ref();
    if let Some(name) = priority.filter(|name| name.starts_with(SYSTEM_PRIORITY)) {
        return Some(format!(
            "spec.placement.priorityClassName: {name} is reserved for the components of the cluster, because its pods preempt \
             those of all namespaces. Use another PriorityClass"
        ));
    }
    let variant_images = spec.variants.iter().enumerate().flat_map(|(index, variant)| {
        let images = [
            ("image", &variant.image),
            ("libraryImage", &variant.library_image),
        ];
        images.into_iter().filter_map(move |(field, image)| {
            Some((format!("spec.variants[{index}].{field}"), image.as_ref()?))
        })
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
    if let Some(rejection) = command_rejection(spec, config) {
        return Some(rejection);
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

/// Returns why the first command in `spec` is not allowed, including the scenario path; `None` if there is no command
/// or it is allowed.
fn command_rejection(spec: &BenchmarkRunSpec, config: &OperatorConfig) -> Option<String> {
    let index = spec
        .scenarios
        .iter()
        .position(|scenario| scenario.command.is_some())?;
    let reason = match config.commands {
        CommandPolicy::Forbid => "(--commands forbid)",
        CommandPolicy::Auto if !config.allowed_images.is_empty() => {
            "because images are restricted (--allow-image) and --commands is auto"
        }
        CommandPolicy::Auto | CommandPolicy::Allow => return None,
    };
    Some(format!(
        "spec.scenarios[{index}].command: commands are not allowed in this cluster {reason}, because they can execute any \
         program in the image. Use another scenario, or ask the operator's administrator to set --commands allow (chart \
         value runner.commands)"
    ))
}

/// Returns why the pods of `spec` do not share a directory that they must share, including the field path; `None` if
/// they share all such directories.
fn private_directory_rejection(spec: &BenchmarkRunSpec) -> Option<String> {
    let has_claim = spec.resources.persistent_volume_claim.is_some();
    let serving = spec.scenarios.iter().enumerate().filter_map(|(index, scenario)| {
        let directory = scenario.parameter_serving.as_ref()?.directory.as_ref()?;
        Some((index, directory))
    });
    let mut private = serving.filter(|(_, directory)| !has_claim || !is_shared(directory));
    private.next().map(|(index, directory)| {
        let use_shared = format!("Use {SHARED_DIRECTORY} or a directory in it");
        let claim = "spec.resources.persistentVolumeClaim";
        let to_claim = "to a claim that all workers can mount";
        let advice = match (has_claim, is_shared(directory)) {
            (true, _) => format!("{use_shared}, which all workers share through {claim}"),
            (false, true) => format!("Set {claim} {to_claim}"),
            (false, false) => format!("{use_shared}, and set {claim} {to_claim}"),
        };
        format!(
            "spec.scenarios[{index}].parameterServing.directory: each pod has its own {directory}. {advice}, or use \
             `fabricbench run` on one machine"
        )
    })
}

/// Whether `directory` is in the volume that all workers mount.
fn is_shared(directory: &str) -> bool {
    let directory = Path::new(directory);
    directory.starts_with(SHARED_DIRECTORY)
        && !directory.components().any(|part| part == Component::ParentDir)
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

    fn rejection_text(images: &[&str], env: &[&str]) -> Option<String> {
        let config = OperatorConfig {
            allowed_images: images.iter().map(|&image| image.to_owned()).collect(),
            allowed_env: env.iter().map(|&name| name.to_owned()).collect(),
            ..OperatorConfig::new("example.test/runner:1")
        };
        rejection(&test_run(), &config)
    }

    fn test_run() -> BenchmarkRun {
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
        serde_json::from_value(run).unwrap()
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

    fn rejected_command(commands: CommandPolicy, images: &[&str]) -> Option<String> {
        let run = serde_json::json!({
            "apiVersion": "fabricbench.dev/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "r"},
            "spec": {
                "baseline": "a",
                "variants": [{"name": "a"}],
                "transport": {"loopback": {}},
                "scenarios": [
                    {"name": "s", "pingPong": {"sizes": [64], "iterations": 10}},
                    {"name": "c", "command": {"tool": "Fabtests", "sizes": [64], "client": ["true"]}},
                ],
            },
        });
        let config = OperatorConfig {
            allowed_images: images.iter().map(|&image| image.to_owned()).collect(),
            commands,
            ..OperatorConfig::new("example.test/runner:1")
        };
        rejection(&serde_json::from_value(run).unwrap(), &config)
    }

    #[test]
    fn commands_are_forbidden_if_images_are_restricted_unless_they_are_allowed() {
        let images = &["registry.example/"][..];
        assert_eq!(rejected_command(CommandPolicy::Auto, &[]), None);
        assert_eq!(rejected_command(CommandPolicy::Allow, images), None);
        for (policy, images, reason) in [
            (CommandPolicy::Auto, images, "because images are restricted"),
            (CommandPolicy::Forbid, &[][..], "(--commands forbid)"),
        ] {
            let rejected = rejected_command(policy, images).unwrap();
            assert!(rejected.starts_with("spec.scenarios[1].command: "), "{rejected}");
            assert!(rejected.contains(reason), "{rejected}");
        }
    }

    fn rejected_directory(directory: &str, claim: Option<&str>) -> Option<String> {
        let run = serde_json::json!({
            "apiVersion": "fabricbench.dev/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "r"},
            "spec": {
                "baseline": "a",
                "variants": [{"name": "a"}],
                "transport": {"libfabric": {"provider": "tcp"}},
                "resources": {"persistentVolumeClaim": claim},
                "scenarios": [
                    {"name": "p", "parameterServing": {"mode": "Push"}},
                    {"name": "f", "parameterServing": {"mode": "Filesystem", "directory": directory}},
                ],
            },
        });
        let config = OperatorConfig::new("example.test/runner:1");
        rejection(&serde_json::from_value(run).unwrap(), &config)
    }

    #[test]
    fn rejects_directories_that_pods_do_not_share() {
        let path = "spec.scenarios[1].parameterServing.directory: ";
        for (directory, claim) in [
            ("/dev/shm", None),
            ("/mnt/fabricbench", None),
            ("/dev/shm", Some("parameters")),
            ("/mnt/fabricbench-2", Some("parameters")),
            ("/mnt/fabricbench/../shm", Some("parameters")),
        ] {
            let rejected = rejected_directory(directory, claim).unwrap();
            assert!(rejected.starts_with(path), "{rejected}");
            assert!(
                rejected.contains("spec.resources.persistentVolumeClaim"),
                "{rejected}"
            );
        }
        for directory in ["/mnt/fabricbench", "/mnt/fabricbench/versions"] {
            assert_eq!(rejected_directory(directory, Some("parameters")), None);
        }
    }

    #[test]
    fn empty_lists_allow_everything() {
        assert_eq!(rejection_text(&[], &[]), None);
    }

    #[test]
    fn rejects_the_priority_of_the_clusters_components() {
        let mut run = test_run();
        for name in ["system-node-critical", "system-cluster-critical"] {
            run.spec.placement.priority_class_name = Some(name.to_owned());
            let rejected = rejection(&run, &OperatorConfig::new("example.test/runner:1")).unwrap();
            let start = format!("spec.placement.priorityClassName: {name} is reserved");
            assert!(rejected.starts_with(&start), "{rejected}");
        }
        run.spec.placement.priority_class_name = Some("benchmarks".to_owned());
        assert_eq!(
            rejection(&run, &OperatorConfig::new("example.test/runner:1")),
            None
        );
    }

    #[test]
    fn rejects_images_and_variables_that_are_not_allowed() {
        assert_eq!(
            rejection_text(&["other.example/", "registry.example/"], &["FI_*"]),
            None
        );
        let image = rejection_text(&["other.example/"], &[]).unwrap();
        assert!(
            image.starts_with("spec.variants[1].image: image \"registry.example/nixl:2\""),
            "{image}"
        );
        for names in [&["UCX_*", "FI_LOG"][..], &["FI_LOG_LEVELS"]] {
            let name = rejection_text(&[], names).unwrap();
            assert!(
                name.starts_with("spec.variants[1].env[0].name: FI_LOG_LEVEL "),
                "{name}"
            );
        }
        assert_eq!(rejection_text(&[], &["FI_LOG_LEVEL"]), None);
        let run = serde_json::json!({
            "apiVersion": "fabricbench.dev/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "r"},
            "spec": {
                "baseline": "a",
                "variants": [{"name": "a"}, {"name": "b", "library": "/opt/lib", "libraryImage": "other.example/efa:2"}],
                "transport": {"libfabric": {"provider": "tcp"}},
                "scenarios": [{"name": "s", "pingPong": {"sizes": [64], "iterations": 10}}],
            },
        });
        let config = OperatorConfig {
            allowed_images: vec!["registry.example/".to_owned()],
            ..OperatorConfig::new("example.test/runner:1")
        };
        let image = rejection(&serde_json::from_value(run).unwrap(), &config).unwrap();
        assert!(
            image.starts_with("spec.variants[1].libraryImage: image \"other.example/efa:2\""),
            "{image}"
        );
    }
}
