//! The k-way merge of sorted sources, by a tournament tree of losers.
//!
//! One row costs ⌈log₂ k⌉ comparisons, along one path from leaf to root; a heap would cost up to
//! twice as many. After Knuth, *The Art of Computer Programming*, vol. 3, section 5.4.1.

use std::cmp::Ordering;

/// Merges sources that are each sorted by `compare` into one sorted sequence.
///
/// Stable: rows that compare equal come in the order of their sources, and from one source in
/// its own order. A source is asked for its next row only when its last one has been taken and
/// another is wanted. After the first error of a source nothing more is returned.
///
/// Sources that are not sorted are merged without loss, into an order that means nothing.
pub struct MergeIter<T, S, C> {
    sources: Vec<S>,
    compare: C,
    /// The next row of each source; `None` when it has no more.
    heads: Vec<Option<T>>,
    /// `tree[0]` is the source that won; each other node has the source that lost there. Node n
    /// is the parent of 2n and 2n + 1; source s enters as the child s + k of node (s + k) / 2.
    tree: Vec<u32>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// No source has been asked yet.
    New,
    /// The winner's head is there to be taken.
    Ready,
    /// The winner's head has been taken.
    Taken,
    /// An error was returned.
    Failed,
}

impl<T, E, S, C> MergeIter<T, S, C>
where
    S: Iterator<Item = Result<T, E>>,
    C: FnMut(&T, &T) -> Ordering,
{
    /// A merge of these sources; none of them is asked for a row yet.
    pub fn new(sources: impl IntoIterator<Item = S>, compare: C) -> Self {
        let sources: Vec<S> = sources.into_iter().collect();
        let heads = sources.iter().map(|_| None).collect();
        let tree = vec![0; sources.len()];
        Self { sources, compare, heads, tree, state: State::New }
    }

    /// Brings the tree to where the winner's head is the next row.
    fn settle(&mut self) -> Result<(), E> {
        match self.state {
            State::New => {
                for source in 0..self.sources.len() {
                    self.refill(source)?;
                }
                self.build();
            }
            State::Taken => {
                let winner = self.tree[0];
                self.refill(winner as usize)?;
                self.replay(winner);
            }
            State::Ready | State::Failed => {}
        }
        self.state = State::Ready;
        Ok(())
    }

    fn refill(&mut self, source: usize) -> Result<(), E> {
        self.heads[source] = self.sources[source].next().transpose()?;
        Ok(())
    }

    /// Plays every match, from the leaves up.
    fn build(&mut self) {
        let k = self.sources.len();
        let mut winners = vec![0u32; 2 * k];
        for source in 0..k {
            winners[k + source] = source as u32;
        }
        for node in (1..k).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            let left_wins = self.beats(left, right);
            (winners[node], self.tree[node]) =
                if left_wins { (left, right) } else { (right, left) };
        }
        if let Some(champion) = self.tree.first_mut() {
            *champion = winners[1];
        }
    }

    /// Plays the matches of one source again, whose head has changed, from its leaf up.
    #[inline]
    fn replay(&mut self, source: u32) {
        let mut winner = source;
        let mut node = (source as usize + self.sources.len()) / 2;
        while node > 0 {
            let loser = self.tree[node];
            if self.beats(loser, winner) {
                self.tree[node] = winner;
                winner = loser;
            }
            node /= 2;
        }
        self.tree[0] = winner;
    }

    /// True if source `a`'s head comes before source `b`'s: a total order, as ties go by source.
    #[inline]
    fn beats(&mut self, a: u32, b: u32) -> bool {
        match (&self.heads[a as usize], &self.heads[b as usize]) {
            (Some(left), Some(right)) => match (self.compare)(left, right) {
                Ordering::Less => true,
                Ordering::Greater => false,
                Ordering::Equal => a < b,
            },
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => a < b,
        }
    }
}

impl<T, E, S, C> Iterator for MergeIter<T, S, C>
where
    S: Iterator<Item = Result<T, E>>,
    C: FnMut(&T, &T) -> Ordering,
{
    type Item = Result<T, E>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.state == State::Failed {
            return None;
        }
        if let Err(e) = self.settle() {
            self.state = State::Failed;
            return Some(Err(e));
        }
        let winner = *self.tree.first()? as usize;
        let row = self.heads[winner].take()?;
        self.state = State::Taken;
        Some(Ok(row))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    fn ok<T>(rows: Vec<T>) -> impl Iterator<Item = Result<T, Infallible>> {
        rows.into_iter().map(Ok)
    }

    fn merged(sources: Vec<Vec<u32>>) -> Vec<u32> {
        MergeIter::new(sources.into_iter().map(ok), u32::cmp).map(Result::unwrap).collect()
    }

    #[test]
    fn few_and_empty_sources() {
        assert_eq!(merged(vec![]), [0u32; 0]);
        assert_eq!(merged(vec![vec![], vec![], vec![]]), [0u32; 0]);
        assert_eq!(merged(vec![vec![1, 2, 2]]), [1, 2, 2]);
        assert_eq!(merged(vec![vec![], vec![5], vec![1, 9]]), [1, 5, 9]);
    }

    #[test]
    fn the_end_stays_the_end() {
        let mut merge = MergeIter::new([ok(vec![1]), ok(vec![])], u32::cmp);
        assert!(merge.next().is_some());
        for _ in 0..3 {
            assert!(merge.next().is_none());
        }
    }

    #[test]
    fn an_error_comes_after_the_rows_before_it_and_ends_the_merge() {
        let sources = [vec![Ok(1), Ok(4), Err("torn")], vec![Ok(2), Ok(5)]];
        let rows: Vec<_> = MergeIter::new(sources.map(Vec::into_iter), u32::cmp).collect();
        assert_eq!(rows, [Ok(1), Ok(2), Ok(4), Err("torn")]);
        let first = [vec![Ok(1)], vec![Err("gone")]];
        let rows: Vec<_> = MergeIter::new(first.map(Vec::into_iter), u32::cmp).collect();
        assert_eq!(rows, [Err("gone")]);
    }

    #[test]
    fn comparisons_are_logarithmic_in_the_sources() {
        let sources = (0..64u32).map(|s| ok((0..100u32).map(|i| i * 64 + s).collect()));
        let mut comparisons = 0u32;
        let merge = MergeIter::new(sources, |a: &u32, b: &u32| {
            comparisons += 1;
            a.cmp(b)
        });
        assert_eq!(merge.count(), 6400);
        assert!(comparisons <= 64 + 6 * 6400, "{comparisons}");
    }

    proptest! {
        #[test]
        fn a_merge_is_a_stable_sort_of_its_sources_in_order(
            sources in prop::collection::vec(prop::collection::vec(0u8..20, 0..40), 0..20),
        ) {
            // Each row carries where it is from, which the comparison does not see.
            let tagged: Vec<Vec<(u8, usize, usize)>> = sources.into_iter().enumerate()
                .map(|(source, mut keys)| {
                    keys.sort_unstable();
                    keys.into_iter().enumerate().map(|(i, key)| (key, source, i)).collect()
                })
                .collect();
            let mut sorted: Vec<_> = tagged.iter().flatten().copied().collect();
            sorted.sort_by_key(|row| row.0);
            let merged: Vec<_> =
                MergeIter::new(tagged.into_iter().map(ok), |a: &(u8, _, _), b: &(u8, _, _)| {
                    a.0.cmp(&b.0)
                })
                .map(Result::unwrap)
                .collect();
            prop_assert_eq!(merged, sorted);
        }
    }
}
