//! Combines the facts that the library reports for the rail groups of an arm. Each GPU has its own rail group. Performs
//! no I/O.

use crds::record::{FabricFacts, InjectLimits, OffloadFacts};
use crds::v1alpha1::Answer;

/// Appends the rails of the next group to `facts`, and lowers each limit to the group's limit if that is smaller.
pub(super) fn add_group(facts: &mut FabricFacts, group: FabricFacts) {
    facts.rails.extend(group.rails);
    facts.inject_limits = InjectLimits {
        send_bytes: facts.inject_limits.send_bytes.min(group.inject_limits.send_bytes),
        write_bytes: facts
            .inject_limits
            .write_bytes
            .min(group.inject_limits.write_bytes),
    };
    facts.transmit_depth = facts.transmit_depth.min(group.transmit_depth);
    facts.max_message_bytes = facts.max_message_bytes.min(group.max_message_bytes);
    facts.offload = OffloadFacts {
        emulated_reads: combine(facts.offload.emulated_reads, group.offload.emulated_reads),
        emulated_writes: combine(facts.offload.emulated_writes, group.offload.emulated_writes),
        staged: combine(facts.offload.staged, group.offload.staged),
        inline_bytes: facts
            .offload
            .inline_bytes
            .zip(group.offload.inline_bytes)
            .map(|(one, other)| one.min(other)),
    };
}

/// Adds facts that a library determines only when it connects, namely lanes and devices, from rail group `group` to the
/// arm's facts. The endpoints of several flows share the rails of a group.
pub(super) fn update_connected(facts: &mut FabricFacts, group: usize, connected: &FabricFacts) {
    let first = group * connected.rails.len();
    for (rail, connected) in facts.rails.iter_mut().skip(first).zip(&connected.rails) {
        for lane in &connected.lanes {
            if !rail.lanes.contains(lane) {
                rail.lanes.push(lane.clone());
            }
        }
        rail.domain.clone_from(&connected.domain);
        if rail.interface.is_none() {
            rail.interface.clone_from(&connected.interface);
        }
    }
}

/// Sets whether operations are emulated on the endpoints of any of the connected threads, given the facts of each.
pub(super) fn set_emulation<'a>(
    facts: &mut FabricFacts,
    connected: impl Iterator<Item = &'a FabricFacts> + Clone,
) {
    let any = |answer: fn(&OffloadFacts) -> Option<Answer>| {
        let answers = connected.clone().map(|thread| answer(&thread.offload));
        answers.reduce(combine).flatten()
    };
    let (reads, writes) = (any(|o| o.emulated_reads), any(|o| o.emulated_writes));
    facts.offload.emulated_reads = reads;
    facts.offload.emulated_writes = writes;
}

/// Combined answer of two groups: `True` if either group answers `True`, and `False` only if both answer `False`.
fn combine(one: Option<Answer>, other: Option<Answer>) -> Option<Answer> {
    one.or(other)?;
    let answer = |answer: Option<Answer>| answer.unwrap_or(Answer::Unknown);
    Some(answer(one).or(answer(other)))
}

#[cfg(test)]
mod tests {
    use crds::record::RailFacts;

    use super::*;

    fn group(domain: &str, send_bytes: u64, staged: Option<Answer>) -> FabricFacts {
        FabricFacts {
            rails: vec![RailFacts {
                domain: domain.to_owned(),
                ..RailFacts::default()
            }],
            inject_limits: InjectLimits {
                send_bytes,
                write_bytes: 0,
            },
            offload: OffloadFacts {
                staged,
                ..OffloadFacts::default()
            },
            ..FabricFacts::default()
        }
    }

    #[test]
    fn keeps_the_group_order_and_the_smallest_limit() {
        let mut facts = group("a", 64, None);
        add_group(&mut facts, group("b", 32, None));
        let domains: Vec<&str> = facts.rails.iter().map(|rail| rail.domain.as_str()).collect();
        assert_eq!(domains, ["a", "b"]);
        assert_eq!(facts.inject_limits.send_bytes, 32);
    }

    #[test]
    fn updates_the_rails_of_a_group_after_connecting() {
        let mut facts = group("a", 0, None);
        add_group(&mut facts, group("b", 0, None));
        let mut connected = group("lo", 0, None);
        connected.rails[0].lanes = vec!["tcp/lo".to_owned()];
        update_connected(&mut facts, 1, &connected);
        // The endpoints of another flow use the same rail.
        connected.rails[0].lanes = vec!["cma/memory".to_owned(), "tcp/lo".to_owned()];
        update_connected(&mut facts, 1, &connected);
        let lanes: Vec<_> = facts.rails.iter().map(|rail| rail.lanes.join(",")).collect();
        assert_eq!(lanes, ["", "tcp/lo,cma/memory"]);
    }

    #[test]
    fn emulation_on_one_thread_is_not_hidden_by_the_others() {
        use Answer::{False, True, Unknown};
        let thread = |reads, writes| {
            let mut facts = group("a", 0, None);
            facts.offload.emulated_reads = reads;
            facts.offload.emulated_writes = writes;
            facts
        };
        let mut facts = thread(Some(False), None);
        let threads = [
            thread(Some(True), Some(False)),
            thread(Some(False), Some(Unknown)),
        ];
        set_emulation(&mut facts, threads.iter());
        let offload = facts.offload;
        assert_eq!(
            (offload.emulated_reads, offload.emulated_writes),
            (Some(True), Some(Unknown))
        );
        set_emulation(&mut facts, [thread(None, None)].iter());
        assert_eq!(facts.offload.emulated_reads, None);
    }

    #[test]
    fn staging_in_one_group_is_not_hidden_by_the_others() {
        use Answer::{False, True, Unknown};
        for (one, other, combined) in [
            (Some(False), Some(True), Some(True)),
            (Some(Unknown), Some(True), Some(True)),
            (Some(False), Some(Unknown), Some(Unknown)),
            (Some(False), None, Some(Unknown)),
            (Some(False), Some(False), Some(False)),
            (None, None, None),
        ] {
            let mut facts = group("a", 1, one);
            add_group(&mut facts, group("b", 1, other));
            assert_eq!(facts.offload.staged, combined, "{one:?} {other:?}");
        }
    }
}
