//! A small seeded generator (SplitMix64, Steele et al. 2014), so that a seed means the same schedule in
//! every build.

/// The generator.
#[derive(Clone, Debug)]
pub struct Prng(u64);

/// Scrambles a number.
#[must_use]
pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Prng {
    /// The generator of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number in `from..to`, which must not be empty.
    pub fn range(&mut self, from: u64, to: u64) -> u64 {
        from + self.draw() % (to - from)
    }

    /// True `percent` times in a hundred.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.range(0, 100) < percent
    }

    /// True once in `n`.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.range(0, n) == 0
    }

    /// A place in a list of `len`, which must not be empty.
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.range(0, len as u64)).unwrap_or(0)
    }
}
