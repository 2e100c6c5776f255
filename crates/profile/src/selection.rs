//! Which objects and metrics somebody wants to see.

use trace::metric::{Metric, Resolved};
use trace::{Counter, Object, ObjectKind};

/// Objects and metrics that are wanted: everything of a kind of which nothing is named.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selection {
    /// Nodes by number, by name, or by name in full.
    pub nodes: Vec<String>,
    /// Links by name or by name in full.
    pub links: Vec<String>,
    /// Threads by name, by name in full, or by the kernel's number.
    pub threads: Vec<String>,
    /// Metrics by name, counters by column (`node.numa_hit`); the main ones if none is named.
    pub metrics: Vec<String>,
    /// All metrics that there are.
    pub all: bool,
    /// How many threads there were, if that is known only afterwards: objects with greater numbers stand for none.
    pub begun: Option<u64>,
}

/// Why something that was named is not there.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{flag} {value}: {problem}; accepted: {accepted}")]
pub struct SelectionError {
    /// The flag.
    pub flag: &'static str,
    /// Its value.
    pub value: String,
    /// The problem with the value.
    pub problem: String,
    /// Values that are accepted.
    pub accepted: String,
}

impl Selection {
    /// Whether an object is wanted. Where nodes are named links and threads are shown only if they are, too, and the other way
    /// round; where nothing is named all are.
    pub fn wants(&self, object: &Object) -> bool {
        if object.kind == ObjectKind::Thread && self.begun.is_some_and(|begun| object.key >= begun) {
            return false;
        }
        if self.nodes.is_empty() && self.links.is_empty() && self.threads.is_empty() {
            return true;
        }
        let named = |names: &[String]| {
            let number = match object.kind {
                ObjectKind::Node => object.key.to_string(),
                _ => object.title.rsplit(':').next().unwrap_or_default().to_owned(),
            };
            names.iter().any(|name| *name == object.name || *name == object.title || *name == number)
        };
        match object.kind {
            ObjectKind::Node => named(&self.nodes),
            ObjectKind::Link => named(&self.links),
            ObjectKind::Thread => named(&self.threads),
            ObjectKind::Machine | ObjectKind::Process => false,
        }
    }

    /// Whether everything that is named is there.
    ///
    /// # Errors
    /// A name that is not there, with those that are.
    pub fn check(&self, objects: &[Object]) -> Result<(), SelectionError> {
        let names = |kind| {
            let of_kind = objects.iter().filter(move |object| object.kind == kind);
            let names: Vec<&str> = of_kind.map(|object| object.name.as_str()).collect();
            if names.is_empty() { format!("there are no {kind}s") } else { names.join(" ") }
        };
        for (flag, kind, wanted) in [
            ("--node", ObjectKind::Node, &self.nodes),
            ("--link", ObjectKind::Link, &self.links),
            ("--thread", ObjectKind::Thread, &self.threads),
        ] {
            for name in wanted {
                let [nodes, links, threads] = [(); 3].map(|()| vec![name.clone()]);
                let only = Self { nodes, links, threads, ..Self::default() };
                if !objects.iter().any(|object| object.kind == kind && only.wants(object)) {
                    return Err(missing(flag, name.clone(), &format!("unknown {kind}"), names(kind)));
                }
            }
        }
        Ok(())
    }

    /// The metrics that are wanted, of those that can be computed.
    ///
    /// # Errors
    /// When one that is named cannot, with what it lacks.
    pub fn metrics(
        &self,
        declared: &[Metric],
        counters: &[Counter],
        constants: &std::collections::BTreeMap<String, f64>,
    ) -> Result<Vec<Resolved>, SelectionError> {
        let (resolved, lacking) = Resolved::derive(declared, counters, constants);
        if self.metrics.is_empty() {
            let all = self.all || !resolved.iter().any(|resolved| resolved.metric.main);
            return Ok(resolved.into_iter().filter(|resolved| all || resolved.metric.main).collect());
        }
        let mut wanted: Vec<Resolved> = Vec::new();
        for name in &self.metrics {
            let found: Vec<Resolved> = match name.split_once('.') {
                Some(_) => of_column(name, counters, constants).into_iter().collect(),
                None => resolved.iter().filter(|resolved| resolved.metric.name == *name).cloned().collect(),
            };
            if found.is_empty() {
                let problem = match lacking.iter().find(|(metric, _)| metric.name == *name) {
                    Some((metric, lack)) => {
                        format!("counter `{lack}`, required by `{}`, is unavailable here", metric.formula)
                    }
                    None => "unknown metric or counter".to_owned(),
                };
                let mut names: Vec<&str> = Vec::new();
                for Resolved { metric, .. } in &resolved {
                    if !names.contains(&metric.name.as_str()) {
                        names.push(&metric.name);
                    }
                }
                let accepted = format!("{}, or a counter as KIND.NAME", names.join(" "));
                return Err(missing("--metric", name.clone(), &problem, accepted));
            }
            wanted.extend(found.into_iter().filter(|found| !wanted.contains(found)).collect::<Vec<_>>());
        }
        Ok(wanted)
    }
}

/// The counters as metrics: each what it counted in the interval, or its level.
pub fn counter_metrics(counters: &[Counter]) -> Vec<Metric> {
    let metric = |counter: &Counter| Metric {
        name: counter.column(),
        of: counter.of,
        unit: counter.unit.clone(),
        what: counter.what.clone(),
        formula: counter.name.clone(),
        digits: 0,
        main: false,
        group: "counters".to_owned(),
    };
    counters.iter().map(metric).collect()
}

fn of_column(
    column: &str,
    counters: &[Counter],
    constants: &std::collections::BTreeMap<String, f64>,
) -> Option<Resolved> {
    let metrics: Vec<Metric> = counter_metrics(counters).into_iter().filter(|metric| metric.name == column).collect();
    Resolved::derive(&metrics, counters, constants).0.into_iter().next()
}

fn missing(flag: &'static str, value: String, problem: &str, accepted: String) -> SelectionError {
    SelectionError { flag, value, problem: problem.to_owned(), accepted }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_shown_and_nothing_else() {
        let objects = [
            Object::node(0, ""),
            Object::node(1, "/hw/node"),
            Object::new(ObjectKind::Link, 0, "r3:2", "/hw/router/stat/2"),
            Object::new(ObjectKind::Thread, 0, "t0", "prog:4711"),
        ];
        let shown = |selection: &Selection| objects.iter().map(|object| selection.wants(object)).collect::<Vec<_>>();
        assert_eq!(shown(&Selection::default()), [true; 4]);
        let some =
            |node: &str| Selection { nodes: vec![node.into()], threads: vec!["4711".into()], ..Selection::default() };
        for node in ["1", "n1", "/hw/node"] {
            assert_eq!(shown(&some(node)), [false, true, false, true]);
            assert_eq!(some(node).check(&objects), Ok(()));
        }
        let said = some("2").check(&objects).unwrap_err().to_string();
        assert_eq!(said, "--node 2: unknown node; accepted: n0 n1");
        let some = some("0");
        let wrong = Selection { links: vec!["r3:3".into()], ..some };
        let said = wrong.check(&objects).unwrap_err().to_string();
        assert_eq!(said, "--link r3:3: unknown link; accepted: r3:2");
    }

    #[test]
    fn metrics_that_cannot_be_computed_say_what_they_lack() {
        let counters = [Counter::count(ObjectKind::Node, "busy", "", "w")];
        let toml = "group = \"g\"\nwhat = \"w\"\n[[metric]]\nname = \"u\"\nof = \"node\"\nwhat = \"w\"\nformula = \"busy / idle\"\n";
        let declared = trace::metric::parse("f", toml).unwrap();
        let ask = |name: &str| {
            let selection = Selection { metrics: vec![name.into()], ..Selection::default() };
            selection.metrics(&declared, &counters, &Default::default())
        };
        assert!(ask("u").unwrap_err().problem.contains("counter `idle`"));
        assert!(ask("x").unwrap_err().problem.contains("unknown metric"));
        assert_eq!(ask("node.busy").unwrap()[0].metric.name, "node.busy");
    }
}
