//! Baselines: what the replications of a load, a search or an experiment came to, in one small file
//! that later ones are compared with.
//!
//! # The file
//!
//! Two lines of JSON. The first says that it is a baseline, of which version, and the SHA-256 of
//! the second line without its line end; the second is a [`Baseline`]. Figures are by column: of
//! each figure one value a replication, `null` where that lacks it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use plimsoll_stats::Histogram;
use plimsoll_units::failure::{Failure, Kind as Fault};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The version of the file that is written.
pub const VERSION: u32 = 1;
/// Fewer replications tell nothing of how they differ.
pub const LEAST: usize = 3;
/// The most bytes of a file that is written.
pub const MOST_BYTES: usize = 200_000;
/// The most bytes of a file that is read.
const MOST_READ: u64 = 8 << 20;
/// What the first line says that the file is.
const FORMAT: &str = "plimsoll baseline";

/// What replications came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// When it was made, ISO 8601 in UTC.
    pub made: String,
    /// The version of the program that made it.
    pub made_by: String,
    /// `load`, `search`, `pool`, `caches`, or `tune`.
    pub kind: String,
    /// `live`, `simulated` or `shadow`.
    pub world: String,
    /// The plan's name; may be empty.
    pub name: String,
    /// What was put to the test: a URL, or a few words.
    pub subject: String,
    /// The tags of its runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// The plan, complete.
    pub plan: String,
    /// Facts of the host on which they ran: name and value.
    #[serde(default)]
    pub host: Vec<(String, String)>,
    /// What belongs together: the replications of one combination of levels.
    pub groups: Vec<Group>,
    /// How many figures of names and labels were left out so that the file stays small.
    #[serde(default)]
    pub left_out: usize,
}

/// The replications of one combination of levels.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The level of each factor; none of a load by itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub factors: BTreeMap<String, String>,
    /// The block, as that of an experiment.
    #[serde(default)]
    pub block: u32,
    /// Its replications.
    pub replications: Vec<Replication>,
    /// The values of each figure, by its name, in the order of the replications.
    pub figures: BTreeMap<String, Vec<Option<f64>>>,
    /// Response times of all of them together: the middle of a bucket in nanoseconds, and how many
    /// lie in it. Empty where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub response_ns: Vec<(u64, u64)>,
}

/// One replication.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replication {
    /// The run's name, or the cell's.
    pub id: String,
    /// Its seed.
    pub seed: u64,
    /// How noisy its host was, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noise: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    format: String,
    version: u32,
    sha256: String,
}

/// Why a baseline cannot be read, or made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// The file cannot be read or written.
    #[error("{doing} the baseline {path}")]
    File {
        /// `read` or `write`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It is something else.
    #[error("read {0} as a baseline: it is none")]
    Other(PathBuf),
    /// It was made by a later version of the program.
    #[error(
        "read the baseline {path}: it is of version {version}, and this program knows {VERSION}"
    )]
    Later {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// It is not what was written.
    #[error("read the baseline {0}: it was changed after it was made")]
    Changed(PathBuf),
    /// It holds more than is read.
    #[error("read the baseline {path}: it has more than {most} bytes")]
    Long {
        /// The file.
        path: PathBuf,
        /// The most.
        most: u64,
    },
    /// Something else stands there.
    #[error("write the baseline {0}: another file is there, which is no baseline")]
    Taken(PathBuf),
    /// Too much to be one small file.
    #[error("make a baseline of {found} bytes: at most {MOST_BYTES} are kept; take fewer runs")]
    Large {
        /// How many.
        found: usize,
    },
}

impl Failure for BaselineError {
    fn kind(&self) -> Fault {
        match self {
            Self::File { .. } => Fault::Incomplete,
            _ => Fault::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Other(_) => "make one by `plimsoll runs baseline RUN… -o FILE`",
            Self::Taken(_) => "take another place, or remove it",
            Self::Changed(_) => "make it anew, or take it from where it was kept",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// Whether a file begins as a baseline does.
#[must_use]
pub fn is_baseline(path: &Path) -> bool {
    let mut start = Vec::new();
    let file = std::fs::File::open(path).ok().filter(|_| path.is_file());
    let read = file.map(|file| file.take(64).read_to_end(&mut start));
    read.is_some_and(|read| read.is_ok()) && String::from_utf8_lossy(&start).contains(FORMAT)
}

impl Baseline {
    /// Reads a file.
    ///
    /// # Errors
    /// [`BaselineError`]: it is not there, it is none, of a later version, or was changed.
    pub fn read(path: &Path) -> Result<Self, BaselineError> {
        let failed = |source| BaselineError::File { doing: "read", path: path.to_owned(), source };
        let file = std::fs::File::open(path).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(MOST_READ + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MOST_READ {
            return Err(BaselineError::Long { path: path.to_owned(), most: MOST_READ });
        }
        Self::parse(path, &bytes)
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, BaselineError> {
        let other = || BaselineError::Other(path.to_owned());
        let at = bytes.iter().position(|byte| *byte == b'\n').ok_or_else(other)?;
        let (head, rest) = (&bytes[..at], &bytes[at + 1..]);
        let head: Head = serde_json::from_slice(head).map_err(|_| other())?;
        if head.format != FORMAT {
            return Err(other());
        }
        if head.version > VERSION {
            let (path, version) = (path.to_owned(), head.version);
            return Err(BaselineError::Later { path, version });
        }
        let body = rest.strip_suffix(b"\n").unwrap_or(rest);
        if digest(body) != head.sha256 {
            return Err(BaselineError::Changed(path.to_owned()));
        }
        serde_json::from_slice(body).map_err(|_| other())
    }

    /// The bytes of its file. Where they are too many, figures of names and labels are left out,
    /// and counted.
    ///
    /// # Errors
    /// [`BaselineError::Large`] where the others alone are too many.
    pub fn bytes(&self) -> Result<Vec<u8>, BaselineError> {
        let bytes = self.encoded();
        if bytes.len() <= MOST_BYTES {
            return Ok(bytes);
        }
        let mut small = self.clone();
        for group in &mut small.groups {
            let before = group.figures.len();
            group.figures.retain(|name, _| !name.contains(": "));
            small.left_out += before - group.figures.len();
        }
        let bytes = small.encoded();
        if bytes.len() <= MOST_BYTES {
            Ok(bytes)
        } else {
            Err(BaselineError::Large { found: bytes.len() })
        }
    }

    fn encoded(&self) -> Vec<u8> {
        let body = json(self);
        let (format, sha256) = (FORMAT.to_owned(), digest(body.as_bytes()));
        let head = json(&Head { format, version: VERSION, sha256 });
        format!("{head}\n{body}\n").into_bytes()
    }

    /// Writes the file; a baseline that is there is replaced as a whole, another file is not.
    ///
    /// # Errors
    /// [`BaselineError`]: it is too large, or cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), BaselineError> {
        let bytes = self.bytes()?;
        if path.is_file() && !is_baseline(path) {
            return Err(BaselineError::Taken(path.to_owned()));
        }
        let failed = |source| BaselineError::File { doing: "write", path: path.to_owned(), source };
        crate::replace(path, &bytes).map_err(failed)
    }
}

impl Group {
    /// A group of replications with their figures, and all their response times.
    #[must_use]
    pub fn new(
        factors: BTreeMap<String, String>,
        block: u32,
        all: Vec<(Replication, BTreeMap<String, f64>)>,
        response: &Histogram,
    ) -> Self {
        let names: BTreeSet<&String> = all.iter().flat_map(|(_, figures)| figures.keys()).collect();
        let column = |name: &String| all.iter().map(|(_, of)| of.get(name).copied()).collect();
        let figures = names.into_iter().map(|name| (name.clone(), column(name))).collect();
        let replications = all.into_iter().map(|(one, _)| one).collect();
        Self { factors, block, replications, figures, response_ns: coarse(response) }
    }

    /// The response times of all of them, to 1%.
    #[must_use]
    pub fn response(&self) -> Histogram {
        let mut all = Histogram::new();
        self.response_ns.iter().for_each(|(ns, count)| all.record_n(*ns, *count));
        all
    }

    /// The figures of one replication, by name.
    pub fn figures_of(&self, at: usize) -> impl Iterator<Item = (&str, f64)> {
        self.figures.iter().filter_map(move |(name, values)| {
            values.get(at).copied().flatten().map(|value| (name.as_str(), value))
        })
    }
}

/// The buckets of a histogram by three digits of their middle, which is within 1%.
fn coarse(of: &Histogram) -> Vec<(u64, u64)> {
    let mut all: BTreeMap<u64, u64> = BTreeMap::new();
    for bucket in of.buckets() {
        let middle = bucket.middle();
        let unit = 10_u64.pow(middle.max(1).ilog10().saturating_sub(2));
        *all.entry(middle / unit * unit + unit / 2).or_default() += bucket.count;
    }
    all.into_iter().collect()
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| unreachable!("texts and numbers serialise"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline(names: usize) -> Baseline {
        let mut response = Histogram::new();
        (1..2_000_u64).for_each(|n| response.record(n * 7_919));
        let one = |n: u32| {
            let id = format!("run-{n}");
            let named = (0..names).map(|of| (format!("name-{of}: response_us.p50"), 1.0 / 3.0));
            let mut figures: BTreeMap<String, f64> = named.collect();
            figures.insert("errors".to_owned(), 0.1 + f64::from(n));
            if n > 0 {
                figures.insert("response_us.p99".to_owned(), 123.456_789);
            }
            (Replication { id, seed: n.into(), noise: Vec::new() }, figures)
        };
        Baseline {
            made: "2026-12-02T00:00:00.000Z".to_owned(),
            made_by: "0.2.0".to_owned(),
            kind: "load".to_owned(),
            world: "live".to_owned(),
            name: "shop".to_owned(),
            subject: "http://h/".to_owned(),
            tags: BTreeMap::from([("commit".to_owned(), "abc".to_owned())]),
            plan: "[load]\n".to_owned(),
            host: vec![("cores".to_owned(), "2".to_owned())],
            groups: vec![Group::new(BTreeMap::new(), 0, (0..3).map(one).collect(), &response)],
            left_out: 0,
        }
    }

    #[test]
    fn what_was_written_is_read_to_the_last_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("base.plim");
        let of = baseline(2);
        of.write(&path).unwrap();
        assert!(is_baseline(&path) && !is_baseline(folder.path()));
        let read = Baseline::read(&path).unwrap();
        assert_eq!(read, of);
        assert_eq!(read.groups[0].figures["response_us.p99"][0], None);
        assert_eq!(read.groups[0].figures_of(1).count(), 4);
        let (p50, of) = (read.groups[0].response().value_at_quantile(0.5).unwrap(), 999.5 * 7919.0);
        assert!((p50 as f64 / of - 1.0).abs() < 0.01, "{p50}");
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            1,
            "nothing is left beside it"
        );
    }

    #[test]
    fn a_changed_file_a_later_one_and_any_other_are_refused() {
        let path = Path::new("base.plim");
        let bytes = baseline(1).bytes().unwrap();
        let text = String::from_utf8(bytes.clone()).unwrap();
        let parse = |text: &str| Baseline::parse(path, text.as_bytes());
        let changed = text.replace("123.456789", "100.456789");
        assert!(matches!(parse(&changed), Err(BaselineError::Changed(_))));
        let later = text.replace("\"version\":1", "\"version\":2");
        assert!(matches!(parse(&later), Err(BaselineError::Later { version: 2, .. })));
        for other in ["", "{}", "{}\n{}\n", "\n", "plimsoll baseline\n"] {
            assert!(matches!(parse(other), Err(BaselineError::Other(_))), "{other}");
        }
        for end in 0..bytes.len() - 1 {
            assert!(Baseline::parse(path, &bytes[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn it_stays_small_by_leaving_out_names_which_it_counts() {
        let bytes = baseline(20_000).bytes().unwrap();
        assert!(bytes.len() <= MOST_BYTES);
        let read = Baseline::parse(Path::new("x"), &bytes).unwrap();
        assert_eq!((read.left_out, read.groups[0].figures.len()), (20_000, 2));
        let large = Baseline { plan: "x".repeat(MOST_BYTES), ..baseline(0) };
        assert!(matches!(large.bytes(), Err(BaselineError::Large { .. })));
    }
}
