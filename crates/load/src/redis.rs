//! Redis: RESP2, the protocol of its clients (Redis serialization protocol specification, version
//! 2). A read is `GET`, a write `SET`. A connection begins with `AUTH` and `SELECT` where the URL
//! says so, and with `PING`; it counts as open when these are answered, as a server that has too
//! many clients says so only then. Commands are arrays of bulk strings, so keys and values may hold
//! any byte.
//!
//! Answers to these are `+OK`, `+PONG`, `$N` and a block, `$-1` for no such record, and
//! `-CODE text`; anything else is refused.

use crate::ask::hint::DATABASE;
use crate::store::Opening;
use crate::store::frames::{Malformed, length};
use crate::store::{Dialect, Login, Next, Reply, Spoken, Transport};
use plimsoll_workload::request::{Databases, Scheme, StoreScheme};
use plimsoll_workload::store::{Kind, Operation};

/// How Redis speaks.
#[derive(Debug, Clone)]
pub struct Redis {
    login: Login,
}

impl Redis {
    /// For connections that begin so.
    #[must_use]
    pub fn new(login: Login) -> Self {
        Self { login }
    }
}

/// What there is to `redis://`.
const STORE: StoreScheme = StoreScheme {
    databases: Databases::Numbers,
    // As redis-cli reads a URL.
    takes_bare_password: true,
    ..StoreScheme::PLAIN
};
/// `redis://`.
pub static SCHEME: Scheme =
    Scheme { over_tls: Some(&SECURE), ..Scheme::plain("redis", 6379, Some(STORE)) };
/// `rediss://`, the same over TLS.
static SECURE: Scheme = Scheme::secure("rediss", 6379, Some(STORE));

impl Spoken for Redis {
    const NAME: &'static str = "RESP2";

    fn begun(opening: Opening, _: Transport) -> Self {
        Self::new(opening.login)
    }

    fn hint(code: u16, said: &str) -> Option<&'static str> {
        (code == 500 && said.contains("DB index")).then_some(DATABASE)
    }
}

impl Dialect for Redis {
    type State = ();

    fn greet(&self, out: &mut Vec<u8>) -> u32 {
        let mut answers = 0;
        if let Some((user, password)) = &self.login.credentials {
            if user.is_empty() {
                command(&[b"AUTH", password], out);
            } else {
                command(&[b"AUTH", user, password], out);
            }
            answers += 1;
        }
        if !matches!(self.login.database.as_str(), "" | "0") {
            command(&[b"SELECT", self.login.database.as_bytes()], out);
            answers += 1;
        }
        command(&[b"PING"], out);
        answers + 1
    }

    fn command(operation: &Operation, value: &[u8], out: &mut Vec<u8>) {
        let key = operation.key();
        match operation.kind {
            Kind::Read => command(&[b"GET", &key], out),
            Kind::Update | Kind::Insert => command(&[b"SET", &key, value], out),
        }
    }

    fn line(_: &mut (), text: &[u8]) -> Result<Next, Malformed> {
        match text {
            b"+OK" => Ok(Next::Reply(Reply::Done)),
            b"+PONG" => Ok(Next::Reply(Reply::Greeted)),
            // It has lost its place in what we send, and closes.
            [b'-', error @ ..] if error.starts_with(b"ERR Protocol error") => {
                let is_long = error.ends_with(b"invalid bulk length");
                Ok(Next::Reply(Reply::Final(if is_long { 413 } else { 500 })))
            }
            b"$-1" => Ok(Next::Reply(Reply::Missing)),
            [b'$', digits @ ..] => length(digits).map(Next::Block),
            [b'-', error @ ..] => Ok(Next::Reply(Reply::Error(code(error)))),
            _ => Err(Malformed),
        }
    }

    /// That a user may not `PING`, and that the store cannot work now: each request is told so.
    fn lets_in(error: &[u8]) -> bool {
        const OF_REQUESTS: [&[u8]; 6] =
            [b"NOPERM", b"LOADING", b"MISCONF", b"MASTERDOWN", b"BUSY", b"ERR unknown command"];
        error
            .strip_prefix(b"-")
            .is_some_and(|error| OF_REQUESTS.iter().any(|word| error.starts_with(word)))
    }

    fn block(_: &mut ()) -> Next {
        Next::Reply(Reply::Found)
    }
}

/// Appends a command: an array of bulk strings.
fn command(words: &[&[u8]], out: &mut Vec<u8>) {
    head(b'*', words.len(), out);
    for word in words {
        head(b'$', word.len(), out);
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
}

/// Appends a mark with its number.
fn head(mark: u8, number: usize, out: &mut Vec<u8>) {
    out.push(mark);
    crate::store::frames::push_decimal(number, out);
    out.extend_from_slice(b"\r\n");
}

/// The code of an error, by its first word.
fn code(error: &[u8]) -> u16 {
    let word = error.split(|&byte| byte == b' ').next().unwrap_or_default();
    match word {
        b"NOAUTH" | b"WRONGPASS" => 401,
        b"DENIED" | b"NOPERM" | b"READONLY" => 403,
        b"WRONGTYPE" => 409,
        b"MOVED" | b"ASK" => 421,
        b"BUSY" | b"CLUSTERDOWN" | b"LOADING" | b"MASTERDOWN" | b"MISCONF" | b"NOREPLICAS"
        | b"TRYAGAIN" => 503,
        // Versions before 6 have no word for it.
        b"ERR" if error == b"ERR invalid password" => 401,
        b"ERR" if error == b"ERR max number of clients reached" => 503,
        b"OOM" => 507,
        _ => 500,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_arrays_of_bulk_strings() {
        let mut out = Vec::new();
        let mut update = Operation::read(42);
        update.kind = Kind::Update;
        Redis::command(&Operation::read(42), b"", &mut out);
        assert_eq!(out, b"*2\r\n$3\r\nGET\r\n$21\r\nplimsoll:000000000042\r\n");
        out.clear();
        Redis::command(&update, b"a\r\n\0b", &mut out);
        let wanted = b"*3\r\n$3\r\nSET\r\n$21\r\nplimsoll:000000000042\r\n$5\r\na\r\n\0b\r\n";
        assert_eq!(out, wanted);
    }

    #[test]
    fn a_connection_begins_as_the_url_says() {
        let greeting = |credentials, database: u32| {
            let database = database.to_string();
            let mut out = Vec::new();
            let answers = Redis::new(Login { credentials, database }).greet(&mut out);
            (answers, String::from_utf8(out).unwrap())
        };
        let secret = |user: &str| Some((user.into(), b"pw".to_vec()));
        let ping = "*1\r\n$4\r\nPING\r\n";
        assert_eq!(greeting(None, 0), (1, ping.to_owned()));
        let auth = "*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n";
        assert_eq!(greeting(secret(""), 3), (3, format!("{auth}{ping}")));
        let auth = "*3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$2\r\npw\r\n";
        assert_eq!(greeting(secret("ann"), 0), (2, format!("{auth}{ping}")));
        let login = Login { credentials: secret("ann"), database: "3".to_owned() };
        let shown = format!("{login:?}");
        assert!(!shown.contains("pw") && !shown.contains("112"), "{shown}");
    }

    #[test]
    fn answers_are_what_they_say() {
        let line = |text: &str| Redis::line(&mut (), text.as_bytes());
        assert_eq!(line("+OK"), Ok(Next::Reply(Reply::Done)));
        assert_eq!(line("$-1"), Ok(Next::Reply(Reply::Missing)));
        assert_eq!(line("$12"), Ok(Next::Block(12)));
        for (error, code) in [
            ("-ERR unknown command", 500),
            ("-OOM command not allowed when used memory > 'maxmemory'.", 507),
            ("-NOAUTH Authentication required.", 401),
            ("-MOVED 3999 127.0.0.1:6381", 421),
            ("-LOADING Redis is loading the dataset in memory", 503),
            ("-", 500),
        ] {
            assert_eq!(line(error), Ok(Next::Reply(Reply::Error(code))), "{error}");
        }
        for text in ["", "+QUEUED", ":1", "*2", "$", "$-2", "$+1", "OK", "$1x", "_"] {
            assert_eq!(line(text), Err(Malformed), "{text}");
        }
    }
}
