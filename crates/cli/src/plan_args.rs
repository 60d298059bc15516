//! The command line of plans themselves.

use clap::{Args, Subcommand};

#[derive(Args)]
pub(crate) struct Plans {
    #[command(subcommand)]
    pub(crate) command: PlanCommand,
}

#[derive(Subcommand)]
pub(crate) enum PlanCommand {
    /// Print a JSON Schema of plans, by which editors complete and check them
    #[command(after_help = "\
Example:
  plimsoll plan schema > plimsoll.schema.json

An editor that knows TOML takes it by a line at the top of a plan: #:schema plimsoll.schema.json")]
    Schema,
}
