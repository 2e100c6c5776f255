//! Seidl's probe: random windows of areas from 16 KiB to all of memory, each double word read and written back with its sign
//! changed (Seidl 1997, listing 1), on memory that is placed nearest first.

use record::{Disturbance, Parameters, Record, Statistics, Unit};
use units::{Bytes, CpuId, NodeId};

use crate::platform::{Kernel, Layout, Measurement, Phase, Platform, Region, Task};
use crate::{BenchError, PlanError, State};

/// The name of the experiment in records, before area and window.
pub const EXPERIMENT: &str = "seidl";

/// The windows of the paper (Seidl 1997, section 2).
pub const WINDOWS: [Bytes; 3] = [Bytes::from_kib(1), Bytes::from_kib(2), Bytes::from_kib(4)];

/// The smallest area is `4096 * 2^(4/2)` bytes; the loop of listing 1 begins with this exponent.
const FIRST_HALF_OCTAVE: i32 = 4;
/// Windows that a warm-up visits at least, so that the first-level cache and the translation buffer are as in a long run.
const LEAST_WARM_UP: u64 = 256;
/// Times the cache is filled by random windows before a sample on a larger area: the share of places that random
/// replacement has then passed over is below one in e^3.
const WARM_UP_FILLS: u64 = 3;
/// Bytes of such windows at most: larger caches do not replace at random.
const MOST_FILLING: u64 = 16 << 20;

/// An area and the size of the windows in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Point {
    /// The area that windows are chosen from; whole windows.
    pub area: Bytes,
    /// The size of a window.
    pub window: Bytes,
}

impl Point {
    /// The point that a record is about, if it is one of this probe.
    pub fn of_record(record: &Record) -> Option<Self> {
        let conditions = &record.conditions;
        let is_ours = record.experiment == EXPERIMENT;
        is_ours.then_some(())?;
        Some(Self { area: conditions.window?, window: conditions.stride? })
    }
}

/// Areas from 16 KiB to `largest` in steps of half an octave, with each window size: the points of the paper.
pub fn points(largest: Bytes) -> Vec<Point> {
    let areas = (FIRST_HALF_OCTAVE..).map(|i| (4096.0 * 2f64.powf(f64::from(i) / 2.0) + 1.5) as u64);
    let areas = areas.take_while(|&area| area <= largest.0 + 1);
    let of_area = |area: u64| WINDOWS.map(|window| Point { area: Bytes(area - area % window.0), window });
    areas.flat_map(of_area).collect()
}

/// The probe of one processor.
#[derive(Clone, PartialEq, Debug)]
pub struct Probe {
    /// The processor.
    pub cpu: CpuId,
    /// The memory it uses: nodes and how much of each, nearest first.
    pub memory: Vec<(NodeId, Bytes)>,
    /// Samples of each point.
    pub samples: u32,
    /// An upper bound of the largest cache: so much of an area is touched in order before a sample, so that the cache has it.
    pub caches: Bytes,
    /// Bytes that the windows of a sample amount to. The paper's are 1.024e10, against the resolution of its clock.
    pub sample: Bytes,
}

impl Probe {
    /// A probe of `cpu`, whose largest cache is taken to be that of the layout: `capacity` says how much memory of a node may be used.
    ///
    /// # Errors
    /// When the machine has no such processor.
    pub fn new(layout: &Layout, cpu: CpuId, capacity: impl Fn(NodeId) -> Bytes) -> Result<Self, PlanError> {
        let home = layout.node_of(cpu).ok_or_else(|| {
            let problem = format!("{} has no such CPU", layout.machine());
            PlanError::new("--local", cpu.to_string(), problem, layout.accepted_cpus())
        })?;
        let nodes = [vec![home], layout.nodes_by_distance(home)].concat();
        let memory = nodes.into_iter().filter(|&node| layout.has_memory(node)).map(|node| (node, capacity(node)));
        let memory = memory.filter(|(_, size)| size.0 > 0).collect();
        Ok(Self { cpu, memory, samples: 2, caches: layout.l2, sample: Bytes::from_mib(4) })
    }

    /// All the memory it may use.
    pub fn capacity(&self) -> Bytes {
        Bytes(self.memory.iter().map(|(_, size)| size.0).sum())
    }

    /// Where the first `size` bytes are: whole nodes, and what is left of them on the last.
    fn parts(&self, size: Bytes) -> Vec<(NodeId, Bytes)> {
        let mut left = size.0;
        let mut parts = Vec::new();
        for &(node, capacity) in &self.memory {
            let part = capacity.0.min(left);
            if part > 0 {
                parts.push((node, Bytes(part)));
            }
            left -= part;
        }
        parts
    }

    /// Measures `points` on `platform`, whose regions are released first: a sample of each in turn, so that what drifts
    /// falls on all alike. `finished` is told how many samples there are.
    ///
    /// # Errors
    /// When a point exceeds the memory, or the platform fails.
    pub fn run(
        &self,
        platform: &mut dyn Platform,
        points: &[Point],
        mut finished: impl FnMut(u64),
    ) -> Result<Vec<Record>, BenchError> {
        let largest = points.iter().map(|point| point.area).max().unwrap_or(Bytes(0));
        if largest > self.capacity() || largest.0 == 0 {
            let accepted = format!("up to {}", self.capacity());
            let problem = "not enough memory";
            return Err(PlanError::new("--largest", largest.to_string(), problem, accepted).into());
        }
        platform.release_all();
        let region = platform.allocate_across(&self.parts(largest))?;
        let mut series = vec![Series::default(); points.len()];
        let mut taken = 0;
        for _ in 0..self.samples {
            for (point, series) in points.iter().zip(&mut series) {
                self.sample(platform, region, *point, series, points.len() == 1)?;
                taken += 1;
                finished(taken);
            }
        }
        let conditions = platform.conditions();
        let record = |(point, series): (&Point, Series)| {
            let mut record = self.record(platform.layout(), *point, &series);
            record.conditions = record::Conditions {
                repeated: series.repeated,
                kept: series.kept,
                disturbances: (series.repeated + series.kept > 0).then(|| series.disturbance.to_string()),
                clock_mhz: conditions.clock_mhz,
                ..record.conditions
            };
            record.conditions.pages_asked.clone_from(&conditions.pages_asked);
            record.conditions.pages_obtained.clone_from(&conditions.pages_obtained);
            record
        };
        Ok(points.iter().zip(series).map(record).collect())
    }

    /// Takes a sample of one point, after a warm-up unless the caches are still warm; again if it was disturbed.
    fn sample(
        &self,
        platform: &mut dyn Platform,
        region: Region,
        point: Point,
        series: &mut Series,
        still_warm: bool,
    ) -> Result<(), BenchError> {
        let windows = (self.sample.0 / point.window.0).max(1);
        if series.next == 0 || !still_warm {
            self.warm_up(platform, region, point, series)?;
        }
        let mut attempts_left = self.samples + 2;
        loop {
            let measurement = self.windows(platform, region, point, series, windows)?;
            series.disturbance = series.disturbance.and(measurement.disturbance);
            let disturbed = !measurement.disturbance.is_clean();
            if !disturbed || attempts_left == 0 {
                series.kept += u64::from(disturbed);
                series.samples.push(crate::sample::ns_per_step(measurement));
                return Ok(());
            }
            series.repeated += 1;
            attempts_left -= 1;
        }
    }

    /// Brings as much of the area into the caches as they hold of it in the middle of a long run.
    fn warm_up(
        &self,
        platform: &mut dyn Platform,
        region: Region,
        point: Point,
        series: &mut Series,
    ) -> Result<(), BenchError> {
        let (line, cache) = (platform.layout().line, self.caches);
        let lines = point.area.0.min(cache.0) / line.0;
        let touch = Task { kernel: Kernel::TouchStore, stride: line, ..self.task(region, point, 0, lines) };
        platform.run(Phase::new(&[Task { elements: lines, ..touch }]))?;
        let filling = if point.area > cache { (WARM_UP_FILLS * cache.0).min(MOST_FILLING) / point.window.0 } else { 0 };
        self.windows(platform, region, point, series, filling.max(LEAST_WARM_UP))?;
        Ok(())
    }

    /// Visits `count` more windows.
    fn windows(
        &self,
        platform: &mut dyn Platform,
        region: Region,
        point: Point,
        series: &mut Series,
        count: u64,
    ) -> Result<Measurement, BenchError> {
        let task = self.task(region, point, series.next, count);
        series.next += count;
        let [measurement] = platform.run(Phase::new(&[task]))?[..] else {
            unreachable!("a platform returns one measurement a task");
        };
        Ok(measurement)
    }

    fn task(&self, region: Region, point: Point, first: u64, count: u64) -> Task {
        Task {
            cpu: self.cpu,
            kernel: Kernel::SignChange,
            region,
            offset: Bytes(0),
            stride: point.window,
            elements: point.area.0 / point.window.0,
            first,
            count,
        }
    }

    fn record(&self, layout: &Layout, point: Point, series: &Series) -> Record {
        let statistics = Statistics::of(&series.samples).expect("a point has samples, in finite time");
        let Statistics { min, max, median, mean, stdev, n, ci_low, ci_high } = statistics;
        let (home, _) = self.memory[0];
        let farthest = self.parts(point.area).last().map_or(home, |&(node, _)| node);
        let conditions = record::Conditions {
            stride: Some(point.window),
            window: Some(point.area),
            order: Some("random windows".to_owned()),
            preparation: Some("touched before (steady state)".to_owned()),
            ..record::Conditions::default()
        };
        Record {
            machine: layout.machine().to_owned(),
            experiment: EXPERIMENT.to_owned(),
            state: State::Uown.to_string(),
            home,
            local: self.cpu,
            remotes: Vec::new(),
            xhops: layout.hops(home, farthest),
            yhops: None,
            zhops: None,
            unit: Unit::Nanoseconds,
            min,
            max,
            median,
            mean,
            stdev,
            n,
            ci_low,
            ci_high,
            locals: vec![self.cpu],
            parameters: Parameters { array: Some(point.area), ..Parameters::default() },
            conditions,
        }
    }
}

/// The samples of one point so far.
#[derive(Clone, Debug, Default)]
struct Series {
    samples: Vec<f64>,
    /// The next step of the random sequence of windows.
    next: u64,
    /// Samples that were disturbed and taken again, and those that were disturbed and count.
    repeated: u64,
    kept: u64,
    /// All that disturbed them.
    disturbance: Disturbance,
}

#[cfg(test)]
mod tests {
    use units::Duration;

    use super::*;

    #[test]
    fn areas_rise_by_half_octaves_of_whole_windows() {
        let points = points(Bytes(8 << 30));
        assert_eq!(points.len(), 39 * 3);
        assert_eq!(points[0], Point { area: Bytes::from_kib(16), window: Bytes::from_kib(1) });
        assert_eq!(points[3].area, Bytes(23170 - 23170 % 1024));
        assert_eq!(points.last().map(|point| point.area), Some(Bytes(8 << 30)));
        assert!(points.iter().all(|point| point.area.0.is_multiple_of(point.window.0)));
    }

    #[test]
    fn memory_is_used_nearest_first() {
        let cpus = (0..4).map(|n| vec![CpuId(n)]).collect();
        let sizes = (Bytes(128), Bytes::from_kib(32), Bytes::from_mib(4));
        let line = |a: NodeId, b: NodeId| u32::from(a.0.abs_diff(b.0));
        let layout = Layout::new("line", cpus, line, sizes, Duration(5000)).expect("four nodes in a row");
        let probe = Probe::new(&layout, CpuId(2), |_| Bytes::from_mib(64)).expect("a probe");
        assert_eq!(probe.capacity(), Bytes::from_mib(256));
        let mib = Bytes::from_mib;
        let nodes = |size| probe.parts(size).into_iter().map(|(node, size)| (node.0, size)).collect::<Vec<_>>();
        assert_eq!(nodes(mib(10)), [(2, mib(10))]);
        assert_eq!(nodes(mib(150)), [(2, mib(64)), (1, mib(64)), (3, mib(22))]);
        assert!(Probe::new(&layout, CpuId(9), |_| mib(1)).is_err());
    }
}
