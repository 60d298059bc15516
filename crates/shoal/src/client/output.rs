//! Lists of caches as CVMFS and Frontier read them.
//!
//! Sources: CVMFS, *Network settings* (`|` within a group whose members share the load, `;`
//! between groups, of which the next is used when the one before fails); Frontier's client
//! (`(proxyurl=…)` in `FRONTIER_SERVER`, in order); Shoal's client, for [`Form::Old`].

use super::choose::Candidate;

/// How a result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The value: `|` within a band of distance, `;` between bands and where none are known.
    Bands,
    /// As Shoal's client with `-d`: in double quotes, `;` throughout, for Frontier the new proxies
    /// only.
    Old,
}

/// The value of `CVMFS_HTTP_PROXY` for these caches.
#[must_use]
pub fn cvmfs(caches: &[Candidate], form: Form) -> String {
    let mut value = String::new();
    let mut before: Option<u32> = None;
    for (index, cache) in caches.iter().enumerate() {
        let is_same = form == Form::Bands && cache.band.is_some() && cache.band == before;
        if index > 0 {
            value.push(if is_same { '|' } else { ';' });
        }
        value.push_str(&cache.url());
        before = cache.band;
    }
    value
}

/// The elements of `FRONTIER_SERVER` for these caches.
#[must_use]
pub fn frontier(caches: &[Candidate]) -> String {
    caches.iter().map(|cache| format!("(proxyurl={})", cache.url())).collect()
}

/// `FRONTIER_SERVER` with new proxies before its own, or at its end where it has none.
#[must_use]
pub fn into_frontier_server(proxies: &str, server: &str) -> String {
    let at = server.find("(proxyurl").unwrap_or(server.len());
    format!("{}{proxies}{}", &server[..at], &server[at..])
}

/// The elements of `FRONTIER_SERVER` for a static list in the form of `CVMFS_HTTP_PROXY`.
#[must_use]
pub fn frontier_of_fixed(fixed: &str) -> String {
    let proxies = fixed.split([';', '|']).map(str::trim);
    let proxies = proxies.filter(|proxy| !proxy.is_empty() && *proxy != "DIRECT");
    proxies.map(|proxy| format!("(proxyurl={proxy})")).collect()
}

/// A list with a static one behind it; what is in the first already is not repeated.
#[must_use]
pub fn with_fixed(value: &str, fixed: &str) -> String {
    let known: Vec<&str> = value.split([';', '|']).collect();
    let groups = fixed.split(';').filter_map(|group| {
        let new = group.split('|').map(str::trim);
        let new: Vec<&str> = new.filter(|p| !p.is_empty() && !known.contains(p)).collect();
        (!new.is_empty()).then(|| new.join("|"))
    });
    let parts = std::iter::once(value.to_owned()).filter(|value| !value.is_empty());
    parts.chain(groups).collect::<Vec<_>>().join(";")
}

/// The proxies of a list, in order.
#[must_use]
pub fn proxies(list: &str) -> Vec<&str> {
    list.split([';', '|']).map(str::trim).filter(|proxy| !proxy.is_empty()).collect()
}

/// Whether a list serves as well as a new one: the same groups of proxies in the same order.
/// Members of a group share the load, so their order says nothing.
#[must_use]
pub fn is_as_good(list: &str, new: &str) -> bool {
    let groups = |list: &str| -> Vec<Vec<String>> {
        let groups = list.split(';').map(|group| {
            let mut group: Vec<String> = proxies(group).into_iter().map(str::to_owned).collect();
            group.sort_unstable();
            group
        });
        groups.filter(|group| !group.is_empty()).collect()
    };
    groups(list) == groups(new)
}
