//! The client at work.

#![expect(clippy::disallowed_methods, reason = "how long a cache takes is what is asked here")]

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::answer::{self, Answer};
use super::apply;
use super::choose::{Candidate, candidates, is_object, order};
use super::memory::Memory;
use super::output;
use super::{Ask, Error, Form, Options, Outcome, Source, Use, World};
use plimsoll_net::http::client::{self as http, Dial, Limits, Peer, through};
use plimsoll_net::url::Url;

/// More than are wanted, because some may not deliver.
const SPARE: usize = 5;
/// The most a registry gives on its old paths, and on its new one.
const MOST: (usize, usize) = (1000, 100);

/// Finds the caches to use and, if wanted, writes them.
///
/// # Errors
/// Where there is nothing to say, or a file that was to be written could not be.
pub fn run(options: &Options, world: &World<'_>) -> Result<Outcome, Error> {
    let mut notes = Vec::new();
    let state = options.state_file();
    let mut memory = Memory::parse(&apply::read(&state).unwrap_or_else(|error| {
        notes.push(format!("read {}: {error}", state.display()));
        String::new()
    }));
    let (text, stands) = settings(options, &mut notes)?;
    let fixed = options.fixed.clone().or_else(|| memory.fixed(stands.clone()));
    let standing = stands.as_deref().map(output::proxies).unwrap_or_default();
    let found = find(options, world, &standing, &mut memory, &mut notes);
    let (caches, source) = match found.caches {
        Some(found) => found,
        None if fixed.is_some() || options.frontier_server.is_some() => (Vec::new(), Source::Fixed),
        None => return Err(Error::Nothing(notes.join("\n  "))),
    };
    let (line, value) = lines(options, &caches, fixed.as_deref());
    if !apply::may_stand(&value) {
        return Err(Error::Value(value));
    }
    let (dropped, difference) = (found.dropped, String::new());
    let mut outcome = Outcome { line, value, source, notes, dropped, changed: false, difference };
    let new = changed(options, &text, stands.as_deref(), &outcome)?;
    outcome.changed = new.is_some();
    if let Some(new) = &new {
        outcome.difference = apply::difference(&options.file, &text, new);
    }
    if !options.dry_run {
        write(options, new.as_deref(), fixed.as_deref(), &mut memory, &mut outcome)?;
    }
    Ok(outcome)
}

/// The text of the file of settings, and the value that it gives the variable.
fn settings(options: &Options, notes: &mut Vec<String>) -> Result<(String, Option<String>), Error> {
    let read = apply::read(&options.file).map_err(|source| file("read", &options.file, source));
    let valued = read.and_then(|text| match apply::value_of(&text) {
        Ok(value) => Ok((text, value)),
        Err(source) => Err(refused(options, source)),
    });
    match valued {
        // Where it is only read, for the static list, the rest can be done without it.
        Err(error) if !options.apply => {
            notes.push(plimsoll_units::failure::chain(&error));
            Ok((String::new(), None))
        }
        valued => valued,
    }
}

fn refused(options: &Options, source: apply::Refused) -> Error {
    Error::Refused { path: options.file.clone(), source }
}

fn file(what: &'static str, path: &std::path::Path, source: std::io::Error) -> Error {
    Error::File { what, path: path.to_owned(), source }
}

struct Finding {
    caches: Option<(Vec<Candidate>, Source)>,
    dropped: usize,
}

/// What delivers: of a registry's answer, else of the last good one.
fn find(
    options: &Options,
    world: &World<'_>,
    standing: &[&str],
    memory: &mut Memory,
    notes: &mut Vec<String>,
) -> Finding {
    let mut dropped = 0;
    let unix_s = (world.now)().unix_s;
    if let Some((server, answer)) = ask_all(options, world, notes) {
        dropped = answer.dropped;
        let offered = candidates(&answer.offers, &world.own, options.purpose);
        let count = offered.len();
        let (caches, reasons) = delivering(options, world, standing, offered);
        if !caches.is_empty() {
            memory.keep_found(options.purpose, &caches, unix_s);
            return Finding { caches: Some((caches, Source::Registry(server))), dropped };
        }
        notes.push(format!("none of the {count} caches of {server} delivers"));
        notes.extend(reasons);
    }
    let (remembered, then) = memory.found(options.purpose);
    if remembered.is_empty() {
        return Finding { caches: None, dropped };
    }
    let (caches, reasons) = delivering(options, world, standing, remembered);
    if caches.is_empty() {
        notes.push("none of the last good answer's caches delivers".to_owned());
        notes.extend(reasons);
        return Finding { caches: None, dropped };
    }
    let age_s = Duration::try_from_secs_f64(unix_s - then).unwrap_or_default().as_secs();
    Finding { caches: Some((caches, Source::Memory { age_s })), dropped }
}

/// The first registry's answer, and who gave it.
fn ask_all(
    options: &Options,
    world: &World<'_>,
    notes: &mut Vec<String>,
) -> Option<(String, Answer)> {
    for server in &options.servers {
        let mut asked = ask(options, world.dial.as_ref(), server, options.ask);
        if options.ask == Ask::V1 && matches!(asked, Err(http::Error::Status(404 | 405))) {
            asked = ask(options, world.dial.as_ref(), server, Ask::Nearest);
        }
        match asked {
            Ok(answer) => return Some((server.to_string(), answer)),
            Err(error) => {
                notes.push(format!("{server}: {}", plimsoll_units::failure::chain(&error)));
            }
        }
    }
    None
}

fn ask(options: &Options, dial: &dyn Dial, server: &Url, way: Ask) -> Result<Answer, http::Error> {
    let url = question(options, server, way);
    let answer = http::Ask::get(&url).send(dial, Limits::within(options.time))?;
    if answer.status != 200 {
        return Err(http::Error::Status(answer.status));
    }
    answer::parse(&answer.body).ok_or(http::Error::Malformed("its body lists no caches"))
}

/// The URL of the question. One that ends in a path of Shoal's servers, as their own settings
/// have it, is asked there.
fn question(options: &Options, server: &Url, way: Ask) -> Url {
    let wanted = options.count + SPARE;
    if way == Ask::V1 {
        return server.join(&format!("v1/nearest?n={}", wanted.min(MOST.1)));
    }
    let wanted = wanted.min(MOST.0);
    let last = server.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if last.starts_with("nearest") {
        server.join(&format!("{wanted}/"))
    } else {
        server.join(&format!("{}/{wanted}/", options.purpose.path()))
    }
}

/// Those of the first caches through which the object comes, in the order in which they are used;
/// and why it does not come through each of the others.
fn delivering(
    options: &Options,
    world: &World<'_>,
    standing: &[&str],
    mut caches: Vec<Candidate>,
) -> (Vec<Candidate>, Vec<String>) {
    let Some(object) = &options.object else {
        caches.truncate(options.count);
        return (caches, Vec::new());
    };
    caches.truncate(options.count + SPARE);
    let limits = Limits::within(options.object_time);
    let (sender, times) = mpsc::channel();
    thread::scope(|scope| {
        for (index, cache) in caches.iter().enumerate() {
            let (sender, dial) = (sender.clone(), world.dial.as_ref());
            // Where there is no thread for it, it counts as one that does not deliver.
            let _ =
                thread::Builder::new().name("cache".to_owned()).spawn_scoped(scope, move || {
                    let _ = sender.send((index, time_of(dial, cache, object, limits)));
                });
        }
    });
    drop(sender);
    let mut reasons = vec![Some("not asked".to_owned()); caches.len()];
    let mut tried: Vec<(Candidate, Option<Duration>)> =
        caches.into_iter().map(|cache| (cache, None)).collect();
    for (index, time) in times {
        (tried[index].1, reasons[index]) = match time {
            Ok(time) => (Some(time), None),
            Err(why) => (None, Some(why)),
        };
    }
    let told = tried
        .iter()
        .zip(reasons)
        .filter_map(|((cache, _), why)| Some(format!("{}: {}", cache.url(), why?)));
    let told = told.collect();
    (order(tried, standing, options.count), told)
}

/// How long the object takes through a cache, or why it does not come.
fn time_of(
    dial: &dyn Dial,
    cache: &Candidate,
    object: &Url,
    limits: Limits,
) -> Result<Duration, String> {
    let begin = Instant::now();
    let answer = through(dial, Peer::new(&cache.host, cache.port), object, limits);
    let answer = answer.map_err(|error| plimsoll_units::failure::chain(&error))?;
    let time = begin.elapsed();
    match is_object(&object.path, answer.status, &answer.body) {
        true => Ok(time),
        false if answer.status != 200 => Err(format!("{object} is answered {}", answer.status)),
        false => Err(format!("what comes is not {object}")),
    }
}

/// The line to print and the value to set; without caches, those of the static list.
fn lines(options: &Options, caches: &[Candidate], fixed: Option<&str>) -> (String, String) {
    let fixed = fixed.unwrap_or_default();
    let is_found = !caches.is_empty();
    let quoted = |text: &str| match options.form {
        Form::Old => format!("\"{text}\""),
        Form::Bands => text.to_owned(),
    };
    match options.purpose {
        Use::Cvmfs => {
            let found = output::cvmfs(caches, options.form);
            let value = output::with_fixed(&found, fixed);
            // Shoal's client prints what it found, and writes it before the static list.
            let shown = if is_found && options.form == Form::Old { &found } else { &value };
            (quoted(shown), value)
        }
        Use::Frontier => {
            let proxies = output::frontier(caches);
            let value = match &options.frontier_server {
                // Its own proxies are the static list; where it has none, the given one is.
                Some(server) if server.contains("(proxyurl") => {
                    output::into_frontier_server(&proxies, server)
                }
                server => {
                    let all = format!("{proxies}{}", output::frontier_of_fixed(fixed));
                    output::into_frontier_server(&all, server.as_deref().unwrap_or_default())
                }
            };
            let line = if options.form == Form::Old { quoted(&proxies) } else { value.clone() };
            (line, value)
        }
    }
}

/// The new text of the file of settings, where it is wanted and better than the old one.
fn changed(
    options: &Options,
    text: &str,
    stands: Option<&str>,
    outcome: &Outcome,
) -> Result<Option<String>, Error> {
    let is_wanted = options.apply && options.purpose == Use::Cvmfs;
    if !is_wanted || stands.is_some_and(|stands| output::is_as_good(stands, &outcome.value)) {
        return Ok(None);
    }
    let new = apply::with_value(text, &outcome.value);
    let new = new.map_err(|source| refused(options, source))?;
    Ok((new != text).then_some(new))
}

/// Writes the memory, then the file of settings where it is to change.
fn write(
    options: &Options,
    new: Option<&str>,
    fixed: Option<&str>,
    memory: &mut Memory,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    // First: what is remembered as ours and not in the file does no harm, the reverse would.
    if options.state.is_some() || options.apply {
        let path = options.state_file();
        if new.is_some() && outcome.source != Source::Fixed {
            memory.keep_written(&outcome.value, fixed);
        }
        match apply::replace(&path, &memory.text()) {
            Err(source) if new.is_some() => return Err(file("write", &path, source)),
            Err(error) => outcome.notes.push(format!("write {}: {error}", path.display())),
            Ok(()) => {}
        }
    }
    new.map_or(Ok(()), |new| apply::replace(&options.file, new))
        .map_err(|source| file("write", &options.file, source))
}
