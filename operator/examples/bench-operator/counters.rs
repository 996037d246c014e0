//! What the kernel and the operator's own metrics say of its process.

use std::collections::BTreeMap;
use std::time::Duration;

use super::cluster::until;
use super::operator::Operator;

/// Processor time of the process, in seconds.
pub fn cpu_seconds(operator: &Operator) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", operator.id())).unwrap();
    // The second field is the program's name, in parentheses; user and system time are fields 14 and 15.
    let (_, fields) = text.rsplit_once(')').unwrap();
    let fields = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.map(|field| field.parse::<u64>().unwrap()).sum();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// How long the operator has nothing to do before its memory is read: it closes connections and gives memory back by then.
const REST: Duration = Duration::from_secs(25);

/// Resident memory when nothing was done for [`REST`], in MiB.
pub async fn resident_mib(operator: &Operator) -> f64 {
    loop {
        settled(operator).await;
        let before = looks(operator);
        tokio::time::sleep(REST).await;
        if looks(operator) == before {
            return operator.memory_kib("VmRSS") as f64 / 1024.0;
        }
    }
}

/// Requests to the API server so far, by verb.
pub fn requests(operator: &Operator) -> BTreeMap<String, f64> {
    let mut by_verb = BTreeMap::new();
    for (name, value) in operator.metrics() {
        let Some(labels) = name.strip_prefix("fabricbench_api_request_duration_seconds_count") else {
            continue;
        };
        let (_, verb) = labels.split_once("verb=\"").unwrap();
        let (verb, _) = verb.split_once('"').unwrap();
        *by_verb.entry(verb.to_owned()).or_insert(0.0) += value;
    }
    by_verb
}

/// What was counted between two readings.
pub fn since(before: &BTreeMap<String, f64>, after: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let difference = |(verb, count): (&String, &f64)| {
        let before = before.get(verb).copied().unwrap_or(0.0);
        (verb.clone(), count - before)
    };
    after.iter().map(difference).collect()
}

/// Requests that change something.
pub fn writes(requests: &BTreeMap<String, f64>) -> f64 {
    let writes = requests
        .iter()
        .filter(|(verb, _)| !["get", "list", "watch", "log"].contains(&verb.as_str()));
    writes.map(|(_, count)| count).sum()
}

/// Looks at runs so far.
pub fn looks(operator: &Operator) -> f64 {
    operator.metric("fabricbench_reconcile_duration_seconds_count")
}

/// Waits until the operator has looked at no run for a whole second, and none waits to be looked at.
pub async fn settled(operator: &Operator) {
    let mut before = -1.0;
    until(|| {
        let (now, last) = (looks(operator), before);
        before = now;
        async move {
            let quiet = now == last && operator.metric("fabricbench_queue_depth") == 0.0;
            if !quiet {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            quiet.then_some(())
        }
    })
    .await;
}
