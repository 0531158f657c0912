//! The status line: the most important fact of the moment.

use game::phrase::{counted, possessive};
use sim::CAPTURED;
use sim::{GameState, Outcome, PlayerId};

use super::colours::{GOLD, NEUTRAL, RED};
use super::view::{View, point};
use macroquad::color::Color;

/// Distance to the winning score at which it is mentioned, in points.
const NEARLY: i32 = 30;
/// Distance around a minion within which units belong to its fight, in tiles: a little more than a bow reaches.
const FIGHT_TILES: f32 = 10.0;
/// Time before sudden death at which it is announced, in seconds.
const ANNOUNCED_S: u32 = 30;
/// Seconds at the start in which the line explains the signs of the circles.
const NEW_GROUND_S: u32 = 12;

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

/// Facts of a moment for one player, from which the line follows.
#[derive(Clone, Debug)]
struct Situation {
    /// Points that the best enemy lacks to win; large without a score that wins.
    points_left: i32,
    is_core_hit: bool,
    is_losing_circle: bool,
    is_sudden: bool,
    /// Seconds until sudden death, if few are left.
    sudden_in: Option<u32>,
    /// Circles held by the own team and by the best enemy, and those that open a core.
    held: usize,
    theirs: usize,
    needed: usize,
    has_held: bool,
    /// Whether the match has just begun on a map whose circles give different things.
    is_new_ground: bool,
    /// Number of enemy cores that stand.
    cores: usize,
    fight: Fight,
}

/// Strength of both sides where the player's minions meet the most enemies. Heroes count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fight {
    ours: usize,
    enemies: usize,
    /// The player's units among ours, and whether the player's hero is one of them.
    mine: usize,
    has_hero: bool,
    /// Whether the player's hero lives.
    hero_lives: bool,
}

impl Fight {
    /// Whether it is lost as it stands: half as many again and two more.
    const fn is_hopeless(self) -> bool {
        self.mine > 0 && self.enemies >= self.ours + 2 && 2 * self.enemies >= 3 * self.ours
    }

    /// Whether it is won as it stands.
    const fn is_strong(self) -> bool {
        self.enemies > 0 && self.ours >= self.enemies + 2 && 2 * self.ours >= 3 * self.enemies
    }

    /// Says the numbers, such as "Three against eight".
    fn words(self) -> String {
        format!("{} against {}", capital(word(self.ours)), word(self.enemies))
    }
}

/// Condition of a line, its text, and its colour.
type Rule = (fn(&Situation) -> bool, fn(&Situation) -> String, Color);

/// The lines from the worst danger to the least, then from the best chance to the next step; the last one always
/// applies.
const RULES: [Rule; 17] = [
    (
        |it| it.points_left <= NEARLY,
        |it| format!("They win in {}: take circles", counted(it.points_left, "point", "points")),
        RED,
    ),
    (|it| it.is_core_hit, |_| "Your core is being hit: defend it".into(), RED),
    (|it| it.is_sudden && it.held < it.theirs, |_| "Sudden death: your core burns, take circles".into(), RED),
    (
        |it| it.is_sudden && it.held == it.theirs,
        |_| "Sudden death: no core is safe, take one more circle".into(),
        RED,
    ),
    (
        |it| it.fight.is_hopeless() && !it.fight.has_hero && it.fight.hero_lives && !it.is_sudden,
        |it| format!("{}: wait for your hero", it.fight.words()),
        RED,
    ),
    (
        |it| it.fight.is_hopeless() && !it.is_sudden,
        |it| format!("{}: fall back, train, regroup", it.fight.words()),
        RED,
    ),
    (|it| it.is_losing_circle, |_| "They take your circle: stop them".into(), RED),
    (
        |it| it.circles_to_close() > 0 && !it.is_sudden && it.has_held,
        |it| format!("Your core is open: retake {}", word(it.circles_to_close())),
        RED,
    ),
    (
        |it| it.circles_to_close() > 0 && !it.is_sudden,
        |it| {
            let back = it.circles_to_close();
            let which = if back == 1 { "a" } else { word(back) };
            format!("Your core is open: take {which} circle{}", plural(back))
        },
        RED,
    ),
    (|it| it.is_sudden, |it| format!("Sudden death: their {}, hold on", it.cores("burns", "burn")), GOLD),
    (
        |it| it.held >= it.needed && it.fight.is_strong(),
        |it| format!("{}, their {}: strike", it.fight.words(), it.cores("is open", "are open")),
        GOLD,
    ),
    (
        |it| it.held >= it.needed,
        |it| {
            let which = if it.cores == 1 { "it" } else { "one" };
            format!("Their {}: strike {which}", it.cores("is open", "are open"))
        },
        GOLD,
    ),
    (|it| it.sudden_in.is_some(), |it| format!("Sudden death in {} s", it.sudden_in.unwrap_or(0)), RED),
    (|it| it.fight.is_strong(), |it| format!("{}: drive them off", it.fight.words()), GOLD),
    (
        |it| it.held + 1 == it.needed && it.held > 0,
        |it| format!("Take one more circle: their {}", it.cores("opens", "open")),
        GOLD,
    ),
    (
        |it| it.is_new_ground,
        |_| "A circle's dots are points a second, its plus signs supply a minute".into(),
        GOLD,
    ),
    (
        |_| true,
        |it| {
            let needed = it.needed;
            format!("Hold {} circle{}: their {}", word(needed), plural(needed), it.cores("opens", "open"))
        },
        GOLD,
    ),
];

/// Returns the line of the first rule that applies.
fn for_player(view: &View<'_>, state: &GameState, team: u8) -> (String, Color) {
    say(&Situation::of(view, state, team))
}

fn say(situation: &Situation) -> (String, Color) {
    let found = RULES.iter().find(|(applies, ..)| applies(situation));
    found.map_or_else(|| (String::new(), NEUTRAL), |(_, says, colour)| (says(situation), *colour))
}

impl Situation {
    fn of(view: &View<'_>, state: &GameState, team: u8) -> Self {
        let rules = &view.scene.setup.rules;
        let best = others(state, team).map(|other| score(state, other)).max().unwrap_or(0);
        Self {
            points_left: if rules.endless { i32::MAX } else { rules.score_to_win - best },
            is_core_hit: view.scene.is_core_hit,
            is_losing_circle: is_losing(state, team),
            is_sudden: view.is_sudden(),
            sudden_in: until_sudden_death(view),
            held: state.circles_held(team),
            theirs: others(state, team).map(|other| state.circles_held(other)).max().unwrap_or(0),
            needed: state.circles.len() / 2 + 1,
            has_held: has_held(state, team),
            is_new_ground: view.scene.setup.map.circles_differ()
                && state.clock().0 < NEW_GROUND_S * view.scene.setup.tick_rate.hz(),
            cores: enemy_cores(state, team),
            fight: view.scene.me.map_or_else(Fight::default, |me| greatest_fight(state, me)),
        }
    }

    /// Says what the enemy cores that stand do, by the verb of one and that of several: "core opens", "cores open".
    fn cores(&self, does: &str, all_do: &str) -> String {
        if self.cores == 1 { format!("core {does}") } else { format!("cores {all_do}") }
    }

    /// Returns how many circles close the own core again; 0 while it is closed.
    const fn circles_to_close(&self) -> usize {
        (self.theirs + 1).saturating_sub(self.needed)
    }
}

/// Returns the fight around the minion of a player that has the most enemies near.
fn greatest_fight(state: &GameState, me: PlayerId) -> Fight {
    let units = &state.units;
    let team = state.team_of(me);
    let rows = || 0..units.len();
    let at = |row: usize| point(units.x[row], units.y[row]);
    let is_near = |a: usize, b: usize| at(a).distance_squared(at(b)) <= FIGHT_TILES * FIGHT_TILES;
    let hero = state.hero(me);
    let around = |middle: usize| {
        let near = || rows().filter(move |&row| is_near(middle, row));
        Fight {
            ours: near().filter(|&row| state.team(row) == team).count(),
            enemies: near().filter(|&row| state.team(row) != team).count(),
            mine: near().filter(|&row| units.owner[row] == me).count(),
            has_hero: hero.is_some_and(|hero| is_near(middle, hero)),
            hero_lives: hero.is_some(),
        }
    };
    let minions = rows().filter(|&row| units.owner[row] == me && Some(row) != hero);
    let fights = minions.map(around).filter(|fight| fight.enemies > 0);
    fights.max_by_key(|fight| (fight.enemies, fight.ours)).unwrap_or_default()
}

/// Whether this team has ever held a circle.
fn has_held(state: &GameState, team: u8) -> bool {
    let members = state.player_ids().filter(|&player| state.team_of(player) == team);
    state.circles_held(team) > 0
        || members.map(|player| state.players.captures[player.index()]).any(|n| n > 0)
}

/// Returns the number of enemy cores that stand.
fn enemy_cores(state: &GameState, team: u8) -> usize {
    let stands = |player: &PlayerId| state.team_of(*player) != team && state.cores.hp[player.index()] > 0;
    state.player_ids().filter(stands).count()
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
        (Some(player), 0) => return (format!("{} core is open", possessive(view.name(player))), GOLD),
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
    Some(left).filter(|left| (1..=ANNOUNCED_S).contains(left))
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
mod tests;
