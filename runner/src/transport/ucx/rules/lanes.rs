//! Endpoint lanes: the transports and devices over which UCX transfers one peer's data. Performs no I/O.

use super::environment::NET_DEVICES;
use crds::v1alpha1::{Ucx, unrequested_lane};
use std::fmt;

/// Transports that use a network.
const NETWORKS: [&str; 6] = ["tcp", "rc_verbs", "rc_mlx5", "ud_verbs", "ud_mlx5", "dc_mlx5"];

/// Endpoint lane.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::transport::ucx) struct Lane {
    /// Transport name, such as `tcp` or `rc_mlx5`.
    pub transport: String,
    /// Device name, such as `lo` or `mlx5_0:1`.
    pub device: String,
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.transport, self.device)
    }
}

/// Finds the lanes in the output of `ucp_ep_print_info`, whose lines have the form
/// `#                 lane[0]:  2:tcp/lo.0 md[1]           -> md[1]/tcp/sysdev[255] rma_bw#0 am am_bw#0 wireup`.
///
/// UCX 1.13 does not report lanes in any other way. The result is empty if the text has no such lines.
pub(in crate::transport::ucx) fn parse(text: &str) -> Vec<Lane> {
    let mut lanes: Vec<_> = text.lines().filter_map(parse_line).collect();
    lanes.sort_unstable();
    lanes.dedup();
    lanes
}

fn parse_line(line: &str) -> Option<Lane> {
    let (_, resource) = line
        .trim_start_matches(['#', ' '])
        .strip_prefix("lane[")?
        .split_once(':')?;
    let (number, resource) = resource.trim_start().split_once(':')?;
    number.parse::<u32>().ok()?;
    let (transport, rest) = resource.split_once('/')?;
    // The device is followed by the path number, which is the last number before the space.
    let (device, path) = rest.split_once(' ')?.0.rsplit_once('.')?;
    path.parse::<u32>().ok()?;
    Some(Lane {
        transport: transport.to_owned(),
        device: device.to_owned(),
    })
}

/// Finds the resources in the output of `ucp_context_print_info`, whose lines have the form
/// `#      resource 2  :  md 1  dev 2  flags -- tcp/lo`.
pub(in crate::transport::ucx) fn parse_resources(text: &str) -> Vec<Lane> {
    let resources = text.lines().filter_map(|line| {
        let resource = line.trim_start_matches(['#', ' ']).strip_prefix("resource ")?;
        let (transport, device) = resource.rsplit_once(' ')?.1.split_once('/')?;
        Some(Lane {
            transport: transport.to_owned(),
            device: device.to_owned(),
        })
    });
    resources.collect()
}

/// Checks that the context has a resource for every requested transport and, if the rail has a device, on that device.
/// `allowed` is the value of `UCX_NET_DEVICES`, which excludes all other network devices.
///
/// # Errors
///
/// Returns a message that names the missing transport or device, and the resources.
pub(in crate::transport::ucx) fn check_resources(
    spec: &Ucx,
    device: Option<&str>,
    allowed: Option<&str>,
    resources: &[Lane],
) -> Result<(), String> {
    let available: Vec<_> = resources.iter().map(Lane::to_string).collect();
    let available = match available.as_slice() {
        [] => "no transport".to_owned(),
        _ => available.join(", "),
    };
    let missing = spec.transports.iter().find(|transport| {
        !resources
            .iter()
            .any(|resource| transport.serves(&resource.transport))
    });
    if let Some(transport) = missing {
        let on = device.map(|device| format!(" on {device}")).unwrap_or_default();
        let excluded = allowed
            .filter(|_| NETWORKS.iter().any(|network| transport.serves(network)))
            .map(|allowed| {
                format!(". {NET_DEVICES}={allowed} is set, which excludes all other devices: name a device of this transport")
            })
            .unwrap_or_default();
        return Err(format!(
            "UCX has no {} transport{on}; its context contains {available}{excluded}. `ucx_info -d` lists all transports and \
             devices",
            transport.name()
        ));
    }
    let networks = resources
        .iter()
        .filter(|resource| uses_network(&resource.transport));
    if let Some(device) = device
        && networks.clone().all(|resource| resource.device != device)
    {
        return Err(format!(
            "UCX cannot use device {device}; its context contains {available}. `ucx_info -d` lists all transports and \
             devices"
        ));
    }
    Ok(())
}

/// Checks that every lane uses a transport that the spec lists and, if it uses a network, the rail's device.
///
/// # Errors
///
/// Returns a message that names the lane.
pub(in crate::transport::ucx) fn check(
    spec: &Ucx,
    device: Option<&str>,
    lanes: &[Lane],
) -> Result<(), String> {
    let list = |lanes: &[Lane]| lanes.iter().map(Lane::to_string).collect::<Vec<_>>().join(", ");
    let names: Vec<_> = lanes.iter().map(|lane| lane.transport.as_str()).collect();
    let unrequested = unrequested_lane(&spec.transports, &names);
    if let Some(lane) = lanes
        .iter()
        .find(|lane| Some(lane.transport.as_str()) == unrequested)
    {
        let requested: Vec<_> = spec.transports.iter().map(|transport| transport.name()).collect();
        return Err(format!(
            "requested transports {}, but UCX uses {lane} (all lanes: {})",
            requested.join(", "),
            list(lanes)
        ));
    }
    let wrong_device =
        |lane: &&Lane| device.is_some_and(|device| uses_network(&lane.transport) && lane.device != device);
    if let (Some(lane), Some(device)) = (lanes.iter().find(wrong_device), device) {
        return Err(format!(
            "requested device {device}, but UCX uses {lane} (all lanes: {})",
            list(lanes)
        ));
    }
    Ok(())
}

/// Whether the transport with this name uses a network.
pub(in crate::transport::ucx) fn uses_network(name: &str) -> bool {
    name == "tcp"
        || ["rc_", "ud_", "dc_"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::v1alpha1::UcxTransport;

    const TCP: &str = "\
# UCP endpoint host:1
#
#               peer: host:1
#                 lane[0]:  2:tcp/lo.0 md[1]                -> md[1]/tcp/sysdev[255] rma_bw#0 am am_bw#0 wireup
#
#                tag_send: 0..<egr/short>..8185..<egr/zcopy>..(inf)
";

    fn lane(text: &str) -> Lane {
        let (transport, device) = text.split_once('/').unwrap();
        Lane {
            transport: transport.to_owned(),
            device: device.to_owned(),
        }
    }

    #[test]
    fn finds_the_lanes_in_the_printed_endpoint() {
        assert_eq!(parse(TCP), [lane("tcp/lo")]);
        let several = "\
#                 lane[0]:  4:posix/memory.0 md[3]          -> md[3]/posix/sysdev[255] am am_bw#0 wireup
#                 lane[1]:  6:cma/memory.0 md[5]            -> md[5]/cma/sysdev[255] rma_bw#0
#                 lane[2]: 10:tcp/eth0.100.0 md[1]          -> md[1]/tcp/sysdev[255]
#                 lane[3]: 12:rc_mlx5/mlx5_0:1.1 md[1]      -> md[1]/ib/sysdev[0]
";
        let expected = ["cma/memory", "posix/memory", "rc_mlx5/mlx5_0:1", "tcp/eth0.100"].map(lane);
        assert_eq!(parse(several), expected);
        assert!(parse("# lane\n").is_empty() && parse("#   lane[0]: CM rdmacm\n").is_empty());
    }

    #[test]
    fn finds_missing_resources() {
        let text = "\
#     component 0  :  self
#            md 0  :  component 0  self
#
#      resource 0  :  md 0  dev 0  flags -- self/memory0
#      resource 1  :  md 1  dev 1  flags a- tcp/lo
";
        let resources = parse_resources(text);
        assert_eq!(resources, ["self/memory0", "tcp/lo"].map(lane));
        let tcp = Ucx::new(vec![UcxTransport::Tcp], 1);
        assert_eq!(check_resources(&tcp, Some("lo"), None, &resources), Ok(()));
        assert_eq!(check_resources(&tcp, None, None, &resources), Ok(()));
        let message = check_resources(&tcp, Some("eth0"), None, &resources).unwrap_err();
        assert!(
            message.starts_with("UCX cannot use device eth0; its context contains self/memory0, tcp/lo."),
            "{message}"
        );
        let rc = Ucx::new(vec![UcxTransport::Tcp, UcxTransport::Rc], 1);
        let message = check_resources(&rc, None, None, &resources).unwrap_err();
        assert!(
            message.starts_with("UCX has no rc transport; its context contains self/memory0, tcp/lo."),
            "{message}"
        );
        let sm = Ucx::new(vec![UcxTransport::Sm], 1);
        for (spec, names_the_variable) in [(&rc, true), (&sm, false)] {
            let message = check_resources(spec, None, Some("mlx5_0:1"), &resources).unwrap_err();
            let found = message.contains("UCX_NET_DEVICES=mlx5_0:1 is set");
            assert_eq!(found, names_the_variable, "{message}");
        }
    }

    #[test]
    fn rejects_a_transport_that_was_not_requested() {
        let tcp = Ucx::new(vec![UcxTransport::Tcp], 1);
        assert_eq!(check(&tcp, Some("lo"), &[lane("tcp/lo")]), Ok(()));
        let message = check(&tcp, None, &[lane("tcp/lo"), lane("cma/memory")]).unwrap_err();
        assert_eq!(
            message,
            "requested transports tcp, but UCX uses cma/memory (all lanes: tcp/lo, cma/memory)"
        );
        let rc = Ucx::new(vec![UcxTransport::Rc], 1);
        assert_eq!(
            check(&rc, None, &[lane("rc_mlx5/mlx5_0:1"), lane("ud_mlx5/mlx5_0:1")]),
            Ok(())
        );
        // ud replaces rc: the `rc` alias permits UCX to use ud if the device has no rc.
        let ud = [lane("ud_mlx5/mlx5_0:1")];
        let message = check(&rc, None, &ud).unwrap_err();
        assert!(
            message.starts_with("requested transports rc, but UCX uses ud_mlx5"),
            "{message}"
        );
        let message = check_resources(&rc, None, None, &ud).unwrap_err();
        assert!(message.starts_with("UCX has no rc transport"), "{message}");
        let both = Ucx::new(vec![UcxTransport::Rc, UcxTransport::Ud], 1);
        assert_eq!(check(&both, None, &ud), Ok(()));
    }

    #[test]
    fn rejects_a_device_that_was_not_requested() {
        let both = Ucx::new(vec![UcxTransport::Tcp, UcxTransport::Sm], 1);
        let lanes = [lane("tcp/eth0"), lane("cma/memory")];
        assert_eq!(check(&both, Some("eth0"), &lanes), Ok(()));
        let message = check(&both, Some("lo"), &lanes).unwrap_err();
        assert!(
            message.starts_with("requested device lo, but UCX uses tcp/eth0"),
            "{message}"
        );
    }
}
