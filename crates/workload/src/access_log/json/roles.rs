//! Which members of a JSON object say what.

/// The rank from which on targets may lack their query.
pub(super) const WITHOUT_QUERY: u8 = 2;

/// The rank from which on clients have a port.
pub(super) const WITH_PORT: u8 = 6;

/// What a member says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Time,
    Request,
    Method,
    Target,
    Query,
    Site,
    Client,
}

/// The object in which a member stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    /// That of the line.
    Line,
    /// That of a request, as Caddy and Google's logs have it.
    Request,
    /// `http` of the Elastic Common Schema.
    Http,
    /// `url` of it.
    Url,
    /// `client` or `source` of it.
    Client,
}

impl Within {
    /// The object that a member of this one may be, where its members are looked at.
    pub(super) fn inner(self, name: &[u8]) -> Option<Self> {
        match (self, name) {
            (Self::Line, b"request" | b"httpRequest") | (Self::Http, b"request") => {
                Some(Self::Request)
            }
            (Self::Line, b"http") => Some(Self::Http),
            (Self::Line, b"url") => Some(Self::Url),
            (Self::Line, b"client" | b"source") => Some(Self::Client),
            _ => None,
        }
    }

    /// What a member of this object says, and its rank among such names: the least counts.
    pub(super) fn role(self, name: &[u8]) -> Option<(Role, u8)> {
        match self {
            Self::Line => dotted(name).or_else(|| role(name)),
            Self::Request => role(name),
            Self::Http => None,
            Self::Url => of_url(name),
            Self::Client => (name == b"ip" || name == b"address").then_some((Role::Client, 0)),
        }
    }
}

/// The members of `url` in the Elastic Common Schema; `original` is whole.
fn of_url(name: &[u8]) -> Option<(Role, u8)> {
    Some(match name {
        b"original" => (Role::Target, 0),
        b"path" => (Role::Target, 5),
        b"query" => (Role::Query, 3),
        b"domain" => (Role::Site, 0),
        _ => return None,
    })
}

/// The same where an object is written as names with dots.
fn dotted(name: &[u8]) -> Option<(Role, u8)> {
    match name {
        b"http.request.method" => Some((Role::Method, 0)),
        b"client.ip" | b"source.ip" | b"client.address" | b"source.address" => {
            Some((Role::Client, 0))
        }
        _ => of_url(name.strip_prefix(b"url.")?),
    }
}

fn role(name: &[u8]) -> Option<(Role, u8)> {
    Some(match name {
        b"@timestamp" => (Role::Time, 0),
        b"timestamp" => (Role::Time, 1),
        b"time_iso8601" => (Role::Time, 2),
        b"time_local" => (Role::Time, 3),
        b"StartUTC" => (Role::Time, 4),
        b"ts" => (Role::Time, 5),
        b"msec" => (Role::Time, 6),
        b"start_time" => (Role::Time, 7),
        b"datetime" => (Role::Time, 8),
        b"date" => (Role::Time, 9),
        b"time" => (Role::Time, 10),
        b"request" => (Role::Request, 0),
        b"httpRequest" => (Role::Request, 1),
        b"method" => (Role::Method, 0),
        b"request_method" => (Role::Method, 1),
        b"http_method" => (Role::Method, 2),
        b"RequestMethod" => (Role::Method, 3),
        b"requestMethod" => (Role::Method, 4),
        b"verb" => (Role::Method, 5),
        b"request_uri" => (Role::Target, 0),
        b"requestUrl" => (Role::Target, 1),
        b"uri" => (Role::Target, WITHOUT_QUERY),
        b"url" => (Role::Target, 3),
        b"RequestPath" => (Role::Target, 4),
        b"path" => (Role::Target, 5),
        b"target" => (Role::Target, 6),
        b"args" => (Role::Query, 0),
        b"query_string" => (Role::Query, 1),
        b"queryString" => (Role::Query, 2),
        b"query" => (Role::Query, 3),
        b"QueryString" => (Role::Query, 4),
        b"RequestQuery" => (Role::Query, 5),
        b"http_host" => (Role::Site, 0),
        b"RequestHost" => (Role::Site, 1),
        b"host" => (Role::Site, 2),
        b"server_name" => (Role::Site, 3),
        b"remote_addr" => (Role::Client, 0),
        b"remote_ip" => (Role::Client, 1),
        b"remoteIp" => (Role::Client, 2),
        b"clientip" => (Role::Client, 3),
        b"client_ip" => (Role::Client, 4),
        b"ClientHost" => (Role::Client, 5),
        b"ClientAddr" => (Role::Client, WITH_PORT),
        _ => return None,
    })
}
