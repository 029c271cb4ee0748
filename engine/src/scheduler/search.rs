//! Whom to ask for what an earlier run has left. Executors are called by the order in which they come, so that
//! another may have the files than the one of that name had.

use std::collections::{BTreeMap, BTreeSet};

use super::types::ExecutorId;

/// The search for pieces that an earlier run has left with executors. Each is asked for of one executor at a time,
/// since several may reach its file, and one is to have it: first of the one that is called as its owner was.
#[derive(Debug)]
pub struct Search<K> {
    missing: BTreeMap<K, Sought>,
}

#[derive(Debug)]
struct Sought {
    owner: ExecutorId,
    asked: BTreeSet<ExecutorId>,
}

impl<K: Ord + Copy> Search<K> {
    /// The search for pieces with the executors that had them.
    pub fn new(pieces: impl IntoIterator<Item = (K, ExecutorId)>) -> Self {
        let sought = |owner| Sought { owner, asked: BTreeSet::new() };
        Self { missing: pieces.into_iter().map(|(key, owner)| (key, sought(owner))).collect() }
    }

    /// Whom of those that are there to ask for what now, when those asked before have answered or had the time to.
    /// It is over when there is nobody.
    pub fn next(&mut self, there: &BTreeSet<ExecutorId>) -> BTreeMap<ExecutorId, Vec<K>> {
        let mut requests: BTreeMap<ExecutorId, Vec<K>> = BTreeMap::new();
        for (&key, sought) in &mut self.missing {
            let owner = there.get(&sought.owner).into_iter();
            let next = owner.chain(there).find(|executor| !sought.asked.contains(executor));
            if let Some(&executor) = next {
                sought.asked.insert(executor);
                requests.entry(executor).or_default().push(key);
            }
        }
        requests
    }

    /// A piece has been found. False if it had been before.
    pub fn found(&mut self, key: K) -> bool {
        self.missing.remove(&key).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executors(numbers: &[u64]) -> BTreeSet<ExecutorId> {
        numbers.iter().copied().map(ExecutorId).collect()
    }

    fn requests(asked: &[(u64, &[u32])]) -> BTreeMap<ExecutorId, Vec<u32>> {
        asked.iter().map(|(executor, keys)| (ExecutorId(*executor), keys.to_vec())).collect()
    }

    #[test]
    fn owners_are_asked_first_and_then_the_others_one_at_a_time() {
        let pieces = [(0, 1), (1, 2), (2, 9)].map(|(key, owner)| (key, ExecutorId(owner)));
        let mut search = Search::new(pieces);
        let there = executors(&[1, 2, 3]);
        assert_eq!(search.next(&there), requests(&[(1, &[0, 2]), (2, &[1])]));
        assert!(search.found(1) && !search.found(1));
        assert_eq!(search.next(&there), requests(&[(2, &[0, 2])]));
        assert!(search.found(2));
        assert_eq!(search.next(&there), requests(&[(3, &[0])]));
        assert_eq!(search.next(&there), requests(&[]));
        // One that comes later may have it.
        assert_eq!(search.next(&executors(&[2, 4])), requests(&[(4, &[0])]));
    }
}
