//! Strict parser for the subset of OpenMetrics that gauges need. Panics on an invalid line.

use std::collections::{BTreeMap, BTreeSet};

/// Series labels.
pub(super) type Labels = BTreeMap<String, String>;

/// Samples of each metric, by metric name.
pub(super) type Metrics = BTreeMap<String, BTreeMap<Labels, f64>>;

/// Parses all samples in `text`.
pub(super) fn read(text: &str) -> Metrics {
    let text = text.strip_suffix("# EOF\n").expect("the text ends with # EOF");
    let mut metrics = Metrics::new();
    let mut metadata = BTreeSet::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some(remark) = line.strip_prefix("# ") {
            let (kind, rest) = remark.split_once(' ').expect(line);
            let (name, value_text) = rest.split_once(' ').expect(line);
            assert!(
                metadata.insert((kind.to_owned(), name.to_owned())),
                "duplicate: {line}"
            );
            if name != current {
                assert!(
                    metrics.insert(name.to_owned(), BTreeMap::new()).is_none(),
                    "samples of a metric are not consecutive: {line}"
                );
                current = name.to_owned();
            }
            match kind {
                "HELP" => assert!(!value_text.is_empty(), "{line}"),
                "TYPE" => assert_eq!(value_text, "gauge", "{line}"),
                "UNIT" => assert!(name.ends_with(&format!("_{value_text}")), "{line}"),
                _ => panic!("{line}"),
            }
            assert!(metrics[name].is_empty(), "metadata follows samples: {line}");
            continue;
        }
        let (name, rest) = line.split_at(line.find(['{', ' ']).expect(line));
        assert_eq!(name, current, "{line}");
        assert!(metadata.contains(&("TYPE".to_owned(), name.to_owned())), "{line}");
        let (labels, value) = match rest.strip_prefix('{') {
            Some(rest) => labels(rest),
            None => (Labels::new(), rest),
        };
        let value: f64 = value.strip_prefix(' ').expect(line).parse().expect(line);
        let series = metrics.entry(current.clone()).or_default();
        assert!(series.insert(labels, value).is_none(), "duplicate: {line}");
    }
    metrics
}

/// Parses labels up to the closing brace, and returns them with the rest of the text.
fn labels(mut text: &str) -> (Labels, &str) {
    let mut labels = Labels::new();
    loop {
        if let Some(rest) = text.strip_prefix('}') {
            return (labels, rest);
        }
        let (name, rest) = text.split_once("=\"").expect(text);
        let is_word = |name: &str| {
            name.chars()
                .all(|letter| letter.is_ascii_lowercase() || letter == '_')
        };
        assert!(!name.is_empty() && is_word(name), "{text}");
        let mut value = String::new();
        let mut letters = rest.chars();
        loop {
            match letters.next().expect(text) {
                '"' => break,
                '\\' => value.push(match letters.next() {
                    Some('n') => '\n',
                    Some(letter @ ('"' | '\\')) => letter,
                    other => panic!("{other:?} is not a valid escape: {text}"),
                }),
                letter => value.push(letter),
            }
        }
        assert!(
            labels.insert(name.to_owned(), value).is_none(),
            "duplicate: {text}"
        );
        text = letters.as_str();
        text = text.strip_prefix(',').unwrap_or(text);
    }
}
