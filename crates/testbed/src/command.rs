//! Commands: lists of words, run to their end within a limit. The one place that starts processes,
//! beside [`launch`](crate::launch).

use std::fmt::Write as _;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use serde::{Deserialize, Serialize};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::TestbedError;
pub use crate::time::{Clock, Deadline, Time};

/// The most that is kept of what a command says, bytes.
const MOST_OUTPUT: u64 = 64 << 10;

/// A command: a program and its arguments. No shell reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words(pub Vec<String>);

impl Words {
    /// A command of these words.
    #[must_use]
    pub fn of<S: AsRef<str>>(words: &[S]) -> Self {
        Self(words.iter().map(|word| word.as_ref().to_owned()).collect())
    }

    /// These words, and then others: `nsenter … --`, and a command.
    #[must_use]
    pub fn and(mut self, more: &[String]) -> Self {
        self.0.extend_from_slice(more);
        self
    }
}

/// As it would be typed.
impl std::fmt::Display for Words {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (place, word) in self.0.iter().enumerate() {
            if place > 0 {
                f.write_char(' ')?;
            }
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,%@+".contains(c);
            if !word.is_empty() && word.chars().all(is_plain) {
                f.write_str(word)?;
            } else {
                write!(f, "'{}'", word.replace('\'', "'\\''"))?;
            }
        }
        Ok(())
    }
}

/// The environment of every command and instance, beside what a role names.
pub const ENVIRONMENT: [(&str, &str); 3] = [
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("LANG", "C.UTF-8"),
    // tidy: allow(shared-folder, it is nowhere)
    ("HOME", "/nonexistent"),
];

/// A process with these words, in a process group of its own, with nothing of our environment.
#[expect(clippy::disallowed_methods, reason = "what is under test is other programs")]
pub(crate) fn command(words: &Words, folder: &Path) -> Option<Command> {
    let (program, arguments) = words.0.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(ENVIRONMENT).current_dir(folder);
    command.stdin(Stdio::null()).process_group(0);
    Some(command)
}

/// Runs a command to its end. Returns what it said. What it started is ended with it where it takes
/// too long.
///
/// # Errors
/// A command that cannot be started, fails, or takes longer than it may.
pub fn run(words: &Words, folder: &Path, deadline: &Deadline) -> Result<String, TestbedError> {
    match command(words, folder) {
        Some(command) => run_command(command, &words.to_string(), deadline),
        None => Err(TestbedError::Wrong("run a command without a word".to_owned())),
    }
}

/// As [`run`], of a process that is set up already, in a group of its own; `shown` is what it is
/// called.
pub(crate) fn run_command(
    mut command: Command,
    shown: &str,
    deadline: &Deadline,
) -> Result<String, TestbedError> {
    let shown = || shown.to_owned();
    let started = |source| TestbedError::Start { command: shown(), source };
    let mut output = pipe().map_err(started)?;
    command.stdout(output.1.try_clone().map_err(started)?).stderr(output.1);
    let mut child = command.spawn().map_err(started)?;
    // Our own ends of the pipe: without them the reader would never see its end.
    drop(command);
    let reader = std::thread::spawn(move || {
        let mut kept = Vec::new();
        let _ = (&mut output.0).take(MOST_OUTPUT).read_to_end(&mut kept);
        // What is beyond is read too, so that the command does not wait for a reader.
        let _ = std::io::copy(&mut output.0, &mut std::io::sink());
        String::from_utf8_lossy(&kept).into_owned()
    });
    let ended = wait(&mut child, deadline);
    if ended.is_none() {
        kill(&child);
        let _ = child.wait();
    }
    let output = match ended {
        Some(_) => reader.join().unwrap_or_default(),
        // A process that left the group may hold the pipe for ever.
        None => String::new(),
    };
    match ended {
        None => Err(TestbedError::TooLong {
            what: format!("run `{}`", shown()),
            limit: deadline.limit(),
            output,
        }),
        Some(Err(source)) => Err(started(source)),
        Some(Ok(status)) if status.success() => Ok(output),
        Some(Ok(status)) => {
            Err(TestbedError::Failed { command: shown(), how: told(status), output })
        }
    }
}

fn pipe() -> std::io::Result<(std::io::PipeReader, std::io::PipeWriter)> {
    std::io::pipe()
}

/// How a process ended; `None` where it had not within the limit.
pub(crate) fn wait(child: &mut Child, deadline: &Deadline) -> Option<std::io::Result<ExitStatus>> {
    deadline.until(|| child.try_wait()).transpose()
}

fn kill(child: &Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// How a process ended, in words.
#[must_use]
pub fn told(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no exit code".to_owned(),
    }
}

/// Whether a program is on the path of commands; or a file, whose name may end in `*` for whatever
/// its name ends in.
#[must_use]
pub fn is_there(program: &str) -> bool {
    let path = Path::new(program);
    if path.is_absolute() {
        let Some((folder, begins)) = program.strip_suffix('*').and_then(|of| of.rsplit_once('/'))
        else {
            return path.is_file();
        };
        let mut files = std::fs::read_dir(format!("{folder}/")).into_iter().flatten().flatten();
        return files.any(|file| file.file_name().to_string_lossy().starts_with(begins));
    }
    ENVIRONMENT[0].1.split(':').any(|folder| Path::new(folder).join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::hand::Hand;
    use std::time::Duration;

    fn sh(text: &str, limit: Duration) -> Result<String, TestbedError> {
        run(&Words::of(&["sh", "-c", text]), Path::new("/"), &Deadline::within(limit))
    }

    #[test]
    fn commands_are_shown_as_they_would_be_typed() {
        let words = Words::of(&["nginx", "-g", "daemon off;", "it's", ""]);
        assert_eq!(words.to_string(), r"nginx -g 'daemon off;' 'it'\''s' ''");
    }

    #[test]
    fn a_file_may_be_named_by_how_it_begins() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("fpm8.2"), "").unwrap();
        let of = |name: &str| is_there(&format!("{}/{name}", folder.path().display()));
        assert!(of("fpm8.2") && of("fpm*") && of("*"));
        assert!(!of("fpm") && !of("fpn*") && !is_there("/nowhere/*"));
        assert!(is_there("sh") && !is_there("no-such-program"));
    }

    #[test]
    fn a_command_is_told_with_what_it_said() {
        let long = Duration::from_secs(20);
        assert_eq!(sh("echo here; echo there >&2", long).unwrap(), "here\nthere\n");
        let failed = sh("echo first; echo no such unit; exit 3", long).unwrap_err().to_string();
        assert!(failed.ends_with("it ended with exit code 3: no such unit"), "{failed}");
        let killed = sh("kill -9 $$", long).unwrap_err().to_string();
        assert!(killed.ends_with("signal 9"), "{killed}");
        // Nothing of our environment is handed on.
        let env = run(&Words::of(&["env"]), Path::new("/"), &Deadline::within(long)).unwrap();
        let names: Vec<&str> =
            env.lines().filter_map(|line| line.split_once('=')).map(|of| of.0).collect();
        assert_eq!(names.len(), ENVIRONMENT.len(), "{env}");
    }

    #[test]
    fn one_that_hangs_is_ended_with_all_that_it_started() {
        let hung = sh("sleep 1000 & sleep 1000", Duration::from_millis(200)).unwrap_err();
        assert!(matches!(hung, TestbedError::TooLong { .. }), "{hung}");
    }

    /// Whatever its limit, a command that hangs is ended when that is over, and no sooner.
    #[test]
    fn one_that_hangs_is_ended_when_its_limit_is_over() {
        for limit in [0, 15, 3000, 60_000].map(Duration::from_millis) {
            let hand = Hand::new();
            let words = Words::of(&["sh", "-c", "echo here; sleep 1000"]);
            let hung = run(&words, Path::new("/"), &hand.time().within(limit)).unwrap_err();
            let TestbedError::TooLong { what, limit: told, .. } = hung else { panic!("{hung}") };
            assert!(what.contains("sleep 1000"), "{what}");
            assert_eq!((told, hand.now()), (limit, limit));
        }
    }

    #[test]
    fn much_output_does_not_hold_it_up() {
        let text = sh("head -c 1000000 /dev/zero | tr '\\0' a", Duration::from_secs(20)).unwrap();
        assert_eq!(text.len() as u64, MOST_OUTPUT);
    }
}
