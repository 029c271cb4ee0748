//! Clustered points, for k-means.

use super::number::push_fixed4;
use super::{Lines, Rng};

/// Coordinates of a point.
const DIMENSIONS: usize = 10;
/// Clusters the points come from.
const CENTRES: usize = 10;

/// Lines of ten coordinates with four decimals: near-normal (deviation 3) around one of ten centres (deviation 10).
#[derive(Clone, Debug)]
pub struct Points {
    rng: Rng,
    centres: [[f64; DIMENSIONS]; CENTRES],
}

impl Points {
    /// The points of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let centres = std::array::from_fn(|_| std::array::from_fn(|_| 10.0 * rng.normal()));
        Self { rng, centres }
    }
}

impl Lines for Points {
    fn line(&mut self, out: &mut Vec<u8>) {
        let centre = &self.centres[self.rng.below(CENTRES as u64) as usize];
        for (i, coordinate) in centre.iter().enumerate() {
            push_fixed4(out, coordinate + 3.0 * self.rng.normal());
            out.push(if i + 1 == DIMENSIONS { b'\n' } else { b' ' });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_point_is_near_a_centre() {
        let (mut points, mut out) = (Points::new(1), Vec::new());
        for _ in 0..1_000 {
            points.line(&mut out);
        }
        for line in std::str::from_utf8(&out).unwrap().lines() {
            let point: Vec<f64> = line.split(' ').map(|x| x.parse().unwrap()).collect();
            assert_eq!(point.len(), DIMENSIONS);
            // A near-normal number stays within 3.5 deviations.
            let near = |centre: &[f64; DIMENSIONS]| {
                centre.iter().zip(&point).all(|(c, x)| (c - x).abs() < 10.6)
            };
            assert!(points.centres.iter().any(near));
        }
    }
}
