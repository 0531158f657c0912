//! Converts keys and pointer input to selections, which stay here, and commands, which go to the match.

use game::{Control, View};
use macroquad::math::{Rect, Vec2, vec2};
use macroquad::miniquad::{KeyCode, MouseButton};
use sim::math::{Angle, Fx};
use sim::{
    self, Command, ControlBehaviour, Direction, HeroControl, KindId, PlayerId, Selection, Target, UnitId,
    When,
};

use super::bindings::{Action, Preset, action_of, preset};
use super::draw::{Camera, PointerOrder};
use super::input::Input;
use super::key_event::Held;
use super::order_mark::OrderMark;

/// Number of control groups.
const GROUPS: usize = 5;
/// Minimum movement of the pointer between press and release for a drag, in pixels; less is a click.
const DRAG_LEAST_PX: f32 = 6.0;
/// Maximum time between the clicks of a double click, in seconds.
const DOUBLE_CLICK_S: f64 = 0.35;
/// Tolerance of a click beside a unit, in pixels.
const NEAR_PX: f32 = 8.0;

/// Match as the controller sees it in this frame.
pub(crate) struct PickContext<'a> {
    pub(crate) view: &'a View,
    pub(crate) camera: &'a Camera,
    /// View of the whole map, where orders may be given, too; `None` if none are given.
    pub(crate) minimap: Option<&'a Camera>,
    pub(crate) alpha: f32,
    /// Time since the window opened, in seconds.
    pub(crate) now: f64,
}

/// Request to the window rather than to the match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    LockCamera,
    NetGraph,
    Picture,
    Help,
    Menu,
    /// Centre the camera on the selection.
    Centre,
    /// Centre the camera on the last alert.
    LastAlert,
    /// Pause or resume the match.
    Pause,
    /// Open the chat field.
    Talk,
    /// Say why a shielded core cannot be attacked.
    Shielded,
    /// Train one of a kind.
    Train(KindId),
    /// Toggle repeated training of a kind.
    Repeat(KindId),
    /// Skip the rest of the tutorial.
    Skip,
}

/// Selection, groups, and held keys.
#[derive(Default)]
pub(crate) struct InputController {
    pub(crate) selected: Vec<UnitId>,
    /// Whether the player's base is selected; then no unit is.
    pub(crate) base_selected: bool,
    pub(crate) hovered: Option<UnitId>,
    groups: [Vec<UnitId>; GROUPS],
    pointer: Vec2,
    held: Held,
    keys: Vec<KeyCode>,
    drag_from: Option<Vec2>,
    /// Whether the next left click is an attack-move.
    attack_next: bool,
    last_click: Option<(f64, Vec2)>,
    last_group: Option<(f64, usize)>,
    hero: HeroControl,
    order: Option<OrderMark>,
}

impl InputController {
    /// Handles one input event; commands for the match go to `say`.
    pub(crate) fn take(
        &mut self,
        input: Input,
        context: &PickContext<'_>,
        say: &mut impl FnMut(Control),
    ) -> Option<Request> {
        let request = match input {
            Input::Down(key, held) => {
                self.held = held;
                self.note_modifier(key, true);
                self.keys.push(key);
                action_of(key).and_then(|action| self.act(action, context, say))
            }
            Input::Up(key) => {
                self.note_modifier(key, false);
                self.keys.retain(|&down| down != key);
                None
            }
            Input::Moved(at) => {
                self.pointer = at;
                None
            }
            Input::Pressed(button, at) => {
                self.pointer = at;
                self.press(button, context, say)
            }
            Input::Released(button, at) => {
                self.pointer = at;
                if button == MouseButton::Left {
                    self.release(context);
                }
                None
            }
            Input::Wheel(_) | Input::FocusGained => None,
            Input::FocusLost => {
                self.let_go(say);
                None
            }
        };
        self.steer(context, say);
        request
    }

    /// Removes dead units and follows the pointer; must be called once per frame.
    pub(crate) fn refresh(&mut self, context: &PickContext<'_>, say: &mut impl FnMut(Control)) {
        let state = &*context.view.current;
        let lives = |id: &UnitId| state.row(*id).is_some();
        self.selected.retain(lives);
        self.base_selected &= context.own_base().is_some();
        for group in &mut self.groups {
            group.retain(lives);
        }
        self.hovered = context.unit_at(self.pointer, |_| true);
        self.order = self.order.and_then(|order| order.after(context.view.commands_run, context.now));
        self.steer(context, say);
    }

    /// Releases all keys and buttons, when a menu opens or the window loses focus.
    pub(crate) fn let_go(&mut self, say: &mut impl FnMut(Control)) {
        self.keys.clear();
        self.held = Held::default();
        self.drag_from = None;
        self.attack_next = false;
        self.set_hero(HeroControl::default(), say);
    }

    pub(crate) const fn pointer(&self) -> Vec2 {
        self.pointer
    }

    pub(crate) const fn is_shift_held(&self) -> bool {
        self.held.shift
    }

    pub(crate) const fn is_aiming(&self) -> bool {
        self.attack_next
    }

    /// Whether a key of an action is down.
    pub(crate) fn holds(&self, action: Action) -> bool {
        self.keys.iter().any(|&key| action_of(key) == Some(action))
    }

    /// Returns the selection rectangle, once the drag is long enough.
    pub(crate) fn drag(&self) -> Option<Rect> {
        let from = self.drag_from?;
        (from.distance(self.pointer) >= DRAG_LEAST_PX).then(|| spanned(from, self.pointer))
    }

    /// Sets the command number of the last order's marker, if the order belongs to that command.
    pub(crate) fn number_order(&mut self, number: u32) {
        if let Some(order) = &mut self.order {
            order.number(number);
        }
    }

    pub(crate) fn pointer_order(&self, now: f64) -> Option<PointerOrder> {
        self.order.map(|order| order.drawn(now))
    }

    /// Returns when an order runs: with Shift, queue the order.
    const fn when(&self) -> When {
        if self.held.shift { When::Queued } else { When::Now }
    }

    fn note_modifier(&mut self, key: KeyCode, is_down: bool) {
        match key {
            KeyCode::LeftShift | KeyCode::RightShift => self.held.shift = is_down,
            KeyCode::LeftControl | KeyCode::RightControl => self.held.ctrl = is_down,
            _ => {}
        }
    }

    fn act(
        &mut self,
        action: Action,
        context: &PickContext<'_>,
        say: &mut impl FnMut(Control),
    ) -> Option<Request> {
        match action {
            // Held keys, see `steer` and `holds`, and those of the window.
            Action::Walk(..)
            | Action::Strike
            | Action::Run
            | Action::Scores
            | Action::Fullscreen
            | Action::Music => {}
            Action::Dash => {
                // With the MOBA preset, the hero dashes toward the pointer.
                let pointed = || context.aim(self.pointer).filter(|_| preset() == Preset::Moba);
                if let Some(angle) = self.walk().map(Direction::angle).or_else(pointed) {
                    say(Control::Command(Command::Dash(angle)));
                }
            }
            Action::Banner => say(Control::Command(Command::Banner)),
            Action::AttackMove => self.attack_next = true,
            Action::Stop => self.order_selected(context, say, Command::Stop),
            Action::Hold => {
                let when = self.when();
                self.order_selected(context, say, |minions| Command::Hold(minions, when));
            }
            Action::Follow => {
                let when = self.when();
                self.order_selected(context, say, |minions| Command::Follow(minions, when));
            }
            Action::SelectAll => self.select_kind(context, |_| true),
            Action::SelectKind(wanted) => self.select_kind(context, |kind| kind == wanted),
            Action::Group(index) => return self.group(index, context.now),
            Action::Train(kind) if self.held.shift => return Some(Request::Repeat(kind)),
            Action::Train(kind) => return Some(Request::Train(kind)),
            Action::LockCamera => return Some(Request::LockCamera),
            Action::NetGraph => return Some(Request::NetGraph),
            Action::Picture => return Some(Request::Picture),
            Action::LastAlert => return Some(Request::LastAlert),
            Action::Pause => return Some(Request::Pause),
            Action::Help => return Some(Request::Help),
            Action::Talk => return Some(Request::Talk),
            Action::Skip => return Some(Request::Skip),
            Action::Menu if self.attack_next => self.attack_next = false,
            Action::Menu => return Some(Request::Menu),
        }
        None
    }

    fn group(&mut self, index: usize, now: f64) -> Option<Request> {
        if self.held.ctrl {
            self.groups[index].clone_from(&self.selected);
            return None;
        }
        self.base_selected = false;
        if self.held.shift {
            add(&mut self.selected, &self.groups[index]);
        } else {
            self.selected.clone_from(&self.groups[index]);
        }
        let is_double = self.last_group.is_some_and(|(at, last)| last == index && now - at < DOUBLE_CLICK_S);
        self.last_group = Some((now, index));
        is_double.then_some(Request::Centre)
    }

    /// Returns the direction of the walking keys.
    fn walk(&self) -> Option<Direction> {
        let (mut x, mut y) = (0, 0);
        for action in self.keys.iter().filter_map(|&key| action_of(key)) {
            if let Action::Walk(dx, dy) = action {
                (x, y) = (x + dx, y + dy);
            }
        }
        Direction::from_axes(x, y)
    }

    /// Sends the hero's control if it has changed.
    fn steer(&mut self, context: &PickContext<'_>, say: &mut impl FnMut(Control)) {
        let strike = self.holds(Action::Strike).then(|| context.aim(self.pointer)).flatten();
        self.set_hero(HeroControl { walk: self.walk(), strike }, say);
    }

    fn set_hero(&mut self, hero: HeroControl, say: &mut impl FnMut(Control)) {
        if self.hero != hero {
            self.hero = hero;
            say(Control::Hero(hero));
        }
    }

    fn press(
        &mut self,
        button: MouseButton,
        context: &PickContext<'_>,
        say: &mut impl FnMut(Control),
    ) -> Option<Request> {
        match button {
            MouseButton::Left if self.attack_next => {
                self.attack_next = false;
                self.attack_move(context, say);
            }
            MouseButton::Left => self.drag_from = Some(self.pointer),
            MouseButton::Right if self.attack_next => self.attack_next = false,
            MouseButton::Right if self.base_selected => self.rally(context, say),
            MouseButton::Right => return self.smart_order(context, say),
            _ => {}
        }
        None
    }

    fn release(&mut self, context: &PickContext<'_>) {
        let drag = self.drag();
        if self.drag_from.take().is_none() {
            return;
        }
        if let Some(rect) = drag {
            let found =
                context.own_units().filter(|&(_, at)| rect.contains(at)).map(|(row, _)| row).collect();
            self.choose(context, found);
            return;
        }
        let clicked = context.unit_at(self.pointer, |row| context.is_own(row));
        if clicked.is_none() && self.held == Held::default() && context.is_own_base(self.pointer) {
            self.selected.clear();
            self.base_selected = true;
            return;
        }
        let is_double = self.last_click.take().is_some_and(|(at, place)| {
            context.now - at < DOUBLE_CLICK_S && place.distance(self.pointer) < DRAG_LEAST_PX
        });
        self.last_click = (!is_double).then_some((context.now, self.pointer));
        let row = clicked.and_then(|id| context.view.current.row(id));
        let found = match row {
            Some(row) if is_double => {
                let units = &context.view.current.units;
                let kind = (units.kind[row], units.control[row]);
                let same = |row: &usize| (units.kind[*row], units.control[*row]) == kind;
                context.own_units().map(|(row, _)| row).filter(same).collect()
            }
            Some(row) => vec![row],
            None => Vec::new(),
        };
        self.choose(context, found);
    }

    /// Selects these rows, or adds or removes them.
    fn choose(&mut self, context: &PickContext<'_>, rows: Vec<usize>) {
        self.base_selected = false;
        let units = &context.view.current.units;
        let found: Vec<UnitId> = rows.into_iter().map(|row| units.id[row]).collect();
        match self.held {
            Held { ctrl: true, .. } => self.selected.retain(|id| !found.contains(id)),
            Held { shift: true, .. } => add(&mut self.selected, &found),
            _ => self.selected = found,
        }
    }

    fn select_kind(&mut self, context: &PickContext<'_>, fits: impl Fn(KindId) -> bool) {
        let units = &context.view.current.units;
        let rows = (0..units.len()).filter(|&row| {
            context.is_own(row) && units.control[row] == ControlBehaviour::Minion && fits(units.kind[row])
        });
        self.choose(context, rows.collect());
    }

    /// Returns the selected minions, as commands name them.
    fn minions(&self, context: &PickContext<'_>) -> Selection {
        let units = &context.view.current.units;
        let is_minion = |id: &&UnitId| {
            let row = context.view.current.row(**id);
            row.is_some_and(|row| units.control[row] == ControlBehaviour::Minion)
        };
        self.selected.iter().filter(is_minion).take(sim::SELECTION_MAX).copied().collect()
    }

    /// Sends an order without a target to the selected minions.
    fn order_selected(
        &self,
        context: &PickContext<'_>,
        say: &mut impl FnMut(Control),
        order: impl FnOnce(Selection) -> Command,
    ) {
        let minions = self.minions(context);
        if !minions.is_empty() {
            say(Control::Command(order(minions)));
        }
    }

    fn attack_move(&mut self, context: &PickContext<'_>, say: &mut impl FnMut(Control)) {
        let minions = self.minions(context);
        if !minions.is_empty() {
            let at = context.ground(self.pointer);
            say(Control::Command(Command::AttackMove(minions, target(at), self.when())));
            self.order = Some(OrderMark::new(at, true, context.now));
        }
    }

    /// Sets the rally point to the pointer's position; on the base, new minions follow the hero again.
    fn rally(&mut self, context: &PickContext<'_>, say: &mut impl FnMut(Control)) {
        let at = context.ground(self.pointer);
        let point = (!context.is_own_base(self.pointer)).then(|| target(at));
        say(Control::Command(Command::Rally(point)));
        self.order = Some(OrderMark::new(at, false, context.now));
    }

    /// Sends the most likely order of a right click. Without selected minions the hero moves, so that a newcomer's
    /// first click has an effect; with the MOBA preset the hero always moves. A hero has no queued orders: with Shift
    /// only minions are ordered. An enemy core is attacked if it is open; if it is shielded, no unit is sent. Minions
    /// fight on their way, unless they are to run: then whatever lies there is ground.
    fn smart_order(&mut self, context: &PickContext<'_>, say: &mut impl FnMut(Control)) -> Option<Request> {
        let (minions, when, runs) = (self.minions(context), self.when(), self.holds(Action::Run));
        let enemy = context.unit_at(self.pointer, |row| context.is_enemy(row) && !runs);
        let core = context.enemy_core_at(self.pointer).filter(|_| enemy.is_none() && !runs);
        if core.is_some_and(|(_, is_open)| !is_open) {
            return Some(Request::Shielded);
        }
        let at = core.map_or_else(|| context.ground(self.pointer), |(at, _)| at);
        let hero = context.view.current.hero(context.me());
        let is_on_hero = hero.is_some_and(|row| {
            context.unit_at(self.pointer, |found| found == row).is_some() && !minions.is_empty() && !runs
        });
        let sends_hero = hero.is_some_and(|row| {
            let is_selected = self.selected.contains(&context.view.current.units.id[row]);
            let leads = is_selected || preset() == Preset::Moba;
            leads && (minions.is_empty() || when == When::Now) || self.selected.is_empty()
        });
        let sends_minions = !minions.is_empty();
        if let Some(enemy) = enemy {
            if sends_hero {
                say(Control::Command(Command::HeroAttack(enemy)));
            }
            if !minions.is_empty() {
                say(Control::Command(Command::Attack(minions, enemy, when)));
            }
        } else if is_on_hero {
            say(Control::Command(Command::Follow(minions, when)));
        } else {
            if sends_hero {
                say(Control::Command(Command::HeroGo(target(at))));
            }
            if !minions.is_empty() {
                let order = if runs { Command::Move } else { Command::AttackMove };
                say(Control::Command(order(minions, target(at), when)));
            }
        }
        let is_attack = enemy.is_some() || core.is_some() || (sends_minions && !is_on_hero && !runs);
        self.order = Some(OrderMark::new(at, is_attack, context.now));
        None
    }
}

impl PickContext<'_> {
    fn me(&self) -> PlayerId {
        self.view.me.unwrap_or(PlayerId::NONE)
    }

    fn is_own(&self, row: usize) -> bool {
        self.view.current.units.owner[row] == self.me()
    }

    fn is_enemy(&self, row: usize) -> bool {
        let state = &self.view.current;
        state.team(row) != state.team_of(self.me())
    }

    /// Returns the drawn position of a unit, in tiles.
    pub(crate) fn place(&self, row: usize) -> Vec2 {
        let at = |state: &sim::GameState, row: usize| {
            vec2(state.units.x[row].to_num(), state.units.y[row].to_num())
        };
        let now = at(&self.view.current, row);
        let before = self.view.previous.row(self.view.current.units.id[row]);
        before.map_or(now, |row| at(&self.view.previous, row).lerp(now, self.alpha))
    }

    /// Iterates over the player's visible units, with their pixels.
    fn own_units(&self) -> impl Iterator<Item = (usize, Vec2)> {
        let rows = (0..self.view.current.units.len()).filter(|&row| self.is_own(row));
        let placed = rows.map(|row| (row, self.camera.to_screen(self.place(row))));
        placed.filter(|&(_, at)| self.camera.viewport.contains(at))
    }

    /// Returns the view that a pixel belongs to: the minimap or the arena below it.
    fn camera_at(&self, px: Vec2) -> &Camera {
        self.minimap.filter(|minimap| minimap.viewport.contains(px)).unwrap_or(self.camera)
    }

    /// Returns the place on the ground under a pixel, in tiles.
    fn ground(&self, px: Vec2) -> Vec2 {
        self.camera_at(px).to_tiles(px)
    }

    /// Returns the nearest matching unit under a pixel; none on the minimap, where nobody can aim at a unit.
    fn unit_at(&self, px: Vec2, fits: impl Fn(usize) -> bool) -> Option<UnitId> {
        if self.minimap.is_some_and(|minimap| minimap.viewport.contains(px)) {
            return None;
        }
        let units = &self.view.current.units;
        let rules = &self.view.setup.rules;
        let distance = |row: usize| {
            let radius = rules.unit(units.control[row], units.kind[row]).radius;
            let at = self.camera.to_screen(self.place(row));
            at.distance(px) - radius as f32 / 1000.0 * self.camera.px_per_tile()
        };
        let near = (0..units.len()).filter(|&row| fits(row)).map(|row| (distance(row), row));
        let near = near.filter(|&(distance, _)| distance <= NEAR_PX);
        near.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, row)| units.id[row])
    }

    /// Returns the position of the player's core, in tiles, while it stands.
    fn own_base(&self) -> Option<Vec2> {
        let seat = self.me().index();
        let stands = self.view.current.cores.hp.get(seat).is_some_and(|&hp| hp > 0);
        let &(x, y) = self.view.setup.map.bases.get(seat).filter(|_| stands)?;
        Some(vec2(x as f32, y as f32) / 1000.0)
    }

    /// Whether the player's core lies under a pixel.
    fn is_own_base(&self, px: Vec2) -> bool {
        let camera = self.camera_at(px);
        let radius = self.view.setup.rules.core_radius as f32 / 1000.0 * camera.px_per_tile();
        self.own_base().is_some_and(|at| camera.to_screen(at).distance(px) <= radius + NEAR_PX)
    }

    /// Returns the position of the standing enemy core under a pixel, in tiles, and whether it is open.
    fn enemy_core_at(&self, px: Vec2) -> Option<(Vec2, bool)> {
        let (state, setup, camera) = (&self.view.current, &self.view.setup, self.camera_at(px));
        let radius = setup.rules.core_radius as f32 / 1000.0 * camera.px_per_tile();
        let mine = state.team_of(self.me());
        let enemies = state.player_ids().filter(|&player| state.team_of(player) != mine);
        let standing = enemies.filter(|player| state.cores.hp[player.index()] > 0);
        let mut cores = standing.filter_map(|player| {
            let &(x, y) = setup.map.bases.get(player.index())?;
            Some((vec2(x as f32, y as f32) / 1000.0, state.cores.open[player.index()] != 0))
        });
        cores.find(|&(at, _)| camera.to_screen(at).distance(px) <= radius)
    }

    /// Returns the angle from the hero to a pixel.
    fn aim(&self, px: Vec2) -> Option<Angle> {
        let hero = self.view.current.hero(self.me())?;
        let way = self.ground(px) - self.place(hero);
        (way.length() > 0.01).then(|| angle(way))
    }
}

/// Returns the angle of a direction in tiles.
fn angle(way: Vec2) -> Angle {
    let turns = way.y.atan2(way.x) / std::f32::consts::TAU;
    Angle((turns * 65_536.0).round().rem_euclid(65_536.0) as u16)
}

fn target(at: Vec2) -> Target {
    let limit = sim::TARGET_MAX as f32;
    let fixed =
        |number: f32| Fx::from_num(if number.is_finite() { number.clamp(-limit, limit) } else { 0.0 });
    Target::clamped(sim::math::Vec2 { x: fixed(at.x), y: fixed(at.y) })
}

fn spanned(a: Vec2, b: Vec2) -> Rect {
    let (min, max) = (a.min(b), a.max(b));
    Rect::new(min.x, min.y, max.x - min.x, max.y - min.y)
}

fn add(to: &mut Vec<UnitId>, more: &[UnitId]) {
    let new: Vec<UnitId> = more.iter().filter(|id| !to.contains(id)).copied().collect();
    to.extend(new);
}

#[cfg(test)]
mod tests;
