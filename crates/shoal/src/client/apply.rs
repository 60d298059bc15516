//! `CVMFS_HTTP_PROXY` in a file of settings that a shell reads, and files that are never half.
//!
//! Source: POSIX, `rename`: who opens the name finds the old file or the new one. The new one is on
//! disk (`fsync`) before it gets the name, and has the mode and the owner of the old.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The variable.
pub const NAME: &str = "CVMFS_HTTP_PROXY";
/// The most of a file of settings that is read.
const MOST_BYTES: u64 = 1 << 20;

/// What a line assigns to the variable, as it stands there.
fn assigned(line: &str) -> Option<(&str, &str)> {
    let trimmed = line.trim_start();
    let rest = trimmed.strip_prefix("export").map_or(trimmed, |rest| {
        if rest.starts_with([' ', '\t']) { rest.trim_start() } else { trimmed }
    });
    let value = rest.strip_prefix(NAME)?.strip_prefix('=')?;
    Some((&line[..line.len() - value.len()], value))
}

/// The value that a file's text gives the variable: that of the last line which does.
#[must_use]
pub fn value_of(text: &str) -> Option<String> {
    let (_, value) = text.lines().filter_map(assigned).next_back()?;
    let value = value.trim();
    let inner = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => value[1..].split(quote).next().unwrap_or_default(),
        _ => value.split([' ', '\t', '#']).next().unwrap_or_default(),
    };
    Some(inner.to_owned())
}

/// Whether a value may stand between double quotes in a file that a shell reads.
#[must_use]
pub fn may_stand(value: &str) -> bool {
    value.bytes().all(|b| (b' '..=b'~').contains(&b) && !matches!(b, b'"' | b'$' | b'`' | b'\\'))
}

/// A file's text with another value: the last line that assigns it is replaced, or one is added
/// behind; every other line stays as it is.
#[must_use]
pub fn with_value(text: &str, value: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let is_assigned = |line: &&str| assigned(line.trim_end_matches('\n')).is_some();
    let Some(at) = lines.iter().rposition(is_assigned) else {
        let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return format!("{text}{newline}{NAME}=\"{value}\"\n");
    };
    let mut out = lines[..at].concat();
    let line = lines[at];
    let head = assigned(line.trim_end_matches('\n')).map_or("", |(head, _)| head);
    out.push_str(&format!("{head}\"{value}\""));
    if line.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&lines[at + 1..].concat());
    out
}

/// A file's text; empty where there is none.
///
/// # Errors
/// Where it cannot be read, is no UTF-8 or longer than 1 MiB.
pub fn read(path: &Path) -> io::Result<String> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.len() > MOST_BYTES => {
            Err(io::Error::new(io::ErrorKind::FileTooLarge, "longer than 1 MiB"))
        }
        Ok(_) => fs::read_to_string(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error),
    }
}

/// Replaces a file as a whole, or makes it (mode 644). A link is followed: its target is replaced.
///
/// # Errors
/// What the system says; then the old file is as it was, and nothing is left beside it.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    let nowhere = || io::Error::new(io::ErrorKind::InvalidInput, "it has no name");
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(nowhere)?;
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let beside = folder.join(format!(".{name}.{}.new", std::process::id()));
    let written = write_beside(&beside, &path, text).and_then(|()| fs::rename(&beside, &path));
    if written.is_err() {
        // The error that counts is the first one.
        let _ = fs::remove_file(&beside);
        return written;
    }
    // The name itself is on disk once its folder is.
    File::open(&folder)?.sync_all()
}

fn write_beside(beside: &Path, path: &Path, text: &str) -> io::Result<()> {
    // What one killed in the middle has left under the same number.
    match fs::remove_file(beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(beside)?;
    file.write_all(text.as_bytes())?;
    match fs::metadata(path) {
        Ok(old) => {
            let new = file.metadata()?;
            if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
                std::os::unix::fs::fchown(&file, Some(old.uid()), Some(old.gid()))?;
            }
            file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o7777))?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            file.set_permissions(fs::Permissions::from_mode(0o644))?;
        }
        Err(error) => return Err(error),
    }
    file.sync_all()
}
