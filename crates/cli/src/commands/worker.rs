//! `plimsoll worker`: a part of a load, as a controller says over a pipe.

use crate::exit::Exit;
use crate::place::{VERSION, place};
use crate::terminal::error::{Result, UsageError};
use crate::worker_args::Worker;
use plimsoll_experiment::fleet;
use plimsoll_fleet::host::Host;
use plimsoll_fleet::worker::{Own, serve};
use plimsoll_monitor::Memory;
use std::io::{BufReader, stdin, stdout};

/// Runs the command.
pub(crate) fn run(args: &Worker) -> Result<Exit> {
    if !args.stdio {
        let text = "a worker is started by `plimsoll load --workers N`: --stdio has it serve \
                    whoever started it";
        return Err(UsageError(text.to_owned()).into());
    }
    let here = std::env::current_dir()?;
    let place = place(&here);
    let memory = || Memory::read(place.system).map(|memory| memory.peak_bytes);
    let host = Host::read(place.system);
    let own = Own { version: VERSION, host, memory: &memory };
    serve((BufReader::new(stdin()), stdout()), own, &mut fleet::Worker::new(place))?;
    Ok(Exit::Held)
}
