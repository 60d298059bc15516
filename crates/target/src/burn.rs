//! Workers that really work: threads that use the processor for the service time.
//!
//! The time is processor time of the thread, so that workers which share a core take longer, as
//! real ones do. The queue before them is first come, first served, and real: departures are what
//! the machine makes of them. A request that arrives when all workers are busy and the queue is
//! full is refused, as in the computed queue.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, eventfd};

use crate::clock;
use crate::counters::AtHand;
use crate::desk::Fate;
use crate::error::TargetError;
use crate::slab::Key;

/// How much work of a job is done before it is counted, nanoseconds.
const TOLD_NS: u64 = 1_000_000;

/// Work for one request, and whose answer it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    pub(crate) key: Key,
    /// The answer's number on its connection.
    pub(crate) number: u32,
    pub(crate) fate: Fate,
}

/// A job that is done, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    pub(crate) job: Job,
    pub(crate) at_ns: u64,
}

/// The threads, and what goes to them and comes back.
#[derive(Debug)]
pub(crate) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    bound: Option<u64>,
    /// Jobs given out and not come back.
    in_system: u64,
    peak: u64,
}

#[derive(Debug)]
struct Shared {
    todo: Mutex<VecDeque<Job>>,
    has_work: Condvar,
    done: Mutex<Vec<Done>>,
    /// Readable when `done` is not empty.
    bell: OwnedFd,
    burnt_ns: AtomicU64,
    /// Set at the end: work that nobody waits for any more is broken off.
    is_over: AtomicBool,
}

impl Workers {
    pub(crate) fn start(count: NonZeroU32, bound: Option<u64>) -> Result<Self, TargetError> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .map_err(TargetError::system("make an event descriptor"))?;
        let shared = Arc::new(Shared {
            todo: Mutex::default(),
            has_work: Condvar::new(),
            done: Mutex::default(),
            bell,
            burnt_ns: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        });
        let mut workers = Self { shared, threads: Vec::new(), bound, in_system: 0, peak: 0 };
        for _ in 0..count.get() {
            let shared = Arc::clone(&workers.shared);
            let thread = std::thread::Builder::new()
                .name("target-worker".to_owned())
                .spawn(move || shared.work())
                .map_err(|source| TargetError::System { doing: "start a worker", source })?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// What becomes readable when jobs are done.
    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.shared.bell.as_fd()
    }

    /// Whether all work and as many wait as may.
    pub(crate) fn is_full(&self) -> bool {
        let workers = self.threads.len() as u64;
        self.bound.is_some_and(|bound| self.in_system >= workers.saturating_add(bound))
    }

    /// What they have at hand and have done. The work of a job that goes on is in it, up to
    /// [`TOLD_NS`].
    pub(crate) fn at_hand(&self) -> AtHand {
        let in_work = self.in_system.min(self.threads.len() as u64);
        let worked_ns = self.shared.burnt_ns.load(Ordering::Relaxed).into();
        AtHand { in_work, waiting: self.in_system - in_work, worked_ns }
    }

    pub(crate) fn give(&mut self, job: Job) {
        self.in_system += 1;
        self.peak = self.peak.max(self.in_system);
        lock(&self.shared.todo).push_back(job);
        self.shared.has_work.notify_one();
    }

    /// Jobs that have been done since the last call.
    pub(crate) fn take_done(&mut self) -> Vec<Done> {
        let mut count = [0; 8];
        // Nothing to read means that nothing rang.
        let _ = rustix::io::read(&self.shared.bell, &mut count);
        let done = std::mem::take(&mut *lock(&self.shared.done));
        self.in_system -= done.len() as u64;
        done
    }

    /// Ends the threads; returns processor time used and the
    /// greatest number of jobs in the system.
    pub(crate) fn stop(mut self) -> (u64, u64) {
        self.end();
        (self.shared.burnt_ns.load(Ordering::Relaxed), self.peak)
    }

    fn end(&mut self) {
        {
            // Under the lock, so that no worker misses it between looking and waiting.
            let _todo = lock(&self.shared.todo);
            self.shared.is_over.store(true, Ordering::Relaxed);
        }
        self.shared.has_work.notify_all();
        for thread in self.threads.drain(..) {
            // A worker that panicked has said so already.
            let _ = thread.join();
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn work(&self) {
        while let Some(job) = self.next_job() {
            self.burn(job.fate.service_ns);
            lock(&self.done).push(Done { job, at_ns: clock::now_ns() });
            // It is full only after 2^64 − 1 rings that nobody heard.
            let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
        }
    }

    fn next_job(&self) -> Option<Job> {
        let mut todo = lock(&self.todo);
        loop {
            if self.is_over.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(job) = todo.pop_front() {
                return Some(job);
            }
            todo = self.has_work.wait(todo).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Uses so much processor time, nanoseconds, unless all is over, and counts it as it goes.
    fn burn(&self, service_ns: u64) {
        let (start, mut told) = (clock::thread_cpu_ns(), 0);
        loop {
            let used = clock::thread_cpu_ns() - start;
            let is_done = used >= service_ns || self.is_over.load(Ordering::Relaxed);
            if is_done || used - told >= TOLD_NS {
                self.burnt_ns.fetch_add(used - told, Ordering::Relaxed);
                told = used;
            }
            if is_done {
                return;
            }
            for _ in 0..64 {
                std::hint::spin_loop();
            }
        }
    }
}

/// The lock, also after a panic elsewhere: what it guards is whole after every statement.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
