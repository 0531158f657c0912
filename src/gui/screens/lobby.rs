//! The lobby: seats, map, chat, and ready states.

use egui_macroquad::egui::{Align2, Rect, Stroke, StrokeKind, pos2, vec2};
use serde_json::{Value, json};
use std::sync::Arc;

use super::form::{choose_hero, choose_level, heading, part};
use super::map_preview::{draw_badge, draw_map};
use super::play::means;
use crate::gui::bindings::Action;
use crate::gui::context::AppContext;
use crate::gui::input::Input;
use crate::gui::launch::Game;
use crate::gui::page::{self, Page, Weight};
use crate::gui::talk::Talk;
use crate::gui::theme;
use game::phrase::{joined, possessive};
use game::{Control, MatchEvent, data};
use net::message::{Choice, Lobby, LobbySeat};
use net::{Architecture, MatchConfig};
use sim::{ControlBehaviour, Map, PlayerId, Rules};

const ROW: f32 = 42.0;
const GAP: f32 = 8.0;
/// Widths of the buttons that remove and ban, with the gap between them, and of the latter.
const REMOVAL: f32 = 158.0;
const BAN: f32 = 58.0;
/// Number of visible chat lines.
const CHAT_LINES: usize = 5;
const SIZE: [f32; 2] = [1000.0, 520.0];
/// Share of the left part, with the seats.
const LEFT: f32 = 0.62;
/// Explanation of the authentication string under a name.
const WORDS_ARE_FOR: &str = "The same four words on both screens: the connection is private.";

/// Explanation of a ban, for the host.
const A_BAN_IS: &str = "Remove: they may join again. Ban: they may not return to this room.";

/// State of the lobby.
pub(super) struct LobbyPanel {
    player: PlayerId,
    config: MatchConfig,
    lobby: Lobby,
    map: Option<Arc<Map>>,
    rules: Arc<Rules>,
    /// Names of the map and of the rules, as shown.
    names: [Option<String>; 2],
    talk: Talk,
    /// Teams of all seats; a guest does not know those of free seats.
    teams: Vec<u8>,
    /// Choice of this player: shown immediately, before the host confirms it.
    choice: Choice,
}

impl LobbyPanel {
    /// Handles the lobby's events; creates the panel with the first lobby.
    pub(super) fn hear(panel: &mut Option<Self>, game: &mut Game, now: f64) {
        let news = core::mem::take(&mut game.news);
        for event in news {
            match (event, &mut *panel) {
                (MatchEvent::Lobby { player, config, lobby, .. }, Some(panel)) => {
                    (panel.player, panel.config, panel.lobby) = (player, config, lobby);
                }
                (MatchEvent::Lobby { player, config, lobby, rules, map }, None) => {
                    *panel = Some(Self::new((player, config, lobby), (rules, map), game));
                }
                (event, _) => game.news.push(event),
            }
        }
        if let Some(Self { lobby, talk, .. }) = panel {
            talk.hear(&mut game.news, now, |player| {
                let taken = lobby.seats.get(player.index()).and_then(Option::as_ref);
                taken.map_or(("?", 0), |taken| (taken.seat.name.as_str(), taken.seat.team))
            });
        }
    }

    fn new(
        (player, config, lobby): (PlayerId, MatchConfig, Lobby),
        (rules, map): (Option<Arc<Rules>>, Option<Arc<Map>>),
        game: &Game,
    ) -> Self {
        let is_sent = |origin| origin == data::Origin::Own && !game.is_host();
        let from = |origin| if is_sent(origin) { " (from the host)" } else { "" };
        let names = [
            map.as_ref().map(|map| format!("Map: {}{}", map.name, from(data::Origin::of_map(map)))),
            rules.as_ref().map(|it| format!("Rules: {}{}", it.name, from(data::Origin::of_rules(it)))),
        ];
        // By rules that this program does not have no match begins.
        let rules = rules.unwrap_or_else(|| data::rules("standard").expect("built in"));
        let teams = game.teams(usize::from(config.seats));
        let choice = game.choice(&rules);
        Self { player, config, lobby, map, rules, names, talk: Talk::default(), teams, choice }
    }

    /// Enter opens the chat field, unless it presses a button.
    pub(super) fn take(&mut self, inputs: &[Input]) {
        let opens = |input: &Input| matches!(*input, Input::Down(key, _) if means(key, Action::Talk));
        if !self.talk.is_open() && !page::has_focus() && inputs.iter().any(opens) {
            self.talk.open();
        }
    }

    /// Returns what the panel shows, for a test.
    pub(super) fn facts(&self) -> Value {
        json!({
            "player": self.player.0,
            "seats": self.lobby.seats.iter().map(|taken| {
                taken.as_ref().map(|taken| json!({
                    "name": taken.seat.name.as_str(), "team": taken.seat.team, "is_ready": taken.is_ready,
                    "rtt_ms": taken.rtt_ms, "words": taken.words.map(|words| words.to_string()),
                }))
            }).collect::<Vec<_>>(),
            "names": self.names,
            "said": self.talk.said(),
            "teams": (0..self.lobby.seats.len()).map(|seat| self.team_of(seat)).collect::<Vec<_>>(),
        })
    }

    /// Lays out the panel. Returns whether the player leaves.
    pub(super) fn page(
        &mut self,
        context: &mut AppContext,
        page: &mut Page<'_>,
        game: &mut Game,
        where_to: &str,
    ) -> bool {
        let plate = page.centred(SIZE[0], SIZE[1]);
        page.plate("lobby", plate);
        let inside = plate.shrink(22.0);
        page.within("lobby", |page| {
            let (at, width) = (inside.left_top(), inside.width());
            page.text("title", at, Align2::LEFT_TOP, (theme::LARGE, theme::TEXT), &self.title(), width);
            heading(page, "where to", Rect::from_min_size(at + vec2(0.0, 36.0), vec2(width, 17.0)), where_to);
            let below = Rect::from_min_max(at + vec2(0.0, 66.0), inside.max);
            let left = Rect::from_min_size(below.min, vec2(below.width() * LEFT, below.height()));
            let right = Rect::from_min_max(pos2(left.right() + 22.0, below.top()), below.max);
            self.seats(context, page, game, left);
            self.preview(page, right);
            let chat =
                Rect::from_min_max(pos2(right.left(), right.bottom() - Talk::height(CHAT_LINES)), right.max);
            match self.talk.on_plate(page, chat) {
                Some(Ok(line)) => game.say(Control::Chat(line)),
                Some(Err(why)) => context.note(why),
                None => {}
            }
            self.own(page, game, left)
        })
    }

    fn title(&self) -> String {
        let host = self.lobby.seats.first().copied().flatten();
        let of = host.map_or_else(|| "a".to_owned(), |taken| possessive(taken.seat.name.as_str()));
        let how = match self.config.architecture {
            Architecture::P2p => "",
            Architecture::ClientServer => ", on a server",
            Architecture::Relay => ", through a relay",
        };
        format!("The lobby of {of} match{how}")
    }

    fn seats(&self, context: &mut AppContext, page: &mut Page<'_>, game: &mut Game, area: Rect) {
        for (index, taken) in self.lobby.seats.iter().enumerate() {
            let player = PlayerId(index as u8);
            let top = area.top() + index as f32 * (ROW + GAP);
            let row = Rect::from_min_size(pos2(area.left(), top), vec2(area.width(), ROW));
            let name = format!("seat {index}");
            let line = Stroke::new(1.0, theme::LINE);
            page.ui.painter().rect(row, theme::ROUNDING, theme::BUTTON, line, StrokeKind::Inside);
            page.record(&name, row, None);
            page.within(&name, |page| match taken {
                Some(taken) => self.taken(page, game, row, (player, taken)),
                None => self.free(context, page, game, row, player),
            });
        }
        let taken = || {
            (0..).map(PlayerId).zip(&self.lobby.seats).filter_map(|(at, taken)| Some((at, taken.as_ref()?)))
        };
        let has_words = taken().any(|(player, taken)| words(game, player, taken).is_some());
        let has_guest = taken().any(|(player, _)| player != self.player && !game.has_bot(player));
        let mut at = pos2(area.left(), area.top() + self.lobby.seats.len() as f32 * (ROW + GAP));
        for (name, text, is_shown) in [
            ("what words are for", WORDS_ARE_FOR, has_words),
            ("what a ban is", A_BAN_IS, has_guest && game.is_host()),
        ] {
            if is_shown {
                let style = (theme::SMALL, theme::QUIET);
                page.text(name, at, Align2::LEFT_TOP, style, text, area.width());
                at.y += 20.0;
            }
        }
    }

    /// Draws the row of a taken seat.
    fn taken(
        &self,
        page: &mut Page<'_>,
        game: &mut Game,
        row: Rect,
        (player, taken): (PlayerId, &LobbySeat),
    ) {
        let seat = &taken.seat;
        let own = player == self.player;
        let (hero, is_ready) =
            if own { (self.choice.hero, self.choice.is_ready) } else { (seat.hero, taken.is_ready) };
        let middle = row.center().y;
        draw_badge(page.ui.painter(), pos2(row.left() + 22.0, middle), 10.0, seat.team);
        let words = words(game, player, taken);
        let mut text = |name: &str, share: f32, until: f32, colour, text: &str| {
            let below = match name {
                "name" if words.is_some() => -8.0,
                "hero" if taken.rtt_ms.is_some() => -8.0,
                "words" | "rtt" => 11.0,
                _ => 0.0,
            };
            let at = pos2(row.left() + share * row.width(), middle + below);
            let size = if name == "name" { theme::BODY } else { theme::SMALL };
            let width = (until - share) * row.width();
            let name = format!("{name} {}", player.0);
            page.text(&name, at, Align2::LEFT_CENTER, (size, colour), text, width);
        };
        let name = if own { format!("{} (you)", seat.name) } else { seat.name.to_string() };
        text("name", 0.08, 0.4, theme::team(seat.team), &name);
        if let Some(words) = &words {
            text("words", 0.08, 0.4, theme::QUIET, words);
        }
        let hero = self.rules.unit(ControlBehaviour::Player, hero).name.capitalised();
        text("hero", 0.41, 0.57, theme::TEXT, &hero);
        let rtt = match taken.rtt_ms {
            None => String::new(),
            Some(0) => "< 1 ms".into(),
            Some(ms) => format!("{ms} ms"),
        };
        text("rtt", 0.41, 0.57, theme::QUIET, &rtt);
        if !game.has_bot(player) {
            let (colour, state) = if is_ready { (theme::GOLD, "ready") } else { (theme::QUIET, "not ready") };
            text("state", 0.575, 0.7, colour, state);
        }
        if game.is_host() && !own {
            removal(page, game, row, player);
        }
    }

    /// Returns the team of a seat. For a free seat, only the host knows it, unless every player is a team.
    fn team_of(&self, seat: usize) -> Option<u8> {
        let taken = self.lobby.seats.get(seat).copied().flatten();
        taken.map(|taken| taken.seat.team).or_else(|| self.teams.get(seat).copied())
    }

    /// Draws the row of a free seat, which the host may give to a bot.
    fn free(
        &self,
        context: &mut AppContext,
        page: &mut Page<'_>,
        game: &mut Game,
        row: Rect,
        player: PlayerId,
    ) {
        if let Some(team) = self.team_of(player.index()) {
            draw_badge(page.ui.painter(), pos2(row.left() + 22.0, row.center().y), 10.0, team);
        }
        let at = pos2(row.left() + 0.08 * row.width(), row.center().y);
        let style = (theme::BODY, theme::QUIET);
        page.text(&format!("free {}", player.0), at, Align2::LEFT_CENTER, style, "free", 0.2 * row.width());
        if !game.is_host() || game.has_bot(player) {
            return;
        }
        let at = pos2(row.left() + 0.2 * row.width(), row.center().y);
        let name = format!("add {}", player.0);
        page.text(&name, at, Align2::LEFT_CENTER, (theme::SMALL, theme::QUIET), "Add a bot:", 90.0);
        let buttons = Rect::from_min_max(
            pos2(row.left() + 0.33 * row.width(), row.top() + 5.0),
            pos2(row.right() - 6.0, row.bottom() - 5.0),
        );
        let chosen = choose_level(page, buttons, &format!("bot {}", player.0), |_| Weight::Normal);
        if let Some(bot) = chosen
            && let Err(error) = game.add_bot(player, bot, self.lobby.seats.len() == 2)
        {
            context.note(format!("{error:#}"));
        }
    }

    /// Draws this player's choices. Returns whether the player leaves.
    fn own(&mut self, page: &mut Page<'_>, game: &Game, area: Rect) -> bool {
        let last = Rect::from_min_max(pos2(area.left(), area.bottom() - ROW), area.max);
        let above = last.translate(vec2(0.0, -ROW - 16.0));
        let text = Rect::from_min_size(above.left_top() - vec2(0.0, 24.0), vec2(above.width(), 17.0));
        heading(page, "state", text, &self.state());
        let was = self.choice;
        choose_hero(page, part(above, 0, 2), &self.rules, &mut self.choice.hero);
        let (ready, weight) =
            if was.is_ready { ("Not ready", Weight::Chosen) } else { ("Ready", Weight::Primary) };
        if page.button("ready", part(above, 1, 2), ready, weight) {
            self.choice.is_ready = !was.is_ready;
        }
        if self.choice != was {
            game.say(Control::Choose(self.choice));
        }
        let leaves = page.button("leave lobby", part(last, 0, 2), "Leave", Weight::Normal);
        if page.escapes() && self.talk.is_open() {
            self.talk.close();
            return leaves;
        }
        leaves || page.escapes()
    }

    /// Says what the match is waiting for.
    fn state(&self) -> String {
        let free = self.lobby.seats.iter().filter(|seat| seat.is_none()).count();
        let others = self.lobby.seats.iter().enumerate().filter(|&(seat, _)| seat != self.player.index());
        let unready: Vec<&str> = others
            .filter_map(|(_, taken)| taken.as_ref().filter(|taken| !taken.is_ready))
            .map(|taken| taken.seat.name.as_str())
            .collect();
        match (free, &unready[..]) {
            (1, _) => "One seat is free.".into(),
            (2.., _) => format!("{free} seats are free."),
            (0, []) if self.choice.is_ready => "All are ready.".into(),
            (0, []) => "All others are ready: the match begins once you are.".into(),
            (0, names) if self.choice.is_ready => format!("Waiting for {} to get ready.", joined(names)),
            (0, names) => format!("You and {} are not ready yet.", joined(names)),
        }
    }

    /// Draws the map and its name.
    fn preview(&self, page: &mut Page<'_>, area: Rect) {
        let Some(map) = &self.map else { return };
        let picture = Rect::from_min_size(area.min, vec2(area.width(), area.width() * 9.0 / 16.0));
        let teams: Vec<Option<u8>> = (0..self.lobby.seats.len()).map(|seat| self.team_of(seat)).collect();
        draw_map(page, map, &teams, picture);
        let mut at = picture.left_bottom() + vec2(0.0, 6.0);
        for (name, text) in ["map", "rules"].into_iter().zip(&self.names) {
            let (style, text) = ((theme::SMALL, theme::QUIET), text.as_deref().unwrap_or_default());
            page.text(name, at, Align2::LEFT_TOP, style, text, area.width());
            at.y += 20.0;
        }
    }
}

/// Draws the buttons that remove a guest or a bot, and that ban a guest.
fn removal(page: &mut Page<'_>, game: &mut Game, row: Rect, player: PlayerId) {
    let right = row.right_bottom() - vec2(6.0, 5.0);
    let both = Rect::from_min_max(pos2(right.x - REMOVAL, row.top() + 5.0), right);
    let (remove, ban) = both.split_left_right_at_x(both.right() - BAN);
    let remove = remove.with_max_x(remove.right() - GAP);
    if page.button(&format!("remove {}", player.0), remove, "Remove", Weight::Normal) {
        game.remove(player, false);
    }
    if !game.has_bot(player) && page.button(&format!("ban {}", player.0), ban, "Ban", Weight::Normal) {
        game.remove(player, true);
    }
}

/// Returns the authentication string of the connection to this player, which both ends show; `None` for a local bot,
/// since nobody compares it.
fn words(game: &Game, player: PlayerId, taken: &LobbySeat) -> Option<String> {
    taken.words.filter(|_| !game.has_bot(player)).map(|words| words.to_string())
}
