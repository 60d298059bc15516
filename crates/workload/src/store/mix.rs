//! Which operations a workload has, in which shares, and the workloads that have names.
//!
//! | name | operations | keys | elsewhere |
//! | --- | --- | --- | --- |
//! | `write-only` | update 100% | uniform | W1 |
//! | `read-only` | read 100% | zipf | W2, YCSB C |
//! | `read-heavy` | read 95%, update 5% | zipf | W3, YCSB B |
//! | `balanced`, `update-heavy` | read 50%, update 50% | zipf | W4, YCSB A |
//! | `read-latest` | read 95%, insert 5% | latest | YCSB D |

use std::fmt;

use plimsoll_units::{ParseError, nearest, share, show_share_exact};

use super::keys::Keys;

/// The shares of a workload's operations, in millionths; together they are [`Mix::WHOLE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mix {
    read: u32,
    update: u32,
    insert: u32,
}

const WANTED: &str = "shares of read, update and insert that sum to 100%, such as \
                      read:95%,update:5%";

impl Mix {
    /// The sum of the shares.
    pub const WHOLE: u32 = 1_000_000;

    /// Of so many percent; `None` where they do not sum to 100.
    #[must_use]
    pub fn of_percent(read: u32, update: u32, insert: u32) -> Option<Self> {
        let sum = read.checked_add(update)?.checked_add(insert)?;
        let millionths = |percent: u32| percent * (Self::WHOLE / 100);
        (sum == 100).then(|| Self {
            read: millionths(read),
            update: millionths(update),
            insert: millionths(insert),
        })
    }

    /// The share of reads, in millionths.
    #[must_use]
    pub fn read(self) -> u32 {
        self.read
    }

    /// The share of updates of records that are there, in millionths.
    #[must_use]
    pub fn update(self) -> u32 {
        self.update
    }

    /// The share of insertions of new records, in millionths.
    #[must_use]
    pub fn insert(self) -> u32 {
        self.insert
    }

    /// Reads `read:95%,update:5%`; what is not named has no share.
    ///
    /// # Errors
    /// An unknown operation (with the nearest known one), a share that is none, an operation named
    /// twice, a sum that is not 100%.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut shares: [Option<u32>; 3] = [None; 3];
        let mut at = 0;
        for part in text.split(',') {
            let name = part.split(':').next().unwrap_or_default();
            let trimmed = name.trim();
            let name_at = at + name.len() - name.trim_start().len();
            let wrong = || ParseError::new(WANTED, trimmed, name_at, trimmed.len());
            let known = ["read", "update", "insert"];
            let Some(which) = known.iter().position(|one| *one == trimmed) else {
                return Err(match nearest(trimmed, known) {
                    Some(near) => wrong().hint(format!("did you mean `{near}`?")),
                    None => wrong(),
                });
            };
            let Some((_, value)) = part.split_once(':') else { return Err(wrong()) };
            let value = share(value).map_err(|error| error.shifted(at + name.len() + 1))?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share is from 0 to 1"
            )]
            let millionths = (value * f64::from(Self::WHOLE)).round() as u32;
            if shares[which].replace(millionths).is_some() {
                return Err(wrong().hint(format!("`{trimmed}` is given twice")));
            }
            at += part.len() + 1;
        }
        let [read, update, insert] = shares.map(Option::unwrap_or_default);
        if read + update + insert != Self::WHOLE {
            return Err(ParseError::new(WANTED, text, 0, text.len()));
        }
        Ok(Self { read, update, insert })
    }
}

impl fmt::Display for Mix {
    /// Text that parses back to the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shares = [("read", self.read), ("update", self.update), ("insert", self.insert)];
        let shown = shares.iter().filter(|(_, millionths)| *millionths > 0);
        for (n, (name, millionths)) in shown.enumerate() {
            let comma = if n > 0 { "," } else { "" };
            let share = f64::from(*millionths) / f64::from(Self::WHOLE);
            write!(f, "{comma}{name}:{}", show_share_exact(share))?;
        }
        Ok(())
    }
}

/// A workload that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// Updates of records that are equally popular.
    WriteOnly,
    /// Reads, some records far more popular than others.
    ReadOnly,
    /// 95 reads to 5 updates.
    ReadHeavy,
    /// As many reads as updates.
    Balanced,
    /// 95 reads of what is new to 5 insertions.
    ReadLatest,
}

impl Named {
    /// All of them, in the order of the manual.
    pub const ALL: [Self; 5] =
        [Self::WriteOnly, Self::ReadOnly, Self::ReadHeavy, Self::Balanced, Self::ReadLatest];

    /// The word for it in plans and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::WriteOnly => "write-only",
            Self::ReadOnly => "read-only",
            Self::ReadHeavy => "read-heavy",
            Self::Balanced => "balanced",
            Self::ReadLatest => "read-latest",
        }
    }

    /// Its operations.
    #[must_use]
    pub fn mix(self) -> Mix {
        let (read, update, insert) = match self {
            Self::WriteOnly => (0, 1_000_000, 0),
            Self::ReadOnly => (1_000_000, 0, 0),
            Self::ReadHeavy => (950_000, 50_000, 0),
            Self::Balanced => (500_000, 500_000, 0),
            Self::ReadLatest => (950_000, 0, 50_000),
        };
        Mix { read, update, insert }
    }

    /// How popular its records are.
    #[must_use]
    pub fn keys(self) -> Keys {
        match self {
            Self::WriteOnly => Keys::Uniform,
            Self::ReadOnly | Self::ReadHeavy | Self::Balanced => Keys::ZIPF,
            Self::ReadLatest => Keys::Latest,
        }
    }

    /// Reads a name.
    ///
    /// # Errors
    /// An unknown name, with the nearest known one.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        // YCSB's own word for the balanced one.
        const ALIAS: (&str, Named) = ("update-heavy", Named::Balanced);
        let known = Self::ALL.map(|named| (named.name(), named));
        let mut all = known.iter().chain([&ALIAS]);
        if let Some((_, named)) = all.find(|(name, _)| *name == text) {
            return Ok(*named);
        }
        let names = known.map(|(name, _)| name);
        let wanted = format!("a workload: {}", names.join(", "));
        let error = ParseError::new(wanted, text, 0, text.len());
        Err(match nearest(text, names) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        })
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
