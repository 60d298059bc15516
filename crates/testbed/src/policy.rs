//! The file that keeps the distribution from starting services, put in its place and taken away.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::error::TestbedError;

/// The file that maintainer scripts ask.
pub(crate) const POLICY: &str = "usr/sbin/policy-rc.d";
/// What it says for as long as packages are installed: 101 forbids every action.
pub(crate) const FORBIDS: &str =
    "#!/bin/sh\n# Plimsoll installs packages: no service is to be started.\nexit 101\n";
/// How the one ends that was there before.
const KEPT: &str = ".plimsoll-kept";
/// Where the file of before lies meanwhile.
pub(crate) fn kept(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(KEPT);
    PathBuf::from(name)
}

/// Puts our file in its place.
pub(crate) fn forbid(path: &Path) -> Result<(), TestbedError> {
    match fs::rename(path, kept(path)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        moved => moved.map_err(TestbedError::file("set aside", path))?,
    }
    let made = OpenOptions::new().write(true).create_new(true).mode(0o755).open(path);
    let written = made.and_then(|mut file| file.write_all(FORBIDS.as_bytes()));
    written.map_err(TestbedError::file("write", path))
}

/// Puts back what was there before. Returns whether there was anything of ours.
pub(crate) fn put_back(path: &Path) -> Result<bool, TestbedError> {
    match fs::rename(kept(path), path) {
        Ok(()) => return Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(TestbedError::file("put back", path)(error)),
    }
    // One of ours may be cut short where its writer was killed.
    let is_ours = fs::read_to_string(path).is_ok_and(|text| FORBIDS.starts_with(&text));
    if is_ours {
        fs::remove_file(path).map_err(TestbedError::file("remove", path))?;
    }
    Ok(is_ours)
}
