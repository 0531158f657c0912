//! A running match.

mod end;
mod facts;
pub(super) mod lost;

use macroquad::math::{Vec2, vec2};
use macroquad::miniquad::KeyCode;
use std::sync::Arc;

use super::Next;
use super::camera_control::CameraControl;
use super::help::HelpCard;
use super::menu::{self, Choice};
use super::net_graph::NetGraph;
use super::notices::{
    count_down, fetch_card, fetched_percent, hint, hint_text, is_held_up, name_of, news_line, pause_card,
    seconds_to_go, shield_text,
};
use super::prompt::{self, Prompt};
use super::scores::scores;
use super::settings::SettingsPanel;
use super::training::{Pressed, Training};
use super::tutorial_card::{learned_card, task_card};
use crate::gui::alerts::Alerts;
use crate::gui::bindings::{self, Action, action_of};
use crate::gui::context::AppContext;
use crate::gui::draw::{Camera, NetStatus, Scene};
use crate::gui::input::Input;
use crate::gui::input_controller::{InputController, PickContext, Request};
use crate::gui::launch::Game;
use crate::gui::page::Page;
use crate::gui::production::LOST_AFTER_MS;
use crate::gui::sent_commands::SentCommands;
use crate::gui::sound::{Cues, Ear, Kind, MusicState, Waiting, answer};
use crate::gui::talk::Talk;
use crate::gui::tutorial::{Task, Tutorial};
use crate::gui::window::window;
use game::phrase::clock;
use game::{Control, EventBacklog, Finished, View};
use net::StallCause;
use sim::{Command, GameState, KindId, PlayerId};

/// Minimum length of a stall that is mentioned, in milliseconds.
const STALL_SHOWN_MS: u128 = 150;
/// Time for which the final scene is shown before the result covers it, in seconds.
const LAST_LOOK_S: f64 = 2.0;
/// Time for which the hint about a shielded core is shown, in seconds.
const SHIELDED_SHOWN_S: f64 = 3.0;

/// Finished match whose players may get ready for another one, and its chat.
pub(super) struct Party {
    pub(super) game: Game,
    pub(super) talk: Talk,
}

pub(crate) struct PlayScreen {
    game: Game,
    view: Option<View>,
    /// State that the painter has seen last.
    observed: Option<Arc<GameState>>,
    /// Events since the last frame.
    events: EventBacklog,
    alerts: Alerts,
    cues: Cues,
    waiting: Waiting,
    controller: InputController,
    camera_control: CameraControl,
    training: Training,
    /// The tutorial, if this match is one.
    tutorial: Option<Tutorial>,
    sent: SentCommands,
    overlay: Overlay,
    help: HelpCard,
    settings: SettingsPanel,
    talk: Talk,
    /// Card that opened by itself, if one is shown.
    prompt: Prompt,
    /// Time until which a lost player is awaited without asking again, in seconds since the window opened.
    waits_until: f64,
    /// Time at which the pause was first shown.
    paused_since: Option<f64>,
    graph: NetGraph,
    shows_graph: bool,
    finished: Option<(Finished, f64)>,
    has_asked_to_leave: bool,
    /// Whether P has halted a practice match.
    is_halted: bool,
    /// Time of the last order to attack a shielded core, in seconds since the window opened.
    shielded_at: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Overlay {
    None,
    /// The menu, and whether surrendering was requested once and awaits confirmation.
    Menu(bool),
    Help,
    Settings,
    /// The chat field.
    Talk,
    /// The question about the last lost player, or about one who holds up the match.
    Lost,
    /// The end of the tutorial.
    Learned,
}

impl PlayScreen {
    pub(crate) fn new(game: Game) -> Self {
        let tutorial = game.is_tutorial().then(Tutorial::default);
        let training = if game.is_easy_practice() { Training::repeating() } else { Training::default() };
        Self {
            game,
            view: None,
            observed: None,
            events: EventBacklog::default(),
            alerts: Alerts::default(),
            cues: Cues::default(),
            waiting: Waiting::default(),
            controller: InputController::default(),
            camera_control: CameraControl::following(),
            training,
            tutorial,
            sent: SentCommands::default(),
            overlay: Overlay::None,
            help: HelpCard::of_keys(),
            settings: SettingsPanel::default(),
            talk: Talk::default(),
            prompt: Prompt::default(),
            waits_until: 0.0,
            paused_since: None,
            graph: NetGraph::default(),
            shows_graph: false,
            finished: None,
            has_asked_to_leave: false,
            is_halted: false,
            shielded_at: None,
        }
    }

    pub(crate) fn arena(&mut self, context: &mut AppContext, inputs: Vec<Input>) -> Option<Next> {
        if self.finished.is_none() {
            self.finished = self.game.poll().map(|finished| (finished, context.now));
            self.look_at_the_end();
        }
        if let Some(view) = self.game.view.take(&mut self.events) {
            if self.view.is_none() {
                bindings::use_rules(&view.setup.rules);
            }
            self.observe(context, &view);
            if let Some(tutorial) = &mut self.tutorial {
                tutorial.observe(&view, self.training.is_repeating());
            }
            self.view = Some(view);
        }
        self.game.set_halted(self.is_halting());
        let view = self.view.take()?;
        let speaker = self.talk.hear(&mut self.game.news, context.now, |player| {
            (name_of(&view, player), view.current.team_of(player))
        });
        if speaker.is_some_and(|player| Some(player) != view.me) {
            context.sound.play(Kind::Chat);
        }
        if let Some(kind) = self.waiting.step(seconds_to_go(&view, self.game.now()), is_held_up(&view)) {
            context.sound.play(kind);
        }
        self.mind_the_lost(context.now, &view);
        self.paused_since = view.current.pause().map(|_| self.paused_since.unwrap_or(context.now));
        self.play(context, &view, inputs);
        self.view = Some(view);
        let hurries = self.has_asked_to_leave;
        let is_seen = |since: f64| hurries || context.now - since >= LAST_LOOK_S;
        if self.finished.as_ref().is_some_and(|(_, since)| is_seen(*since)) {
            return self.finish(context);
        }
        None
    }

    /// Returns the state that the music follows.
    pub(super) fn music(&self) -> MusicState {
        self.view.as_ref().map_or(MusicState::Silent, |view| self.cues.music(view))
    }

    fn observe(&mut self, context: &mut AppContext, view: &View) {
        let is_new = self.observed.as_ref().is_none_or(|seen| seen.tick() != view.current.tick());
        // Events of the confirmed world arrive even while the predicted view, ahead of it, waits.
        if is_new || !self.events.is_empty() {
            let seen = self.observed.replace(Arc::clone(&view.current));
            let before = seen.as_deref().unwrap_or(&view.previous);
            context.painter.observe(&view.setup, before, &view.current, &self.events);
            self.alerts.observe(view, &self.events, context.now);
            let ear = Ear::of(&self.camera(context, view, 1.0));
            self.cues.observe(view, before, &self.events, &mut |cue| context.sound.play_cue(&cue, &ear));
        }
    }

    /// Handles the input and draws the arena.
    fn play(&mut self, context: &mut AppContext, view: &View, inputs: Vec<Input>) {
        let alpha = view.alpha(self.game.now());
        let whole = Camera::whole(&view.setup.map, context.arena()).tiles_high;
        let mut camera = self.camera(context, view, alpha);
        let minimap = context.minimap(&view.setup.map, camera.viewport);
        let is_over = self.finished.is_some();
        for input in inputs {
            // Losing focus releases held keys even under an overlay.
            if input != Input::FocusLost && (self.overlay != Overlay::None || is_over) {
                self.take_in_overlay(context, input);
                continue;
            }
            // A click that gives an order gives it on the minimap, too.
            let is_order = self.controller.is_aiming() && matches!(input, Input::Pressed(..));
            let at = self.controller.pointer();
            let moves = !is_order && self.camera_control.take(input, (&camera, &minimap), whole, at);
            camera = self.camera(context, view, alpha);
            if moves {
                continue;
            }
            let picked =
                PickContext { view, camera: &camera, minimap: Some(&minimap), alpha, now: context.now };
            let selected = (self.controller.selected.clone(), self.controller.base_selected);
            let request = match self.press_button(context, view, input) {
                true => None,
                false => {
                    let before = self.sent.last();
                    let (game, sent, sound) = (&self.game, &mut self.sent, &context.sound);
                    let request = self.controller.take(input, &picked, &mut |what| {
                        if let Control::Command(command) = &what
                            && let Some(kind) = answer(view, command)
                        {
                            sound.play(kind);
                        }
                        say(game, sent, view, what);
                    });
                    if sent.last() != before {
                        self.controller.number_order(sent.last());
                    }
                    request
                }
            };
            let selects = !self.controller.selected.is_empty() || self.controller.base_selected;
            if selects && selected != (self.controller.selected.clone(), self.controller.base_selected) {
                context.sound.play(Kind::Select);
            }
            if let Some(request) = request {
                self.fulfil(context, view, request);
            }
        }
        let picked = PickContext { view, camera: &camera, minimap: Some(&minimap), alpha, now: context.now };
        let (game, sent) = (&self.game, &mut self.sent);
        if self.overlay == Overlay::None && !is_over {
            self.controller.refresh(&picked, &mut |what| say(game, sent, view, what));
        }
        let is_paused = view.current.pause().is_some();
        if !is_over
            && !is_paused
            && let Some(command) = self.training.repeat(view, sent)
        {
            say(game, sent, view, Control::Command(command));
        }
        self.draw(context, view, &camera, alpha);
    }

    fn draw(&mut self, context: &mut AppContext, view: &View, camera: &Camera, alpha: f32) {
        let training = self.training.status(view, self.controller.pointer(), context.now, window());
        let net = self.net_status(view);
        self.graph.sample(context.now, &net);
        let drag = self.controller.drag();
        context.painter.draw(
            camera,
            &Scene {
                selected: &self.controller.selected,
                hovered: self.controller.hovered,
                drag,
                pointer_order: self.controller.pointer_order(context.now),
                base_selected: self.controller.base_selected,
                alert: self.alerts.mark(context.now),
                goal: self.task(view).and_then(|task| task.place),
                is_core_hit: self.alerts.is_core_hit(context.now),
                net: Some(&net).filter(|_| !self.game.is_without_network()),
                training: training.as_ref(),
                ..Scene::of(view, alpha, context.now as f32)
            },
        );
    }

    /// Whether this was a press on the economy's plate rather than on the arena below it.
    fn press_button(&mut self, context: &AppContext, view: &View, input: Input) -> bool {
        let Input::Pressed(button, at) = input else { return false };
        let shift = self.controller.is_shift_held();
        let Some(pressed) = Training::pressed(button, at, shift, window()) else { return false };
        match pressed {
            Pressed::Train(kind) => self.train(context, view, kind),
            Pressed::Repeat(kind) => self.toggle_repeat(context, kind),
            Pressed::Nothing => {}
        }
        true
    }

    fn train(&mut self, context: &AppContext, view: &View, kind: KindId) {
        let is_paused = view.current.pause().is_some();
        let command = if is_paused { None } else { self.training.train(view, &self.sent, kind, context.now) };
        context.sound.play(if command.is_some() { Kind::Click } else { Kind::Refused });
        if let Some(command) = command {
            say(&self.game, &mut self.sent, view, Control::Command(command));
        }
    }

    fn toggle_repeat(&mut self, context: &AppContext, kind: KindId) {
        context.sound.play(Kind::Click);
        self.training.toggle(kind);
    }

    fn camera(&mut self, context: &AppContext, view: &View, alpha: f32) -> Camera {
        let any = Camera::whole(&view.setup.map, context.arena());
        let picked = PickContext { view, camera: &any, minimap: None, alpha, now: context.now };
        let hero = view.me.and_then(|me| view.current.hero(me)).map(|row| picked.place(row));
        self.camera_control.camera(&view.setup.map, context.arena(), window(), hero)
    }

    /// Passes an input to the open overlay; Esc and F1 close it.
    fn take_in_overlay(&mut self, context: &mut AppContext, input: Input) {
        if self.overlay == Overlay::Settings {
            return self.settings.take(input, &mut context.settings);
        }
        if self.overlay == Overlay::Lost {
            return self.prompt.take(input, context.now);
        }
        let Input::Down(key, _) = input else { return };
        match (self.overlay, action_of(key)) {
            (Overlay::Talk, Some(Action::Menu)) => {
                self.talk.close();
                self.overlay = Overlay::None;
            }
            // Keys are letters of the message.
            (Overlay::Talk, _) => {}
            (Overlay::Learned, _) => {}
            (_, Some(Action::Menu | Action::Help)) => self.overlay = Overlay::None,
            _ => {}
        }
    }

    fn fulfil(&mut self, context: &mut AppContext, view: &View, request: Request) {
        match request {
            Request::LockCamera => self.camera_control.toggle_lock(),
            Request::NetGraph => self.shows_graph = !self.shows_graph,
            Request::Picture => context.picture(),
            Request::Help => self.open(Overlay::Help),
            Request::Talk => {
                self.open(Overlay::Talk);
                self.talk.open();
            }
            Request::Menu if fetched_percent(view).is_some() => self.game.say(Control::Leave),
            Request::Menu => self.open(Overlay::Menu(false)),
            Request::Centre => {
                let rows = self.controller.selected.iter().filter_map(|id| view.current.row(*id));
                let units = &view.current.units;
                let places: Vec<Vec2> =
                    rows.map(|row| vec2(units.x[row].to_num(), units.y[row].to_num())).collect();
                if !places.is_empty() {
                    self.camera_control.turn_to(places.iter().sum::<Vec2>() / places.len() as f32);
                }
            }
            Request::Pause if self.game.is_practice() => self.is_halted ^= true,
            Request::Pause if view.current.pause().is_some() => {
                // If two players pause at the same moment, the second does not mean to resume.
                if self.paused_since.is_some_and(|since| !prompt::is_new(since, context.now)) {
                    say(&self.game, &mut self.sent, view, Control::Command(Command::Resume));
                }
            }
            Request::Pause => say(&self.game, &mut self.sent, view, Control::Command(Command::Pause)),
            Request::Skip => self.skip_tutorial(context),
            Request::Shielded => {
                self.shielded_at = Some(context.now);
                context.sound.play(Kind::Refused);
            }
            Request::Train(kind) => self.train(context, view, kind),
            Request::Repeat(kind) => self.toggle_repeat(context, kind),
            Request::LastAlert => {
                if let Some(at) = self.alerts.recall(context.now) {
                    context.sound.play(Kind::Alert);
                    self.camera_control.turn_to(at);
                }
            }
        }
    }

    fn open(&mut self, overlay: Overlay) {
        let game = &self.game;
        self.controller.let_go(&mut |what| game.say(what));
        self.overlay = overlay;
    }

    fn net_status(&self, view: &View) -> NetStatus {
        let now = self.game.now();
        let stalled = view.waits_for.and_then(|waits| {
            let ms = now.since(waits.since).as_millis();
            (ms >= STALL_SHOWN_MS && self.finished.is_none()).then(|| {
                let (who, why) = match (waits.player, waits.cause) {
                    (PlayerId::NONE, _) => ("the server", "nothing arrives"),
                    (player, StallCause::Network) => (name_of(view, player), "nothing arrives"),
                    (player, StallCause::Computer) => (name_of(view, player), "that computer is slow"),
                };
                format!("waiting for {who} for {:.1} s: {why}", ms as f64 / 1000.0)
            })
        });
        NetStatus {
            rtt_ms: view.links.first().and_then(|link| link.rtt_us).unwrap_or(0) as f32 / 1000.0,
            delay_ms: view.delay_us as f32 / 1000.0,
            is_silent: stalled.is_some()
                && view.waits_for.is_some_and(|waits| waits.cause == StallCause::Network),
            stalled,
            loss: view
                .links
                .first()
                .map_or(0.0, |link| f32::from(link.lost_from_per_mille.max(link.lost_to_per_mille)) / 1000.0),
            updates_per_s: view.updates_per_s,
            dropped: view.dropped,
            words: view.words,
        }
    }

    pub(crate) fn page(&mut self, context: &mut AppContext, page: &mut Page<'_>) -> Option<Next> {
        let view = self.view.clone()?;
        if self.shows_graph && matches!(self.overlay, Overlay::None | Overlay::Talk) {
            self.graph.draw(page);
        }
        if self.finished.is_none() {
            let now = self.game.now();
            count_down(page, &view, now);
            pause_card(page, &view, self.is_halted);
            fetch_card(page, &view);
            if self.overlay == Overlay::None {
                let is_shielded = self.shielded_at.is_some_and(|at| context.now - at < SHIELDED_SHOWN_S);
                let shielded = is_shielded.then(|| shield_text(&view));
                let usual = hint_text(&view, self.controller.base_selected);
                let bottom = context.arena().bottom();
                hint(page, shielded.as_deref().or(usual), bottom);
                if self.task(&view).is_some_and(|task| task_card(page, &task, bottom)) {
                    self.skip_tutorial(context);
                }
            }
        }
        if self.overlay == Overlay::None && self.controller.holds(Action::Scores) {
            scores(page, &view);
        }
        if let Some(said) = self.talk.over_match(page, context.now) {
            match said {
                Ok(line) => self.game.say(Control::Chat(line)),
                Err(why) => context.note(why),
            }
        }
        match self.overlay {
            Overlay::None => {}
            Overlay::Talk if !self.talk.is_open() => self.overlay = Overlay::None,
            Overlay::Talk => {}
            Overlay::Learned => return self.learned(context, page),
            Overlay::Lost => self.ask_about_the_lost(page, context.now, &view),
            Overlay::Settings => {
                if !self.settings.page(&mut context.settings, page) {
                    self.overlay = Overlay::Menu(false);
                }
            }
            Overlay::Help => {
                if self.help.page(page) {
                    self.overlay = Overlay::None;
                }
            }
            Overlay::Menu(is_asking) => {
                if let Some(choice) = menu::match_menu(page, is_asking, self.game.is_practice()) {
                    self.choose(choice, is_asking);
                }
            }
        }
        // News is shown a line at a time, one per view.
        let news =
            self.game.news.iter().enumerate().find_map(|(at, event)| Some((at, news_line(&view, event)?)));
        if let Some((at, line)) = news {
            self.game.news.remove(at);
            context.note(line);
        }
        None
    }

    fn choose(&mut self, choice: Choice, is_asking: bool) {
        self.overlay = Overlay::None;
        match choice {
            Choice::Resume => {}
            Choice::Help => self.overlay = Overlay::Help,
            Choice::Settings => {
                self.overlay = Overlay::Settings;
                self.settings = SettingsPanel::default();
            }
            Choice::Surrender if !is_asking => self.overlay = Overlay::Menu(true),
            Choice::Surrender => {
                self.is_halted = false;
                self.game.say(Control::Command(Command::Surrender));
            }
            Choice::Leave => {
                self.has_asked_to_leave = true;
                self.game.say(Control::Leave);
            }
        }
    }

    /// Returns the tutorial's current task.
    fn task(&self, view: &View) -> Option<Task> {
        let tutorial = self.tutorial.as_ref().filter(|_| self.finished.is_none())?;
        tutorial.task(view, self.controller.selected.len())
    }

    /// Shows the end of the tutorial.
    fn learned(&self, context: &mut AppContext, page: &mut Page<'_>) -> Option<Next> {
        page.is_inert = self.prompt.is_new(context.now);
        let next = learned_card(context, page);
        page.is_inert = false;
        next
    }

    fn skip_tutorial(&mut self, context: &mut AppContext) {
        if self.tutorial.is_some() {
            context.settings.has_learned = true;
            self.has_asked_to_leave = true;
            self.game.say(Control::Leave);
        }
    }

    /// Whether the match waits for the player, because all opponents are bots.
    fn is_halting(&self) -> bool {
        let is_read = matches!(self.overlay, Overlay::Menu(_) | Overlay::Help | Overlay::Settings);
        self.finished.is_none() && !self.has_asked_to_leave && (self.is_halted || is_read)
    }

    pub(crate) const fn is_aiming(&self) -> bool {
        self.controller.is_aiming()
    }

    pub(crate) fn takes_keys(&self) -> bool {
        self.overlay == Overlay::Settings && self.settings.captures()
    }

    pub(crate) fn shows_help(&self) -> bool {
        self.overlay == Overlay::Help
    }
}

/// Sends a control to the match, and numbers commands. While the match is paused, drops those that it would ignore.
fn say(game: &Game, sent: &mut SentCommands, view: &View, what: Control) {
    if let Control::Command(command) = &what {
        if view.current.pause().is_some() && !command.is_for_pauses() {
            return;
        }
        let seen = view.me.and_then(|me| view.current.players.commands.get(me.index()).copied());
        sent.send(
            seen.unwrap_or_default(),
            view.current.tick(),
            view.setup.tick_rate.ticks_in_ms(LOST_AFTER_MS),
        );
    }
    game.say(what);
}

/// Formats ticks as the match clock.
pub(super) fn match_clock(ticks: u32, hz: u32) -> String {
    clock(u64::from(ticks / hz))
}

/// Whether a key has this action.
pub(super) fn means(key: KeyCode, action: Action) -> bool {
    action_of(key) == Some(action)
}
