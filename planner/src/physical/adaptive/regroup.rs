//! How a stage reads its exchanges: small partitions together, large ones in parts. What is read together is grouped
//! alike.

use super::aligned::{Aligned, aligned};
use super::split::{Cut, cuts};
use super::{AdaptivePlan, Change, ExchangeSizes, PartSize, Rule, coalesce};
use crate::physical::plan::{Asked, Op, OpId};
use crate::physical::stages::{Group, StagePiece, partitions};

/// Groups what a stage reads, as far as its sizes are known.
pub(super) fn apply(plan: &AdaptivePlan, stage: &mut StagePiece) -> Vec<Change> {
    let mut changes = Vec::new();
    for set in aligned(&stage.plan) {
        if let Some(groups) = groups(plan, stage, &set) {
            changes.extend(read_as(plan, stage, &set, groups));
        }
    }
    if !changes.is_empty() {
        stage.partitions = partitions(&stage.plan).last().copied().unwrap_or(0);
    }
    changes
}

/// The exchange that an input of a stage is of.
fn exchange(stage: &StagePiece, input: OpId) -> Option<(usize, OpId)> {
    let Op::Input { index, .. } = stage.plan.get(input)?.op else { return None };
    Some((index as usize, stage.inputs.get(index as usize)?.exchange()))
}

/// By input of the set, its groups; `None` if they are the partitions as they are.
fn groups(plan: &AdaptivePlan, stage: &StagePiece, set: &Aligned) -> Option<Vec<Vec<Group>>> {
    let mut sizes: Vec<&ExchangeSizes> = Vec::new();
    let mut counted = false;
    for input in &set.inputs {
        let (_, id) = exchange(stage, *input)?;
        sizes.push(plan.sizes.get(&id)?);
        let Op::Exchange { asked: Asked { partitions, .. }, .. } = plan.plan.get(id)?.op else {
            return None;
        };
        counted |= partitions;
    }
    let cuts = cuts(&stage.plan, set, &sizes, &plan.settings);
    let sum = |partition: usize| {
        let parts = sizes.iter().filter_map(|sizes| sizes.parts().get(partition));
        parts.fold(PartSize::default(), |sum, part| sum.and(*part))
    };
    let together: Vec<PartSize> = (0..set.partitions as usize).map(sum).collect();
    let alone = |partition: u32| counted || cuts[partition as usize].is_some();
    let runs = coalesce::runs(&together, &plan.settings, alone);
    let mut groups = vec![Vec::new(); set.inputs.len()];
    for run in runs {
        match &cuts[run.start as usize] {
            None => {
                let whole = Group { partitions: run, maps: None };
                groups.iter_mut().for_each(|groups| groups.push(whole.clone()));
            }
            Some(Cut { input, maps }) => {
                for (place, groups) in groups.iter_mut().enumerate() {
                    groups.extend(maps.iter().map(|maps| Group {
                        partitions: run.clone(),
                        maps: (place == *input).then(|| maps.clone()),
                    }));
                }
            }
        }
    }
    let as_they_are = cuts.iter().all(Option::is_none)
        && groups.first().is_none_or(|groups| groups.len() == set.partitions as usize);
    (!as_they_are).then_some(groups)
}

/// Lets a stage read its inputs in these groups.
fn read_as(
    plan: &AdaptivePlan,
    stage: &mut StagePiece,
    set: &Aligned,
    groups: Vec<Vec<Group>>,
) -> Vec<Change> {
    let mut changes = Vec::new();
    for (input, groups) in set.inputs.iter().zip(groups) {
        let Some((index, id)) = exchange(stage, *input) else { continue };
        let read_as = groups.len() as u32;
        let cut = groups.iter().any(|group| group.maps.is_some());
        let joined = groups.iter().any(|group| group.partitions.len() > 1);
        let rules = [(cut, Rule::Split), (joined, Rule::Coalesce)];
        let bytes = plan.sizes.get(&id).map_or(0, |sizes| sizes.total().bytes);
        let change =
            |rule| Change { exchange: id, rule, partitions: set.partitions, read_as, bytes };
        changes.extend(rules.into_iter().filter(|(is, _)| *is).map(|(_, rule)| change(rule)));
        stage.inputs[index].groups = Some(groups);
        if let Op::Input { partitions, .. } = &mut stage.plan.operators[input.0 as usize].op {
            *partitions = read_as;
        }
    }
    changes
}
