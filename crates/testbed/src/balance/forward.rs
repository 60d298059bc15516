//! Gives a request to an instance, and its answer to the client, as they come.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_bodies::{Either, Empty, Full};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::{request, response};
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode, Uri, Version};
use hyper_tokio::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::pool::{Lost, Place, Pool, Refusal, State, add};
use super::tunnel;

/// What is sent to an instance with a request.
type Upload = Either<Incoming, Empty<Bytes>>;
/// A connection to an instance.
pub(crate) type Sender = http1::SendRequest<Upload>;

/// Headers that concern one connection, RFC 9110 section 7.6.1, beside `Connection` itself.
const OF_CONNECTION: [HeaderName; 6] = [
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRANSFER_ENCODING,
];
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// To connect to an instance.
    pub connect: Duration,
    /// From when an instance was given a request to the head of its answer.
    pub answer: Duration,
    /// How long a client may take nothing of an answer that is there for it.
    pub send: Duration,
}

impl Default for Limits {
    /// 2 s to connect, a minute to answer, a minute for a client that takes nothing.
    fn default() -> Self {
        let minute = Duration::from_secs(60);
        Self { connect: Duration::from_secs(2), answer: minute, send: minute }
    }
}

/// Why an instance did not answer.
enum Fault {
    /// It was not given the request: another can be.
    Unsent(Upload),
    /// It was given the request, and went away or out; whether it has done anything is not known.
    Broken,
    /// It did not answer in time.
    Late,
    /// It leaves, and its time is over.
    Cut,
}

/// Answers a request of a client by an instance's answer.
pub(crate) async fn answer(
    pool: &Rc<Pool>,
    limits: Limits,
    mut request: Request<Incoming>,
    client: SocketAddr,
) -> Response<Answer> {
    add(&pool.requests, 1);
    let watch = Watch { pool: Rc::clone(pool), is_told: false };
    let upgrades = is_upgrade(request.headers()).then(|| hyper::upgrade::on(&mut request));
    let (mut parts, body) = request.into_parts();
    prepare(&mut parts, upgrades.is_some(), client.ip());
    // What is safe to ask twice, RFC 9110 section 9.2.1.
    let can_repeat = parts.method.is_safe() && body.is_end_stream() && upgrades.is_none();
    let mut upload = if can_repeat { Either::Right(Empty::new()) } else { Either::Left(body) };
    let mut tried = Vec::new();
    loop {
        let place = match pool.place(client.ip(), &tried).await {
            Ok(place) => place,
            Err(refusal) => return watch.refused(refusal, !tried.is_empty()),
        };
        let began = Instant::now();
        add(&place.instance.counts.taken, 1);
        let asked = ask(&place, limits, again(&parts, upload), can_repeat).await;
        let fault = match asked {
            Ok((_, response)) if has_two_lengths(response.headers()) => {
                add(&place.instance.counts.failed, 1);
                return watch.failed(StatusCode::BAD_GATEWAY, |lost| &mut lost.instance_failed);
            }
            Ok((sender, response)) => {
                return watch.answered(place, sender, response, (began, upgrades));
            }
            Err(fault) => fault,
        };
        add(&place.instance.counts.failed, 1);
        tried.push(place.instance.id);
        upload = match fault {
            Fault::Unsent(upload) => upload,
            Fault::Broken | Fault::Cut if can_repeat => Either::Right(Empty::new()),
            Fault::Cut => return watch.failed(StatusCode::BAD_GATEWAY, |lost| &mut lost.drained),
            Fault::Broken => {
                return watch.failed(StatusCode::BAD_GATEWAY, |lost| &mut lost.instance_failed);
            }
            Fault::Late => {
                return watch.failed(StatusCode::GATEWAY_TIMEOUT, |lost| &mut lost.timeout);
            }
        };
    }
}

/// Asks an instance, on a connection that is there or on a new one.
async fn ask(
    place: &Place,
    limits: Limits,
    mut request: Request<Upload>,
    can_repeat: bool,
) -> Result<(Sender, Response<Incoming>), Fault> {
    let instance = &place.instance;
    let (is_out, is_cut) = (instance.is_out.notified(), instance.closes.notified());
    let asked = async {
        while let Some(mut sender) = instance.idle() {
            match sender.try_send_request(request).await {
                Ok(response) => return Ok((sender, response)),
                // Closed by the instance before this reached it.
                Err(mut error) => request = error.take_message().ok_or(Fault::Broken)?,
            }
        }
        let Ok(mut sender) = connect(instance.address, limits.connect).await else {
            return Err(Fault::Unsent(request.into_body()));
        };
        let sent = sender.try_send_request(request).await;
        let response = sent.map_err(|mut error| match error.take_message() {
            Some(request) => Fault::Unsent(request.into_body()),
            None => Fault::Broken,
        })?;
        Ok((sender, response))
    };
    tokio::select! {
        asked = timeout(limits.connect + limits.answer, asked) => {
            asked.unwrap_or(Err(Fault::Late))
        }
        () = is_out, if can_repeat => Err(Fault::Broken),
        () = is_cut => Err(Fault::Cut),
    }
}

/// A new connection to an instance.
pub(crate) async fn connect(address: SocketAddr, limit: Duration) -> std::io::Result<Sender> {
    let stream = timeout(limit, TcpStream::connect(address)).await??;
    stream.set_nodelay(true)?;
    let talk = http1::handshake(TokioIo::new(stream)).await;
    let (sender, connection) = talk.map_err(std::io::Error::other)?;
    tokio::task::spawn_local(async move {
        // What breaks is told to who asked on it.
        let _ = connection.with_upgrades().await;
    });
    Ok(sender)
}

fn again(parts: &request::Parts, upload: Upload) -> Request<Upload> {
    let mut request = Request::new(upload);
    *request.method_mut() = parts.method.clone();
    *request.uri_mut() = parts.uri.clone();
    *request.headers_mut() = parts.headers.clone();
    request
}

/// Whether a connection is to become another protocol's.
fn is_upgrade(headers: &HeaderMap) -> bool {
    let says = |value: &HeaderValue| {
        value.to_str().is_ok_and(|text| {
            text.split(',').any(|option| option.trim().eq_ignore_ascii_case("upgrade"))
        })
    };
    headers.contains_key(UPGRADE) && headers.get_all(CONNECTION).iter().any(says)
}

/// Whether an answer says by two headers how long it is, of which one is wrong, or will be for
/// whoever goes by the other (RFC 9112, section 6.3).
fn has_two_lengths(headers: &HeaderMap) -> bool {
    headers.contains_key(TRANSFER_ENCODING) && headers.contains_key(CONTENT_LENGTH)
}

/// Makes a request of a client one to an instance.
fn prepare(parts: &mut request::Parts, is_upgrade: bool, client: IpAddr) {
    let path = parts.uri.path_and_query().cloned();
    parts.uri = path.map_or_else(|| Uri::from_static("/"), Uri::from);
    parts.version = Version::HTTP_11;
    strip(&mut parts.headers, is_upgrade);
    let before = parts.headers.get(FORWARDED_FOR).and_then(|value| value.to_str().ok());
    let told = before.map_or_else(|| client.to_string(), |before| format!("{before}, {client}"));
    if let Ok(told) = HeaderValue::from_str(&told) {
        parts.headers.insert(FORWARDED_FOR, told);
    }
}

/// Takes the headers away that concern one connection; an upgrade keeps its own.
fn strip(headers: &mut HeaderMap, is_upgrade: bool) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .filter(|name| !(is_upgrade && *name == UPGRADE))
        .collect();
    for name in named.iter().chain(&OF_CONNECTION) {
        headers.remove(name);
    }
    headers.remove(CONNECTION);
    match is_upgrade {
        true => drop(headers.insert(CONNECTION, HeaderValue::from_static("upgrade"))),
        false => drop(headers.remove(UPGRADE)),
    }
}

/// A request of a client while it is not answered: dropped before, the client is gone.
struct Watch {
    pool: Rc<Pool>,
    is_told: bool,
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.is_told {
            self.pool.lose(|lost| &mut lost.client_gone);
        }
    }
}

impl Watch {
    fn failed(
        mut self,
        status: StatusCode,
        cause: impl FnOnce(&mut Lost) -> &mut u64,
    ) -> Response<Answer> {
        self.is_told = true;
        self.pool.lose(cause);
        let reason = status.canonical_reason().unwrap_or("failed");
        let mut response =
            Response::new(Answer::Own(Full::new(Bytes::from(format!("{reason}\n")))));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        response
    }

    /// Where one was tried and failed, it is the failure that is told.
    fn refused(self, refusal: Refusal, was_tried: bool) -> Response<Answer> {
        if was_tried {
            return self.failed(StatusCode::BAD_GATEWAY, |lost| &mut lost.instance_failed);
        }
        self.failed(StatusCode::SERVICE_UNAVAILABLE, |lost| match refusal {
            Refusal::NoSlot => &mut lost.no_slot,
            Refusal::QueueFull => &mut lost.queue_full,
            Refusal::QueueTimeout => &mut lost.queue_timeout,
        })
    }

    fn answered(
        mut self,
        place: Place,
        sender: Sender,
        mut response: Response<Incoming>,
        (began, upgrades): (Instant, Option<OnUpgrade>),
    ) -> Response<Answer> {
        self.is_told = true;
        let is_upgraded = response.status() == StatusCode::SWITCHING_PROTOCOLS;
        if let (true, Some(client)) = (is_upgraded, upgrades) {
            let is_websocket = response
                .headers()
                .get(UPGRADE)
                .is_some_and(|name| name.as_bytes().eq_ignore_ascii_case(b"websocket"));
            let server = hyper::upgrade::on(&mut response);
            tunnel::open(client, server, Rc::clone(&place.instance), is_websocket);
            place.answered(began.elapsed());
            let (mut parts, _) = response.into_parts();
            strip(&mut parts.headers, true);
            return Response::from_parts(parts, Answer::Own(Full::default()));
        }
        let (mut parts, body): (response::Parts, Incoming) = response.into_parts();
        strip(&mut parts.headers, false);
        parts.version = Version::HTTP_11;
        let lease =
            Lease { place, sender: Some(sender), began, has_failed: false, has_ended: false };
        Response::from_parts(parts, Answer::Through(Box::new((body, lease))))
    }
}

/// The body of an answer.
pub(crate) enum Answer {
    /// Of the balancer itself.
    Own(Full<Bytes>),
    /// Of an instance, as it comes, with its place until it has ended.
    Through(Box<(Incoming, Lease)>),
}

impl Body for Answer {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Self::Own(body) => Pin::new(body).poll_frame(context).map_err(|never| match never {}),
            Self::Through(through) => {
                let polled = Pin::new(&mut through.0).poll_frame(context);
                through.1.has_failed |= matches!(polled, Poll::Ready(Some(Err(_))));
                through.1.has_ended |= matches!(polled, Poll::Ready(None));
                polled
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Own(body) => body.is_end_stream(),
            Self::Through(through) => through.0.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Own(body) => body.size_hint(),
            Self::Through(through) => through.0.size_hint(),
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Self::Through(through) = self {
            // A body of chunks says that it has ended, and no more than once.
            let has_ended = through.1.has_ended || through.0.is_end_stream();
            through.1.end(has_ended);
        }
    }
}

/// A place and a connection while an answer comes.
pub(crate) struct Lease {
    place: Place,
    sender: Option<Sender>,
    began: Instant,
    has_failed: bool,
    has_ended: bool,
}

impl Lease {
    /// The answer has ended: whole, by a fault of the instance, or as the client is gone.
    fn end(&mut self, is_whole: bool) {
        let counts = &self.place.instance.counts;
        if !is_whole {
            if self.has_failed {
                add(&counts.failed, 1);
                let is_cut = self.place.instance.is_cut.get();
                self.place.lose(|lost| match is_cut {
                    true => &mut lost.drained,
                    false => &mut lost.instance_failed,
                });
            } else {
                self.place.lose(|lost| &mut lost.client_gone);
            }
            return;
        }
        self.place.answered(self.began.elapsed());
        let Some(mut sender) = self.sender.take() else { return };
        let instance = Rc::clone(&self.place.instance);
        if sender.is_ready() {
            instance.keep(sender);
        } else if instance.state.get() == State::In {
            tokio::task::spawn_local(async move {
                if sender.ready().await.is_ok() {
                    instance.keep(sender);
                }
            });
        }
    }
}
