//! The process that an instance begins as, for the tests of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    match plimsoll_testbed::launch::wait_and_become() {
        None => ExitCode::SUCCESS,
        Some(error) => {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}
