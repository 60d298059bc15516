//! File systems of CVMFS that are mounted are told of a new list: `cvmfs_talk proxy set LIST`.
//!
//! A file of settings is read when a repository is mounted; one that is mounted goes on with the
//! proxies that it has. `cvmfs_talk` asks each mounted repository's process, by its socket.
//!
//! Source: CernVM-FS, "Client configuration", `cvmfs_talk`.

#![expect(clippy::disallowed_methods, reason = "only CVMFS's own program reaches its mounts")]

use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The program, where it is on `PATH`.
pub const PROGRAM: &str = "cvmfs_talk";
/// The longest that it may take.
const MOST_TIME: Duration = Duration::from_secs(30);
/// The most bytes that are kept of what it prints.
const MOST_BYTES: u64 = 4096;

/// Tells every mounted repository its proxies: what the program printed.
///
/// # Errors
/// A program that cannot be started, fails, or takes longer than 30 s.
pub fn tell(program: &Path, list: &str) -> io::Result<String> {
    let mut command = Command::new(program);
    command.args(["proxy", "set", list]).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (sender, printed) = mpsc::channel();
    let pipes: [Option<Box<dyn io::Read + Send>>; 2] = [
        child.stdout.take().map(|pipe| Box::new(pipe) as _),
        child.stderr.take().map(|pipe| Box::new(pipe) as _),
    ];
    for pipe in pipes.into_iter().flatten() {
        let sender = sender.clone();
        thread::spawn(move || {
            let mut pipe = pipe;
            let mut bytes = Vec::new();
            let _ = pipe.by_ref().take(MOST_BYTES).read_to_end(&mut bytes);
            // What is beyond is read, so that the program does not wait for it.
            let _ = io::copy(&mut pipe, &mut io::sink());
            let _ = sender.send(bytes);
        });
    }
    drop(sender);
    let mut text = String::new();
    for _ in 0..2 {
        match printed.recv_timeout(MOST_TIME) {
            Ok(bytes) => text.push_str(&String::from_utf8_lossy(&bytes)),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }
    let status = child.wait()?;
    let text = text.trim().to_owned();
    if status.success() { Ok(text) } else { Err(io::Error::other(format!("{status}: {text}"))) }
}
