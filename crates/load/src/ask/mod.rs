//! What a store is asked before a load, and behind a data set: by one connection of its own, while
//! the caller waits. The engine has no part in it.

mod check;
pub(crate) mod hint;
mod read_back;
mod tls;

pub use check::{CheckError, check};
pub use read_back::{ReadBack, read_back};

use crate::config::Config;
use crate::drivers::StoreDriver;
use crate::protocol::Protocol;
use crate::store::{Before, Failed, Link, Socket, Store, Talk};
use crate::way::Endpoint;
use hint::hint;
use std::io;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Asks a store over a connection of its own; each answer within `patience`.
fn converse<T>(
    config: &Config,
    store: &Store,
    before: Before,
    patience: Duration,
    question: impl Fn(&mut dyn Talk) -> Result<T, Failed>,
) -> Result<T, CheckError> {
    let endpoint = config.endpoint.clone();
    let Protocol::Store(of) = config.protocol else {
        return Err(CheckError::Protocol { endpoint, protocol: "a store's protocol" });
    };
    let Some(driver) = StoreDriver::of(of) else {
        let feature = config.protocol.left_out().unwrap_or_default();
        return Err(CheckError::LeftOut { endpoint, feature });
    };
    let socket = connect(&endpoint, patience)
        .map_err(|source| CheckError::Unreachable { endpoint: endpoint.clone(), source })?;
    let (transport, tls) = (config.transport(), config.tls.clone());
    let link = Link { socket, transport, tls, patience };
    let mut answer = Err(Failed::Malformed);
    let asked = (driver.ask)(store.first_opening(before), link, &mut |talk| {
        answer = question(talk);
    });
    let secure = of.scheme.over_tls.unwrap_or(of.scheme).name;
    asked.and(answer).map_err(|failed| match failed {
        Failed::Io(source) => CheckError::Unreachable { endpoint, source },
        Failed::Unheard(source) => CheckError::Unheard { endpoint, source, secure },
        Failed::WantsTls => CheckError::WantsTls { endpoint, secure },
        Failed::Tls(source) => {
            let hint = tls::hint(&source, of.scheme);
            CheckError::Tls { endpoint, source, hint }
        }
        Failed::Said(code, said) => {
            let hint = hint(of, before, code, &said);
            CheckError::Refused { endpoint, said, hint }
        }
        Failed::Objection(why) => CheckError::Login { endpoint, why },
        Failed::Malformed => CheckError::Protocol { endpoint, protocol: of.name },
    })
}

fn connect(endpoint: &Endpoint, patience: Duration) -> io::Result<Box<dyn Socket>> {
    Ok(match endpoint {
        Endpoint::Tcp(address) => {
            let socket = TcpStream::connect_timeout(address, patience)?;
            socket.set_read_timeout(Some(patience))?;
            socket.set_write_timeout(Some(patience))?;
            Box::new(socket)
        }
        Endpoint::Unix(path) => {
            let socket = UnixStream::connect(path)?;
            socket.set_read_timeout(Some(patience))?;
            socket.set_write_timeout(Some(patience))?;
            Box::new(socket)
        }
    })
}
