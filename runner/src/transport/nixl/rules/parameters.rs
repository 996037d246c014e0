//! Backend parameters of one rail. Performs no I/O.

use crds::v1alpha1::{Nixl, NixlBackend, NixlParameter};

/// Name of the parameter that contains UCX settings, such as `TLS=tcp,NET_DEVICES=eth0`.
const ENGINE_CONFIG: &str = "engine_config";
/// Name of the parameter that lists the RDMA devices for UCX.
const DEVICE_LIST: &str = "device_list";
/// Name of the UCX setting that lists the devices.
const NET_DEVICES: &str = "NET_DEVICES";

/// Device of a rail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::transport::nixl) enum Device {
    /// Network interface.
    Interface(String),
    /// RDMA device.
    Rdma(String),
}

impl Device {
    pub(in crate::transport::nixl) fn name(&self) -> &str {
        match self {
            Self::Interface(name) | Self::Rdma(name) => name,
        }
    }
}

/// Returns the parameters for creating a rail's backend on `device`. If `device` is `None`, the backend chooses its own
/// devices.
///
/// # Errors
///
/// Returns a message if a parameter in the spec is reserved or contradicts the device, or the backend has no parameter
/// for its devices.
pub(in crate::transport::nixl) fn parameters(
    spec: &Nixl,
    device: Option<&Device>,
) -> Result<Vec<(String, String)>, String> {
    if let Some(parameter) = spec.parameters.iter().find(|parameter| parameter.is_reserved()) {
        return Err(format!(
            "spec.transport.nixl.parameters contains {}, which the rail devices or the runner set: remove it",
            parameter.name
        ));
    }
    let own = |parameter: &NixlParameter| (parameter.name.clone(), parameter.value.clone());
    let mut parameters: Vec<_> = spec.parameters.iter().map(own).collect();
    let Some(device) = device else {
        return Ok(parameters);
    };
    if spec.backend != NixlBackend::Ucx {
        return Err(format!(
            "the {} backend chooses its own devices: leave the rail sources and spec.devices.nics empty",
            spec.backend.name()
        ));
    }
    match device {
        Device::Rdma(name) => parameters.push((DEVICE_LIST.to_owned(), name.clone())),
        Device::Interface(name) => {
            let config = spec.parameter(ENGINE_CONFIG).unwrap_or_default();
            let setting = format!("{NET_DEVICES}={name}");
            match devices_of(config) {
                Some(devices) if devices == name => {}
                Some(devices) => {
                    return Err(format!(
                        "engine_config contains {NET_DEVICES}={devices}, but the rail is on {name}: remove it from \
                         spec.transport.nixl.parameters"
                    ));
                }
                None if config.is_empty() => parameters.push((ENGINE_CONFIG.to_owned(), setting)),
                None => {
                    for (parameter, value) in &mut parameters {
                        if parameter == ENGINE_CONFIG {
                            *value = format!("{value},{setting}");
                        }
                    }
                }
            }
        }
    }
    Ok(parameters)
}

/// Device that `engine_config` names; `None` if UCX chooses it. A list of devices cannot be written in this parameter,
/// because commas separate its settings.
fn devices_of(config: &str) -> Option<&str> {
    config
        .split(',')
        .filter_map(|setting| setting.split_once('='))
        .find_map(|(name, value)| (name == NET_DEVICES).then_some(value))
}

/// Network interface or RDMA device that a rail uses according to its backend parameters; `None` if the backend chooses
/// it.
pub(in crate::transport::nixl) fn interface(spec: &Nixl, device: Option<&Device>) -> Option<String> {
    let configured = || devices_of(spec.parameter(ENGINE_CONFIG)?);
    let name = device.map(Device::name).or_else(configured)?;
    // UCX's name for an RDMA device includes the port.
    Some(name.split(':').next().unwrap_or(name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(backend: NixlBackend, parameters: &[(&str, &str)]) -> Nixl {
        Nixl {
            parameters: parameters
                .iter()
                .map(|(name, value)| NixlParameter {
                    name: (*name).to_owned(),
                    value: (*value).to_owned(),
                })
                .collect(),
            ..Nixl::new(backend, 1)
        }
    }

    fn loopback_device() -> Device {
        Device::Interface("lo".to_owned())
    }

    #[test]
    fn adds_the_device_of_a_rail() {
        let joined = |spec: &Nixl, device: Option<&Device>| {
            let parameters = parameters(spec, device).unwrap();
            let joined: Vec<_> = parameters
                .iter()
                .map(|(name, value)| format!("{name}: {value}"))
                .collect();
            joined.join("; ")
        };
        let plain = spec(NixlBackend::Ucx, &[("num_workers", "2")]);
        assert_eq!(joined(&plain, None), "num_workers: 2");
        assert_eq!(
            joined(&plain, Some(&loopback_device())),
            "num_workers: 2; engine_config: NET_DEVICES=lo"
        );
        let rdma = Device::Rdma("mlx5_0".to_owned());
        assert_eq!(joined(&plain, Some(&rdma)), "num_workers: 2; device_list: mlx5_0");
        let tcp = spec(NixlBackend::Ucx, &[("engine_config", "TLS=tcp")]);
        assert_eq!(
            joined(&tcp, Some(&loopback_device())),
            "engine_config: TLS=tcp,NET_DEVICES=lo"
        );
        let same = spec(NixlBackend::Ucx, &[("engine_config", "NET_DEVICES=lo")]);
        assert_eq!(
            joined(&same, Some(&loopback_device())),
            "engine_config: NET_DEVICES=lo"
        );
        assert_eq!(interface(&same, None).as_deref(), Some("lo"));
        assert_eq!(interface(&plain, None), None);
        assert_eq!(interface(&plain, Some(&rdma)).as_deref(), Some("mlx5_0"));
    }

    #[test]
    fn refuses_contradictions() {
        let refused = |spec: &Nixl, device: Option<&Device>| parameters(spec, device).unwrap_err();
        let reserved = spec(NixlBackend::Ucx, &[("device_list", "mlx5_0")]);
        assert!(refused(&reserved, None).contains("contains device_list"));
        let other = spec(NixlBackend::Ucx, &[("engine_config", "TLS=tcp,NET_DEVICES=eth0")]);
        assert!(refused(&other, Some(&loopback_device())).contains("the rail is on lo"));
        let libfabric = spec(NixlBackend::Libfabric, &[]);
        assert!(
            refused(&libfabric, Some(&loopback_device()))
                .contains("LIBFABRIC backend chooses its own devices")
        );
    }
}
