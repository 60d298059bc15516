//! Real data that lies beside the repository, on machines that have it.

use std::path::{Path, PathBuf};

/// A file there; says that the test is skipped where there is none.
#[expect(clippy::print_stderr, reason = "whoever runs the tests must see what was left out")]
pub(crate) fn shared(file: &str, test: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let found = [beside, Path::new("/work").join("shared")].map(|folder| folder.join(file));
    let found = found.into_iter().find(|path| path.exists());
    if found.is_none() {
        eprintln!("skipped: {test}: no ../shared/{file}");
    }
    found
}
