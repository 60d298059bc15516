//! The process that does what a controller asks for: started for one session, between two pipes.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::process::Child as Process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::session::{Reader, Writer};
use crate::child::{command, ended, keep, last_line};
use crate::start::{At, Command};

/// A process between two pipes.
pub(super) struct Servant {
    handle: Option<OwnedFd>,
    has_ended: Arc<AtomicBool>,
}

impl Servant {
    /// Starts it; what is read goes into it, and what comes out of it is written.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub(super) fn start(of: &Command, reader: Reader, writer: Writer) -> io::Result<Self> {
        let mut process = command(of)?.spawn()?;
        let handle = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
        let handle = handle.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let (input, errors) = (process.stdin.take(), process.stderr.take());
        let has_ended = Arc::<AtomicBool>::default();
        let last_words = Arc::default();
        let kept = Arc::clone(&last_words);
        thread::spawn(move || errors.map(|errors| keep(errors, &kept)));
        thread::spawn(move || input.map(|input| pump(reader, input)));
        let is_over = has_ended.clone();
        thread::spawn(move || {
            let writer = answers(&mut process, writer);
            let how = process.wait().map(|status| {
                let is_well = status.success();
                let how = ended((status, At::Here), &last_line(&last_words), false);
                if is_well { String::new() } else { how }
            });
            writer.end(how.unwrap_or_default());
            is_over.store(true, Ordering::Release);
        });
        Ok(Self { handle, has_ended })
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Ends it at once.
    pub(super) fn kill(&self) {
        if let Some(handle) = &self.handle {
            let _ = pidfd_send_signal(handle, Signal::KILL);
        }
    }
}

impl Drop for Servant {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Writes what is read, as soon as it is there.
fn pump(mut from: impl io::Read, mut to: impl Write) -> io::Result<()> {
    let mut part = vec![0; 1 << 16];
    loop {
        match from.read(&mut part)? {
            0 => return Ok(()),
            read => to.write_all(&part[..read]).and_then(|()| to.flush())?,
        }
    }
}

/// Writes what it answers, until it answers no more.
fn answers(process: &mut Process, mut writer: Writer) -> Writer {
    if let Some(output) = process.stdout.take() {
        // Where the session is over, so is it.
        let _ = pump(output, &mut writer);
    }
    writer
}
