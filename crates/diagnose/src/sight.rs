//! Classes of faults that a diagnosis could examine and those that it could not: no finding of a class is news only where its
//! faults would have shown.

use record::{Attribution, Evidence};

use crate::Class;

/// Which classes of faults a run shows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sight {
    /// The classes whose faults would have been found.
    pub examined: Vec<Class>,
    /// Those whose faults would not, and why, those of one reason together.
    pub unexamined: Vec<(Vec<Class>, String)>,
}

impl Sight {
    /// The classes that `run` shows, beside a run on fewer processors if there was one.
    pub fn of(run: &Attribution, has_fewer: bool) -> Self {
        let mut sight = Self::default();
        for class in Class::ALL {
            // A simulated machine without an operating system has a processor for every thread, and most keep no pages of others.
            let foreign = match class {
                Class::RunQueue => run.usable_processors == 0,
                Class::RepeatedMisses => run.page_mechanisms.is_empty(),
                _ => false,
            };
            if foreign {
                continue;
            }
            match blindness(run, class, has_fewer) {
                None => sight.examined.push(class),
                Some(why) => match sight.unexamined.iter_mut().find(|(_, other)| *other == why) {
                    Some((classes, _)) => classes.push(class),
                    None => sight.unexamined.push((vec![class], why)),
                },
            }
        }
        sight
    }

    /// In one sentence what was not examined, and why; `None` if everything was.
    pub fn limits(&self) -> Option<String> {
        let part = |(classes, why): &(Vec<Class>, String)| format!("{} ({why})", names(classes));
        let parts: Vec<String> = self.unexamined.iter().map(part).collect();
        (!parts.is_empty()).then(|| format!("not examined: {}", parts.join("; ")))
    }

    /// In one sentence that there is no finding, among what.
    pub fn nothing_found(&self) -> String {
        let least = 100.0 * crate::WORTH_TELLING;
        match self.unexamined.is_empty() {
            true => format!("no finding above {least:.0} % of the time"),
            false => format!(
                "no finding above {least:.0} % of the time; examined: {}",
                if self.examined.is_empty() { "nothing".to_owned() } else { names(&self.examined) }
            ),
        }
    }
}

/// Why faults of a class would not have shown; `None` if they would.
fn blindness(run: &Attribution, class: Class, has_fewer: bool) -> Option<String> {
    let why = |evidence: &Evidence| match evidence {
        Evidence::FewerProcessors if has_fewer => None,
        Evidence::FewerProcessors => {
            Some(run.unseen.get(evidence).cloned().unwrap_or_else(|| "needs a run on fewer processors".to_owned()))
        }
        evidence => run.unseen.get(evidence).cloned(),
    };
    // The first reason is that of the evidence that would show most.
    let reasons: Option<Vec<String>> = class.shown_by().iter().map(why).collect();
    reasons.and_then(|reasons| reasons.into_iter().next())
}

fn names(classes: &[Class]) -> String {
    classes.iter().map(|class| class.name()).collect::<Vec<_>>().join(", ")
}
