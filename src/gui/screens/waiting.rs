//! The screen until all players have joined, and after a failure.

use egui_macroquad::egui::{Align2, Rect, pos2, vec2};
use serde_json::{Value, json};

use super::form::{capitalised, part};
use super::join::own_addresses;
use super::lobby::LobbyPanel;
use super::{Attract, Next, over};
use crate::cli::setup;
use crate::gui::context::AppContext;
use crate::gui::input::Input;
use crate::gui::launch::{Game, LaunchRequest};
use crate::gui::page::{FIELD_BYTES_MAX, Page, Weight};
use crate::gui::theme;
use game::MatchError;
use game::data::WorldError;
use game::phrase::duration;
use net::{Refusal, RoomCode};

const ROW: f32 = 42.0;

pub(crate) struct WaitingScreen {
    pub(super) attract: Attract,
    state: State,
    lobby: Option<LobbyPanel>,
    since: Option<f64>,
}

enum State {
    Waiting(Box<Game>),
    Failed(LaunchRequest, Failure),
    /// Cancelled; the screen is about to change.
    Left,
}

impl WaitingScreen {
    /// Starts the requested match.
    pub(crate) fn start(attract: Attract, request: LaunchRequest) -> Self {
        Self { attract, state: begin(request), lobby: None, since: None }
    }

    pub(crate) const fn failed(attract: Attract, request: LaunchRequest, failure: Failure) -> Self {
        Self { attract, state: State::Failed(request, failure), lobby: None, since: None }
    }

    pub(crate) fn arena(&mut self, context: &mut AppContext, inputs: &[Input]) -> Option<Next> {
        let State::Waiting(game) = &mut self.state else { return None };
        let finished = game.poll();
        LobbyPanel::hear(&mut self.lobby, game, context.now);
        if let Some(lobby) = &mut self.lobby {
            lobby.take(inputs);
        }
        let is_ready = game.view.latest().is_some_and(|view| view.begin.is_some());
        if finished.is_none() && !is_ready {
            return None;
        }
        let State::Waiting(mut game) = core::mem::replace(&mut self.state, State::Left) else {
            return None;
        };
        Some(match finished {
            Some(finished) => {
                let view = game.view.latest();
                over(&mut game, view, finished)
            }
            None => Next::Play(game),
        })
    }

    pub(crate) fn page(&mut self, context: &mut AppContext, page: &mut Page<'_>) -> Option<Next> {
        if let (Some(lobby), State::Waiting(game)) = (&mut self.lobby, &mut self.state) {
            let where_to = where_to(game);
            let leaves = lobby.page(context, page, game, &where_to);
            return leaves.then(|| self.leave());
        }
        let plate = page.centred(620.0, 330.0);
        page.plate("waiting", plate);
        let inside = plate.shrink(24.0);
        let waited = context.now - *self.since.get_or_insert(context.now);
        let buttons = Rect::from_min_max(pos2(inside.left(), inside.bottom() - ROW), inside.right_bottom());
        page.within("waiting", |page| match &mut self.state {
            State::Waiting(game) => {
                say(page, inside, title(game), theme::TEXT, &wait_text(game, waited));
                let middle = Rect::from_center_size(buttons.center(), vec2(220.0, ROW));
                page.button("cancel", middle, "Cancel", Weight::Normal) || page.escapes()
            }
            State::Failed(request, failure) => {
                say(page, inside, failure.title, theme::RED, &failure.why);
                let code = code_of(request).filter(|_| failure.asks_for_code);
                let is_entered = code.is_some_and(|code| {
                    let row = buttons.translate(vec2(0.0, -ROW - 18.0));
                    page.line("code", row, code, "the code of the match", FIELD_BYTES_MAX)
                });
                let left = part(buttons, 0, 2);
                let again = page.button("again", left, "Try again", Weight::Primary) || is_entered;
                let back = page.button("back", part(buttons, 1, 2), "Menu", Weight::Normal);
                if again {
                    return self.again();
                }
                back || page.escapes()
            }
            State::Left => false,
        })
        .then(|| self.leave())
    }

    /// Tries again; false, since the screen stays.
    fn again(&mut self) -> bool {
        if let State::Failed(request, _) = &mut self.state {
            if let LaunchRequest::Join(arguments, _) = request {
                // A blank code is that of an open match.
                arguments.game.network.room.take_if(|code| RoomCode::of(code).is_open());
            }
            self.state = begin(request.clone());
            (self.lobby, self.since) = (None, None);
        }
        false
    }

    fn leave(&mut self) -> Next {
        let old = core::mem::replace(&mut self.state, State::Left);
        let next = match &old {
            State::Waiting(game) if matches!(game.request, LaunchRequest::Join(..)) => Next::Join(None),
            _ => Next::Start,
        };
        if let State::Waiting(game) = old {
            game.close();
        }
        next
    }

    pub(crate) fn close(self) {
        if let State::Waiting(game) = self.state {
            game.close();
        }
    }

    pub(crate) const fn name(&self) -> &'static str {
        match (&self.state, &self.lobby) {
            (State::Failed(..), _) => "failed",
            (_, Some(_)) => "lobby",
            (_, None) => "waiting",
        }
    }

    /// Returns what the screen shows, for a test.
    pub(crate) fn facts(&self) -> Value {
        let lobby = self.lobby.as_ref().map(LobbyPanel::facts);
        let why = if let State::Failed(_, failure) = &self.state { Some(&failure.why) } else { None };
        json!({ "port": self.port(), "lobby": lobby, "no_match": why })
    }

    const fn port(&self) -> Option<u16> {
        if let State::Waiting(game) = &self.state { Some(game.port) } else { None }
    }
}

fn say(page: &mut Page<'_>, inside: Rect, title: &str, colour: egui_macroquad::egui::Color32, text: &str) {
    page.text("title", inside.left_top(), Align2::LEFT_TOP, (theme::LARGE, colour), title, inside.width());
    let below = inside.left_top() + vec2(0.0, 52.0);
    page.paragraph("text", below, (theme::BODY, theme::TEXT), text, inside.width());
}

/// Reason why there is no match.
pub(crate) struct Failure {
    title: &'static str,
    why: String,
    /// Whether the match has another code than the given one, so that the player may type one.
    asks_for_code: bool,
}

impl Failure {
    pub(super) fn of(error: &MatchError, request: &LaunchRequest) -> Self {
        let asks_for_code = matches!(error, MatchError::Refused(Refusal::RoomCode));
        let has_code = matches!(request, LaunchRequest::Join(with, _) if with.game.network.room.is_some());
        let version = match request {
            LaunchRequest::Join(_, hosts) => setup::other_version(error, hosts),
            _ => None,
        };
        let why = match error {
            MatchError::Refused(Refusal::RoomCode) => {
                let is = if has_code { "has another code" } else { "is locked: its host knows the code" };
                format!("This match {is}. Upper and lower case and spaces make no difference.")
            }
            MatchError::World(WorldError::UnknownRules(_)) => {
                format!("{error}: start `arena join` with its file and --rules")
            }
            MatchError::World(WorldError::UnknownMap(_)) => {
                format!("{error}: start `arena join` with its file and --map")
            }
            error => version
                .map_or_else(|| error.to_string(), |version| format!("{error}; arena {version} runs there")),
        };
        let title = match (asks_for_code, has_code) {
            (false, _) => "No match",
            (true, false) => "The code",
            (true, true) => "Another code",
        };
        Self { title, why: capitalised(&why), asks_for_code }
    }

    fn at_start(error: &anyhow::Error) -> Self {
        Self { title: "No match", why: capitalised(&format!("{error:#}")), asks_for_code: false }
    }
}

/// Starts the requested match.
fn begin(request: LaunchRequest) -> State {
    match Game::start(request.clone()) {
        Ok(game) => State::Waiting(Box::new(game)),
        Err(error) => State::Failed(request, Failure::at_start(&error)),
    }
}

/// Returns the code of a request to join.
fn code_of(request: &mut LaunchRequest) -> Option<&mut String> {
    let LaunchRequest::Join(arguments, _) = request else { return None };
    Some(arguments.game.network.room.get_or_insert_default())
}

/// Time without an answer after which advice is shown, in seconds.
const ADVICE_AFTER_S: f64 = 5.0;

const fn title(game: &Game) -> &'static str {
    match game.request {
        LaunchRequest::Practice(_) => "Starting",
        LaunchRequest::Host(_) => "Waiting for players",
        LaunchRequest::Join(..) => "Joining",
    }
}

fn wait_text(game: &Game, waited_s: f64) -> String {
    let waited = duration(waited_s.max(0.0) as u64);
    match &game.request {
        LaunchRequest::Practice(_) => "The other seats are being taken.".into(),
        LaunchRequest::Host(_) => format!("Your match is being opened ({waited})."),
        LaunchRequest::Join(_, hosts) if waited_s < ADVICE_AFTER_S => {
            format!("Asking {} ({waited}).", hosts[0])
        }
        LaunchRequest::Join(_, hosts) => format!(
            "Nothing has answered at {} for {waited}.\n\nIs the match open there, and does its window \
             show this address? A firewall on either computer may block UDP port {}; `arena doctor` says \
             what arrives.",
            hosts[0],
            hosts[0].port()
        ),
    }
}

/// Explains in a line how others find the match that this window hosts; empty for a guest.
fn where_to(game: &Game) -> String {
    let LaunchRequest::Host(arguments) = &game.request else { return String::new() };
    // With --bind no other address is bound.
    let bound = arguments.game.network.bind.filter(|ip| !ip.is_unspecified());
    let addresses = bound.map_or_else(own_addresses, |ip| vec![ip.to_string()]);
    let at = |address: &String| match address.contains(':') {
        true => format!("[{address}]:{}", game.port),
        false => format!("{address}:{}", game.port),
    };
    let where_to = match &addresses[..] {
        [] => return "This computer has no network: nobody else can find the match.".to_owned(),
        all => all.iter().map(at).collect::<Vec<_>>().join(" or "),
    };
    let found = match (&game.warning, arguments.game.network.no_discovery) {
        (Some(warning), _) => format!("Others join by address {where_to}. {}.", capitalised(warning)),
        (None, true) => format!("Others join by address {where_to}."),
        (None, false) => format!("Others find it under Join a match, or by address {where_to}."),
    };
    match &arguments.game.network.room {
        Some(code) => format!("The code is {code}. {found}"),
        None => found,
    }
}
