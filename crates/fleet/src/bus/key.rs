//! Keys of controllers and workers: Ed25519, in files of text.
//!
//! The secret one is a line `plimsoll-secret ed25519:BASE64` (the 32 bytes of the seed) in a file
//! that nobody else can read. The public one is a line `NAME ed25519:BASE64`, behind which labels
//! may stand: `w7 ed25519:… region=eu`. So a list of whom one trusts is made by `cat *.pub`.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plimsoll_units::failure::{Failure, FileError, Kind};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

/// What a secret key's line begins with.
const SECRET: &str = "plimsoll-secret";
/// What stands before a key.
const KIND: &str = "ed25519:";
/// The longest file of keys, bytes.
const LONGEST: u64 = 1 << 20;
/// The longest name, characters.
const LONGEST_NAME: usize = 64;

/// A public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey([u8; 32]);

/// What tells one key from another in a message: the beginning of its SHA-256.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyId(pub(super) [u8; 16]);

/// A secret key.
pub struct Secret {
    pair: Ed25519KeyPair,
    public: PublicKey,
}

/// Somebody whose key is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// What people call him.
    pub name: String,
    /// His key.
    pub key: PublicKey,
    /// What is said of him.
    pub labels: BTreeMap<String, String>,
}

/// Those who are known, by a file that may change.
#[derive(Debug, Clone)]
pub struct Keyring {
    path: PathBuf,
    known: Vec<Known>,
}

/// Why a file of keys is not used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// It cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// What it holds is no key, or no list of keys.
    #[error("read {path}:{line}: {why}")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// Others can read a secret key.
    #[error("use {0}: others can read it")]
    Open(PathBuf),
    /// The system has no randomness to give.
    #[error("draw a key: the system has no randomness")]
    Random,
}

impl Failure for KeyError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Open(path) => Some(format!("chmod 600 {}", path.display())),
            Self::Line { .. } => {
                Some("`plimsoll fleet key NAME` makes NAME.key and NAME.pub".to_owned())
            }
            Self::Random => None,
        }
    }
}

impl PublicKey {
    /// What tells it from others.
    #[must_use]
    pub fn id(&self) -> KeyId {
        let mut id = [0; 16];
        id.copy_from_slice(&digest(&SHA256, &self.0).as_ref()[..16]);
        KeyId(id)
    }

    /// Whether its owner has signed this.
    #[must_use]
    pub fn has_signed(&self, text: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(text, signature).is_ok()
    }

    fn parse(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text.strip_prefix(KIND)?).ok()?;
        Some(Self(bytes.try_into().ok()?))
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{KIND}{}", STANDARD.encode(self.0))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({})", self.public)
    }
}

impl Secret {
    fn of_seed(seed: &[u8]) -> Option<Self> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).ok()?;
        let public = PublicKey(pair.public_key().as_ref().try_into().ok()?);
        Some(Self { pair, public })
    }

    /// Draws one, and writes it to `NAME.key` and its public half to `NAME.pub`; neither may be
    /// there. Returns both paths.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn make(name: &Path) -> Result<(PathBuf, PathBuf), KeyError> {
        let mut seed = [0; 32];
        SystemRandom::new().fill(&mut seed).map_err(|_| KeyError::Random)?;
        let own = Self::of_seed(&seed).ok_or(KeyError::Random)?;
        let with = |end: &str| {
            let mut path = name.as_os_str().to_owned();
            path.push(end);
            PathBuf::from(path)
        };
        let (key, public) = (with(".key"), with(".pub"));
        let called = name.file_name().unwrap_or_default().to_string_lossy();
        if !is_name(&called) || called == SECRET {
            let why = "a name has letters, digits, `.`, `_` and `-`, 64 at most";
            return Err(KeyError::Line { path: key, line: 1, why });
        }
        let secret = format!("{SECRET} {KIND}{}\n", STANDARD.encode(seed));
        write_new(&public, 0o644, &format!("{called} {}\n", own.public))?;
        if let Err(error) = write_new(&key, 0o600, &secret) {
            // The half without the other is of no use, and was just made.
            let _ = std::fs::remove_file(&public);
            return Err(error);
        }
        Ok((key, public))
    }

    /// Reads one from its file.
    ///
    /// # Errors
    /// [`KeyError`]; one that others can read.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let file = std::fs::File::open(path).map_err(FileError::of("read", path))?;
        let about = file.metadata().map_err(FileError::of("read", path))?;
        // A container's keys are root's, and its group may read them.
        let is_lent = about.uid() == 0 && !rustix::process::geteuid().is_root();
        if about.mode() & (if is_lent { 0o037 } else { 0o077 }) != 0 {
            return Err(KeyError::Open(path.to_owned()));
        }
        let text = text_of(file).map_err(FileError::of("read", path))?;
        let seed = text.trim().strip_prefix(SECRET).map(str::trim_start);
        let seed = seed.and_then(|of| STANDARD.decode(of.strip_prefix(KIND)?).ok());
        let why = "expected `plimsoll-secret ed25519:…`";
        let wrong = || KeyError::Line { path: path.to_owned(), line: 1, why };
        Self::of_seed(&seed.ok_or_else(wrong)?).ok_or_else(wrong)
    }

    /// Its public half.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        self.public
    }

    /// Signs a text.
    pub(super) fn sign(&self, text: &[u8]) -> [u8; 64] {
        let mut signature = [0; 64];
        signature.copy_from_slice(self.pair.sign(text).as_ref());
        signature
    }
}

fn write_new(path: &Path, mode: u32, text: &str) -> Result<(), KeyError> {
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(mode).open(path);
    let write = file.and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()));
    Ok(write.map_err(FileError::of("write", path))?)
}

fn text_of(file: std::fs::File) -> io::Result<String> {
    let mut text = String::new();
    file.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it has more than 1 MiB"));
    }
    Ok(text)
}

/// Whether somebody can be called so.
fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !text.is_empty() && text.len() <= LONGEST_NAME && text.chars().all(allowed)
}

impl Keyring {
    /// Reads a list: a line `NAME KEY [LABEL=VALUE …]` each; those that are empty or begin with
    /// `#` are passed over.
    ///
    /// # Errors
    /// [`KeyError`]: a line that is wrong, a name or a key that is there twice.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let file = std::fs::File::open(path).map_err(FileError::of("read", path))?;
        let text = text_of(file).map_err(FileError::of("read", path))?;
        let mut known: Vec<Known> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let wrong = |why| KeyError::Line { path: path.to_owned(), line: number + 1, why };
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let of = known_of(line).map_err(wrong)?;
            if known.iter().any(|other| other.name == of.name) {
                return Err(wrong("a name that stands there before"));
            }
            if known.iter().any(|other| other.key == of.key) {
                return Err(wrong("a key that stands there before"));
            }
            known.push(of);
        }
        Ok(Self { path: path.to_owned(), known })
    }

    /// Reads the list again. A list that cannot be read any more knows nobody.
    pub fn read_again(&mut self) {
        self.known = Self::read(&self.path).map(|of| of.known).unwrap_or_default();
    }

    /// Who has a key.
    #[must_use]
    pub fn of(&self, id: KeyId) -> Option<&Known> {
        self.known.iter().find(|of| of.key.id() == id)
    }

    /// What they are called, in the order of the list.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(|of| of.name.as_str())
    }

    /// The list as it is read: a key a line, without comments.
    #[must_use]
    pub fn lines(&self) -> String {
        let line = |of: &Known| {
            let labels = of.labels.iter().map(|(name, value)| format!(" {name}={value}"));
            format!("{} {}{}\n", of.name, of.key, labels.collect::<String>())
        };
        self.known.iter().map(line).collect()
    }

    /// Whether nobody is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

fn known_of(line: &str) -> Result<Known, &'static str> {
    let mut words = line.split_whitespace();
    let name = words.next().filter(|name| is_name(name));
    if name == Some(SECRET) {
        return Err("this is a secret key, which goes nowhere; the public one is in NAME.pub");
    }
    let name = name.ok_or("expected a name of letters, digits, `.`, `_` and `-` first")?;
    let key = words.next().and_then(PublicKey::parse).ok_or("expected `ed25519:…` after a name")?;
    let mut labels = BTreeMap::new();
    for word in words {
        let label = label_of(word).ok_or("expected LABEL=VALUE behind a key")?;
        if labels.insert(label.0, label.1).is_some() {
            return Err("a label that stands there before");
        }
    }
    Ok(Known { name: name.to_owned(), key, labels })
}

/// Reads `LABEL=VALUE`.
#[must_use]
pub fn label_of(word: &str) -> Option<(String, String)> {
    let (label, value) = word.split_once('=')?;
    let is_whole = is_name(label) && is_name(value);
    is_whole.then(|| (label.to_owned(), value.to_owned()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    pub(in super::super) fn secret(seed: u8) -> Secret {
        Secret::of_seed(&[seed; 32]).unwrap()
    }

    #[test]
    fn a_key_is_made_once_read_and_is_nobody_elses() {
        let place = tempfile::tempdir().unwrap();
        let (key, public) = Secret::make(&place.path().join("w7")).unwrap();
        let again = Secret::make(&place.path().join("w7")).unwrap_err();
        assert!(again.to_string().contains("w7.pub"), "{again}");
        let own = Secret::read(&key).unwrap();
        let ring = Keyring::read(&public).unwrap();
        let known = ring.of(own.public().id()).unwrap();
        assert_eq!((&*known.name, known.key), ("w7", own.public()));
        assert!(own.public().has_signed(b"a", &own.sign(b"a")));
        assert!(!own.public().has_signed(b"b", &own.sign(b"a")));
        assert!(!secret(1).public().has_signed(b"a", &own.sign(b"a")));
        assert!(!format!("{own:?}").contains(&std::fs::read_to_string(&key).unwrap()[25..60]));
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(Secret::read(&key), Err(KeyError::Open(_))));
        assert!(Secret::make(&place.path().join("a b")).is_err());
        // A secret key is nobody's public one, though it looks like that.
        let told = Keyring::read(&key).unwrap_err().to_string();
        assert!(told.contains("secret"), "{told}");
        assert!(Secret::make(&place.path().join(SECRET)).is_err());
        assert!(!place.path().join("a b.pub").exists());
    }

    #[test]
    fn lists_say_where_they_are_wrong() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("known");
        let key = |seed: u8| secret(seed).public().to_string();
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Keyring::read(&path).map(|of| of.known)
        };
        let text = format!("# ours\n\na {} region=eu type=c5\nb {}\n", key(1), key(2));
        let known = read(&text).unwrap();
        assert_eq!((known.len(), &*known[0].labels["region"]), (2, "eu"));
        for (wrong, line) in [
            ("a\n".to_owned(), 1),
            (format!("a {}x\n", key(1)), 1),
            (format!("\na {} region\n", key(1)), 2),
            (format!("a {0}\nb {0}\n", key(1)), 2),
            (format!("a {}\na {}\n", key(1), key(2)), 2),
            (format!("a {} x=1 x=2\n", key(1)), 1),
            (format!("../a {}\n", key(1)), 1),
        ] {
            let said = read(&wrong).unwrap_err().to_string();
            assert!(said.contains(&format!("known:{line}:")), "{wrong}: {said}");
        }
        let mut ring = Keyring::read(&path).unwrap_or(Keyring { path: path.clone(), known });
        std::fs::remove_file(&path).unwrap();
        ring.read_again();
        assert!(ring.is_empty(), "a list that is gone trusts nobody");
    }
}
