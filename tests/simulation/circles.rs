//! Circles give points and supply, as the map says.

use super::every_match::{first_state, idle, run_to_end, standard};
use sim::*;

#[test]
fn points_win() {
    let mut state = first_state();
    state.circles.owner[0] = PlayerId(0);
    state.circles.owner[1] = PlayerId(0);
    state.circles.owner[2] = PlayerId(1);
    state.players.score[0] = standard(1).rules.score_to_win - 50;
    // The middle circle gives two points a second, each outer one a point.
    assert_eq!(run_to_end(state, standard(1)), (Outcome::Score, Some(0), Tick(25 * 60)));
}

#[test]
fn a_circle_gives_its_team_the_supply_of_the_map() {
    let supply_after_10_s = |owned: &[(usize, u8)]| {
        let mut state = first_state();
        for &(circle, player) in owned {
            state.circles.owner[circle] = PlayerId(player);
        }
        let mut world = World::restore(standard(1), state).expect("of this setup");
        idle(&mut world, 600);
        world.state().players.supply.clone()
    };
    let plain = supply_after_10_s(&[]);
    assert_eq!(plain, [SUPPLY * 3 + SUPPLY * 18 / 6; 2]);
    // One outer circle each: nobody is behind.
    assert_eq!(supply_after_10_s(&[(1, 0), (2, 1)]), [plain[0] + SUPPLY * 2 / 6; 2]);
    // The middle gives points, and no supply; who is behind gets more.
    let [ahead, behind] = supply_after_10_s(&[(0, 0)])[..] else { panic!("two players") };
    assert!(ahead == plain[0] && behind > plain[1], "{ahead} {behind} {plain:?}");
}
