//! Python, where it is: what Shoal's programs are written in says what their formats are.

use std::io::Write as _;
use std::process::{Command, Stdio};

/// What a script prints of its input; `None`, said by name, where there is no `python3`.
#[expect(clippy::disallowed_methods, reason = "the test runs another program")]
pub(crate) fn python(test: &str, script: &str, input: &[u8]) -> Option<String> {
    let mut command = Command::new("python3");
    command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        skipped(test, "python3");
        return None;
    };
    // Scripts read all their input before they print.
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{test}: {}", output.status);
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Says that a test is skipped, and for want of what.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn skipped(test: &str, missing: &str) {
    eprintln!("skipped: {test}: no {missing}");
}
