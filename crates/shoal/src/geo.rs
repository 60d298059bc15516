//! Where an address is.

mod countries;
mod geo_data;
mod mmdb;
mod record;
mod source;
mod sphere;
mod table;

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

pub use countries::{Country, country};
pub use mmdb::{Mmdb, MmdbError};
pub use source::Geography;
pub use sphere::{EARTH_RADIUS_KM, Point, haversine_km};

/// A place of a geographic database, as answers tell it. One is shared by all caches there.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Place {
    /// Degrees.
    pub latitude: f64,
    /// Degrees.
    pub longitude: f64,
    /// A city's English name.
    pub city: Option<Box<str>>,
    /// The first subdivision's code.
    pub region_code: Option<Box<str>>,
    /// By its IANA name.
    pub time_zone: Option<Box<str>>,
    /// Of the United States.
    pub metro_code: Option<u32>,
    /// A postal code.
    pub postal_code: Option<Box<str>>,
    /// Two letters of ISO 3166-1.
    pub country_code: Option<Box<str>>,
    /// A country's English name.
    pub country_name: Option<Box<str>>,
    /// Two letters.
    pub continent: Option<Box<str>>,
    /// See [`Place::told`].
    pub written: Written,
}

/// A text that is written when it is first asked for, and kept: a place's is longer than all else
/// that is said of a cache, and always the same. It is no part of what the place is.
#[derive(Debug, Clone, Default)]
pub struct Written(OnceLock<Arc<[u8]>>);

impl Place {
    /// All of it, as answers of Shoal's own paths tell it.
    #[must_use]
    pub fn told(&self) -> &Arc<[u8]> {
        self.written.0.get_or_init(|| {
            let mut text = Vec::new();
            geo_data::geo_data(&mut text, self);
            text.into()
        })
    }
}

impl PartialEq for Written {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Finds places of addresses.
pub trait Locate: Send + Sync {
    /// The place of a cache, with all that is known of it.
    fn place(&self, address: IpAddr) -> Option<Arc<Place>>;
    /// Where a client is: what a look-up needs, and no more.
    fn spot(&self, address: IpAddr) -> Option<Spot>;
    /// The place of a cache that no database knows, by what its agent was told of it.
    fn announced(&self, coordinates: Option<(f64, f64)>) -> Option<Arc<Place>> {
        let (latitude, longitude) = coordinates?;
        Some(Arc::new(Place { latitude, longitude, ..Place::default() }))
    }
}

/// Where a client is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spot {
    /// Degrees.
    pub latitude: f64,
    /// Degrees.
    pub longitude: f64,
    /// Two letters of ISO 3166-1, where known.
    pub country: Option<[u8; 2]>,
}
