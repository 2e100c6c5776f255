"""Every kind of record that `ccnuma --json` writes, as dataclasses.

Generated from the schema that `ccnuma schema` prints by scripts/python-records; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Optional

__all__ = [
    "Advice",
    "CheckResult",
    "Computer",
    "ComputerCache",
    "ComputerCore",
    "ComputerNode",
    "ControllerCacheStatistics",
    "ControllerStatistics",
    "DeadlockCheck",
    "Description",
    "Finding",
    "Fit",
    "HandlerStatistics",
    "KINDS",
    "LinkInterfaceStatistics",
    "Machine",
    "Measurement",
    "Observable",
    "PageStatistics",
    "ProcessorStatistics",
    "Program",
    "Publication",
    "Record",
    "ReferenceMix",
    "RegionStatistics",
    "Reproduction",
    "RoundTripParts",
    "RunState",
    "SCHEMA",
    "Sample",
    "Simulation",
    "SweepRun",
    "Topology",
    "TopologyPart",
    "Trace",
    "Unit",
    "Verification",
    "VerificationResult",
    "Work",
]

#: The version of the schema that these records follow.
SCHEMA = 1

CheckResult = Literal["ok", "wrong"]
"""The verdict of a program's check of its own results."""

RunState = Literal["done", "running", "left"]
"""How far a run of a sweep is."""

TopologyPart = Literal["node", "router", "link", "route", "distance", "access", "sidecache", "core", "cache", "pages", "limit", "note"]
"""The kind of part that a row of a topology's listing describes."""

Unit = Literal["ns", "MB/s", "cycles", "%", "ratio", "count", "B", "MFLOPS"]
"""The unit of the figures of a record."""

VerificationResult = Literal["ok", "counterexample"]
"""How an exploration ended."""

Work = Literal["sim", "bench"]
"""The kind of work that a run of a sweep does."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """The fields of every record: its kind, the version of the schema, and where it comes from."""

    command: Optional[str]
    """The command line of the run, quoted as a shell takes it."""
    commit: Optional[str]
    """The commit that `ccnuma` was built from, `-modified` behind it if files had been changed; absent if that is
    not known."""
    date: Optional[str]
    """When the run began, in UTC: `2026-01-31T23:59:59Z`."""
    host: Optional[str]
    """The name of the computer."""
    host_kernel: Optional[str]
    """Its kernel's release."""
    host_processor: Optional[str]
    """Its processor's model."""
    schema: Literal[1]
    """The version of the schema that the record follows."""
    version: str
    """The version of `ccnuma`."""


@dataclass(frozen=True, kw_only=True)
class ComputerCache:
    """A cache of a computer."""

    cpus: list[int]
    """The processors that share it, ascending."""
    inclusive: Optional[bool]
    """Whether it has every line of the caches inside it, as the processor announces (CPUID)."""
    level: int
    """Its level, from 1."""
    line_bytes: Optional[int]
    """The size of its line, in bytes."""
    size_kib: Optional[int]
    """Its size, in kibibytes."""
    ways: Optional[int]
    """Lines of a set."""


@dataclass(frozen=True, kw_only=True)
class ComputerCore:
    """A core of a computer."""

    cpus: list[int]
    """The processors that are its threads, ascending, as far as the measuring process may use them."""
    node: int
    """Its node."""
    socket: int
    """Its socket."""


@dataclass(frozen=True, kw_only=True)
class ComputerNode:
    """A NUMA node of a computer."""

    distances: list[int]
    """Its distances to all nodes, in their order, by firmware's table (SLIT)."""
    memory_kib: int
    """Its memory, in kibibytes; 0 without any."""
    node: int
    """Its number."""


@dataclass(frozen=True, kw_only=True)
class ControllerCacheStatistics:
    """Accesses to a cache of a controller."""

    accesses: int
    """Lines looked up."""
    misses: int
    """Lines that were not there."""
    stalled_ns: float
    """Time that the controller waited for them, in nanoseconds."""


@dataclass(frozen=True, kw_only=True)
class ControllerStatistics:
    """Statistics of the controller of a node while a program ran."""

    bus_ns: float
    """Time that the bus to its processors was held, in nanoseconds."""
    data_cache: Optional[ControllerCacheStatistics]
    """Its data cache; absent where it has none."""
    handlers: dict[str, HandlerStatistics]
    """Its handlers that ran at least once, by name."""
    instruction_cache: Optional[ControllerCacheStatistics]
    """Its instruction cache; absent where it has none."""
    invalidations: list[int]
    """Writes at this home by how many invalidations each caused: none, one, two, and so on. On an SCI ring, writes
    of its processor by how many elements of a sharing list they purged."""
    link: Optional[LinkInterfaceStatistics] = None
    """Its link interface on an SCI ring; absent on other networks."""
    memory_ns: float
    """Time that its memory was held, in nanoseconds."""
    node: int
    """The node."""
    occupancy_ns: float
    """Time that messages held it: its occupancy, in nanoseconds."""
    pages: Optional[PageStatistics] = None
    """Misses on lines of other nodes, and operations on pages; absent but for the device of a cluster's node."""
    queued_ns: float
    """Time that messages waited for it, in nanoseconds."""
    remote_access_cache: Optional[ControllerCacheStatistics]
    """The remote access cache in its memory; absent where there is none."""
    sent: dict[str, int]
    """Messages that it sent, by their names."""
    switch: Optional[list[LinkInterfaceStatistics]] = None
    """The switch behind it, where switches join SCI rings: its interfaces on the ring of the node, and on the ring
    of switches."""
    utilisation_pct: float
    """Occupancy in percent of the time of the whole run."""


@dataclass(frozen=True, kw_only=True)
class HandlerStatistics:
    """Runs of one handler of a controller, and their time."""

    busy_ns: float
    """Time that it held the controller, in nanoseconds."""
    runs: int
    """How often it ran."""


@dataclass(frozen=True, kw_only=True)
class LinkInterfaceStatistics:
    """A link interface on an SCI ring."""

    bypass_pct: float
    """Time in which its bypass FIFO was in use, in percent of the time of the whole run."""
    data_mb_s: float
    """Throughput in lines alone."""
    data_packets: int
    """Packets with lines among them."""
    packets: int
    """Packets that its node transmitted, retransmissions included."""
    retransmissions: int
    """Retransmissions among them, after negative echoes."""
    round_trip_ns: float
    """Mean time from the entry of a packet into the output buffer to its positive echo, in nanoseconds; 0 without
    packets."""
    round_trip_parts: RoundTripParts
    """The parts of this time."""
    throughput_mb_s: float
    """Raw throughput of its node: all that it inserted, that is packets with their headers, retransmissions, and
    echoes."""
    traffic_mb_s: float
    """Traffic of its outgoing link in Mbytes a second of the time of the whole run: its own packets, those that
    pass by, and echoes."""


@dataclass(frozen=True, kw_only=True)
class PageStatistics:
    """Misses of a cluster's node on lines of other nodes, and operations on pages."""

    copied: int
    """Pages of the node's memory that were copied to other nodes."""
    copying_ns: float
    """Time in which pages were copied, after the trap, in nanoseconds."""
    evictions: int
    """Pages that were flushed from it to make room."""
    gathered: int
    """Pages of the node's memory that were gathered from all caches, to be moved, copied or given up."""
    gathering_ns: float
    """Time in which pages were gathered, after the trap, in nanoseconds."""
    migrations: int
    """Pages that migrated to the node's memory."""
    misses: int
    """Misses that were requested from homes."""
    refetches: int
    """Misses among them on lines that the node had replaced: capacity and conflict misses."""
    relocating_ns: float
    """Time of the traps that relocated pages, in nanoseconds."""
    relocations: int
    """Pages that entered the page cache."""
    replications: int
    """Copies of pages that were made in the node's memory."""


@dataclass(frozen=True, kw_only=True)
class ProcessorStatistics:
    """Where one processor's time went while a program ran: its miss stall in the terms of the FLASH dissertation's
    Equation 5.1, where the simulator measures them."""

    coherence_ns: Optional[float]
    """Tc: coherence actions, and queues and handlers elsewhere, in nanoseconds."""
    communication_ns: Optional[float]
    """Tp2p: to the home and back, if nothing is in the way, in nanoseconds."""
    cpu: int
    """The processor."""
    local_misses: Optional[int]
    """Misses answered by its own node's memory without action elsewhere."""
    local_remote_action_misses: Optional[int]
    """Misses on lines of its own node that took action elsewhere."""
    misses: dict[str, int]
    """Its misses by how they were served, as in [`SimulationRow::misses`]."""
    mix: Optional[ReferenceMix] = None
    """Its references to shared and to private data; absent where the program's code has no private references."""
    references: int
    """Loads, stores and prefetches."""
    remote_misses: Optional[int]
    """Misses on other nodes' lines."""
    secondary_misses: int
    """References that sent a request to the home."""
    spent_ns: dict[str, float]
    """Where that time went, as in [`SimulationRow::spent_ns`]."""
    time_ns: float
    """Simulated time until it had finished the measured part, in nanoseconds."""
    unloaded_ns: Optional[float]
    """Tm: what its misses would take if all were local and nothing were in their way, in nanoseconds."""
    wait_ns: Optional[float]
    """Tw: how long its requests waited for its own controller, in nanoseconds."""


@dataclass(frozen=True, kw_only=True)
class ReferenceMix:
    """The references of a processor in the measured part of a program, by the data that they are to."""

    instructions: int
    """Instructions, all references and the rounds of spin loops included."""
    private_load_misses: int
    """Secondary misses of loads of private data."""
    private_loads: int
    """Loads of private data."""
    private_store_misses: int
    """Secondary misses of stores to private data."""
    private_stores: int
    """Stores to private data."""
    shared_loads: int
    """Loads of shared data, those of spin loops included."""
    shared_stores: int
    """Stores to shared data; an indivisible step counts as a load and a store."""


@dataclass(frozen=True, kw_only=True)
class RegionStatistics:
    """Losses at a region of a program's memory: misses, and time lost to misses, translations and locks. Sums are
    over all processors."""

    bytes: int
    """Its size."""
    causes: dict[str, int]
    """Secondary misses without upgrades by their causes, as in [`SimulationRow::causes`]."""
    lock_ns: float
    """Processor time spent on its locks and flags, in nanoseconds."""
    misses: int
    """Secondary misses, upgrades among them."""
    name: str
    """The name of its data."""
    remote_misses: int
    """Those of them on lines of other nodes."""
    stalled_ns: float
    """Processor time that misses took, in nanoseconds."""
    translation_misses: int
    """Refills of the translation buffer."""
    translation_ns: float
    """Processor time that those took, in nanoseconds."""


@dataclass(frozen=True, kw_only=True)
class RoundTripParts:
    """The parts of the mean round trip of a packet on an SCI ring, in nanoseconds: waits before its transmission,
    its way and that of its echo, and delays on this way. The rest of a round trip is repetition after negative
    echoes."""

    active_buffer_ns: float
    """For an active buffer: as many packets as may be are without echoes."""
    bypass_ns: float
    """Delays in bypass FIFOs. Of one interface: those of all packets and echoes in its own FIFO, for each packet of
    its node."""
    go_bit_ns: float
    """For an idle with the go bit."""
    own_packet_ns: float
    """For the node's own packet before it."""
    passing_packet_ns: float
    """For packets that pass by."""
    recovery_ns: float
    """For the end of recovery, in which the bypass FIFO drains."""
    unloaded_ns: float
    """The round trip on an unloaded ring."""


@dataclass(frozen=True, kw_only=True)
class Advice(Record):
    """A setting that a program was tried with on a simulated machine."""

    cpus: int
    """How many processors the program could use."""
    gain_pct: float
    """By how much the run was shorter than the present one, in percent of the present time."""
    kind: str
    """The kind of change to the machine as it is: `placement`, `memory-mode`, `prefetchers`, `threads`, several of
    them (`together`), or none (`present`)."""
    local_pct: float
    """Misses on lines whose home is the processor's own node, in percent of all."""
    machine: str
    """The machine as it is."""
    means: Optional[str]
    """The command or firmware setting that gets it; absent for the present one."""
    miss_latency_ns: Optional[float]
    """From a secondary miss to its end on average, in nanoseconds; absent where the simulator does not measure
    it."""
    program: str
    """The program."""
    rank: int
    """Its place among the settings, from 1: the fastest comes first."""
    record: Literal['advice']
    """The kind of record."""
    secondary_misses: int
    """References that sent a request to the home."""
    setting: str
    """The setting in words."""
    time_ns: float
    """Simulated time of the measured part of the program, in nanoseconds."""
    variant: Optional[str]
    """The machine with the setting, as `ccnuma sim -m` takes it; absent where pages are placed one by one."""


@dataclass(frozen=True, kw_only=True)
class Computer(Record):
    """The machine that measurements are from, as its operating system and its processors announce it. It stands
    beside the records in a file, so that a fit knows cores and caches."""

    caches: list[ComputerCache]
    """Its caches that hold data, by level and first processor."""
    cores: list[ComputerCore]
    """Its cores, by their first processors."""
    machine: str
    """The machine, as other records name it."""
    microarchitecture: Optional[str]
    """Their microarchitecture, by the numbers that they announce (CPUID, MIDR_EL1), where it is a known one."""
    model: Optional[str]
    """Their model."""
    nodes: list[ComputerNode]
    """Its nodes, ascending."""
    page_kib: Optional[int]
    """The size of a base page, in kibibytes."""
    record: Literal['computer']
    """The kind of record."""
    vector_bytes: Optional[int]
    """Bytes that one access of its STREAM loops moves: those of a vector register, or of a double word."""
    vendor: Optional[str]
    """The maker of its processors, as they announce it."""


@dataclass(frozen=True, kw_only=True)
class DeadlockCheck(Record):
    """One deadlock check of a routing table."""

    cycle: list[str]
    """The channels of the circle in order, each as its two ends; empty if there is none."""
    deadlock: bool
    """Whether channels wait for each other in a circle."""
    machine: Optional[str]
    """The machine, or none for vector routes of no machine, which need none."""
    record: Literal['deadlock-check']
    """The kind of record."""
    table: str
    """The file of the routing table, or `built-in` for the machine's own."""


@dataclass(frozen=True, kw_only=True)
class Description(Record):
    """The whole description of a machine: what records of it follow from."""

    description: str
    """The description as TOML that `-m` takes from a file: no inheritance, every key, each with its origin as a
    comment."""
    machine: str
    """The machine, as other records name it."""
    machine_digest: str
    """A hash of all that the description says, in hexadecimal: two machines of one name may differ."""
    record: Literal['description']
    """The kind of record."""


@dataclass(frozen=True, kw_only=True)
class Finding(Record):
    """A finding of a diagnosis."""

    bound_pct: Optional[float]
    """The upper bound of the gain of any remedy, in percent of the run's time; absent where the run does not
    determine it."""
    class_: str
    """The class of fault."""
    cost_pct: float
    """Its estimated cost, in percent of the run's processor time."""
    cpus: int
    """How many processors took part."""
    evidence: str
    """The measurements that it follows from."""
    gain_pct: Optional[float]
    """By how much the run became shorter when the remedy was tried, in percent; absent where it was not."""
    machine: str
    """The machine."""
    object: Optional[str]
    """The data that it is about, if it is about some."""
    place: Optional[str]
    """The place of the program, if that is known."""
    program: str
    """The program."""
    rank: int
    """Its place among the findings, from 1: what gains most comes first."""
    record: Literal['finding']
    """The kind of record."""
    remedy: str
    """The proposed change."""
    trial: Optional[str]
    """The trial of the remedy on a simulated machine, in words."""


@dataclass(frozen=True, kw_only=True)
class Fit(Record):
    """A parameter of a model that was fitted to measurements."""

    deviation_pct: Optional[float]
    """By how much the estimate exceeds what is held, in percent of the latter."""
    error: Optional[float]
    """The standard error of the estimate."""
    held: Optional[float]
    """The value in the machine's description, where it has one."""
    machine: str
    """The machine that was measured."""
    model: str
    """The model: `seidl`, `remote` or `caches`; `confirmation` of what a simulation of the described machine
    (`held`) is compared in."""
    note: str
    """Why there is no estimate; empty where there is one."""
    parameter: str
    """The parameter, in words."""
    record: Literal['fit']
    """The kind of record."""
    symbol: str
    """Its symbol in the source of the model."""
    unit: Unit
    """The unit of the figures that follow."""
    value: Optional[float]
    """The estimate; `None` where the data do not determine it."""


@dataclass(frozen=True, kw_only=True)
class Machine(Record):
    """A machine description in a list."""

    calibrated_on: list[str]
    """The published figures that the description was fitted to."""
    clock_mhz: float
    """The processor's clock, in megahertz."""
    l2_bus_mhz: float
    """The clock of the secondary cache's bus, in megahertz."""
    l2_mib: float
    """The secondary cache's size, in mebibytes."""
    name: str
    """The name by which `-m` finds it."""
    processor: str
    """The processor's model."""
    processors: int
    """How many processors it has."""
    record: Literal['machine']
    """The kind of record."""
    title: str
    """Its title, in words."""


@dataclass(frozen=True, kw_only=True)
class Measurement(Record):
    """One measurement of one experiment in one placement. The three distances name the legs of an intervention
    (Prestor 2001 section 4.3.3). With several requesters or several remote processors each is the longest; `yhops`
    and `zhops` are absent (`null`) without a remote processor."""

    array: Optional[int]
    """The size of the array that is ranged over, in bytes; the stride is a condition."""
    check: Optional[str]
    """The result of a check of the prepared state."""
    ci_high: Optional[float]
    """Where it ends; `null` with `ci_low`."""
    ci_low: Optional[float]
    """Where the 95 % confidence interval of the median begins; `null` below six samples, which give none."""
    clock_mhz: Optional[float]
    """The clock of the requester's core as it was measured meanwhile, in MHz: figures in cycles follow from it."""
    disturbances: Optional[str]
    """Events that disturbed samples, repeated or kept, all together; absent if there were none."""
    experiment: str
    """The experiment, such as `lmbench-read`."""
    home: int
    """The node whose memory holds the lines."""
    kept: int
    """How many of the samples that count were disturbed, however often they were taken again."""
    local: int
    """The requesting processor, of several the first."""
    locals: list[int]
    """All requesting processors, the first included."""
    machine: str
    """The machine measured: the name of a description, or of a host."""
    max: float
    """The largest sample: the reported figure of a bandwidth."""
    mean: float
    """The arithmetic mean."""
    median: float
    """The middle sample."""
    min: float
    """The smallest sample: the reported figure of a latency."""
    n: int
    """The number of samples."""
    offset: Optional[int]
    """Where in a region of memory the chunk begins that was measured, in bytes."""
    order: Optional[str]
    """The order in which the elements are visited, such as `ascending` or `random`."""
    pages_asked: Optional[str]
    """The kind of pages asked for, such as `base`, `thp` or `2M`."""
    pages_obtained: Optional[str]
    """The pages that the memory consists of, as verified."""
    pause_cycles: Optional[int]
    """Cycles that the traffic idles between its accesses."""
    preparation: Optional[str]
    """How the lines were brought into their state."""
    reads: Optional[int]
    """Loads in a row of the traffic beside a latency."""
    record: Literal['measurement']
    """The kind of record."""
    relation: Optional[str]
    """How near the remote processor is to the requester, such as `SMT sibling` or `same socket`."""
    remotes: list[int]
    """The processors that own or share the lines."""
    repeated: int
    """How many samples were disturbed and taken again."""
    series: Optional[str]
    """The series of a suite that the measurement belongs to."""
    state: str
    """The composite coherence state that was prepared, such as `CEXM`."""
    stdev: Optional[float]
    """The sample standard deviation; `null` of a single sample."""
    stride: Optional[int]
    """From one element to the next, in bytes."""
    unit: Unit
    """The unit of the five figures that follow."""
    window: Optional[int]
    """The extent of memory over which the accesses range, in bytes: what caches and translation must cover."""
    writes: Optional[int]
    """Stores in a row of that traffic."""
    xhops: int
    """Hops from the requester to the home."""
    yhops: Optional[int]
    """Hops from the home to the remote processor."""
    zhops: Optional[int]
    """Hops from the remote processor to the requester."""


@dataclass(frozen=True, kw_only=True)
class Observable(Record):
    """Something that can be observed on a machine, or cannot: a metric, or what a source of counters sees."""

    about: str
    """The kind of observable: `metric`, or `source` for values that a source of counters provides or lacks."""
    advice: Optional[str]
    """Advice on how to make it observable."""
    available: bool
    """Whether it can be observed."""
    formula: Optional[str]
    """The formula of a metric."""
    machine: str
    """The machine."""
    main: bool
    """Whether it is shown without being asked for."""
    meaning: str
    """The meaning of the metric, or the values of the source, in words."""
    name: str
    """The metric, or the source."""
    of: Optional[str]
    """The kind of object that a metric is of."""
    record: Literal['observable']
    """The kind of record."""
    unit: Optional[str]
    """The unit of a metric."""
    why: Optional[str]
    """Why it cannot be observed."""


@dataclass(frozen=True, kw_only=True)
class Program(Record):
    """A parameter of a program in a list."""

    default: int
    """Its value unless another is given."""
    least: int
    """The smallest accepted value."""
    meaning: str
    """Its meaning."""
    most: int
    """The largest accepted value."""
    parameter: str
    """The parameter."""
    program: str
    """The program."""
    record: Literal['program']
    """The kind of record."""
    summary: str
    """Its behaviour, in one line."""


@dataclass(frozen=True, kw_only=True)
class Publication(Record):
    """A published table, figure or study in a list."""

    machine: Optional[str]
    """The machine that it is about, where that is one for all of it."""
    name: str
    """Its name for `ccnuma reproduce`: the paper and the table, as in `prestor/4.6`."""
    published: int
    """How many of its figures are published; the others are withheld."""
    record: Literal['publication']
    """The kind of record."""
    section: str
    """The section of the paper that discusses it."""
    title: str
    """Its subject, in words."""


@dataclass(frozen=True, kw_only=True)
class Reproduction(Record):
    """One figure of a published table or diagram, and what this system gives for it."""

    calibrated: bool
    """Whether the machine description was calibrated on this figure: if so, the error is that of a fit, not of a
    prediction."""
    column: str
    """The column, such as `back-to-back READ`."""
    error_pct: Optional[float]
    """How far ours is from theirs, in percent of theirs; `None` if either is missing, or theirs is zero or
    negative, as a small difference may be."""
    ours: Optional[float]
    """Our figure; `None` where this system could not produce it."""
    paper: str
    """The source document, such as `prestor`."""
    record: Literal['reproduction']
    """The kind of record."""
    row: str
    """The row, such as `CEXM`."""
    table: str
    """The table or figure, such as `4.6`."""
    theirs: Optional[float]
    """The published figure; `None` where the source prints none."""
    unit: Unit
    """The unit of both figures."""


@dataclass(frozen=True, kw_only=True)
class Sample(Record):
    """A metric, or a counter, of an object in an interval of time."""

    estimate: bool
    """Whether a counter in it was counted a part of the time only."""
    kind: str
    """The kind of object: `machine`, `node`, `link`, `process`, `thread`."""
    metric: str
    """The metric, or the counter's column."""
    object: str
    """Its short name: `n1`, `t4`."""
    record: Literal['sample']
    """The kind of record."""
    time: float
    """When the interval ended, in seconds since the trace began."""
    title: str
    """Its full name."""
    unit: str
    """The unit; empty for counts of events."""
    value: float
    """Its value in `unit`."""


@dataclass(frozen=True, kw_only=True)
class Simulation(Record):
    """One run of a program on a simulated machine. Sums are over all processors or controllers unless said
    otherwise."""

    barrier: str
    """How threads met at barriers."""
    causes: Optional[dict[str, int]]
    """Secondary misses without upgrades by their causes, where those were asked for: `cold`, `capacity`,
    `conflict`, `true-sharing`, `false-sharing`."""
    controllers: Optional[list[ControllerStatistics]]
    """Each controller, where statistics were asked for."""
    cpus: int
    """How many processors the program could use."""
    data_misses: Optional[int]
    """Misses in the controllers' data caches; absent where they have none."""
    instruction_misses: Optional[int]
    """Misses in the controllers' instruction caches; absent where they have none."""
    invalidations: list[int]
    """Writes by how many invalidations each caused: none, one, two, and so on."""
    local_pct: float
    """Misses on lines whose home is the processor's own node, in percent of all."""
    locks: str
    """How threads took locks."""
    machine: str
    """The machine."""
    machine_digest: str
    """A hash of the whole description of the machine, in hexadecimal: two machines of one name may differ."""
    max_utilisation_pct: float
    """The same of the busiest controller."""
    mean_time_ns: float
    """The same on average over processors."""
    measured: Optional[str]
    """The measured part of a program of the user's own: `regions` that the program names, `sections` (from its
    first parallel section to the end of its last), or the `whole` of a program that has neither; absent for
    built-in programs, which define it."""
    miss_latency_ns: Optional[float]
    """From a secondary miss to its end on average, in nanoseconds; absent where the simulator does not measure
    it."""
    miss_pct: float
    """Secondary misses in percent of references."""
    misses: dict[str, int]
    """Secondary misses by how they were served: `read.*` and `write.*` as in `spent_ns`, all of them."""
    occupancy_ns: float
    """Time that controllers were held by messages: the total occupancy, in nanoseconds."""
    parameters: dict[str, int]
    """The program's parameters."""
    placement: str
    """The policy that placed the program's pages, and moved them."""
    primary_misses: int
    """References that missed in the primary cache."""
    processes: int
    """How many runs of the program shared the machine, this one included."""
    processors: Optional[list[ProcessorStatistics]]
    """Each processor, where statistics were asked for."""
    program: str
    """The program."""
    protocol: str
    """The directory protocol."""
    queued_ns: float
    """Time that messages waited for controllers, in nanoseconds."""
    record: Literal['simulation']
    """The kind of record."""
    references: int
    """Loads, stores and prefetches."""
    refusals: int
    """Negative acknowledgements received by processors."""
    regions: Optional[list[RegionStatistics]]
    """Losses by region of the program's memory, where causes were asked for, the largest first."""
    result: CheckResult
    """The verdict of the program's check of its own results."""
    run_ns: float
    """Simulated time of the whole program, in nanoseconds. What controllers did is counted over all of it."""
    scheduler: str
    """The scheduler that gave threads their processors: `none` if every thread had the processor of its number."""
    secondary_misses: int
    """References that sent a request to the home."""
    seed: int
    """Seed of the program's and the hardware's random choices."""
    spent_ns: dict[str, float]
    """Where the time of the measured part went: processor time, in nanoseconds, by what it was spent on. `busy`:
    instructions issued, or depended on each other. `read.*` and `write.*`: misses of loads and of stores, by where
    they went and what they took: `local` or `remote` home, `-third` if a third node was asked; `clean`, `owned`,
    `invalidating`. `primary`, `secondary`: loads that hit in the caches. `writeback`: a line that left.
    `translation`, `barrier`, `lock`, `system`. `idle`: until the last thread had finished. Every key is there,
    whether it took time or not; the sum is the number of threads times `time_ns`."""
    spins: int
    """Those of them that looked again at a word that nobody had changed, in loops that wait: no work."""
    threads: int
    """How many threads it had: as many as processors, unless it is a program of the user's own that decides so
    itself."""
    time_ns: float
    """Simulated time that the measured part of the program took, until the last processor had finished it, in
    nanoseconds. All counts and times of processors are of that part."""
    translation_misses: int
    """Translation misses."""
    upgrades: int
    """Misses of stores to lines of which the processor had a copy: they wanted no data."""
    utilisation_pct: float
    """Total occupancy in percent of the time of the whole run, on average over the controllers of the processors
    that took part, and others that were busy."""
    writebacks: int
    """Modified lines written back to memory."""


@dataclass(frozen=True, kw_only=True)
class SweepRun(Record):
    """A run of a sweep in a list. Fields that a kind of work does not have are absent (`null`)."""

    barrier: Optional[str]
    """How threads meet at barriers."""
    cpus: Optional[int]
    """How many processors the program can use."""
    experiment: Optional[str]
    """The experiment."""
    key: str
    """A hash of the software's version and commit, the machine's whole description, the work with all its
    parameters, and the seed, in hexadecimal. Runs of one key have equal records."""
    locks: Optional[str]
    """How threads take locks."""
    machine: str
    """The machine."""
    parameters: dict[str, int]
    """The program's parameters."""
    placement: Optional[str]
    """The policy that places the program's pages, and moves them."""
    program: Optional[str]
    """The program."""
    protocol: str
    """The coherence protocol."""
    record: Literal['sweep-run']
    """The kind of record."""
    run: str
    """The run in words."""
    scheduler: Optional[str]
    """The scheduler."""
    seed: int
    """Seed of random choices."""
    state: RunState
    """How far it is."""
    suite: Optional[str]
    """The suite."""
    work: Work
    """The kind of work."""


@dataclass(frozen=True, kw_only=True)
class Topology(Record):
    """A part of a machine. Fields that a part does not have are absent (`null`)."""

    at: str
    """The name in the hardware graph of the part, or of the end at which a link or route starts."""
    class_: Optional[str]
    """The kind of a link, node, core or cache, the place of a router, the text of a note, or the network of a
    route, where networks have routes of their own."""
    cpus: list[int]
    """A node's processors; a core's threads; a cache's users."""
    delay_ns: Optional[float]
    """A link's signal delay, in nanoseconds."""
    distance: Optional[int]
    """The distance between two nodes by the SLIT's measure, in which 10 is a node's distance to itself."""
    exits: Optional[str]
    """A route's exit port at each router, in order."""
    free_kib: Optional[int]
    """How much of a node's memory was free, in kibibytes."""
    free_pages: Optional[int]
    """How many of them are in no use."""
    hops: Optional[int]
    """How many routers a route goes through."""
    id: int
    """The part's number among its kind; a route's is that of its first node."""
    length_m: Optional[float]
    """A link's length, in metres."""
    line_bytes: Optional[int]
    """The size of a cache's line, in bytes."""
    machine: str
    """The machine."""
    pages: Optional[int]
    """How many pages are set aside."""
    part: TopologyPart
    """The kind of part that this row describes."""
    read_mib_s: Optional[int]
    """Firmware's read bandwidth, in MiB/s."""
    read_ns: Optional[int]
    """Firmware's read latency, in nanoseconds."""
    record: Literal['topology']
    """The kind of record."""
    size_kib: Optional[int]
    """The size of a node's memory, a cache, a page or a limit, in kibibytes."""
    tier: Optional[int]
    """A node's memory tier; a larger number is slower memory."""
    to: Optional[str]
    """The name in the hardware graph of what is at the other end."""
    ways: Optional[int]
    """In how many places of a cache a line can be."""
    write_mib_s: Optional[int]
    """Firmware's write bandwidth, in MiB/s."""
    write_ns: Optional[int]
    """Firmware's write latency, in nanoseconds."""


@dataclass(frozen=True, kw_only=True)
class Trace(Record):
    """Something that a trace says of itself."""

    about: str
    """The subject: `machine`, `command`, `object`, `metric`, `counter`, `sees`, `blind`, `event`, `time`,
    `warning`."""
    name: str
    """Its name, where it has one."""
    record: Literal['trace']
    """The kind of record."""
    text: str
    """The information, in one line."""
    trace: str
    """The file."""
    unit: str
    """The unit of a metric or counter."""


@dataclass(frozen=True, kw_only=True)
class Verification(Record):
    """One exploration of a protocol."""

    caches: int
    """How many caches took part."""
    depth: int
    """The longest of the shortest paths from the initial state to a state; of a random test, the misses on the line
    that was missed on most."""
    lines: int
    """How many lines they shared."""
    protocol: str
    """The protocol, and its mutation if one was planted."""
    record: Literal['verification']
    """The kind of record."""
    result: VerificationResult
    """How the exploration ended."""
    seconds: float
    """Wall-clock time, in seconds."""
    states: int
    """Distinct states reached; of a random test, the loads and stores compared."""


KINDS: dict[str, type[Record]] = {
    "advice": Advice,
    "computer": Computer,
    "deadlock-check": DeadlockCheck,
    "description": Description,
    "finding": Finding,
    "fit": Fit,
    "machine": Machine,
    "measurement": Measurement,
    "observable": Observable,
    "program": Program,
    "publication": Publication,
    "reproduction": Reproduction,
    "sample": Sample,
    "simulation": Simulation,
    "sweep-run": SweepRun,
    "topology": Topology,
    "trace": Trace,
    "verification": Verification,
}
"""The classes by the field `record`."""
