//! Latency over a distance: local latency, what leaving the node costs, and what each router adds (Prestor 2001 section
//! 4.3.2); and groups of equal latency where distances are unknown.

use record::Unit;
use units::NodeId;

use crate::least_squares::{Solution, Uncertain, solve};
use crate::{FitError, Parameter};

/// Latencies closer than this share of one another are of one group, unless their own errors say otherwise.
const SAME_GROUP: f64 = 0.05;

/// The latency from one node to the memory of another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Latency {
    /// The node of the processor that reads.
    pub from: NodeId,
    /// The node whose memory it reads.
    pub to: NodeId,
    /// Routers between them.
    pub hops: u32,
    /// The time of a read, in nanoseconds.
    pub ns: f64,
    /// The standard error of `ns`; zero if it is not known.
    pub error_ns: f64,
}

/// The mean latency at one distance, and what the last hop added to it: a row of Prestor 2001 Table 4.14.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hop {
    /// Routers between the nodes.
    pub hops: u32,
    /// Pairs of nodes so far apart.
    pub pairs: usize,
    /// Their mean latency, in nanoseconds.
    pub mean_ns: f64,
    /// The mean latency less that of one hop fewer, and at the first hop less the remote penalty, in nanoseconds; `None`
    /// without a nearer distance.
    pub delay_ns: Option<f64>,
}

/// The model `local + penalty (if remote) + hops * delay`, by least squares.
#[derive(Clone, Debug)]
pub struct RemoteFit {
    solution: Solution,
    hops: Vec<Hop>,
    distances: usize,
}

/// Fits the model to latencies whose distances are known.
///
/// # Errors
/// Without a local latency, or without a remote one.
pub fn fit(latencies: &[Latency]) -> Result<RemoteFit, FitError> {
    const MODEL: &str = "remote";
    let remote = latencies.iter().filter(|latency| latency.hops > 0).count();
    if remote == 0 || remote == latencies.len() {
        let which = if remote == 0 { "no remote latency (one NUMA node)" } else { "no local latency" };
        return Err(FitError::Unsuitable { model: MODEL, reason: which.to_owned() });
    }
    let row = |latency: &Latency| vec![1.0, f64::from(u32::from(latency.hops > 0)), f64::from(latency.hops)];
    let design: Vec<Vec<f64>> = latencies.iter().map(row).collect();
    let observed: Vec<f64> = latencies.iter().map(|latency| latency.ns).collect();
    let solution = if observed.len() >= 3 {
        solve(MODEL, &design, &observed)?
    } else {
        // Two latencies, as of a machine of two nodes: the sum of penalty and delay is all there is.
        let doubled = |values: &[Vec<f64>]| values.iter().chain(values).cloned().collect::<Vec<_>>();
        solve(MODEL, &doubled(&design), &[observed.clone(), observed.clone()].concat())?
    };
    let mut fit = RemoteFit { solution, hops: Vec::new(), distances: 0 };
    let mut distances: Vec<u32> = latencies.iter().map(|latency| latency.hops).collect();
    distances.sort_unstable();
    distances.dedup();
    fit.distances = distances.len() - 1;
    fit.hops = by_hop(latencies, &distances, fit.penalty().map_or(0.0, |penalty| penalty.value));
    Ok(fit)
}

/// Means by distance, and differences of neighbouring ones.
fn by_hop(latencies: &[Latency], distances: &[u32], penalty_ns: f64) -> Vec<Hop> {
    let mean = |hops: u32| {
        let of_hop = || latencies.iter().filter(|latency| latency.hops == hops);
        let pairs = of_hop().count();
        (pairs > 0).then(|| (pairs, of_hop().map(|latency| latency.ns).sum::<f64>() / pairs as f64))
    };
    let hop = |&hops: &u32| {
        let (pairs, mean_ns) = mean(hops)?;
        let nearer = hops.checked_sub(1).and_then(mean);
        let penalty = if hops == 1 { penalty_ns } else { 0.0 };
        Some(Hop { hops, pairs, mean_ns, delay_ns: nearer.map(|(_, nearer_ns)| mean_ns - nearer_ns - penalty) })
    };
    distances.iter().filter_map(hop).collect()
}

impl RemoteFit {
    /// Latency of a remote read at the farthest distance, less that of a local one.
    pub fn remote_less_local(&self) -> Option<Uncertain> {
        let hops = self.hops.last().map_or(1.0, |hop| f64::from(hop.hops));
        self.solution.combination(&[0.0, 1.0, hops])
    }

    /// The latency of local memory.
    pub fn local(&self) -> Option<Uncertain> {
        self.solution.coefficient(0)
    }

    /// Remote penalty: the time that a request pays once for leaving its node and entering another, and its answer on the way
    /// back. Undetermined if all remote nodes are equally far.
    pub fn penalty(&self) -> Option<Uncertain> {
        self.solution.coefficient(1)
    }

    /// Time that each router adds, there and back. Undetermined if all remote nodes are equally far.
    pub fn delay(&self) -> Option<Uncertain> {
        self.solution.coefficient(2)
    }

    /// Means and delays by distance, with the fitted penalty taken off the first hop.
    pub fn hops(&self) -> &[Hop] {
        &self.hops
    }

    /// The mean of the delays of the hops, each weighted by how many pairs are that far apart: the last row of Table 4.14.
    pub fn average_delay(&self) -> Option<f64> {
        let delays = || self.hops.iter().filter_map(|hop| Some((hop.pairs as f64, hop.delay_ns?)));
        let weight: f64 = delays().map(|(pairs, _)| pairs).sum();
        (weight > 0.0).then(|| delays().map(|(pairs, delay)| pairs * delay).sum::<f64>() / weight)
    }

    /// Root mean square of the relative residuals, in percent.
    pub fn rms_pct(&self) -> f64 {
        self.solution.rms_pct()
    }

    /// The parameters as reported.
    pub fn parameters(&self) -> Vec<Parameter> {
        let one_distance = "all remote nodes are equally distant: only the sum of remote penalty and router delay is \
             determined";
        let parameter = |name: &str, symbol: &str, estimate| {
            Parameter::new(name, symbol, Unit::Nanoseconds, estimate, one_distance)
        };
        let mut parameters = vec![
            parameter("local latency", "local", self.local()),
            parameter("remote penalty", "penalty", self.penalty()),
            parameter("router delay (round trip)", "delay", self.delay()),
        ];
        if self.distances == 1 {
            parameters.push(parameter("remote minus local latency", "penalty + delay", self.remote_less_local()));
        }
        parameters
    }
}

/// Pairs of nodes with nearly the same latency.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// The pairs, from and to.
    pub pairs: Vec<(NodeId, NodeId)>,
    /// Their mean latency, in nanoseconds.
    pub mean_ns: f64,
    /// The least and the largest of them, in nanoseconds.
    pub range_ns: (f64, f64),
}

/// Divides latencies into groups of nearly equal ones, fastest first: what takes the place of hops on a machine whose wiring
/// is unknown. Neighbours in order are parted where they differ by more than a twentieth and by more than their errors can
/// explain (three standard errors of the difference).
pub fn groups(latencies: &[Latency]) -> Vec<Group> {
    let group = |members: Vec<&Latency>| Group {
        pairs: members.iter().map(|latency| (latency.from, latency.to)).collect(),
        mean_ns: members.iter().map(|latency| latency.ns).sum::<f64>() / members.len() as f64,
        range_ns: (members[0].ns, members[members.len() - 1].ns),
    };
    parted(latencies, |latency| (latency.ns, latency.error_ns)).into_iter().map(group).collect()
}

/// Divides `all` into groups of nearly equal times, as [`groups`] does. `time` gives a time and its standard error.
pub fn parted<T>(all: &[T], time: impl Fn(&T) -> (f64, f64)) -> Vec<Vec<&T>> {
    let mut sorted: Vec<&T> = all.iter().collect();
    sorted.sort_by(|a, b| time(a).0.total_cmp(&time(b).0));
    let together = |a: &&T, b: &&T| {
        let ((a_ns, a_error), (b_ns, b_error)) = (time(a), time(b));
        b_ns - a_ns <= SAME_GROUP * a_ns || b_ns - a_ns <= 3.0 * a_error.hypot(b_error)
    };
    sorted.chunk_by(together).map(<[&T]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn latency(to: u16, hops: u32, ns: f64) -> Latency {
        Latency { from: NodeId(0), to: NodeId(to), hops, ns, error_ns: 0.0 }
    }

    /// The nodes of arctic by distance (Prestor 2001 Table 4.14), on exact data.
    fn arctic(local: f64, penalty: f64, delay: f64) -> Vec<Latency> {
        let nodes = [(0, 1), (1, 1), (2, 8), (3, 12), (4, 8), (5, 2)];
        let distances = nodes.iter().flat_map(|&(hops, count)| std::iter::repeat_n(hops, count));
        let ns = |hops: u32| local + if hops > 0 { penalty + f64::from(hops) * delay } else { 0.0 };
        (0..).zip(distances).map(|(node, hops)| latency(node, hops, ns(hops))).collect()
    }

    #[test]
    fn both_methods_agree_on_exact_data() {
        let fit = fit(&arctic(385.0, 230.0, 114.0)).expect("a fit");
        let close = |found: Option<Uncertain>, truth: f64| (found.expect("determined").value - truth).abs() < 1e-6;
        assert!(close(fit.local(), 385.0) && close(fit.penalty(), 230.0) && close(fit.delay(), 114.0));
        assert!((fit.average_delay().expect("delays") - 114.0).abs() < 1e-6);
        assert_eq!(fit.hops().iter().map(|hop| hop.pairs).collect::<Vec<_>>(), [1, 1, 8, 12, 8, 2]);
        assert!(fit.hops()[0].delay_ns.is_none());
    }

    #[test]
    fn one_distance_determines_only_the_sum() {
        let two_nodes = [latency(0, 0, 80.0), latency(1, 1, 130.0), latency(0, 0, 82.0), latency(1, 1, 132.0)];
        for data in [&two_nodes[..], &two_nodes[..2]] {
            let fit = fit(data).expect("a fit");
            assert_eq!((fit.penalty(), fit.delay()), (None, None));
            let sum = fit.parameters().pop().and_then(|parameter| parameter.estimate()).expect("the sum");
            assert!((sum.value - 50.0).abs() < 0.1, "{sum:?}");
        }
    }

    #[test]
    fn a_machine_of_one_node_has_nothing_remote() {
        let error = fit(&[latency(0, 0, 80.0)]).expect_err("nothing remote");
        assert!(error.to_string().contains("one NUMA node"), "{error}");
    }

    #[test]
    fn equal_latencies_are_grouped_and_noise_does_not_part_them() {
        let noisy = [(0, 80.0), (1, 131.0), (2, 128.0), (3, 199.0), (4, 203.0)];
        let found = groups(&noisy.map(|(to, ns)| latency(to, 0, ns)));
        assert_eq!(found.iter().map(|group| group.pairs.len()).collect::<Vec<_>>(), [1, 2, 2]);
        assert_eq!(found[1].range_ns, (128.0, 131.0));
        let unsure = noisy.map(|(to, ns)| Latency { error_ns: 40.0, ..latency(to, 0, ns) });
        assert_eq!(groups(&unsure).len(), 1);
    }

    proptest! {
        #[test]
        fn groups_part_all_latencies_in_order(ns in prop::collection::vec(50.0..500.0f64, 1..40)) {
            let latencies: Vec<_> = (0..).zip(&ns).map(|(to, ns)| latency(to, 0, *ns)).collect();
            let found = groups(&latencies);
            prop_assert_eq!(found.iter().map(|group| group.pairs.len()).sum::<usize>(), ns.len());
            for pair in found.windows(2) {
                prop_assert!(pair[0].range_ns.1 * 1.05 < pair[1].range_ns.0 + 1e-9);
            }
        }
    }
}
