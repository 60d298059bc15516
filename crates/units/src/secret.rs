//! Secrets: where one comes from, and the list of those that this process knows, whose values are
//! replaced by `***` wherever a text leaves it.
//!
//! The list is the process's own, and not handed from call to call: what is read as a secret once
//! must not be shown by anything, and one forgotten place would show it. Whatever writes a text for
//! people or for files asks [`hidden`] first: the terminal, the run's events and reasons, the
//! journal, the outputs of servers under test.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// What stands in the place of a secret's value.
pub const MARK: &str = "***";
/// The shortest value that is hidden, bytes: a shorter one stands in any text by chance.
const LEAST: usize = 4;
/// The shortest number that is hidden, digits: shorter ones are ports and counts.
const LEAST_DIGITS: usize = 8;
/// The longest secret, bytes.
const MOST: u64 = 1 << 20;

/// The values that are hidden, the longest first in each search.
static KNOWN: RwLock<BTreeSet<String>> = RwLock::new(BTreeSet::new());

/// Where a secret comes from. Its value is no part of it, so that it can be printed and stored.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// An environment variable of this program.
    Env(String),
    /// A file that nobody else may read.
    File(PathBuf),
}

/// As a plan has it.
impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Env(name) => write!(f, "{{ env = \"{name}\" }}"),
            Self::File(path) => write!(f, "{{ file = \"{}\" }}", path.display()),
        }
    }
}

/// Why a secret cannot be had. Its value is in none of them.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// A variable that is not set, or empty.
    #[error("the environment variable `{0}` is not set")]
    NotSet(String),
    /// A file that cannot be read.
    #[error("read {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// A file that others may read.
    #[error("{path} can be read by others: its mode is {mode:o}; chmod 600 {path}")]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// A value that cannot be hidden, or is none.
    #[error(
        "expected a secret that can be hidden in {from}, 4 bytes to 1 MiB of text and no short \
         number, found {found}"
    )]
    NotHidden {
        /// Where it comes from.
        from: String,
        /// What was found.
        found: String,
    },
}

impl Source {
    /// The value, which is hidden from now on. Files are told from `folder`; the newline at the
    /// end of one is no part of it.
    ///
    /// # Errors
    /// Where it cannot be had, cannot be hidden, or others may read its file.
    pub fn reveal(
        &self,
        environment: impl Fn(&str) -> Option<String>,
        folder: &Path,
    ) -> Result<String, SecretError> {
        let value = match self {
            Self::Env(name) => variable(name, environment)?,
            Self::File(file) => {
                let bytes = read_own(&folder.join(file))?;
                let wrong = |_| self.wrong("bytes that are no text");
                let text = String::from_utf8(bytes).map_err(wrong)?;
                text.strip_suffix('\n').map_or(text.clone(), str::to_owned)
            }
        };
        if !can_hide(&value) {
            return Err(self.wrong("less"));
        }
        learn(&value);
        Ok(value)
    }

    fn wrong(&self, found: &str) -> SecretError {
        SecretError::NotHidden { from: self.to_string(), found: found.to_owned() }
    }
}

/// The value of a variable of the environment, which is hidden from now on where it can be.
///
/// # Errors
/// Where it is not set, or empty.
pub fn variable(
    name: &str,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<String, SecretError> {
    let value = environment(name).filter(|value| !value.is_empty());
    let value = value.ok_or_else(|| SecretError::NotSet(name.to_owned()))?;
    learn(&value);
    Ok(value)
}

/// Whether a value is hidden: it does not stand in any text by chance.
fn can_hide(value: &str) -> bool {
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_word = ["true", "false", "null"].contains(&value);
    value.len() >= if is_number { LEAST_DIGITS } else { LEAST } && !is_word
}

/// What a file holds that nobody else may read.
///
/// # Errors
/// Where it cannot be read, others may read it, or it is longer than 1 MiB.
pub fn read_own(path: &Path) -> Result<Vec<u8>, SecretError> {
    let failed = |source| SecretError::File { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    let mode = about.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(SecretError::Open { path: path.to_owned(), mode });
    }
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MOST {
        let from = path.display().to_string();
        return Err(SecretError::NotHidden { from, found: "more".to_owned() });
    }
    Ok(bytes)
}

/// Hides a value from now on; of one with several lines each line too, as outputs have them one by
/// one. What stands in any text by chance, as a port does, cannot be hidden.
pub fn learn(value: &str) {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let parts = value.lines().map(str::trim).chain([value]);
    known.extend(parts.filter(|part| can_hide(part)).map(str::to_owned));
}

/// A text as it may be shown: with `***` in the place of every secret's value.
#[must_use]
pub fn hidden(text: &str) -> Cow<'_, str> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    if known.is_empty() {
        return Cow::Borrowed(text);
    }
    // A secret may be a part of another one: the longer one goes first.
    let mut found: Vec<&String> = known.iter().filter(|value| text.contains(*value)).collect();
    found.sort_unstable_by_key(|value| std::cmp::Reverse(value.len()));
    let hide = |text: Cow<'_, str>, value: &&String| Cow::Owned(text.replace(*value, MARK));
    match found.is_empty() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(found.iter().fold(Cow::Borrowed(text), hide).into_owned()),
    }
}

/// The length of the longest value that is hidden, bytes: a text that was cut may begin or end
/// with less than that of one.
#[must_use]
pub fn longest() -> usize {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.iter().map(String::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn values_are_hidden_the_longest_first() {
        learn("units-test-one");
        learn("units-test-one-and-more\nunits-test-line");
        assert_eq!(hidden("a units-test-one-and-more b"), "a *** b");
        assert_eq!(hidden("units-test-one, units-test-line"), "***, ***");
        assert!(matches!(hidden("nothing of it"), Cow::Borrowed(_)));
        for short in ["abc", "8080", "10.0.0", "true"] {
            learn(short);
            assert_eq!(hidden(short), short);
        }
        assert!(longest() >= 23);
    }

    #[test]
    fn a_file_is_read_where_it_is_its_owners_alone() {
        let folder = std::env::temp_dir().join(format!("plimsoll-secret-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("secret");
        std::fs::write(&file, "units-file-secret\n").unwrap();
        let source = Source::File(PathBuf::from("secret"));
        let reveal = |mode| {
            std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
            source.reveal(|_| None, &folder)
        };
        for mode in [0o644, 0o640, 0o604, 0o620] {
            let error = reveal(mode).unwrap_err();
            assert!(matches!(error, SecretError::Open { .. }), "{mode:o}: {error}");
        }
        assert_eq!(reveal(0o600).unwrap(), "units-file-secret");
        std::fs::write(&file, "a\n").unwrap();
        let short = reveal(0o600).unwrap_err().to_string();
        assert!(short.contains("4 bytes to 1 MiB"), "{short}");
        std::fs::remove_dir_all(folder).unwrap();
        let missing = source.reveal(|_| None, Path::new("/nowhere")).unwrap_err();
        assert!(matches!(missing, SecretError::File { .. }));
    }

    #[test]
    fn a_variable_has_to_be_set() {
        let of = |name: &str| Source::Env(name.to_owned());
        let environment = |name: &str| (name == "SET").then(|| "units-env-secret".to_owned());
        assert_eq!(of("SET").reveal(environment, Path::new("")).unwrap(), "units-env-secret");
        let error = of("UNSET").reveal(environment, Path::new("")).unwrap_err();
        assert_eq!(error.to_string(), "the environment variable `UNSET` is not set");
    }
}
