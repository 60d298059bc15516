//! What is made for a bed, and how each of it is removed where it is proved the bed's: a process by
//! its number *and* the time of its start, a link by its alias, a namespace and a cgroup by names
//! that have the bed's id, a folder by the mark in it, or by the number of its file.

use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_units::erase::{all_in, folder_itself, opened_in};
use plimsoll_units::own::{OwnFolder, place};
use rustix::fs::{Dir, Mode, OFlags, fstat, openat};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde::{Deserialize, Serialize};

use crate::cloud::{Account, Where};
use crate::command::{Deadline, Words, run};
use crate::error::TestbedError;
use crate::policy::put_back;
use crate::route::Route;

/// The file that marks a folder as a bed's; it holds the bed's id.
pub(crate) const MARK: &str = ".plimsoll";
/// The longest mark that is read, bytes.
const MOST_MARK: u64 = 256;
/// How long a removal may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Something that is made and removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "lowercase")]
pub enum Thing {
    /// A folder, with all in it.
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// A folder that was made, by the number of its file: so it is known although its server has
    /// removed the mark in it.
    Place {
        /// The folder.
        path: PathBuf,
        /// Its device.
        device: u64,
        /// Its number there.
        number: u64,
    },
    /// A network namespace of `ip netns`.
    Namespace {
        /// Its name, which has the bed's id.
        name: String,
    },
    /// A network interface of this host.
    Link {
        /// Its name.
        name: String,
        /// Its alias.
        alias: String,
    },
    /// What keeps the distribution from starting services while packages are installed: a file in
    /// the place of one that may have been there, which lies beside it meanwhile.
    Policy {
        /// The file.
        path: PathBuf,
    },
    /// A cgroup.
    Cgroup {
        /// Its folder, which has the bed's id.
        path: PathBuf,
    },
    /// A host that is reached by `ssh`, with the folder there that this program's copy is in.
    Host {
        /// How it is reached.
        route: Route,
        /// The folder, with the mark of the bed.
        folder: PathBuf,
    },
    /// A thing on such a host.
    On {
        /// The host's name.
        host: String,
        /// What it is there.
        thing: Box<Thing>,
    },
    /// A process, with the group that it leads.
    Process {
        /// The instance.
        instance: String,
        /// Its number.
        pid: u32,
        /// When it was started, ticks since the host was.
        started: u64,
    },
    /// The router of the links, with the group that it leads. Its devices are gone with it.
    Links {
        /// Its number.
        pid: u32,
        /// When it was started, ticks since the host was.
        started: u64,
    },
    /// An instance that is rented from a cloud. It is found by its token.
    Rented {
        /// The instance.
        instance: String,
        /// The client token of its order.
        token: String,
        /// Where it is.
        cloud: Where,
        /// The list of what its experiment has rented.
        list: PathBuf,
        /// Whose account it is; none where an earlier version wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        account: Option<Box<Account>>,
    },
}

impl Thing {
    /// Whether a process is the one that was started then; of anything else there is nothing that
    /// lives.
    #[must_use]
    pub fn lives(&self) -> bool {
        match self {
            Self::Process { pid, started, .. } | Self::Links { pid, started } => {
                runs(*pid, *started)
            }
            _ => true,
        }
    }

    /// The thing itself, wherever it is.
    #[must_use]
    pub fn itself(&self) -> &Self {
        match self {
            Self::On { thing, .. } => thing,
            _ => self,
        }
    }

    /// The instance that it is the process of, wherever that runs.
    #[must_use]
    pub fn process_of(&self) -> Option<&str> {
        match self.itself() {
            Self::Process { instance, .. } => Some(instance),
            _ => None,
        }
    }
}

/// What a folder is known by that was just made.
pub(crate) fn place_of(folder: &OwnFolder) -> Result<Thing, TestbedError> {
    let path = folder.path().to_owned();
    let about =
        fstat(folder).map_err(|error| TestbedError::file("look at", &path)(error.into()))?;
    Ok(Thing::Place { path, device: about.st_dev, number: about.st_ino })
}

/// Puts the mark of a bed into its folder.
pub(crate) fn mark(folder: &OwnFolder, bed: &str) -> Result<(), TestbedError> {
    let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    let mut file = folder.file(OsStr::new(MARK), new)?;
    let written = file.write_all(bed.as_bytes());
    written.map_err(TestbedError::file("write", folder.path().join(MARK)))
}

/// Removes a thing where it is there and proved the bed's. Returns whether it was: where it
/// returns, the thing was seen to be gone, or to be another one's.
///
/// # Errors
/// Where it could not be removed, or nothing says whose it is.
pub(crate) fn remove(bed: &str, thing: &Thing) -> Result<bool, TestbedError> {
    match thing {
        Thing::Process { pid, started, .. } | Thing::Links { pid, started } => {
            end_process(bed, *pid, *started)
        }
        Thing::Host { route, .. } => {
            Err(TestbedError::Wrong(format!("remove what is on the host {route} from here")))
        }
        Thing::On { host, .. } => {
            Err(TestbedError::Wrong(format!("remove what is on the host {host} from here")))
        }
        Thing::Cgroup { path } => remove_cgroup(bed, path),
        Thing::Policy { path } => put_back(path),
        // Who has credentials ends it: `rented::take_down`.
        Thing::Rented { instance, .. } => Err(TestbedError::Rented(vec![instance.clone()])),
        Thing::Namespace { name } => {
            if !name.contains(bed) || !Path::new("/run/netns").join(name).exists() {
                return Ok(false);
            }
            ip(&["netns", "delete", name]).map(|()| true)
        }
        Thing::Link { name, alias } => {
            // One without an alias was about to get it: its name has the bed's id.
            let found = fs::read_to_string(format!("/sys/class/net/{name}/ifalias"));
            let is_ours = |found: &str| found == alias || found.is_empty() && name.contains(bed);
            if !found.is_ok_and(|found| is_ours(found.trim())) {
                return Ok(false);
            }
            // The kernel removes it by itself, a moment after the namespace of its other end.
            let is_gone = || !Path::new("/sys/class/net").join(name).exists();
            ip(&["link", "delete", name]).or_else(|error| is_gone().then_some(()).ok_or(error))?;
            Ok(true)
        }
        Thing::Folder { path } => remove_folder(bed, path, None),
        Thing::Place { path, device, number } => remove_folder(bed, path, Some((*device, *number))),
    }
}

/// Removes a folder that has the mark of the bed, or this device and number. What is mounted below
/// it stays, and so does the mark then.
fn remove_folder(bed: &str, path: &Path, known: Option<(u64, u64)>) -> Result<bool, TestbedError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        found => found.map_err(TestbedError::file("look at", path))?,
    };
    let (above, name, path) = place(path, false)?;
    let Some(folder) = opened_in(&above, &name, &path)? else { return Ok(false) };
    let about = fstat(&folder);
    let about = about.map_err(|error| TestbedError::file("look at", &path)(error.into()))?;
    let is_known = known == Some((about.st_dev, about.st_ino));
    match marked_as(&folder) {
        Some(found) if found == bed => {}
        _ if is_known => {}
        Some(found) if !found.is_empty() => return Ok(false),
        // One that is empty was about to get its mark.
        _ if name.to_string_lossy().contains(bed) && is_empty(&folder) => {}
        _ => return Err(TestbedError::Unproved(path)),
    }
    all_in(&folder, &path, Some(OsStr::new(MARK)))?;
    all_in(&folder, &path, None)?;
    folder_itself(&above, &name, &path)?;
    Ok(true)
}

/// The mark in an opened folder; no link to one.
fn marked_as(folder: &OwnedFd) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = openat(folder, MARK, flags, Mode::empty()).ok()?;
    let mut text = String::new();
    fs::File::from(file).take(MOST_MARK).read_to_string(&mut text).ok()?;
    Some(text)
}

fn is_empty(folder: &OwnedFd) -> bool {
    let entries = Dir::read_from(folder).into_iter().flatten().flatten();
    entries.into_iter().all(|of| matches!(of.file_name().to_bytes(), b"." | b".."))
}

fn ip(words: &[&str]) -> Result<(), TestbedError> {
    let words: Vec<&str> = [&["ip"], words].concat();
    run(&Words::of(&words), Path::new("/"), &Deadline::within(LIMIT)).map(drop)
}

/// Kills a process, the group that it leads and all that descends from it, where it is the one that
/// was started then. Where it has ended already, those that it has left are known by the mark in
/// their environment, or by their group and the folder that they work in. Returns whether there
/// was one.
///
/// # Errors
/// Where one of them goes on.
fn end_process(bed: &str, pid: u32, started: u64) -> Result<bool, TestbedError> {
    let left = || {
        let mut left = marked(pid, started);
        let orphans = orphans(bed, pid).into_iter();
        left.extend(orphans.filter(|of| !left.contains(of)).collect::<Vec<_>>());
        left
    };
    let mut family = left();
    // The number of one that has ended may be somebody else's by now, as that of its group may.
    let group = number(pid).filter(|_| started_at(pid) == Some(started));
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::STOP);
        if !family.contains(&(pid, started)) {
            family.push((pid, started));
        }
    }
    if family.is_empty() {
        return Ok(false);
    }
    // Who is stopped starts no more: the family is whole once nobody new is found.
    loop {
        signal_all(&family, Signal::STOP);
        let mut found = descendants(&family);
        found.extend(left().into_iter().filter(|of| !family.contains(of)));
        if found.is_empty() {
            break;
        }
        family.extend(found);
    }
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    end_all(&family);
    match family.iter().find(|(pid, started)| runs(*pid, *started)) {
        None => Ok(true),
        Some((pid, _)) => {
            let (what, output) = (format!("end the process {pid}"), String::new());
            Err(TestbedError::TooLong { what, limit: LIMIT, output })
        }
    }
}

/// What stands in the environment of an instance's process, and of all that it starts and that does
/// not clear it: who they are of.
#[must_use]
pub(crate) fn mark_of(pid: u32, started: u64) -> (&'static str, String) {
    ("PLIMSOLL_PROCESS", format!("{pid}.{started}"))
}

/// The processes that run and have this mark: those of other users only where that is allowed.
fn marked(pid: u32, started: u64) -> Vec<(u32, u64)> {
    let (name, value) = mark_of(pid, started);
    let mark = format!("{name}={value}");
    let is_marked = |(of, _): &(u32, u64)| {
        let environment = fs::read(format!("/proc/{of}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
    };
    running().into_iter().map(|(_, of)| of).filter(is_marked).collect()
}

/// The processes of a group whose leader has ended that work in a folder of the bed: some write
/// over the mark in their environment, as nginx does. The number of a group is nobody else's as
/// long as somebody is in it.
fn orphans(bed: &str, leader: u32) -> Vec<(u32, u64)> {
    if started_at(leader).is_some_and(|_| !is_zombie(leader)) {
        return Vec::new();
    }
    let works_there = |pid: u32| {
        let folder = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        folder.components().any(|part| part.as_os_str().to_string_lossy().contains(bed))
    };
    let group = |pid: u32| stat(pid)?.get(5 - 3)?.parse::<u32>().ok();
    let is_left = |(pid, _): &(u32, u64)| group(*pid) == Some(leader) && works_there(*pid);
    running().into_iter().map(|(_, of)| of).filter(is_left).collect()
}

/// Kills those of some processes that run still, and waits for their end.
pub(crate) fn end_all(processes: &[(u32, u64)]) {
    signal_all(processes, Signal::KILL);
    let deadline = Deadline::within(LIMIT);
    while processes.iter().any(|(pid, started)| runs(*pid, *started)) && !deadline.is_over() {
        deadline.pause();
    }
}

fn signal_all(processes: &[(u32, u64)], signal: Signal) {
    for (pid, _) in processes.iter().filter(|(pid, started)| runs(*pid, *started)) {
        if let Some(number) = number(*pid) {
            let _ = kill_process(number, signal);
        }
    }
}

fn number(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// Kills all that is in a cgroup, and removes it.
fn remove_cgroup(bed: &str, path: &Path) -> Result<bool, TestbedError> {
    let is_ours = path.components().any(|part| part.as_os_str().to_string_lossy().contains(bed));
    if !is_ours || !path.is_dir() {
        return Ok(false);
    }
    let deadline = Deadline::within(LIMIT);
    loop {
        let inside = fs::read_to_string(path.join("cgroup.procs")).unwrap_or_default();
        for pid in inside.lines().filter_map(|line| Pid::from_raw(line.trim().parse().ok()?)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        match fs::remove_dir(path) {
            Ok(()) => return Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(true),
            Err(error) if deadline.is_over() => {
                return Err(TestbedError::file("remove the cgroup", path)(error));
            }
            Err(_) => deadline.pause(),
        }
    }
}

/// The fields of `/proc/PID/stat` behind the name, which may have spaces and brackets.
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

/// When a process was started, ticks since the host was (proc_pid_stat(5), field 22).
#[must_use]
pub fn started_at(pid: u32) -> Option<u64> {
    stat(pid)?.get(22 - 3)?.parse().ok()
}

/// The processes that a process has started and that run, each with the time of its start.
pub(crate) fn children(pid: u32) -> Vec<(u32, u64)> {
    running().into_iter().filter(|(parent, _)| *parent == pid).map(|(_, child)| child).collect()
}

/// The processes that descend from some and run, without these themselves.
pub(crate) fn descendants(of: &[(u32, u64)]) -> Vec<(u32, u64)> {
    let all = running();
    let mut family = of.to_vec();
    let mut next = 0;
    while let Some((pid, _)) = family.get(next).copied() {
        let children = all.iter().filter(|(parent, _)| *parent == pid).map(|(_, child)| *child);
        let new: Vec<_> = children.filter(|child| !family.contains(child)).collect();
        family.extend(new);
        next += 1;
    }
    family.split_off(of.len())
}

/// All processes that run, each behind the number of who started it.
fn running() -> Vec<(u32, (u32, u64))> {
    let number = |entry: fs::DirEntry| entry.file_name().to_string_lossy().parse::<u32>().ok();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(number);
    let with_parent = |pid: u32| {
        let fields = stat(pid)?;
        let is_zombie = fields.first()? == "Z";
        let (parent, started) = (fields.get(1)?.parse().ok()?, fields.get(22 - 3)?.parse().ok()?);
        (!is_zombie).then_some((parent, (pid, started)))
    };
    all.filter_map(with_parent).collect()
}

/// Whether a process is the one that was started then, and runs.
pub(crate) fn runs(pid: u32, started: u64) -> bool {
    started_at(pid) == Some(started) && !is_zombie(pid)
}

fn is_zombie(pid: u32) -> bool {
    stat(pid).is_none_or(|fields| fields.first().is_some_and(|state| state == "Z"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;

    #[test]
    fn a_process_is_ours_by_the_time_of_its_start() {
        let me = std::process::id();
        let started = started_at(me).unwrap();
        assert!(!end_process("bed", me, started + 1).unwrap());
        assert_eq!(started_at(u32::MAX), None);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a process to be ended")]
    fn who_has_left_the_group_and_hears_no_asking_ends_with_who_started_it() {
        let script = "setsid sh -c 'trap \"\" TERM; sleep 300 & wait' & wait";
        let mut shell = std::process::Command::new("sh").args(["-c", script]).spawn().unwrap();
        let me = (shell.id(), started_at(shell.id()).unwrap());
        let deadline = Deadline::within(LIMIT);
        let family = loop {
            let family = descendants(&[me]);
            // The shell with its back turned, and its `sleep`.
            if family.len() == 2 || deadline.is_over() {
                break family;
            }
            deadline.pause();
        };
        assert_eq!(family.len(), 2, "{family:?}");
        assert!(end_process("bed", me.0, me.1).unwrap());
        assert!(!family.iter().any(|(pid, started)| runs(*pid, *started)), "{family:?}");
        shell.wait().unwrap();
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "processes to be ended")]
    fn who_is_left_of_a_group_ends_where_it_works_in_the_beds_folder_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        for (place, is_ours) in [("plimsoll-bed1-web-1", true), ("another", false)] {
            let place = folder.path().join(place);
            fs::create_dir(&place).unwrap();
            // Without a mark in its environment, as of one that has written over it.
            let mut leader = std::process::Command::new("sh")
                .args(["-c", "sleep 300 & echo; wait"])
                .env_clear()
                .current_dir(&place)
                .process_group(0)
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            let me = (leader.id(), started_at(leader.id()).unwrap());
            leader.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
            let left = children(me.0);
            assert_eq!(left.len(), 1);
            assert!(orphans("bed1", me.0).is_empty(), "its leader lives");
            leader.kill().unwrap();
            leader.wait().unwrap();
            assert_eq!(end_process("bed1", me.0, me.1).unwrap(), is_ours);
            assert_eq!(runs(left[0].0, left[0].1), !is_ours);
            end_all(&left);
        }
    }
}
