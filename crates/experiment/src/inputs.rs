//! The files that a plan reads. Cells depend on what they hold as they do on the plan's text, and
//! an experiment keeps copies of the small ones. A folder is a run, and known by its database.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use plimsoll_runs::experiment::INPUTS;
use plimsoll_runs::own;
use plimsoll_units::failure::FileError;
use plimsoll_units::hash::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::ExperimentError;

/// Files up to this size are known by their digest, bytes; greater ones by their length and when
/// they were last changed, as reading them takes longer than many an experiment.
const MAX_DIGESTED: u64 = 1 << 28;
/// Files up to this size are kept, bytes.
pub(crate) const MAX_KEPT: u64 = 1 << 24;
/// The database of a run.
const DATABASE: &str = "run.sqlite";
/// The list of the files, in the folder that keeps them.
pub(crate) const LIST: &str = "inputs.json";

/// A file that a plan reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Input {
    /// Its path, from the root.
    pub(crate) path: PathBuf,
    /// Its length; `None` of a pipe, which can be read only once.
    pub(crate) bytes: Option<u64>,
    /// Its SHA-256, in hexadecimal; `None` of a pipe and of a file beyond 256 MiB.
    sha256: Option<String>,
    /// When it was last changed, nanoseconds since 1970, where there is no digest of it.
    changed_ns: Option<u64>,
    /// Its copy in the folder; `None` of a pipe, of a run, and of a file beyond
    /// 16 MiB.
    pub(crate) kept_as: Option<String>,
}

/// What has become of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It holds what it held.
    Same,
    /// It holds something else.
    Changed,
    /// It cannot be read.
    Gone,
}

impl Input {
    /// Whether a file at a path holds what this one held; of a pipe nothing is known.
    pub(crate) fn is_at(&self, path: &Path) -> io::Result<bool> {
        if self.bytes.is_none() {
            return Ok(true);
        }
        let now = input(path, 1)?;
        Ok((&now.sha256, now.bytes, now.changed_ns) == (&self.sha256, self.bytes, self.changed_ns))
    }
}

/// The files of a plan, each once.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn inputs(files: &[PathBuf]) -> Result<Vec<Input>, ExperimentError> {
    let mut found: Vec<Input> = Vec::new();
    for file in files {
        let input = input(file, found.len() + 1).map_err(FileError::of("read", file))?;
        if found.iter().all(|other| other.path != input.path) {
            found.push(input);
        }
    }
    Ok(found)
}

/// Those inputs that are some of the files, in the order of the files.
pub(crate) fn of(inputs: &[Input], files: &[PathBuf]) -> Vec<Input> {
    let path = |file: &PathBuf| std::path::absolute(file).unwrap_or_else(|_| file.clone());
    let found = files.iter().map(path);
    found.filter_map(|path| inputs.iter().find(|of| of.path == path).cloned()).collect()
}

fn input(file: &Path, number: usize) -> io::Result<Input> {
    let (path, mut about) = (std::path::absolute(file)?, fs::metadata(file)?);
    let is_run = about.is_dir();
    let database = file.join(DATABASE);
    let file = if is_run { &database } else { file };
    if is_run {
        about = fs::metadata(file)?;
    }
    if !about.is_file() {
        return Ok(Input { path, bytes: None, sha256: None, changed_ns: None, kept_as: None });
    }
    let bytes = about.len();
    let changed = about.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let changed_ns = u64::try_from(changed.as_nanos()).unwrap_or(u64::MAX);
    let (sha256, changed_ns) = match bytes <= MAX_DIGESTED {
        true => (Some(digest(&mut File::open(file)?)?), None),
        false => (None, Some(changed_ns)),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = unnumbered(&path, &name);
    let kept_as = (!is_run && bytes <= MAX_KEPT).then(|| format!("{number}-{name}"));
    Ok(Input { path, bytes: Some(bytes), sha256, changed_ns, kept_as })
}

/// The name of a file, without the number that a copy has in the folder of a run.
fn unnumbered<'a>(path: &Path, name: &'a str) -> &'a str {
    let is_copy = path.parent().is_some_and(|folder| folder.ends_with(INPUTS));
    let rest = name.split_once('-').filter(|(number, _)| number.parse::<u32>().is_ok());
    rest.filter(|_| is_copy).map_or(name, |(_, rest)| rest)
}

fn digest(file: &mut File) -> io::Result<String> {
    let (mut digest, mut block) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut block)? {
            0 => return Ok(hex(&digest.finalize())),
            read => digest.update(&block[..read]),
        }
    }
}

/// A digest of what files hold, wherever they lie; `None` where there are none.
pub(crate) fn sha256(inputs: &[Input]) -> Option<String> {
    (!inputs.is_empty()).then(|| hex(&Sha256::digest(identity(inputs))))
}

/// What identifies the content of files, wherever they lie.
pub(crate) fn identity(inputs: &[Input]) -> String {
    let of = |input: &Input| match (&input.sha256, input.bytes, input.changed_ns) {
        (Some(sha256), ..) => sha256.clone(),
        (None, Some(bytes), Some(changed_ns)) => format!("{bytes} bytes of {changed_ns}"),
        _ => "a pipe".to_owned(),
    };
    inputs.iter().map(of).collect::<Vec<_>>().join("\0")
}

/// Keeps the small files of a plan in the folder of its run or experiment, and the list of all.
/// They are their owner's alone: data may be passwords.
///
/// # Errors
/// What cannot be read or written.
pub(crate) fn keep(inputs: &[Input], folder: &Path) -> Result<(), ExperimentError> {
    if inputs.is_empty() {
        return Ok(());
    }
    let folder = folder.join(INPUTS);
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| ExperimentError::Artifact { path, source }
    };
    fs::create_dir_all(&folder).map_err(failed(&folder))?;
    for input in inputs {
        if let Some(name) = &input.kept_as {
            let path = folder.join(name);
            let copied = File::open(&input.path)
                .and_then(|mut from| io::copy(&mut from, &mut own::create(&path)?));
            copied.map_err(failed(&path))?;
        }
    }
    let path = folder.join(LIST);
    let text = serde_json::to_string_pretty(inputs).map_err(io::Error::other);
    let written = text.and_then(|text| own::write(&path, (text + "\n").as_bytes()));
    written.map_err(failed(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_what_they_hold() {
        let place = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = place.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let of = |path: &PathBuf| identity(&inputs(std::slice::from_ref(path)).unwrap());
        let (one, other) = (file("one", "a"), file("other", "a"));
        assert_eq!(of(&one), of(&other));
        let before = of(&one);
        assert_ne!(before, of(&file("one", "b")));
        assert_eq!(inputs(&[one.clone(), one.clone(), other]).unwrap().len(), 2);
        assert_eq!(of(&PathBuf::from("/dev/null")), "a pipe");
        let missing = inputs(&[place.path().join("none")]).unwrap_err();
        assert!(missing.to_string().contains("none"), "{missing}");
    }

    #[test]
    fn small_files_are_kept_and_all_are_listed() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join(INPUTS)).unwrap();
        let day = place.path().join("day.csv");
        fs::write(&day, "time,rate\n").unwrap();
        let great = place.path().join("great.bin");
        File::create(&great).unwrap().set_len(MAX_KEPT + 1).unwrap();
        keep(&inputs(&[day, great]).unwrap(), place.path()).unwrap();
        let kept = place.path().join(INPUTS);
        assert_eq!(fs::read_to_string(kept.join("1-day.csv")).unwrap(), "time,rate\n");
        let list = fs::read_to_string(kept.join(LIST)).unwrap();
        let list: serde_json::Value = serde_json::from_str(&list).unwrap();
        assert_eq!(list[1]["bytes"], MAX_KEPT + 1);
        let mode = fs::metadata(kept.join("1-day.csv")).unwrap().permissions();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600);
        assert!(list[1]["kept_as"].is_null() && list[1]["sha256"].is_string(), "{list}");
    }
}
