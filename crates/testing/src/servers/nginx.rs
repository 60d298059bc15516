//! Debian's nginx, of one process, with what a test writes into its block `http`.

use std::path::Path;
use std::process::Command;

use super::Process;
use crate::installed;

/// An nginx of a test's own.
pub struct Nginx {
    process: Process,
}

impl Nginx {
    /// One whose block `http` holds what is said for its folder and its port; `None`, said by name,
    /// where it is not installed.
    pub fn own(test: &str, http: impl Fn(&Path, u16) -> String) -> Option<Self> {
        let program = installed(test, "nginx")?;
        let process = Process::listening(|folder, port| {
            let at = folder.display();
            let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
            let temporary = kinds.map(|kind| format!("{kind}_temp_path {at}/{kind};\n")).concat();
            let config = format!(
                "daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;\n\
                 events {{}}\nhttp {{ {temporary}{} }}\n",
                http(folder, port)
            );
            let file = folder.join("nginx.conf");
            std::fs::write(&file, config).unwrap();
            let mut command = Command::new(&program);
            command.arg("-e").arg(folder.join("error.log")).arg("-c").arg(file);
            command
        });
        Some(Self { process })
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.process.port()
    }
}

impl AsMut<Process> for Nginx {
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
    fn an_nginx_answers_as_it_is_told() {
        let http = |_: &Path, port: u16| {
            format!("access_log off; server {{ listen 127.0.0.1:{port}; return 200 'told'; }}")
        };
        let Some(server) = Nginx::own("an_nginx_answers_as_it_is_told", http) else { return };
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("\r\n\r\ntold"), "{answer}");
    }
}
