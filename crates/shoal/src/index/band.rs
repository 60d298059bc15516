//! Distance bands: 0 is nearer than 100 km, each further one reaches twice as far.
//!
//! Within a band caches count as equally far: a great circle says little about a network below a
//! factor of two. Half the way round the Earth is 20,015 km, so that 8 is the last band.
//!
//! The index is in single precision. A square chord that is within its error of a band's edge is
//! decided by the haversine formula, so that the index and [`band`] never differ.

use crate::geo::EARTH_RADIUS_KM;

/// How many bands there are.
pub const BANDS: usize = 9;

/// Where bands end, km; the last has no end.
const ENDS_KM: [f64; BANDS - 1] = [100.0, 200.0, 400.0, 800.0, 1_600.0, 3_200.0, 6_400.0, 12_800.0];

/// The band of a distance: 0 below 100 km, else 1 + ⌊log2(d / 100 km)⌋.
#[must_use]
pub fn band(distance_km: f64) -> u8 {
    ENDS_KM.iter().map(|&end| u8::from(distance_km >= end)).sum()
}

/// Ends of bands as square chords of the unit sphere, with the error of single precision: of two
/// things at once, in four lanes.
#[derive(Debug, Clone)]
pub(crate) struct Ends {
    /// In the first two lanes something at this square chord is beyond the end, in the last two it
    /// may be.
    lanes: [[f32; 4]; BANDS - 1],
}

impl Default for Ends {
    #[expect(clippy::cast_possible_truncation, reason = "the margin is wider than the rounding")]
    fn default() -> Self {
        let square = |km: f64| (2.0 * (km / (2.0 * EARTH_RADIUS_KM)).sin()).powi(2);
        // A coordinate is off by at most 3e-8 at either end, so a chord c by less than 1.5e-7 and
        // its square by 3e-7 c; its five operations add at most 4 units in the last place.
        let margin = |square: f64| 3e-7 * square.sqrt() + 5e-7 * square;
        let lanes = ENDS_KM.map(|km| {
            let surely = (square(km) + margin(square(km))) as f32;
            let perhaps = (square(km) - margin(square(km))) as f32;
            [surely, surely, perhaps, perhaps]
        });
        Self { lanes }
    }
}

impl Ends {
    /// Of two things, by the square chords of their nearest and of their furthest points (both
    /// nearest ones first): the nearest band in which each may have a point, and the furthest.
    ///
    /// Counted in words as wide as what is compared, which stay in one vector.
    #[inline]
    pub(crate) fn bands(&self, squares: [f32; 4]) -> [u32; 4] {
        let mut passed = [0; 4];
        for ends in &self.lanes {
            for ((passed, &end), &square) in passed.iter_mut().zip(ends).zip(&squares) {
                *passed += u32::from(square >= end);
            }
        }
        passed
    }

    /// Whether something at this square chord is beyond a band; `None` if that is too near to tell.
    #[inline]
    pub(crate) fn is_beyond(&self, square: f32, band: usize) -> Option<bool> {
        let Some(&[surely, _, perhaps, _]) = self.lanes.get(band) else { return Some(false) };
        let (surely, perhaps) = (square >= surely, square >= perhaps);
        (surely == perhaps).then_some(surely)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geo::{Point, haversine_km};

    #[test]
    fn bands_are_powers_of_two() {
        for (km, expected) in
            [(0.0, 0), (99.999, 0), (100.0, 1), (199.9, 1), (200.0, 2), (3_199.0, 5), (20_016.0, 8)]
        {
            assert_eq!(band(km), expected, "{km}");
        }
    }

    #[test]
    fn chords_leave_open_only_what_is_at_an_end() {
        let ends = Ends::default();
        let mut open = 0;
        for step in 0..200_000_u32 {
            let (lat, lon) = (48.0, 11.0);
            let other = (lat - 0.000_9 * f64::from(step) % 138.0, lon + 0.000_7 * f64::from(step));
            let km = haversine_km(lat, lon, other.0, other.1);
            let (a, b) = (Point::new(lat, lon), Point::new(other.0, other.1));
            let square: f32 = a.xyz.iter().zip(b.xyz).map(|(a, b)| (a - b) * (a - b)).sum();
            let [low, _, high, _] = ends.bands([square, 0.0, square, 0.0]);
            let exact = u32::from(band(km));
            assert!(low <= exact && exact <= high, "{km} km: {low} to {high}");
            for (index, end) in ENDS_KM.into_iter().enumerate() {
                assert!(ends.is_beyond(square, index).is_none_or(|beyond| beyond == (km >= end)));
            }
            open += u32::from(low != high);
        }
        assert!(open < 200, "{open} of 200000 left open");
    }
}
