//! Opens a log: plain or gzip, told apart by its first bytes. Of a gzip file that is torn or
//! damaged there is what can be unpacked, and [`Input::damage`] tells.

use plimsoll_units::failure::FileError;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use super::error::LogError;
use crate::gzip::{Gunzip, MAGIC};

/// How much compressed data is read at a time.
const COMPRESSED_BLOCK: usize = 128 * 1024;

/// First bytes of formats that are refused by name, and what unpacks them.
const OTHERS: [(&[u8], &str, &str); 4] = [
    (b"\x28\xb5\x2f\xfd", "zstd", "zstdcat"),
    (b"\xfd7zXZ\0", "xz", "xzcat"),
    (b"BZh", "bzip2", "bzcat"),
    (b"PK\x03\x04", "zip", "unzip -p"),
];

/// The bytes of a log, unpacked.
pub(super) enum Input<'a> {
    Plain(Box<dyn Read + Send + 'a>),
    Gzip(Gunzip<BufReader<Box<dyn Read + Send + 'a>>>),
}

impl Input<'_> {
    /// Why a compressed log could not be unpacked to its end, once that is reached.
    pub(super) fn damage(&self) -> Option<&io::Error> {
        match self {
            Self::Plain(_) => None,
            Self::Gzip(gzip) => gzip.damage(),
        }
    }

    /// Bytes behind the compressed data that are none, once the end is reached.
    pub(super) fn passed_over(&self) -> u64 {
        match self {
            Self::Plain(_) => 0,
            Self::Gzip(gzip) => gzip.passed_over(),
        }
    }
}

impl Read for Input<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(reader) => reader.read(out),
            Self::Gzip(gzip) => gzip.read(out),
        }
    }
}

pub(super) fn open(path: &Path) -> Result<Input<'static>, LogError> {
    let failed = FileError::of("read the access log", path);
    let file = File::open(path).map_err(&failed)?;
    if file.metadata().map_err(&failed)?.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()).into());
    }
    unpacked(file, &path.display().to_string())
}

pub(super) fn unpacked<'a>(
    mut reader: impl Read + Send + 'a,
    origin: &str,
) -> Result<Input<'a>, LogError> {
    let mut first = Vec::with_capacity(8);
    reader.by_ref().take(6).read_to_end(&mut first).map_err(|source| LogError::Read {
        origin: origin.to_owned(),
        line: 0,
        source,
    })?;
    if let Some((_, found, unpack)) = OTHERS.iter().find(|(magic, _, _)| first.starts_with(magic)) {
        let origin = origin.to_owned();
        return Err(LogError::Compression { origin, found, unpack });
    }
    let is_gzip = first.starts_with(&MAGIC);
    let whole: Box<dyn Read + Send + 'a> = Box::new(Cursor::new(first).chain(reader));
    Ok(if is_gzip {
        let blocks = BufReader::with_capacity(COMPRESSED_BLOCK, whole);
        Input::Gzip(Gunzip::forgiving(blocks))
    } else {
        Input::Plain(whole)
    })
}
