//! `plimsoll`: arguments, terminal output, progress, exit codes. What another program could want is
//! in the libraries.

mod args;
mod balance_args;
mod cache_args;
mod ci_args;
mod commands;
mod dial;
mod doctor_args;
mod elastic_args;
mod exit;
mod figures;
mod files;
mod flags;
mod form_args;
mod infer_args;
mod interrupt;
mod metrics;
mod named_record;
mod otlp_args;
mod peers;
mod place;
mod plan_args;
mod run_args;
mod scenario_args;
mod script_args;
mod series_args;
mod serve_args;
mod shoal_args;
mod simulate_args;
mod tag_args;
mod terminal;
mod testbed_args;
mod trace_args;
mod trend_args;
mod web_args;
mod worker_args;
mod wsbench_args;

use args::{Arguments, Command};
use clap::Parser;
use exit::Exit;

fn main() -> std::process::ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let words: Vec<String> = std::env::args_os()
                .skip(1)
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            let error = peers::advise(error, &words);
            // Help and version are no errors: clap prints them where they belong.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Held }.into();
        }
    };
    let result = match arguments.command {
        Command::Run(run) => commands::run::run(&run),
        Command::Check(check) => commands::check::run(&check),
        Command::Status(status) => commands::status::run(&status),
        Command::Follow(follow) => commands::status::follow(&follow),
        Command::Stop(stop) => commands::status::stop(&stop),
        Command::Analyse(analyse) => commands::analyse::run(&analyse),
        Command::Load(load) => commands::load::run(&load),
        Command::Capacity(capacity) => commands::capacity::run(&capacity),
        Command::Infer(infer) => commands::infer::run(&infer),
        Command::Prepare(prepare) => commands::prepare::run(&prepare),
        Command::Simulate(simulate) => commands::simulate::run(&simulate),
        Command::Elastic(elastic) => commands::elastic::run(&elastic),
        Command::Tune(tune) => commands::tune::run(&tune),
        Command::Trace(trace) => commands::trace::run(&trace.command),
        Command::Scenario(scenario) => commands::scenario::run(&scenario.command),
        Command::Wsbench(wsbench) => commands::wsbench::run(&wsbench),
        Command::Agent(agent) => commands::agent::run(&agent),
        Command::Serve(serve) => commands::serve::run(&serve),
        Command::Target(target) => commands::target::run(&target),
        Command::Balance(balance) => commands::balance::run(&balance),
        Command::Testbed(testbed) => commands::testbed::run(&testbed),
        Command::Doctor(doctor) => commands::doctor::run(&doctor),
        Command::Cache(cache) => commands::cache::run(&cache),
        Command::Shoal(shoal) => commands::shoal::run(&shoal),
        Command::Report(report) => commands::report::run(&report),
        Command::Compare(compare) => commands::compare::run(&compare),
        Command::Runs(runs) => commands::runs::run(&runs.command),
        Command::Export(export) => commands::export::run(&export),
        Command::Plan(plans) => commands::plan::run(&plans),
        Command::Completions(completions) => commands::completions::run(&completions),
        Command::Worker(worker) => commands::worker::run(&worker),
        Command::Fleet(fleet) => commands::fleet::run(&fleet),
        Command::Man(man) => commands::man::run(&man),
    };
    match result {
        Ok(exit) => exit,
        Err(error) => terminal::error::show(&error),
    }
    .into()
}
