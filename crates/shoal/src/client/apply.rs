//! `CVMFS_HTTP_PROXY` in a file of settings that a shell reads, and files that are never half.
//!
//! A change replaces exactly one assignment's value, and is believed only when a shell has read the
//! old text and the new one: the variable has the new value, every other its old one.
//!
//! Source: POSIX, `rename`: who opens the name finds the old file or the new one. The new one is on
//! disk (`fsync`) before it gets the name, and has the mode, the owner, the SELinux label and the
//! access list of the old.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{XattrFlags, fsetxattr, getxattr};
use rustix::io::Errno;

use super::settings::{NotSettings, Settings};
use super::shell::{self, Values};

/// The variable.
pub const NAME: &str = "CVMFS_HTTP_PROXY";
/// The most of a file of settings that is read.
const MOST_BYTES: u64 = 1 << 20;
/// The most assignments of the variable that are tried, from the last one on.
const MOST_TRIED: usize = 8;
/// What a file has beside its bytes, its owner and its mode, and must keep.
const ATTRIBUTES: [&str; 2] = ["security.selinux", "system.posix_acl_access"];

/// Why a file's text is not changed, and what to do instead.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub struct Refused {
    /// Why not.
    #[source]
    pub cause: Cause,
    /// What an operator can do: the line to change.
    pub by_hand: String,
}

/// Why a file's text is not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// It does more than set variables, so no shell is asked what it means.
    #[error("{0}, and only assignments, comments and tests of them are changed")]
    NotSettings(NotSettings),
    /// No assignment could be replaced so that the variable has the value and no other changes.
    #[error("a new value would not count, or would change other variables too")]
    Otherwise,
    /// The shell could not be asked.
    #[error("ask sh what it reads")]
    Shell(#[source] io::Error),
}

/// The value that a file's text gives the variable, as a shell reads it.
///
/// # Errors
/// See [`Refused`].
pub fn value_of(text: &str) -> Result<Option<String>, Refused> {
    let settings = settings_of(text)?;
    // Also as a default: `: "${NAME:=DIRECT}"`.
    if !settings.names.contains(NAME) {
        return Ok(None);
    }
    let mut values = values_of(text, &settings.names)?;
    Ok(values.remove(NAME).flatten())
}

/// Whether a value may stand between double quotes in a file that a shell reads.
#[must_use]
pub fn may_stand(value: &str) -> bool {
    value.bytes().all(|b| (b' '..=b'~').contains(&b) && !matches!(b, b'"' | b'$' | b'`' | b'\\'))
}

/// A file's text with another value of the variable: that of the last assignment that counts is
/// replaced, or one is added behind. Every other byte stays as it is.
///
/// # Errors
/// See [`Refused`].
pub fn with_value(text: &str, value: &str) -> Result<String, Refused> {
    let settings = settings_of(text)?;
    let mut names = settings.names.clone();
    names.insert(NAME.to_owned());
    let mut wanted = values_of(text, &names)?;
    let new = Some(value.to_owned());
    if wanted.insert(NAME.to_owned(), new.clone()) == Some(new) {
        return Ok(text.to_owned());
    }
    let replaced = settings.of(NAME).rev().take(MOST_TRIED).map(|assignment| {
        let (head, tail) = (&text[..assignment.value.start], &text[assignment.value.end..]);
        format!("{head}\"{value}\"{tail}")
    });
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let added = std::iter::once_with(|| format!("{text}{newline}{NAME}=\"{value}\"\n"));
    for new in replaced.chain(added) {
        // A text that a shell finds wrong is no way to do it, like one that it reads otherwise.
        if shell::values(&new, &names).is_ok_and(|values| values == wanted) {
            return Ok(new);
        }
    }
    Err(refused(text, Cause::Otherwise))
}

fn settings_of(text: &str) -> Result<Settings, Refused> {
    Settings::parse(text).map_err(|cause| refused(text, Cause::NotSettings(cause)))
}

fn values_of(text: &str, names: &BTreeSet<String>) -> Result<Values, Refused> {
    shell::values(text, names).map_err(|error| refused(text, Cause::Shell(error)))
}

fn refused(text: &str, cause: Cause) -> Refused {
    Refused { cause, by_hand: by_hand(text) }
}

/// What an operator does where we do not.
fn by_hand(text: &str) -> String {
    let is_set = |line: &str| line.trim_start().contains(&format!("{NAME}="));
    let last = text.lines().enumerate().filter(|(_, line)| is_set(line)).last();
    match last {
        Some((index, _)) => format!("set {NAME} in line {} by hand", index + 1),
        None => format!("add a line with {NAME} by hand"),
    }
}

/// The lines that differ between two texts, as `diff -u0` prints one change: those that go, and
/// those that come in their place. Empty where nothing differs.
#[must_use]
pub fn difference(path: &Path, old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let both = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = both.take_while(|(old, new)| old == new).count();
    let (gone, come) = (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);
    if gone.is_empty() && come.is_empty() {
        return String::new();
    }
    let path = path.display();
    let hunk = |lines: &[&str]| {
        let first = if lines.is_empty() { head } else { head + 1 };
        if lines.len() == 1 { first.to_string() } else { format!("{first},{}", lines.len()) }
    };
    let mut out = format!("--- {path}\n+++ {path}\n@@ -{} +{} @@\n", hunk(gone), hunk(come));
    let marked = gone.iter().map(|line| ('-', line)).chain(come.iter().map(|line| ('+', line)));
    for (mark, line) in marked {
        let _ = writeln!(out, "{mark}{line}");
    }
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
            keep_attributes(path, &file)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            file.set_permissions(fs::Permissions::from_mode(0o644))?;
        }
        Err(error) => return Err(error),
    }
    file.sync_all()
}

/// Gives the new file what the old one has of [`ATTRIBUTES`].
fn keep_attributes(old: &Path, new: &File) -> io::Result<()> {
    let mut value = vec![0; 1 << 16];
    for name in ATTRIBUTES {
        match getxattr(old, name, &mut value[..]) {
            Ok(length) => fsetxattr(new, name, &value[..length], XattrFlags::empty())?,
            // The file has none, or its file system knows none.
            Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
