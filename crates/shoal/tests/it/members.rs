//! Caches for tests, and a look-up that is so simple that it is right.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use plimsoll_shoal::Now;
use plimsoll_shoal::geo::{Place, Spot};
use plimsoll_shoal::heartbeat::{Echo, Heartbeat, Kind, Number, Upstream};
use plimsoll_shoal::order::{Menu, Question};
use plimsoll_shoal::registry::{Base, Cache, Glances, Seat, Snapshot, State};
use plimsoll_workload::random::Stream;

/// What an agent of a Squid at 198.18.0.0/15 says.
pub(crate) fn beat(number: u32) -> Heartbeat {
    Heartbeat {
        uuid: format!("{number:032x}").into(),
        hostname: format!("cache{number}.example").into(),
        port: Echo { value: 3128, text: "3128".into() },
        kind: Kind::Squid,
        upstream: Upstream::Both,
        public_ip: Some(IpAddr::V4(Ipv4Addr::from_bits(0xc612_0000 + number))),
        private_ip: None,
        external_ip: None,
        timestamp: 0.0,
        load: Number::Int(0),
        max_load: None,
        verified: false,
        interval_s: None,
        cloud: None,
        version: None,
        coordinates: None,
    }
}

pub(crate) fn cache(beat: &Heartbeat, number: u32, place: Option<(f64, f64)>) -> Arc<Cache> {
    let place = place
        .map(|(latitude, longitude)| Arc::new(Place { latitude, longitude, ..Place::default() }));
    let now = Now { elapsed_ns: 0, unix_s: beat.timestamp };
    Arc::new(Cache::new(u64::from(number), u64::from(number), beat, place, now))
}

/// Squids at these places, numbered from 0.
pub(crate) fn squids(places: impl IntoIterator<Item = (f64, f64)>) -> Vec<Arc<Cache>> {
    (0..).zip(places).map(|(number, place)| cache(&beat(number), number, Some(place))).collect()
}

/// A snapshot in which so many are in the base and the others joined since. Every second of those
/// that nobody else has can be told at a glance, the others have to be asked.
pub(crate) fn snapshot(caches: Vec<Arc<Cache>>, in_base: usize) -> Snapshot {
    let glances = Arc::new(Glances::new(caches.len()));
    let seated = |(seat, cache): (Seat, Arc<Cache>)| match Arc::try_unwrap(cache) {
        Ok(cache) if seat % 2 == 1 => Arc::new(cache.seated(&glances, seat)),
        Ok(cache) => Arc::new(cache),
        Err(shared) => shared,
    };
    let mut caches: Vec<_> = (1..).zip(caches).map(seated).collect();
    let joined = caches.split_off(in_base.min(caches.len()));
    Snapshot::new(1, Arc::new(Base::new(caches)), joined, glances)
}

/// From there, five Squids.
pub(crate) fn question(spot: Option<(f64, f64)>) -> Question<'static> {
    Question {
        client: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
        spot: spot.map(|(latitude, longitude)| Spot { latitude, longitude, country: None }),
        count: 5,
        menu: Menu::Squid,
        cloud: None,
        verified_only: false,
        sites: None,
    }
}

/// Evenly on the sphere.
pub(crate) fn anywhere(random: &mut Stream) -> (f64, f64) {
    let latitude = (2.0 * random.uniform() - 1.0).asin().to_degrees();
    (latitude, 360.0 * random.uniform() - 180.0)
}

/// One of them.
pub(crate) fn any<T: Copy>(random: &mut Stream, of: &[T]) -> T {
    of[usize::try_from(random.below(of.len() as u64)).unwrap()]
}

/// The band of a cache by the definition: the angle between two vectors, then a logarithm. 8 where
/// either end is unknown.
pub(crate) fn band_of(spot: Option<Spot>, cache: &Cache) -> i32 {
    let (Some(spot), Some(place)) = (spot, cache.place()) else { return 8 };
    let vector = |latitude: f64, longitude: f64| {
        let (lat, lon) = (latitude.to_radians(), longitude.to_radians());
        [lat.cos() * lon.cos(), lat.cos() * lon.sin(), lat.sin()]
    };
    let a = vector(spot.latitude, spot.longitude);
    let b = vector(place.latitude, place.longitude);
    let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let km = 6371.0088 * cross.iter().map(|c| c * c).sum::<f64>().sqrt().atan2(dot);
    if km < 100.0 { 0 } else { 1 + (km / 100.0).log2().floor() as i32 }
}

/// Bands (−1 for the client's own address) and load classes of all that may be served, in order.
pub(crate) fn ranks(snapshot: &Snapshot, question: &Question<'_>) -> Vec<(i32, u8)> {
    let mut ranks: Vec<_> = snapshot
        .base
        .caches
        .iter()
        .chain(&snapshot.joined)
        .filter(|cache| may_be_served(cache, question))
        .map(|cache| rank(cache, question))
        .collect();
    ranks.sort_unstable();
    ranks
}

/// Of one of those.
pub(crate) fn rank(cache: &Cache, question: &Question<'_>) -> (i32, u8) {
    let client = Some(question.client);
    let local = cache.public_ip == client || cache.external_ip == client;
    (if local { -1 } else { band_of(question.spot, cache) }, cache.load_class())
}

pub(crate) fn may_be_served(cache: &Cache, question: &Question<'_>) -> bool {
    let kind = match question.menu {
        Menu::Squid => cache.kind == Kind::Squid,
        Menu::Varnish => cache.kind == Kind::Varnish,
        Menu::Cvmfs => matches!(cache.upstream, Upstream::Cvmfs | Upstream::Both),
        Menu::Conditions => matches!(cache.upstream, Upstream::Frontier | Upstream::Both),
        Menu::All => true,
    };
    let state = match cache.state() {
        State::Verified => true,
        State::Unverified => !question.verified_only,
        _ => false,
    };
    let cloud = question.cloud.is_none() || question.cloud == cache.cloud.as_deref();
    kind && state && cloud && cache.alive()
}
