//! Caches that run no agent: a file of them, read again when it changes.

use std::fs;
use std::io::{self, Read as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Shared;
use crate::fixed::{Fixed, List, ListError, MOST_BYTES};
use crate::heartbeat::Heartbeat;
use crate::order::Sites;
use crate::registry::Identity;
use crate::stamp::Stamp;

/// Caches that are listed in one hold of the registry's lock: each is looked up in the geographic
/// database.
const BATCH: usize = 8;

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

/// The file and what of it is in force.
#[derive(Debug)]
pub(super) struct Watch {
    path: PathBuf,
    /// Without the networks of the list.
    sites: Sites,
    seen: Option<Stamp>,
    listed: Vec<Fixed>,
}

impl Watch {
    pub(super) fn new(path: PathBuf, sites: Sites) -> Self {
        Self { path, sites, seen: None, listed: Vec::new() }
    }

    /// Reads the file if it is another one than it was, and lists what it says. Where it cannot be
    /// read or is no list, what was listed stays; that is counted.
    pub(super) fn refresh(&mut self, shared: &Shared) -> Result<(), FixedError> {
        let changed = self.changed();
        let count = changed.map(|changed| changed.map(|list| self.put(shared, list.caches)));
        shared.metrics.fixed(&count);
        count.map(drop)
    }

    fn changed(&mut self) -> Result<Option<List>, FixedError> {
        let failed = |error| FixedError::Read(self.path.clone(), error);
        let stamp = Stamp::of(&self.path).map_err(failed)?;
        if self.seen == Some(stamp) {
            return Ok(None);
        }
        // One that is broken is told of once.
        self.seen = Some(stamp);
        let text = read(&self.path).map_err(failed)?;
        let list = List::parse(&text).map_err(|error| FixedError::List(self.path.clone(), error));
        list.map(Some)
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
        let mut sites = self.sites.clone();
        for cache in &caches {
            for network in &cache.networks {
                sites.pin(*network, cache.address);
            }
        }
        shared.sites.store(Arc::new(sites));
        self.listed = caches;
        count
    }
}

fn key(cache: &Fixed) -> (IpAddr, u16) {
    (cache.address, cache.port)
}

fn id(cache: &Fixed) -> Identity {
    Identity { address: Some(cache.address), private_ip: None, port: cache.port }
}

/// A file, but not more of it than a list may have.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    fs::File::open(path)?.take(MOST_BYTES as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}
