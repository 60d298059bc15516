//! Python, where it is: what Shoal's programs are written in says what their formats are.

use std::io::Write as _;
use std::process::{Command, Stdio};

/// What a script prints of its input; `None`, said by name, where there is no `python3`.
#[expect(clippy::disallowed_methods, reason = "the test runs another program")]
pub(crate) fn python(test: &str, script: &str, input: &[u8]) -> Option<String> {
    // The peers' own has the modules that some scripts import.
    let peer = plimsoll_testing::python_peers().join("python3");
    let python = if peer.exists() { peer } else { plimsoll_testing::installed(test, "python3")? };
    let mut command = Command::new(python);
    command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A script may print before it has read all.
    let output = std::thread::scope(|scope| {
        let writer = scope.spawn(move || stdin.write_all(input));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        output
    });
    assert!(output.status.success(), "{test}: {}", output.status);
    Some(String::from_utf8(output.stdout).unwrap())
}
