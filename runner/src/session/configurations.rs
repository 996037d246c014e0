//! Combines equal configurations of workers and arms, and divides long ones among several records. Performs no I/O.

use crds::record::{
    ConfigurationRecord, MAX_CONFIGURATION_RECORDS, MAX_RECORDED_FILES, MAX_RECORDED_VARIABLES,
};

/// Combines the configurations that the workers, given by rank, reported. Returns the records of the different ones, and
/// the number of configurations that would exceed the limit and are omitted.
pub(super) fn records(reported: Vec<(u32, ConfigurationRecord)>) -> (Vec<ConfigurationRecord>, usize) {
    let mut records = Vec::new();
    let mut omitted = 0;
    for group in group(reported) {
        let parts = split(group);
        if records.len() + parts.len() > MAX_CONFIGURATION_RECORDS {
            omitted += 1;
        } else {
            records.extend(parts);
        }
    }
    (records, omitted)
}

/// Combines equal configurations.
fn group(reported: Vec<(u32, ConfigurationRecord)>) -> Vec<ConfigurationRecord> {
    let mut groups: Vec<ConfigurationRecord> = Vec::new();
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
        } else {
            groups.push(ConfigurationRecord {
                ranks: vec![rank],
                ..record
            });
        }
    }
    groups
}

/// Divides a configuration among records that are short enough.
fn split(record: ConfigurationRecord) -> Vec<ConfigurationRecord> {
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
    variables.chain(files).collect()
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
        let (records, omitted) = records(reported);
        let ranks: Vec<_> = records.iter().map(|record| record.ranks.clone()).collect();
        // The variables and the files of a configuration are in separate records.
        assert_eq!(
            (ranks, omitted),
            (vec![vec![0, 2], vec![0, 2], vec![1], vec![1]], 0)
        );
    }

    #[test]
    fn the_number_of_records_is_limited() {
        let many = (1..=60)
            .map(|rank| (rank, configuration(rank as usize, 0)))
            .collect();
        let (records, omitted) = records(many);
        assert!(records.len() <= MAX_CONFIGURATION_RECORDS);
        assert!((1..60).contains(&omitted), "{omitted}");
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
