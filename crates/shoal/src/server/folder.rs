//! What a server keeps over a restart: the key of the caches' public names, and what an operator
//! decided. A folder with two files, each replaced as a whole.

use plimsoll_units::failure::{Failure, Kind};
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::registry::{By, Identity, Kept, Spot, State};

/// The folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Locked as long as the server lives: a second one would write over what this one keeps.
    _lock: fs::File,
    /// Held while a file is replaced: two at once would write into one another's.
    writing: Mutex<()>,
}

/// Why the folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// Another server uses it.
    #[error("another server keeps its state in {0}: give each a folder of its own")]
    Locked(PathBuf),
    /// A file cannot be read or written.
    #[error("use {0}")]
    Io(PathBuf, #[source] io::Error),
    /// The key is not one.
    #[error("{0} does not hold the 64 hexadecimal digits of a key")]
    Key(PathBuf),
    /// The decisions are no list of them.
    #[error("{0} is not a list of decisions")]
    Decisions(PathBuf, #[source] serde_json::Error),
}

/// A decision as it stands in the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Decision {
    /// Under which others reach it; earlier, its public one.
    address: Option<IpAddr>,
    /// Of earlier: what was decided held for this address only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    private_ip: Option<IpAddr>,
    port: u16,
    state: String,
    /// A peer's operator decided it.
    #[serde(default, skip_serializing_if = "is_false")]
    peer: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// What can be decided; that nothing is, withdraws what a peer says.
const STATES: [State; 3] = [State::Drained, State::Banned, State::Unverified];

impl Folder {
    /// Opens the folder, which is made where it is absent, and reads what it holds; a key is made
    /// where there is none.
    ///
    /// # Errors
    ///
    /// See [`FolderError`].
    pub fn open(path: &Path) -> Result<(Self, [u8; 32], Kept), FolderError> {
        fs::create_dir_all(path).map_err(|error| FolderError::Io(path.to_owned(), error))?;
        let folder = Self { path: path.to_owned(), _lock: lock(path)?, writing: Mutex::default() };
        let secret = folder.key()?;
        let kept = folder.decisions()?;
        Ok((folder, secret, kept))
    }

    fn key(&self) -> Result<[u8; 32], FolderError> {
        let path = self.path.join("names.key");
        match fs::read(&path) {
            Ok(text) => from_hex(text.trim_ascii()).ok_or(FolderError::Key(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let failed = |error| FolderError::Io(path.clone(), error);
                let secret = random_key().map_err(failed)?;
                let text: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
                self.replace("names.key", format!("{text}\n").as_bytes())?;
                Ok(secret)
            }
            Err(error) => Err(FolderError::Io(path, error)),
        }
    }

    fn decisions(&self) -> Result<Kept, FolderError> {
        let path = self.path.join("decisions.json");
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kept::default()),
            Err(error) => return Err(FolderError::Io(path, error)),
        };
        let list: Vec<Decision> = serde_json::from_slice(&text)
            .map_err(|error| FolderError::Decisions(path.clone(), error))?;
        let mut kept = Kept::default();
        let peers_first = |decision: &Decision| !decision.peer;
        let mut list = list;
        list.sort_by_key(peers_first);
        for Decision { address, private_ip, port, state, peer } in list {
            let Some(state) = STATES.into_iter().find(|known| known.name() == state) else {
                let error = serde::de::Error::custom(format!("no state `{state}` can be decided"));
                return Err(FolderError::Decisions(path, error));
            };
            let by = if peer { By::Peer } else { By::Operator };
            kept.set(by, Identity { address, private_ip, port }.spot(), state);
        }
        Ok(kept)
    }

    /// Writes what was decided. It is there, whole, when this returns, whatever happens then.
    ///
    /// `kept` is asked for all decisions once no other writing goes on, so that the last one to
    /// write knows them all.
    ///
    /// # Errors
    ///
    /// [`FolderError::Io`].
    pub fn keep(&self, kept: impl FnOnce() -> Kept) -> Result<(), FolderError> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let list: Vec<_> = kept()
            .iter()
            .map(|(by, &Spot { address, port }, state)| Decision {
                address,
                private_ip: None,
                port,
                state: state.name().to_owned(),
                peer: by == By::Peer,
            })
            .collect();
        let path = self.path.join("decisions.json");
        let mut text = serde_json::to_vec_pretty(&list)
            .map_err(|error| FolderError::Io(path, error.into()))?;
        text.push(b'\n');
        self.replace("decisions.json", &text)
    }

    /// Writes beside the file, and then in its place. What is in it is for its owner only.
    fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
        let beside = self.path.join(format!("{name}.new"));
        let write = || {
            let mut options = fs::OpenOptions::new();
            let mut file =
                options.write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&beside, self.path.join(name))?;
            fs::File::open(&self.path)?.sync_all()
        };
        write().map_err(|error| FolderError::Io(self.path.join(name), error))
    }
}

/// Locks the folder, until the file is closed.
fn lock(path: &Path) -> Result<fs::File, FolderError> {
    let at = path.join("lock");
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).mode(0o600).open(&at);
    let file = file.map_err(|error| FolderError::Io(at.clone(), error))?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(FolderError::Locked(path.to_owned())),
        Err(error) => Err(FolderError::Io(at, error.into())),
    }
}

/// A key for the names of caches, from the kernel.
///
/// # Errors
///
/// The kernel has none to give.
pub fn random_key() -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
    Ok(key)
}

/// Of 64 digits; `from_str_radix` would take a sign for one.
fn from_hex(text: &[u8]) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut key = [0; 32];
    for (byte, digits) in key.iter_mut().zip(text.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(key)
}

impl Failure for FolderError {
    fn kind(&self) -> Kind {
        Kind::Incomplete
    }
}
