//! Rails and CPUs of each rank on one machine. Performs no I/O.

use crds::assignment::RankBinding;

/// Returns one binding for each rank: its rail sources, and a share of `cpus`. `sources` contains the rail sources of
/// each rank, or is empty if the workers choose the rails.
///
/// Each rank gets a contiguous range of `cpus`, so that threads of different ranks do not share CPUs. If there are fewer CPUs
/// than ranks, no rank is bound to CPUs.
pub(super) fn bindings(sources: &[Vec<String>], workers: u32, cpus: &[u32]) -> Vec<RankBinding> {
    let workers = workers as usize;
    let cpus_per_rank = cpus.len() / workers;
    (0..workers)
        .map(|rank| RankBinding {
            rails: sources.get(rank).cloned().unwrap_or_default(),
            cpus: if cpus_per_rank > 0 {
                cpus[rank * cpus_per_rank..(rank + 1) * cpus_per_rank].to_vec()
            } else {
                Vec::new()
            },
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_its_own_sources() {
        let sources = ["rxe0", "rxe1"].map(|name| vec![name.to_owned()]);
        let bindings = bindings(&sources, 3, &[]);
        assert_eq!(bindings[1].rails, ["rxe1"]);
        assert!(bindings[2].rails.is_empty());
    }

    #[test]
    fn ranks_do_not_share_cpus_if_there_are_enough() {
        let bound = bindings(&[], 2, &[0, 2, 5, 7, 8]);
        assert_eq!(
            (bound[0].cpus.as_slice(), bound[1].cpus.as_slice()),
            (&[0, 2][..], &[5, 7][..])
        );
        assert!(
            bindings(&[], 3, &[0, 1])
                .iter()
                .all(|binding| binding.cpus.is_empty())
        );
    }
}
