//! The tutorial, step by step: the current task, its progress, and its place. Each step waits until the player has
//! completed it, and so does the opponent.

use std::borrow::Cow;

use game::View;
use macroquad::math::{Vec2, vec2};
use sim::{CAPTURED, ControlBehaviour, GameState, Milli, Order, PlayerId};

use super::bindings::{Action, key_name, rules_in_play, with_article};
use super::draw::{circle_place, place};

/// Distance at which the hero has reached the place of the first step, in tiles.
const REACHED: f32 = 1.2;
/// Number of minions from which a player has an army; before this, the opponent has no guards.
const ARMY: usize = 4;
/// Number of minions after which the supply counts as spent.
const LARGE_ARMY: usize = 8;
/// Distance of a minion from the core that it attacks, in tiles.
const AT_CORE: f32 = 8.0;

/// Lessons, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Walk with the keys.
    Walk,
    /// Stand in the nearest circle until it is captured.
    Circle,
    /// Train an army.
    Train,
    /// Select minions and send them into the middle circle: they fight on their way.
    Send,
    /// Send a part of them into the far circle, while the others stay.
    Split,
    /// Spend the supply that has come meanwhile, and all that will come: by repeated training.
    Spend,
    /// Send all to the open core.
    Assault,
    /// Raise the banner there and destroy the core.
    Win,
}

impl Step {
    const ALL: [Self; 8] = [
        Self::Walk,
        Self::Circle,
        Self::Train,
        Self::Send,
        Self::Split,
        Self::Spend,
        Self::Assault,
        Self::Win,
    ];
}

/// Part of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Text(Cow<'static, str>),
    /// Key or mouse button, drawn as a keycap.
    Key(String),
}

/// Current task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Task {
    /// Title, such as "1 of 8: walk".
    pub(crate) title: String,
    pub(crate) words: Vec<Word>,
    /// Reason for the task, or its consequence.
    pub(crate) reason: &'static str,
    /// Progress, from 0 to 1.
    pub(crate) progress: f32,
    /// Place of the task, in tiles.
    pub(crate) place: Option<Vec2>,
}

/// The player's progress.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tutorial {
    /// Number of completed steps.
    done: usize,
    /// Distance from the hero's start to the place of the first step, in tiles.
    first_way: Option<f32>,
    /// Whether minions were sent somewhere in the fourth step.
    is_sent: bool,
    /// Whether minions were in two places in the fifth.
    is_split: bool,
}

impl Tutorial {
    /// Returns the current step; `None` once all are completed.
    pub(crate) fn step(&self) -> Option<Step> {
        Step::ALL.get(self.done).copied()
    }

    /// Processes a new state, and whether the player has training repeated.
    pub(crate) fn observe(&mut self, view: &View, is_repeating: bool) {
        let (Some(step), Some(field)) = (self.step(), Field::of(view)) else { return };
        if self.first_way.is_none() {
            self.first_way = field.to_first_place();
        }
        if field.has_won() {
            self.done = Step::ALL.len();
            return;
        }
        match step {
            Step::Send => self.is_sent |= field.is_army_sent(),
            Step::Split => self.is_split |= field.is_split(),
            _ => {}
        }
        let is_done = match step {
            Step::Walk => field.to_first_place().is_some_and(|away| away <= REACHED),
            Step::Circle => field.holds(field.near),
            Step::Train => field.army() >= ARMY,
            Step::Send => self.is_sent && field.holds(field.middle),
            Step::Split => self.is_split && field.holds(field.far) && field.holds(field.middle),
            Step::Spend => is_repeating && field.army() >= LARGE_ARMY,
            Step::Assault => field.is_at_core(),
            Step::Win => false,
        };
        self.done += usize::from(is_done);
    }

    /// Returns the current task, given the number of selected units; `None` once all steps are completed.
    pub(crate) fn task(&self, view: &View, selected: usize) -> Option<Task> {
        let (step, field) = (self.step()?, Field::of(view)?);
        let has_lost_army = self.done > Step::Train as usize && field.army() == 0;
        let (words, reason) = if has_lost_army {
            (words_of(Step::Train), "Your minions have fallen: train more.")
        } else if step == Step::Win && !field.is_at_core() {
            (words_of(Step::Assault), "New minions follow you: lead them there, or send them.")
        } else {
            (words_of(step), reason_of(step))
        };
        let title = format!("{} of {}: {}", self.done + 1, Step::ALL.len(), title_of(step));
        let place = field.place_of(step).filter(|_| !has_lost_army);
        let progress = match step {
            Step::Walk => {
                let (away, way) = (field.to_first_place(), self.first_way);
                away.zip(way).map_or(0.0, |(away, way)| (way - away) / (way - REACHED).max(1.0))
            }
            Step::Circle => field.taken(field.near),
            Step::Train => field.army() as f32 / ARMY as f32,
            // Half the progress for sending them, half for the capture.
            Step::Send if self.is_sent => 0.5 + 0.5 * field.taken(field.middle),
            Step::Send => {
                if selected > 0 {
                    0.25
                } else {
                    0.0
                }
            }
            Step::Split if self.is_split => 0.5 + 0.5 * field.taken(field.far),
            Step::Split => 0.0,
            Step::Spend => field.army() as f32 / LARGE_ARMY as f32,
            Step::Assault => 0.0,
            Step::Win => field.core_damage(),
        };
        Some(Task { title, words, reason, progress: progress.clamp(0.0, 1.0), place })
    }
}

const fn title_of(step: Step) -> &'static str {
    match step {
        Step::Walk => "walk",
        Step::Circle => "take a circle",
        Step::Train => "train minions",
        Step::Send => "send them to fight",
        Step::Split => "be in two places",
        Step::Spend => "spend your supply",
        Step::Assault => "to their core",
        Step::Win => "win",
    }
}

fn words_of(step: Step) -> Vec<Word> {
    use Word::Key;
    let key = |action| Key(key_name(action));
    let text = |text: &'static str| Word::Text(text.into());
    match step {
        Step::Walk => vec![
            text("Walk with"),
            key(Action::Walk(0, 1)),
            key(Action::Walk(-1, 0)),
            key(Action::Walk(0, -1)),
            key(Action::Walk(1, 0)),
            text("to the arrow"),
        ],
        Step::Circle => vec![text("Walk into the circle and stay in it until it is yours")],
        Step::Train => {
            let rules = rules_in_play();
            let last = rules.minion_kinds().next_back();
            let kinds = rules.minion_kinds().zip(&rules.minions).flat_map(|(kind, minion)| {
                let comma = if Some(kind) == last { "" } else { "," };
                let name = format!("{}{comma}", with_article(minion));
                [key(Action::Train(kind)), Word::Text(name.into())]
            });
            [text("Train four:")].into_iter().chain(kinds).collect()
        }
        Step::Send => vec![
            text("Press"),
            key(Action::SelectAll),
            text("or drag a box, then"),
            Key("Right click".into()),
            text("the circle"),
        ],
        Step::Split => {
            vec![text("Drag a box over two of them, then"), Key("Right click".into()), text("the far circle")]
        }
        Step::Spend => {
            let keys = rules_in_play().minion_kinds().map(|kind| key(Action::Train(kind)));
            let hold = [text("Hold"), Key("Shift".into()), text("and press one of")];
            hold.into_iter().chain(keys).chain([text("until you have eight")]).collect()
        }
        Step::Assault => vec![
            text("Press"),
            key(Action::SelectAll),
            text("then"),
            Key("Right click".into()),
            text("the core, and walk with them"),
        ],
        Step::Win => vec![text("Press"), key(Action::Banner), text("beside them, and strike the core down")],
    }
}

const fn reason_of(step: Step) -> &'static str {
    match step {
        Step::Walk => "You are the large one with the pennant. You strike nearby enemies automatically.",
        Step::Circle => "Circles give points. More units take them faster.",
        Step::Train => "They cost supply and appear in the nearest circle that you hold.",
        Step::Send => {
            "They attack the enemies they meet on the way. Two of three circles open the enemy's core."
        }
        Step::Split => "Two groups take more circles than one crowd.",
        Step::Spend => "Unspent supply wins nothing: with Shift, or a right click, training repeats.",
        Step::Assault => "Its shield is down while you hold two of the three circles.",
        Step::Win => "Under your banner they strike faster for a few seconds.",
    }
}

/// Facts of a match that the steps need, for one player.
struct Field<'a> {
    view: &'a View,
    state: &'a GameState,
    me: PlayerId,
    /// Circles: the nearest to the player's base, and the nearest to the middle of the map.
    near: usize,
    middle: usize,
    /// The farthest circle from the player's base.
    far: usize,
    hero: Option<Vec2>,
}

impl<'a> Field<'a> {
    fn of(view: &'a View) -> Option<Self> {
        let (state, map) = (&*view.current, &view.setup.map);
        let me = view.me.filter(|me| me.index() < map.bases.len())?;
        let nearest = |to: Vec2| {
            let away = |&circle: &usize| circle_place(map, circle).distance_squared(to);
            (0..map.circles.len()).min_by(|a, b| away(a).total_cmp(&away(b)))
        };
        let base = place(map.bases.get(me.index()));
        let (near, middle) = (nearest(base)?, nearest(Vec2::ZERO)?);
        let from_base = |circle: &usize| circle_place(map, *circle).distance_squared(base);
        let far = (0..map.circles.len()).max_by(|a, b| from_base(a).total_cmp(&from_base(b)))?;
        let hero = state.hero(me).map(|row| place_of(state, row));
        Some(Self { view, state, me, near, middle, far, hero })
    }

    fn circle(&self, circle: usize) -> Vec2 {
        circle_place(&self.view.setup.map, circle)
    }

    /// Returns the destination of the first step: off the path to the circle of the second, so that both need a walk.
    fn first_place(&self) -> Vec2 {
        self.circle(self.near) * vec2(1.0, -1.0)
    }

    /// Returns the distance from the hero to the place of the first step, in tiles.
    fn to_first_place(&self) -> Option<f32> {
        self.hero.map(|hero| hero.distance(self.first_place()))
    }

    fn holds(&self, circle: usize) -> bool {
        let owner = self.state.circles.owner[circle];
        owner != PlayerId::NONE && self.state.team_of(owner) == self.state.team_of(self.me)
    }

    /// Returns the capture progress of a circle, from 0 to 1.
    fn taken(&self, circle: usize) -> f32 {
        let circles = &self.state.circles;
        if self.holds(circle) {
            1.0
        } else if circles.taker[circle] == self.me {
            circles.progress[circle] as f32 / CAPTURED as f32
        } else {
            0.0
        }
    }

    fn minions(&self) -> impl Iterator<Item = usize> + '_ {
        let units = &self.state.units;
        (0..units.len())
            .filter(|&row| units.owner[row] == self.me && units.control[row] == ControlBehaviour::Minion)
    }

    fn army(&self) -> usize {
        self.minions().count()
    }

    fn is_army_sent(&self) -> bool {
        let is_sent =
            |row| matches!(self.state.units.order[row], Order::Move | Order::AttackMove | Order::Attack);
        self.minions().any(is_sent)
    }

    /// Whether one minion is in the far circle and another stays in the middle one.
    fn is_split(&self) -> bool {
        let radius = milli(self.view.setup.rules.circle_radius);
        let is_in = |circle: usize| {
            let at = self.circle(circle);
            self.minions().any(|row| place_of(self.state, row).distance(at) <= radius)
        };
        is_in(self.far) && is_in(self.middle)
    }

    /// Whether a minion has come to the enemy's core.
    fn is_at_core(&self) -> bool {
        let core = self.enemy().map(|enemy| place(self.view.setup.map.bases.get(enemy.index())));
        core.is_some_and(|core| self.minions().any(|row| place_of(self.state, row).distance(core) <= AT_CORE))
    }

    fn enemy(&self) -> Option<PlayerId> {
        self.state.player_ids().find(|&player| self.state.team_of(player) != self.state.team_of(self.me))
    }

    /// Returns the damage to the enemy's core, from 0 to 1.
    fn core_damage(&self) -> f32 {
        let whole = self.view.setup.rules.core_hp as f32;
        self.enemy().map_or(0.0, |enemy| 1.0 - self.state.cores.hp[enemy.index()] as f32 / whole)
    }

    fn has_won(&self) -> bool {
        self.state.winner() == Some(self.state.team_of(self.me))
    }

    fn place_of(&self, step: Step) -> Option<Vec2> {
        match step {
            Step::Walk => Some(self.first_place()),
            // No arrow points at the circle while the hero stands in it.
            Step::Circle | Step::Train => Some(self.circle(self.near)).filter(|&at| {
                let radius = milli(self.view.setup.rules.circle_radius);
                self.hero.is_none_or(|hero| hero.distance(at) > radius)
            }),
            Step::Send => Some(self.circle(self.middle)),
            Step::Split => Some(self.circle(self.far)),
            Step::Spend => None,
            Step::Assault | Step::Win => {
                self.enemy().map(|enemy| place(self.view.setup.map.bases.get(enemy.index())))
            }
        }
    }
}

fn place_of(state: &GameState, row: usize) -> Vec2 {
    vec2(state.units.x[row].to_num(), state.units.y[row].to_num())
}

fn milli(length: Milli) -> f32 {
    length as f32 / 1000.0
}

#[cfg(test)]
mod tests;
