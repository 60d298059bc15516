//! Opens a log: plain or gzip, told apart by its first bytes.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::error::LogError;

/// How much compressed data is read at a time.
const COMPRESSED_BLOCK: usize = 128 * 1024;

/// First bytes of formats that are refused by name, and what unpacks them.
const OTHERS: [(&[u8], &str, &str); 4] = [
    (b"\x28\xb5\x2f\xfd", "zstd", "zstdcat"),
    (b"\xfd7zXZ\0", "xz", "xzcat"),
    (b"BZh", "bzip2", "bzcat"),
    (b"PK\x03\x04", "zip", "unzip -p"),
];

pub(super) type Input<'a> = Box<dyn Read + Send + 'a>;

pub(super) fn open(path: &Path) -> Result<Input<'static>, LogError> {
    let failed = |source| LogError::Open { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
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
    let gzip = first.starts_with(b"\x1f\x8b");
    let whole = Cursor::new(first).chain(reader);
    if gzip {
        let blocks = BufReader::with_capacity(COMPRESSED_BLOCK, whole);
        Ok(Box::new(MultiGzDecoder::new(blocks)))
    } else {
        Ok(Box::new(whole))
    }
}
