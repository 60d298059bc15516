//! HTCP's bytes: what is written, and what is read in the two layouts that Squids have had.
//!
//! Sources: RFC 2756, sections 2.5 to 2.8, 3 and 6; Squid 5.7, `htcp.cc`.

use super::super::bytes::Cursor;
use super::super::{DecodeError, EncodeError};
use super::{
    Authentication, Body, Cleared, Detail, FIXED_BYTES, MOST_BYTES, Message, Opcode, Reason,
    Refusal, Specifier,
};

const MINOR: u8 = 1;

/// What the old layout calls itself.
const OLD_MINOR: u8 = 0;

/// RR.
const ANSWER: u8 = 1;

/// F1.
const FLAG: u8 = 2;

/// Bytes before what the opcode wants: header and the beginning of the data.
const START_BYTES: usize = 4 + 8;

impl Specifier<'_> {
    fn texts(&self) -> [&[u8]; 4] {
        [self.method, self.url, self.version, self.headers]
    }
}

impl Detail<'_> {
    fn texts(&self) -> [&[u8]; 3] {
        [self.response, self.entity, self.cache]
    }
}

/// What counted texts take.
fn counted_bytes(texts: &[&[u8]]) -> usize {
    texts.iter().map(|text| 2 + text.len()).sum()
}

/// Writes texts whose lengths are known to fit.
fn counted(texts: &[&[u8]], out: &mut Vec<u8>) {
    for text in texts {
        out.extend(u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
        out.extend(*text);
    }
}

impl Body<'_> {
    /// Opcode, response, F1 and RR.
    fn start(&self) -> (Opcode, u8, u8) {
        let wanted = |answer: bool| if answer { FLAG } else { 0 };
        match *self {
            Self::Ping { answer } => (Opcode::Nop, 0, wanted(answer)),
            Self::Pong => (Opcode::Nop, 0, ANSWER),
            Self::Test { answer, .. } => (Opcode::Test, 0, wanted(answer)),
            Self::Hit(_) => (Opcode::Test, 0, ANSWER),
            Self::Miss(_) => (Opcode::Test, 1, ANSWER),
            Self::Clear { answer, .. } => (Opcode::Clear, 0, wanted(answer)),
            Self::Cleared(cleared) => (Opcode::Clear, cleared as u8, ANSWER),
            Self::Refused { opcode, refusal } => (opcode, refusal as u8, ANSWER | FLAG),
        }
    }

    fn encoded_bytes(&self) -> usize {
        match self {
            Self::Test { request, .. } => counted_bytes(&request.texts()),
            Self::Clear { request, .. } => 2 + counted_bytes(&request.texts()),
            Self::Hit(detail) | Self::Miss(detail) => counted_bytes(&detail.texts()),
            Self::Ping { .. } | Self::Pong | Self::Cleared(_) | Self::Refused { .. } => 0,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Test { request, .. } => counted(&request.texts(), out),
            Self::Clear { reason, request, .. } => {
                out.extend([0, *reason as u8]);
                counted(&request.texts(), out);
            }
            Self::Hit(detail) | Self::Miss(detail) => counted(&detail.texts(), out),
            Self::Ping { .. } | Self::Pong | Self::Cleared(_) | Self::Refused { .. } => (),
        }
    }
}

impl<'a> Message<'a> {
    /// How many bytes the message takes.
    #[must_use]
    pub fn encoded_bytes(&self) -> usize {
        let signed = |own: Authentication<'_>| 8 + counted_bytes(&[own.key, own.signature]);
        FIXED_BYTES + self.body.encoded_bytes() + self.authentication.map_or(0, signed)
    }

    /// Writes the message behind what is in `out`, with minor version 1.
    ///
    /// # Errors
    /// More than [`MOST_BYTES`]; nothing is written then.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let found = self.encoded_bytes();
        let too_long = |_| EncodeError::Long { most: MOST_BYTES, found };
        let length = u16::try_from(found).map_err(too_long)?;
        let data = u16::try_from(8 + self.body.encoded_bytes()).map_err(too_long)?;
        out.reserve(found);
        out.extend(length.to_be_bytes());
        out.extend([0, MINOR]);
        out.extend(data.to_be_bytes());
        let (opcode, response, flags) = self.body.start();
        out.extend([((opcode as u8) << 4) | response, flags]);
        out.extend(self.transaction.to_be_bytes());
        self.body.encode(out);
        // The parts are the whole: what is left of the length is the authentication.
        out.extend((length - 4 - data).to_be_bytes());
        if let Some(own) = self.authentication {
            out.extend(own.signed.to_be_bytes());
            out.extend(own.expires.to_be_bytes());
            counted(&[own.key, own.signature], out);
        }
        Ok(())
    }

    /// Reads a datagram, all of it, in the layout that its minor version says.
    ///
    /// # Errors
    /// Another major version, a minor version above 1, an opcode or a response that is not known, a
    /// length that is not that of what it is about.
    pub fn decode(datagram: &'a [u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(datagram);
        let length = u64::from(cursor.u16("an HTCP length")?);
        if length != datagram.len() as u64 {
            let (what, wanted) = ("an HTCP length", datagram.len() as u64);
            return Err(DecodeError::Length { what, at: 0, wanted, found: length });
        }
        let major = cursor.u8("an HTCP major version")?;
        if major != 0 {
            return value("an HTCP major version", 2, "0", major);
        }
        let minor = cursor.u8("an HTCP minor version")?;
        if minor > MINOR {
            return value("an HTCP minor version", 3, "0 or 1", minor);
        }
        let mut data = section(&mut cursor, 8, "HTCP data")?;
        let (mut codes, mut flags) = (data.u8("an HTCP opcode")?, data.u8("HTCP flags")?);
        if minor == OLD_MINOR {
            codes = codes.rotate_left(4);
            flags = (flags >> 7) | ((flags >> 5) & FLAG);
        }
        let transaction = data.u32("an HTCP transaction")?;
        let body = body(&mut data, codes >> 4, codes & 0xf, flags)?;
        let mut signed = section(&mut cursor, 2, "HTCP authentication")?;
        let authentication =
            (signed.left() > 0).then(|| authentication(&mut signed)).transpose()?;
        cursor.end()?;
        Ok(Self { transaction, body, authentication })
    }
}

fn value<T>(
    what: &'static str,
    at: usize,
    wanted: &'static str,
    found: u8,
) -> Result<T, DecodeError> {
    Err(DecodeError::Value { what, at, wanted, found: found.into() })
}

/// A part that begins with its own length, which is at least so much. What is given begins behind
/// the length.
fn section<'a>(
    cursor: &mut Cursor<'a>,
    least: u16,
    what: &'static str,
) -> Result<Cursor<'a>, DecodeError> {
    let at = cursor.at();
    let length = cursor.u16(what)?;
    if length < least {
        let (wanted, found) = (least.into(), length.into());
        return Err(DecodeError::Length { what, at, wanted, found });
    }
    cursor.part(usize::from(length) - 2, what)
}

fn body<'a>(
    data: &mut Cursor<'a>,
    opcode: u8,
    response: u8,
    flags: u8,
) -> Result<Body<'a>, DecodeError> {
    let at = START_BYTES - 6;
    let opcode = match opcode {
        0 => Opcode::Nop,
        1 => Opcode::Test,
        4 => Opcode::Clear,
        2 => return value("an HTCP opcode of", at, "0, 1 or 4 (2 is MON)", opcode),
        3 => return value("an HTCP opcode of", at, "0, 1 or 4 (3 is SET)", opcode),
        _ => return value("an HTCP opcode of", at, "0, 1 or 4", opcode),
    };
    let flag = flags & FLAG != 0;
    if flags & ANSWER == 0 {
        return request(data, opcode, flag);
    }
    if flag {
        let refusal = refusal(response, at)?;
        return Ok(Body::Refused { opcode, refusal });
    }
    match (opcode, response) {
        (Opcode::Nop, 0) => Ok(Body::Pong),
        (Opcode::Nop, _) => value("a response to NOP of", at, "0", response),
        (Opcode::Test, 0) => Ok(Body::Hit(detail(data)?)),
        (Opcode::Test, 1) => Ok(Body::Miss(missing(data)?)),
        (Opcode::Test, _) => value("a response to TST of", at, "0 or 1", response),
        (Opcode::Clear, 0) => Ok(Body::Cleared(Cleared::Forgotten)),
        (Opcode::Clear, 1) => Ok(Body::Cleared(Cleared::Kept)),
        (Opcode::Clear, 2) => Ok(Body::Cleared(Cleared::Absent)),
        (Opcode::Clear, _) => value("a response to CLR of", at, "0, 1 or 2", response),
    }
}

fn request<'a>(
    data: &mut Cursor<'a>,
    opcode: Opcode,
    answer: bool,
) -> Result<Body<'a>, DecodeError> {
    match opcode {
        Opcode::Nop => Ok(Body::Ping { answer }),
        Opcode::Test => Ok(Body::Test { answer, request: specifier(data)? }),
        Opcode::Clear => {
            let reason = data.u16("a reason")? & 0xf;
            let reason = if reason == 1 { Reason::Gone } else { Reason::Other };
            Ok(Body::Clear { answer, reason, request: specifier(data)? })
        }
    }
}

fn refusal(response: u8, at: usize) -> Result<Refusal, DecodeError> {
    Ok(match response {
        0 => Refusal::Unauthenticated,
        1 => Refusal::Mistrusted,
        2 => Refusal::Opcode,
        3 => Refusal::Major,
        4 => Refusal::Minor,
        5 => Refusal::Undesired,
        _ => return value("an overall response of", at, "0 to 5", response),
    })
}

fn text<'a>(cursor: &mut Cursor<'a>, what: &'static str) -> Result<&'a [u8], DecodeError> {
    let length = cursor.u16(what)?;
    cursor.take(length.into(), what)
}

fn specifier<'a>(data: &mut Cursor<'a>) -> Result<Specifier<'a>, DecodeError> {
    Ok(Specifier {
        method: text(data, "a method")?,
        url: text(data, "a URL")?,
        version: text(data, "an HTTP version")?,
        headers: text(data, "request headers")?,
    })
}

fn detail<'a>(data: &mut Cursor<'a>) -> Result<Detail<'a>, DecodeError> {
    Ok(Detail {
        response: text(data, "response headers")?,
        entity: text(data, "entity headers")?,
        cache: text(data, "cache headers")?,
    })
}

/// By the RFC a miss has cache headers alone; by Squid it has what a hit has.
fn missing<'a>(data: &mut Cursor<'a>) -> Result<Detail<'a>, DecodeError> {
    let whole = *data;
    let cache = text(data, "cache headers")?;
    if data.left() == 0 {
        return Ok(Detail { cache, ..Detail::default() });
    }
    *data = whole;
    detail(data)
}

fn authentication<'a>(signed: &mut Cursor<'a>) -> Result<Authentication<'a>, DecodeError> {
    Ok(Authentication {
        signed: signed.u32("a time of signature")?,
        expires: signed.u32("a time of expiry")?,
        key: text(signed, "a secret's name")?,
        signature: text(signed, "a signature")?,
    })
}
