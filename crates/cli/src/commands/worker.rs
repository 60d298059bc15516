//! `plimsoll worker`: a part of a load, or cells, as a controller says over a pipe or a broker.

use crate::exit::Exit;
use crate::place::{VERSION, place};
use crate::terminal::error::{Result, UsageError};
use crate::worker_args::{Duties, Worker};
use plimsoll_experiment::fleet;
use plimsoll_experiment::prepare::Place;
use plimsoll_fleet::host::Host;
use plimsoll_fleet::worker::{Own, serve};
use plimsoll_monitor::Memory;
use std::io::{BufReader, stdin, stdout};

/// Runs the command.
pub(crate) fn run(args: &Worker) -> Result<Exit> {
    let here = std::env::current_dir()?;
    let place = place(&here);
    match (&args.bus, &args.stranger) {
        (Some(url), _) => at_broker::run(args, url, &place),
        (None, Some(folder)) => at_broker::of_stranger(args, folder, place),
        (None, None) if !args.stdio => {
            let text = "a worker waits at a broker, --bus URL, or is started by `plimsoll load \
                        --workers N`: --stdio has it serve whoever started it";
            Err(UsageError(text.to_owned()).into())
        }
        (None, None) => {
            serve_by(&place, false, &mut fleet::Worker::new(place))?;
            Ok(Exit::Held)
        }
    }
}

fn serve_by(place: &Place<'_>, is_relayed: bool, make: &mut fleet::Worker<'_>) -> Result<()> {
    let memory = || Memory::read(place.system).map(|memory| memory.peak_bytes);
    let host = Host::read(place.system);
    let own = Own { version: VERSION, host, memory: &memory, is_relayed };
    Ok(serve((BufReader::new(stdin()), stdout()), own, make)?)
}

#[cfg(not(feature = "amqp"))]
pub(super) fn no_brokers() -> crate::terminal::error::Error {
    crate::terminal::error::UsageError("this build has no message brokers".to_owned()).into()
}

/// Whether a worker could do what its command line would say, at this broker.
pub(super) fn check(duties: &Duties, bus: &str, is_plain: bool) -> Result<()> {
    at_broker::check(duties, bus, is_plain)
}

#[cfg(not(feature = "amqp"))]
mod at_broker {
    use super::{Duties, Exit, Place, Result, Worker, no_brokers};
    use std::path::Path;

    pub(super) fn check(_: &Duties, _: &str, _: bool) -> Result<()> {
        Err(no_brokers())
    }

    pub(super) fn run(_: &Worker, _: &str, _: &Place<'_>) -> Result<Exit> {
        Err(no_brokers())
    }

    pub(super) fn of_stranger(_: &Worker, _: &Path, _: Place<'_>) -> Result<Exit> {
        Err(no_brokers())
    }
}

#[cfg(feature = "amqp")]
mod at_broker {
    use super::{Duties, Exit, Place, Result, Worker, fleet, place, serve_by};
    use crate::interrupt::Interrupts;
    use crate::place::{VERSION, environment};
    use crate::terminal::error::{Context, FlagError, UsageError, read};
    use crate::terminal::say;
    use plimsoll_experiment::broker;
    use plimsoll_experiment::fleet::{May, Rules};
    use plimsoll_fleet::Command;
    use plimsoll_fleet::bus::{Keyring, Relay, Secret, label_of, serve};
    use plimsoll_fleet::host::Host;
    use plimsoll_units::{ParseError, duration, rate, size};
    use rustix::process::{Resource, Rlimit, setrlimit};
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    /// Waits at a broker for controllers.
    pub(super) fn run(args: &Worker, url: &str, place: &Place<'_>) -> Result<Exit> {
        let Read { rules, labels, most_time, idle } = read_duties(&args.duties)?;
        let environment = variables(args)?;
        let file = |of: &Option<std::path::PathBuf>| of.clone().unwrap_or_default();
        let own = Arc::new(Secret::read(&file(&args.key))?);
        let trusted = Keyring::read(&file(&args.trust))?;
        if trusted.is_empty() {
            let text = format!("--trust: {} has no key", file(&args.trust).display());
            return Err(UsageError(text).into());
        }
        let bus = broker::bus(url, args.bus_ca.as_deref(), args.plain, place)?;
        let [word, ..] = (place.key)();
        let folder = fleet::WorkerFolder::new(word, args.alone)?;
        let relay = Relay {
            bus,
            own,
            trusted,
            labels,
            may: rules.may.iter().map(ToString::to_string).collect(),
            host: Host::read(place.system),
            version: VERSION,
            servant: servant(args, folder.path(), environment, place),
            most_time,
            idle,
        };
        let stop = Interrupts::to_end()?;
        serve(relay, &mut |text| say(text), &|| stop.load(Ordering::Relaxed))?;
        drop(folder);
        Ok(Exit::Held)
    }

    /// A worker's command line, read.
    struct Read {
        rules: Rules,
        labels: BTreeMap<String, String>,
        most_time: Option<Duration>,
        idle: Option<Duration>,
    }

    fn read_duties(of: &Duties) -> Result<Read> {
        let time = |flag: &'static str, of: &Option<String>| {
            of.as_deref().map(|text| read(flag, text, duration)).transpose()
        };
        if let Some(most) = &of.most_memory {
            read("--most-memory", most, size)?;
        }
        let label = |text: &String| read("--label", text, label);
        let labels = of.label.iter().map(label).collect::<Result<_, _>>()?;
        let (most_time, idle) = (time("--most-time", &of.most_time)?, time("--idle", &of.idle)?);
        Ok(Read { rules: rules(of)?, labels, most_time, idle })
    }

    /// Whether a worker could do what its command line would say, at this broker.
    pub(super) fn check(duties: &Duties, bus: &str, is_plain: bool) -> Result<()> {
        let here = std::env::current_dir()?;
        read_duties(duties)?;
        if let Some(name) = duties.env.iter().find(|name| !is_variable(name)) {
            return Err(UsageError(format!("--env: `{name}` is no variable's name")).into());
        }
        broker::bus(bus, None, is_plain, &place(&here))?;
        Ok(())
    }

    fn is_variable(name: &str) -> bool {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        !name.starts_with(|first: char| first.is_ascii_digit())
            && !name.is_empty()
            && name.bytes().all(is_part)
    }

    /// What it does for strangers, by its command line.
    fn rules(args: &Duties) -> Result<Rules> {
        let may = args.may.iter().map(|text| read("--may", text, str::parse::<May>));
        let most_rate = args.most_rate.as_deref().map(|text| read("--most-rate", text, rate));
        Ok(Rules {
            may: may.collect::<Result<_, FlagError>>()?,
            most_rate_per_s: most_rate.transpose()?,
            most_connections: args.most_connections,
            most_disk_bytes: args
                .disk
                .as_deref()
                .map(|text| read("--disk", text, size))
                .transpose()?,
        })
    }

    /// Serves a stranger, kept from this host.
    pub(super) fn of_stranger(args: &Worker, folder: &Path, place: Place<'_>) -> Result<Exit> {
        let rules = rules(&args.duties)?;
        if let Some(most) = &args.duties.most_memory {
            let most = Some(read("--most-memory", most, size)?);
            let limit = Rlimit { current: most, maximum: most };
            let limited = setrlimit(Resource::Data, limit).map_err(std::io::Error::from);
            limited.with_context(|| "limit its memory".to_owned())?;
        }
        plimsoll_fleet::bus::confine(folder, rules.ports().as_deref())?;
        let reach = rules.reach();
        let place = Place { reach: &reach, is_alone: args.alone, ..place };
        serve_by(&place, true, &mut fleet::Worker::of_strangers(place, &rules))?;
        Ok(Exit::Held)
    }

    fn label(text: &str) -> Result<(String, String), ParseError> {
        let wrong = || ParseError::new("NAME=VALUE such as region=eu", text, 0, text.len());
        label_of(text).ok_or_else(wrong)
    }

    /// The variables that plans may use.
    fn variables(args: &Worker) -> Result<Vec<(String, String)>> {
        let value = |name: &String| {
            let wrong = || UsageError(format!("--env: the environment has no {name}"));
            Ok((name.clone(), environment(name).ok_or_else(wrong)?))
        };
        args.duties.env.iter().map(value).collect()
    }

    /// The command that serves a controller: by the same rules, in a folder of its own, with
    /// nothing of this process's environment that was not named.
    fn servant(
        args: &Worker,
        folder: &Path,
        variables: Vec<(String, String)>,
        place: &Place<'_>,
    ) -> Command {
        let path = folder.display().to_string();
        let mut words = vec![place.program.display().to_string(), "worker".to_owned()];
        words.extend(["--stdio".to_owned(), "--stranger".to_owned(), path.clone()]);
        let mut flag = |name: &str, value: &str| {
            words.extend([format!("--{name}"), value.to_owned()]);
        };
        args.duties.may.iter().for_each(|may| flag("may", may));
        args.duties.most_rate.iter().for_each(|most| flag("most-rate", most));
        args.duties.most_memory.iter().for_each(|most| flag("most-memory", most));
        args.duties.disk.iter().for_each(|most| flag("disk", most));
        args.duties
            .most_connections
            .iter()
            .for_each(|most| flag("most-connections", &most.to_string()));
        if args.alone {
            words.push("--alone".to_owned());
        }
        // tidy: allow(shared-folder, it is the worker's own)
        let environment = [("TMPDIR".to_owned(), path)].into_iter().chain(variables).collect();
        Command { words, environment: Some(environment), copy: None }
    }
}
