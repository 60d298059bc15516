//! `--order shoal`: the order of the original.
//!
//! cost = d / (6378 × 3.14159265359) × w + (load / 122000)^b × (1 − w), where d is the haversine
//! distance in km on a sphere of 6378 km, rounded to two decimals; ascending, ties in joining
//! order. Served are verified caches and those of the client's own domain. Sources: the recorded
//! answers and section 3 of the protocol notes, both of hep-gc/shoal at 7ca44b8; operations stand
//! in the original's order, so that costs are equal to the last bit.

use std::sync::Arc;

use super::Menu;
use crate::geo::Spot;
use crate::registry::{Cache, DEFAULT_MAX_LOAD, State};

/// The original's radius of the Earth, km: the equator's.
const RADIUS_KM: f64 = 6378.0;

/// The original's π.
#[expect(clippy::approx_constant, reason = "eleven decimals, as the costs on record have it")]
const PI: f64 = 3.14159265359;

/// How distance and load are weighed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighing {
    /// The weight of the distance, 0 to 1: `cache_distloadweight`.
    pub distance_weight: f64,
    /// The power of the load: `cache_loadconstant`.
    pub load_power: f64,
    /// KiB/s that count as full, whatever an agent says of itself: `cache_max_load`.
    pub max_load: f64,
}

impl Default for Weighing {
    fn default() -> Self {
        Self { distance_weight: 0.5, load_power: 1.0, max_load: DEFAULT_MAX_LOAD }
    }
}

/// One cache of an answer in the original's order.
#[derive(Debug, Clone)]
pub struct Weighed {
    /// The cache.
    pub cache: Arc<Cache>,
    /// What the original calls `distance`; without unit.
    pub cost: f64,
    /// It is of the client's own domain.
    pub local: bool,
}

/// The caches for a client in the original's order, at most `count`.
///
/// `caches` come in the order in which they joined; those that cannot be located are left out. An
/// operator's word stands here too: drained and banned caches are not served, own domain or not.
///
/// *Cost*: O(n log n) in all caches, as the original's.
pub fn shoal_order<'a>(
    caches: impl Iterator<Item = &'a Arc<Cache>>,
    spot: Spot,
    menu: Menu,
    count: usize,
    weighing: &Weighing,
    mut same_domain: impl FnMut(&Cache) -> bool,
) -> Vec<Weighed> {
    let mut weighed = Vec::new();
    for cache in caches {
        let Some((latitude, longitude)) = cache.coordinates() else { continue };
        if !cache.alive() || !menu.has(cache.kind, cache.upstream) {
            continue;
        }
        let state = cache.state();
        let local = !matches!(state, State::Drained | State::Banned) && same_domain(cache);
        if state == State::Verified || local {
            let km = distance_km(spot.latitude, spot.longitude, latitude, longitude);
            let cost = weighing.cost(km, cache.load().value());
            weighed.push(Weighed { cache: Arc::clone(cache), cost, local });
        }
    }
    weighed.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    weighed.truncate(count);
    weighed
}

impl Weighing {
    fn cost(&self, km: f64, load: f64) -> f64 {
        let Self { distance_weight: w, load_power, max_load } = *self;
        km / (RADIUS_KM * PI) * w + (load / max_load).powf(load_power) * (1.0 - w)
    }
}

/// Km, two decimals.
fn distance_km(lat1: f64, lon1: f64, lat2: f64, lon2: f64) -> f64 {
    let [lat1, lon1, lat2, lon2] = [lat1, lon1, lat2, lon2].map(f64::to_radians);
    let (half_lat, half_lon) = ((lat2 - lat1) / 2.0, (lon2 - lon1) / 2.0);
    let across = lat1.cos() * lat2.cos();
    let h = half_lat.sin() * half_lat.sin() + across * (half_lon.sin() * half_lon.sin());
    two_decimals(2.0 * RADIUS_KM * h.min(1.0).sqrt().asin())
}

/// As Python's `round(x, 2)`: to the nearest decimal of the exact value, halves to even.
fn two_decimals(x: f64) -> f64 {
    let hundreds = x * 100.0;
    let nearest = hundreds.round_ties_even();
    if ((hundreds - nearest).abs() - 0.5).abs() > 1e-6 {
        return nearest / 100.0;
    }
    // The product was rounded: too near to a half to tell by it.
    format!("{x:.2}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::two_decimals;

    /// Values by Python 3.11.
    #[test]
    fn rounds_as_python_does() {
        for (x, rounded) in [
            (2.675, 2.67),
            (1.005, 1.0),
            (0.125, 0.12),
            (0.375, 0.38),
            (1.115, 1.11),
            (1.125, 1.12),
            (8_320.314_999, 8_320.31),
            (8_320.315, 8_320.32),
            (9_382.625, 9_382.62),
        ] {
            assert_eq!(two_decimals(x).to_bits(), f64::to_bits(rounded), "{x}");
        }
    }
}
