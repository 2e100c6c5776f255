//! `ccnuma topology`: nodes, routers, links and routes of a machine, a drawing, and the deadlock check.

pub mod computer;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use host::discovery::{Inventory, KernelFiles};
use machine::routing::{RoutingTable, deadlock, vector::VectorRoutes};
use machine::{Endpoint, RouterPlace, Topology, VirtualNetwork};
use record::{DeadlockRow, Provenance, TopologyPart, TopologyRow};

use crate::failure::Failure;
use crate::output::{Kind, OutputFlags, print};
use crate::platform::{Machine, MachineFlag};
use crate::provenance;

/// Print the topology of a machine: nodes, routers, links, processors; for this computer also memory, caches, pages, limits.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ccnuma topology                                    nodes, memory, caches, huge pages and limits of this computer
  ccnuma topology -m arctic                          nodes, routers and links of the 64-processor machine
  ccnuma topology -m arctic --routes --csv           also the routes between all pairs of nodes, as CSV
  ccnuma topology -m stinger --svg stinger.svg       a drawing
  ccnuma topology -m stinger --check-deadlock        is the machine's routing deadlock-free?
  ccnuma topology -m flash-64p --check-deadlock      routing of requests, and of replies
  ccnuma topology -m arctic --check-deadlock my.txt  a table of yours (ROUTER NODE:PORT ..., one router per line;
                                                     or SOURCE -> DESTINATION: ROUTER ..., one route per line, with
                                                     or without a machine; neighbours need none)

Exit code 1 if the routing can deadlock.")]
pub struct TopologyCommand {
    #[command(flatten)]
    machine: MachineFlag,
    /// Also list the routes between all pairs of nodes.
    #[arg(long)]
    routes: bool,
    /// Check a routing table for deadlock: the machine's, or that in TABLE-FILE.
    #[arg(long, value_name = "TABLE-FILE", num_args = 0..=1, conflicts_with_all = ["routes", "svg"])]
    check_deadlock: Option<Option<PathBuf>>,
    /// Draw the machine into FILE (SVG) instead of listing it.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    output: OutputFlags,
}

impl TopologyCommand {
    /// Runs the command. True if all is well, false if a routing can deadlock.
    ///
    /// # Errors
    /// When there is no such machine or table, or the output fails.
    pub fn run(self) -> Result<bool, Failure> {
        if let Some(file) = &self.check_deadlock {
            return self.check(file.as_deref());
        }
        match self.machine.machine()? {
            Machine::Host if !self.routes => {
                let inventory = Inventory::discover(&KernelFiles::live()).map_err(Failure::run)?;
                let rows = computer::rows(&inventory);
                let origin = provenance::of_host(&inventory);
                let headline = computer::headline(&inventory);
                self.show(&headline, &rows, &origin, || report::computer_drawing(&headline, &rows))?;
            }
            _ => {
                let topology = Topology::new(&self.machine.simulated("no routers or routes")?);
                let plural = if topology.processors() == 1 { "" } else { "s" };
                let threads = topology.hardware_threads() / topology.processors();
                let threads = if threads > 1 { format!(", {threads} hardware threads each") } else { String::new() };
                let headline = format!("{}: {} processor{plural}{threads}", topology.name(), topology.processors());
                let origin = provenance::of_software();
                self.show(&headline, &rows(&topology, self.routes), &origin, || machine::drawing::svg(&topology))?;
            }
        }
        Ok(true)
    }

    /// Draws the machine if that was asked for, or else lists it.
    fn show(
        &self,
        headline: &str,
        rows: &[TopologyRow],
        origin: &Provenance,
        drawing: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        if let Some(path) = &self.svg {
            self.output.refuse("not available with --svg")?;
            let mut file = self.output.files().whole("--svg", path, Kind::Svg)?;
            file.write_all(drawing().as_bytes())?;
            return file.complete();
        }
        let mut output = self.output.open()?.of(origin);
        for row in rows {
            output.write(row)?;
        }
        output.complete()?;
        if output.wants_table() {
            let view = self.output.view();
            print(report::paragraph(headline, &view))?;
            for table in report::topology(rows) {
                print(format!("\n{}", table.shown(&view)))?;
            }
        }
        output.finish()
    }

    /// The machine that vector routes are of, if one is asked for.
    fn vector_machine(&self) -> Result<Option<Topology>, Failure> {
        Ok(match self.machine.machine()? {
            Machine::Host => None,
            Machine::Simulated(machine) => Some(Topology::new(&machine.description)),
        })
    }

    fn check(&self, file: Option<&Path>) -> Result<bool, Failure> {
        let topology = || Ok::<_, Failure>(Topology::new(&self.machine.simulated("no routing table to check")?));
        let rows = match file {
            None => check_own(&topology()?)?,
            Some(path) => {
                let name = path.display().to_string();
                let text = input::text(path, input::WRITTEN).map_err(|error| {
                    let problem = format!("cannot be read: {error}");
                    Failure::flag("--check-deadlock", &name, problem, "a file with a routing table")
                })?;
                match VectorRoutes::are_in(&text) {
                    true => vec![check_vector(self.vector_machine()?.as_ref(), &name, &text)?],
                    false => {
                        let topology = topology()?;
                        let table = RoutingTable::parse(&name, &text, &topology).map_err(Failure::input)?;
                        vec![check_table(&topology, &table, &name)?]
                    }
                }
            }
        };
        let mut output = self.output.open()?;
        for row in &rows {
            output.write(row)?;
            if output.wants_table() {
                print(report::paragraph(&verdict(row), &self.output.view()))?;
            }
        }
        output.finish()?;
        Ok(rows.iter().all(|row| !row.deadlock))
    }
}

fn verdict(row: &DeadlockRow) -> String {
    let machine = row.machine.as_ref().map_or_else(String::new, |name| format!(" of {name}"));
    if !row.deadlock {
        return format!("{} routing{machine}: deadlock-free\n", row.table);
    }
    let channels: Vec<String> = row.cycle.iter().map(|channel| format!("  {channel}\n")).collect();
    let count = row.cycle.len();
    format!("{} routing{machine}: can deadlock; cycle of {count} channels:\n{}", row.table, channels.concat())
}

/// The machine's own tables: one if requests and replies take the same routes, one a network if not.
fn check_own(topology: &Topology) -> Result<Vec<DeadlockRow>, Failure> {
    let check = |network| {
        let name = own_network(topology, network).map_or("built-in".to_owned(), |its| format!("built-in {its}"));
        check_table(topology, topology.routing_table(network), &name)
    };
    networks(topology).iter().copied().map(check).collect()
}

/// The networks whose routes are not those of another.
fn networks(topology: &Topology) -> &'static [VirtualNetwork] {
    if topology.separates_replies() { &VirtualNetwork::ALL } else { &[VirtualNetwork::Request] }
}

/// The name of a network if it has routes of its own.
fn own_network(topology: &Topology, network: VirtualNetwork) -> Option<String> {
    topology.separates_replies().then(|| network.to_string())
}

fn check_table(topology: &Topology, table: &RoutingTable, name: &str) -> Result<DeadlockRow, Failure> {
    let found = deadlock::check(topology, table).map_err(|error| Failure::input(format!("{name}: {error}")))?;
    let channels: Vec<_> = topology.channels().collect();
    let named = |end| topology.end_path(end);
    let cycle = found.iter().flatten().map(|id| &channels[id.index()]);
    Ok(DeadlockRow {
        machine: Some(topology.name().to_owned()),
        table: name.to_owned(),
        deadlock: found.is_some(),
        cycle: cycle.map(|channel| format!("{} -> {}", named(channel.from), named(channel.to))).collect(),
    })
}

/// Vector routes name their routers themselves, so that they need no machine.
fn check_vector(machine: Option<&Topology>, name: &str, text: &str) -> Result<DeadlockRow, Failure> {
    let graph = machine.map(|topology| &**topology);
    let routes = VectorRoutes::parse(name, text, graph).map_err(Failure::input)?;
    routes.check_pairs(name, graph).map_err(Failure::input)?;
    let found = routes.find_cycle();
    let cycle = found.iter().flatten().map(|(from, to)| format!("router {from} -> router {to}"));
    let machine = graph.map(|graph| graph.name().to_owned());
    Ok(DeadlockRow { machine, table: name.to_owned(), deadlock: found.is_some(), cycle: cycle.collect() })
}

fn rows(topology: &Topology, with_routes: bool) -> Vec<TopologyRow> {
    let blank = |part, id: u32, at: String| TopologyRow::new(topology.name(), part, id, at);
    let nodes = topology.nodes().iter().map(|node| TopologyRow {
        cpus: topology.threads_on(node.id),
        to: Some(topology.end_path(Endpoint::Router(node.router, node.port))),
        ..blank(TopologyPart::Node, node.id.0.into(), node.path())
    });
    let routers = topology.routers().iter().map(|router| TopologyRow {
        class: Some(place(router.place)),
        ..blank(TopologyPart::Router, router.id.0.into(), router.path())
    });
    let links = topology.links().iter().map(|link| TopologyRow {
        to: Some(topology.end_path(link.ends[1])),
        class: Some(link.class.to_string()),
        length_m: Some(link.length.as_metres()),
        delay_ns: Some(link.delay.as_ns()),
        ..blank(TopologyPart::Link, link.id.0.into(), topology.end_path(link.ends[0]))
    });
    let mut rows: Vec<_> = nodes.chain(routers).chain(links).collect();
    if with_routes {
        for network in networks(topology) {
            rows.extend(routes(topology, *network));
        }
    }
    rows
}

/// The route of `network` between every two nodes.
fn routes(topology: &Topology, network: VirtualNetwork) -> impl Iterator<Item = TopologyRow> + '_ {
    let pairs = topology.nodes().iter().flat_map(|from| topology.nodes().iter().map(move |to| (from, to)));
    pairs.map(move |(from, to)| {
        let exits: Vec<String> =
            topology.vector_route(network, from.id, to.id).iter().map(ToString::to_string).collect();
        TopologyRow {
            to: Some(to.path()),
            class: own_network(topology, network),
            hops: Some(topology.routes(network).hops(from.id, to.id)),
            exits: Some(exits.join(" ")),
            ..TopologyRow::new(topology.name(), TopologyPart::Route, from.id.0.into(), from.path())
        }
    })
}

fn place(place: RouterPlace) -> String {
    match place {
        RouterPlace::Leaf { cube, corner } => format!("corner {corner} of cube {cube}"),
        RouterPlace::Metarouter { group, corner } => format!("metarouter {corner} of group {group}"),
        RouterPlace::Cluster { metacube, cluster } => format!("cluster {cluster} of metacube {metacube}"),
        RouterPlace::Mesh { metacube, network } => format!("{network} mesh of metacube {metacube}"),
        RouterPlace::Ring { position } => format!("position {position} of the ring"),
        RouterPlace::Grid { column, row } => format!("column {column}, row {row}"),
        RouterPlace::Crossbar => "crossbar of all nodes".to_owned(),
        RouterPlace::LinkInterface { ring, position } => format!("link interface {position} of SCI ring {ring}"),
        RouterPlace::Switch { ring } => format!("switch of SCI ring {ring}"),
        RouterPlace::Ideal => "ideal network of all nodes".to_owned(),
        RouterPlace::Socket { socket } => format!("socket {socket}"),
    }
}
