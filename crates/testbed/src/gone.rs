//! Servers that end by themselves while somebody uses the bed that they are of.
//!
//! They are looked at beside what is done with the bed. One on another host is not: who speaks for
//! it there sees it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::error::said;
use crate::output;
use crate::role::Instance;
use crate::work::Worker;

/// How often servers are looked at.
const STEP: Duration = Duration::from_millis(100);
/// How much of its last words is told, characters.
const MOST_WORDS: usize = 400;

/// A server that ended although nobody here has ended it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gone {
    /// The instance.
    pub instance: String,
    /// Its exit code, or the signal that ended it.
    pub how: String,
    /// The end of what it said.
    pub output: String,
}

/// In a sentence: which, how, and its last words.
impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.output.trim_end();
        let skip = words.chars().count().saturating_sub(MOST_WORDS);
        let words: String = words.chars().skip(skip).collect();
        // What the kernel does where memory runs out, and what nobody here has done.
        let why = if self.how == "signal 9" { ", as where its memory runs out" } else { "" };
        write!(f, "{} ended by itself, with {}{why}{}", self.instance, self.how, said(&words))
    }
}

impl Gone {
    /// A server that ended so, with the end of what it has said.
    pub(crate) fn of(instance: &Instance, how: String) -> Self {
        let output = output::end(&instance.folder);
        Self { instance: instance.name.clone(), how, output }
    }
}

/// Does something with instances, while `gone` is told of each that ends by itself, once.
pub(crate) fn watched<T>(
    instances: &[Instance],
    worker: &Worker<'_>,
    gone: &(dyn Fn(&Gone) + Sync),
    with: impl FnOnce() -> T,
) -> T {
    let (stop, stops) = channel::<()>();
    let look = move || {
        let mut told = BTreeSet::new();
        loop {
            // Nothing is ever sent: the other end is dropped when it is over.
            let is_last = stops.recv_timeout(STEP) != Err(RecvTimeoutError::Timeout);
            for instance in instances.iter().filter(|of| of.host.is_none()) {
                if told.contains(&instance.name) {
                    continue;
                }
                if let Some(how) = worker.gone(&instance.name) {
                    told.insert(instance.name.clone());
                    gone(&Gone::of(instance, how));
                }
            }
            if is_last {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(look);
        let result = with();
        drop(stop);
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_told_with_how_it_ended_and_its_last_words() {
        let of = |how: &str, output: &str| {
            let [instance, how, output] = ["web-1", how, output].map(str::to_owned);
            Gone { instance, how, output }.to_string()
        };
        assert_eq!(of("exit code 3", ""), "web-1 ended by itself, with exit code 3");
        assert_eq!(
            of("exit code 3", "no luck\n"),
            "web-1 ended by itself, with exit code 3: no luck"
        );
        assert!(of("signal 9", "").ends_with("with signal 9, as where its memory runs out"));
        let long = of("signal 15", &("x".repeat(1000) + "the end\n"));
        assert!(long.ends_with("the end") && long.len() < 500, "{long}");
    }
}
