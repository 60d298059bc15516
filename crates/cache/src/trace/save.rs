//! Writes a file under another name first, so that nobody finds half of one under its own.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::TraceError;

const BLOCK: usize = 1 << 20;

/// Writes a file whole, or leaves what was there.
pub(super) fn save(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    let failed = |source| TraceError::Write { path: path.to_owned(), source };
    let Some(name) = path.file_name() else {
        return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
    };
    let mut partial_name = name.to_owned();
    partial_name.push(".partial");
    let partial = path.with_file_name(partial_name);
    let written = File::create(&partial).map_err(failed).and_then(|file| {
        let mut out = BufWriter::with_capacity(BLOCK, file);
        write(&mut out)?;
        out.flush().and_then(|()| out.get_ref().sync_data()).map_err(failed)?;
        fs::rename(&partial, path).map_err(failed)
    });
    if written.is_err() {
        // The error told is the one that came first.
        let _ = fs::remove_file(&partial);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let written = |text: &'static str, fails: bool| {
            save(&path, |out| {
                out.write_all(text.as_bytes()).unwrap();
                if fails { Err(TraceError::TooWide { bytes: 1 }) } else { Ok(()) }
            })
        };
        written("first", false).unwrap();
        written("second", true).unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let error = save(&folder.path().join("no/such"), |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("write the trace"));
    }
}
