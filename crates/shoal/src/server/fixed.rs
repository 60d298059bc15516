//! Caches that run no agent: a file of them, read again when it changes.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use super::Shared;
use super::watched::Watched;
use crate::fixed::{Fixed, List, ListError, MOST_BYTES};
use crate::heartbeat::Heartbeat;
use crate::order::Sites;
use crate::registry::Identity;

/// Caches that are listed in one hold of the registry's lock: each is looked up in the geographic
/// database.
const BATCH: usize = 8;

/// Caches left out that are named one by one.
const MOST_NAMED: usize = 10;

/// Why the list is not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FixedError {
    /// It cannot be read.
    #[error("read {0}")]
    Read(PathBuf, #[source] io::Error),
    /// It is none.
    #[error("read {0}")]
    List(PathBuf, #[source] ListError),
}

/// The file, if there is one, and what of it is in force.
#[derive(Debug)]
pub(super) struct Watch {
    file: Option<Watched>,
    /// Without the networks of the list.
    sites: Sites,
    listed: Vec<Fixed>,
}

impl Watch {
    pub(super) fn new(path: Option<PathBuf>, sites: Sites) -> Self {
        let file = path.map(|path| Watched::new(path, MOST_BYTES as u64));
        Self { file, sites, listed: Vec::new() }
    }

    pub(super) fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// The file is read with the next look, whatever it is.
    pub(super) fn forget(&mut self) {
        if let Some(file) = &mut self.file {
            file.forget();
        }
    }

    /// Takes another table of sites, beside the networks of the list.
    pub(super) fn set_sites(&mut self, shared: &Shared, sites: Sites) {
        self.sites = sites;
        self.pin(shared);
    }

    /// Reads the file if it is another one than it was, and lists what it says; true if it did.
    /// Where it cannot be read or is no list, what was listed stays; that is counted.
    pub(super) fn refresh(&mut self, shared: &Shared) -> Result<bool, FixedError> {
        let changed = self.changed(shared);
        let count = changed.map(|changed| changed.map(|list| self.put(shared, list.caches)));
        shared.metrics.fixed(&count);
        count.map(|count| count.is_some())
    }

    fn changed(&mut self, shared: &Shared) -> Result<Option<List>, FixedError> {
        let Some(file) = &mut self.file else { return Ok(None) };
        let text = file.changed();
        let at = || file.path().to_owned();
        let Some(text) = text.map_err(|error| FixedError::Read(at(), error))? else {
            return Ok(None);
        };
        let (list, left_out) = List::parse(&text).map_err(|error| FixedError::List(at(), error))?;
        for error in left_out.iter().take(MOST_NAMED) {
            shared.say(&format!("--static: left out: {error}"));
        }
        if let Some(more) = left_out.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
            shared.say(&format!("--static: left out: {more} more"));
        }
        Ok(Some(list))
    }

    /// Lists these instead of those before. Returns how many are listed.
    fn put(&mut self, shared: &Shared, caches: Vec<Fixed>) -> usize {
        let unix_s = shared.clock.now().unix_s;
        // What changed its name is another cache; its networks do not stand in the registry.
        let fact = |cache: &Fixed| Fixed { networks: Vec::new(), ..cache.clone() };
        let mut kept: Vec<Fixed> = caches.iter().map(fact).collect();
        kept.sort_by_key(key);
        let is_kept = |cache: &Fixed| {
            let found = kept.binary_search_by_key(&key(cache), key);
            found.is_ok_and(|index| kept[index] == fact(cache))
        };
        let gone: Vec<Identity> = self.listed.iter().filter(|one| !is_kept(one)).map(id).collect();
        for batch in gone.chunks(BATCH) {
            shared.registry().unfix(batch);
            std::thread::yield_now();
        }
        let mut count = 0;
        for batch in caches.chunks(BATCH) {
            let beats: Vec<Heartbeat> = batch.iter().map(|cache| cache.beat(unix_s)).collect();
            let now = shared.clock.now();
            count += shared.registry().fix(now, &beats, &*shared.geography);
            std::thread::yield_now();
        }
        self.listed = caches;
        self.pin(shared);
        count
    }

    /// Puts the table of sites and the networks of the list in force.
    fn pin(&self, shared: &Shared) {
        let mut sites = self.sites.clone();
        for cache in &self.listed {
            for network in &cache.networks {
                sites.pin(*network, cache.address);
            }
        }
        shared.sites.store(Arc::new(sites));
    }
}

fn key(cache: &Fixed) -> (IpAddr, u16) {
    (cache.address, cache.port)
}

fn id(cache: &Fixed) -> Identity {
    Identity { address: Some(cache.address), private_ip: None, port: cache.port }
}
