//! How workers are started, and the files that those elsewhere are given.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_fleet::{At, By, Command, Content, Input as Given, Start};
use plimsoll_plan::{Fleet as FleetPlan, Host};
use plimsoll_testbed::ssh::Guest;
use plimsoll_units::failure::FileError;

use crate::broker::{Waiting, called};
use crate::error::ExperimentError;
use crate::hosts::route;
use crate::inputs::{Input, LIST, inputs};
use crate::prepare::Place;
use crate::servers::client;

/// The greatest file that workers elsewhere are given, bytes.
const MOST_GIVEN: u64 = 256 << 20;

/// What workers are wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkersFor {
    /// To offer loads.
    Loads,
    /// To execute simulated cells.
    Cells,
}

/// How each worker of a fleet is started. Those that wait at a broker are called, and waited for,
/// as long as that is not interrupted.
///
/// # Errors
/// A host that cannot be reached so; a broker that does not serve; too few workers there.
pub(crate) fn starts(
    fleet: &FleetPlan,
    wanted: WorkersFor,
    place: &Place<'_>,
    waiting: Waiting<'_>,
) -> Result<Vec<Start>, ExperimentError> {
    if let Some(url) = &fleet.bus {
        let wants = match wanted {
            WorkersFor::Loads => "load",
            WorkersFor::Cells => "simulate",
        };
        return called(fleet, url, wants, place, waiting);
    }
    let program = place.program.display().to_string();
    let worker = || [program.clone(), "worker".to_owned(), "--stdio".to_owned()];
    if fleet.hosts.is_empty() {
        let at = if fleet.is_here() { At::Here } else { At::Somewhere };
        let words: Vec<String> = fleet.start.iter().cloned().chain(worker()).collect();
        let command = Command { words, environment: None, copy: None };
        let by = By::Command(command);
        let start = |number| Start { name: format!("worker {number}"), by: by.clone(), at };
        return Ok((1..=fleet.workers).map(start).collect());
    }
    let client = client(place);
    let start = |(name, host): (&String, &Host)| {
        let route = route(name, host, fleet.ssh_config.as_deref());
        let Guest { words, environment } = Guest::of(&client, &route, &["worker", "--stdio"])?;
        let (environment, copy) = (Some(environment), Some(client.program.clone()));
        let by = By::Command(Command { words, environment, copy });
        Ok(Start { name: name.clone(), by, at: At::OwnHost })
    };
    fleet.generators().map(start).collect()
}

/// The files of a plan as workers elsewhere are given them, with the list of all.
///
/// # Errors
/// One that cannot be given.
pub(crate) fn given(files: &[PathBuf]) -> Result<Vec<Given>, ExperimentError> {
    let mut all = inputs(files)?;
    let mut given = Vec::new();
    for (number, of) in all.iter_mut().enumerate() {
        of.is_given(number)?;
        let file = File::open(&of.path).map_err(FileError::of("read", &of.path))?;
        let (name, content) = (of.kept_as.clone(), Content::File(Arc::new(file)));
        given.push(Given { name: name.unwrap_or_default(), content });
    }
    if !given.is_empty() {
        let list = serde_json::to_vec(&all).map_err(io::Error::other);
        let list = list.map_err(FileError::of("make", Path::new(LIST)))?;
        given.push(Given { name: LIST.to_owned(), content: Content::Bytes(list.into()) });
    }
    Ok(given)
}

impl Input {
    /// Gives it a name among those that workers are given, where it can be given at all.
    fn is_given(&mut self, number: usize) -> Result<(), ExperimentError> {
        let path = self.path.display();
        let why = match self.bytes {
            _ if self.path.is_dir() => {
                format!("{path}, which is a run: workers elsewhere cannot read it; export it first")
            }
            None => format!("{path}, which is no plain file: workers elsewhere cannot read it"),
            Some(bytes) if bytes > MOST_GIVEN => {
                format!("{path}, which has more than 256 MiB: workers elsewhere are not given that")
            }
            Some(_) => {
                let name = self.path.file_name().unwrap_or_default().to_string_lossy();
                self.kept_as = Some(format!("{}-{name}", number + 1));
                return Ok(());
            }
        };
        Err(ExperimentError::Undivided(why))
    }
}
