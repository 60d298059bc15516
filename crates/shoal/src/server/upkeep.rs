//! What happens by itself: expiry, snapshots, the index, files that are read again.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::watched::Watched;
use super::{Shared, StartError, fixed, tables};
use crate::registry::Base;

/// How often it is looked whether something is due.
const TICK: Duration = Duration::from_millis(50);
/// Entries looked at in one hold of the registry's lock: some tens of microseconds.
const BATCH: usize = 128;
/// How often it is looked whether a file is another one: the geographic database, the certificate,
/// the list of caches that run no agent, the tables.
const FILES_NS: u64 = 5_000_000_000;

/// The tables that are read again when they change.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) keys: Option<Watched>,
    pub(super) sites: Option<Watched>,
}

pub(super) fn spawn(
    shared: Arc<Shared>,
    mut list: fixed::Watch,
    mut tables: Tables,
) -> Result<JoinHandle<()>, StartError> {
    let run = move || {
        let mut files_ns = 0;
        let mut replaced = Replaced::default();
        look(&shared, &mut list, &mut tables);
        while !shared.stopped() {
            tick(&shared, &mut replaced);
            let now = shared.clock.now();
            let rereads = shared.rereads();
            if rereads {
                forget(&shared, &mut list, &mut tables);
            }
            if rereads || now.elapsed_ns >= files_ns + FILES_NS {
                files_ns = now.elapsed_ns;
                look(&shared, &mut list, &mut tables);
            }
            if now.elapsed_ns >= shared.settle_ns {
                shared.set_ready();
            }
            std::thread::park_timeout(TICK);
        }
    };
    std::thread::Builder::new().name("upkeep".to_owned()).spawn(run).map_err(StartError::Thread)
}

/// All files are to be read, changed or not.
fn forget(shared: &Shared, list: &mut fixed::Watch, tables: &mut Tables) {
    shared.geography.forget();
    if let Some(certificate) = &shared.tls {
        certificate.forget();
    }
    list.forget();
    tables.keys.iter_mut().chain(&mut tables.sites).for_each(Watched::forget);
}

/// Looks at all files, and says which of them cannot be read any more, or can again.
fn look(shared: &Shared, list: &mut fixed::Watch, tables: &mut Tables) {
    shared.look_around();
    if shared.geography.has_file() {
        let looked = shared.geography.refresh();
        shared.metrics.geography(&looked);
        shared.looked_at("geo", &looked);
    }
    if let Some(certificate) = &shared.tls {
        let looked = certificate.refresh();
        shared.metrics.tls.refreshed(&looked);
        shared.looked_at("tls-cert", &looked);
    }
    if list.has_file() {
        shared.looked_at("static", &list.refresh(shared));
    }
    if let Some(file) = &mut tables.keys {
        shared.looked_at("keys", &tables::keys(shared, file));
    }
    if let Some(file) = &mut tables.sites {
        let sites = tables::sites(file);
        let looked = sites.map(|sites| sites.map(|sites| list.set_sites(shared, sites)).is_some());
        shared.looked_at("sites", &looked);
    }
}

fn tick(shared: &Shared, replaced: &mut Replaced) {
    // In batches: a heartbeat, and with it its thread's look-ups, waits for one at most.
    while shared.registry().sweep(shared.clock.now(), BATCH).more {
        std::thread::yield_now();
    }
    shared.registry().publish(shared.clock.now());
    let rebuild = shared.registry().rebuild();
    if let Some(rebuild) = rebuild {
        let rebuilt = rebuild.build();
        replaced.0.push(shared.registry().adopt(shared.clock.now(), rebuilt));
    }
    replaced.free();
}

/// Bases that others replaced. They are kept until nobody reads them any more: who lets go of one
/// last frees all of it, which takes some 10 ms at 100,000 members, and would be a thread that
/// answers.
#[derive(Debug, Default)]
struct Replaced(Vec<Arc<Base>>);

impl Replaced {
    /// Frees those that nobody reads. Not under the lock, and in parts: those who answer meanwhile
    /// may share the core.
    fn free(&mut self) {
        for base in std::mem::take(&mut self.0) {
            match Arc::try_unwrap(base) {
                Ok(base) => base.free(BATCH, std::thread::yield_now),
                Err(read) => self.0.push(read),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_freed_here_when_its_last_reader_let_go() {
        let base = Arc::new(Base::default());
        let reader = Arc::clone(&base);
        let mut replaced = Replaced(vec![base]);
        replaced.free();
        assert_eq!((replaced.0.len(), Arc::strong_count(&reader)), (1, 2));
        drop(reader);
        replaced.free();
        assert!(replaced.0.is_empty());
    }
}
