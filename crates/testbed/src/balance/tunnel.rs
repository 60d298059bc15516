//! A connection that has become another protocol's: bytes go both ways until one side ends, or its
//! instance is to go.

use std::rc::Rc;
use std::time::Duration;

use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_tokio::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::sync::watch;
use tokio::time::sleep;

use super::frames::{Frames, GOING_AWAY, GOING_AWAY_MASKED};
use super::pool::Instance;

const BUFFER: usize = 16 * 1024;
/// How long a frame that is under way may take to end when the connection is to be closed.
const LAST: Duration = Duration::from_secs(1);

/// Counts an upgraded connection while there is one.
struct Open(Rc<Instance>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.upgraded.set(self.0.upgraded.get().saturating_sub(1));
    }
}

/// Lets bytes go both ways from when both sides have changed their protocol.
pub(crate) fn open(client: OnUpgrade, server: OnUpgrade, of: Rc<Instance>, is_websocket: bool) {
    of.upgraded.set(of.upgraded.get() + 1);
    let open = Open(of);
    tokio::task::spawn_local(async move {
        let open = open;
        let closes = open.0.closes.notified();
        if let (Ok(client), Ok(server)) = tokio::join!(client, server) {
            talk(client, server, closes, is_websocket).await;
        }
    });
}

async fn talk(
    client: Upgraded,
    server: Upgraded,
    closes: impl Future<Output = ()>,
    is_websocket: bool,
) {
    let (from_client, to_client) = split(TokioIo::new(client));
    let (from_server, to_server) = split(TokioIo::new(server));
    let (tell, told) = watch::channel(false);
    let last = |frame: &'static [u8]| if is_websocket { frame } else { &[] };
    let ways = async {
        tokio::join!(
            one_way(from_client, to_server, told.clone(), last(&GOING_AWAY_MASKED)),
            one_way(from_server, to_client, told.clone(), last(&GOING_AWAY)),
        );
    };
    tokio::select! {
        () = ways => {}
        () = async { closes.await; tell.send_replace(true); sleep(LAST).await } => {}
    }
}

/// Copies one way until it ends, or is told to: then after the frame that is under way, with a last
/// frame behind it.
async fn one_way(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut told: watch::Receiver<bool>,
    last: &[u8],
) {
    let (mut frames, mut buffer) = (Frames::default(), vec![0; BUFFER]);
    loop {
        let is_over = *told.borrow();
        if is_over && (last.is_empty() || frames.is_between()) {
            let _ = to.write_all(last).await;
            break;
        }
        let read = tokio::select! {
            read = from.read(&mut buffer) => read,
            _ = told.changed(), if !is_over => continue,
        };
        let Ok(read @ 1..) = read else { break };
        let end = if last.is_empty() { None } else { frames.follow(&buffer[..read]) };
        let is_over = *told.borrow();
        let passes = end.filter(|_| is_over).unwrap_or(read);
        if to.write_all(&buffer[..passes]).await.is_err() {
            break;
        }
        if is_over && end.is_some() {
            let _ = to.write_all(last).await;
            break;
        }
    }
    let _ = to.shutdown().await;
}
