//! What a cloud tells its virtual machines about themselves.
//!
//! Asked only if wanted: to a machine outside a cloud the address is a stranger. Both kinds of
//! answers are tried, each within [`TIME`]; what is absent stays absent.
//!
//! Sources: Amazon EC2, *Instance metadata* (`latest/meta-data`, version 2 with its token), which
//! OpenStack answers too; OpenStack Nova, *Metadata service* (`openstack/latest/meta_data.json`).

use std::net::IpAddr;
use std::time::Duration;

use super::addresses::is_private;
use plimsoll_net::http::client::{Ask, Dial, Limits};
use plimsoll_net::url::Url;

/// Where clouds answer.
pub const ADDRESS: &str = "http://169.254.169.254";
/// For each question.
pub const TIME: Duration = Duration::from_millis(300);

/// What a cloud told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Metadata {
    /// As others see the host.
    pub public_ip: Option<IpAddr>,
    /// The zone, which stands for the cloud where it has no better name.
    pub zone: Option<String>,
}

/// Asks the metadata service at a URL, [`ADDRESS`] but for tests: at most four questions.
#[must_use]
pub fn ask(dial: &dyn Dial, service: &Url) -> Metadata {
    let limits = Limits::within(TIME);
    let token_url = service.join("latest/api/token");
    let wish = [("X-aws-ec2-metadata-token-ttl-seconds", "60")];
    let asked = Ask { method: "PUT", headers: &wish, ..Ask::get(&token_url) }.send(dial, limits);
    let Ok(answer) = asked else { return Metadata::default() };
    let is_token = answer.status == 200 && answer.body.iter().all(u8::is_ascii_graphic);
    let token = String::from_utf8(answer.body).ok().filter(|token| is_token && !token.is_empty());
    let pass = token.as_deref().map(|token| [("X-aws-ec2-metadata-token", token)]);
    let headers: &[(&str, &str)] = pass.as_ref().map_or(&[], |pass| pass);
    let fetch = |path: &str| {
        let url = service.join(path);
        let answer = Ask { headers, ..Ask::get(&url) }.send(dial, limits).ok()?;
        let body = String::from_utf8(answer.body).ok()?;
        (answer.status == 200).then(|| body.trim().to_owned())
    };
    let public_ip = fetch("latest/meta-data/public-ipv4").and_then(|text| public(&text));
    let zone = fetch("latest/meta-data/placement/availability-zone");
    let zone = zone.and_then(|zone| cloud_name(&zone));
    let zone = zone.or_else(|| {
        let json = fetch("openstack/latest/meta_data.json")?;
        let json: serde_json::Value = serde_json::from_str(&json).ok()?;
        cloud_name(json.get("availability_zone")?.as_str()?)
    });
    Metadata { public_ip, zone }
}

fn public(text: &str) -> Option<IpAddr> {
    text.parse().ok().filter(|&address| !is_private(address))
}

/// A name as a heartbeat may carry it: `[A-Za-z0-9._-]{1,64}`.
#[must_use]
pub fn cloud_name(text: &str) -> Option<String> {
    let is_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    ((1..=64).contains(&text.len()) && text.bytes().all(is_name)).then(|| text.to_owned())
}
