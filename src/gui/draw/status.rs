//! The status line: the most important fact of the moment.

use sim::CAPTURED;
use sim::{GameState, Outcome, PlayerId};

use super::colours::{GOLD, NEUTRAL, RED};
use super::view::View;
use macroquad::color::Color;

/// Distance to the winning score at which it is mentioned, in points.
const NEARLY: i32 = 30;
/// Time before sudden death at which it is announced, in seconds.
const ANNOUNCED_S: u32 = 30;

/// Returns the status line and its colour: gold for a chance, red for a danger.
pub(super) fn line(view: &View<'_>) -> (String, Color) {
    let state = view.state();
    if state.outcome() != Outcome::Running {
        return (verdict(view), GOLD);
    }
    match view.my_team() {
        Some(team) => for_player(view, state, team),
        None => for_spectator(view, state),
    }
}

/// Returns the worst danger, else the best chance, else the next step to open a core.
fn for_player(view: &View<'_>, state: &GameState, team: u8) -> (String, Color) {
    if let Some(line) = danger(view, state, team) {
        return (line, RED);
    }
    let held = state.circles_held(team);
    let needed = state.circles.len() / 2 + 1;
    let (core, open, burn) = enemy_cores(state, team);
    if view.is_sudden() {
        return (format!("Sudden death: their {core} {burn}, hold on"), GOLD);
    }
    if held >= needed {
        let verb = if core == "core" { "is open: strike it" } else { "are open: strike one" };
        return (format!("Their {core} {verb}"), GOLD);
    }
    if let Some(left) = until_sudden_death(view) {
        return (format!("Sudden death in {left} s"), RED);
    }
    if held + 1 == needed && held > 0 {
        return (format!("Take one more circle: their {core} {open}"), GOLD);
    }
    (format!("Hold {} circle{}: their {core} {open}", word(needed), plural(needed)), GOLD)
}

/// Returns the first threat that would end the match: points, then the core, then a circle, then the loss of the
/// core's shield.
fn danger(view: &View<'_>, state: &GameState, team: u8) -> Option<String> {
    let rules = &view.scene.setup.rules;
    let theirs = others(state, team).map(|other| score(state, other)).max().unwrap_or(0);
    let left = rules.score_to_win - theirs;
    if !rules.endless && left <= NEARLY {
        return Some(format!(
            "They win in {left} point{}: take circles",
            plural(left.unsigned_abs() as usize)
        ));
    }
    if view.scene.is_core_hit {
        return Some("Your core is being hit: defend it".into());
    }
    let held = state.circles_held(team);
    let most = others(state, team).map(|other| state.circles_held(other)).max().unwrap_or(0);
    if view.is_sudden() && held < most {
        return Some("Sudden death: your core burns, take circles".into());
    }
    if view.is_sudden() && held == most {
        return Some("Sudden death: no core is safe, take one more circle".into());
    }
    if is_losing(state, team) {
        return Some("They take your circle: stop them".into());
    }
    let needed = state.circles.len() / 2 + 1;
    let back = (most + 1).checked_sub(needed).filter(|&back| back > 0 && !view.is_sudden())?;
    Some(if has_held(state, team) {
        format!("Your core is open: retake {}", word(back))
    } else {
        let which = if back == 1 { "a" } else { word(back) };
        format!("Your core is open: take {which} circle{}", plural(back))
    })
}

/// Whether this team has ever held a circle.
fn has_held(state: &GameState, team: u8) -> bool {
    let members = state.player_ids().filter(|&player| state.team_of(player) == team);
    state.circles_held(team) > 0
        || members.map(|player| state.players.captures[player.index()]).any(|n| n > 0)
}

/// Returns phrases for all enemy cores, for "they open" and for "they burn", in singular or plural.
fn enemy_cores(state: &GameState, team: u8) -> (&'static str, &'static str, &'static str) {
    let stands = |player: &PlayerId| state.team_of(*player) != team && state.cores.hp[player.index()] > 0;
    if state.player_ids().filter(stands).count() == 1 {
        ("core", "opens", "burns")
    } else {
        ("cores", "open", "burn")
    }
}

/// Whether an enemy has captured more than a quarter of one of this team's circles.
fn is_losing(state: &GameState, team: u8) -> bool {
    let circles = &state.circles;
    (0..circles.len()).any(|circle| {
        circles.owner[circle] != PlayerId::NONE
            && state.team_of(circles.owner[circle]) == team
            && circles.taker[circle] != PlayerId::NONE
            && circles.progress[circle] > CAPTURED / 4
    })
}

fn for_spectator(view: &View<'_>, state: &GameState) -> (String, Color) {
    if view.is_sudden() {
        return ("Sudden death".into(), RED);
    }
    let is_open =
        |player: &PlayerId| state.cores.open[player.index()] != 0 && state.cores.hp[player.index()] > 0;
    let mut opened = state.player_ids().filter(is_open);
    match (opened.next(), opened.count()) {
        (Some(player), 0) => return (format!("The core of {} is open", view.name(player)), GOLD),
        (Some(_), more) => return (format!("{} cores are open", capital(word(more + 1))), GOLD),
        (None, _) => {}
    }
    if let Some(left) = until_sudden_death(view) {
        return (format!("Sudden death in {left} s"), RED);
    }
    let needed = state.circles.len() / 2 + 1;
    (format!("{} circle{} open a core", capital(word(needed)), plural(needed)), NEUTRAL)
}

fn verdict(view: &View<'_>) -> String {
    match (view.state().winner(), view.my_team()) {
        (None, _) => "A draw".into(),
        (Some(winner), Some(mine)) if winner == mine => "You win".into(),
        (Some(_), Some(_)) => "You lose".into(),
        (Some(winner), None) => {
            let first = view.state().player_ids().find(|&player| view.state().team_of(player) == winner);
            format!("{} wins", first.map_or("Nobody", |player| view.name(player)))
        }
    }
}

/// Returns the seconds until sudden death, if few are left.
fn until_sudden_death(view: &View<'_>) -> Option<u32> {
    let rate = view.scene.setup.tick_rate.hz();
    let left = view.sudden_death().since(view.state().clock()).div_ceil(rate);
    Some(left).filter(|&left| !view.scene.setup.rules.endless && (1..=ANNOUNCED_S).contains(&left))
}

fn others(state: &GameState, team: u8) -> impl Iterator<Item = u8> + '_ {
    state.player_ids().map(|player| state.team_of(player)).filter(move |&other| other != team)
}

/// Returns the points of a team.
pub(super) fn score(state: &GameState, team: u8) -> i32 {
    let members = state.player_ids().filter(|&player| state.team_of(player) == team);
    members.map(|player| state.players.score[player.index()]).max().unwrap_or(0)
}

fn word(number: usize) -> &'static str {
    ["no", "one", "two", "three", "four", "five", "six", "seven", "eight"].get(number).unwrap_or(&"many")
}

fn plural(number: usize) -> &'static str {
    if number == 1 { "" } else { "s" }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use game::data;
    use macroquad::math::Rect;
    use sim::{KindId, SeatSetup, Setup, Tick, TickRate, World};

    use super::super::{Camera, Scene};
    use super::*;

    /// Returns the lines for both players and for a spectator in a match changed by `change`.
    fn lines(change: impl Fn(&mut GameState)) -> [String; 3] {
        lines_on("standard", &[0, 1], change)
    }

    /// Returns the lines for the first two teams' players and for a spectator on a map.
    fn lines_on(map: &str, teams: &[u8], change: impl Fn(&mut GameState)) -> [String; 3] {
        lines_while(map, teams, change, false)
    }

    fn lines_while(
        map: &str,
        teams: &[u8],
        change: impl Fn(&mut GameState),
        is_core_hit: bool,
    ) -> [String; 3] {
        let seat = |&team| SeatSetup { hero: KindId(0), team };
        let setup = Setup {
            seed: 1,
            tick_rate: TickRate::HZ_60,
            seats: teams.iter().map(seat).collect(),
            rules: data::rules("standard").expect("built in"),
            map: data::map(map).expect("built in"),
        };
        let mut state = World::new(setup.clone()).state().clone();
        change(&mut state);
        let camera = Camera::whole(&setup.map, Rect::new(0.0, 0.0, 1280.0, 720.0));
        [Some(PlayerId(0)), Some(PlayerId(1)), None].map(|me| {
            let scene = Scene {
                setup: &setup,
                previous: &state,
                current: &state,
                alpha: 1.0,
                time_s: 0.0,
                me,
                names: &[],
                selected: &[],
                hovered: None,
                drag: None,
                pointer_order: None,
                base_selected: false,
                alert: None,
                goal: None,
                net: None,
                is_core_hit,
                training: None,
            };
            line(&View::new(&camera, &scene, Rect::new(0.0, 0.0, 1280.0, 720.0))).0
        })
    }

    fn hold(state: &mut GameState, circles: &[(usize, u8)]) {
        for &(circle, player) in circles {
            state.circles.owner[circle] = PlayerId(player);
        }
    }

    #[test]
    fn the_line_follows_the_circles() {
        let [mine, ..] = lines(|_| {});
        assert_eq!(mine, "Hold two circles: their core opens");
        let [mine, theirs, _] = lines(|state| hold(state, &[(0, 0)]));
        assert_eq!(mine, "Take one more circle: their core opens");
        assert_eq!(theirs, "Hold two circles: their core opens");
        let [mine, theirs, others] = lines(|state| {
            hold(state, &[(0, 0), (1, 0)]);
            state.cores.open[1] = 1;
        });
        assert_eq!(mine, "Their core is open: strike it");
        assert_eq!(theirs, "Your core is open: take a circle");
        assert_eq!(others, "The core of Orange is open");
        let [mine, ..] = lines(|state| {
            hold(state, &[(0, 0), (1, 0)]);
            (state.circles.taker[1], state.circles.progress[1]) = (PlayerId(1), CAPTURED / 2);
        });
        assert_eq!(mine, "They take your circle: stop them");
    }

    /// Changes that make a situation of a duel, seen by player 0.
    #[derive(Clone, Copy, Default)]
    struct Situation {
        mine: &'static [usize],
        theirs: &'static [usize],
        /// Circle that the enemy is capturing.
        taken: Option<usize>,
        captures: u16,
        scores: [i32; 2],
        is_core_hit: bool,
        second: u32,
    }

    #[test]
    fn the_worst_danger_comes_first() {
        const NONE: Situation = Situation {
            mine: &[],
            theirs: &[],
            taken: None,
            captures: 0,
            scores: [0, 0],
            is_core_hit: false,
            second: 1,
        };
        let open = Situation { theirs: &[1, 2], ..NONE };
        let ahead = Situation { mine: &[0, 1], captures: 2, ..NONE };
        let late = Situation { second: 301, ..NONE };
        let table = [
            (NONE, "Hold two circles: their core opens"),
            (Situation { mine: &[0], ..NONE }, "Take one more circle: their core opens"),
            (ahead, "Their core is open: strike it"),
            (open, "Your core is open: take a circle"),
            (Situation { captures: 1, ..open }, "Your core is open: retake one"),
            (Situation { theirs: &[0, 1, 2], ..open }, "Your core is open: take two circles"),
            (Situation { theirs: &[0, 1, 2], captures: 1, ..open }, "Your core is open: retake two"),
            (Situation { mine: &[0], taken: Some(0), ..open }, "They take your circle: stop them"),
            (Situation { taken: Some(1), ..ahead }, "They take your circle: stop them"),
            (Situation { is_core_hit: true, ..open }, "Your core is being hit: defend it"),
            (
                Situation { is_core_hit: true, mine: &[0], taken: Some(0), ..open },
                "Your core is being hit: defend it",
            ),
            (Situation { scores: [0, 465], ..open }, "They win in 5 points: take circles"),
            (Situation { scores: [0, 469], is_core_hit: true, ..open }, "They win in 1 point: take circles"),
            (Situation { scores: [0, 439], ..open }, "Your core is open: take a circle"),
            (Situation { scores: [465, 0], ..ahead }, "Their core is open: strike it"),
            (Situation { second: 280, ..ahead }, "Their core is open: strike it"),
            (Situation { second: 280, ..open }, "Your core is open: take a circle"),
            (Situation { second: 280, ..NONE }, "Sudden death in 20 s"),
            (late, "Sudden death: no core is safe, take one more circle"),
            (Situation { theirs: &[0], ..late }, "Sudden death: your core burns, take circles"),
            (Situation { mine: &[0], ..late }, "Sudden death: their core burns, hold on"),
            (Situation { mine: &[0], taken: Some(0), ..late }, "They take your circle: stop them"),
            (Situation { is_core_hit: true, ..late }, "Your core is being hit: defend it"),
            (Situation { scores: [0, 465], ..late }, "They win in 5 points: take circles"),
        ];
        for (at, (situation, expected)) in table.into_iter().enumerate() {
            let Situation { mine, theirs, taken, captures, scores, is_core_hit, second } = situation;
            let change = |state: &mut GameState| {
                state.globals.tick[0] = Tick(second * 60);
                mine.iter().for_each(|&circle| hold(state, &[(circle, 0)]));
                theirs.iter().for_each(|&circle| hold(state, &[(circle, 1)]));
                if let Some(circle) = taken {
                    (state.circles.taker[circle], state.circles.progress[circle]) =
                        (PlayerId(1), CAPTURED / 2);
                }
                state.players.captures[0] = captures;
                (state.players.score[0], state.players.score[1]) = (scores[0], scores[1]);
            };
            let [line, ..] = lines_while("standard", &[0, 1], change, is_core_hit);
            assert_eq!(line, expected, "situation {at}");
        }
    }

    #[test]
    fn several_enemies_have_several_cores() {
        let hold_three = |state: &mut GameState| {
            hold(state, &[(0, 0), (1, 0), (2, 0)]);
            for enemy in 1..4 {
                state.cores.open[enemy] = 1;
            }
        };
        let [mine, theirs, others] = lines_on("quad", &[0, 1, 2, 3], hold_three);
        assert_eq!(mine, "Their cores are open: strike one");
        assert_eq!(theirs, "Your core is open: take a circle");
        assert_eq!(others, "Three cores are open");
        let [mine, ally, _] = lines_on("quad", &[0, 0, 1, 1], |_| {});
        assert_eq!([mine, ally], ["Hold three circles: their cores open"; 2]);
        let [mine, ..] = lines_on("quad", &[0, 1, 2, 3], |state| {
            (state.cores.hp[1], state.cores.hp[3]) = (0, 0);
        });
        assert_eq!(mine, "Hold three circles: their core opens");
    }

    #[test]
    fn the_line_announces_the_end() {
        let [mine, theirs, others] = lines(|state| {
            state.globals.tick[0] = Tick(301 * 60);
            hold(state, &[(0, 0)]);
        });
        assert_eq!(mine, "Sudden death: their core burns, hold on");
        assert_eq!(theirs, "Sudden death: your core burns, take circles");
        assert_eq!(others, "Sudden death");
        let [mine, ..] = lines(|state| state.globals.tick[0] = Tick(299 * 60));
        assert_eq!(mine, "Sudden death in 1 s");
        let [mine, theirs, _] = lines(|state| state.players.score[1] = 450);
        assert_eq!(mine, "They win in 20 points: take circles");
        assert_eq!(theirs, "Hold two circles: their core opens");
    }
}
