//! Does what is to be done for a bed, and undoes it.

mod hosts;
mod links;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt, fchown};
use std::path::Path;
use std::process::Child;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use plimsoll_units::own::OwnFolder;
use rustix::process::{Pid, kill_process};

use crate::books::Books;
use crate::cgroup::{Cgroups, make_cgroup};
use crate::command::{Deadline, Words, is_there, run, told, wait};
use crate::error::TestbedError;
use crate::flow::Outputs;
use crate::folder::{self, Bytes, Manner};
use crate::launch::{Launcher, Order};
use crate::ledger::Serves;
use crate::making::OWN_PROGRAM;
use crate::op::Op;
use crate::output;
use crate::ready;
use crate::recipe::{Stop, reload_signal_of, signal_of};
use crate::rents::Rents;
use crate::role::{Instance, Limits};
use crate::ssh::Client;
use crate::ssh::hosts::Hosts;
use crate::thing::{
    Thing, children, descendants, end_all, mark, place_of, remove, runs, started_at,
};
use crate::users::User;

/// A link of the instance's user's is not followed.
const NOFOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

/// Does and undoes.
pub(crate) struct Worker<'a> {
    ledger: &'a dyn Books,
    launcher: &'a Launcher,
    /// Rents instances, where the bed's are rented.
    rents: Option<&'a dyn Rents>,
    /// Whether the user has ended it.
    is_ended: &'a (dyn Fn() -> bool + Sync),
    /// The rows of the ledger of what was made.
    rows: Mutex<Vec<(Thing, u64)>>,
    children: Mutex<BTreeMap<String, Child>>,
    /// Takes what an instance said, when it has ended.
    outputs: Outputs<'a>,
    /// How much of it, bytes.
    most_output: u64,
    /// Whether files take the place of those that are there: those of a bed that stands.
    replaces: bool,
    /// Other hosts; none for a copy of this program on one.
    hosts: Option<Hosts>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(
        ledger: &'a dyn Books,
        launcher: &'a Launcher,
        (outputs, most_output): (Outputs<'a>, u64),
    ) -> Self {
        Self {
            ledger,
            launcher,
            rents: None,
            is_ended: &|| false,
            rows: Mutex::default(),
            children: Mutex::default(),
            outputs,
            most_output,
            replaces: false,
            hosts: None,
        }
    }

    /// For a bed that may have instances on other hosts.
    pub(crate) fn reaching(self, client: &Client) -> Self {
        Self { hosts: Some(Hosts::new(client, &self.ledger.sockets())), ..self }
    }

    /// For a host, of which the ledger has these rows. `replaces`: files take the place of those
    /// that are there.
    pub(crate) fn of_host(self, rows: Vec<(Thing, u64)>, replaces: bool) -> Self {
        Self { rows: Mutex::new(rows), replaces, ..self }
    }

    /// For a bed whose instances are rented.
    pub(crate) fn renting(
        self,
        (rents, is_ended): (Option<&'a dyn Rents>, &'a (dyn Fn() -> bool + Sync)),
    ) -> Self {
        Self { rents, is_ended, ..self }
    }

    /// For a bed that stands, of which the ledger has these rows.
    pub(crate) fn on_standing(self, rows: Vec<(Thing, u64)>) -> Self {
        Self { rows: Mutex::new(rows), replaces: true, ..self }
    }

    /// The rows of the ledger of what is there.
    pub(crate) fn rows(&self) -> Vec<(Thing, u64)> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether all that was made is removed.
    pub(crate) fn is_clear(&self) -> bool {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Of a bed that was left: ends the processes of instances that are not among those that stand,
    /// as of one that was being started. What is on a host that is away stays in the ledger.
    pub(crate) fn end_others(&self, stand: &[Serves]) -> Result<(), TestbedError> {
        let is_other = |thing: &Thing| {
            let name = match thing {
                Thing::Rented { instance, .. } => Some(instance.as_str()),
                _ => thing.process_of(),
            };
            name.is_some_and(|name| !stand.iter().any(|of| of.name == name))
        };
        let rows = self.rows();
        let others = rows.iter().map(|(thing, _)| thing).filter(|thing| is_other(thing));
        others.into_iter().try_for_each(|thing| hosts::unless_away(self.remove(thing).map(drop)))
    }

    /// Of a bed that was left: removes what its instances were not known to have.
    pub(crate) fn remove_rest(&self, is_left: bool) -> Vec<TestbedError> {
        let rows = if is_left { self.rows() } else { Vec::new() };
        rows.iter().rev().filter_map(|(thing, _)| self.remove(thing).err()).collect()
    }

    /// Writes that an instance is ready.
    pub(crate) fn serves(&self, instance: &Instance) -> Result<(), TestbedError> {
        self.ledger.serves(instance)
    }

    /// Writes that a thing is about to be made. Returns its number.
    pub(crate) fn will_make(&self, thing: &Thing) -> Result<u64, TestbedError> {
        let id = self.ledger.will_make(thing)?;
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).push((thing.clone(), id));
        Ok(id)
    }

    /// Writes that a thing is gone, by its number.
    pub(crate) fn is_gone(&self, id: u64) -> Result<(), TestbedError> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).retain(|(_, row)| *row != id);
        self.ledger.is_gone(id)
    }

    /// Takes what an instance said.
    pub(crate) fn output(&self, instance: &str, text: &str) {
        (self.outputs)(instance, text);
    }

    /// Does one thing, on a host where one is named. Returns what was said.
    pub(crate) fn act(
        &self,
        host: Option<&str>,
        op: &Op,
        deadline: &Deadline,
    ) -> Result<String, TestbedError> {
        match host {
            Some(host) => self.act_on(host, op, deadline),
            None => self.act_here(op, deadline),
        }
    }

    fn act_here(&self, op: &Op, deadline: &Deadline) -> Result<String, TestbedError> {
        match op {
            Op::Make { thing, by } => {
                self.will_make(thing)?;
                let said = by.iter().map(|words| run(words, Path::new("/"), deadline));
                said.collect::<Result<String, _>>()
            }
            Op::Cgroup { thing, settings } => {
                self.will_make(thing)?;
                make_cgroup(thing, settings).map(|()| String::new())
            }
            Op::Groups { name } => {
                let groups = Cgroups::of_host()?.of(name, &Limits::default());
                groups.iter().try_for_each(|op| self.act_here(op, deadline).map(drop))?;
                Ok(String::new())
            }
            Op::Rent { instance, role, .. } => self.rent(instance, role),
            Op::Folder { path, user } => {
                self.will_make(&Thing::Folder { path: path.clone() })?;
                self.make_folder(path, user.as_deref()).map(|()| String::new())
            }
            Op::Write { folder, path, text, is_secret, user } => {
                let manner = self.manner(*is_secret, user.as_deref());
                folder::write(folder, path, text, manner).map(|()| String::new())
            }
            Op::Copy { folder, path, from, is_secret, user } => {
                let manner = self.manner(*is_secret, user.as_deref());
                folder::copy(folder, path, from, manner).map(|()| String::new())
            }
            Op::Restore { folder, image, user } => {
                image.restore(folder, user.as_deref()).map(|()| String::new())
            }
            Op::Host { route, .. } => {
                Err(TestbedError::Wrong(format!("reach the host {route} from a host")))
            }
            Op::Needs { what, programs, packages, address } => {
                needs(what, programs, packages, address).map(|()| String::new())
            }
            Op::Program { folder } => {
                let mut own = folder::source(&self.launcher.program, false)?;
                // The instance's user, whoever that is, has to run it.
                let bytes = Bytes { mode: 0o111, ..own.bytes() };
                let manner = self.manner(false, None);
                folder::put(folder, OWN_PROGRAM, bytes, manner).map(|()| String::new())
            }
            Op::Forward { folder, .. } => output::port(folder, deadline),
            Op::Remove { folder, path } => folder::remove(folder, path).map(|()| String::new()),
            Op::Clear { folder } => folder::clear(folder).map(|()| String::new()),
            Op::End { instance, stop } => self.stop(instance, stop, deadline),
            Op::Signal { instance, folder, signal, replaces_workers } => {
                self.signal((instance, folder), signal, *replaces_workers, deadline)
            }
            Op::Start { instance, folder, order, .. } => {
                self.start(instance, folder, order).map(|()| String::new())
            }
            Op::Run { name, folder, log, order } => self.run_as(name, folder, log, order, deadline),
            Op::Links { folder, order, .. } => self.link(folder, order, deadline),
            Op::Ready { instance, folder, address, check } => {
                let is_ready = || ready::is_ready(*address, check);
                self.until_ready(instance, folder, *address, deadline, is_ready)
            }
            Op::Steady { instance, folder, address, when } => {
                let mut row = ready::Row::new(*address, when);
                self.until_ready(instance, folder, *address, deadline, || row.goes_on(deadline))
            }
        }
    }

    /// Undoes one thing, whole or half done, on a host where one is named.
    pub(crate) fn undo(
        &self,
        host: Option<&str>,
        op: &Op,
        deadline: &Deadline,
    ) -> Result<String, TestbedError> {
        match host {
            Some(host) => self.undo_on(host, op, deadline),
            None => self.undo_here(op, deadline),
        }
    }

    fn undo_here(&self, op: &Op, deadline: &Deadline) -> Result<String, TestbedError> {
        match op {
            Op::Make { thing, .. } | Op::Cgroup { thing, .. } => self.remove(thing),
            Op::Groups { name } => {
                let is_its = |thing: &Thing| match thing {
                    Thing::Cgroup { path } => path.ends_with(name),
                    _ => false,
                };
                let its = self.rows().into_iter().map(|(thing, _)| thing).filter(is_its);
                its.map(|thing| self.remove(&thing)).collect::<Result<String, _>>()
            }
            Op::Rent { instance, .. } => {
                self.rented(instance).map_or(Ok(String::new()), |thing| self.remove(&thing))
            }
            Op::Folder { path, .. } => self.remove_folder(path),
            Op::Start { instance, folder, stop, .. } => {
                let stopped = self.stop(instance, stop, deadline);
                (self.outputs)(instance, &output::all(folder, self.most_output));
                stopped
            }
            Op::Run { name, .. } => self.forget(name),
            Op::Links { folder, .. } => self.unlink(folder),
            Op::Write { .. }
            | Op::Copy { .. }
            | Op::Restore { .. }
            | Op::Host { .. }
            | Op::Needs { .. }
            | Op::Program { .. }
            | Op::Forward { .. }
            | Op::Ready { .. }
            | Op::Steady { .. }
            | Op::Remove { .. }
            | Op::Clear { .. }
            | Op::End { .. }
            | Op::Signal { .. } => Ok(String::new()),
        }
    }

    fn manner<'m>(&self, is_secret: bool, user: Option<&'m str>) -> Manner<'m> {
        Manner { is_secret, user, replaces: self.replaces }
    }

    /// Removes what the ledger has. What cannot be removed stays in it.
    pub(crate) fn remove(&self, thing: &Thing) -> Result<String, TestbedError> {
        let rows = self.rows();
        let Some((_, id)) = rows.iter().find(|(made, _)| made == thing) else {
            return Ok(String::new());
        };
        match (thing, self.rents) {
            (Thing::Host { route, folder }, _) => self.remove_host(route, folder)?,
            (Thing::On { host, thing }, _) => self.remove_on(host, thing)?,
            // Where it cannot be ended it goes on costing: the ledger keeps it for who can.
            (Thing::Rented { .. }, Some(rents)) => rents.end(self.ledger.bed(), thing).map(drop)?,
            _ => remove(self.ledger.bed(), thing).map(drop)?,
        }
        self.is_gone(*id)?;
        Ok(String::new())
    }

    /// Removes a folder, by its number where that is known, else by its mark.
    fn remove_folder(&self, path: &Path) -> Result<String, TestbedError> {
        let rows = self.rows();
        let is_its = |thing: &&Thing| matches!(thing, Thing::Place { path: of, .. } if of == path);
        let places = rows.iter().map(|(thing, _)| thing).filter(is_its);
        places.into_iter().try_for_each(|place| self.remove(place).map(drop))?;
        self.remove(&Thing::Folder { path: path.to_owned() })
    }

    /// The thing of a rented instance, as the ledger has it.
    fn rented(&self, instance: &str) -> Option<Thing> {
        let is_its =
            |thing: &Thing| matches!(thing, Thing::Rented { instance: of, .. } if of == instance);
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.iter().map(|(thing, _)| thing).find(|thing| is_its(thing)).cloned()
    }

    /// Rents an instance that is not there yet: it stands in the ledger before it is ordered.
    fn rent(&self, instance: &str, role: &str) -> Result<String, TestbedError> {
        let Some(rents) = self.rents else {
            return Err(TestbedError::Wrong(format!("rent {instance}: its bed rents nothing")));
        };
        if self.rented(instance).is_some() {
            return Ok("it is rented".to_owned());
        }
        let thing = rents.intends(role, instance)?;
        self.will_make(&thing)?;
        rents.rent(role, &thing, self.is_ended)
    }

    fn make_folder(&self, path: &Path, user: Option<&str>) -> Result<(), TestbedError> {
        let folder = OwnFolder::make_new(path)?;
        self.will_make(&place_of(&folder)?)?;
        mark(&folder, self.ledger.bed())?;
        if let Some(user) = user {
            let user = User::find(user)?;
            fchown(&folder, Some(user.id), Some(user.group))
                .map_err(TestbedError::file("give its user", path))?;
        }
        Ok(())
    }

    fn start(&self, instance: &str, folder: &Path, order: &Order) -> Result<(), TestbedError> {
        let of = |pid, started| Thing::Process { instance: instance.to_owned(), pid, started };
        let child = self.begin(folder, order, of)?;
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        children.insert(instance.to_owned(), child);
        Ok(())
    }

    /// Starts a process in a folder, where what it says is kept. `of` is what the ledger has of it.
    fn begin(
        &self,
        folder: &Path,
        order: &Order,
        of: impl FnOnce(u32, u64) -> Thing,
    ) -> Result<Child, TestbedError> {
        let path = folder.join(output::FILE);
        // Made anew: what lies there may be a link of somebody else's.
        let output = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path);
        let output = output.map_err(TestbedError::file("make", path))?;
        let waiting = self.launcher.begin(folder, &output)?;
        let pid = waiting.pid();
        let started = started_at(pid).unwrap_or(0);
        self.will_make(&of(pid, started))?;
        waiting.go(order)
    }

    /// Runs a command as an instance, to its end. Returns the end of what it said.
    fn run_as(
        &self,
        name: &str,
        folder: &Path,
        log: &str,
        order: &Order,
        deadline: &Deadline,
    ) -> Result<String, TestbedError> {
        folder::write(folder, log, "", self.manner(false, None))?;
        let path = folder.join(log);
        let output = OpenOptions::new().append(true).custom_flags(NOFOLLOW).open(&path);
        let output = output.map_err(TestbedError::file("open", &path))?;
        let waiting = self.launcher.begin(folder, &output)?;
        let pid = waiting.pid();
        let started = started_at(pid).unwrap_or(0);
        self.will_make(&Thing::Process { instance: name.to_owned(), pid, started })?;
        let mut child = waiting.go(order)?;
        let ended = wait(&mut child, deadline);
        // Whoever is left of its group goes too.
        self.forget(name)?;
        let _ = child.wait();
        let said = output::end_of(&path);
        let command = Words(order.words.clone()).to_string();
        match ended {
            None => {
                let (what, limit) = (format!("run `{command}`"), deadline.limit());
                Err(TestbedError::TooLong { what, limit, output: said })
            }
            Some(Err(source)) => Err(TestbedError::Start { command, source }),
            Some(Ok(status)) if status.success() => Ok(said),
            Some(Ok(status)) => {
                Err(TestbedError::Failed { command, how: told(status), output: said })
            }
        }
    }

    /// How a server ended, where it has. Of one that another process has started it is not known
    /// how.
    fn ended(&self, instance: &str) -> Option<String> {
        if let Some(rents) = self.rents.filter(|rents| rents.has(instance)) {
            return rents.ended(instance);
        }
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(child) = children.get_mut(instance) else {
            let is_over = self.process_of(instance).is_none_or(|thing| !thing.lives());
            return is_over.then(|| "an unknown exit code".to_owned());
        };
        child.try_wait().ok()?.map(told)
    }

    /// How a server ended that was started here or is known by its process, where it has.
    pub(crate) fn gone(&self, instance: &str) -> Option<String> {
        let is_rented = self.rents.is_some_and(|rents| rents.has(instance));
        let is_child = || {
            let children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
            children.contains_key(instance)
        };
        let is_known = !is_rented && (is_child() || self.process_of(instance).is_some());
        if is_known { self.ended(instance) } else { None }
    }

    /// The process of an instance, as the ledger has it.
    pub(crate) fn process_of(&self, instance: &str) -> Option<Thing> {
        let is_its =
            |thing: &Thing| matches!(thing, Thing::Process { instance: of, .. } if of == instance);
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.iter().map(|(thing, _)| thing).find(|thing| is_its(thing)).cloned()
    }

    /// Sends a signal to a server that stands, and waits for the end of the processes that it had
    /// started before, where it replaces them.
    fn signal(
        &self,
        (instance, folder): (&str, &Path),
        signal: &str,
        replaces_workers: bool,
        deadline: &Deadline,
    ) -> Result<String, TestbedError> {
        let process = self.process_of(instance).filter(Thing::lives);
        let (Some(Thing::Process { pid, .. }), Some(signal)) = (process, reload_signal_of(signal))
        else {
            let (instance, how) = (instance.to_owned(), "an unknown exit code".to_owned());
            return Err(TestbedError::Ended { instance, how, output: output::end(folder) });
        };
        let before = if replaces_workers { children(pid) } else { Vec::new() };
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let sent = number.map_or(Ok(()), |number| kill_process(number, signal));
        sent.map_err(|error| TestbedError::file("signal", format!("/proc/{pid}"))(error.into()))?;
        let have_ended = || !before.iter().any(|(pid, started)| runs(*pid, *started));
        let ended = deadline.until_there(|| have_ended().then(String::new));
        ended.ok_or_else(|| TestbedError::TooLong {
            what: format!("reload {instance}: wait for the end of its processes of before"),
            limit: deadline.limit(),
            output: output::end(folder),
        })
    }

    fn until_ready(
        &self,
        instance: &str,
        folder: &Path,
        address: SocketAddr,
        deadline: &Deadline,
        mut is_ready: impl FnMut() -> bool,
    ) -> Result<String, TestbedError> {
        let ready = deadline.until(|| {
            if let Some(how) = self.ended(instance) {
                let instance = instance.to_owned();
                return Err(TestbedError::Ended { instance, how, output: output::end(folder) });
            }
            let ready = || format!("ready after {} ms", deadline.passed().as_millis());
            Ok(is_ready().then(ready))
        })?;
        ready.ok_or_else(|| TestbedError::TooLong {
            what: format!("wait for {instance} at {address}"),
            limit: deadline.limit(),
            output: output::end(folder),
        })
    }

    /// Asks a server to end, and kills it where it does not.
    fn stop(
        &self,
        instance: &str,
        how: &Stop,
        deadline: &Deadline,
    ) -> Result<String, TestbedError> {
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        let child = children.remove(instance);
        drop(children);
        let Some(mut child) = child else { return self.stop_standing(instance, how, deadline) };
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        // Who has made a session of its own is found only while its parents are there.
        let family = family(child.id());
        if let (Some(pid), Some(signal), Ok(None)) = (pid, signal_of(&how.signal), child.try_wait())
        {
            let _ = kill_process(pid, signal);
        }
        let patience = deadline.part(Duration::from_secs(how.within_s));
        while matches!(child.try_wait(), Ok(None)) && !patience.is_over() {
            patience.pause();
        }
        let is_killed = matches!(child.try_wait(), Ok(None));
        // Whoever is left of its group, or of what it started, goes too.
        let done = self.forget(instance);
        end_all(&family);
        let _ = child.wait();
        done.map(|said| if is_killed { "it had to be killed".to_owned() } else { said })
    }

    /// Asks a server to end that another process has started.
    fn stop_standing(
        &self,
        instance: &str,
        how: &Stop,
        deadline: &Deadline,
    ) -> Result<String, TestbedError> {
        let process = self.process_of(instance).filter(Thing::lives);
        let mut left = Vec::new();
        if let Some(thing @ Thing::Process { pid, .. }) = process {
            left = family(pid);
            let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
            if let (Some(number), Some(signal)) = (number, signal_of(&how.signal)) {
                let _ = kill_process(number, signal);
            }
            let patience = deadline.part(Duration::from_secs(how.within_s));
            while thing.lives() && !patience.is_over() {
                patience.pause();
            }
        }
        let done = self.forget(instance);
        end_all(&left);
        done
    }

    /// Ends what is left of an instance's process, and takes it out of the ledger.
    fn forget(&self, instance: &str) -> Result<String, TestbedError> {
        self.process_of(instance).map_or(Ok(String::new()), |thing| self.remove(&thing))
    }
}

/// What descends from a process.
fn family(pid: u32) -> Vec<(u32, u64)> {
    started_at(pid).map_or_else(Vec::new, |started| descendants(&[(pid, started)]))
}

/// Whether this host has what an instance needs.
fn needs(
    what: &str,
    programs: &[String],
    packages: &str,
    address: &str,
) -> Result<(), TestbedError> {
    if let Some(program) = programs.iter().find(|program| !is_there(program)) {
        let (program, what) = (program.clone(), what.to_owned());
        return Err(TestbedError::Program { program, what, packages: packages.to_owned() });
    }
    match std::net::TcpListener::bind(address) {
        Ok(_) => Ok(()),
        Err(error) => Err(TestbedError::Wrong(match error.kind() {
            ErrorKind::AddrInUse => format!("listen at {address}: something else does already"),
            ErrorKind::AddrNotAvailable => format!(
                "listen at {address}: the host has no such address; say the one that it has by \
                 `serves` in [testbed.hosts]"
            ),
            _ => format!("listen at {address}: {error}"),
        })),
    }
}
