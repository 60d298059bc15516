//! `plimsoll balance`: the built-in balancer.

use crate::balance_args::Balance;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::terminal::error::{Result, UsageError, read};
use crate::terminal::{print, say};
use plimsoll_testbed::balance::{Balancer, Check, Limits, Listing, Options};
use plimsoll_units::{ParseError, Words, count, duration, show_count};
use plimsoll_workload::balancer::Rule;
use plimsoll_workload::pool::Ties;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs the command.
pub(crate) fn run(args: &Balance) -> Result<Exit> {
    let options = options(args)?;
    let listen: SocketAddr = read("--listen", &args.listen, address)?;
    let instances = args.instances.iter().map(|text| instance(text)).collect::<Result<Vec<_>>>()?;
    let balancer = Balancer::bind(options, listen, args.control.as_deref())?;
    print(&format!("listening on {}\n", balancer.local_addr()?))?;
    let stop = Interrupts::flag()?;
    if let Some(text) = &args.run_for {
        end_after(read("--for", text, duration)?, Arc::clone(&stop))?;
    }
    tell(&balancer.run(&instances, &stop)?);
    Ok(Exit::Held)
}

fn end_after(time: std::time::Duration, stop: Arc<AtomicBool>) -> Result<()> {
    std::thread::Builder::new().name("end".into()).spawn(move || {
        std::thread::park_timeout(time);
        stop.store(true, Ordering::Relaxed);
    })?;
    Ok(())
}

fn tell(of: &Listing) {
    let lost = &of.lost;
    let lost = [
        ("no place", lost.no_slot),
        ("a full queue", lost.queue_full),
        ("waited too long", lost.queue_timeout),
        ("the client was gone", lost.client_gone),
        ("an instance failed", lost.instance_failed),
        ("an instance was late", lost.timeout),
    ];
    let lost = lost.iter().filter(|(_, n)| *n > 0);
    let lost: Vec<String> = lost.map(|(why, n)| format!("{} {why}", show_count(*n))).collect();
    let lost = if lost.is_empty() { "none lost".to_owned() } else { lost.join(", ") };
    say(&format!("{} requests; {lost}", show_count(of.requests)));
    for one in &of.instances {
        let (taken, failed) = (show_count(one.taken), show_count(one.failed));
        say(&format!("{} ({}): {taken} requests, {failed} failed", one.name, one.address));
    }
}

fn options(args: &Balance) -> Result<Options> {
    let number = |text: &str| {
        let wrong = || ParseError::new("a number below 4,294,967,296", text, 0, text.len());
        count(text).and_then(|number| u32::try_from(number).map_err(|_| wrong()))
    };
    let limit = args.limit.as_ref().map(|text| read("--limit", text, number)).transpose()?;
    if limit == Some(0) {
        return Err(UsageError("read --limit: expected 1 or more, found 0".to_owned()).into());
    }
    let time = |flag, text: &String| read(flag, text, duration);
    let queue_timeout = args.queue_timeout.as_ref().map(|text| time("--queue-timeout", text));
    let path = |text: &str| {
        let parsed = text.parse().ok().filter(|_| text.starts_with('/'));
        parsed.ok_or_else(|| ParseError::new("a path that begins with /", text, 0, text.len()))
    };
    Ok(Options {
        rule: rule(args)?,
        limit,
        queue: read("--queue", &args.queue, number)?,
        queue_timeout: queue_timeout.transpose()?,
        limits: Limits {
            answer: time("--timeout", &args.timeout)?,
            send: time("--send-timeout", &args.send_timeout)?,
            ..Limits::default()
        },
        check: Check {
            every: time("--check-every", &args.check_every)?,
            within: time("--check-within", &args.check_within)?,
            path: args.check.as_ref().map(|text| read("--check", text, path)).transpose()?,
        },
    })
}

fn rule(args: &Balance) -> Result<Rule> {
    let ties = args.ties.as_ref().map(|text| read("--ties", text, word::<Ties>)).transpose()?;
    let rule = read("--choose", &args.choose, word::<Rule>)?;
    match (ties, rule.ties()) {
        (Some(_), None) => {
            let text = "read --ties: it goes with --choose fair and least-connections";
            Err(UsageError(text.to_owned()).into())
        }
        (Some(ties), Some(_)) => Ok(rule.with(ties)),
        (None, _) => Ok(rule),
    }
}

fn word<T: Words>(text: &str) -> std::result::Result<T, ParseError> {
    let words: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
    let wrong = || ParseError::new(format!("one of {}", words.join(", ")), text, 0, text.len());
    T::of_word(text).ok_or_else(wrong)
}

fn address(text: &str) -> std::result::Result<SocketAddr, ParseError> {
    let wrong = || ParseError::new("an address and a port, as 127.0.0.1:8080", text, 0, text.len());
    text.parse().map_err(|_| wrong())
}

fn instance(text: &str) -> Result<(String, SocketAddr)> {
    let wrong = || UsageError(format!("read the instance {text}: expected NAME=ADDRESS:PORT"));
    let (name, at) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(wrong)?;
    Ok((name.to_owned(), read("the instance", at, address)?))
}
