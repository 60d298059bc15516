//! Opens a file: plain, gzip (RFC 1952) or zstd (RFC 8878), told apart by its first bytes.
//!
//! Memory is bounded: one block of what is packed, one of what is not, and for zstd its window, at
//! most 128 MiB. Files of several gzip members or zstd frames are read as one. A file that is cut
//! off or damaged is an error, never a shorter file.

use plimsoll_units::failure::FileError;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::TraceError;

/// How much packed data is read at a time.
const PACKED_BLOCK: usize = 128 * 1024;

/// How much of the beginning may be looked at before it is read.
pub(super) const HEAD_BYTES: usize = 64 * 1024;

/// First bytes of what is refused by name, and what unpacks it.
const OTHERS: [(&[u8], &str, &str); 3] = [
    (b"\xfd7zXZ\0", "xz", "xzcat"),
    (b"BZh", "bzip2", "bzcat"),
    (b"PK\x03\x04", "zip", "unzip -p"),
];

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
/// A frame to be skipped, as `pzstd` begins with: 0x184D2A50 to 0x184D2A5F.
const ZSTD_SKIPPED: &[u8] = b"\x2a\x4d\x18";

/// An open file, read from the beginning to the end.
pub struct Input {
    path: PathBuf,
    reader: Box<dyn Read + Send>,
    head: Vec<u8>,
    head_at: usize,
    given: u64,
    /// Where the file is plain: bytes of all of it.
    length: Option<u64>,
}

impl Input {
    /// Opens a file.
    ///
    /// *Errors*: no such file, a folder, a packer that is not known.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let failed = FileError::of("read the trace", path);
        let file = File::open(path).map_err(&failed)?;
        let facts = file.metadata().map_err(&failed)?;
        if facts.is_dir() {
            return Err(failed(io::ErrorKind::IsADirectory.into()).into());
        }
        Self::new(file, path, facts.is_file().then_some(facts.len()))
    }

    /// Of what a reader gives, which errors call `path`; `length` is that of all of it, if known.
    ///
    /// *Errors*: as [`Input::open`]; a reader that fails.
    pub fn new(
        mut reader: impl Read + Send + 'static,
        path: &Path,
        length: Option<u64>,
    ) -> Result<Self, TraceError> {
        let path = path.to_owned();
        let mut first = Vec::with_capacity(8);
        if let Err(source) = reader.by_ref().take(6).read_to_end(&mut first) {
            return Err(TraceError::Read { path, bytes: 0, source });
        }
        if let Some((_, found, unpack)) = OTHERS.iter().find(|(magic, ..)| first.starts_with(magic))
        {
            return Err(TraceError::Compression { path, found, unpack });
        }
        let gzip = first.starts_with(GZIP);
        let skipped = first.get(1..).is_some_and(|rest| rest.starts_with(ZSTD_SKIPPED));
        let zstd = first.starts_with(ZSTD) || (skipped && first[0] >> 4 == 5);
        let whole = Cursor::new(first).chain(reader);
        let block = |whole| BufReader::with_capacity(PACKED_BLOCK, whole);
        let (reader, length): (Box<dyn Read + Send>, _) = if gzip {
            (Box::new(MultiGzDecoder::new(block(whole))), None)
        } else if zstd {
            (Box::new(Frames::new(block(whole))), None)
        } else {
            (Box::new(whole), length)
        };
        Ok(Self { path, reader, head: Vec::new(), head_at: 0, given: 0, length })
    }

    /// What it is called.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of all of it, where it is a plain file: no table needs to be larger than what it is
    /// read from.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// Bytes given so far, after unpacking.
    #[must_use]
    pub fn given(&self) -> u64 {
        self.given
    }

    /// The beginning, as far as 64 KiB, before anything is read.
    ///
    /// *Errors*: a reader that fails.
    pub fn head(&mut self) -> Result<&[u8], TraceError> {
        if self.head.is_empty() {
            let taken = self.reader.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut self.head);
            if let Err(source) = taken {
                return Err(self.broke_off_after(self.head.len() as u64, source));
            }
        }
        Ok(&self.head)
    }

    /// Fills a block as far as there is something to fill it with.
    ///
    /// *Errors*: a reader that fails.
    pub fn fill(&mut self, block: &mut [u8]) -> Result<usize, TraceError> {
        let mut filled = 0;
        while filled < block.len() {
            match self.read(&mut block[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(self.broke_off(source)),
            }
        }
        Ok(filled)
    }

    pub(super) fn broke_off(&self, source: io::Error) -> TraceError {
        self.broke_off_after(self.given, source)
    }

    fn broke_off_after(&self, bytes: u64, source: io::Error) -> TraceError {
        let path = self.path.clone();
        let error = source.get_ref().and_then(|error| error.downcast_ref::<FrameDecoderError>());
        match error {
            Some(&FrameDecoderError::WindowSizeTooBig { requested, max }) => {
                TraceError::Window { path, window: requested, most: max }
            }
            _ => TraceError::Read { path, bytes, source },
        }
    }
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let ahead = &self.head[self.head_at..];
        let read = if ahead.is_empty() {
            self.reader.read(out)?
        } else {
            let len = ahead.len().min(out.len());
            out[..len].copy_from_slice(&ahead[..len]);
            self.head_at += len;
            len
        };
        self.given += read as u64;
        Ok(read)
    }
}

/// What the frames of a zstd file hold, one after another.
struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    within: bool,
}

impl<R: BufRead> Frames<R> {
    fn new(source: R) -> Self {
        Self { source, decoder: FrameDecoder::new(), within: false }
    }

    /// Begins the next frame; whether there is one.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.source) {
                Ok(()) => {
                    self.within = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let skipped = self.source.by_ref().take(length);
                    if io::copy(&mut { skipped }, &mut io::sink())? < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(damaged(error)),
            }
        }
        Ok(false)
    }

    /// Ends a frame: whether what it held is what its checksum, if it has one, says.
    fn end(&mut self) -> io::Result<()> {
        self.within = false;
        let wanted = self.decoder.get_checksum_from_data();
        if wanted.is_some() && wanted != self.decoder.get_calculated_checksum() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "expected the content that the zstd frame's checksum is of, found another",
            ));
        }
        Ok(())
    }
}

fn damaged(error: FrameDecoderError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.within && !self.begin()? {
                return Ok(0);
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let step = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, step).map_err(damaged)?;
            }
            let read = self.decoder.read(out)?;
            if read > 0 {
                return Ok(read);
            }
            self.end()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::Write as _;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(text).unwrap();
        packer.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, TraceError> {
        let reader = Cursor::new(bytes.to_vec());
        let mut input = Input::new(reader, Path::new("t"), Some(bytes.len() as u64))?;
        let head = input.head()?.to_vec();
        let mut all = vec![0; 1 << 20];
        let filled = input.fill(&mut all)?;
        all.truncate(filled);
        assert!(all.starts_with(&head) && head.len() == all.len().min(HEAD_BYTES));
        assert_eq!(input.given(), all.len() as u64);
        Ok(all)
    }

    fn text() -> Vec<u8> {
        (0..40_000).flat_map(|n: u32| format!("{},", n.wrapping_mul(n)).into_bytes()).collect()
    }

    #[test]
    fn plain_gzip_and_zstd_are_told_apart() {
        let text = text();
        let skipped = [&b"\x53\x2a\x4d\x18\x03\0\0\0abc"[..], &zstd(&text)].concat();
        for packed in [text.clone(), gzip(&text), zstd(&text), skipped] {
            assert!(unpacked(&packed).unwrap() == text);
        }
        assert_eq!(unpacked(b"").unwrap(), b"");
        assert_eq!(unpacked(b"x").unwrap(), b"x");
        assert_eq!(unpacked(&gzip(b"")).unwrap(), b"");
        assert_eq!(unpacked(&zstd(b"")).unwrap(), b"");
    }

    #[test]
    fn parts_follow_each_other() {
        for packed in [[gzip(b"ab"), gzip(b"cd")].concat(), [zstd(b"ab"), zstd(b"cd")].concat()] {
            assert_eq!(unpacked(&packed).unwrap(), b"abcd");
        }
    }

    #[test]
    fn what_is_cut_off_is_an_error() {
        let text = &text()[..3000];
        for packed in [gzip(text), zstd(text)] {
            for len in 4..packed.len() {
                let error = unpacked(&packed[..len]).unwrap_err();
                assert!(error.to_string().contains("read the trace t after"), "{len}: {error}");
            }
        }
    }

    #[test]
    fn a_flipped_byte_is_an_error() {
        let text = &text()[..3000];
        for packed in [gzip(text), zstd(text)] {
            for at in 10..packed.len() {
                let mut damaged = packed.clone();
                damaged[at] ^= 0x10;
                // What a flip leaves readable is the same text: bits that no decoder looks at.
                assert!(unpacked(&damaged).map_or(true, |found| found == text), "at byte {at}");
            }
        }
    }

    /// A frame by hand: a window of 2^31 bytes, and one raw block of a byte.
    #[test]
    fn a_window_that_is_too_large_is_named() {
        let frame = [ZSTD, b"\x00", &[(31 - 10) << 3], b"\x09\x00\x00", b"a"].concat();
        let error = unpacked(&frame).unwrap_err();
        let TraceError::Window { window, most, .. } = error else { panic!("{error}") };
        assert!(window == 1 << 31 && most < window, "{window} {most}");
        let told = plimsoll_units::failure::told(&error);
        assert!(told.contains("zstd -dc --long=31 t"), "{told}");
    }

    #[test]
    fn other_packers_are_named() {
        let error = unpacked(b"BZh91AY&SY").unwrap_err().to_string();
        assert!(error.contains("found bzip2") && error.contains("bzcat"), "{error}");
    }

    #[test]
    fn a_folder_is_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Input::open(folder.path()), Err(TraceError::File(_))));
        assert!(matches!(Input::open(&folder.path().join("no")), Err(TraceError::File(_))));
    }
}
