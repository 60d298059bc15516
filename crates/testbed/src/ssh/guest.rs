//! A copy of this program that runs on a host and leaves nothing there.
//!
//! The copy comes by the command's own input, into a new folder of the user alone. It is opened,
//! its name is removed, and it is started from the open file: whatever ends it, nothing has to be
//! cleared. Where the first folder of several may have no programs (`noexec`), the next is taken.

use std::fs::File;
use std::io;

use sha2::{Digest, Sha256};

use crate::command::{ENVIRONMENT, Words};
use crate::error::TestbedError;
use crate::route::{Route, quoted};
use crate::ssh::client::{Client, options_of_one};
use plimsoll_units::hash::hex;

/// A command that starts a copy of this program on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    /// Its words.
    pub words: Vec<String>,
    /// Its whole environment.
    pub environment: Vec<(String, String)>,
}

/// Copies what is read, `$2` bytes with the digest `$3`, for a host of the kind `$1`, and runs it
/// with the other words. The files that it makes lie in the folder of the copy, which goes with it.
const COPY: &str = r#"kind=$(uname -s -m)
[ "$kind" = "$1" ] || { echo "it is $kind, and this program is for $1" >&2; exit 4; }
bytes=$2 wanted=$3
shift 3
umask 077
for place in "${TMPDIR:-}" /var/tmp /tmp "${XDG_RUNTIME_DIR:-}" /dev/shm "${HOME:-}"; do
  [ -n "$place" ] && [ -d "$place" ] && [ -w "$place" ] || continue
  folder=$(mktemp -d "$place/plimsoll.XXXXXXXX" 2>/dev/null) || continue
  : > "$folder/plimsoll" && chmod 700 "$folder/plimsoll" && [ -x "$folder/plimsoll" ] && break
  rm -rf -- "$folder"
  folder=
done
[ -n "$folder" ] || { echo "no folder of it may have programs (noexec)" >&2; exit 4; }
# Nobody may hear why it ends.
trap '' PIPE
trap 'rm -rf -- "$folder"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
head -c "$bytes" > "$folder/plimsoll"
found=$(sha256sum < "$folder/plimsoll")
[ "${found%% *}" = "$wanted" ] || { echo "the copy of this program arrived wrong" >&2; exit 4; }
exec 9< "$folder/plimsoll"
rm -f -- "$folder/plimsoll"
TMPDIR=$folder /proc/self/fd/9 "$@"
"#;

impl Guest {
    /// The command that runs a copy with some words.
    ///
    /// # Errors
    /// A host that must not enter a command; this program's own file, where it cannot be read.
    pub fn of(client: &Client, route: &Route, words: &[&str]) -> Result<Self, TestbedError> {
        route.check()?;
        let (bytes, digest) = about(client)?;
        let own = rustix::system::uname();
        let kind =
            format!("{} {}", own.sysname().to_string_lossy(), own.machine().to_string_lossy());
        let bytes = bytes.to_string();
        let script = ["sh", "-c", COPY, "sh", &kind, &bytes, &digest];
        let script = Words::of(&[&script, words].concat());
        let ssh = vec!["ssh".to_owned()];
        let there = vec![quoted(&script)];
        let words = [ssh, route.configuration(), options_of_one(), route.words(), there].concat();
        let usual = ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut environment = Vec::from(usual);
        environment.retain(|(name, _)| !client.environment.iter().any(|(own, _)| own == name));
        environment.extend(client.environment.iter().cloned());
        Ok(Self { words, environment })
    }

    /// The command as a person is shown it, without the script.
    #[must_use]
    pub fn shown(route: &Route) -> String {
        let ssh = vec!["ssh".to_owned()];
        Words([ssh, route.configuration(), route.words()].concat()).to_string()
    }
}

/// The length and the digest of this program.
fn about(client: &Client) -> Result<(u64, String), TestbedError> {
    let read = || -> io::Result<(u64, String)> {
        let mut digest = Sha256::new();
        let bytes = File::open(&client.program)?.metadata()?.len();
        crate::making::digest(&client.program, &mut digest)?;
        Ok((bytes, hex(&digest.finalize())))
    };
    read().map_err(TestbedError::file("read", &client.program))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// What a script says and how it ends, that reads a file before it is a copy of it.
    #[expect(clippy::disallowed_methods, reason = "the script is for a shell")]
    fn run(script: &[&str], program: &str, folder: &std::path::Path) -> (Option<i32>, String) {
        let mut command = Command::new("sh");
        command.args(["-c", COPY, "sh"]).args(script).env("TMPDIR", folder);
        let input = File::open(program).unwrap();
        let done = command.stdin(Stdio::from(input)).output().unwrap();
        let said = [done.stdout, done.stderr].concat();
        (done.status.code(), String::from_utf8_lossy(&said).into_owned())
    }

    #[test]
    fn a_copy_runs_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let program = "/bin/echo";
        let own = rustix::system::uname();
        let kind =
            format!("{} {}", own.sysname().to_string_lossy(), own.machine().to_string_lossy());
        let client = Client { program: program.into(), ..Client::default() };
        let (bytes, digest) = about(&client).unwrap();
        let bytes = bytes.to_string();
        let left = || std::fs::read_dir(folder.path()).unwrap().count();
        let words = [kind.as_str(), &bytes, &digest, "a copy", "says $(id)"];
        assert_eq!(run(&words, program, folder.path()), (Some(0), "a copy says $(id)\n".into()));
        assert_eq!(left(), 0);
        let wrong = [kind.as_str(), "100", &digest];
        let (code, said) = run(&wrong, program, folder.path());
        assert!(code == Some(4) && said.contains("arrived wrong"), "{said}");
        assert_eq!(left(), 0);
        let (code, said) = run(&["Linux riscv7", &bytes, &digest], program, folder.path());
        assert!(code == Some(4) && said.contains("this program is for Linux riscv7"), "{said}");
        assert_eq!(left(), 0);
    }
}
