//! What this program does as a copy on a host: it takes requests from standard input, does them by
//! the same code that does them for servers here, and tells what came of them on standard output.
//!
//! Before it makes anything it says so, and waits until that stands in the ledger of who asks. When
//! its input ends, so does it: what it has started goes on, and is in that ledger.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write, stdin, stdout};
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::books::Books;
use crate::cgroup::Cgroups;
use crate::error::{TestbedError, Why};
use crate::folder::{self, Bytes};
use crate::launch::Launcher;
use crate::op::Op;
use crate::role::Instance;
use crate::ssh::wire::{Answer, Ask, Deed, next, send};
use crate::thing::{Thing, remove};
use crate::time::Deadline;
use crate::users::{User, is_root};
use crate::work::Worker;

/// How long it is waited for that a line is written into the ledger.
const WRITES: Duration = Duration::from_secs(30);

thread_local! {
    /// The request that this thread does.
    static REQUEST: Cell<u64> = const { Cell::new(0) };
}

/// Answers requests until the input ends.
///
/// # Errors
/// An input that does not begin as it should; an output that cannot be written.
pub fn serve(launcher: &Launcher) -> Result<(), TestbedError> {
    let mut input = BufReader::new(stdin());
    let Some(Ask::Begin { bed, rows, most_output, replaces }) = next(&mut input) else {
        return Err(TestbedError::Wrong("begin: expected what the ledger has".to_owned()));
    };
    let far = Far {
        bed,
        waiting: Mutex::new(Some(Waiting::new())),
        output: Mutex::new(Box::new(stdout())),
    };
    far.tell(&Answer::Begun);
    let outputs = |instance: &str, text: &str| {
        let (instance, text) = (instance.to_owned(), text.to_owned());
        far.tell(&Answer::Output { id: REQUEST.get(), instance, text });
    };
    let worker = Worker::new(&far, launcher, (&outputs, most_output)).of_host(rows, replaces);
    std::thread::scope(|threads| {
        while let Some(ask) = next::<Ask>(&mut input) {
            match ask {
                Ask::Begin { .. } => break,
                Ask::Written { id, row } => far.written(id, &row),
                Ask::Do { id, deed: Deed::Put { op, length, mode }, .. } => {
                    // What is left of the bytes is no request.
                    let mut bytes = (&mut input).take(length);
                    let put = put(&op, &mut bytes, (length, mode), replaces);
                    let _ = std::io::copy(&mut bytes, &mut std::io::sink());
                    far.answer(id, put.map(|()| String::new()));
                }
                Ask::Do { id, deed, within_ms } => {
                    let (far, worker) = (&far, &worker);
                    threads.spawn(move || {
                        REQUEST.set(id);
                        let deadline = Deadline::within(Duration::from_millis(within_ms));
                        far.answer(id, fulfil(worker, far, deed, &deadline));
                    });
                }
            }
        }
        far.ends();
    });
    Ok(())
}

/// Does what is asked for.
fn fulfil(
    worker: &Worker<'_>,
    far: &Far,
    deed: Deed,
    deadline: &Deadline,
) -> Result<String, TestbedError> {
    match deed {
        Deed::Act { op } => worker.act(None, &here(op)?, deadline),
        Deed::Undo { op } => worker.undo(None, &here(op)?, deadline),
        Deed::Remove { thing } => remove(&far.bed, &thing).map(|was| was.to_string()),
        Deed::Lives { thing } => Ok(thing.lives().to_string()),
        Deed::Put { .. } => Ok(String::new()),
    }
}

/// An op as it is done on this host: who is not root gives nothing to another user, and a user has
/// the numbers that this host knows it by.
fn here(mut op: Op) -> Result<Op, TestbedError> {
    match &mut op {
        Op::Folder { user, .. } | Op::Write { user, .. } | Op::Copy { user, .. } if !is_root() => {
            *user = None;
        }
        Op::Groups { .. } if !is_root() => {
            return Err(TestbedError::Wrong(
                "make cgroups as a user without rights; log in there as root, or leave `cgroup` \
                 out of `from` in [collect]"
                    .to_owned(),
            ));
        }
        Op::Start { order, .. } | Op::Run { order, .. } => {
            if let Some(name) = order.enters.take() {
                order.cgroups = Cgroups::of_host()?.entries(&name);
            }
            let user = order.becomes.take().filter(|_| is_root());
            let found = user.map(|user| User::find(&user)).transpose()?;
            order.user = found.map(|user| (user.id, user.group));
        }
        _ => {}
    }
    Ok(op)
}

/// Writes bytes into a file of an instance.
fn put(
    op: &Op,
    bytes: &mut (dyn Read + Send),
    (length, mode): (u64, u32),
    replaces: bool,
) -> Result<(), TestbedError> {
    let Op::Copy { folder, path, is_secret, user, .. } = here(op.clone())? else {
        return Err(TestbedError::Wrong("copy: expected a file".to_owned()));
    };
    let manner = folder::Manner { is_secret, user: user.as_deref(), replaces };
    folder::put(&folder, &path, Bytes { from: bytes, length, mode }, manner)
}

/// The other end of what is asked, and the ledger there.
struct Far {
    bed: String,
    /// Who waits for a line of the ledger, by its request; none when all has ended.
    waiting: Mutex<Option<Waiting>>,
    output: Mutex<Box<dyn Write + Send>>,
}

/// Who waits for what, by the number of the request.
type Waiting = BTreeMap<u64, Sender<Result<u64, String>>>;

impl Far {
    /// Says something. Who does not hear it any more has ended, and so does this.
    fn tell(&self, answer: &Answer) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = send(&mut *output, answer, None);
    }

    fn answer(&self, id: u64, result: Result<String, TestbedError>) {
        self.tell(&match result {
            Ok(said) => Answer::Done { id, said },
            Err(error) => Answer::Failed { id, why: Why::of(&error) },
        });
    }

    fn waiting(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn written(&self, id: u64, row: &Result<u64, String>) {
        let waits = self.waiting().as_mut().and_then(|all| all.remove(&id));
        waits.into_iter().for_each(|waits| drop(waits.send(row.clone())));
    }

    /// Nobody writes any more: who waits makes nothing.
    fn ends(&self) {
        *self.waiting() = None;
    }

    /// Has something written into the ledger, and waits for that.
    fn write(&self, answer: &Answer) -> Result<u64, TestbedError> {
        let (sends, waits) = channel();
        if let Some(all) = &mut *self.waiting() {
            all.insert(REQUEST.get(), sends);
        }
        self.tell(answer);
        let row = waits.recv_timeout(WRITES);
        let row = row.unwrap_or_else(|_| Err("who keeps the ledger is gone".to_owned()));
        row.map_err(|why| TestbedError::Wrong(format!("write the ledger: {why}")))
    }
}

impl Books for Far {
    fn bed(&self) -> &str {
        &self.bed
    }

    fn will_make(&self, thing: &Thing) -> Result<u64, TestbedError> {
        self.write(&Answer::WillMake { id: REQUEST.get(), thing: thing.clone() })
    }

    fn is_gone(&self, row: u64) -> Result<(), TestbedError> {
        self.write(&Answer::Gone { id: REQUEST.get(), row }).map(drop)
    }

    fn serves(&self, _: &Instance) -> Result<(), TestbedError> {
        // Who asks writes that down.
        Ok(())
    }

    fn sockets(&self) -> PathBuf {
        // From a host no other is reached.
        PathBuf::new()
    }
}
