//! The formats, by name.

use std::fmt;
use std::str::FromStr;

use plimsoll_workload::access_log;

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// This project's compiled form: [`super::compiled`].
    Compiled,
    /// libCacheSim's binary: [`super::oracle_general`].
    OracleGeneral,
    /// A table: [`super::csv`].
    Csv,
    /// An access log: [`super::access_log`]. [`access_log::Format::Json`] is known, but not read.
    Log(access_log::Format),
}

/// A name that no format has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a trace format: plt, oracleGeneral, csv, squid, common or combined, found {0:?}")]
pub struct UnknownFormat(pub String);

impl Format {
    /// All that are read.
    pub const ALL: [Self; 6] = [
        Self::Compiled,
        Self::OracleGeneral,
        Self::Csv,
        Self::Log(access_log::Format::Squid),
        Self::Log(access_log::Format::Common),
        Self::Log(access_log::Format::Combined),
    ];

    /// Its name, as `--format` takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Compiled => "plt",
            Self::OracleGeneral => "oracleGeneral",
            Self::Csv => "csv",
            Self::Log(format) => format.name(),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let is_it = |format: &Self| format.name().eq_ignore_ascii_case(text);
        Self::ALL.into_iter().find(is_it).ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert_eq!("oraclegeneral".parse(), Ok(Format::OracleGeneral));
        assert!("json".parse::<Format>().unwrap_err().to_string().contains("squid"));
    }
}
