//! What a shell makes of a file of settings: `sh` itself is asked.
//!
//! Only texts that [`Settings::parse`](super::settings::Settings::parse) understands are given to
//! it, which set variables and do nothing else. It gets no environment, no file, no input beside
//! the text, two seconds, and no network where this host lets a process have its own.

#![expect(clippy::disallowed_methods, reason = "only a shell knows what a shell reads")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

const SHELL: &str = "/bin/sh";
/// Gives a process a network of its own, where that is allowed.
const UNSHARE: &str = "/usr/bin/unshare";
/// The longest that a shell may take.
const MOST_TIME: Duration = Duration::from_secs(2);
/// The most bytes that are read of what it prints.
const MOST_BYTES: u64 = 8 << 20;

/// Variables with their values; `None` for one that is not set.
pub type Values = BTreeMap<String, Option<String>>;

/// What a shell gives variables when it has read a text.
///
/// # Errors
/// Where there is no shell, it takes longer than two seconds, finds the text wrong, or prints
/// something else than the values.
pub fn values(text: &str, names: &BTreeSet<String>) -> io::Result<Values> {
    let mut script = format!("{text}\n");
    for name in names {
        let _ = writeln!(script, "printf '%s%s\\0' \"${{{name}+=}}\" \"${{{name}-}}\"");
    }
    let wrong = |what| io::Error::new(io::ErrorKind::InvalidData, what);
    run(&["-n"], &script).map_err(|_| wrong("sh -n does not understand it"))?;
    let printed = run(&[], &script)?;
    let printed = String::from_utf8(printed).map_err(|_| wrong("a value is no UTF-8"))?;
    values_in(&printed, names).ok_or_else(|| wrong("sh reads it otherwise than it looks"))
}

/// The values in what was printed; none where there is more than them, or less.
fn values_in(printed: &str, names: &BTreeSet<String>) -> Option<Values> {
    let mut parts = printed.split('\0');
    let mut values = Values::new();
    for name in names {
        let value = match parts.next()? {
            "" => None,
            set => Some(set.strip_prefix('=')?.to_owned()),
        };
        values.insert(name.clone(), value);
    }
    (parts.next() == Some("") && parts.next().is_none()).then_some(values)
}

/// Gives a script to a shell and returns what it prints.
fn run(options: &[&str], script: &str) -> io::Result<Vec<u8>> {
    let mut command = isolated();
    command.args(options).arg("-s").env_clear().current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let printed = converse(&mut child, script);
    if printed.is_none() {
        let _ = child.kill();
    }
    let status = child.wait()?;
    let printed = printed.ok_or(io::ErrorKind::TimedOut)??;
    if status.success() { Ok(printed) } else { Err(io::Error::other(format!("sh: {status}"))) }
}

/// Writes the script and reads what is printed; nothing where that takes too long.
fn converse(child: &mut Child, script: &str) -> Option<io::Result<Vec<u8>>> {
    let (mut stdin, stdout) = (child.stdin.take()?, child.stdout.take()?);
    let script = script.to_owned();
    // Both end with the child, which is killed if it does not end by itself.
    thread::spawn(move || stdin.write_all(script.as_bytes()));
    let (sender, printed) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.take(MOST_BYTES).read_to_end(&mut bytes);
        let _ = sender.send(read.map(|_| bytes));
    });
    printed.recv_timeout(MOST_TIME).ok()
}

/// A shell, without a network where that can be had.
fn isolated() -> Command {
    /// The options of [`UNSHARE`] that work here, if any do; tried once.
    static WAY: OnceLock<Option<&[&str]>> = OnceLock::new();
    let ways: [&[&str]; 2] = [&["--net", "--"], &["--user", "--net", "--"]];
    let works = |way: &&[&str]| {
        let mut tried = Command::new(UNSHARE);
        tried.args(*way).args([SHELL, "-c", ":"]).env_clear();
        tried.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        tried.status().is_ok_and(|status| status.success())
    };
    let Some(way) = WAY.get_or_init(|| ways.into_iter().find(works)) else {
        return Command::new(SHELL);
    };
    let mut command = Command::new(UNSHARE);
    command.args(*way).arg(SHELL);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_the_values_or_nothing_is_believed() {
        let names = ["A", "B"].map(str::to_owned).into();
        let values = |printed| values_in(printed, &names).map(|it| it.into_values().collect());
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(values("=a\0\0"), Some(vec![some("a"), None]));
        assert_eq!(values("=\0==\0"), Some(vec![some(""), some("=")]));
        for printed in
            ["", "=a\0", "=a\0=b", "=a\0=b\0c", "=a\0=b\0\0", "export PWD\n=a\0\0", "x\0\0"]
        {
            assert_eq!(values(printed), None, "{printed:?}");
        }
    }
}
