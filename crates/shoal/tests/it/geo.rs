//! Where addresses are: both kinds of databases, broken ones, and one that changes.

mod made;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use made::{Item, file, map, text};
use plimsoll_shoal::geo::{Geography, Locate, Mmdb, MmdbError, Place, Spot, country};
use plimsoll_testing::shared;
use plimsoll_workload::random::Stream;
use serde_json::Value;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn read(test: &str, name: &str) -> Option<Vec<u8>> {
    shared(test, &format!("data/geo/{name}")).map(|path| std::fs::read(path).unwrap())
}

#[test]
fn nested_records_are_read_as_their_source_has_them() {
    let test = "nested_records_are_read_as_their_source_has_them";
    let Some(bytes) = read(test, "GeoIP2-City-Test.mmdb") else { return };
    let source = read(test, "GeoIP2-City-Test.json").unwrap();
    let networks: Vec<BTreeMap<String, Value>> = serde_json::from_slice(&source).unwrap();
    let mmdb = Mmdb::from_bytes(bytes).unwrap();
    assert_eq!(mmdb.kind(), "GeoIP2-City");
    let mut compared = 0;
    for (network, record) in networks.iter().flatten() {
        let network: ipnet::IpNet = network.parse().unwrap();
        // IPv4 addresses stand in the file as ::a.b.c.d.
        let address = match network.addr() {
            IpAddr::V6(v6) if v6.segments()[..6] == [0; 6] => {
                v6.to_ipv4().map_or(network.addr(), IpAddr::V4)
            }
            other => other,
        };
        let location = &record["location"];
        let (Some(latitude), Some(longitude)) =
            (location["latitude"].as_f64(), location["longitude"].as_f64())
        else {
            continue;
        };
        let string = |value: &Value| value.as_str().map(Box::from);
        let known = record["country"]["iso_code"].as_str().and_then(country);
        let expected = Place {
            latitude,
            longitude,
            city: string(&record["city"]["names"]["en"]),
            region_code: string(&record["subdivisions"][0]["iso_code"]),
            time_zone: string(&location["time_zone"]),
            metro_code: location["metro_code"].as_u64().map(|code| u32::try_from(code).unwrap()),
            postal_code: string(&record["postal"]["code"]),
            country_code: string(&record["country"]["iso_code"]),
            country_name: string(&record["country"]["names"]["en"])
                .or(known.map(|known| known.name.into())),
            continent: string(&record["continent"]["code"]),
            ..Place::default()
        };
        assert_eq!(*mmdb.place(address).unwrap(), expected, "{address}");
        let spot = mmdb.spot(address).unwrap();
        assert_eq!((spot.latitude, spot.longitude), (latitude, longitude));
        let letters = expected.country_code.as_deref().map(|code| code.as_bytes().to_vec());
        assert_eq!(spot.country.map(|code| code.to_vec()), letters);
        compared += 1;
    }
    assert!(compared > 200, "{compared} networks");
}

#[test]
fn mapped_addresses_are_where_their_ipv4_address_is_and_places_are_shared() {
    let test = "mapped_addresses_are_where_their_ipv4_address_is_and_places_are_shared";
    let Some(bytes) = read(test, "GeoIP2-City-Test.mmdb") else { return };
    let mmdb = Mmdb::from_bytes(bytes).unwrap();
    let (plain, mapped) = (mmdb.place(ip("81.2.69.142")), mmdb.place(ip("::ffff:81.2.69.142")));
    let (plain, mapped) = (plain.unwrap(), mapped.unwrap());
    assert_eq!(plain.city.as_deref(), Some("London"));
    assert!(Arc::ptr_eq(&plain, &mapped));
    assert_eq!(mmdb.spot(ip("::ffff:81.2.69.142")), mmdb.spot(ip("81.2.69.142")));
    for nowhere in ["127.0.0.1", "10.0.0.1", "::1", "203.0.113.1"] {
        assert_eq!((mmdb.place(ip(nowhere)), mmdb.spot(ip(nowhere))), (None, None));
    }
}

#[test]
fn a_file_of_ipv4_networks_knows_no_ipv6_address() {
    let test = "a_file_of_ipv4_networks_knows_no_ipv6_address";
    let Some(bytes) = read(test, "ip4_prefix20.mmdb") else { return };
    let mmdb = Mmdb::from_bytes(bytes).unwrap();
    let spot = mmdb.spot(ip("128.142.200.1")).unwrap();
    assert_eq!(spot.country, Some(*b"CH"));
    assert_eq!((spot.latitude, spot.longitude), (46.0, 6.0));
    let place = mmdb.place(ip("128.142.200.1")).unwrap();
    assert_eq!(place.country_name.as_deref(), Some("Switzerland"));
    assert_eq!(place.continent.as_deref(), Some("EU"));
    assert_eq!(mmdb.spot(ip("2001:db8::1")), None);
    assert_eq!(mmdb.spot(ip("::ffff:128.142.200.1")), Some(spot));
}

#[test]
fn a_client_is_where_a_cache_at_its_address_would_be() {
    let mut compared = 0;
    for name in ["ip4_prefix20.mmdb", "GeoIP2-City-Test.mmdb"] {
        let test = "a_client_is_where_a_cache_at_its_address_would_be";
        let Some(bytes) = read(test, name) else { return };
        let mmdb = Mmdb::from_bytes(bytes).unwrap();
        let mut random = Stream::named(11, name);
        for _ in 0..50_000 {
            // The ends of networks, where there are any, and addresses between them.
            let bits = u32::try_from(random.below(1 << 32)).unwrap();
            let ended = bits | u32::MAX.checked_shr(32 - (bits & 31)).unwrap_or(0);
            for bits in [bits, ended, ended.wrapping_add(1)] {
                let address = IpAddr::V4(std::net::Ipv4Addr::from_bits(bits));
                let (spot, place) = (mmdb.spot(address), mmdb.place(address));
                let spot = spot.map(|spot| (spot.latitude, spot.longitude, spot.country));
                let wanted = place.map(|place| {
                    let code = place.country_code.as_deref();
                    let code = code.and_then(|code| code.as_bytes().try_into().ok());
                    (place.latitude, place.longitude, code)
                });
                assert_eq!(spot, wanted, "{address}");
                compared += u32::from(spot.is_some());
            }
        }
    }
    assert!(compared > 50_000, "{compared} addresses of a place");
}

/// A database of the cases that people reported; `None`, said by name, where they are not.
fn case(test: &str, name: &str) -> Option<Result<Mmdb, MmdbError>> {
    let path = shared(test, &format!("cases/shoal/{name}"))?;
    Some(Mmdb::open(&path))
}

#[test]
fn a_database_that_locates_nobody_is_refused() {
    for name in ["g2-asn.mmdb", "g6-registered-only.mmdb"] {
        let Some(opened) = case("a_database_that_locates_nobody_is_refused", name) else { return };
        let Err(MmdbError::Nowhere { networks, .. }) = opened else { panic!("{name}: {opened:?}") };
        assert!(networks > 0);
    }
    let of_asn = file(&map([("autonomous_system_number", Item::Number(64_496))]));
    let refused = Mmdb::from_bytes(of_asn).unwrap_err().to_string();
    assert!(refused.contains("nobody can be located"), "{refused}");
}

#[test]
fn a_database_that_gets_worse_is_not_taken_instead() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("geo.mmdb");
    std::fs::write(&path, file(&map([("country", text("CH"))]))).unwrap();
    let geography = Geography::open(path.clone()).unwrap();
    std::fs::write(&path, file(&map([("asn", text("AS64496"))]))).unwrap();
    assert!(matches!(geography.refresh(), Err(MmdbError::Nowhere { .. })));
    assert_eq!(geography.spot(ip("192.0.2.1")).unwrap().country, Some(*b"CH"));
}

#[test]
fn records_of_other_shapes_have_their_places() {
    for name in ["g3-flat-ipinfo.mmdb", "g7-zero-zero.mmdb"] {
        let Some(opened) = case("records_of_other_shapes_have_their_places", name) else {
            continue;
        };
        let spot = opened.unwrap().spot(ip("203.0.113.1"));
        let spot = spot.unwrap_or_else(|| panic!("{name}"));
        assert_eq!(spot.country, Some(*b"DE"), "{name}");
        assert!(spot.latitude > 47.0, "{name}: {spot:?}");
    }
    let here = ip("192.0.2.1");
    for (record, latitude, longitude, code) in [
        (
            map([("country", text("DE")), ("lat", text("52.5")), ("lng", text(" 13.25 "))]),
            52.5,
            13.25,
            "DE",
        ),
        (
            map([("country_code", text("DE")), ("latitude", text("-1e1")), ("lon", text("2"))]),
            -10.0,
            2.0,
            "DE",
        ),
        (map([("country", text("CH")), ("lat", text("x")), ("lng", text("13"))]), 47.0, 8.0, "CH"),
        (
            map([("country", text("CH")), ("lat", text("inf")), ("lng", text("13"))]),
            46.0,
            8.0,
            "CH",
        ),
        (map([("country", text("CH")), ("lat", text("0")), ("lng", text("0"))]), 47.0, 8.0, "CH"),
    ] {
        let mmdb = everywhere(&record);
        let (spot, place) = (mmdb.spot(here).unwrap(), mmdb.place(here).unwrap());
        let near = |a: f64, b: f64| (a - b).abs() < 2.0;
        assert!(near(spot.latitude, latitude) && near(spot.longitude, longitude), "{spot:?}");
        assert_eq!((place.latitude, place.longitude), (spot.latitude, spot.longitude));
        assert_eq!(place.country_code.as_deref(), Some(code));
    }
    let named = everywhere(&map([
        ("country", text("DE")),
        ("country_name", text("Germany")),
        ("continent", text("EU")),
    ]));
    let place = named.place(here).unwrap();
    assert_eq!(
        (place.country_name.as_deref(), place.continent.as_deref()),
        (Some("Germany"), Some("EU"))
    );
    // A name in the place of a code is none.
    assert!(Mmdb::from_bytes(file(&map([("country", text("Germany"))]))).is_err());
}

/// A database in which every address has this record.
fn everywhere(record: &Item) -> Mmdb {
    Mmdb::from_bytes(file(record)).unwrap()
}

#[test]
fn flat_records_are_read_with_single_precision_as_it_was_meant() {
    let mmdb = everywhere(&map([
        ("country_code", text("JP")),
        ("state1", text("Tokyo")),
        ("city", text("Chiyoda City")),
        ("postcode", text("")),
        ("latitude", Item::Single(35.6916)),
        ("longitude", Item::Single(139.768)),
        ("timezone", text("Asia/Tokyo")),
    ]));
    let place = mmdb.place(ip("192.0.2.1")).unwrap();
    let expected = Place {
        latitude: 35.6916,
        longitude: 139.768,
        city: Some("Chiyoda City".into()),
        region_code: None,
        time_zone: Some("Asia/Tokyo".into()),
        metro_code: None,
        postal_code: None,
        country_code: Some("JP".into()),
        country_name: Some("Japan".into()),
        continent: Some("AS".into()),
        ..Place::default()
    };
    assert_eq!(*place, expected);
    let spot = Spot { latitude: 35.6916, longitude: 139.768, country: Some(*b"JP") };
    assert_eq!(mmdb.spot(ip("192.0.2.1")), Some(spot));
}

#[test]
fn a_country_alone_is_at_its_middle() {
    let nested = map([("country", map([("iso_code", text("NZ"))]))]);
    for record in [map([("country_code", text("NZ"))]), nested] {
        let mmdb = everywhere(&record);
        let spot = Spot { latitude: -41.0, longitude: 174.0, country: Some(*b"NZ") };
        assert_eq!(mmdb.spot(ip("192.0.2.1")), Some(spot));
        let place = mmdb.place(ip("192.0.2.1")).unwrap();
        assert_eq!(place.country_name.as_deref(), Some("New Zealand"));
        assert_eq!(place.continent.as_deref(), Some("OC"));
    }
}

#[test]
fn a_field_of_another_type_costs_itself_only() {
    let wrong = || Item::Number(7);
    let mmdb = everywhere(&map([
        ("city", map([("names", text("Bonn"))])),
        ("continent", Item::List(vec![])),
        ("country", map([("iso_code", text("DE")), ("names", wrong())])),
        (
            "location",
            map([
                ("latitude", Item::Double(50.73)),
                ("longitude", Item::Double(7.1)),
                ("metro_code", text("x07")),
                ("time_zone", map([("a", map([("b", wrong())]))])),
            ]),
        ),
        ("postal", text("53111")),
        (
            "subdivisions",
            Item::List(vec![map([("iso_code", text("NW"))]), map([("iso_code", text("XX"))])]),
        ),
        ("traits", map([("x", Item::List(vec![wrong(), text("y")]))])),
    ]));
    let place = mmdb.place(ip("192.0.2.1")).unwrap();
    let expected = Place {
        latitude: 50.73,
        longitude: 7.1,
        region_code: Some("NW".into()),
        country_code: Some("DE".into()),
        country_name: Some("Germany".into()),
        continent: Some("EU".into()),
        ..Place::default()
    };
    assert_eq!(*place, expected);
    for off_the_globe in [f64::NAN, f64::INFINITY, 90.5, -1e300] {
        let latitude = Item::Double(off_the_globe);
        locates_nobody(&map([("latitude", latitude), ("longitude", Item::Double(0.0))]));
    }
    for no_record in [text("nowhere"), Item::Number(1), Item::List(vec![])] {
        locates_nobody(&no_record);
    }
}

/// A database in which every address has this record is refused: it is no place.
fn locates_nobody(record: &Item) {
    let opened = Mmdb::from_bytes(file(record));
    assert!(matches!(opened, Err(MmdbError::Nowhere { .. })), "{opened:?}");
}

#[test]
fn broken_files_cost_places_and_never_more() {
    let test = "broken_files_cost_places_and_never_more";
    let Some(bytes) = read(test, "GeoIP2-City-Test.mmdb") else { return };
    let addresses =
        ["81.2.69.142", "2.125.160.216", "89.160.20.128", "2001:254::", "::1", "1.1.1.1"];
    let (mut opened, mut refused, mut found) = (0, 0, 0);
    for seed in 0..6_000 {
        let mut random = Stream::named(seed, "broken");
        let mut broken = bytes.clone();
        // The last two kilobytes say what the rest is, so they are broken more often.
        let len = broken.len() as u64;
        for _ in 0..1 + random.below(if seed % 3 == 0 { 400 } else { 8 }) {
            let tail = seed % 4 == 0;
            let at = if tail { len - 1 - random.below(2_000) } else { random.below(len) };
            broken[usize::try_from(at).unwrap()] = u8::try_from(random.below(256)).unwrap();
        }
        if seed % 5 == 0 {
            broken.truncate(usize::try_from(random.below(len)).unwrap());
        }
        match Mmdb::from_bytes(broken) {
            Ok(mmdb) => {
                opened += 1;
                for address in addresses {
                    let place = mmdb.place(ip(address));
                    let sound = |lat: f64, lon: f64| lat.abs() <= 90.0 && lon.abs() <= 180.0;
                    assert!(place.is_none_or(|place| sound(place.latitude, place.longitude)));
                    let spot = mmdb.spot(ip(address));
                    found += u32::from(spot.is_some());
                    assert!(spot.is_none_or(|spot| sound(spot.latitude, spot.longitude)));
                }
            }
            Err(MmdbError::Format { reason, .. }) => {
                assert!(!reason.is_empty());
                refused += 1;
            }
            // What is left of it locates nobody.
            Err(MmdbError::Nowhere { .. }) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(opened > 1_000 && refused > 500 && found > 5_000, "{opened}, {refused}, {found}");
}

#[test]
fn what_is_no_database_is_told_so() {
    for bytes in [&b""[..], b"no database", &[0; 100]] {
        let error = Mmdb::from_bytes(bytes.to_vec()).unwrap_err();
        let message = error.to_string();
        let starts = "`bytes` is no geographic database (MaxMind DB format 2): ";
        assert!(message.starts_with(starts) && message.len() > starts.len(), "{message}");
    }
    let error = Geography::open("/nowhere/city.mmdb".into()).unwrap_err();
    assert_eq!(error.to_string(), "read the geographic database `/nowhere/city.mmdb`");
}

#[test]
fn a_file_that_changes_is_read_again_and_a_broken_one_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("city.mmdb");
    let put = |bytes: &[u8]| {
        let new = folder.path().join("new");
        std::fs::write(&new, bytes).unwrap();
        std::fs::rename(&new, &path).unwrap();
    };
    let of = |code: &'static str| file(&map([("country_code", text(code))]));
    put(&of("NZ"));
    let geography = Geography::open(path.clone()).unwrap();
    let country = || geography.spot(ip("192.0.2.1")).and_then(|spot| spot.country);
    assert_eq!(country(), Some(*b"NZ"));
    assert!(!geography.refresh().unwrap());
    // Of the same length, perhaps within the same second.
    put(&of("JP"));
    assert!(geography.refresh().unwrap());
    assert_eq!(country(), Some(*b"JP"));
    put(b"half a file");
    assert!(matches!(geography.refresh(), Err(MmdbError::Format { .. })));
    assert!(!geography.refresh().unwrap(), "a broken file is told of once");
    assert_eq!(country(), Some(*b"JP"));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(geography.refresh(), Err(MmdbError::Read { .. })));
    assert_eq!(country(), Some(*b"JP"));
    put(&of("CA"));
    assert!(geography.refresh().unwrap());
    assert_eq!(country(), Some(*b"CA"));
}

#[test]
fn without_a_file_an_agents_coordinates_are_its_caches_place() {
    let none = Geography::none();
    assert!(!none.refresh().unwrap());
    assert_eq!((none.spot(ip("8.8.8.8")), none.place(ip("8.8.8.8"))), (None, None));
    let place = none.place_of(Some(ip("8.8.8.8")), Some((48.4, -123.4))).unwrap();
    let expected = Place { latitude: 48.4, longitude: -123.4, ..Place::default() };
    assert_eq!(*place, expected);
    assert_eq!(none.place_of(Some(ip("8.8.8.8")), None), None);
    assert_eq!(none.place_of(None, Some((91.0, 0.0))), None);
    assert_eq!(none.place_of(None, Some((0.0, f64::NAN))), None);
}
