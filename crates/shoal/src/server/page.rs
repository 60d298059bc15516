//! The page for people, written away from the serving threads.
//!
//! Writing a page takes a walk over all caches: milliseconds where they are many. So one is written
//! at a time, on a thread for such work, while the serving threads go on with look-ups; a few wait
//! their turn, more are sent away. However many ask for pages, they take one core at most.

use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::{HOST, IF_NONE_MATCH};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::Shared;
use super::look::is_known;
use super::reply::Reply;
use crate::answer::HTML;
use crate::page::assets::Asset;
use crate::page::{Fault, Page, Query, Setting, page, refusal};

/// Requests for pages that are taken at once: one is answered, the others wait.
const WAITING: usize = 32;

/// Where pages are written.
#[derive(Debug)]
pub(super) struct Desk {
    waiting: Arc<Semaphore>,
    writing: Arc<Semaphore>,
}

impl Default for Desk {
    fn default() -> Self {
        let [waiting, writing] = [WAITING, 1].map(|n| Arc::new(Semaphore::new(n)));
        Self { waiting, writing }
    }
}

/// Answers with the page.
pub(super) async fn answer(
    shared: &Arc<Shared>,
    size: usize,
    path: &str,
    headers: &HeaderMap,
) -> Reply {
    let query = match Query::parse(size, path) {
        Ok(query) => query,
        Err(fault) => return wrong(&fault),
    };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let scheme = if shared.tls.is_some() { "https" } else { "http" };
    let base = host.filter(|host| is_host(host)).map(|host| format!("{scheme}://{host}"));
    let Ok(_place) = shared.desk.waiting.try_acquire() else { return busy() };
    let Ok(turn) = Arc::clone(&shared.desk.writing).acquire_owned().await else { return busy() };
    let shared = Arc::clone(shared);
    let written = spawn_blocking(move || {
        let page = write(&shared, &query, base.as_deref());
        // Not before: who asked may have gone meanwhile, and another's turn would begin.
        drop(turn);
        page
    });
    let Ok(page) = written.await else { return busy() };
    let reply = if is_known(headers.get(IF_NONE_MATCH), &page.etag) {
        Reply::empty(304)
    } else {
        Reply::new(HTML, page.body)
    };
    reply.tagged(&page.etag).no_cache().shown()
}

/// Answers with what the page loads.
pub(super) fn asset(asset: &'static Asset) -> Reply {
    Reply::new(asset.content_type, asset.body).immutable().shown()
}

fn write(shared: &Shared, query: &Query, base: Option<&str>) -> Page {
    let snapshot = shared.shelf.load_full();
    let is_object_suspected = shared.object.is_suspected();
    let is_verifying = shared.verify.is_some();
    let setting = Setting { now: shared.clock.now(), base, is_verifying, is_object_suspected };
    page(&snapshot, &shared.complaints(), query, setting)
}

fn wrong(fault: &Fault) -> Reply {
    Reply::new(HTML, refusal(fault)).status(400).no_store().shown()
}

fn busy() -> Reply {
    Reply::problem(503, "busy", "too many ask for pages").no_store().retry_after(2)
}

/// A name or an address with or without a port: it becomes part of an example.
fn is_host(text: &str) -> bool {
    let of_hosts =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'[' | b']');
    (1..=260).contains(&text.len()) && text.bytes().all(of_hosts)
}
