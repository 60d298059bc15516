//! `plimsoll serve`: runs for a browser, read only.

use crate::exit::Exit;
use crate::files;
use crate::interrupt::Interrupts;
use crate::place::environment;
use crate::serve_args::Serve as Args;
use crate::terminal::error::{Context, Result, UsageError, read};
use crate::terminal::print;
use plimsoll_net::http::respond::{Bounds, Request, Server, Serving};
use plimsoll_net::tls::serving;
use plimsoll_report::serve::{Access, Served};
use plimsoll_units::failure;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The variable of the environment that may have the token.
const TOKEN: &str = "PLIMSOLL_TOKEN";
/// How often the program looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// What clients may ask: a large file may be on its way for long.
const BOUNDS: Bounds =
    Bounds { connections: 32, head_bytes: 8192, request: Duration::from_secs(600) };

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let address = read("--listen", &args.listen, super::agent::address)?;
    let access = Access { token: token(args)?, name: args.name.clone() };
    let tls = args.cert.as_deref().zip(args.key.as_deref());
    if !address.ip().is_loopback() {
        if access.token.is_none() {
            let text = format!(
                "serve runs on {address} to anybody: give a token, by --token-file or in {TOKEN}"
            );
            return Err(UsageError(text).into());
        }
        if tls.is_none() && !args.plain {
            let text = format!(
                "serve runs on {address} unencrypted, token and all: give --cert and --key, or say \
                 --plain"
            );
            return Err(UsageError(text).into());
        }
    }
    if !args.runs.is_dir() {
        let text = format!("serve the runs in {}: there is no such folder", args.runs.display());
        return Err(UsageError(text).into());
    }
    let tls = tls.map(|(chain, key)| serving(chain, key)).transpose();
    let tls = tls.map_err(|error| {
        UsageError(format!("serve with --cert and --key: {}", failure::chain(&error)))
    })?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let stop = Interrupts::to_end()?;
    let listener = TcpListener::bind(address)
        .with_context(|| format!("listen on {address}; choose another --listen"))?;
    let served = Served::new(&args.runs, access);
    let serving = Serving { bounds: BOUNDS, tls: tls.map(Arc::new), is_slow: true, line: None };
    let answer = move |request: &Request<'_>| served.respond(request);
    let server = Server::start_with(listener, "serve", serving, answer)
        .with_context(|| format!("serve at {address}"))?;
    print(&format!("listening on {scheme}://{}/\n", server.address()))?;
    while !stop.load(Ordering::Relaxed) {
        std::thread::park_timeout(LOOK);
    }
    drop(server);
    Ok(Exit::Held)
}

/// The token that has to be given: of a file, or of the environment.
fn token(args: &Args) -> Result<Option<Vec<u8>>> {
    let of_file = args.token_file.as_deref().map(files::token).transpose()?;
    let of_environment = || environment(TOKEN).map(String::into_bytes).filter(|of| !of.is_empty());
    Ok(of_file.or_else(of_environment))
}
