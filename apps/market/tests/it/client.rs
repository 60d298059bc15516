//! Users of the market: over HTTP, a request a connection, and over WebSocket.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest as _;
use tungstenite::{Message, WebSocket};

/// One process of the market.
#[derive(Clone, Copy)]
pub(crate) struct Http {
    pub(crate) address: SocketAddr,
}

impl Http {
    /// Status and body; 0 where the connection broke.
    pub(crate) fn text(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: &str,
    ) -> (u16, String) {
        let authorization =
            token.map_or(String::new(), |token| format!("Authorization: Bearer {token}\r\n"));
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: market\r\nConnection: close\r\n{authorization}\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut answer = Vec::new();
        let asked = TcpStream::connect(self.address).and_then(|mut stream| {
            stream.write_all(request.as_bytes())?;
            stream.read_to_end(&mut answer)
        });
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let Some((head, body)) = answer.split_once("\r\n\r\n") else { return (0, String::new()) };
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        match (asked, status) {
            (Ok(_), Some(status)) => (status, body.to_owned()),
            _ => (0, String::new()),
        }
    }

    /// Status and body as JSON; `null` is no body.
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: &Value,
    ) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (status, text) = self.text(method, path, token, &body);
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// A connection whose user says hello.
    pub(crate) fn socket(&self, token: &str) -> Socket {
        let stream = TcpStream::connect(self.address).unwrap();
        let mut socket = self.socket_on(stream, None).unwrap();
        assert_eq!(socket.ask(&json!({"op": "hello", "token": token}))["op"], "welcome");
        socket
    }

    /// A handshake on a connection that may break at any time.
    pub(crate) fn try_socket(&self, stream: TcpStream, token: &str) -> Option<Socket> {
        stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
        let mut request = format!("ws://{}/ws", self.address).into_client_request().ok()?;
        let value = format!("Bearer {token}").parse().ok()?;
        request.headers_mut().insert("Authorization", value);
        let (socket, _) = tungstenite::client(request, stream).ok()?;
        Some(Socket { socket, pushed: Vec::new() })
    }

    /// A handshake on a connection, or the status that it was answered with.
    pub(crate) fn socket_on(&self, stream: TcpStream, token: Option<&str>) -> Result<Socket, u16> {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut request = format!("ws://{}/ws", self.address).into_client_request().unwrap();
        if let Some(token) = token {
            let value = format!("Bearer {token}").parse().unwrap();
            request.headers_mut().insert("Authorization", value);
        }
        match tungstenite::client(request, stream) {
            Ok((socket, _)) => Ok(Socket { socket, pushed: Vec::new() }),
            Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(answer))) => {
                Err(answer.status().as_u16())
            }
            Err(error) => panic!("the handshake: {error}"),
        }
    }
}

/// A WebSocket connection.
pub(crate) struct Socket {
    socket: WebSocket<TcpStream>,
    /// What came that nobody asked for, in order.
    pub(crate) pushed: Vec<Value>,
}

impl Socket {
    /// Sends a message, whatever it is.
    pub(crate) fn send(&mut self, text: &str) -> Result<(), tungstenite::Error> {
        self.socket.send(Message::text(text))
    }

    /// The next message, or the code with which the connection was closed: 0 where it broke.
    pub(crate) fn next(&mut self) -> Result<Value, u16> {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => return Ok(serde_json::from_str(&text).unwrap()),
                Ok(Message::Close(frame)) => {
                    // Our own close goes back.
                    while self.socket.read().is_ok() {}
                    return Err(frame.map_or(0, |frame| frame.code.into()));
                }
                Ok(_) => {}
                // A wait with a limit ends when this process goes on after it was stopped.
                Err(tungstenite::Error::Io(error)) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(0),
            }
        }
    }

    /// The answer to a message; what is pushed meanwhile is kept.
    pub(crate) fn try_ask(&mut self, message: &Value) -> Result<Value, u16> {
        self.send(&message.to_string()).map_err(|_| 0_u16)?;
        loop {
            let one = self.next()?;
            if is_pushed(&one) {
                self.pushed.push(one);
            } else {
                return Ok(one);
            }
        }
    }

    /// The answer to a message.
    pub(crate) fn ask(&mut self, message: &Value) -> Value {
        self.try_ask(message).unwrap_or_else(|code| panic!("{message}: closed with {code}"))
    }

    /// The next message that nobody asked for.
    pub(crate) fn pushed(&mut self) -> Value {
        if self.pushed.is_empty() {
            let one = self.next().unwrap();
            assert!(is_pushed(&one), "{one}");
            return one;
        }
        self.pushed.remove(0)
    }

    /// A prediction's answer.
    pub(crate) fn predict(&mut self, pool: u64, outcome: u32, stake: i64, n: u64) -> Value {
        self.ask(
            &json!({"op": "predict", "pool": pool, "outcome": outcome, "stake": stake, "n": n}),
        )
    }
}

fn is_pushed(message: &Value) -> bool {
    ["distribution", "resolved", "reconnect"].iter().any(|op| message["op"] == **op)
}
