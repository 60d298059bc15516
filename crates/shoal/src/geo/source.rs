//! The geography that is in force: a database that is read again when its file changes.

use std::fs::Metadata;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;

use super::{Locate, Mmdb, MmdbError, Place, Spot};

/// Where addresses are, by a file or, with none, by what agents say of themselves.
///
/// Reads go on with the old database while a new one is read.
#[derive(Debug, Default)]
pub struct Geography {
    path: Option<PathBuf>,
    current: ArcSwapOption<Mmdb>,
    seen: Mutex<Option<Stamp>>,
}

/// Two files of one name differ in one of these: whole seconds of change alone would miss a
/// second change within one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    changed_s: i64,
    changed_ns: i64,
    bytes: u64,
    inode: u64,
}

impl Stamp {
    pub(crate) fn of(facts: &Metadata) -> Self {
        Self {
            changed_s: facts.mtime(),
            changed_ns: facts.mtime_nsec(),
            bytes: facts.len(),
            inode: facts.ino(),
        }
    }
}

impl Geography {
    /// Of no database: clients cannot be located, caches only by their agents' coordinates.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Of a file that must be readable now.
    ///
    /// # Errors
    ///
    /// The file cannot be read or is no database.
    pub fn open(path: PathBuf) -> Result<Self, MmdbError> {
        let geography = Self { path: Some(path), ..Self::default() };
        geography.refresh()?;
        Ok(geography)
    }

    /// Reads the file again if it is another one than it was; true if it was read. Whoever calls
    /// decides when.
    ///
    /// # Errors
    ///
    /// The file cannot be read or is no database: what was in force still is. Said once for each
    /// file that is broken, and each time for one that is absent.
    pub fn refresh(&self) -> Result<bool, MmdbError> {
        let Some(path) = &self.path else { return Ok(false) };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let facts = std::fs::metadata(path)
            .map_err(|source| MmdbError::Read { path: path.display().to_string(), source })?;
        let stamp = Stamp::of(&facts);
        if *seen == Some(stamp) {
            return Ok(false);
        }
        *seen = Some(stamp);
        self.current.store(Some(Arc::new(Mmdb::open(path)?)));
        Ok(true)
    }

    /// The database in force.
    #[must_use]
    pub fn database(&self) -> Option<Arc<Mmdb>> {
        self.current.load_full()
    }

    /// The place of a cache: by its address, else by the coordinates that its agent was told,
    /// which have no names. `None` if neither is known.
    #[must_use]
    pub fn place_of(
        &self,
        address: Option<IpAddr>,
        coordinates: Option<(f64, f64)>,
    ) -> Option<Arc<Place>> {
        let known = address.and_then(|address| self.place(address));
        known.or_else(|| {
            let (latitude, longitude) = coordinates?;
            let on_the_globe = latitude.abs() <= 90.0 && longitude.abs() <= 180.0;
            on_the_globe.then(|| Arc::new(Place { latitude, longitude, ..Place::default() }))
        })
    }
}

impl Locate for Geography {
    fn place(&self, address: IpAddr) -> Option<Arc<Place>> {
        self.current.load().as_ref()?.place(address)
    }

    fn spot(&self, address: IpAddr) -> Option<Spot> {
        self.current.load().as_ref()?.spot(address)
    }
}
