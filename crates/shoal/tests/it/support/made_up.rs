//! What several tests build: heartbeats, moments, a geography of made-up places.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use plimsoll_shoal::Now;
use plimsoll_shoal::geo::{Locate, Place, Spot};
use plimsoll_shoal::heartbeat::{Echo, Heartbeat, Kind, Number, Upstream};

/// When these tests begin, seconds since 1970.
pub(crate) const START_S: f64 = 1_790_000_000.0;

/// A moment so many seconds after the start, on both clocks.
pub(crate) fn at(seconds: f64) -> Now {
    Now { elapsed_ns: (seconds * 1e9) as u64, unix_s: START_S + seconds }
}

/// A heartbeat of a Squid at an address, sent so many seconds after the start.
pub(crate) fn beat(uuid: &str, address: [u8; 4], seconds: f64) -> Heartbeat {
    Heartbeat {
        uuid: uuid.into(),
        hostname: "cache.example".into(),
        port: Echo { value: 3128, text: "3128".into() },
        kind: Kind::Squid,
        upstream: Upstream::Both,
        public_ip: Some(ip(address)),
        private_ip: None,
        external_ip: None,
        timestamp: START_S + seconds,
        load: Number::Int(0),
        max_load: None,
        verified: false,
        interval_s: None,
        cloud: None,
        version: None,
        coordinates: None,
    }
}

pub(crate) fn ip(address: [u8; 4]) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from(address))
}

/// Places by an address's second byte, in degrees of latitude on the meridian of Greenwich; none
/// for 255.
#[derive(Debug)]
pub(crate) struct Meridian;

impl Locate for Meridian {
    fn place(&self, address: IpAddr) -> Option<Arc<Place>> {
        let Spot { latitude, longitude, .. } = self.spot(address)?;
        Some(Arc::new(Place { latitude, longitude, ..Place::default() }))
    }

    fn spot(&self, address: IpAddr) -> Option<Spot> {
        let IpAddr::V4(address) = address else { return None };
        let [_, degrees, ..] = address.octets();
        let latitude = f64::from(degrees) - 90.0;
        (degrees != 255).then_some(Spot { latitude, longitude: 0.0, country: None })
    }
}
