//! The goals of a bot: the strength of both sides at the important places, and the choice between them.

use arrayvec::ArrayVec;

use super::view::{Draw, MINION_WORTH, Rows, View, is_within, tiles_between};
use sim::math::{Fx, Vec2};
use sim::{CIRCLES_MAX, Order, PLAYERS_MAX, PlayerId};

/// Units within this distance of a place count as being there.
const NEAR: i32 = 9;
/// Reduction of the strength that an army waits for if its player is 100 points behind or more, in percent of the
/// enemy's strength.
const HASTE: i32 = 40;
/// Reduction per minute of the strength needed for an attack on a core, in percent of the enemy's strength, and its
/// minimum.
const PUSH: (i32, i32) = (60, 150);
/// Maximum random variation of that, in percent up or down.
const MOOD: i32 = 60;
/// Strength below which an army on its way to a core turns back, in percent of the enemy's.
const TURN_BACK: i32 = 100;
/// Maximum distance of a gathering circle from home, in tiles.
const RALLY: i32 = 24;
/// Minimum value of a goal.
const LEAST_USE: i32 = -10;

/// Important place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    pub(super) at: Vec2,
    pub(super) kind: SiteKind,
    /// Strength of the other teams there.
    pub(super) foes: i32,
    /// Value, in tiles worth walking for it.
    pub(super) gain: i32,
}

/// Meaning of a place to the player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SiteKind {
    /// Circle that is not safely held.
    Circle,
    /// The player's core, open and under attack.
    Home,
    /// Enemy core without a shield.
    Core,
}

/// Goals of a bot.
pub(super) struct Plan {
    /// Goal of hero and main army.
    pub(super) main: Vec2,
    /// Whether they go there to fight, or only to wait.
    pub(super) is_bold: bool,
    /// Circles that a few minions can take.
    pub(super) spare: ArrayVec<Vec2, CIRCLES_MAX>,
    /// Place to gather when outnumbered.
    pub(super) shelter: Vec2,
}

impl Plan {
    pub(super) fn new(view: &View<'_>) -> Self {
        let forces = Forces::of(view);
        let middle = middle(view);
        let shelter = view.home;
        let mut sites = sites(view, middle, &forces);
        sites.sort_unstable_by_key(|site| (-site.gain, view.order_of(site.at)));
        let gathers = gathers(view, middle, &forces) && view.skill.is_tactical;
        let best = sites.first().filter(|site| site.gain > LEAST_USE);
        let best = best.filter(|site| !gathers || site.kind == SiteKind::Home);
        let main = match best {
            Some(site) => site.at,
            None if gathers => rally(view, &forces),
            None if is_lenient(view) => near_circle(view),
            None => front(view),
        };
        let is_spare = |site: &&Site| site.kind == SiteKind::Circle && site.foes == 0 && site.at != main;
        let spare = sites.iter().filter(is_spare).map(|site| site.at).take(view.skill.detachments).collect();
        Self { main, is_bold: !gathers || best.is_some(), spare, shelter }
    }
}

/// Strength of both sides.
struct Forces {
    /// Number of this player's units.
    own: i32,
    /// This team's strength against the strongest other team's, in percent.
    balance: i32,
}

impl Forces {
    fn of(view: &View<'_>) -> Self {
        let mut teams = [0; PLAYERS_MAX];
        let mut own = 0;
        for row in 0..view.state.units.len() {
            let worth = view.worth(row);
            teams[usize::from(view.state.team(row)) % PLAYERS_MAX] += worth;
            if view.state.units.owner[row] == view.player {
                own += worth;
            }
        }
        let team = usize::from(view.team) % PLAYERS_MAX;
        let ours = teams[team];
        teams[team] = 0;
        let theirs = teams.into_iter().max().unwrap_or(0);
        Self { own, balance: ours * 100 / theirs.max(1) }
    }
}

/// Whether the army should wait at home for reinforcements. A waiting army waits until it is clearly
/// stronger.
fn gathers(view: &View<'_>, middle: Vec2, forces: &Forces) -> bool {
    let waits = is_within(middle, view.home, 10) || is_within(middle, near_circle(view), 10);
    let most = usize::from(view.world.setup().rules.minions_max);
    let full = view.minions.len() * 10 >= most * 9;
    // A player who is behind cannot afford to wait long.
    let haste = (behind(view) * HASTE / 100).clamp(0, HASTE);
    !full
        && !view.is_sudden_death()
        && forces.balance < if waits { view.skill.gather.1 } else { view.skill.gather.0 } - haste
}

/// Returns the lead of the best other team, in points.
fn behind(view: &View<'_>) -> i32 {
    let players = &view.state.players;
    let others = view.state.player_ids().filter(|&player| view.state.team_of(player) != view.team);
    let best = others.map(|player| players.score[player.index()]).max().unwrap_or(0);
    best - players.score[view.player.index()]
}

/// Returns the position of most of the army: the mean without stragglers, else home.
pub(super) fn middle(view: &View<'_>) -> Vec2 {
    mean(view, &view.minions).or_else(|| view.hero.map(|hero| view.at(hero))).unwrap_or(view.home)
}

/// Returns the mean position of some units.
pub(super) fn mean(view: &View<'_>, rows: &Rows) -> Option<Vec2> {
    let count = i64::try_from(rows.len()).ok().filter(|&count| count > 0)?;
    let sum = |of: fn(Vec2) -> Fx| rows.iter().map(|&row| i64::from(of(view.at(row)).to_bits())).sum::<i64>();
    let part = |of| Fx::from_bits((sum(of) / count) as i32);
    Some(Vec2 { x: part(|at| at.x), y: part(|at| at.y) })
}

fn sites(view: &View<'_>, middle: Vec2, forces: &Forces) -> ArrayVec<Site, { CIRCLES_MAX + PLAYERS_MAX }> {
    let mut sites = ArrayVec::new();
    for (circle, &at) in view.world.circles().iter().enumerate() {
        if is_lenient(view) && view.rank(at) > 0 {
            continue;
        }
        if let Some(site) = circle_site(view, middle, forces, circle, at) {
            sites.push(site);
        }
    }
    for player in view.state.player_ids() {
        if player == view.player {
            sites.extend(home_site(view));
        } else if !is_lenient(view) {
            sites.extend(core_site(view, middle, forces, player));
        }
    }
    sites
}

/// Whether the level or the style still leaves the other circles and the cores to its enemies.
fn is_lenient(view: &View<'_>) -> bool {
    view.second() < view.skill.lenient_s.max(view.style.home_s)
}

/// Returns the share of the army that is on its way to a place, in percent.
fn bound(view: &View<'_>, at: Vec2) -> i32 {
    let going = view
        .minions
        .iter()
        .filter(|&&row| view.state.units.order[row] == Order::AttackMove && is_within(view.goal(row), at, 4));
    (going.count() * 100 / view.minions.len().max(1)) as i32
}

fn circle_site(view: &View<'_>, middle: Vec2, forces: &Forces, circle: usize, at: Vec2) -> Option<Site> {
    let circles = &view.state.circles;
    let owner = circles.owner[circle];
    let (_, foes) = view.worth_near(at, NEAR);
    let ours = owner != PlayerId::NONE && view.state.team_of(owner) == view.team;
    let quiet = circles.contested[circle] == 0 && circles.progress[circle] == 0;
    if ours && quiet && foes == 0 {
        return None;
    }
    let swing = if owner == PlayerId::NONE { 10 } else { 16 } * worth(view, circle) / 100;
    // Capturing it may close the player's core.
    let relief = if view.state.cores.open[view.player.index()] != 0 && !ours { 8 } else { 0 };
    let danger = (foes - forces.own).max(0) * 20 / forces.own.max(MINION_WORTH);
    // Only the stronger side goes for circles nearer to an enemy's base than to its own.
    let depth = (tiles_between(view.home, at) - enemy_distance(view, at)).max(0);
    let reach = depth * (view.skill.deep - forces.balance).max(0) / 100;
    let taste = view.draw(Draw::Taste(view.rank(at)), 12, 10);
    let way = tiles_between(middle, at) * 3 / 10;
    let gain = swing + relief + taste + bound(view, at) / 20 - way - danger - reach;
    Some(Site { at, kind: SiteKind::Circle, foes, gain })
}

/// Returns the worth of a circle, in percent of that of one which gives a point a second and no supply.
fn worth(view: &View<'_>, circle: usize) -> i32 {
    /// Share of any circle, since it counts toward opening a core, and those of a point and of a supply.
    const HELD: i32 = 70;
    const POINT: i32 = 30;
    const SUPPLY: i32 = 8;
    let given = &view.world.setup().map.circles[circle];
    HELD + POINT * given.score + SUPPLY * i32::from(given.supply)
}

/// Returns the distance to the nearest enemy base, in tiles.
fn enemy_distance(view: &View<'_>, at: Vec2) -> i32 {
    let enemies = view.state.player_ids().filter(|&player| view.state.team_of(player) != view.team);
    enemies.map(|enemy| tiles_between(view.world.base(enemy), at)).min().unwrap_or(0)
}

/// Returns the circle nearest to the player's base.
fn near_circle(view: &View<'_>) -> Vec2 {
    view.world.circles().iter().copied().find(|&at| view.rank(at) == 0).unwrap_or(view.home)
}

/// Returns the place to wait for reinforcements: the circle nearest to home, if it can be held.
fn rally(view: &View<'_>, forces: &Forces) -> Vec2 {
    let at = near_circle(view);
    let (_, foes) = view.worth_near(at, NEAR + 3);
    if tiles_between(view.home, at) <= RALLY && foes <= forces.own { at } else { view.home }
}

/// Returns the place to stand when there is nothing to capture: the circle equally far from the enemy and from home.
fn front(view: &View<'_>) -> Vec2 {
    let apart = |at: Vec2| (tiles_between(view.home, at) - enemy_distance(view, at)).abs();
    let circles = view.world.circles().iter().copied();
    circles.min_by_key(|&at| (apart(at), view.order_of(at))).unwrap_or_default()
}

/// Returns the player's core as a goal, if it is open and enemies are near it.
fn home_site(view: &View<'_>) -> Option<Site> {
    let open = view.state.cores.open[view.player.index()] != 0;
    let (_, foes) = view.worth_near(view.home, NEAR + 2);
    (open && foes > 0).then_some(Site { at: view.home, kind: SiteKind::Home, foes, gain: 30 })
}

fn core_site(view: &View<'_>, middle: Vec2, forces: &Forces, enemy: PlayerId) -> Option<Site> {
    let at = enemy.index();
    let stands = view.state.team_of(enemy) != view.team && view.state.cores.hp[at] > 0;
    if !stands || view.state.cores.open[at] == 0 {
        return None;
    }
    let place = view.world.base(enemy);
    let bound = bound(view, place);
    if forces.balance < if bound > 50 { TURN_BACK } else { courage(view) } {
        return None;
    }
    let (_, foes) = view.worth_near(place, NEAR + 2);
    let gain = 16 + (forces.balance - 100).min(200) / 10 - tiles_between(middle, place) / 3 + bound / 10;
    Some(Site { at: place, kind: SiteKind::Core, foes, gain })
}

/// Returns the strength from which an army attacks a core, in percent of the enemy's: it falls during the match and
/// varies at random.
fn courage(view: &View<'_>) -> i32 {
    let (per_minute, least) = PUSH;
    let minutes = (view.second() / 60) as i32;
    let mood = 100 - MOOD + view.draw(Draw::Mood, 45, 2 * MOOD.unsigned_abs() + 1);
    (view.skill.push - per_minute * minutes).max(least) * mood / 100
}
