//! Counts that the kernel keeps in files: of the machine, of nodes, of threads and of address spaces.
//!
//! Everything here turns the text of a file into numbers and does nothing else; [`Text`] reads such files again and again
//! without allocating.

mod cpu;
mod keyed;
mod numa_maps;
mod task;
mod text;

pub use cpu::{CpuTimes, cpu_times};
pub use keyed::{find_keys, read_keys};
pub use numa_maps::{NodeMemory, numa_maps};
pub use task::{RunTimes, TaskSched, TaskStat, TaskStatus, run_times, task_sched, task_stat, task_status};
pub use text::Text;
