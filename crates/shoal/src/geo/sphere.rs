//! Distances on a sphere.
//!
//! Haversine formula: R. W. Sinnott, "Virtues of the Haversine", Sky and Telescope 68 (1984). The
//! chord between unit vectors grows with the great-circle distance, so that nearest neighbours on
//! the sphere are nearest neighbours in space.

/// The mean radius of the Earth (IUGG), km.
pub const EARTH_RADIUS_KM: f64 = 6371.0088;

/// A unit vector.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Point {
    /// Towards 0° N 0° E, 0° N 90° E, 90° N.
    pub xyz: [f32; 3],
}

impl Point {
    /// Of degrees of latitude and longitude.
    #[expect(clippy::cast_possible_truncation, reason = "an index is precise to a metre or two")]
    #[must_use]
    pub fn new(latitude: f64, longitude: f64) -> Self {
        let (lat, lon) = (latitude.to_radians(), longitude.to_radians());
        let across = lat.cos();
        Self { xyz: [(across * lon.cos()) as f32, (across * lon.sin()) as f32, lat.sin() as f32] }
    }
}

/// The great-circle distance of two places, km; all angles are degrees.
#[must_use]
pub fn haversine_km(lat1: f64, lon1: f64, lat2: f64, lon2: f64) -> f64 {
    let (half_lat, half_lon) = ((lat2 - lat1).to_radians() / 2.0, (lon2 - lon1).to_radians() / 2.0);
    let across = lat1.to_radians().cos() * lat2.to_radians().cos();
    let h = half_lat.sin().powi(2) + across * half_lon.sin().powi(2);
    2.0 * EARTH_RADIUS_KM * h.min(1.0).sqrt().asin()
}
