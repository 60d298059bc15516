//! The order of Shoal's server: ascending cost, ties as they joined.
//!
//! `utilities.get_nearest_verified_caches` of master 7ca44b8 with its defaults; what may be
//! served and what is at the same domain is the caller's.

use plimsoll_shoal::answer::old::old_distance;
use plimsoll_shoal::geo::{Place, Spot};

/// The original's distance, km, before it is rounded.
pub(crate) fn original_km(from: Spot, to: &Place) -> f64 {
    let (lat1, lon1) = (from.latitude.to_radians(), from.longitude.to_radians());
    let (lat2, lon2) = (to.latitude.to_radians(), to.longitude.to_radians());
    let half_lat = ((lat2 - lat1) / 2.0).sin();
    let half_lon = ((lon2 - lon1) / 2.0).sin();
    let h = half_lat * half_lat + lat1.cos() * lat2.cos() * half_lon * half_lon;
    2.0 * 6378.0 * h.sqrt().asin()
}

/// `items` by ascending cost, with it.
pub(crate) fn by_cost<T>(
    from: Spot,
    items: impl Iterator<Item = T>,
    place_and_load: impl Fn(&T) -> (Place, f64),
) -> Vec<(f64, T)> {
    let mut costs: Vec<(f64, T)> = items
        .map(|item| {
            let (place, load) = place_and_load(&item);
            (old_distance(Some(original_km(from, &place)), load), item)
        })
        .collect();
    costs.sort_by(|a, b| a.0.total_cmp(&b.0));
    costs
}
