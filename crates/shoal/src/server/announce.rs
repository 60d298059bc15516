//! Announcements over HTTP: `POST` and `DELETE /v1/heartbeat`.

use std::time::Duration;

use http_bodies::{BodyExt, Limited};
use hyper::HeaderMap;
use hyper::body::{Body, Bytes, Incoming};

use super::client::{Client, Standing};
use super::reply::Reply;
use super::shared::lock;
use super::{Auth, Shared};
use crate::Now;
use crate::auth::{KEY_HEADER, KeyUse, SIGNATURE_HEADER, Signature, TIME_HEADER};
use crate::heartbeat::{MAX_BYTES, Refusal, parse, parse_goodbye};
use crate::registry::{Origin, Registry, Source};

/// How long the body of an announcement may take.
const BODY: Duration = Duration::from_secs(10);

/// `POST /v1/heartbeat`.
pub(super) async fn heartbeat(
    shared: &Shared,
    client: Client,
    headers: &HeaderMap,
    body: Incoming,
) -> Reply {
    let read = |body: &[u8], signed: Option<&KeyUse>| {
        let beat = parse(body)?;
        signed.map_or(Ok(()), |signed| signed.may_announce(&beat))?;
        Ok((beat.uuid.clone(), beat))
    };
    take(shared, client, headers, body, read, |registry, now, origin, beat| {
        registry.heard(now, origin, &beat, &*shared.geography).map(|_| ())
    })
    .await
}

/// `DELETE /v1/heartbeat`.
pub(super) async fn goodbye(
    shared: &Shared,
    client: Client,
    headers: &HeaderMap,
    body: Incoming,
) -> Reply {
    let read = |body: &[u8], _: Option<&KeyUse>| {
        let goodbye = parse_goodbye(body)?;
        Ok((goodbye.uuid.clone(), (goodbye.uuid, goodbye.timestamp)))
    };
    take(shared, client, headers, body, read, |registry, now, origin, (uuid, said_s)| {
        registry.goodbye(now, &origin.source, &uuid, said_s)
    })
    .await
}

/// Takes an announcement: `read` makes of its body a uuid and what is said of it, `act` does that.
async fn take<T>(
    shared: &Shared,
    client: Client,
    headers: &HeaderMap,
    body: Incoming,
    read: impl FnOnce(&[u8], Option<&KeyUse>) -> Result<(Box<str>, T), Refusal>,
    act: impl FnOnce(&mut Registry, Now, &Origin, T) -> Result<(), Refusal>,
) -> Reply {
    let body = match receive(shared, client, body).await {
        Ok(body) => body,
        Err(reply) => return reply,
    };
    let now = shared.clock.now();
    let believed = signed(shared, headers, &body, now).and_then(|signed| {
        let (uuid, said) = read(&body, signed.as_ref())?;
        if let Some(signed) = &signed {
            note(shared, signed, &uuid, now)?;
        }
        Ok((origin(client, signed)?, said))
    });
    let mut registry = shared.registry();
    let taken = match believed {
        Ok((origin, said)) => act(&mut registry, now, &origin, said),
        Err(refusal) => Err(registry.refuse(refusal)),
    };
    drop(registry);
    match taken {
        Ok(()) => {
            shared.heard(now);
            Reply::empty(204)
        }
        Err(refusal) => refused(&refusal),
    }
}

/// The body, if its source may announce now and it is not too long.
async fn receive(shared: &Shared, client: Client, body: Incoming) -> Result<Bytes, Reply> {
    let too_long = |length: usize| {
        let refusal = shared.registry().refuse(Refusal::TooLong(length));
        refused(&refusal)
    };
    if !client.is_trusted() {
        let taken = lock(&shared.limits).take(shared.clock.now(), client.address);
        if let Err(wait_s) = taken {
            shared.registry().refuse(Refusal::TooOften);
            let detail = "more announcements than one network may make";
            return Err(Reply::problem(429, "too_often", detail).retry_after(seconds(wait_s)));
        }
    }
    if let Some(length) = body.size_hint().exact()
        && length > MAX_BYTES as u64
    {
        return Err(too_long(usize::try_from(length).unwrap_or(usize::MAX)));
    }
    let read = tokio::time::timeout(BODY, Limited::new(body, MAX_BYTES).collect()).await;
    match read {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_bodies::LengthLimitError>() => {
            Err(too_long(MAX_BYTES + 1))
        }
        Ok(Err(_)) | Err(_) => {
            let refusal = Refusal::Malformed("the body did not come".to_owned());
            Err(refused(&shared.registry().refuse(refusal)))
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a short wait")]
fn seconds(wait_s: f64) -> u32 {
    wait_s.ceil().max(1.0) as u32
}

/// Who signed it; `None` if nobody did and nobody need have.
pub(super) fn signed(
    shared: &Shared,
    headers: &HeaderMap,
    body: &[u8],
    now: Now,
) -> Result<Option<KeyUse>, Refusal> {
    // A header twice, or one that is no text, is no signature.
    let value = |name| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
            (Some(_), Some(_)) => Err(()),
        }
    };
    let values = || Ok([value(KEY_HEADER)?, value(TIME_HEADER)?, value(SIGNATURE_HEADER)?]);
    signed_by(shared, values(), body, now)
}

/// Who signed a message with these three values, of which `Err` is no signature.
pub(super) fn signed_by(
    shared: &Shared,
    values: Result<[Option<&str>; 3], ()>,
    body: &[u8],
    now: Now,
) -> Result<Option<KeyUse>, Refusal> {
    if shared.auth == Auth::Off {
        return Ok(None);
    }
    let [key, time, mac] =
        values.map_err(|()| Refusal::Signature("a header is there twice, or is no text"))?;
    match Signature::from_values(key, time, mac)? {
        Some(signature) => shared.keys.load().verify(&signature, body, now.unix_ms()).map(Some),
        None if shared.auth == Auth::Required => Err(Refusal::Signature("there must be one")),
        None => Ok(None),
    }
}

/// Takes note of a signature, so that it counts once.
pub(super) fn note(shared: &Shared, signed: &KeyUse, uuid: &str, now: Now) -> Result<(), Refusal> {
    lock(&shared.last_seen).note(signed.key.id(), uuid, signed.unix_ms, now.unix_ms())
}

fn origin(client: Client, signed: Option<KeyUse>) -> Result<Origin, Refusal> {
    let (source, trusted) = match (signed, client.standing) {
        (Some(signed), _) => (Source::Key(signed.key.id().into()), false),
        (None, Standing::Stranger) => return Err(Refusal::SenderUnknown),
        (None, standing) => (Source::Peer(client.address), standing == Standing::Trusted),
    };
    Ok(Origin { source, trusted })
}

/// The answer to what is not believed.
pub(super) fn refused(refusal: &Refusal) -> Reply {
    let status = match refusal {
        Refusal::Signature(_) => 401,
        Refusal::AddressMismatch
        | Refusal::SenderUnknown
        | Refusal::OtherSource
        | Refusal::KeyScope(_) => 403,
        Refusal::Unknown => 404,
        Refusal::TooLong(_) => 413,
        Refusal::SourceFull(_) | Refusal::TooOften => 429,
        Refusal::Full => 503,
        _ => 400,
    };
    let reply = Reply::problem(status, refusal.reason(), &refusal.to_string());
    match status {
        // One will be free when an entry expires.
        429 | 503 => reply.retry_after(60),
        _ => reply,
    }
}
