//! `plimsoll plan`: plans themselves.

use crate::exit::Exit;
use crate::plan_args::{PlanCommand, Plans};
use crate::terminal::error::Result;
use crate::terminal::print;
use plimsoll_experiment::VOCABULARY;
use plimsoll_plan::schema;

/// Runs the command.
pub(crate) fn run(plans: &Plans) -> Result<Exit> {
    match plans.command {
        PlanCommand::Schema => print(&format!("{:#}\n", schema(&VOCABULARY)))?,
    }
    Ok(Exit::Held)
}
