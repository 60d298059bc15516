//! The files of a folder: what is listed, and nothing else, can be opened.

use std::fs::{self, File};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};

/// The most files of a list, and how deep folders go.
const MOST: usize = 100_000;
const DEPTH: usize = 8;
/// The databases by which a folder is one of a run, or of an experiment.
const DATABASES: [&str; 2] = ["run.sqlite", "experiment.sqlite"];

/// The files of a folder.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// Regular files, by their paths.
    pub(super) all: Vec<Listed>,
    /// Whether there is a link, which is in no list.
    pub(super) has_link: bool,
}

/// A file of a list.
#[derive(Debug)]
pub(super) struct Listed {
    /// Its path in the folder, its parts joined by slashes.
    pub(super) path: String,
    /// Its length.
    pub(super) bytes: u64,
}

impl Files {
    /// Those of a folder; `None` where it is none, or a link.
    pub(super) fn of(folder: &Path) -> Option<Self> {
        if !fs::symlink_metadata(folder).ok()?.is_dir() {
            return None;
        }
        let mut files = Self::default();
        files.walk(folder, "", DEPTH);
        files.all.sort_by(|a, b| a.path.cmp(&b.path));
        Some(files)
    }

    /// Whether they are those of a run or of an experiment.
    pub(super) fn is_run(&self) -> bool {
        self.all.iter().any(|of| DATABASES.contains(&of.path.as_str()))
    }

    /// What cannot be read, or is no text, is not listed.
    fn walk(&mut self, folder: &Path, path: &str, depth: usize) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let (Ok(meta), Ok(name)) = (entry.metadata(), entry.file_name().into_string()) else {
                continue;
            };
            let path = if path.is_empty() { name } else { format!("{path}/{name}") };
            if meta.is_symlink() {
                self.has_link = true;
            } else if meta.is_dir() && depth > 0 {
                self.walk(&entry.path(), &path, depth - 1);
            } else if meta.is_file() && self.all.len() < MOST {
                self.all.push(Listed { path, bytes: meta.len() });
            }
        }
    }
}

/// Opens a file below a folder, with every link refused; `None` where it is not there, or is no
/// regular file. Says how long it is.
pub(super) fn open(folder: &Path, path: &str) -> Option<(File, u64)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let below = openat(CWD, folder, flags, Mode::empty()).ok()?;
    // A pipe is opened without waiting for who writes, and then refused.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = File::from(openat2(&below, path, flags, Mode::empty(), within).ok()?);
    let meta = file.metadata().ok()?;
    meta.is_file().then_some((file, meta.len()))
}
