//! Frames (RFC 9113, sections 4 and 6): their heads, and those that a client writes.

/// Bytes of a frame's head.
pub(super) const HEAD: usize = 9;
/// The longest payload that we take, and that every peer takes (SETTINGS_MAX_FRAME_SIZE).
pub(super) const MAX_PAYLOAD: usize = 16_384;
/// What a client sends first (section 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The window that either side has at first (section 6.9.2).
pub(super) const FIRST_WINDOW: u32 = 65_535;
/// The greatest window, and the greatest stream number.
pub(super) const MOST: u32 = 0x7fff_ffff;

/// Types (section 6).
pub(super) mod kind {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const PRIORITY: u8 = 2;
    pub(crate) const RST_STREAM: u8 = 3;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PUSH_PROMISE: u8 = 5;
    pub(crate) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    pub(crate) const CONTINUATION: u8 = 9;
}

/// Flags (section 6).
pub(super) mod flag {
    pub(crate) const ACK: u8 = 0x1;
    pub(crate) const END_STREAM: u8 = 0x1;
    pub(crate) const END_HEADERS: u8 = 0x4;
    pub(crate) const PADDED: u8 = 0x8;
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// Settings (section 6.5.2).
pub(super) mod setting {
    pub(crate) const HEADER_TABLE_SIZE: u16 = 1;
    pub(crate) const ENABLE_PUSH: u16 = 2;
    pub(crate) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;
    pub(crate) const MAX_FRAME_SIZE: u16 = 5;
}

/// Error codes (section 7).
pub(super) mod code {
    pub(crate) const PROTOCOL_ERROR: u32 = 1;
    pub(crate) const FLOW_CONTROL_ERROR: u32 = 3;
    pub(crate) const REFUSED_STREAM: u32 = 7;
    pub(crate) const CANCEL: u32 = 8;
    /// The names of all codes, by their numbers (section 7).
    pub(crate) const NAMES: [&str; 14] = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    ];
}

/// A frame's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) len: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl Head {
    /// Reads it from the start of `bytes`; `None` if it is not whole.
    #[inline]
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let &[a, b, c, kind, flags, ref stream @ ..] = bytes.first_chunk::<HEAD>()?;
        let len = u32::from_be_bytes([0, a, b, c]) as usize;
        // The first bit is reserved and says nothing (section 4.1).
        Some(Self { len, kind, flags, stream: u32::from_be_bytes(*stream) & MOST })
    }

    /// Whether a flag is set.
    #[inline]
    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Appends a frame's head. The payload is at most [`MAX_PAYLOAD`], or what the peer allows.
#[inline]
pub(super) fn head(len: usize, kind: u8, flags: u8, stream: u32, out: &mut Vec<u8>) {
    let [.., a, b, c] = len.to_be_bytes();
    let [d, e, f, g] = stream.to_be_bytes();
    out.extend_from_slice(&[a, b, c, kind, flags, d, e, f, g]);
}

/// Appends a frame of four bytes: RST_STREAM with a code, WINDOW_UPDATE with an increment.
pub(super) fn number(kind: u8, stream: u32, number: u32, out: &mut Vec<u8>) {
    head(4, kind, 0, stream, out);
    out.extend_from_slice(&number.to_be_bytes());
}

/// Appends SETTINGS.
pub(super) fn settings(list: &[(u16, u32)], out: &mut Vec<u8>) {
    head(list.len() * 6, kind::SETTINGS, 0, 0, out);
    for (name, value) in list {
        out.extend_from_slice(&name.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// Appends a header block as HEADERS and as many CONTINUATION as it needs (section 4.3).
pub(super) fn headers(block: &[u8], ends: bool, stream: u32, out: &mut Vec<u8>) {
    let mut parts = block.chunks(MAX_PAYLOAD).peekable();
    let mut kind = kind::HEADERS;
    let mut flags = if ends { flag::END_STREAM } else { 0 };
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            flags |= flag::END_HEADERS;
        }
        head(part.len(), kind, flags, stream, out);
        out.extend_from_slice(part);
        (kind, flags) = (kind::CONTINUATION, 0);
    }
}
