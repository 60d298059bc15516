//! The access log: a JSON object a line, for every request.

use std::io::{self, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::client::Peer;
use crate::Now;
use crate::heartbeat::python_string;

/// Bytes of a path that are logged.
const PATH_BYTES: usize = 512;
/// Bytes that are kept back before they are written.
const KEPT_BYTES: usize = 32 * 1024;

/// The log's file, which is added to.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    file: Arc<ArcSwap<std::fs::File>>,
}

impl File {
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        let file = Arc::new(ArcSwap::from_pointee(opened(&path)?));
        Ok(Self { path, file })
    }

    /// Goes on in the file that has its name now: the one before was moved away.
    pub(super) fn reopen(&self) -> io::Result<()> {
        self.file.store(Arc::new(opened(&self.path)?));
        Ok(())
    }

    /// Lines of one thread. Each write is of whole lines and goes to the end of the file, so that
    /// those of several threads do not mix.
    pub(super) fn buffer(&self) -> Buffer {
        Buffer { file: Arc::clone(&self.file), lines: Vec::with_capacity(KEPT_BYTES) }
    }
}

fn opened(path: &Path) -> io::Result<std::fs::File> {
    std::fs::OpenOptions::new().append(true).create(true).open(path)
}

/// Lines not yet written.
#[derive(Debug)]
pub(super) struct Buffer {
    file: Arc<ArcSwap<std::fs::File>>,
    lines: Vec<u8>,
}

/// One request.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) now: Now,
    pub(super) peer: Peer,
    pub(super) client: IpAddr,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) status: u16,
    pub(super) bytes: usize,
    pub(super) taken_ns: u64,
}

impl Buffer {
    pub(super) fn line(&mut self, line: &Line<'_>) {
        let out = &mut self.lines;
        let mut ends = (0..=line.path.len().min(PATH_BYTES)).rev();
        let end = ends.find(|end| line.path.is_char_boundary(*end)).unwrap_or(0);
        // Writing to memory does not fail.
        let _ = write!(out, "{{\"time\":{:.6},\"client\":", line.now.unix_s);
        let _ = match line.peer {
            Peer::At(_) => write!(out, "\"{}\"", line.client),
            Peer::Operator => write!(out, "\"operator\""),
        };
        out.extend_from_slice(b",\"method\":");
        python_string(line.method, out);
        out.extend_from_slice(b",\"path\":");
        python_string(&line.path[..end], out);
        let _ = writeln!(
            out,
            ",\"status\":{},\"bytes\":{},\"us\":{}}}",
            line.status,
            line.bytes,
            line.taken_ns / 1000
        );
        if self.lines.len() >= KEPT_BYTES {
            self.flush();
        }
    }

    /// Writes what is kept back. What cannot be written (the disk is full) is dropped: a registry
    /// that answers is worth more than its log.
    pub(super) fn flush(&mut self) {
        let _ = (&**self.file.load()).write_all(&self.lines);
        self.lines.clear();
    }
}
