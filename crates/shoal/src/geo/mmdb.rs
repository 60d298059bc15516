//! Places from a file in MaxMind's DB format 2.0 (MaxMind, "MaxMind DB file format
//! specification"), read by the `maxminddb` crate.

use std::fs::File;
use std::io::{self, Read as _};
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use indexmap::IndexMap;
use maxminddb::{LookupResult, Reader, WithinOptions};

use super::countries::country;
use super::record::{Lenient, Where, Whole};
use super::table::{Maker, Table};
use super::{Locate, Place, Spot, Written};

/// The most places that are shared; caches of further places have their own.
const SHARED: usize = 16_384;

/// Why a database cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MmdbError {
    /// The file cannot be read.
    #[error("read the geographic database `{path}`")]
    Read {
        /// As it was given.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is no database, or a broken one.
    #[error("`{path}` is no geographic database (MaxMind DB format 2): {reason}")]
    Format {
        /// As it was given.
        path: String,
        /// What the reader stumbled over.
        reason: String,
    },
    /// A database of something else, or one whose places are not understood.
    #[error(
        "nobody can be located by `{path}` ({kind}): none of its {networks} networks has \
         coordinates or a country that is known"
    )]
    Nowhere {
        /// As it was given.
        path: String,
        /// What the file says that it is.
        kind: String,
        /// How many there are.
        networks: usize,
    },
}

/// A geographic database in memory.
///
/// A record that cannot be read, or has no coordinates and no known country, is no place; a
/// corrupt file costs places and never more.
pub struct Mmdb {
    reader: Reader<Vec<u8>>,
    /// Of its IPv4 addresses; `None` where they cannot be told one after the other.
    table: Option<Table>,
    /// Of all networks, those that have a place; `None` where they cannot be told.
    share: Option<f64>,
    /// By where their record stands in the file.
    places: Mutex<IndexMap<usize, Arc<Place>>>,
}

impl std::fmt::Debug for Mmdb {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Mmdb").field("kind", &self.kind()).finish_non_exhaustive()
    }
}

/// The longest database that is read, bytes: those that are sold have less.
const MOST: u64 = 512 << 20;

/// What a file holds, if that is not too much.
fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MOST {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, "it has more than 512 MiB")),
        false => Ok(bytes),
    }
}

impl Mmdb {
    /// Reads a file whole: it may be replaced or truncated afterwards.
    ///
    /// # Errors
    ///
    /// The file cannot be read or is no database.
    pub fn open(path: &Path) -> Result<Self, MmdbError> {
        let shown = path.display().to_string();
        match read_whole(path) {
            Ok(bytes) => Self::read(bytes, shown),
            Err(source) => Err(MmdbError::Read { path: shown, source }),
        }
    }

    /// A database of these bytes.
    ///
    /// # Errors
    ///
    /// They are no database.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, MmdbError> {
        Self::read(bytes, "bytes".to_owned())
    }

    fn read(bytes: Vec<u8>, path: String) -> Result<Self, MmdbError> {
        match Reader::from_source(bytes) {
            Ok(reader) => {
                let made = table_of(&reader);
                let count = made.as_ref().map(|made| match made.count {
                    Count { located: 0, networks: _ } => count_of_all(&reader),
                    count => count,
                });
                if let Some(Count { networks, located: 0 }) = count {
                    let kind = reader.metadata().database_type.clone();
                    return Err(MmdbError::Nowhere { path, kind, networks });
                }
                let share = count.map(|count| count.located as f64 / count.networks as f64);
                let table = made.map(|made| made.table);
                Ok(Self { reader, table, share, places: Mutex::default() })
            }
            Err(why) => Err(MmdbError::Format { path, reason: why.to_string() }),
        }
    }

    /// What the file says that it is, such as `GeoIP2-City`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.reader.metadata().database_type
    }

    /// Which part of its networks has a place: of IPv4 where it has those. `None` where they cannot
    /// be told one after the other.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        self.share
    }

    /// When the file was built, seconds since 1970.
    #[must_use]
    pub fn built_s(&self) -> u64 {
        self.reader.metadata().build_epoch
    }
}

impl Locate for Mmdb {
    fn place(&self, address: IpAddr) -> Option<Arc<Place>> {
        let record = self.reader.lookup(address.to_canonical()).ok()?;
        let offset = record.offset()?;
        let mut places = self.places.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(place) = places.get(&offset) {
            return Some(Arc::clone(place));
        }
        let place = Arc::new(place_of(record.decode::<Lenient<Whole<'_>>>().ok()??.0)?);
        if places.len() >= SHARED {
            places.retain(|_, place| Arc::strong_count(place) > 1);
        }
        if places.len() < SHARED {
            places.insert(offset, Arc::clone(&place));
        }
        Some(place)
    }

    fn spot(&self, address: IpAddr) -> Option<Spot> {
        match (address.to_canonical(), &self.table) {
            (IpAddr::V4(address), Some(table)) => table.spot(address),
            (address, _) => spot_of(&self.reader.lookup(address).ok()?),
        }
    }
}

/// The spots of all IPv4 addresses. A sound tree has one network more than nodes; in a broken one
/// parts may be parts of themselves, and have any number.
fn table_of(reader: &Reader<Vec<u8>>) -> Option<Made> {
    let mut maker = Maker::new();
    let mut count = Count::default();
    let mut numbers: IndexMap<Option<usize>, u32> = IndexMap::new();
    let networks = reader.within("0.0.0.0/0".parse().ok()?, WithinOptions::default()).ok()?;
    for (told, found) in (0..).zip(networks) {
        let found = found.ok().filter(|_| told <= reader.metadata().node_count)?;
        let network = found.network().ok()?;
        let IpAddr::V4(first) = network.ip() else { return None };
        let offset = found.offset();
        let number = *numbers.entry(offset).or_insert_with(|| maker.number(spot_of(&found)));
        count.networks += 1;
        count.located += usize::from(number > 0);
        if !maker.add(first, network.prefix(), number) {
            return None;
        }
    }
    Some(Made { table: maker.finish(), count })
}

/// A table, and of how many networks it was made.
struct Made {
    table: Table,
    count: Count,
}

/// How many networks there are, and how many have a place.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    networks: usize,
    located: usize,
}

/// Of all networks, of IPv6 too, as far as the first that has a place: that one is enough.
fn count_of_all(reader: &Reader<Vec<u8>>) -> Count {
    let mut count = Count::default();
    let all = if reader.metadata().ip_version == 6 { "::/0" } else { "0.0.0.0/0" };
    let Ok(all) = all.parse() else { return count };
    let Ok(networks) = reader.within(all, WithinOptions::default()) else { return count };
    let most = reader.metadata().node_count as usize + 1;
    for found in networks.map_while(Result::ok).take(most) {
        count.networks += 1;
        if spot_of(&found).is_some() {
            count.located += 1;
            break;
        }
    }
    count
}

fn spot_of(record: &LookupResult<'_, Vec<u8>>) -> Option<Spot> {
    let found = record.decode::<Lenient<Where<'_>>>().ok()??.0;
    let (latitude, longitude) = coordinates(found.latitude, found.longitude, found.country)?;
    let letters = found.country.and_then(|code| <[u8; 2]>::try_from(code.as_bytes()).ok());
    let country = letters.filter(|code| code.iter().all(u8::is_ascii_uppercase));
    Some(Spot { latitude, longitude, country })
}

fn place_of(whole: Whole<'_>) -> Option<Place> {
    let Whole { location, city, region, postal_code, country: named, continent } = whole;
    let (latitude, longitude) = coordinates(location.latitude, location.longitude, named.code)?;
    let known = named.code.and_then(country);
    let owned = |text: Option<&str>| text.map(Box::from);
    Some(Place {
        latitude,
        longitude,
        city: owned(city.filter(|city| !city.is_empty())),
        region_code: owned(region.code),
        time_zone: owned(location.time_zone),
        metro_code: location.metro_code,
        postal_code: owned(postal_code),
        country_code: owned(named.code),
        country_name: owned(named.english.or(known.map(|known| known.name))),
        continent: owned(continent.or(known.map(|known| known.continent))),
        written: Written::default(),
    })
}

/// Those of the record, if they are on the globe, else those of its country. Where there is one,
/// 0/0 says that nothing more is known: that is a place in the sea.
fn coordinates(lat: Option<f64>, lon: Option<f64>, code: Option<&str>) -> Option<(f64, f64)> {
    let known = code.and_then(country).map(|known| (known.latitude, known.longitude));
    match (lat, lon) {
        (Some(lat), Some(lon)) if lat == 0.0 && lon == 0.0 => known.or(Some((lat, lon))),
        (Some(lat), Some(lon)) if lat.abs() <= 90.0 && lon.abs() <= 180.0 => Some((lat, lon)),
        _ => known,
    }
}
