//! The geography that is in force: a database that is read again when its file changes.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;

use super::{Locate, Mmdb, MmdbError, Place, Spot};
use plimsoll_net::FileVersion;

/// Where addresses are, by a file or, with none, by what agents say of themselves.
///
/// Reads go on with the old database while a new one is read.
#[derive(Debug, Default)]
pub struct Geography {
    path: Option<PathBuf>,
    current: ArcSwapOption<Mmdb>,
    seen: Mutex<Option<FileVersion>>,
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
        let stamp = FileVersion::of(path).map_err(|source| {
            // Whatever comes in its place is read.
            *seen = None;
            MmdbError::Read { path: path.display().to_string(), source }
        })?;
        if *seen == Some(stamp) {
            return Ok(false);
        }
        *seen = Some(stamp);
        self.current.store(Some(Arc::new(Mmdb::open(path)?)));
        Ok(true)
    }

    /// The file is read with the next [`Self::refresh`], whatever it is.
    pub fn forget(&self) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether there is a file.
    #[must_use]
    pub fn has_file(&self) -> bool {
        self.path.is_some()
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
