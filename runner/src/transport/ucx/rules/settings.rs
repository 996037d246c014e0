//! Settings that the transport applies to UCX's configuration. Performs no I/O.

use crds::v1alpha1::{Ucx, UcxEmulation, UcxPreset, tls_value};
use ucx_sys::Version;

/// First release with `UCX_PROTO_EMULATION_ENABLE`.
const EMULATION_SETTING: Version = Version::new(1, 21, 0);

/// Setting, named without its `UCX_` prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::transport::ucx) struct Setting {
    pub name: String,
    pub value: String,
}

/// Settings to apply for one rail, in this order: transports and device, emulation, preset, and individual settings. A
/// setting whose variable (`UCX_<name>`) is set in the environment is omitted, just as NIXL omits it. `is_set` reports
/// whether a variable is set.
///
/// # Errors
///
/// Returns a message if an individual setting would contradict a spec field.
pub(in crate::transport::ucx) fn settings(
    spec: &Ucx,
    device: Option<&str>,
    version: Version,
    is_set: impl Fn(&str) -> bool,
) -> Result<Vec<Setting>, String> {
    if let Some(setting) = spec.settings.iter().find(|setting| setting.is_reserved()) {
        return Err(format!(
            "spec.transport.ucx.settings contains {}, which the transports and emulation fields and the rail \
             devices determine: remove it",
            setting.name
        ));
    }
    let shadowed = |setting: &&crds::v1alpha1::UcxSetting| is_set(&format!("UCX_{}", setting.name));
    if let Some(setting) = spec.settings.iter().find(shadowed) {
        let name = &setting.name;
        return Err(format!(
            "spec.transport.ucx.settings contains {name}, but UCX_{name} is set in the variant's environment \
             and would take precedence: remove one of them"
        ));
    }
    let mut settings = vec![setting("TLS", &tls_value(&spec.transports))];
    settings.extend(device.map(|device| setting("NET_DEVICES", device)));
    if spec.emulation == UcxEmulation::Deny && version >= EMULATION_SETTING {
        settings.push(setting("PROTO_EMULATION_ENABLE", "n"));
    }
    let single = |name: &str| spec.settings.iter().any(|setting| setting.name == name);
    let preset = preset(spec, version).into_iter();
    settings.extend(preset.filter(|setting| !single(&setting.name)));
    settings.extend(spec.settings.iter().map(|one| setting(&one.name, &one.value)));
    settings.retain(|setting| !is_set(&format!("UCX_{}", setting.name)));
    Ok(settings)
}

fn setting(name: &str, value: &str) -> Setting {
    Setting {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

/// Settings in the preset. InfiniBand settings are omitted if the spec uses no RDMA transport, because a UCX library
/// without InfiniBand rejects them. Sources: `src/plugins/ucx/ucx_utils.cpp` in NIXL 1.4, and the UCXX documentation.
fn preset(spec: &Ucx, version: Version) -> Vec<Setting> {
    let since = |minor| version >= Version::new(1, minor, 0);
    let rdma = spec.uses_rdma();
    let settings: &[(bool, &str, &str)] = match spec.preset {
        UcxPreset::Plain => &[],
        UcxPreset::Nixl => &[
            (true, "RNDV_THRESH", "inf"),
            (true, "MAX_RMA_RAILS", "2"),
            (rdma, "IB_PCI_RELAXED_ORDERING", "try"),
            (rdma, "RC_FENCE", "none"),
            (since(21), "MAX_HCA_PER_GPU", "auto"),
            (since(22), "RNDV_PIPELINE_ERROR_HANDLING", "y"),
        ],
        UcxPreset::Ucxx => &[
            (true, "MEMTYPE_CACHE", "n"),
            (true, "RNDV_THRESH", "8192"),
            (true, "MAX_RNDV_RAILS", "1"),
        ],
    };
    settings
        .iter()
        .filter(|(applies, _, _)| *applies)
        .map(|(_, name, value)| setting(name, value))
        .collect()
}

/// Names of the settings that UCX reports as unused in `printed`, the log output from creating a worker. UCX accepts
/// every name, because transports have their own settings, and warns afterwards (`ucp_warn_unused_uct_config`).
pub(in crate::transport::ucx) fn unused_settings(printed: &str) -> Vec<&str> {
    let warnings = printed
        .lines()
        .filter_map(|line| line.split_once("invalid configuration"))
        .filter_map(|(_, rest)| rest.split_once(": "));
    let assignments = warnings.flat_map(|(_, list)| list.split(','));
    let names = assignments
        .filter_map(|one| one.trim().split_once('='))
        .map(|(name, _)| name);
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::v1alpha1::{UcxSetting, UcxTransport};

    const OLD: Version = Version::new(1, 13, 1);
    const NEW: Version = Version::new(1, 22, 0);

    fn spec() -> Ucx {
        Ucx::new(vec![UcxTransport::Tcp], 1)
    }

    fn applied_names(spec: &Ucx, version: Version, set: &[&str]) -> Vec<String> {
        let settings = settings(spec, Some("lo"), version, |name| set.contains(&name)).unwrap();
        settings
            .into_iter()
            .map(|setting| format!("{}={}", setting.name, setting.value))
            .collect()
    }

    #[test]
    fn reads_the_names_of_unused_settings() {
        let one = "[1.2] [host:7:0] parser.c:1 UCX  WARN  invalid configuration: RNDV_THRESHH=8192";
        assert_eq!(unused_settings(one), ["RNDV_THRESHH"]);
        let several = format!(
            "first\n{}\nlast",
            one.replace("configuration: ", "configurations: A=1,")
        );
        assert_eq!(unused_settings(&several), ["A", "RNDV_THRESHH"]);
        assert!(unused_settings("UCX  WARN  another warning: A=1").is_empty());
    }

    #[test]
    fn excludes_emulation_unless_it_is_allowed() {
        assert_eq!(
            applied_names(&spec(), OLD, &[]),
            ["TLS=tcp,self", "NET_DEVICES=lo"]
        );
        assert_eq!(
            applied_names(&spec(), NEW, &[]),
            ["TLS=tcp,self", "NET_DEVICES=lo", "PROTO_EMULATION_ENABLE=n"]
        );
        let allowed = Ucx {
            emulation: UcxEmulation::Allow,
            ..spec()
        };
        assert_eq!(
            applied_names(&allowed, NEW, &[]),
            ["TLS=tcp,self", "NET_DEVICES=lo"]
        );
    }

    #[test]
    fn an_individual_setting_replaces_the_preset() {
        let spec = Ucx {
            preset: UcxPreset::Ucxx,
            settings: vec![UcxSetting {
                name: "RNDV_THRESH".to_owned(),
                value: "1m".to_owned(),
            }],
            ..spec()
        };
        let applied = applied_names(&spec, OLD, &[]);
        assert_eq!(
            applied[2..],
            ["MEMTYPE_CACHE=n", "MAX_RNDV_RAILS=1", "RNDV_THRESH=1m"]
        );
    }

    #[test]
    fn an_environment_variable_takes_precedence() {
        let spec = Ucx {
            preset: UcxPreset::Nixl,
            ..spec()
        };
        let applied = applied_names(&spec, NEW, &["UCX_RNDV_THRESH", "UCX_TLS"]);
        assert!(
            !applied
                .iter()
                .any(|text| text.starts_with("RNDV_THRESH") || text.starts_with("TLS"))
        );
        assert!(
            applied.contains(&"MAX_HCA_PER_GPU=auto".to_owned()),
            "{applied:?}"
        );
    }

    #[test]
    fn rejects_a_setting_whose_variable_is_set() {
        let spec = Ucx {
            settings: vec![UcxSetting {
                name: "RNDV_THRESH".to_owned(),
                value: "1m".to_owned(),
            }],
            ..spec()
        };
        let message = settings(&spec, None, NEW, |name| name == "UCX_RNDV_THRESH").unwrap_err();
        assert!(message.contains("UCX_RNDV_THRESH is set"), "{message}");
        assert!(settings(&spec, None, NEW, |name| name == "UCX_TLS").is_ok());
    }

    #[test]
    fn applies_infiniband_settings_only_to_rdma_transports() {
        let applied_to = |transport| {
            let spec = Ucx {
                preset: UcxPreset::Nixl,
                ..Ucx::new(vec![transport], 1)
            };
            applied_names(&spec, NEW, &[]).contains(&"RC_FENCE=none".to_owned())
        };
        assert!(applied_to(UcxTransport::Rc) && !applied_to(UcxTransport::Tcp));
    }

    #[test]
    fn rejects_a_setting_that_a_spec_field_determines() {
        let spec = Ucx {
            settings: vec![UcxSetting {
                name: "TLS".to_owned(),
                value: "all".to_owned(),
            }],
            ..spec()
        };
        let message = settings(&spec, None, OLD, |_| false).unwrap_err();
        assert!(
            message.contains("spec.transport.ucx.settings contains TLS"),
            "{message}"
        );
    }
}
