//! Counters for the operator process, from the kernel and from its metrics.

use std::collections::BTreeMap;
use std::time::Duration;

use test_support::cluster::until;
use test_support::operator::Operator;

/// Returns the user and system CPU time of the process, in seconds.
pub fn cpu_seconds(operator: &Operator) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", operator.id())).unwrap();
    // The second field is the binary's name, in parentheses. User and system time are fields 14 and 15.
    let (_, fields) = text.rsplit_once(')').unwrap();
    let fields = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.map(|field| field.parse::<u64>().unwrap()).sum();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// Idle time before memory use is read. During this time, the operator closes connections that it does not need.
const IDLE_TIME: Duration = Duration::from_secs(25);

/// Returns the resident memory in MiB after the operator has been idle for [`IDLE_TIME`].
pub async fn resident_mib(operator: &Operator) -> f64 {
    loop {
        wait_until_settled(operator).await;
        let before = reconciliations(operator);
        tokio::time::sleep(IDLE_TIME).await;
        if reconciliations(operator) == before {
            return operator.memory_kib("VmRSS") as f64 / 1024.0;
        }
    }
}

/// Returns the number of API server requests so far, by verb.
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

/// Returns the differences between two sets of counter values.
pub fn since(before: &BTreeMap<String, f64>, after: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let difference = |(verb, count): (&String, &f64)| {
        let before = before.get(verb).copied().unwrap_or(0.0);
        (verb.clone(), count - before)
    };
    after.iter().map(difference).collect()
}

/// Returns the number of write requests.
pub fn writes(requests: &BTreeMap<String, f64>) -> f64 {
    let writes = requests
        .iter()
        .filter(|(verb, _)| !["get", "list", "watch", "log"].contains(&verb.as_str()));
    writes.map(|(_, count)| count).sum()
}

/// Returns the number of reconciliations so far.
pub fn reconciliations(operator: &Operator) -> f64 {
    operator.metric("fabricbench_reconcile_duration_seconds_count")
}

/// Waits until the queue is empty and the operator has not reconciled for one second.
pub async fn wait_until_settled(operator: &Operator) {
    let mut before = -1.0;
    until(|| {
        let (current, previous) = (reconciliations(operator), before);
        before = current;
        async move {
            let is_idle = current == previous && operator.metric("fabricbench_queue_depth") == 0.0;
            if !is_idle {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            is_idle.then_some(())
        }
    })
    .await;
}
