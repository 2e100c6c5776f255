//! Samples of what a program's threads do to memory: which instruction touched which address on which CPU, and how long that took
//! where the processor tells (`perf_event_open(2)`, the ring of samples).
//!
//! Page faults are sampled everywhere: they tell who touches a page first, and, where the kernel balances NUMA nodes, who touches
//! it later. Loads are sampled where the processor has precise events for them (Intel's `mem-loads`, AMD's `ibs_op`).

use std::io;

use perf_event::data::Record;
use perf_event::{Builder, Counter, SampleFlag, SampleSkid, Sampler, events::Event};
use perf_event_open_sys::bindings::{self, perf_event_attr};
use units::CpuId;

use super::served::{Served, served};
use super::{EventCode, MonitoringUnit};

/// Bytes of each CPU's ring, as many as the user may lock; the last are within what everybody may (`perf_event_mlock_kb`). A thread
/// that touches new memory fills a megabyte in some ten milliseconds.
const RINGS: [usize; 3] = [4 << 20, 512 << 10, 64 << 10];
/// Loads for each one that is sampled.
const PERIOD: u64 = 2000;
/// Cycles that a load takes at least to be sampled on Intel's processors: longer than any cache of a core's own.
const SLOW: u64 = 30;

/// Events that are sampled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sampled {
    /// Every page fault of the program's own.
    Faults,
    /// Some of its loads, with what they took.
    Loads(Loads),
}

/// How a processor is asked for samples of loads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loads {
    code: EventCode,
    /// An event that has to lead the group for samples to say who answered: Intel's since Sapphire Rapids announce it.
    leader: Option<EventCode>,
}

impl Sampled {
    /// Loads, if one of the monitoring units samples them; also of how many loads each sample is one, which costs are to be multiplied
    /// with.
    pub fn loads(units: &[MonitoringUnit]) -> Option<(Self, u64)> {
        let intel = units.iter().find_map(|unit| {
            let event = unit.events.iter().find(|event| event.name == "mem-loads")?;
            let mut code = unit.encode(&event.name).ok()?;
            // The least latency is the word that the event declares as `ldlat`.
            code.config[1] = SLOW;
            let leader = unit.events.iter().find(|event| event.name == "mem-loads-aux").map(|event| event.code);
            Some(Loads { code, leader })
        });
        let amd = || {
            let unit = units.iter().find(|unit| unit.name == "ibs_op")?;
            // It samples the kernel's work, too, unless the kernel is new enough to leave that out.
            let code = unit.encode("swfilt=1").or_else(|_| unit.encode("")).ok()?;
            Some(Loads { code, leader: None })
        };
        Some((Self::Loads(intel.or_else(amd)?), PERIOD))
    }
}

impl Event for Sampled {
    fn update_attrs(self, attributes: &mut perf_event_attr) {
        match self {
            Self::Faults => {
                attributes.type_ = bindings::PERF_TYPE_SOFTWARE;
                attributes.config = u64::from(bindings::PERF_COUNT_SW_PAGE_FAULTS);
            }
            Self::Loads(Loads { code, .. }) => code.update_attrs(attributes),
        }
    }
}

impl Event for EventCode {
    fn update_attrs(self, attributes: &mut perf_event_attr) {
        attributes.type_ = self.kind;
        attributes.config = self.config[0];
        attributes.__bindgen_anon_3.config1 = self.config[1];
        attributes.__bindgen_anon_4.config2 = self.config[2];
        attributes.config3 = self.config[3];
    }
}

/// A reference that was sampled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// The process.
    pub process: u32,
    /// Its thread.
    pub thread: u32,
    /// Where that ran.
    pub cpu: CpuId,
    /// The instruction.
    pub site: u64,
    /// The address that it referred to.
    pub address: u64,
    /// Cycles that it took, if the processor tells.
    pub cycles: Option<u64>,
    /// Cache or memory that answered, if the processor tells; none for a page fault.
    pub served: Option<Served>,
}

/// A piece of a process's address space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// The process.
    pub process: u32,
    /// Its first byte.
    pub start: u64,
    /// How long it is.
    pub bytes: u64,
    /// Where in the file it begins.
    pub offset: u64,
    /// The file, or what the kernel calls it: `[heap]`, `//anon`.
    pub name: String,
}

/// Records from the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard {
    /// A reference.
    Touch(Touch),
    /// A new piece of memory.
    Mapping(Mapping),
    /// So many references were lost because nobody read them in time.
    Lost(u64),
}

/// Samples of all that the calling thread starts from now on, from the first program that is executed there: of that program, its
/// threads and its children.
pub struct Touches {
    rings: Vec<Sampler>,
    /// Those that lead the groups of rings count as long as they are open.
    _leaders: Vec<Counter>,
}

impl Touches {
    /// Begins to listen, on these CPUs.
    ///
    /// # Errors
    /// The kernel's error: `ENOENT` where there is no such event, `EACCES` where it is forbidden.
    pub fn of_children(sampled: Sampled, cpus: &[CpuId]) -> io::Result<Self> {
        let mut leaders = Vec::new();
        let mut rings = Vec::with_capacity(cpus.len());
        for &cpu in cpus {
            let (ring, leader) = match listen(sampled, cpu, true) {
                // AMD's sampling cannot leave out the kernel's work; what it tells of that is not heard.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) && sampled != Sampled::Faults => {
                    listen(sampled, cpu, false)?
                }
                answer => answer?,
            };
            rings.push(ring);
            leaders.extend(leader);
        }
        Ok(Self { rings, _leaders: leaders })
    }

    /// All that was told since the last time, CPU by CPU.
    pub fn each(&mut self, mut hear: impl FnMut(Heard)) {
        for ring in &mut self.rings {
            while let Some(record) = ring.next_record() {
                // Records that this version of the parser does not know are not about memory.
                if let Ok(record) = record.parse_record()
                    && let Some(heard) = heard(&record)
                {
                    hear(heard);
                }
            }
        }
    }
}

/// A ring of one CPU, and the event that leads its group if one has to.
fn listen(sampled: Sampled, cpu: CpuId, user_only: bool) -> io::Result<(Sampler, Option<Counter>)> {
    let of_children = |builder: &mut Builder<'_>| {
        builder.observe_self().one_cpu(cpu.index()).inherit(true).enabled(false).enable_on_exec(true);
        builder.exclude_kernel(user_only).exclude_hv(user_only);
    };
    let mut leader = match sampled {
        Sampled::Loads(Loads { leader: Some(leader), .. }) => {
            let mut builder = Builder::new(leader);
            of_children(&mut builder);
            Some(builder.build()?)
        }
        _ => None,
    };
    let mut builder = Builder::new(sampled);
    of_children(&mut builder);
    builder.sample_period(if sampled == Sampled::Faults { 1 } else { PERIOD });
    builder.mmap(true).mmap_data(true).mmap2(true).sample(told(sampled));
    if sampled != Sampled::Faults {
        builder.precise_ip(SampleSkid::RequestZero);
    }
    let [large, rest @ ..] = RINGS;
    let mut with = |bytes| {
        let counter = match &mut leader {
            Some(leader) => builder.build_with_group(leader),
            None => builder.build(),
        };
        counter?.sampled(bytes)
    };
    let mut ring = with(large);
    for smaller in rest {
        ring = ring.or_else(|_| with(smaller));
    }
    Ok((ring?, leader))
}

/// Fields of each sample. The weight is one number of 64 bits, which is the latency of the load on every processor; as a
/// structure (`PERF_SAMPLE_WEIGHT_STRUCT`) it would be the latency's lower half, and others' beside it.
fn told(sampled: Sampled) -> SampleFlag {
    let told = SampleFlag::IP | SampleFlag::TID | SampleFlag::ADDR | SampleFlag::CPU;
    match sampled {
        Sampled::Faults => told,
        Sampled::Loads(_) => told | SampleFlag::WEIGHT | SampleFlag::DATA_SRC,
    }
}

/// Addresses from here on are the kernel's, on every computer of 64 bits that Linux runs on.
const KERNEL: u64 = 1 << 63;

fn heard(record: &Record<'_>) -> Option<Heard> {
    Some(match record {
        Record::Sample(sample) => {
            let served = match sample.data_src() {
                Some(source) => Some(served(&source)?),
                None => None,
            };
            let (site, address) = (sample.ip()?, sample.addr()?);
            // No address: the instruction was no reference, or its address is a secret.
            if site >= KERNEL || served.is_some() && (address == 0 || address >= KERNEL) {
                return None;
            }
            Heard::Touch(Touch {
                process: sample.pid()?,
                thread: sample.tid()?,
                cpu: CpuId(u16::try_from(sample.cpu()?).ok()?),
                site,
                address,
                cycles: sample.weight(),
                served,
            })
        }
        Record::Mmap2(mapping) => Heard::Mapping(Mapping {
            process: mapping.pid,
            start: mapping.addr,
            bytes: mapping.len,
            offset: mapping.pgoff,
            name: String::from_utf8_lossy(&mapping.filename).trim_end_matches('\0').to_owned(),
        }),
        Record::Lost(lost) => Heard::Lost(lost.lost),
        Record::LostSamples(lost) => Heard::Lost(lost.lost),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use perf_event::data::endian::Little;
    use perf_event::data::parse::{ParseConfig, Parser};

    use super::*;

    /// A sample of a load as the kernel lays it out (PERF_RECORD_SAMPLE of perf_event_open(2), in the order of `told`).
    fn sample(ip: u64, address: u64, weight: u64, source: u64) -> Option<Heard> {
        let (pid, tid, cpu) = (41_u64, 42_u64, 3_u64);
        let body = [ip, pid | tid << 32, address, cpu, weight, source];
        let size = (1 + body.len() as u64) * 8;
        let header = u64::from(bindings::PERF_RECORD_SAMPLE) | 2 << 32 | size << 48;
        let bytes: Vec<u8> = [header].iter().chain(&body).flat_map(|word| word.to_le_bytes()).collect();
        let loads = Sampled::Loads(Loads { code: EventCode { kind: 4, config: [0; 4] }, leader: None });
        let mut attributes = perf_event_attr::default();
        attributes.sample_type = told(loads).bits();
        let config = ParseConfig::<Little>::from(attributes);
        heard(&Parser::new(&bytes[..], config).parse().unwrap())
    }

    #[test]
    fn a_sample_is_read_as_the_kernel_lays_it_out() {
        let load = u64::from(bindings::PERF_MEM_OP_LOAD);
        let remote = u64::from(bindings::PERF_MEM_LVLNUM_RAM) << bindings::PERF_MEM_LVLNUM_SHIFT
            | 1 << bindings::PERF_MEM_REMOTE_SHIFT
            | u64::from(bindings::PERF_MEM_HOPS_1) << bindings::PERF_MEM_HOPS_SHIFT;
        let expected = Touch {
            process: 41,
            thread: 42,
            cpu: CpuId(3),
            site: 0x40_1000,
            address: 0x7f00_0000_1238,
            cycles: Some(512),
            served: Some(Served::Remote),
        };
        assert_eq!(sample(0x40_1000, 0x7f00_0000_1238, 512, load | remote), Some(Heard::Touch(expected)));
    }

    /// Where sampling cannot leave them out: the kernel's own work, and instructions that refer to nothing.
    #[test]
    fn what_is_not_of_the_program_is_not_heard() {
        let load = u64::from(bindings::PERF_MEM_OP_LOAD);
        assert_eq!(sample(0xffff_ffff_8100_0000, 0x7f00_0000_1238, 9, load), None);
        assert_eq!(sample(0x40_1000, 0, 9, load), None);
        assert_eq!(sample(0x40_1000, 0xffff_8880_0000_0000, 9, load), None);
        assert_eq!(sample(0x40_1000, 0x7f00_0000_1238, 0, u64::from(bindings::PERF_MEM_OP_NA)), None);
    }

    fn computer(files: &[(&str, &str)]) -> Option<(Sampled, u64)> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join("sys/bus/event_source/devices").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Sampled::loads(&crate::perf::monitoring_units(&crate::discovery::KernelFiles::at(root.path())))
    }

    #[test]
    fn loads_are_asked_for_as_each_processor_wants_it() {
        let code = |kind, config| EventCode { kind, config };
        let loads = |code, leader| Some((Sampled::Loads(Loads { code, leader }), PERIOD));
        let mut intel = vec![
            ("cpu/type", "4"),
            ("cpu/format/event", "config:0-7"),
            ("cpu/format/umask", "config:8-15"),
            ("cpu/format/ldlat", "config1:0-15"),
            ("cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"),
        ];
        assert_eq!(computer(&intel), loads(code(4, [0x1cd, SLOW, 0, 0]), None));
        intel.push(("cpu/events/mem-loads-aux", "event=0x03,umask=0x82"));
        assert_eq!(computer(&intel), loads(code(4, [0x1cd, SLOW, 0, 0]), Some(code(4, [0x8203, 0, 0, 0]))));
        let mut amd = vec![("ibs_op/type", "11"), ("ibs_op/format/cnt_ctl", "config:19")];
        assert_eq!(computer(&amd), loads(code(11, [0; 4]), None));
        amd.push(("ibs_op/format/swfilt", "config2:0"));
        assert_eq!(computer(&amd), loads(code(11, [0, 0, 1, 0]), None));
        assert_eq!(computer(&[("cpu/type", "4")]), None);
    }

    /// A child that is started is heard, and its faults have addresses in what it maps; where the kernel forbids that, it says so.
    #[test]
    fn children_are_heard_or_the_kernel_says_why_not() {
        let mut touches = match Touches::of_children(Sampled::Faults, &[CpuId(0)]) {
            Ok(touches) => touches,
            Err(error) => {
                let known = [
                    libc::EACCES,
                    libc::EPERM,
                    libc::ENOSYS,
                    libc::ENOENT,
                    libc::EOPNOTSUPP,
                    libc::EINVAL,
                    libc::EMFILE,
                ];
                assert!(error.raw_os_error().is_some_and(|code| known.contains(&code)), "{error}");
                return;
            }
        };
        let status = Command::new("taskset").args(["-c", "0", "true"]).status();
        if !status.is_ok_and(|status| status.success()) {
            return;
        }
        let (mut faults, mut mapped) = (0, Vec::new());
        touches.each(|heard| match heard {
            Heard::Touch(touch) => {
                assert!(touch.cpu == CpuId(0) && touch.address != 0 && touch.served.is_none());
                faults += 1;
            }
            Heard::Mapping(mapping) => mapped.push(mapping.name),
            Heard::Lost(_) => {}
        });
        assert!(faults > 10 && mapped.iter().any(|name| name.contains("libc")), "{faults} {mapped:?}");
    }
}
