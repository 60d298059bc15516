//! What commands are told of a message broker.

#[cfg(not(feature = "amqp"))]
pub(super) use left_out::{broker, publisher};
#[cfg(feature = "amqp")]
pub(super) use there::{broker, publisher};

#[cfg(feature = "amqp")]
mod there {
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use crate::terminal::error::{Error, Result};
    use plimsoll_net::http::client::{Dial, Plain};
    use plimsoll_shoal::agent::announce::{Announce, Sign};
    use plimsoll_shoal::agent::random_seed;
    use plimsoll_shoal::amqp::{Broker, BrokerError, Consumer, Options, Publisher, Tls};
    use plimsoll_shoal::server::Server;

    use crate::commands::shoal::wrong;
    use crate::place::environment;
    use crate::shoal_args::{Amqp, AmqpWay};
    use crate::terminal::error::UsageError;
    use crate::terminal::say;

    /// Holds the broker's password, where no file is named.
    const PASSWORD: &str = "SHOAL_AMQP_PASSWORD";

    /// A broker that is to be heard.
    pub(in crate::commands::shoal) struct Heard {
        options: Options,
        dial: Arc<dyn Dial>,
    }

    /// The broker, if there is to be one.
    pub(in crate::commands::shoal) fn broker(args: &Amqp) -> Result<Option<Heard>> {
        let Some(url) = &args.amqp else { return Ok(None) };
        let (broker, dial) = reach(url, &args.way)?;
        let options = Options {
            exchange: args.way.amqp_exchange.clone(),
            clouds: args.amqp_cloud.clone(),
            ..Options::new(broker, hostname(), random_seed()?)
        };
        Ok(Some(Heard { options, dial }))
    }

    /// A broker by which an agent of this cloud speaks each `interval`.
    pub(in crate::commands::shoal) fn publisher(
        url: &str,
        way: &AmqpWay,
        cloud: Option<&str>,
        interval: Duration,
        sign: Option<Sign>,
    ) -> Result<Box<dyn Announce>> {
        let (broker, dial) = reach(url, way)?;
        let (exchange, cloud) = (way.amqp_exchange.clone(), cloud.map(str::to_owned));
        let publisher = Publisher::new(broker, exchange, cloud, interval, dial, sign);
        Ok(Box::new(publisher.from_host(hostname())))
    }

    /// The broker of a URL with its password, and what connects to it.
    fn reach(url: &str, way: &AmqpWay) -> Result<(Broker, Arc<dyn Dial>)> {
        let mut broker = Broker::parse(url).map_err(|error| match error {
            BrokerError::Password => {
                let text = "name the file that has it by --amqp-password-file, or put it into the \
                            environment variable";
                Error::from(UsageError(format!("--amqp: {error}: {text} {PASSWORD}")))
            }
            error => wrong("--amqp", error),
        })?;
        if let Some(path) = &way.amqp_password_file {
            broker.password = password(path)?;
        } else if let Some(password) = environment(PASSWORD) {
            broker.password = password;
        }
        let dial: Arc<dyn Dial> = if broker.secure {
            let identity = way.amqp_cert.as_deref().zip(way.amqp_key.as_deref());
            let tls = Tls::new(way.amqp_ca.as_deref(), identity);
            Arc::new(tls.map_err(|error| wrong("--amqp", error))?.saying(say))
        } else if way.amqp_ca.is_some() || way.amqp_cert.is_some() {
            let text = "--amqp-ca and --amqp-cert say nothing without amqps://";
            return Err(UsageError(text.to_owned()).into());
        } else {
            Arc::new(Plain)
        };
        Ok((broker, dial))
    }

    impl Heard {
        /// Begins to hear it.
        pub(in crate::commands::shoal) fn hear(self, server: &Server) -> Result<Consumer> {
            let shared = Arc::clone(server.shared());
            Ok(Consumer::spawn(self.options, self.dial, shared, say)?)
        }
    }

    /// The first line of a file.
    fn password(path: &Path) -> Result<String> {
        let flag = "--amqp-password-file";
        let text = std::fs::read_to_string(path).map_err(|error| wrong(flag, error))?;
        match text.lines().next() {
            Some(line) if !line.is_empty() => Ok(line.to_owned()),
            _ => Err(UsageError(format!("{flag}: no password in {}", path.display())).into()),
        }
    }

    fn hostname() -> String {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let name = name.trim();
        if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
    }
}

#[cfg(not(feature = "amqp"))]
mod left_out {
    use std::time::Duration;

    use crate::terminal::error::Result;
    use plimsoll_shoal::agent::announce::{Announce, Sign};
    use plimsoll_shoal::server::Server;

    use crate::shoal_args::{Amqp, AmqpWay};
    use crate::terminal::error::UsageError;

    /// A broker that could be heard.
    pub(in crate::commands::shoal) enum Heard {}

    /// The end of one that was heard.
    pub(in crate::commands::shoal) enum Consumer {}

    impl Heard {
        pub(in crate::commands::shoal) fn hear(self, _: &Server) -> Result<Consumer> {
            match self {}
        }
    }

    impl Consumer {
        pub(in crate::commands::shoal) fn join(self) {
            match self {}
        }
    }

    /// There is none in this program.
    pub(in crate::commands::shoal) fn broker(args: &Amqp) -> Result<Option<Heard>> {
        if args.amqp.is_none() { Ok(None) } else { Err(left_out()) }
    }

    /// There is none in this program.
    pub(in crate::commands::shoal) fn publisher(
        _: &str,
        _: &AmqpWay,
        _: Option<&str>,
        _: Duration,
        _: Option<Sign>,
    ) -> Result<Box<dyn Announce>> {
        Err(left_out())
    }

    fn left_out() -> crate::terminal::error::Error {
        let text = "--amqp: left out of this program; build it with the feature `amqp`";
        UsageError(text.to_owned()).into()
    }
}
