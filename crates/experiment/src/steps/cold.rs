//! Cold caches: the server is restarted, which empties its own, and then the page cache of this
//! machine is dropped (Linux, *Documentation for /proc/sys/vm*, `drop_caches`), so that what it is
//! asked for is read from disk.

use crate::control::Control;
use crate::error::ColdError;
use crate::prepare::Prepared;
use crate::steps::restart::{Restart, Restarted, restart};
use rustix::fs::Access;
use std::path::Path;

/// The file that the kernel empties caches by, below the root of the file system.
const DROP_CACHES: &str = "proc/sys/vm/drop_caches";
/// Pages, and what is known of files.
const ALL: &str = "3\n";

/// Restarts the store of a plan, waits until it answers, and empties the page cache.
///
/// # Errors
/// [`ColdError`]: the restart failed, or this process may not empty the cache.
pub fn chill(
    prepared: &Prepared,
    how: &Restart<'_>,
    system: &Path,
    control: &dyn Control,
) -> Result<Restarted, ColdError> {
    let restarted = restart(prepared, how, control)?;
    if restarted == Restarted::Answers {
        empty(system)?;
    }
    Ok(restarted)
}

/// Whether this process may empty the page cache.
#[must_use]
pub fn may_empty(system: &Path) -> bool {
    rustix::fs::access(system.join(DROP_CACHES), Access::WRITE_OK).is_ok()
}

/// What emptying it writes to, for who is told before.
#[must_use]
pub fn described(system: &Path) -> String {
    format!("write what waits to disk, and drop the page cache by {}", shown(system))
}

fn shown(system: &Path) -> String {
    system.join(DROP_CACHES).display().to_string()
}

/// Writes to disk what waits for it, as only clean pages are dropped, and drops them.
pub(crate) fn empty(system: &Path) -> Result<(), ColdError> {
    rustix::fs::sync();
    let path = system.join(DROP_CACHES);
    std::fs::write(&path, ALL).map_err(|source| ColdError::Kernel { path, source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_kernel_is_told_and_its_refusal_is_an_error_with_its_place() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(DROP_CACHES);
        let refused = empty(root.path()).unwrap_err();
        assert!(matches!(&refused, ColdError::Kernel { path: of, .. } if *of == path));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        empty(root.path()).unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "3\n");
    }
}
