//! Debian's Squid, in the foreground, with what a test adds to its settings.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use super::{Process, printed};
use crate::installed;

/// A Squid of a test's own.
pub struct Squid {
    process: Process,
}

impl Squid {
    /// One with more settings, which are told its folder; `None`, said by name, where it is not
    /// installed. Who may use it is among them.
    pub fn own(test: &str, more: impl Fn(&Path) -> String) -> Option<Self> {
        let program = installed(test, "squid")?;
        let process = Process::listening(|folder, port| {
            // Squid lets go of root's rights and must still write here.
            set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
            let (at, more) = (folder.display(), more(folder));
            let settings = format!(
                "http_port 127.0.0.1:{port}\npid_filename none\ncache_log {at}/cache.log\n\
                 coredump_dir {at}\nshutdown_lifetime 0 seconds\npinger_enable off\n{more}"
            );
            let file = folder.join("squid.conf");
            std::fs::write(&file, settings).unwrap();
            // A service's name of its own: another Squid's shared memory is not touched.
            let name = format!("plimsoll{port}");
            let mut command = Command::new(&program);
            command.args(["-N", "-n", &name, "-f"]).arg(&file);
            if more.contains("cache_dir") {
                let mut make = Command::new(&program);
                make.args(["-z", "-N", "-n", &name, "-f"]).arg(file);
                printed(make.current_dir(folder));
            }
            command
        });
        Some(Self { process })
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.process.port()
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// What it has written of itself.
    pub fn log(&self) -> String {
        let log = self.process.folder().join("cache.log");
        std::fs::read_to_string(log).unwrap_or_default()
    }
}

impl AsMut<Process> for Squid {
    fn as_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn a_squid_refuses_whom_it_is_told_to() {
        let test = "a_squid_refuses_whom_it_is_told_to";
        let more = |_: &Path| "access_log none\nhttp_access deny all\n".to_owned();
        let Some(squid) = Squid::own(test, more) else { return };
        let mut stream = TcpStream::connect(("127.0.0.1", squid.port())).unwrap();
        stream.write_all(b"GET http://127.0.0.1:1/ HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 403 "), "{}", answer.escape_ascii());
        assert!(squid.id() > 0 && squid.log().contains("Accepting HTTP"), "{}", squid.log());
    }
}
