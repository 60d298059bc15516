//! Redis: RESP2, the protocol of its clients (Redis serialization protocol specification, version
//! 2). A read is `GET`, a write `SET`; a connection begins with `AUTH` and `SELECT` where the URL
//! says so. The first requests follow these without awaiting their answers: that the store lets us
//! in has been asked before ([`crate::store::check`]). Commands are arrays of bulk strings, so keys
//! and values may hold any byte.
//!
//! Answers to these are `+OK`, `$N` and a block, `$-1` for no such record, and `-CODE text`;
//! anything else is refused.

use crate::store::frames::{Malformed, length};
use crate::store::{Dialect, Login, Next, Reply};
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
        answers
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
            b"$-1" => Ok(Next::Reply(Reply::Missing)),
            [b'$', digits @ ..] => length(digits).map(Next::Block),
            [b'-', error @ ..] => Ok(Next::Reply(Reply::Error(code(error)))),
            _ => Err(Malformed),
        }
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
        b"NOPERM" | b"READONLY" => 403,
        b"WRONGTYPE" => 409,
        b"MOVED" | b"ASK" => 421,
        b"BUSY" | b"CLUSTERDOWN" | b"LOADING" | b"MASTERDOWN" | b"TRYAGAIN" => 503,
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
        assert_eq!(greeting(None, 0), (0, String::new()));
        let auth = "*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n";
        assert_eq!(greeting(secret(""), 3), (2, auth.to_owned()));
        let auth = "*3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$2\r\npw\r\n";
        assert_eq!(greeting(secret("ann"), 0), (1, auth.to_owned()));
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
