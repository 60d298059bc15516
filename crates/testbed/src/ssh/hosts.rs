//! The hosts of a bed, each reached by one connection, with this program's copy at work there.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::command::Words;
use crate::error::{TestbedError, Why};
use crate::route::Route;
use crate::ssh::client::{Client, Connection};
use crate::ssh::session::{Hears, Session};
use crate::ssh::wire::{Ask, Deed};
use crate::thing::{MARK, Thing};
use crate::time::Deadline;
use plimsoll_units::hash::hex;

/// The name of this program's copy in the folder of a host.
pub(crate) const PROGRAM: &str = "plimsoll";
/// How long a short command on a host may take.
const SHORT: Duration = Duration::from_secs(20);

/// Ends, and says why, where others could exchange the folder `$1`: each above it belongs to us or
/// to root, and nobody else may write in it, unless its sticky bit is set. As `OwnFolder` has it.
const ABOVE: &str = r#"me=$(id -u)
up=$(cd -P -- "$(dirname -- "$1")" && pwd -P) || exit 1
while :; do
  [ -n "$(find "$up" -prune \( -user 0 -o -user "$me" \) \( -perm -1000 -o ! -perm -0002 \
    \( ! -perm -0020 -o -group 0 -o -group "$me" \) \))" ] || {
    echo "others could exchange it: $(ls -ld -- "$up")" >&2; exit 1; }
  [ "$up" = / ] && break
  up=$(dirname -- "$up")
done
ours() {
  [ -n "$(find "$1" -prune -type d -user "$me" ! -perm -0002 ! -perm -0020 2>/dev/null)" ]
}
"#;
/// Makes the folder `$1`, which must not be there, with the mark of the bed `$2` in it.
const MAKE: &str = r#"if [ -e "$1" ] || [ -L "$1" ]; then
  echo "it is there, and not of this test-bed: $(ls -ld -- "$1")" >&2; exit 1
fi
umask 077 && mkdir -- "$1" && printf %s "$2" > "$1/$3""#;
/// Tells the mark of the folder `$1`, where that is ours. One that is empty was about to get it.
const MARKED: &str = r#"rmdir -- "$1" 2>/dev/null; ours "$1" && cat -- "$1/$3" 2>/dev/null"#;
/// Tells where the folder `$1` is not there.
const ABSENT: &str = r#"[ -e "$1" ] || [ -L "$1" ] || printf absent"#;
/// Tells the digest of the file `$1`.
const DIGEST: &str = "sha256sum < \"$1\" 2>/dev/null";
/// Tells what kind of host it is.
const KIND: &str = "uname -s -m";
/// What stands before and behind what a script tells, so that what the shell of a host says beside
/// it is left out.
const TOLD: [&str; 2] = ["<plimsoll ", " plimsoll>"];
/// Removes the folder `$1` where it has the mark of the bed `$2`, and nothing is mounted below it.
/// What else is there stays, and is told.
const REMOVE: &str = r#"[ -e "$1" ] || [ -L "$1" ] || exit 0
ours "$1" && [ "$(cat -- "$1/$3" 2>/dev/null)" = "$2" ] || {
  rmdir -- "$1" 2>/dev/null && exit 0
  echo "nothing in it says that it is of this test-bed: $(ls -ld -- "$1")" >&2; exit 1; }
at=$(cd -P -- "$1" && pwd -P | sed 's/ /\\040/g') || exit 1
mounted=$(while read -r id up device from to more; do
  case $to in "$at" | "$at"/*) printf '%s ' "$to" ;; esac
done < /proc/self/mountinfo) || exit 1
[ -z "$mounted" ] || { echo "mounted there, and left alone: $mounted" >&2; exit 1; }
rm -rf -- "$1""#;
/// Makes the program `$1` of what is read.
const COPY: &str =
    "umask 077 && cat > \"$1.new\" && chmod 700 \"$1.new\" && mv -- \"$1.new\" \"$1\"";

/// A script of the shell of a host, with its parameters as words of their own.
fn script(text: &str, parameters: &[&str]) -> Words {
    Words::of(&[&["sh", "-c", text, "sh"], parameters].concat())
}

/// What a script of a host tells; nothing where it fails.
fn told(connection: &Connection, text: &str, parameters: &[&str]) -> Result<String, TestbedError> {
    let [before, behind] = TOLD;
    let text = format!("printf '{before}%s{behind}\\n' \"$({text})\"");
    let said = connection.run(&script(&text, parameters), None, &Deadline::within(SHORT))?;
    let found = said.split_once(before).and_then(|(_, rest)| rest.split_once(behind));
    Ok(found.map(|(found, _)| found.trim().to_owned()).unwrap_or_default())
}

/// A host that is reached, with this program's copy at work there.
pub(crate) struct Reached {
    pub(crate) session: Session,
    pub(crate) connection: Connection,
}

/// A host of a bed, as it stands in the ledger.
#[derive(Clone, Copy)]
pub(crate) struct OfBed<'a> {
    pub(crate) bed: &'a str,
    pub(crate) route: &'a Route,
    pub(crate) folder: &'a Path,
}

impl OfBed<'_> {
    fn script(&self, text: &str) -> Words {
        script(text, &[&self.folder.display().to_string(), self.bed, MARK])
    }

    /// Why a script failed that makes or removes the folder: what it says itself.
    fn told(&self, deed: &str, error: TestbedError) -> TestbedError {
        let TestbedError::Failed { how, output, .. } = &error else { return error };
        let why = output.lines().last().unwrap_or_default().trim().to_owned();
        let host = self.route.to_string();
        // `ssh` ends with 255 where the fault is its own.
        if how == "exit code 255" {
            return TestbedError::Away { host, why };
        }
        let text = format!("{deed} the folder {}: {why}", self.folder.display());
        TestbedError::OnHost { host, why: Why { text, hint: None, is_usage: false } }
    }
}

impl Reached {
    /// Reaches a host, makes its folder where it is not there yet, and starts the copy. `will_make`
    /// is called when the host is reached, before anything is made there.
    ///
    /// # Errors
    /// A host that is away, or of another kind; a folder that is somebody else's; a copy that
    /// arrived wrong.
    pub(crate) fn begin(
        client: &Client,
        sockets: &Path,
        of: OfBed<'_>,
        (begin, will_make): (&Ask, &dyn Fn() -> Result<(), TestbedError>),
        deadline: &Deadline,
    ) -> Result<Self, TestbedError> {
        let connection = client.connect(of.route, sockets)?;
        is_alike(&connection)?;
        will_make()?;
        let short = || Deadline::within(SHORT);
        let folder = of.folder.display().to_string();
        let marked = told(&connection, &format!("{ABOVE}{MARKED}"), &[&folder, of.bed, MARK])?;
        let is_there = marked == of.bed;
        if !is_there {
            let made = connection.run(&of.script(&format!("{ABOVE}{MAKE}")), None, &short());
            made.map_err(|error| of.told("make", error))?;
        }
        let program = of.folder.join(PROGRAM).display().to_string();
        let wanted = digest(&client.program)?;
        if !is_there || digest_there(&connection, &program)? != wanted {
            let own = &client.program;
            let file = File::open(own).map_err(TestbedError::file("read", own))?;
            connection.run(&script(COPY, &[&program]), Some(file), deadline)?;
            let found = digest_there(&connection, &program)?;
            if found != wanted {
                return Err(TestbedError::Wrong(format!(
                    "copy this program to the host {}: expected the digest {wanted}, found {found}",
                    of.route
                )));
            }
        }
        let session = Session::begin(&connection, &program, begin)?;
        Ok(Self { session, connection })
    }

    /// Whether nothing was made on a host: its folder is not there.
    ///
    /// # Errors
    /// A host that is away.
    pub(crate) fn is_absent(
        client: &Client,
        sockets: &Path,
        of: OfBed<'_>,
    ) -> Result<bool, TestbedError> {
        let connection = client.connect(of.route, sockets)?;
        Ok(told(&connection, ABSENT, &[&of.folder.display().to_string()])? == "absent")
    }

    /// Has something removed that the ledger has of this host.
    ///
    /// # Errors
    /// What could not be removed.
    pub(crate) fn remove(&self, thing: &Thing, hears: &dyn Hears) -> Result<bool, TestbedError> {
        let deed = Deed::Remove { thing: thing.clone() };
        Ok(self.session.ask(deed, None, hears, &Deadline::within(SHORT))? == "true")
    }

    /// Whether a process of the host lives.
    ///
    /// # Errors
    /// A host that is gone.
    pub(crate) fn lives(&self, thing: &Thing, hears: &dyn Hears) -> Result<bool, TestbedError> {
        let deed = Deed::Lives { thing: thing.clone() };
        Ok(self.session.ask(deed, None, hears, &Deadline::within(SHORT))? == "true")
    }

    /// Ends the copy, and removes its folder.
    ///
    /// # Errors
    /// A folder that cannot be removed; a host that is gone.
    pub(crate) fn clear(&self, of: OfBed<'_>) -> Result<(), TestbedError> {
        self.session.end();
        let script = of.script(&format!("{ABOVE}{REMOVE}"));
        let done = self.connection.run(&script, None, &Deadline::within(SHORT));
        done.map(drop).map_err(|error| of.told("remove", error))
    }
}

/// Refuses a host on which this program cannot run.
fn is_alike(connection: &Connection) -> Result<(), TestbedError> {
    let there = told(connection, KIND, &[])?;
    let own = rustix::system::uname();
    let here = format!("{} {}", own.sysname().to_string_lossy(), own.machine().to_string_lossy());
    if there == here {
        return Ok(());
    }
    Err(TestbedError::Wrong(format!(
        "use the host {}: it is {}, and this program is for {here}",
        connection.route(),
        there
    )))
}

/// The digest of a file of a host; nothing where it is not there.
fn digest_there(connection: &Connection, path: &str) -> Result<String, TestbedError> {
    let said = told(connection, DIGEST, &[path])?;
    Ok(said.split_whitespace().next().unwrap_or_default().to_owned())
}

fn digest(path: &Path) -> Result<String, TestbedError> {
    let mut digest = Sha256::new();
    crate::making::digest(path, &mut digest).map_err(TestbedError::file("read", path))?;
    Ok(hex(&digest.finalize()))
}

/// The hosts that a worker has reached, by name.
pub(crate) struct Hosts {
    pub(crate) client: Client,
    pub(crate) sockets: PathBuf,
    reached: Mutex<BTreeMap<String, Arc<Reached>>>,
}

impl Hosts {
    pub(crate) fn new(client: &Client, sockets: &Path) -> Self {
        Self { client: client.clone(), sockets: sockets.to_owned(), reached: Mutex::default() }
    }

    /// Those that are reached.
    pub(crate) fn reached(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Reached>>> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
