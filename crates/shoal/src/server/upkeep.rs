//! What happens by itself: expiry, snapshots, the index, files that are read again.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Shared, StartError, fixed};
use crate::registry::Base;

/// How often it is looked whether something is due.
const TICK: Duration = Duration::from_millis(50);
/// Entries looked at in one hold of the registry's lock: some tens of microseconds.
const BATCH: usize = 128;
/// How often it is looked whether a file is another one: the geographic database, the certificate,
/// the list of caches that run no agent.
const FILES_NS: u64 = 5_000_000_000;
/// An agent's interval where it does not say: after it, every living cache was heard.
const INTERVAL_NS: u64 = 30_000_000_000;

pub(super) fn spawn(
    shared: Arc<Shared>,
    mut list: Option<fixed::Watch>,
) -> Result<JoinHandle<()>, StartError> {
    let run = move || {
        let mut files_ns = 0;
        let mut replaced = Replaced::default();
        while !shared.stopped() {
            tick(&shared, &mut replaced);
            let now = shared.clock.now();
            if now.elapsed_ns >= files_ns + FILES_NS {
                files_ns = now.elapsed_ns;
                shared.look_around();
                shared.metrics.geography(&shared.geography.refresh());
                if let Some(certificate) = &shared.tls {
                    shared.metrics.tls.refreshed(&certificate.refresh());
                }
                if let Some(list) = &mut list {
                    // That it could not be read is counted.
                    let _ = list.refresh(&shared);
                }
            }
            if now.elapsed_ns >= INTERVAL_NS {
                shared.set_ready();
            }
            std::thread::park_timeout(TICK);
        }
    };
    std::thread::Builder::new().name("upkeep".to_owned()).spawn(run).map_err(StartError::Thread)
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
