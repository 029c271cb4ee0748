//! What the runs before this one have come to, as their journal tells it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use millstream_planner::physical::PartSize;

use super::records::{Entry, JOURNAL_VERSION, Output, Print, Updates, Value};

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// By stage and map; of several outputs of a map, the last counts.
    outputs: HashMap<Print, BTreeMap<u32, Output>>,
    results: HashMap<Print, BTreeMap<u32, Value>>,
    files: HashSet<Print>,
    /// By stage and map, what the outputs hold of each partition. It stays, as a program may run the same plan twice.
    sizes: HashMap<Print, HashMap<u32, Arc<[PartSize]>>>,
}

impl Known {
    /// What a journal tells a program of this build; `Err` says why it tells nothing.
    pub(super) fn read(
        entries: Vec<Entry>,
        build: u64,
        exists: impl Fn(&Path) -> bool,
    ) -> Result<Self, String> {
        let mut known = Self::default();
        let mut entries = entries.into_iter();
        match entries.next() {
            None => return Ok(known),
            Some(Entry::Begun { version: JOURNAL_VERSION, build: theirs }) if theirs == build => {}
            Some(Entry::Begun { version: JOURNAL_VERSION, .. }) => {
                return Err("it was written by another build of the program".to_owned());
            }
            Some(_) => return Err("it is of another version".to_owned()),
        }
        for entry in entries {
            match entry {
                // That of a file which is gone still says what its task has added to accumulators, how much it had
                // written, and by what it is known, for whoever has read it.
                Entry::Output(output)
                    if exists(&output.file)
                        || !output.updates.is_empty()
                        || output.digest.is_some()
                        || !output.sizes.is_empty() =>
                {
                    if !output.sizes.is_empty() {
                        let sizes = output.sizes.as_slice().into();
                        known.sizes.entry(output.print).or_default().insert(output.map, sizes);
                    }
                    known.outputs.entry(output.print).or_default().insert(output.map, output);
                }
                // It was read to its end, and dropped.
                Entry::Output(_) => {}
                Entry::Result(value) => {
                    known.results.entry(value.print).or_default().insert(value.partition, value);
                }
                Entry::Files { print } => drop(known.files.insert(print)),
                Entry::Begun { .. } => {}
            }
        }
        Ok(known)
    }

    /// The same, as a journal tells it.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        let outputs = self.outputs.values().flat_map(BTreeMap::values).cloned();
        let results = self.results.values().flat_map(BTreeMap::values).cloned();
        let files = self.files.iter().map(|&print| Entry::Files { print });
        outputs.map(Entry::Output).chain(results.map(Entry::Result)).chain(files)
    }

    /// How many results are known.
    pub(super) fn results_len(&self) -> usize {
        self.results.values().map(BTreeMap::len).sum()
    }

    pub(super) fn files_of_outputs(&self) -> HashSet<&Path> {
        self.outputs
            .values()
            .flat_map(BTreeMap::values)
            .map(|output| output.file.as_path())
            .collect()
    }

    /// Hands out the outputs of a stage, once: each file gets one owner. Those made from inputs that
    /// are not the present ones are of no use.
    pub(super) fn take_outputs(&mut self, print: Print, basis: u64) -> Vec<Output> {
        let outputs = self.outputs.remove(&print).unwrap_or_default();
        outputs.into_values().filter(|output| output.basis == basis).collect()
    }

    /// Hands out what the tasks of a stage have added to accumulators, once.
    pub(super) fn take_updates(&mut self, print: Print) -> Vec<(u32, Updates)> {
        let outputs = self.outputs.get_mut(&print).into_iter().flat_map(BTreeMap::values_mut);
        outputs.map(|output| (output.map, std::mem::take(&mut output.updates))).collect()
    }

    /// What each of the map tasks of a stage has written into each partition; `None` if it is not known of all.
    pub(super) fn sizes(&self, print: Print, maps: u32) -> Option<Vec<Arc<[PartSize]>>> {
        let known = self.sizes.get(&print);
        (0..maps).map(|map| known?.get(&map).cloned()).collect()
    }

    /// The results of some partitions, if they are known of all, and made from the same. They stay: a program may run
    /// the same action twice.
    pub(super) fn all_results(&self, print: Print, targets: Range<u32>) -> Option<Vec<Value>> {
        let basis = self.results.get(&print)?.get(&targets.start)?.basis;
        let all = self.results(print, targets.clone(), basis);
        (all.len() == targets.len()).then_some(all)
    }

    /// The results of some partitions that were made from this.
    pub(super) fn results(&self, print: Print, targets: Range<u32>, basis: u64) -> Vec<Value> {
        let results = self.results.get(&print).into_iter();
        let results = results.flat_map(|results| results.range(targets.clone()));
        results.map(|(_, value)| value).filter(|value| value.basis == basis).cloned().collect()
    }

    pub(super) fn has_files(&self, print: Print) -> bool {
        self.files.contains(&print)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGUN: Entry = Entry::Begun { version: JOURNAL_VERSION, build: 1 };

    fn output(print: Print, map: u32, basis: u64, file: &str) -> Entry {
        Entry::Output(Output { print, basis, map, file: file.into(), ..Output::default() })
    }

    fn value(print: Print, partition: u32) -> Entry {
        made_from(0, print, partition)
    }

    fn made_from(basis: u64, print: Print, partition: u32) -> Entry {
        Entry::Result(Value { print, basis, partition, value: vec![1], ..Value::default() })
    }

    #[test]
    fn the_last_output_that_is_there_counts_and_is_handed_out_once() {
        let entries = vec![
            BEGUN,
            output(1, 0, 0, "old"),
            output(1, 1, 0, "gone"),
            output(1, 0, 0, "new"),
            output(2, 0, 0, "other"),
        ];
        let mut known = Known::read(entries, 1, |path| path != Path::new("gone")).unwrap();
        assert_eq!(known.files_of_outputs().len(), 2);
        let taken = known.take_outputs(1, 0);
        assert_eq!(taken.len(), 1);
        assert_eq!(taken[0].file, Path::new("new"));
        assert!(known.take_outputs(1, 0).is_empty());
    }

    #[test]
    fn what_was_added_to_accumulators_is_handed_out_once_be_the_file_there_or_not() {
        let mut gone = output(1, 0, 0, "gone");
        if let Entry::Output(output) = &mut gone {
            output.updates.push((5, vec![1]));
        }
        let mut known = Known::read(vec![BEGUN, gone], 1, |_| false).unwrap();
        assert_eq!(known.take_updates(1), [(0, vec![(5, vec![1])])]);
        assert_eq!(known.take_updates(1), [(0, vec![])]);
    }

    #[test]
    fn outputs_of_other_inputs_are_of_no_use() {
        let entries = vec![BEGUN, output(1, 0, 7, "a"), output(1, 1, 8, "b")];
        let mut known = Known::read(entries, 1, |_| true).unwrap();
        let taken: Vec<u32> = known.take_outputs(1, 8).iter().map(|output| output.map).collect();
        assert_eq!(taken, [1]);
    }

    #[test]
    fn results_are_found_by_partition() {
        let known =
            Known::read(vec![BEGUN, value(1, 0), value(1, 3), value(2, 1)], 1, |_| true).unwrap();
        let of =
            |targets| known.results(1, targets, 0).iter().map(|v| v.partition).collect::<Vec<_>>();
        assert_eq!(of(0..4), [0, 3]);
        assert_eq!(of(1..3), [0; 0]);
    }

    #[test]
    fn results_are_not_mixed_with_those_of_other_inputs() {
        let entries = vec![BEGUN, value(1, 0), made_from(7, 1, 1), made_from(7, 1, 2)];
        let known = Known::read(entries, 1, |_| true).unwrap();
        assert_eq!(known.all_results(1, 0..3), None, "they were made from two");
        assert_eq!(known.all_results(1, 1..4), None, "one is missing");
        assert_eq!(known.all_results(1, 1..3).map(|all| all.len()), Some(2));
        assert_eq!(known.results(1, 0..3, 7).len(), 2);
    }

    #[test]
    fn another_build_or_version_tells_nothing() {
        let other = Entry::Begun { version: JOURNAL_VERSION, build: 2 };
        assert!(Known::read(vec![other, value(1, 0)], 1, |_| true).is_err());
        let other = Entry::Begun { version: JOURNAL_VERSION + 1, build: 1 };
        assert!(Known::read(vec![other], 1, |_| true).is_err());
        assert_eq!(Known::read(Vec::new(), 1, |_| true).unwrap().results_len(), 0);
    }

    #[test]
    fn what_is_written_again_tells_the_same() {
        let entries = vec![BEGUN, output(1, 0, 3, "a"), value(2, 5), Entry::Files { print: 6 }];
        let known = Known::read(entries, 1, |_| true).unwrap();
        let again = std::iter::once(BEGUN).chain(known.entries()).collect();
        let mut again = Known::read(again, 1, |_| true).unwrap();
        assert!(again.has_files(6) && !again.has_files(7));
        assert_eq!(again.results(2, 0..9, 0).len(), 1);
        assert_eq!(again.take_outputs(1, 3).len(), 1);
    }
}
