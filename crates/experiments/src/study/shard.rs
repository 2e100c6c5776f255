//! Shards: the part of a study's runs that one task of a job array takes.

use std::str::FromStr;

use thiserror::Error;

/// Part `number` of `count`, from 1: every `count`-th run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    number: usize,
    count: usize,
}

/// A shard that there is not.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ShardError {
    /// The words are none.
    #[error("no shard; accepted: I/N, as 2/8 for the second of eight, or slurm within a job array of Slurm")]
    Words,
    /// Slurm's variables do not tell.
    #[error("{problem}; accepted: slurm in a task of a job array (sbatch --array=1-8), or I/N, as 2/8")]
    Slurm {
        /// The fault of the variables.
        problem: String,
    },
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let (number, count) = text.split_once('/').ok_or(ShardError::Words)?;
        match (number.parse(), count.parse()) {
            (Ok(number), Ok(count)) if number >= 1 && number <= count => Ok(Self { number, count }),
            _ => Err(ShardError::Words),
        }
    }
}

impl Shard {
    /// The shard of a task of a job array, by the variables that Slurm gives it (sbatch(1), OUTPUT ENVIRONMENT VARIABLES): its
    /// number among as many as there are, counted from the first.
    ///
    /// # Errors
    /// When there are no such variables, or the numbers of the array are not equally spaced.
    pub fn of_slurm(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ShardError> {
        let read = |name: &str| {
            let text = variable(name).ok_or_else(|| ShardError::Slurm { problem: format!("{name} is not set") })?;
            let no_number = |_| ShardError::Slurm { problem: format!("{name}={text} is no whole number") };
            text.parse::<usize>().map_err(no_number)
        };
        let (task, count) = (read("SLURM_ARRAY_TASK_ID")?, read("SLURM_ARRAY_TASK_COUNT")?);
        let first = read("SLURM_ARRAY_TASK_MIN")?;
        let step = variable("SLURM_ARRAY_TASK_STEP").map_or(Ok(1), |_| read("SLURM_ARRAY_TASK_STEP"))?.max(1);
        let beyond = task.checked_sub(first).filter(|beyond| beyond % step == 0 && beyond / step < count);
        let problem = format!("task {task} of {count} from {first} on, in steps of {step}: the numbers have gaps");
        let place = beyond.ok_or(ShardError::Slurm { problem })? / step;
        Ok(Self { number: place + 1, count })
    }

    /// Whether the run at `place` of a study is in it.
    pub const fn has(self, place: usize) -> bool {
        place % self.count == self.number - 1
    }

    /// Its number and how many there are, in words.
    pub fn name(self) -> String {
        format!("{}/{}", self.number, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_in_one_shard() {
        let shards: Vec<Shard> = (1..=3).map(|number| format!("{number}/3").parse().expect("a shard")).collect();
        for place in 0..10 {
            assert_eq!(shards.iter().filter(|shard| shard.has(place)).count(), 1, "{place}");
        }
        for wrong in ["0/3", "4/3", "1", "1/0", "a/b", "", "-1/2", "slurm"] {
            assert_eq!(wrong.parse::<Shard>(), Err(ShardError::Words), "{wrong}");
        }
    }

    #[test]
    fn slurm_counts_tasks_from_any_number_in_any_steps() {
        let of = |all: &[(&str, &str)]| {
            Shard::of_slurm(|name| all.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        };
        let [id, count, min, step] =
            ["SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP"];
        assert_eq!(of(&[(id, "0"), (count, "4"), (min, "0")]), Ok(Shard { number: 1, count: 4 }));
        assert_eq!(of(&[(id, "7"), (count, "4"), (min, "4")]), Ok(Shard { number: 4, count: 4 }));
        assert_eq!(of(&[(id, "9"), (count, "3"), (min, "1"), (step, "4")]), Ok(Shard { number: 3, count: 3 }));
        let refused = |all: &[(&str, &str)]| of(all).expect_err("refused").to_string();
        assert!(refused(&[]).starts_with("SLURM_ARRAY_TASK_ID is not set"));
        assert!(refused(&[(id, "x"), (count, "3"), (min, "1")]).contains("ID=x is no whole number"));
        assert!(refused(&[(id, "9"), (count, "3"), (min, "1")]).contains("gaps"));
        assert!(refused(&[(id, "0"), (count, "3"), (min, "1")]).contains("accepted: "));
    }
}
