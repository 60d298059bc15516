//! `plimsoll worker`: a part of a load, as a controller says over a pipe.

use crate::exit::Exit;
use crate::place::{VERSION, place};
use crate::terminal::error::{Result, UsageError};
use crate::worker_args::Worker;
use plimsoll_experiment::fleet::made;
use plimsoll_fleet::worker::serve;
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
    serve((BufReader::new(stdin()), stdout()), VERSION, &|job| made(job, &place), &memory)?;
    Ok(Exit::Held)
}
