//! Questions to name servers: over UDP, and over TCP where an answer is cut.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::str::FromStr as _;
use std::time::{Duration, Instant};

use domain::base::iana::Rcode;
use domain::base::{Message, MessageBuilder, Name, Rtype};
use domain::rdata::{A, Aaaa};

use super::files::Settings;

/// The longest answer over UDP that is taken.
const MOST_BYTES: usize = 4096;

/// What a server says of a name.
enum Said {
    /// Its addresses of the kind that was asked for; there may be none.
    Addresses(Vec<IpAddr>),
    /// That there is no such name.
    NoSuchName,
}

/// The addresses of a name, as the name servers have them; none where they know no such name.
///
/// # Errors
/// Where no server answers.
pub(super) fn ask(settings: &Settings, name: &str, is_whole: bool) -> io::Result<Vec<IpAddr>> {
    let behind = |domain: &String| format!("{name}.{domain}");
    let mut names: Vec<String> = match is_whole {
        true => Vec::new(),
        false => settings.domains.iter().map(behind).collect(),
    };
    let is_first = is_whole || name.matches('.').count() >= settings.dots;
    names.insert(if is_first { 0 } else { names.len() }, name.to_owned());
    let mut failed = None;
    for name in names {
        match of_name(settings, &name) {
            Ok(found) if found.is_empty() => {}
            Ok(found) => return Ok(found),
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(Vec::new()), Err)
}

/// The addresses of one name, of both kinds.
fn of_name(settings: &Settings, name: &str) -> io::Result<Vec<IpAddr>> {
    let wrong = |error: &dyn std::fmt::Display| {
        io::Error::new(io::ErrorKind::InvalidInput, error.to_string())
    };
    let name = Name::<Vec<u8>>::from_str(name).map_err(|error| wrong(&error))?;
    let (mut found, mut failed) = (Vec::new(), None);
    for kind in [Rtype::AAAA, Rtype::A] {
        match of_kind(settings, &name, kind) {
            Ok(Said::Addresses(all)) => found.extend(all),
            Ok(Said::NoSuchName) => return Ok(Vec::new()),
            Err(error) => failed = Some(error),
        }
    }
    match failed {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok(found),
    }
}

/// Asks the servers in turn, as often as that is said.
fn of_kind(settings: &Settings, name: &Name<Vec<u8>>, kind: Rtype) -> io::Result<Said> {
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "there is no name server");
    for _ in 0..settings.attempts {
        for server in &settings.servers {
            match of_server(*server, (name, kind), settings.timeout) {
                Ok(said) => return Ok(said),
                Err(error) => {
                    let text = format!("the name server {server} does not answer: {error}");
                    failed = io::Error::new(error.kind(), text);
                }
            }
        }
    }
    Err(failed)
}

fn of_server(
    server: SocketAddr,
    (name, kind): (&Name<Vec<u8>>, Rtype),
    timeout: Duration,
) -> io::Result<Said> {
    // A number that nobody guesses, and a port that the system draws.
    let [one, other, ..] = RandomState::new().build_hasher().finish().to_ne_bytes();
    let id = u16::from_ne_bytes([one, other]);
    let question = question(id, name, kind)?;
    let answer = over_udp(server, &question, (id, name, kind), timeout)?;
    match answer.header().tc() {
        true => read(&over_tcp(server, &question, timeout)?, (id, name, kind)),
        false => read(&answer, (id, name, kind)),
    }
}

fn question(id: u16, name: &Name<Vec<u8>>, kind: Rtype) -> io::Result<Vec<u8>> {
    let mut builder = MessageBuilder::new_vec();
    builder.header_mut().set_id(id);
    builder.header_mut().set_rd(true);
    let mut question = builder.question();
    question.push((name, kind)).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(question.finish())
}

/// Whether a message is the answer to a question.
fn is_answer(of: &Message<Vec<u8>>, (id, name, kind): (u16, &Name<Vec<u8>>, Rtype)) -> bool {
    let of_it = of.sole_question();
    let is_same = of_it.is_ok_and(|asked| asked.qname() == name && asked.qtype() == kind);
    of.header().qr() && of.header().id() == id && is_same
}

#[expect(clippy::disallowed_methods, reason = "a server's answer is waited for so long")]
fn over_udp(
    server: SocketAddr,
    question: &[u8],
    asked: (u16, &Name<Vec<u8>>, Rtype),
    timeout: Duration,
) -> io::Result<Message<Vec<u8>>> {
    let any = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any)?;
    // What anybody else sends is not read.
    socket.connect(server)?;
    socket.send(question)?;
    let until = Instant::now() + timeout;
    let mut bytes = vec![0; MOST_BYTES];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it takes too long"));
        }
        socket.set_read_timeout(Some(left))?;
        let length = match socket.recv(&mut bytes) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            // The process was stopped meanwhile, and goes on.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let message = Message::from_octets(bytes[..length].to_vec());
        if let Some(message) = message.ok().filter(|message| is_answer(message, asked)) {
            return Ok(message);
        }
    }
}

fn over_tcp(
    server: SocketAddr,
    question: &[u8],
    timeout: Duration,
) -> io::Result<Message<Vec<u8>>> {
    let mut stream = TcpStream::connect_timeout(&server, timeout)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    let length = u16::try_from(question.len()).unwrap_or(u16::MAX);
    stream.write_all(&[&length.to_be_bytes()[..], question].concat())?;
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut bytes = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut bytes)?;
    Message::from_octets(bytes).map_err(|_| io::Error::other("it answers with no message"))
}

/// The addresses in an answer, aliases followed by the server.
fn read(of: &Message<Vec<u8>>, asked: (u16, &Name<Vec<u8>>, Rtype)) -> io::Result<Said> {
    if !is_answer(of, asked) {
        return Err(io::Error::other("it answers another question"));
    }
    match of.header().rcode() {
        Rcode::NOERROR => {}
        Rcode::NXDOMAIN => return Ok(Said::NoSuchName),
        other => return Err(io::Error::other(format!("it answers {other}"))),
    }
    let wrong = |error: domain::base::wire::ParseError| io::Error::other(error.to_string());
    let (four, six) = (of.answer().map_err(wrong)?, of.answer().map_err(wrong)?);
    let four = four.limit_to::<A>().filter_map(Result::ok).map(|of| of.data().addr().into());
    let six = six.limit_to::<Aaaa>().filter_map(Result::ok).map(|of| of.data().addr().into());
    Ok(Said::Addresses(six.chain(four).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::base::iana::Rcode;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
    use std::thread;

    /// What a server of the tests answers.
    #[derive(Clone, Copy, PartialEq)]
    enum Manner {
        /// `shop.example` and `far.example` have addresses, there is nothing else.
        Knows,
        /// The same, and over UDP every answer is cut.
        Cuts,
        /// A stranger's answer comes first.
        Confuses,
        /// It cannot say.
        Fails,
    }

    fn answer(bytes: &[u8], manner: Manner, is_cut: bool) -> Vec<u8> {
        let asked = Message::from_octets(bytes.to_vec()).unwrap();
        let question = asked.sole_question().unwrap();
        let (name, kind) = (question.qname().to_string(), question.qtype());
        let is_known =
            ["shop.example", "far.example"].contains(&name.to_ascii_lowercase().as_str());
        let rcode = match manner {
            Manner::Fails => Rcode::SERVFAIL,
            _ if is_known => Rcode::NOERROR,
            _ => Rcode::NXDOMAIN,
        };
        let mut answer = MessageBuilder::new_vec().start_answer(&asked, rcode).unwrap();
        answer.header_mut().set_tc(is_cut);
        if is_known && rcode == Rcode::NOERROR && !is_cut {
            let of = question.qname();
            match kind {
                Rtype::A => answer.push((of, 60, A::new(Ipv4Addr::new(192, 0, 2, 1)))).unwrap(),
                _ if name.to_ascii_lowercase().starts_with("far") => {
                    answer
                        .push((of, 60, Aaaa::new(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1))))
                        .unwrap();
                }
                _ => {}
            }
        }
        answer.finish()
    }

    /// A name server, over UDP and TCP, for as long as the tests last.
    fn server(manner: Manner) -> SocketAddr {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = tcp.local_addr().unwrap();
        let udp = UdpSocket::bind(at).unwrap();
        thread::spawn(move || {
            let mut bytes = [0; 512];
            while let Ok((length, from)) = udp.recv_from(&mut bytes) {
                let real = answer(&bytes[..length], manner, manner == Manner::Cuts);
                if manner == Manner::Confuses {
                    let mut other = real.clone();
                    other[0] ^= 0xff;
                    udp.send_to(&other, from).unwrap();
                    udp.send_to(b"no message", from).unwrap();
                }
                udp.send_to(&real, from).unwrap();
            }
        });
        thread::spawn(move || {
            for stream in tcp.incoming() {
                let mut stream = stream.unwrap();
                let mut length = [0; 2];
                stream.read_exact(&mut length).unwrap();
                let mut bytes = vec![0; usize::from(u16::from_be_bytes(length))];
                stream.read_exact(&mut bytes).unwrap();
                let real = answer(&bytes, manner, false);
                let length = u16::try_from(real.len()).unwrap().to_be_bytes();
                stream.write_all(&[&length[..], &real].concat()).unwrap();
            }
        });
        at
    }

    fn settings(servers: &[SocketAddr]) -> Settings {
        let domains = vec!["nowhere.example".to_owned(), "example".to_owned()];
        Settings { servers: servers.to_vec(), domains, ..Settings::default() }
    }

    #[test]
    fn a_name_has_the_addresses_that_a_server_says() {
        for manner in [Manner::Knows, Manner::Cuts, Manner::Confuses] {
            let settings = settings(&[server(manner)]);
            let found = |name: &str, is_whole| ask(&settings, name, is_whole).unwrap();
            let [four, six] =
                ["192.0.2.1", "2001:db8::1"].map(|text| text.parse::<IpAddr>().unwrap());
            assert_eq!(found("shop.example", false), [four]);
            assert_eq!(found("FAR.example", true), [six, four]);
            // Behind a short name the domains are tried, behind a whole one none.
            assert_eq!(found("shop", false), [four]);
            assert!(found("shop", true).is_empty() && found("none.example", false).is_empty());
        }
    }

    #[test]
    fn who_cannot_say_is_not_the_last_who_is_asked() {
        let (fails, knows) = (server(Manner::Fails), server(Manner::Knows));
        let found = ask(&settings(&[fails, knows]), "shop.example", true).unwrap();
        assert_eq!(found.len(), 1);
        let error = ask(&settings(&[fails]), "shop.example", true).unwrap_err().to_string();
        assert!(error.contains(&fails.to_string()) && error.contains("SERVFAIL"), "{error}");
        let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = ask(&settings(&[nobody]), "shop.example", true).unwrap_err().to_string();
        assert!(error.contains(&nobody.to_string()), "{error}");
        let long = "a".repeat(64);
        assert!(ask(&settings(&[knows]), &long, true).is_err(), "no name");
    }
}
