use std::sync::Arc;

use game::{Control, View, data};
use macroquad::math::{Rect, Vec2};
use macroquad::miniquad::{KeyCode, MouseButton};
use net::Time;
use sim::{Command, KindId, PlayerId, SeatSetup, Setup, TickInputs, TickRate, World};

use super::*;
use crate::gui::bindings::{KeyChoices, put_in_force};

/// Match seen by player 0, and the controller's output.
struct Play {
    view: View,
    camera: Camera,
    minimap: Option<Camera>,
    controller: InputController,
    said: Vec<Control>,
    now: f64,
}

impl Play {
    fn new() -> Self {
        let seat = |team| SeatSetup { hero: KindId(0), team };
        let mut rules = (*data::rules("standard").expect("built in")).clone();
        rules.minions[0].start = 4;
        let mut world = World::new(Setup {
            seed: 1,
            tick_rate: TickRate::HZ_60,
            seats: [seat(0), seat(1)].into_iter().collect(),
            rules: Arc::new(rules),
            map: data::map("standard").expect("built in"),
        });
        world.step(&TickInputs::idle(world.state().tick(), 2));
        let view = View::new(&world, Arc::new([]), Some(PlayerId(0)), Time(0));
        let camera = Camera::whole(&view.setup.map, Rect::new(0.0, 0.0, 1280.0, 720.0));
        Self {
            view,
            camera,
            minimap: None,
            controller: InputController::default(),
            said: Vec::new(),
            now: 1.0,
        }
    }

    fn take(&mut self, input: Input) -> Option<Request> {
        let (view, camera, minimap) = (&self.view, &self.camera, self.minimap.as_ref());
        let context = PickContext { view, camera, minimap, alpha: 1.0, now: self.now };
        let said = &mut self.said;
        self.controller.take(input, &context, &mut |what| said.push(what))
    }

    fn key(&mut self, key: KeyCode) {
        let held = Held { ctrl: self.controller.held.ctrl, shift: self.controller.held.shift };
        self.take(Input::Down(key, held));
        self.take(Input::Up(key));
    }

    fn click(&mut self, button: MouseButton, at: Vec2) {
        self.take(Input::Pressed(button, at));
        self.take(Input::Released(button, at));
    }

    fn drag(&mut self, from: Vec2, to: Vec2) {
        self.take(Input::Pressed(MouseButton::Left, from));
        self.take(Input::Moved(to));
        self.take(Input::Released(MouseButton::Left, to));
    }

    fn commands(&mut self) -> Vec<Command> {
        let said = core::mem::take(&mut self.said).into_iter();
        said.filter_map(|what| if let Control::Command(command) = what { Some(command) } else { None })
            .collect()
    }

    /// Returns the pixel of a player's unit: the first minion of a kind, or the hero.
    fn at(&self, player: u8, kind: Option<KindId>) -> Vec2 {
        let units = &self.view.current.units;
        let row = (0..units.len()).find(|&row| {
            let is_hero = units.control[row] == ControlBehaviour::Player;
            let fits = kind.map_or(is_hero, |kind| !is_hero && units.kind[row] == kind);
            fits && units.owner[row] == PlayerId(player)
        });
        let row = row.expect("there is one");
        let context =
            PickContext { view: &self.view, camera: &self.camera, minimap: None, alpha: 1.0, now: 0.0 };
        self.camera.to_screen(context.place(row))
    }
}

#[test]
fn a_key_pressed_and_released_in_one_frame_walks_and_stops() {
    let mut play = Play::new();
    play.key(KeyCode::D);
    let walks: Vec<_> =
        play.said.iter().map(|what| matches!(what, Control::Hero(hero) if hero.walk.is_some())).collect();
    assert_eq!(walks, [true, false]);
    play.key(KeyCode::Q);
    assert_eq!(play.commands(), [Command::Banner]);
}

#[test]
fn two_keys_walk_diagonally_and_shift_dashes_there() {
    let mut play = Play::new();
    play.take(Input::Down(KeyCode::W, Held::default()));
    play.take(Input::Down(KeyCode::D, Held::default()));
    play.take(Input::Down(KeyCode::LeftShift, Held { shift: true, ctrl: false }));
    assert_eq!(play.commands(), [Command::Dash(Angle(0x2000))]);
    assert_eq!(play.controller.hero.walk, Direction::from_axes(1, 1));
    play.take(Input::Up(KeyCode::W));
    assert_eq!(play.controller.hero.walk, Direction::from_axes(1, 0));
}

#[test]
fn space_strikes_toward_the_cursor() {
    let mut play = Play::new();
    let hero = play.at(0, None);
    play.take(Input::Moved(hero + vec2(0.0, -100.0)));
    play.take(Input::Down(KeyCode::Space, Held::default()));
    assert_eq!(play.controller.hero.strike, Some(Angle(0x4000)), "up on the screen is up in the world");
    play.take(Input::Up(KeyCode::Space));
    assert_eq!(play.controller.hero.strike, None);
}

#[test]
fn clicks_and_drags_select_and_modifiers_add_and_remove() {
    let mut play = Play::new();
    let (sword, bow) = (play.at(0, Some(KindId(0))), play.at(0, Some(KindId(1))));
    play.click(MouseButton::Left, sword);
    assert_eq!(play.controller.selected.len(), 1);
    play.now += 1.0;
    play.take(Input::Down(KeyCode::LeftShift, Held { shift: true, ctrl: false }));
    play.click(MouseButton::Left, bow);
    play.take(Input::Up(KeyCode::LeftShift));
    assert_eq!(play.controller.selected.len(), 2);
    play.take(Input::Down(KeyCode::LeftControl, Held { shift: false, ctrl: true }));
    play.now += 1.0;
    play.click(MouseButton::Left, sword);
    play.take(Input::Up(KeyCode::LeftControl));
    assert_eq!(play.controller.selected.len(), 1);
    play.drag(Vec2::ZERO, vec2(1280.0, 720.0));
    assert_eq!(play.controller.selected.len(), 7, "the hero and six minions, and no enemy");
    play.click(MouseButton::Left, vec2(640.0, 10.0));
    assert!(play.controller.selected.is_empty());
}

#[test]
fn a_double_click_selects_the_kind() {
    let mut play = Play::new();
    let sword = play.at(0, Some(KindId(0)));
    play.click(MouseButton::Left, sword);
    play.now += 0.1;
    play.click(MouseButton::Left, sword);
    assert_eq!(play.controller.selected.len(), 4);
}

#[test]
fn a_right_click_depends_on_its_target() {
    let mut play = Play::new();
    let (enemy, hero) = (play.at(1, Some(KindId(1))), play.at(0, None));
    play.click(MouseButton::Right, vec2(640.0, 100.0));
    assert!(matches!(play.commands()[..], [Command::HeroGo(_)]), "nothing selected: the hero goes");
    play.key(KeyCode::E);
    play.click(MouseButton::Right, vec2(640.0, 100.0));
    assert!(matches!(&play.commands()[..], [Command::AttackMove(all, ..)] if all.len() == 6));
    play.click(MouseButton::Right, enemy);
    assert!(matches!(play.commands()[..], [Command::Attack(..)]));
    play.click(MouseButton::Right, hero);
    assert!(matches!(play.commands()[..], [Command::Follow(..)]));
    play.key(KeyCode::F);
    play.click(MouseButton::Left, vec2(640.0, 100.0));
    assert!(matches!(play.commands()[..], [Command::AttackMove(..)]));
    assert_eq!(play.controller.selected.len(), 6, "an attack-move selects nothing");
}

#[test]
fn groups_are_made_and_called() {
    let mut play = Play::new();
    play.key(KeyCode::R);
    play.take(Input::Down(KeyCode::LeftControl, Held { shift: false, ctrl: true }));
    play.key(KeyCode::Key2);
    play.take(Input::Up(KeyCode::LeftControl));
    play.key(KeyCode::V);
    assert_eq!(play.controller.selected.len(), 4);
    play.key(KeyCode::Key2);
    assert_eq!(play.controller.selected.len(), 2);
}

#[test]
fn a_menu_releases_every_key() {
    let mut play = Play::new();
    play.take(Input::Down(KeyCode::W, Held::default()));
    let said = &mut play.said;
    play.controller.let_go(&mut |what| said.push(what));
    assert!(matches!(play.said[..], [.., Control::Hero(HeroControl { walk: None, strike: None })]));
}

#[test]
fn shift_queues_orders() {
    let mut play = Play::new();
    let (enemy, hero) = (play.at(1, Some(KindId(1))), play.at(0, None));
    play.key(KeyCode::E);
    play.take(Input::Down(KeyCode::LeftShift, Held { shift: true, ctrl: false }));
    play.click(MouseButton::Right, vec2(640.0, 100.0));
    play.click(MouseButton::Right, enemy);
    play.key(KeyCode::F);
    play.click(MouseButton::Left, vec2(640.0, 500.0));
    play.key(KeyCode::C);
    play.click(MouseButton::Right, hero);
    let queued = When::Queued;
    assert!(matches!(&play.commands()[..], [
            Command::AttackMove(.., first),
            Command::Attack(.., second),
            Command::AttackMove(.., third),
            Command::Hold(_, fourth),
            Command::Follow(_, fifth),
        ] if [first, second, third, fourth, fifth].into_iter().all(|when| *when == queued)));
    assert_eq!(play.controller.selected.len(), 6, "an order with Shift selects nothing");
    play.take(Input::Up(KeyCode::LeftShift));
    play.click(MouseButton::Right, vec2(640.0, 100.0));
    assert!(matches!(play.commands()[..], [Command::AttackMove(.., When::Now)]));
}

#[test]
fn with_ctrl_a_right_click_runs_whatever_lies_there() {
    for preset in [Preset::Standard, Preset::Moba] {
        let mut choices = KeyChoices::default();
        choices.reset(preset);
        put_in_force(&choices);
        let mut play = Play::new();
        let (enemy, hero, core) = (play.at(1, Some(KindId(1))), play.at(0, None), base(&play, 1));
        play.key(KeyCode::E);
        play.click(MouseButton::Right, vec2(640.0, 100.0));
        assert!(matches!(play.commands()[..], [.., Command::AttackMove(..)]), "{preset:?}");
        play.take(Input::Down(KeyCode::LeftControl, Held { shift: false, ctrl: true }));
        for place in [vec2(640.0, 100.0), enemy, hero, core] {
            play.click(MouseButton::Right, place);
            let commands = play.commands();
            assert!(matches!(commands[..], [.., Command::Move(..)]), "{preset:?}: {commands:?}");
            assert!(play.controller.pointer_order(play.now).is_some_and(|order| !order.is_attack));
        }
        play.take(Input::Up(KeyCode::LeftControl));
        // Another key may mean it.
        assert!(choices.bind(Action::Run, KeyCode::Z));
        put_in_force(&choices);
        play.take(Input::Down(KeyCode::Z, Held::default()));
        play.click(MouseButton::Right, vec2(640.0, 100.0));
        assert!(matches!(play.commands()[..], [.., Command::Move(..)]), "{preset:?}");
    }
}

#[test]
fn a_right_click_on_the_minimap_gives_the_orders_of_the_ground() {
    put_in_force(&KeyChoices::default());
    let mut play = Play::new();
    let arena = Rect::new(0.0, 52.0, 1280.0, 610.0);
    let minimap = Camera::minimap(&play.view.setup.map, arena, 1.0);
    play.camera = Camera { centre: vec2(-10.0, 0.0), tiles_high: 22.0, viewport: arena };
    play.minimap = Some(minimap.clone());
    play.key(KeyCode::E);
    // A place far outside the arena's view.
    let place = vec2(18.0, 6.0);
    let near = |target: Target| {
        let at = vec2(target.at().x.to_num(), target.at().y.to_num());
        at.distance(place) < 0.5
    };
    play.click(MouseButton::Right, minimap.to_screen(place));
    let commands = play.commands();
    assert!(matches!(commands[..], [Command::AttackMove(_, to, When::Now)] if near(to)), "{commands:?}");
    play.take(Input::Down(KeyCode::LeftControl, Held { shift: false, ctrl: true }));
    play.click(MouseButton::Right, minimap.to_screen(place));
    let commands = play.commands();
    assert!(matches!(commands[..], [Command::Move(_, to, When::Now)] if near(to)), "{commands:?}");
    play.take(Input::Up(KeyCode::LeftControl));
    play.take(Input::Down(KeyCode::F, Held::default()));
    play.click(MouseButton::Left, minimap.to_screen(place));
    let commands = play.commands();
    assert!(matches!(commands[..], [Command::AttackMove(_, to, When::Now)] if near(to)), "{commands:?}");
    let core = minimap.to_screen(vec2(27.0, 0.0));
    assert_eq!(play.take(Input::Pressed(MouseButton::Right, core)), Some(Request::Shielded));
    // The base has a flag there, too.
    play.click(MouseButton::Left, base(&play, 0));
    play.click(MouseButton::Right, minimap.to_screen(place));
    assert!(matches!(play.commands()[..], [Command::Rally(Some(to))] if near(to)));
}

#[test]
fn a_selected_hero_does_not_run_ahead_of_queued_orders() {
    let mut play = Play::new();
    play.drag(Vec2::ZERO, vec2(1280.0, 720.0));
    play.take(Input::Down(KeyCode::LeftShift, Held { shift: true, ctrl: false }));
    play.click(MouseButton::Right, vec2(640.0, 100.0));
    assert!(matches!(play.commands()[..], [Command::AttackMove(.., When::Queued)]));
    play.take(Input::Up(KeyCode::LeftShift));
    play.click(MouseButton::Right, vec2(640.0, 100.0));
    assert!(matches!(play.commands()[..], [Command::HeroGo(_), Command::AttackMove(.., When::Now)]));
}

/// Returns the pixel of a player's core.
fn base(play: &Play, player: usize) -> Vec2 {
    let (x, y) = play.view.setup.map.bases[player];
    play.camera.to_screen(vec2(x as f32, y as f32) / 1000.0)
}

#[test]
fn the_selected_base_sets_and_clears_a_rally_point() {
    let mut play = Play::new();
    let (own, other) = (base(&play, 0), base(&play, 1));
    play.click(MouseButton::Left, other);
    assert!(!play.controller.base_selected, "not that one");
    play.key(KeyCode::E);
    play.click(MouseButton::Left, own);
    assert!(play.controller.base_selected && play.controller.selected.is_empty());
    let place = vec2(640.0, 100.0);
    play.click(MouseButton::Right, place);
    let at = target(play.camera.to_tiles(place));
    assert_eq!(play.commands(), [Command::Rally(Some(at))], "and the hero stays");
    play.click(MouseButton::Right, own);
    assert_eq!(play.commands(), [Command::Rally(None)]);
    play.key(KeyCode::E);
    assert!(!play.controller.base_selected);
    play.click(MouseButton::Right, own);
    assert!(matches!(play.commands()[..], [Command::AttackMove(..)]), "units go there as anywhere");
}

#[test]
fn units_and_modifiers_take_precedence_over_the_base() {
    let mut play = Play::new();
    let own = base(&play, 0);
    play.click(MouseButton::Left, own);
    let sword = play.at(0, Some(KindId(0)));
    play.click(MouseButton::Left, sword);
    assert!(!play.controller.base_selected && play.controller.selected.len() == 1);
    play.now += 1.0;
    play.take(Input::Down(KeyCode::LeftShift, Held { shift: true, ctrl: false }));
    play.click(MouseButton::Left, own);
    assert!(
        !play.controller.base_selected && play.controller.selected.len() == 1,
        "Shift adds units to units"
    );
    play.take(Input::Up(KeyCode::LeftShift));
    play.now += 1.0;
    play.click(MouseButton::Left, own);
    let seat = |view: &mut View| Arc::make_mut(&mut view.current).cores.hp[0] = 0;
    seat(&mut play.view);
    let context =
        PickContext { view: &play.view, camera: &play.camera, minimap: None, alpha: 1.0, now: play.now };
    play.controller.refresh(&context, &mut |_| {});
    assert!(!play.controller.base_selected, "nothing is left of it");
}

#[test]
fn backspace_asks_for_the_last_alert() {
    let mut play = Play::new();
    assert_eq!(play.take(Input::Down(KeyCode::Backspace, Held::default())), Some(Request::LastAlert));
    assert!(play.commands().is_empty());
}

#[test]
fn a_key_trains_one_and_with_shift_repeats() {
    let mut play = Play::new();
    let key = |held| Input::Down(KeyCode::B, held);
    assert_eq!(play.take(key(Held::default())), Some(Request::Train(KindId(0))));
    let shift = Held { shift: true, ctrl: false };
    assert_eq!(play.take(key(shift)), Some(Request::Repeat(KindId(0))));
    assert!(play.commands().is_empty());
}

#[test]
fn losing_focus_releases_every_key() {
    let mut play = Play::new();
    play.take(Input::Down(KeyCode::W, Held { shift: true, ctrl: false }));
    play.take(Input::Pressed(MouseButton::Left, Vec2::new(100.0, 100.0)));
    play.take(Input::Moved(Vec2::new(300.0, 300.0)));
    assert!(play.controller.drag().is_some());
    play.said.clear();
    play.take(Input::FocusLost);
    assert!(matches!(play.said[..], [Control::Hero(hero)] if hero == HeroControl::default()));
    assert!(play.controller.drag().is_none() && !play.controller.is_shift_held());
    // The key is released elsewhere; a later press does not find it held.
    play.said.clear();
    play.take(Input::Up(KeyCode::W));
    assert!(play.said.is_empty());
}

#[test]
fn an_open_core_is_attacked_and_a_shielded_one_is_not() {
    let mut play = Play::new();
    let (x, y) = play.view.setup.map.bases[1];
    let core = play.camera.to_screen(vec2(x as f32, y as f32) / 1000.0);
    play.key(KeyCode::E);
    let right = |play: &mut Play| play.take(Input::Pressed(MouseButton::Right, core));
    assert_eq!(right(&mut play), Some(Request::Shielded));
    assert!(play.commands().is_empty() && play.controller.pointer_order(play.now).is_none());
    Arc::make_mut(&mut play.view.current).cores.open[1] = 1;
    assert_eq!(right(&mut play), None);
    let commands = play.commands();
    let [Command::AttackMove(minions, to, When::Now)] = &commands[..] else { panic!("{commands:?}") };
    assert_eq!((minions.len(), *to), (6, target(vec2(x as f32, y as f32) / 1000.0)));
    assert!(play.controller.pointer_order(play.now).is_some_and(|order| order.is_attack));
    // A destroyed core is ordinary ground.
    Arc::make_mut(&mut play.view.current).cores.hp[1] = 0;
    assert_eq!(right(&mut play), None);
    assert!(matches!(play.commands()[..], [Command::AttackMove(..)]));
}
