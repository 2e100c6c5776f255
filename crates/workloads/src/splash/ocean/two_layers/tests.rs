//! Two layers on plain memory, whose results are what whole grids give.

use std::cell::Cell;

use super::*;
use crate::parallel::{Alone, shape_of_one};

/// Regions after a run of one thread.
fn left_behind(basin: &Basin, shape: &Shape) -> Vec<Vec<u64>> {
    let plans = basin.regions(shape);
    let regions: Vec<Vec<Cell<u64>>> = plans.iter().map(|plan| vec![Cell::new(0); plan.words()]).collect();
    basin.run(shape, &regions, &mut Alone);
    regions.into_iter().map(|words| words.into_iter().map(Cell::into_inner).collect()).collect()
}

/// SPLASH-2's run on a small basin; and a wrong value in the middle of any grid is found.
#[test]
fn six_steps_are_those_of_whole_grids() {
    let (basin, shape) = (Basin::new(16, 6), shape_of_one());
    let regions = left_behind(&basin, &shape);
    let check = |spoilt: Option<usize>| {
        basin.check(&shape, &|region, word| {
            let value = regions[region][word];
            if region == GRIDS && spoilt == Some(word) {
                (f64::from_bits(value) * 1.001 + 1e-30).to_bits()
            } else {
                value
            }
        })
    };
    assert_eq!(check(None), Ok(()));
    let partition = basin.partition(&shape);
    for (field, grid) in Field::ALL.into_iter().zip(Basin::grids(&(), &partition, &shape)) {
        let (_, start) = grid.words(0, 6);
        assert!(
            regions[GRIDS][start + 3] != 0 || [Field::Psium, Field::Psilm].contains(&field),
            "{field:?} has values"
        );
        assert!(check(Some(start + 3)).is_err(), "{field:?}");
    }
}

/// More levels lead to the same solutions, but for what the solver tolerates.
#[test]
fn levels_do_not_change_the_solution() {
    let [few, many] = [1, 4].map(|levels| {
        let mut serial = Serial::new(16, levels);
        (0..3).for_each(|_| serial.step());
        serial
    });
    for field in [Field::OldGa, Field::OldGb, Field::Psib] {
        let [few, many] = [&few, &many].map(|serial| serial.grids()[field as usize].to_vec());
        let most = few.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        let off = few.iter().zip(&many).map(|(few, many)| (few - many).abs()).fold(0.0, f64::max);
        assert!(most > 1e-5 && off < 3e-6, "{field:?}: {off:e} of {most:e}");
    }
}
