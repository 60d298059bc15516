//! What happens by itself: expiry, snapshots, the index, files that are read again.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Shared, StartError, fixed};

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
        while !shared.stopped() {
            tick(&shared);
            let now = shared.clock.now();
            if now.elapsed_ns >= files_ns + FILES_NS {
                files_ns = now.elapsed_ns;
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

fn tick(shared: &Shared) {
    // In batches: a heartbeat, and with it its thread's look-ups, waits for one at most.
    while shared.registry().sweep(shared.clock.now(), BATCH).more {
        std::thread::yield_now();
    }
    shared.registry().publish(shared.clock.now());
    let rebuild = shared.registry().rebuild();
    if let Some(rebuild) = rebuild {
        let rebuilt = rebuild.build();
        let before = shared.registry().adopt(shared.clock.now(), rebuilt);
        // Not under the lock, and in parts: those who answer meanwhile may share the core.
        if let Some(before) = Arc::into_inner(before) {
            before.free(BATCH, std::thread::yield_now);
        }
    }
}
