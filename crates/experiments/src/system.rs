//! The machines that tables are about, each with its layout and the placements that its suites derive from it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use bench::{Experiment, Layout, Plan, Series, Settings, State, Suite, SuiteScope};
use machine::Description;
use units::NodeId;

use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::measurement::Measurement;
use crate::variant;

/// A machine and what can be measured on it.
pub struct System {
    /// Its description.
    pub description: Description,
    /// Its layout.
    pub layout: Layout,
    /// The plans of all suites that are possible on it.
    plans: Vec<Plan>,
    /// How much of each suite there is.
    scope: SuiteScope,
}

impl System {
    /// The machine of `description`, with the plans of all suites within `scope` that are possible on it.
    ///
    /// # Errors
    /// When the machine has no usable layout.
    pub fn new(description: Description, scope: &SuiteScope) -> Result<Self, ExperimentError> {
        let layout = Layout::simulated(&description)?;
        let plans = Suite::All.possible_plans(&layout, scope);
        Ok(Self { description, layout, plans, scope: scope.clone() })
    }

    /// The machine's name.
    pub fn name(&self) -> &str {
        &self.description.name
    }

    /// How much of each suite there is.
    pub fn scope(&self) -> &SuiteScope {
        &self.scope
    }

    /// How thoroughly to measure.
    pub fn settings(&self) -> &Settings {
        &self.scope.settings
    }

    /// The plans of one experiment and state in a series. The series in which two roles share a node begin with the
    /// plan in which all three do.
    pub fn plans(&self, series: Series, experiment: Experiment, state: State) -> impl Iterator<Item = &Plan> {
        let two_share = matches!(series, Series::XhopsZero | Series::YhopsZero | Series::ZhopsZero);
        self.plans.iter().filter(move |plan| {
            let belongs = plan.series == series || (two_share && plan.series == Series::SameNode);
            belongs && plan.experiment == experiment && plan.state == state
        })
    }

    /// The longest leg between the places of a plan, in hops.
    pub fn distance(&self, plan: &Plan) -> u32 {
        let places = plan.placement.locals.iter().chain(&plan.placement.remotes);
        let nodes: Vec<NodeId> =
            places.filter_map(|&cpu| self.layout.node_of(cpu)).chain([plan.placement.home]).collect();
        let legs = nodes.iter().flat_map(|&a| nodes.iter().map(move |&b| (a, b)));
        legs.map(|(a, b)| self.layout.hops(a, b)).max().unwrap_or(0)
    }

    /// The figure of the only plan of an experiment and state in a series; `None` if there is no such plan.
    pub fn figure(&self, series: Series, experiment: Experiment, state: State) -> Option<Formula> {
        self.plans(series, experiment, state).next().map(|plan| self.headline(plan))
    }

    /// The mean figure of the plans at a distance; `None` if there is none.
    pub fn mean_at(&self, series: Series, experiment: Experiment, state: State, distance: u32) -> Option<Formula> {
        let plans = self.plans(series, experiment, state).filter(|plan| self.distance(plan) == distance);
        let figures: Vec<Formula> = plans.map(|plan| self.headline(plan)).collect();
        (!figures.is_empty()).then(|| Formula::mean(figures))
    }

    /// The figure of unowned lines of the suites' home as node `node` sees them.
    pub fn unowned_from(&self, node: NodeId, experiment: Experiment) -> Option<Formula> {
        let mut plans = self.plans(Series::Unowned, experiment, State::Uown);
        let plan = plans.find(|plan| self.layout.node_of(plan.placement.locals[0]) == Some(node))?;
        Some(self.headline(plan))
    }

    /// The figure with the first `count` sharers of the suites' home; `None` if the machine has not so many.
    pub fn with_sharers(&self, count: usize, experiment: Experiment) -> Option<Formula> {
        let mut plans = self.plans(Series::Sharers, experiment, State::Shrd);
        plans.find(|plan| plan.placement.remotes.len() == count).map(|plan| self.headline(plan))
    }

    /// The home of the suites that measure over a distance.
    pub fn home(&self) -> NodeId {
        let unowned = self.plans.iter().find(|plan| plan.series == Series::Unowned);
        unowned.map_or(NodeId(0), |plan| plan.placement.home)
    }

    /// The nodes, the home first and then by distance from it.
    pub fn nodes_from_home(&self) -> Vec<NodeId> {
        let home = self.home();
        [vec![home], self.layout.nodes_by_distance(home)].concat()
    }

    /// How many nodes are `distance` hops from the home.
    pub fn nodes_at(&self, distance: u32) -> usize {
        let home = self.home();
        self.layout.nodes().filter(|&node| self.layout.hops(home, node) == distance).count()
    }

    /// The longest distance from the home, in hops.
    pub fn farthest(&self) -> u32 {
        let home = self.home();
        self.layout.nodes().map(|node| self.layout.hops(home, node)).max().unwrap_or(0)
    }

    /// A time in nanoseconds as cycles of this machine's processors.
    pub fn cycles(&self, ns: Formula) -> Formula {
        ns.times(self.description.processor.clock.as_mhz() / 1000.0)
    }

    /// The headline figure of a plan on this machine.
    pub fn headline(&self, plan: &Plan) -> Formula {
        Formula::headline(Measurement::of_plan(self.name(), plan))
    }
}

/// The machines of one reproduction, each loaded once.
pub struct Systems {
    scope: SuiteScope,
    loaded: RefCell<BTreeMap<String, Rc<System>>>,
}

impl Systems {
    /// None yet; their suites will be derived within `scope`.
    pub fn new(scope: SuiteScope) -> Self {
        Self { scope, loaded: RefCell::default() }
    }

    /// How much of each suite there is.
    pub fn scope(&self) -> &SuiteScope {
        &self.scope
    }

    /// The machine of that name, which may be that of a [variant](crate::variant).
    ///
    /// # Errors
    /// When there is none, or it is unusable.
    pub fn get(&self, name: &str) -> Result<Rc<System>, ExperimentError> {
        if let Some(found) = self.loaded.borrow().get(name) {
            return Ok(found.clone());
        }
        self.add(variant::load(name)?)
    }

    /// Adds a machine that may not have a name by which it can be loaded.
    ///
    /// # Errors
    /// When it is unusable.
    pub fn add(&self, description: Description) -> Result<Rc<System>, ExperimentError> {
        let system = Rc::new(System::new(description, &self.scope)?);
        self.loaded.borrow_mut().insert(system.name().to_owned(), system.clone());
        Ok(system)
    }

    /// Those that have been asked for, by name.
    pub fn loaded(&self) -> Vec<Rc<System>> {
        self.loaded.borrow().values().cloned().collect()
    }
}
