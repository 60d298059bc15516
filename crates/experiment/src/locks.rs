//! Locks that keep searches apart: two never load one target, and they take turns on this machine,
//! as each would measure the other.
//!
//! A lock is an advisory one of the kernel (`flock(2)`) on an empty file of the user's runtime
//! folder, so it is gone when its process is, however that ends. Searches of other users are not
//! seen.

use crate::control::{Control, News};
use plimsoll_units::hash::fnv_1a;
use plimsoll_units::own::OwnFolder;
use rustix::fs::{FlockOperation, OFlags, flock};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

/// How often a lock that another one holds is tried again.
const STEP: Duration = Duration::from_millis(100);
/// The most characters of a name that stand in the file's name as they are.
const MOST_NAME: usize = 80;
/// The most bytes of what a lock's file says of its holder.
const MOST_HOLDER: u64 = 512;

/// A lock; free when dropped.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "holds the lock while it is open")] File);

/// What came of trying.
#[derive(Debug)]
pub enum Tried {
    /// It is ours.
    Ours(Lock),
    /// Another process holds it.
    Held(Holder),
}

/// Who holds a lock, as far as can be told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holder {
    /// Its process.
    pub process: Option<u32>,
    /// What it does, in a few words.
    pub deed: String,
}

impl Holder {
    fn read(text: &str) -> Self {
        let (process, deed) = text.split_once('\n').unwrap_or((text, ""));
        let deed = deed.trim().chars().filter(|c| !c.is_control()).collect();
        Self { process: process.trim().parse().ok(), deed }
    }
}

/// ` (process 123, of 127.0.0.1:80)`; nothing where nothing is known.
impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let process = self.process.map(|id| format!("process {id}"));
        let deed = Some(self.deed.clone()).filter(|deed| !deed.is_empty());
        let parts: Vec<String> = process.into_iter().chain(deed).collect();
        if parts.is_empty() { Ok(()) } else { write!(f, " ({})", parts.join(", ")) }
    }
}

/// The folder of the locks: `plimsoll` in the user's runtime folder, `$XDG_RUNTIME_DIR`, else one
/// of the user's own in `/tmp`.
fn folder(runtime: Option<String>) -> io::Result<OwnFolder> {
    let user = rustix::process::getuid().as_raw();
    let runtime = runtime.map(PathBuf::from);
    let folder = match runtime.filter(|path| path.is_absolute() && path.is_dir()) {
        Some(runtime) => runtime.join("plimsoll"),
        None => PathBuf::from(format!("/tmp/plimsoll-{user}")),
    };
    Ok(OwnFolder::make(&folder)?)
}

/// A file's name for a lock on anything: readable, and different for what is different.
fn file_name(what: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".:-[]".contains(c) { c } else { '_' };
    let readable: String = what.chars().map(plain).take(MOST_NAME).collect();
    // Two names may read the same.
    let hash = fnv_1a(what.as_bytes());
    format!("{readable}-{hash:016x}.lock")
}

fn attempt(folder: &OwnFolder, name: &str, deed: &str) -> io::Result<Tried> {
    let mut file = folder.file(name.as_ref(), OFlags::RDWR | OFlags::CREATE)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut text = String::new();
            let _ = file.take(MOST_HOLDER).read_to_string(&mut text);
            return Ok(Tried::Held(Holder::read(&text)));
        }
        Err(error) => return Err(error.into()),
    }
    file.set_len(0)?;
    writeln!(file, "{}\n{deed}", std::process::id())?;
    Ok(Tried::Ours(Lock(file)))
}

/// The locks of a user, in their folder.
pub struct Locks {
    folder: io::Result<OwnFolder>,
}

impl Locks {
    /// Those of the user whose runtime folder, `$XDG_RUNTIME_DIR`, this is.
    #[must_use]
    pub fn new(runtime: Option<String>) -> Self {
        Self { folder: folder(runtime) }
    }

    /// Tries to lock what is so called, for a deed in a few words. `None`, and said so, where locks
    /// cannot be had at all: then a search goes on without.
    pub fn try_lock(&self, what: &str, deed: &str, control: &dyn Control) -> Option<Tried> {
        let tried = match &self.folder {
            Ok(folder) => attempt(folder, &file_name(what), deed),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        };
        match tried {
            Ok(tried) => Some(tried),
            Err(error) => {
                control.tell(News::Warns(&format!(
                    "note: other searches are not kept away, as no lock can be had: {error}"
                )));
                None
            }
        }
    }

    /// Waits for a turn with what is so called, and says `why`, with who has it, where it has to.
    /// `None` where it cannot be had, or where nobody wants it any more.
    ///
    /// Whoever wants a turn first takes a place at the head of the queue, which is a lock of its
    /// own, and leaves it with the turn. So one who takes turn after turn stands behind one who
    /// waits already.
    pub fn wait_for_turn(
        &self,
        what: &str,
        deed: &str,
        why: impl Fn(&Holder) -> String,
        control: &dyn Control,
    ) -> Option<Lock> {
        let mut said = false;
        let mut wait = |what: &str| loop {
            match self.try_lock(what, deed, control)? {
                Tried::Ours(lock) => return Some(lock),
                Tried::Held(_) if !control.goes_on() => return None,
                Tried::Held(holder) if !said => {
                    said = true;
                    control.tell(News::Warns(&why(&holder)));
                }
                Tried::Held(_) => {}
            }
            pause(STEP);
        };
        let _head = wait(&format!("{what} queue"))?;
        wait(what)
    }
}

/// Waits a little.
#[expect(clippy::disallowed_methods, reason = "searches wait for each other")]
pub fn pause(span: Duration) {
    std::thread::sleep(span);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_readable_and_differ() {
        assert!(file_name("127.0.0.1:80").starts_with("127.0.0.1:80-"));
        assert_ne!(file_name("/tmp/a b"), file_name("/tmp/a_b"));
        assert!(file_name(&"/x".repeat(500)).len() < 120);
        assert!(!file_name("../../etc").contains('/'));
    }

    #[test]
    fn a_lock_is_held_once_and_free_again() {
        let folder = tempfile::tempdir().unwrap();
        let folder = OwnFolder::make(folder.path()).unwrap();
        let attempt = |deed| attempt(&folder, "a.lock", deed);
        let first = attempt("of 127.0.0.1:80").unwrap();
        assert!(matches!(first, Tried::Ours(_)));
        let Tried::Held(holder) = attempt("").unwrap() else { panic!("held twice") };
        assert_eq!(holder.process, Some(std::process::id()));
        let text = format!(" (process {}, of 127.0.0.1:80)", std::process::id());
        assert_eq!(holder.to_string(), text);
        drop(first);
        assert!(matches!(attempt("").unwrap(), Tried::Ours(_)));
    }

    #[test]
    fn holders_are_read_as_far_as_they_can_be() {
        assert_eq!(Holder::read("").to_string(), "");
        assert_eq!(Holder::read("7\n").to_string(), " (process 7)");
        assert_eq!(Holder::read("x\nof \u{1b}[1mh").to_string(), " (of [1mh)");
    }
}
