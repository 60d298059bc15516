//! A question to a cache over a real connection.

use std::io::ErrorKind;

use tokio::net::TcpStream;

use super::{ANSWER_BYTES, Aim, Object, Outcome, TIME, judge};

/// So many reads are looked at one by one; of what drips in after them, every so many bytes.
const READS: usize = 64;

/// Fetches the object through a cache. Whatever is there, it is over in [`TIME`], has read at most
/// [`ANSWER_BYTES`] and has spoken to nobody else.
///
/// Needs a runtime of tokio with I/O and time.
pub async fn probe(aim: Aim, object: &Object) -> Outcome {
    let mut heard = false;
    let asked = tokio::time::timeout(TIME, ask(aim, object, &mut heard)).await;
    match asked {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => match error.kind() {
            ErrorKind::ConnectionRefused => Outcome::Refused,
            ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof => Outcome::Closed,
            // The system's own time-out is longer than ours, but may have begun earlier.
            ErrorKind::TimedOut => Outcome::Silent,
            _ => Outcome::Unreachable,
        },
        Err(_) if heard => Outcome::Slow,
        Err(_) => Outcome::Silent,
    }
}

async fn ask(aim: Aim, object: &Object, heard: &mut bool) -> std::io::Result<Outcome> {
    let stream = TcpStream::connect((aim.address, aim.port)).await?;
    let mut rest = object.request(aim);
    while !rest.is_empty() {
        stream.writable().await?;
        match stream.try_write(rest) {
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    let mut read = [0; ANSWER_BYTES];
    let (mut length, mut judged, mut reads) = (0, 0, 0);
    loop {
        stream.readable().await?;
        let count = match stream.try_read(&mut read[length..]) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        };
        *heard |= count > 0;
        length += count;
        reads += 1;
        let (ended, full) = (count == 0, length == ANSWER_BYTES);
        if ended || full || reads <= READS || length >= judged + READS {
            judged = length;
            if let Some(outcome) = judge(&read[..length], ended, object) {
                return Ok(outcome);
            }
        }
    }
}
