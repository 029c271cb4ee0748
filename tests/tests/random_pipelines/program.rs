//! Programs, and making them from a seed.

use std::fmt::{self, Debug};

use millstream::PersistLevel;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::value::Value;
use crate::{Rows, model};

/// A number of partitions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Parts {
    /// As many as the cell has.
    Cell,
    /// This many.
    Of(u32),
}

impl Parts {
    pub(crate) fn number(self, cell: u32) -> u32 {
        match self {
            Self::Cell => cell,
            Self::Of(partitions) => partitions,
        }
    }
}

/// One step of a program. What works on rows takes the top of the stack, or the upper two.
#[derive(Clone)]
pub(crate) enum Step<V> {
    Source(Rows<V>, Parts),
    Nothing,
    Dup,
    Swap,
    Map(i64),
    MapValues(i64),
    Filter(i64),
    FlatMap(i64),
    FlatMapValues(i64),
    MapPartitions,
    Glom,
    Split(u64),
    Coalesce(Parts),
    Repartition(Parts),
    PartitionBy(Parts),
    PartitionByOwn(Parts),
    SortHere,
    RepartitionSorted(Parts),
    SortByKey(Parts),
    SortByKeyDescending(Parts),
    SortByValue,
    Index,
    UniqueId,
    Reduce(Parts),
    Fold,
    Aggregate,
    Group(Parts),
    GroupInOrder,
    CountByKey,
    Distinct,
    Persist(PersistLevel),
    PersistAndCount(PersistLevel),
    PersistUse(PersistLevel),
    ZipSelf,
    Union,
    UnionMany,
    Join(Parts),
    LeftJoin,
    RightJoin,
    FullJoin,
    Semi,
    SubtractByKey,
    Subtract,
    Intersection,
    Cogroup(Parts),
    Cartesian,
}

impl<V: Debug> Debug for Step<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(rows, parts) => write!(f, "Source({} rows, {parts:?})", rows.len()),
            other => f.write_str(&other.name()),
        }
    }
}

impl<V> Step<V> {
    fn name(&self) -> String {
        match self {
            Self::Source(..) => "Source".to_owned(),
            Self::Nothing => "Nothing".to_owned(),
            Self::Dup => "Dup".to_owned(),
            Self::Swap => "Swap".to_owned(),
            Self::Map(n) => format!("Map({n})"),
            Self::MapValues(n) => format!("MapValues({n})"),
            Self::Filter(n) => format!("Filter({n})"),
            Self::FlatMap(n) => format!("FlatMap({n})"),
            Self::FlatMapValues(n) => format!("FlatMapValues({n})"),
            Self::MapPartitions => "MapPartitions".to_owned(),
            Self::Glom => "Glom".to_owned(),
            Self::Split(seed) => format!("Split({seed})"),
            Self::Coalesce(p) => format!("Coalesce({p:?})"),
            Self::Repartition(p) => format!("Repartition({p:?})"),
            Self::PartitionBy(p) => format!("PartitionBy({p:?})"),
            Self::PartitionByOwn(p) => format!("PartitionByOwn({p:?})"),
            Self::SortHere => "SortHere".to_owned(),
            Self::RepartitionSorted(p) => format!("RepartitionSorted({p:?})"),
            Self::SortByKey(p) => format!("SortByKey({p:?})"),
            Self::SortByKeyDescending(p) => format!("SortByKeyDescending({p:?})"),
            Self::SortByValue => "SortByValue".to_owned(),
            Self::Index => "Index".to_owned(),
            Self::UniqueId => "UniqueId".to_owned(),
            Self::Reduce(p) => format!("Reduce({p:?})"),
            Self::Fold => "Fold".to_owned(),
            Self::Aggregate => "Aggregate".to_owned(),
            Self::Group(p) => format!("Group({p:?})"),
            Self::GroupInOrder => "GroupInOrder".to_owned(),
            Self::CountByKey => "CountByKey".to_owned(),
            Self::Distinct => "Distinct".to_owned(),
            Self::Persist(level) => format!("Persist({level})"),
            Self::PersistAndCount(level) => format!("PersistAndCount({level})"),
            Self::PersistUse(level) => format!("PersistUse({level})"),
            Self::ZipSelf => "ZipSelf".to_owned(),
            Self::Union => "Union".to_owned(),
            Self::UnionMany => "UnionMany".to_owned(),
            Self::Join(p) => format!("Join({p:?})"),
            Self::LeftJoin => "LeftJoin".to_owned(),
            Self::RightJoin => "RightJoin".to_owned(),
            Self::FullJoin => "FullJoin".to_owned(),
            Self::Semi => "Semi".to_owned(),
            Self::SubtractByKey => "SubtractByKey".to_owned(),
            Self::Subtract => "Subtract".to_owned(),
            Self::Intersection => "Intersection".to_owned(),
            Self::Cogroup(p) => format!("Cogroup({p:?})"),
            Self::Cartesian => "Cartesian".to_owned(),
        }
    }
}

/// A program and what it gives, in any order.
pub(crate) struct Program<V> {
    pub(crate) steps: Vec<Step<V>>,
    pub(crate) rows: Rows<V>,
}

/// Steps that would make more rows than this are left out.
const ROWS_MAX: usize = 6_000;

impl<V: Value> Program<V> {
    /// The program of a seed.
    pub(crate) fn random(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let mut steps = vec![source(&mut random)];
        let mut stack = Vec::new();
        model::step(&steps[0], &mut stack);
        let wanted = random.random_range(4..12);
        while steps.len() < wanted {
            let step = step(&mut random, stack.len());
            if model::rows_after(&step, &stack) <= ROWS_MAX {
                model::step(&step, &mut stack);
                steps.push(step);
            }
        }
        Self { steps, rows: stack.pop().unwrap_or_default() }
    }
}

fn parts(random: &mut StdRng) -> Parts {
    match random.random_range(0..8) {
        0 => Parts::Of(1),
        1 => Parts::Of(2),
        2 => Parts::Of(13),
        _ => Parts::Cell,
    }
}

fn level(random: &mut StdRng) -> PersistLevel {
    let levels = [PersistLevel::Memory, PersistLevel::MemoryAndDisk, PersistLevel::Disk];
    levels[random.random_range(0..levels.len())]
}

/// Rows with even, skewed or equal keys; none, few or many.
fn source<V: Value>(random: &mut StdRng) -> Step<V> {
    let count = match random.random_range(0..10) {
        0 => 0,
        1 => random.random_range(1..4),
        9 => 4_000,
        _ => random.random_range(10..500),
    };
    let keys = [1i64, 5, 40, 1_000, i64::MAX][random.random_range(0..5usize)];
    let skewed = random.random_bool(0.4);
    let rows = (0..count).map(|_| {
        let key = match skewed && random.random_bool(0.7) {
            true => 7 % keys,
            false => random.random_range(-keys / 2..=keys / 2),
        };
        (key, V::of(random.random_range(-200..200)))
    });
    let rows = rows.collect();
    Step::Source(rows, parts(random))
}

fn step<V: Value>(random: &mut StdRng, depth: usize) -> Step<V> {
    if depth < 2 {
        match random.random_range(0..8) {
            0 | 1 => return Step::Dup,
            2 => return source(random),
            3 if random.random_bool(0.1) => return Step::Nothing,
            _ => {}
        }
    } else if random.random_bool(0.5) {
        return match random.random_range(0..16) {
            0 => Step::Union,
            1 => Step::UnionMany,
            2..=4 => Step::Join(parts(random)),
            5 => Step::LeftJoin,
            6 => Step::RightJoin,
            7 => Step::FullJoin,
            8 => Step::Semi,
            9 => Step::SubtractByKey,
            10 => Step::Subtract,
            11 => Step::Intersection,
            12 => Step::Cartesian,
            13 => Step::Swap,
            _ => Step::Cogroup(parts(random)),
        };
    }
    let n = random.random_range(2..9);
    match random.random_range(0..31) {
        0 => Step::Map(n),
        1 | 2 => Step::MapValues(n),
        3 => Step::Filter(n),
        4 => Step::FlatMap(n),
        5 => Step::FlatMapValues(n),
        6 => Step::MapPartitions,
        7 => Step::Glom,
        8 => Step::Split(random.random_range(0..1000)),
        9 => Step::Coalesce(parts(random)),
        10 => Step::Repartition(parts(random)),
        11 | 12 => Step::PartitionBy(parts(random)),
        13 => Step::PartitionByOwn(parts(random)),
        14 => Step::SortHere,
        15 => Step::RepartitionSorted(parts(random)),
        16 => Step::SortByKey(parts(random)),
        17 => Step::SortByKeyDescending(parts(random)),
        18 => Step::SortByValue,
        19 => Step::Index,
        20 => Step::UniqueId,
        21 => Step::Reduce(parts(random)),
        22 => Step::Fold,
        23 => Step::Aggregate,
        24 => Step::Group(parts(random)),
        25 => Step::GroupInOrder,
        26 => Step::CountByKey,
        27 => Step::Distinct,
        28 => Step::Persist(level(random)),
        29 => Step::PersistAndCount(level(random)),
        _ if random.random_bool(0.5) => Step::PersistUse(level(random)),
        _ => Step::ZipSelf,
    }
}
