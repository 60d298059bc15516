//! The mix of a load: which requests it asks for, and which share of all each one is.

use plimsoll_workload::request::{Order, Request, Requests, Zipf};

/// How many requests are named.
const NAMED: usize = 10;

/// One request of a mix.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Its method.
    pub method: String,
    /// Its URL, without credentials.
    pub url: String,
    /// Its share of all requests, expected where they are drawn.
    pub share: f64,
}

/// The mix of a load that asks for more than one thing.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix {
    /// The ten most frequent requests, the most frequent first, equals in their order.
    pub most: Vec<Part>,
    /// How many requests there are.
    pub of: usize,
    /// The share of those that are not named.
    pub rest: f64,
    /// The order in which they are asked for.
    pub order: String,
}

impl Mix {
    /// The mix of a list, or of the sequence in which a log asks for it; `None` for one request.
    #[must_use]
    pub fn of(requests: &Requests, sequence: Option<&[u32]>) -> Option<Self> {
        let list = &requests.list;
        if list.len() < 2 {
            return None;
        }
        let weights = weights(requests, sequence);
        // Scaled first: the sum of large weights would not be finite.
        let greatest = weights.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let sum: f64 = weights.iter().map(|weight| weight / greatest).sum();
        let share = |at: usize| weights[at] / greatest / sum;
        let mut order: Vec<usize> = (0..list.len()).collect();
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        order.truncate(NAMED);
        let part = |&at: &usize| {
            let Request { method, url, .. } = &list[at];
            Part { method: method.clone(), url: url.to_string(), share: share(at) }
        };
        let most: Vec<Part> = order.iter().map(part).collect();
        let named: f64 = most.iter().map(|part| part.share).sum();
        let rest = if list.len() > NAMED { (1.0 - named).max(0.0) } else { 0.0 };
        Some(Self { most, of: list.len(), rest, order: requests.order.to_string() })
    }
}

/// A weight for each request.
fn weights(requests: &Requests, sequence: Option<&[u32]>) -> Vec<f64> {
    let len = requests.list.len();
    let mut weights = vec![1.0; len];
    if let Some(sequence) = sequence {
        weights.fill(0.0);
        for &index in sequence {
            weights.iter_mut().skip(index as usize).take(1).for_each(|weight| *weight += 1.0);
        }
        return weights;
    }
    match &requests.order {
        Order::Weighted(given) if given.len() == len => given.clone(),
        Order::Zipf(exponent) => {
            let zipf = Zipf::new(len as u64, *exponent);
            zipf.map_or(weights, |zipf| zipf.weights().collect())
        }
        _ => weights,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_workload::request::Url;

    fn requests(len: usize, order: Order) -> Requests {
        let url = |n| Url::parse(&format!("http://h/{n}")).expect("a sound URL");
        Requests { list: (0..len).map(|n| Request::new(url(n))).collect(), order }
    }

    fn shares(mix: &Mix) -> Vec<(&str, f64)> {
        let path = |part: &'_ Part| part.url.rfind('/').unwrap_or(0);
        mix.most.iter().map(|part| (&part.url[path(part)..], part.share)).collect()
    }

    #[test]
    fn shares_of_every_order() {
        let weighted = Order::Weighted(vec![1.0, 3.0, 0.0]);
        let mix = Mix::of(&requests(3, weighted), None).unwrap();
        assert_eq!(shares(&mix), [("/1", 0.75), ("/0", 0.25), ("/2", 0.0)]);
        let mix = Mix::of(&requests(2, Order::Weighted(vec![f64::MAX; 2])), None).unwrap();
        assert_eq!(shares(&mix), [("/0", 0.5), ("/1", 0.5)]);
        let mix = Mix::of(&requests(2, Order::Zipf(1.0)), None).unwrap();
        assert!((mix.most[0].share - 2.0 / 3.0).abs() < 1e-12);
        let mix = Mix::of(&requests(2, Order::InOrder), Some(&[1, 1, 0, 1])).unwrap();
        assert_eq!(shares(&mix), [("/1", 0.75), ("/0", 0.25)]);
        let mix = Mix::of(&requests(40, Order::Uniform), None).unwrap();
        assert_eq!((mix.most.len(), mix.of), (10, 40));
        assert!((mix.rest - 0.75).abs() < 1e-12);
        assert_eq!(Mix::of(&requests(1, Order::RoundRobin), None), None);
    }
}
