//! Caches and clients where people are: at places of random addresses, by a file of real ones
//! where that lies beside the repository, else evenly on the sphere.

use plimsoll_shoal::Now;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;

use plimsoll_shoal::geo::{Locate, Mmdb, Place, Spot};
use plimsoll_shoal::heartbeat::{Echo, Heartbeat, Kind, Number, Upstream};
use plimsoll_shoal::order::{Menu, Question};
use plimsoll_shoal::registry::{Base, Cache, Glances, Snapshot};
use plimsoll_workload::random::Stream;

/// When they all joined.
const NOW: Now = Now { elapsed_ns: 0, unix_s: 1_790_000_000.0 };

pub(crate) const QUERIES: usize = 1 << 17;

pub(crate) struct World {
    pub(crate) source: &'static str,
    geography: Option<Mmdb>,
    clients: Vec<(IpAddr, Spot)>,
    servers: Vec<(IpAddr, Spot)>,
}

impl World {
    pub(crate) fn new() -> Self {
        let file = "../shared/data/geo/ip4_prefix20.mmdb";
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
        let found = [beside, Path::new("/work").join("shared/data/geo/ip4_prefix20.mmdb")];
        let geography = found.iter().find_map(|path| Mmdb::open(path).ok());
        let clients = places(geography.as_ref(), &mut Stream::named(1, "clients"), QUERIES);
        let servers = places(geography.as_ref(), &mut Stream::named(2, "servers"), 100_000);
        let source = if geography.is_some() { "of addresses" } else { "evenly on the sphere" };
        Self { source, geography, clients, servers }
    }

    /// Squids, a tenth of them loaded to each tenth.
    pub(crate) fn caches(&self, members: u32, glances: &Arc<Glances>) -> Vec<Arc<Cache>> {
        let mut random = Stream::named(4, "loads");
        let cache = |(number, &(address, spot)): (u32, &(IpAddr, Spot))| {
            let Spot { latitude, longitude, .. } = spot;
            let known = self.geography.as_ref().and_then(|geography| geography.place(address));
            let place = || Arc::new(Place { latitude, longitude, ..Place::default() });
            let beat = beat(number, random.below(122_000));
            let place = Some(known.unwrap_or_else(place));
            let cache = Cache::new(number.into(), number.into(), &beat, place, NOW);
            Arc::new(cache.seated(glances, number + 1))
        };
        (0..members).zip(&self.servers).map(cache).collect()
    }

    /// One in a hundred joined since, but never more than 512.
    pub(crate) fn snapshot(&self, members: u32) -> Snapshot {
        let glances = Arc::new(Glances::new(members as usize));
        let mut caches = self.caches(members, &glances);
        let joined = caches.split_off(caches.len() - (caches.len() / 100).min(512));
        Snapshot::new(1, Arc::new(Base::new(caches)), joined, glances)
    }

    /// Of the `at`th client; with `locate` its place is looked up, else known.
    pub(crate) fn question(&self, at: usize, count: usize, locate: bool) -> Question<'static> {
        let (client, spot) = self.clients[at];
        let located = self.geography.as_ref().filter(|_| locate);
        let spot = located.map_or(Some(spot), |geography| geography.spot(client));
        let (menu, cloud, sites) = (Menu::Squid, None, None);
        Question { client, spot, count, menu, cloud, verified_only: false, sites }
    }

    /// Where the clients are.
    #[allow(dead_code, reason = "for what is compared with it")]
    pub(crate) fn spots(&self) -> impl Iterator<Item = Spot> {
        self.clients.iter().map(|&(_, spot)| spot)
    }
}

fn places(geography: Option<&Mmdb>, random: &mut Stream, count: usize) -> Vec<(IpAddr, Spot)> {
    let mut places = Vec::with_capacity(count);
    while places.len() < count {
        let bits = u32::try_from(random.below(1 << 32)).unwrap_or(0);
        let address = IpAddr::V4(Ipv4Addr::from_bits(bits));
        let spot = match geography {
            Some(geography) => geography.spot(address),
            None => Some(Spot {
                latitude: (2.0 * random.uniform() - 1.0).asin().to_degrees(),
                longitude: 360.0 * random.uniform() - 180.0,
                country: None,
            }),
        };
        places.extend(spot.map(|spot| (address, spot)));
    }
    places
}

fn beat(number: u32, load: u64) -> Heartbeat {
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
        load: Number::Int(load),
        max_load: None,
        verified: false,
        interval_s: None,
        cloud: None,
        version: None,
        coordinates: None,
    }
}
