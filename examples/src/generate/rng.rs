//! xoshiro256++ (Blackman and Vigna), seeded through SplitMix64: fast, and the same in every build.
//! Not for secrets.

/// A seeded random number generator with a fixed, documented algorithm.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// The generator of this seed; near seeds give unrelated streams.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut x = seed;
        let state = std::array::from_fn(|_| {
            x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ (z >> 31)
        });
        Self { state }
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// A number below `n`, by multiplication; the bias is under `n / 2^64`.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// A number in `[0, 1)`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Four numbers below `n`, from one draw; the bias is under `n / 2^16`.
    #[inline]
    pub fn four_below(&mut self, n: u16) -> [u16; 4] {
        let bits = self.next_u64();
        std::array::from_fn(|lane| (((bits >> (16 * lane) & 0xFFFF) * u64::from(n)) >> 16) as u16)
    }

    /// Near-normal with mean 0 and standard deviation 1: four uniforms added (Irwin-Hall), so never beyond 3.5.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        let bits = self.next_u64();
        let sum: u64 = (0..4).map(|lane| bits >> (16 * lane) & 0xFFFF).sum();
        // The sum of four uniforms on 0..=65535 has mean 131_070 and variance 4 (65_536^2 - 1) / 12.
        (sum as f64 - 131_070.0) / (65_536.0 / 3f64.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference C code of xoshiro256++ from the state 1, 2, 3, 4.
    #[test]
    fn matches_the_reference_sequence() {
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let got: [u64; 4] = std::array::from_fn(|_| rng.next_u64());
        assert_eq!(got, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn moments_of_the_normal() {
        let mut rng = Rng::new(1);
        let draws: Vec<f64> = (0..100_000).map(|_| rng.normal()).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }
}
