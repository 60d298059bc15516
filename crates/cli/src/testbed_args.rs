//! The command line of test-beds.

use clap::{Args, Subcommand};

#[derive(Args)]
pub(crate) struct Testbed {
    #[command(subcommand)]
    pub(crate) command: TestbedCommand,
}

#[derive(Subcommand)]
pub(crate) enum TestbedCommand {
    /// Start the servers of a plan and leave them, for runs of plans with the same test-bed
    Up(TestbedUp),
    /// List what test-beds of this machine have started and not undone
    Status(TestbedStatus),
    /// Undo what a killed experiment has left: processes, namespaces, cgroups, folders
    Down(TestbedDown),
    /// Make an image of a server that is installed, configured and warm, to start others from
    Bake(TestbedBake),
    /// List the images of this machine, or remove some
    Images(TestbedImages),
    /// Test what the processors and the disk of this place can do
    SelfTest(SelfTest),
    /// Wait for an order on standard input, and become the server that it names
    #[command(hide = true)]
    Wait,
    /// Carry packets between the networks of instances, each after its time
    #[command(hide = true)]
    Links {
        /// What is between whom
        file: std::path::PathBuf,
    },
    /// Do on this host what is asked for on standard input, as its copy of the program
    #[command(hide = true)]
    Host,
}

#[derive(Args)]
#[command(after_help = "\
The work is the same each time, and takes some seconds at most: one thread a processor, and a file
of 16 MiB that is written and read. A live pool does it in each instance where its plan says
`weights = \"self-test\"` in [balancer].

Examples:
  plimsoll testbed self-test
  plimsoll testbed self-test /var/tmp --json")]
pub(crate) struct SelfTest {
    /// The folder whose disk is tested
    #[arg(value_name = "FOLDER", default_value = ".")]
    pub(crate) folder: std::path::PathBuf,
    /// Print it as JSON, on one line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
`plimsoll run` of a plan with the same test-bed uses the servers and leaves them standing: before
each cell they are made cold, where their recipe says how. What differs in files and parameters is
changed where they stand.

Examples:
  plimsoll testbed up plan.toml
  plimsoll testbed up plan.toml --set role.web.vars.workers=2 --json

Exit codes: 0 they stand, 2 wrong use or plan, 4 one could not be started: then nothing is left.")]
pub(crate) struct TestbedUp {
    /// A plan file with a test-bed
    pub(crate) plan: String,
    /// Set any value of the plan
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Another test-bed: a file with that section and roles, whose keys win one by one
    #[arg(long, value_name = "FILE")]
    pub(crate) testbed: Option<String>,
    /// Install the packages that it lacks; no service of theirs is started
    #[arg(long)]
    pub(crate) install: bool,
    /// Print what stands as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Starts an instance of the role behind the roles that stand before it, keeps what it has in its
folder when it is ready, and starts another from that. `image = \"NAME\"` in [role.NAME] has its
instances start so. What is written anew for each instance is not kept: the files of its recipe and
those beside the plan, with their secrets. Of a rented instance its cloud makes the image, which is
in the list of images before the cloud is asked: `testbed images --remove NAME` removes it there
too.

Examples:
  plimsoll testbed bake web plan.toml
  plimsoll testbed bake web plan.toml --name web-warm --json

Exit codes: 0 it is made, 2 wrong use or plan, 4 an instance could not be started, or not kept.")]
pub(crate) struct TestbedBake {
    /// The role whose instance it is of
    pub(crate) role: String,
    /// A plan file with a test-bed
    pub(crate) plan: String,
    /// The name of the image; the role's where none is given
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Set any value of the plan
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Another test-bed: a file with that section and roles, whose keys win one by one
    #[arg(long, value_name = "FILE")]
    pub(crate) testbed: Option<String>,
    /// Install the packages that it lacks; no service of theirs is started
    #[arg(long)]
    pub(crate) install: bool,
    /// Print what was made as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll testbed images
  plimsoll testbed images --remove web-warm

Exit codes: 0 listed or removed, 2 no such image, 4 not readable.")]
pub(crate) struct TestbedImages {
    /// Remove the image of this name; may be given again
    #[arg(long, value_name = "NAME")]
    pub(crate) remove: Vec<String>,
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Example:
  plimsoll testbed status --json

Exit codes: 0 listed, 4 not readable.")]
pub(crate) struct TestbedStatus {
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Only what is proved the test-bed's own is touched: a process by its number and the time of its
start, a network interface by its alias, namespaces and cgroups by its id, folders by a mark in
them. What is on other hosts is undone there, by ssh; a host that is away is named, and what it has
stays in the ledger.

Examples:
  plimsoll testbed down --all
  plimsoll testbed down k3x9a1b

Exit codes: 0 nothing is left, 2 wrong use, or the experiment goes on, 4 something could not be
undone.")]
pub(crate) struct TestbedDown {
    /// The id of a test-bed, as `testbed status` lists it
    #[arg(required_unless_present = "all")]
    pub(crate) id: Option<String>,
    /// All that no experiment uses any more, those of `testbed up` among them
    #[arg(long, conflicts_with = "id")]
    pub(crate) all: bool,
    /// Undo it although its experiment goes on
    #[arg(long, requires = "id")]
    pub(crate) force: bool,
}
