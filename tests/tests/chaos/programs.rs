//! Word count, join, PageRank, k-means and sort, with answers computed without the engine.

use std::collections::BTreeMap;

use millstream::{Context, Error};

use super::scatter;

const PARTITIONS: u32 = 6;

/// What a program collects, in its order.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Answer {
    Counts(Vec<(String, u64)>),
    Joined(Vec<(u64, (u64, String))>),
    Ranks(Vec<(u32, f64)>),
    Centres(Vec<[f64; 2]>),
    Sorted(Vec<(u64, u64)>),
}

impl Answer {
    /// All of it, to the bit: numbers are printed so that they read back as they are.
    pub(crate) fn exactly(&self) -> String {
        format!("{self:?}")
    }
}

/// A program, and a check of its answer that does not use the engine.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Context) -> Result<Answer, Error>,
    pub(crate) check: fn(&Answer),
}

pub(crate) const ALL: [Program; 5] = [
    Program { name: "word count", run: word_count, check: check_word_count },
    Program { name: "join", run: join, check: check_join },
    Program { name: "PageRank", run: page_rank, check: check_page_rank },
    Program { name: "k-means", run: k_means, check: check_k_means },
    Program { name: "sort", run: sort, check: check_sort },
];

const LINES: i64 = 6_000;

fn words(line: i64) -> impl Iterator<Item = String> {
    // Some words are frequent and many are rare.
    (0..8).map(move |n| {
        let random = scatter(line as u64 * 8 + n);
        format!("w{}", random % (1 + (random >> 32) % 2_000))
    })
}

fn word_count(context: &Context) -> Result<Answer, Error> {
    let words = context.range(0..LINES, PARTITIONS).flat_map(words);
    words.map(|word| (word, 1u64)).reduce_by_key(|a, b| a + b).collect().map(Answer::Counts)
}

fn check_word_count(answer: &Answer) {
    let Answer::Counts(counts) = answer else { panic!("{answer:?}") };
    let mut known: BTreeMap<String, u64> = BTreeMap::new();
    for word in (0..LINES).flat_map(words) {
        *known.entry(word).or_default() += 1;
    }
    let found: BTreeMap<_, _> = counts.iter().cloned().collect();
    assert_eq!((found, counts.len()), (known.clone(), known.len()));
}

const LEFT: i64 = 8_000;
const RIGHT: i64 = 3_000;

fn left(n: i64) -> (u64, u64) {
    (scatter(n as u64) % 2_000, n as u64)
}

fn right(n: i64) -> (u64, String) {
    (scatter(n as u64 + 1_000_000) % 2_500, format!("r{n}"))
}

fn join(context: &Context) -> Result<Answer, Error> {
    let lefts = context.range(0..LEFT, PARTITIONS).map(left);
    lefts.join(&context.range(0..RIGHT, 4).map(right)).collect().map(Answer::Joined)
}

fn check_join(answer: &Answer) {
    let Answer::Joined(joined) = answer else { panic!("{answer:?}") };
    let mut rights: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (key, value) in (0..RIGHT).map(right) {
        rights.entry(key).or_default().push(value);
    }
    let mut known: Vec<(u64, (u64, String))> = Vec::new();
    for (key, value) in (0..LEFT).map(left) {
        let matching = rights.get(&key).into_iter().flatten();
        known.extend(matching.map(|other| (key, (value, other.clone()))));
    }
    let mut found = joined.clone();
    found.sort();
    known.sort();
    assert!(found == known);
}

const PAGES: u32 = 500;
const ROUNDS: usize = 4;

fn links(page: u32) -> Vec<u32> {
    let targets = 1 + page % 5;
    (0..targets).map(|n| (scatter(u64::from(page * 8 + n)) % u64::from(PAGES)) as u32).collect()
}

fn page_rank(context: &Context) -> Result<Answer, Error> {
    let pages = context.range(0..i64::from(PAGES), PARTITIONS).map(|page| page as u32);
    let links = pages.map(|page| (page, links(page))).partition_by(PARTITIONS).cache();
    let mut ranks = links.map_values(|_| 1.0f64);
    for _ in 0..ROUNDS {
        let shares = links.left_outer_join(&ranks).flat_map(|(_, (targets, rank))| {
            let share = rank.unwrap_or(0.15) / targets.len() as f64;
            targets.into_iter().map(move |target| (target, share))
        });
        ranks = shares.reduce_by_key(|a, b| a + b).map_values(|sum| 0.15 + 0.85 * sum);
    }
    ranks.collect().map(Answer::Ranks)
}

fn check_page_rank(answer: &Answer) {
    let Answer::Ranks(found) = answer else { panic!("{answer:?}") };
    let mut ranks: BTreeMap<u32, f64> = (0..PAGES).map(|page| (page, 1.0)).collect();
    for _ in 0..ROUNDS {
        let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
        for page in 0..PAGES {
            let targets = links(page);
            let share = ranks.get(&page).copied().unwrap_or(0.15) / targets.len() as f64;
            for target in targets {
                *sums.entry(target).or_default() += share;
            }
        }
        ranks = sums.into_iter().map(|(page, sum)| (page, 0.15 + 0.85 * sum)).collect();
    }
    assert_eq!(found.len(), ranks.len());
    for (page, rank) in found {
        assert!((rank - ranks[page]).abs() < 1e-9, "page {page}: {rank}, not {}", ranks[page]);
    }
}

const POINTS: i64 = 6_000;
const STEPS: usize = 4;

fn point(n: i64) -> [f64; 2] {
    let random = scatter(n as u64);
    let noise = |bits: u64| (bits % 1_000) as f64 / 1_000.0;
    let centre = (random % 3) as f64 * 4.0;
    [centre + noise(random >> 8), 10.0 - centre + noise(random >> 32)]
}

fn nearest(centres: &[[f64; 2]], point: &[f64; 2]) -> u32 {
    let distance = |c: &[f64; 2]| (c[0] - point[0]).powi(2) + (c[1] - point[1]).powi(2);
    let best =
        (0..centres.len()).min_by(|a, b| distance(&centres[*a]).total_cmp(&distance(&centres[*b])));
    best.unwrap_or(0) as u32
}

type Sum = (f64, f64, u64);

fn add(a: Sum, b: Sum) -> Sum {
    (a.0 + b.0, a.1 + b.1, a.2 + b.2)
}

fn moved(centres: &mut [[f64; 2]], sums: impl IntoIterator<Item = (u32, Sum)>) {
    for (at, (x, y, n)) in sums {
        centres[at as usize] = [x / n as f64, y / n as f64];
    }
}

fn first_centres() -> Vec<[f64; 2]> {
    vec![[0.0, 0.0], [5.0, 5.0], [9.0, 1.0]]
}

fn k_means(context: &Context) -> Result<Answer, Error> {
    let points = context.range(0..POINTS, PARTITIONS).map(point).cache();
    let mut centres = first_centres();
    for _ in 0..STEPS {
        let shared = context.broadcast(centres.clone());
        let near = points.map_with(shared, |centres, p| (nearest(centres, &p), (p[0], p[1], 1)));
        moved(&mut centres, near.reduce_by_key(add).collect()?);
    }
    Ok(Answer::Centres(centres))
}

fn check_k_means(answer: &Answer) {
    let Answer::Centres(found) = answer else { panic!("{answer:?}") };
    let mut centres = first_centres();
    for _ in 0..STEPS {
        let mut sums: BTreeMap<u32, Sum> = BTreeMap::new();
        for p in (0..POINTS).map(point) {
            let sum = sums.entry(nearest(&centres, &p)).or_default();
            *sum = add(*sum, (p[0], p[1], 1));
        }
        moved(&mut centres, sums);
    }
    for (a, b) in found.iter().flatten().zip(centres.iter().flatten()) {
        assert!((a - b).abs() < 1e-9, "{found:?}, not {centres:?}");
    }
}

const ROWS: i64 = 20_000;

fn sort(context: &Context) -> Result<Answer, Error> {
    let rows = context.range(0..ROWS, PARTITIONS).map(|n| (scatter(n as u64) % 5_000, n as u64));
    rows.sort_by_key().collect().map(Answer::Sorted)
}

fn check_sort(answer: &Answer) {
    let Answer::Sorted(found) = answer else { panic!("{answer:?}") };
    let mut known: Vec<(u64, u64)> =
        (0..ROWS).map(|n| (scatter(n as u64) % 5_000, n as u64)).collect();
    known.sort_by_key(|row| row.0);
    assert!(*found == known);
}
