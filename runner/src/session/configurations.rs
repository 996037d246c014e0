//! Combines equal configurations of workers and arms, and divides long ones among several records. Performs no I/O.

use crds::record::{ConfigurationRecord, MAX_RECORDED_FILES, MAX_RECORDED_VARIABLES};

/// Maximum number of different configurations that a leg records.
const MAX_CONFIGURATIONS: usize = 48;
/// Maximum number of records into which one configuration is divided.
const MAX_PARTS: usize = 16;

/// Combines the configurations that the workers, given by rank, reported. Returns the different ones, and the number of
/// reported configurations that exceed the limit and are omitted.
pub(super) fn group(reported: Vec<(u32, ConfigurationRecord)>) -> (Vec<ConfigurationRecord>, usize) {
    let mut groups: Vec<ConfigurationRecord> = Vec::new();
    let mut omitted = 0;
    for (rank, record) in reported {
        let same = |known: &ConfigurationRecord| {
            known.arms == record.arms
                && known.scenario == record.scenario
                && known.variables == record.variables
                && known.files == record.files
                && known.files_sha256 == record.files_sha256
                && known.incomplete == record.incomplete
        };
        if let Some(index) = groups.iter().position(same) {
            groups[index].ranks.push(rank);
        } else if groups.len() == MAX_CONFIGURATIONS {
            omitted += 1;
        } else {
            groups.push(ConfigurationRecord {
                ranks: vec![rank],
                ..record
            });
        }
    }
    (groups, omitted)
}

/// Divides a configuration among records that are short enough. Variables and files beyond the limit are omitted; the
/// hash covers all files.
pub(super) fn split(record: ConfigurationRecord) -> Vec<ConfigurationRecord> {
    let variables = record.variables.chunks(MAX_RECORDED_VARIABLES);
    let files = record.files.chunks(MAX_RECORDED_FILES);
    let parts = variables.len() + files.len();
    let part = || ConfigurationRecord {
        variables: Vec::new(),
        files: Vec::new(),
        ..record.clone()
    };
    if parts == 0 {
        return vec![part()];
    }
    let variables = variables.map(|variables| ConfigurationRecord {
        variables: variables.to_vec(),
        ..part()
    });
    let files = files.map(|files| ConfigurationRecord {
        files: files.to_vec(),
        ..part()
    });
    variables.chain(files).take(MAX_PARTS).collect()
}

#[cfg(test)]
mod tests {
    use crds::record::{ChainWriter, LoadedFile, Record, VariableFacts, VariableKnowledge};

    use super::*;

    fn configuration(variables: usize, files: usize) -> ConfigurationRecord {
        let variable = |index: usize| VariableFacts {
            name: format!("{index:0100}"),
            knowledge: VariableKnowledge::Unknown,
            effective: Some("v".repeat(160)),
            nearest: Some("n".repeat(100)),
            reason: "r".repeat(320),
        };
        let file = |index: usize| LoadedFile {
            path: format!("/{index:0255}"),
            sha256: Some("0".repeat(64)),
            version: Some("1.17.0".to_owned()),
        };
        ConfigurationRecord {
            arms: (0..18).map(|arm| format!("{arm:040}")).collect(),
            scenario: Some("s".repeat(40)),
            variables: (0..variables).map(variable).collect(),
            files: (0..files).map(file).collect(),
            files_sha256: Some("0".repeat(64)),
            incomplete: Some("i".repeat(320)),
            ..ConfigurationRecord::default()
        }
    }

    #[test]
    fn workers_with_the_same_configuration_share_a_record() {
        let (one, other) = (configuration(1, 1), configuration(2, 1));
        let reported = vec![(0, one.clone()), (1, other), (2, one)];
        let (groups, omitted) = group(reported);
        let ranks: Vec<_> = groups.iter().map(|group| group.ranks.clone()).collect();
        assert_eq!((ranks, omitted), (vec![vec![0, 2], vec![1]], 0));
        let many = (0..60)
            .map(|rank| (rank, configuration(rank as usize, 0)))
            .collect();
        let (groups, omitted) = group(many);
        assert_eq!((groups.len(), omitted), (MAX_CONFIGURATIONS, 12));
    }

    #[test]
    fn every_part_fits_in_a_line() {
        let long = ConfigurationRecord {
            ranks: (0..64).collect(),
            ..configuration(MAX_RECORDED_VARIABLES + 1, 2 * MAX_RECORDED_FILES)
        };
        let parts = split(long);
        assert_eq!(parts.len(), 4);
        let mut chain = ChainWriter::default();
        for part in parts {
            chain.line(&Record::Configuration(Box::new(part))).unwrap();
        }
        assert_eq!(split(configuration(0, 0)).len(), 1);
    }
}
