//! Lines that a container's runtime has wrapped: Docker's `json-file`, and the format of the
//! Container Runtime Interface (containerd, CRI-O), as Kubernetes keeps them.
//!
//! `{"log":"192.0.2.5 - - […] \"GET /a HTTP/1.1\" 200 10\n","stream":"stdout","time":"…"}`
//!
//! `2026-03-03T08:00:00.100000000Z stdout F 192.0.2.5 - - […] "GET /a HTTP/1.1" 200 10`
//!
//! What is within is a line of any format. The runtime's own time is not looked at. Runtimes break
//! lines of more than 16 KiB into parts, which are not put together: none of them can be read.

use super::date;
use super::entry::Why;
use super::format::SAMPLE_LINES;
use super::json;

/// What lines are wrapped in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrapper {
    Nothing,
    Docker,
    Cri,
}

const PART: Why = "a part of a longer line";

impl Wrapper {
    /// What more than half of these lines are wrapped in.
    fn of(lines: &[&[u8]]) -> Self {
        let is_most = |is_it: fn(&[u8]) -> bool| {
            lines.iter().filter(|line| is_it(line)).count() * 2 > lines.len()
        };
        if is_most(is_docker) {
            Self::Docker
        } else if is_most(|line| cri(line).is_some()) {
            Self::Cri
        } else {
            Self::Nothing
        }
    }

    /// The line within; `room` is for one whose escapes have to be undone.
    #[inline]
    pub(super) fn unwrap<'a>(self, line: &'a [u8], room: &'a mut Vec<u8>) -> Result<&'a [u8], Why> {
        match self {
            Self::Nothing => Ok(line),
            Self::Docker => {
                let text = Some(line).filter(|line| is_docker(line));
                let text = text.and_then(|line| json::text_at(line, DOCKER.len() - 1, room));
                let text = text.ok_or("no line of a container, as Docker keeps it")?;
                let line = text.strip_suffix(b"\n").ok_or(PART)?;
                Ok(line.strip_suffix(b"\r").unwrap_or(line))
            }
            Self::Cri => match cri(line).ok_or("no line of a container's runtime")? {
                (b"F", line) => Ok(line),
                _ => Err(PART),
            },
        }
    }
}

/// What a line of Docker begins with.
const DOCKER: &[u8] = b"{\"log\":\"";

fn is_docker(line: &[u8]) -> bool {
    line.starts_with(DOCKER) && memchr::memmem::find(line, b"\"stream\":\"").is_some()
}

/// The tag of a line of the Container Runtime Interface, and what is within.
fn cri(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut parts = line.splitn(4, |&byte| byte == b' ');
    let (time, stream, tag) = (parts.next()?, parts.next()?, parts.next()?);
    date::iso(time)?;
    let is_stream = matches!(stream, b"stdout" | b"stderr");
    (is_stream && matches!(tag, b"F" | b"P")).then(|| (tag, parts.next().unwrap_or_default()))
}

/// What the first lines of a text are wrapped in, and what is within those that can be unwrapped.
/// Lines with nothing in them are passed over.
pub(super) fn sample(text: &[u8]) -> (Wrapper, Vec<Vec<u8>>) {
    let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let lines: Vec<&[u8]> = lines.filter(|line| !line.is_empty()).take(SAMPLE_LINES).collect();
    let wrapper = Wrapper::of(&lines);
    let mut room = Vec::new();
    let within = |line: &&[u8]| wrapper.unwrap(line, &mut room).ok().map(<[u8]>::to_vec);
    let within = lines.iter().filter_map(within).filter(|line| !line.is_empty());
    (wrapper, within.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_unwrapped_and_parts_are_none() {
        let docker = r#"{"log":"h \"GET /\" \u00e9\r\n","stream":"stdout","time":"x"}"#;
        let cri = "2026-03-03T08:00:00.1Z stderr F h \"GET /\"";
        let mut room = Vec::new();
        for (wrapper, line, expected) in [
            (Wrapper::Docker, docker, Ok("h \"GET /\" é")),
            (Wrapper::Docker, r#"{"log":"h","stream":"stdout"}"#, Err(PART)),
            (Wrapper::Docker, r#"{"log":"h\n"#, Err("no line of a container, as Docker keeps it")),
            (Wrapper::Cri, cri, Ok("h \"GET /\"")),
            (Wrapper::Cri, "2026-03-03T08:00:00.1Z stdout P h", Err(PART)),
            (Wrapper::Cri, "2026-03-03T08:00:00.1Z stdout F", Ok("")),
            (Wrapper::Cri, "h stdout F x", Err("no line of a container's runtime")),
            (Wrapper::Nothing, docker, Ok(docker)),
        ] {
            let found = wrapper.unwrap(line.as_bytes(), &mut room);
            assert_eq!(found, expected.map(str::as_bytes), "{line}");
        }
        let plain = "h - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 9";
        for (text, wrapper, first) in [
            (format!("{docker}\n\n{docker}\n{plain}"), Wrapper::Docker, "h \"GET /\" é"),
            (format!("{cri}\n"), Wrapper::Cri, "h \"GET /\""),
            (format!("{plain}\n{docker}\n"), Wrapper::Nothing, plain),
        ] {
            let (found, lines) = sample(text.as_bytes());
            assert_eq!((found, &lines[0][..]), (wrapper, first.as_bytes()), "{text}");
        }
        assert_eq!(sample(b" \n"), (Wrapper::Nothing, Vec::new()));
    }
}
