//! The result of a match: the winner and the reason, the course of the match, and one tip; behind a button, the
//! latency of commands.

use egui_macroquad::egui::{Align2, Color32, Rect, pos2, vec2};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

use super::form::{choose_hero, part};
use super::ladder::outcome;
use super::play::lost::lost_text;
use super::play::{Party, match_clock, means};
use super::prompt::is_new;
use super::result_graph;
use super::{LaunchRequest, Next};
use crate::cli::headless::write_desync;
use crate::gui::bindings::{Action, rules_in_play};
use crate::gui::context::AppContext;
use crate::gui::debrief::{Course, describe, tip};
use crate::gui::draw::{Camera, Scene};
use crate::gui::input::Input;
use crate::gui::launch::Game;
use crate::gui::page::{self, Page, Weight};
use crate::gui::sound::{Kind, MusicState};
use crate::gui::talk::Talk;
use crate::gui::theme;
use game::data::{Opponent, opponents};
use game::phrase::{counted, joined, possessive};
use game::{Control, MatchEvent, MatchOutcome, Percentiles, Summary, View};
use net::LinkStatus;
use net::message::Choice;
use sim::{ControlBehaviour, Outcome, PLAYERS_MAX, PlayerId};

const ROW: f32 = 44.0;
/// Vertical offset of everything below the course of the match, in points.
const LOWER: f32 = 408.0;
const VICTORY: &str = "Victory";
const DEFEAT: &str = "Defeat";
const DRAW: &str = "Draw";
/// Number of chat lines below the result, and the gap above them in points.
const LINES: usize = 1;
const GAP: f32 = 12.0;
/// Width and margin of the plate, in points.
const WIDTH: f32 = 720.0;
const MARGIN: f32 = 18.0;
/// Height of the rematch line above the chat, in points.
const READY: f32 = 20.0;
const TALK: f32 = Talk::height(LINES) + GAP;

/// Finished match.
pub(crate) struct Over {
    request: LaunchRequest,
    view: Option<View>,
    summary: Summary,
    /// Report of a desync.
    report: Option<PathBuf>,
    rtt_ms: f64,
    /// Matches won by each team so far, including this one.
    wins: [u32; PLAYERS_MAX],
    /// Highlights with the second of each.
    moments: Vec<(u32, String)>,
    tip: String,
    /// Result of a match of the ladder, in a line.
    climbed: Option<String>,
    /// Next opponent of the ladder, after a win there.
    next: Option<&'static Opponent>,
}

pub(crate) struct ResultScreen {
    over: Over,
    /// Whether the details of commands and network are shown instead of the course of the match.
    shows_details: bool,
    /// The party, while the others are still there.
    party: Option<Party>,
    /// Players who want a rematch.
    wanted: Vec<PlayerId>,
    /// Time at which the result was first shown, in seconds since the window opened.
    since: Option<f64>,
}

impl Over {
    pub(super) fn new(
        game: &mut Game,
        view: Option<View>,
        summary: Summary,
        link: Option<LinkStatus>,
    ) -> Self {
        let rtt_us = link.and_then(|link| link.rtt_us).unwrap_or(0);
        let mut request = game.request.clone();
        if let (Some(seat), Some(view)) = (summary.roster.get(summary.player.index()), &view) {
            // The hero chosen in the lobby.
            request.set_hero(view.setup.rules.unit(ControlBehaviour::Player, seat.hero).name);
        }
        if let LaunchRequest::Join(arguments, _) = &mut request {
            // The token is for a seat of this match, not of the next.
            arguments.token = None;
        }
        let report = write_desync(None, &summary);
        if let Some(wins) = summary.winner.and_then(|team| game.wins.get_mut(usize::from(team))) {
            *wins += 1;
        }
        let (wins, rtt_ms) = (game.wins, rtt_us as f64 / 1000.0);
        let (moments, tip) = (Vec::new(), String::new());
        let (climbed, next) = (None, None);
        let mut over = Self { request, view, summary, report, rtt_ms, wins, moments, tip, climbed, next };
        (over.moments, over.tip) = (over.describe_moments(), over.find_tip());
        over
    }

    /// Counts a match against an opponent of the ladder.
    pub(super) fn count(&mut self, context: &mut AppContext) {
        let Some(opponent) = self.request.opponent() else { return };
        let length_ms = u64::from(self.summary.ticks) * 1000 / u64::from(self.summary.config.tick_rate.hz());
        let won_ms = (self.verdict().0 == VICTORY).then_some(length_ms as u32);
        context.count(opponent, won_ms);
        let progress = context.ladder.progress();
        self.climbed = Some(outcome(progress, opponent, won_ms));
        self.next = won_ms.and_then(|_| opponents().get(progress.next()?));
    }

    fn name(&self, player: PlayerId) -> &str {
        self.summary.roster.get(player.index()).map_or("?", |seat| seat.name.as_str())
    }

    fn describe_moments(&self) -> Vec<(u32, String)> {
        let team = |team: u8| {
            let seats = self.summary.roster.iter().filter(|seat| seat.team == team);
            joined(&seats.map(|seat| seat.name.as_str()).collect::<Vec<_>>())
        };
        let me = self.summary.player;
        let moments = self.summary.history.moments().into_iter();
        moments
            .map(|(at, moment)| (at, describe(moment, me, |player| self.name(player).to_owned(), team)))
            .collect()
    }

    fn find_tip(&self) -> String {
        let summary = &self.summary;
        let circles = self.view.as_ref().map_or(0, |view| view.setup.map.circles.len());
        tip(&Course {
            has_won: summary.winners.contains(&summary.player),
            seconds: summary.history.seconds(),
            circles: circles as u32,
            tally: *summary.history.tally(summary.player),
        })
    }

    /// Describes the wins of each side, after several matches.
    fn series(&self) -> Option<String> {
        let own = self.team(self.summary.player);
        let other = self.summary.roster.iter().find(|seat| seat.team != own)?;
        let won = |team: u8| self.wins.get(usize::from(team)).copied().unwrap_or(0);
        let text = format!("You {} : {} {}", won(own), won(other.team), other.name);
        (self.wins.iter().sum::<u32>() > 1).then_some(text)
    }

    fn team(&self, player: PlayerId) -> u8 {
        self.summary.roster.get(player.index()).map_or(0, |seat| seat.team)
    }

    /// Returns a one-word verdict and its colour.
    fn verdict(&self) -> (&'static str, Color32) {
        let summary = &self.summary;
        match summary.outcome {
            MatchOutcome::Rules(Outcome::Draw) => (DRAW, theme::TEXT),
            MatchOutcome::Rules(_) if summary.winners.contains(&summary.player) => (VICTORY, theme::GOLD),
            MatchOutcome::Rules(_) if summary.winner.is_some() => (DEFEAT, theme::RED),
            MatchOutcome::PeerLost(_) | MatchOutcome::PeerLeft(_)
                if summary.winners.contains(&summary.player) =>
            {
                (VICTORY, theme::GOLD)
            }
            MatchOutcome::Desync => ("The computers disagree", theme::RED),
            MatchOutcome::Interrupted => ("You left", theme::TEXT),
            MatchOutcome::PeerLeft(_) | MatchOutcome::PeerLost(_) => ("The match has ended", theme::TEXT),
            _ => ("Time is up", theme::TEXT),
        }
    }

    /// Returns the sound of the result.
    pub(super) fn sound(&self) -> Option<Kind> {
        match self.verdict().0 {
            VICTORY => Some(Kind::Victory),
            DEFEAT => Some(Kind::Defeat),
            DRAW => Some(Kind::Draw),
            _ => None,
        }
    }

    /// Gives the reason in a sentence.
    fn reason(&self) -> String {
        let summary = &self.summary;
        let names = |won: bool| {
            let seats = summary.roster.iter().filter(|seat| (Some(seat.team) == summary.winner) == won);
            joined(&seats.map(|seat| seat.name.as_str()).collect::<Vec<_>>())
        };
        let (winner, loser) = (names(true), names(false));
        let cores = |won: bool| {
            let seats =
                summary.roster.iter().filter(|seat| (Some(seat.team) == summary.winner) == won).count();
            if seats == 1 { "core" } else { "cores" }
        };
        match summary.outcome {
            MatchOutcome::Rules(Outcome::Core) => {
                format!("{winner} destroyed {} {}", possessive(&loser), cores(false))
            }
            MatchOutcome::Rules(Outcome::Score) => format!("{winner} reached the score to win"),
            MatchOutcome::Rules(Outcome::SuddenDeath) => {
                format!("In sudden death {} {} stood longest", possessive(&winner), cores(true))
            }
            MatchOutcome::Rules(Outcome::Surrender) => format!("{loser} gave up"),
            MatchOutcome::Rules(Outcome::Draw) => {
                "The last cores fell together, with equal score and damage".into()
            }
            MatchOutcome::Rules(Outcome::Running) | MatchOutcome::TickLimit => {
                "The agreed time ran out".into()
            }
            MatchOutcome::PeerLeft(player) => format!("{} left the match", self.name(player)),
            MatchOutcome::PeerLost(player) => {
                lost_text(self.view.as_ref(), player, |player| self.name(player))
            }
            MatchOutcome::Desync => desync_text(summary, self.report.as_deref()),
            MatchOutcome::Interrupted => "Nobody won".into(),
        }
    }

    /// Describes the latency of commands, locally and at the other players.
    fn latency(&self) -> String {
        let ms = |found: Option<Percentiles>| found.map(|found| (found.p50, found.p95));
        let own = ms(self.summary.latencies.own.percentiles());
        let theirs = ms(self.summary.latencies.opponent.percentiles());
        let own = own.map_or_else(
            || "No click was measured".to_owned(),
            |(p50, p95)| format!("Your clicks acted after {p50:.0} ms (p95 {p95:.0})"),
        );
        theirs.map_or_else(|| own.clone(), |(p50, _)| format!("{own}, theirs after {p50:.0} ms"))
    }
}

fn desync_text(summary: &Summary, report: Option<&Path>) -> String {
    if let Some(proof) = summary.desync.as_ref().and_then(|report| report.equivocation.as_ref()) {
        let name = summary.roster.get(proof.seat.index()).map_or("A player", |seat| seat.name.as_str());
        return format!("{name} sent different inputs to different players: their signatures prove it");
    }
    let at =
        summary.desync.as_ref().map_or_else(String::new, |report| format!(" after tick {}", report.tick));
    let file = report.and_then(Path::file_name).filter(|_| summary.replay.is_none());
    let file = file.map_or("the replay".into(), |name| format!("reports/{}", name.display()));
    format!("Their states differ{at}: please report it with {file}")
}

impl ResultScreen {
    pub(super) const fn new(over: Over, party: Option<Party>) -> Self {
        Self { over, shows_details: false, party, wanted: Vec::new(), since: None }
    }

    /// Returns the state that the music follows.
    pub(super) fn music(&self) -> MusicState {
        match self.over.sound() {
            Some(Kind::Victory) => MusicState::Victory,
            Some(Kind::Defeat) => MusicState::Defeat,
            _ => MusicState::Menu,
        }
    }

    /// Handles who is ready for another match, and the chat.
    pub(crate) fn arena(&mut self, context: &mut AppContext, inputs: &[Input]) -> Option<Next> {
        context.settings.has_won |= self.over.verdict().0 == VICTORY;
        let party = self.party.as_mut()?;
        let is_ended = party.game.poll().is_some();
        let over = &self.over;
        let speaker = party
            .talk
            .hear(&mut party.game.news, context.now, |player| (over.name(player), over.team(player)));
        if speaker.is_some_and(|player| player != over.summary.player) {
            context.sound.play(Kind::Chat);
        }
        let wanted = party.game.news.drain(..).filter_map(|event| match event {
            MatchEvent::RematchWanted(player) => Some(player),
            _ => None,
        });
        self.wanted.extend(wanted);
        let has_focus = page::has_focus();
        for input in inputs {
            match input {
                &Input::Down(key, _) if means(key, Action::Talk) && !party.talk.is_open() && !has_focus => {
                    party.talk.open()
                }
                _ => {}
            }
        }
        if is_ended {
            self.party = None;
            context.note("The room is closed: no rematch".into());
            return None;
        }
        let begun = party.game.view.latest().filter(|view| view.begin.is_some())?;
        let last = over.summary.roster.iter().map(|seat| seat.name.as_str());
        if !begun.names.iter().map(String::as_str).eq(last) {
            // On a server that stays others have come.
            party.game.wins = Default::default();
        }
        let party = self.party.take()?;
        Some(Next::Play(Box::new(party.game)))
    }

    /// Draws the last moment of the match.
    pub(crate) fn draw_backdrop(&self, context: &mut AppContext) {
        let Some(view) = &self.over.view else { return };
        let camera = Camera::whole(&view.setup.map, context.whole());
        let scene = Scene { previous: &view.current, ..Scene::of(view, 1.0, 0.0) };
        context.painter.draw_backdrop(&camera, &scene);
    }

    pub(crate) fn page(&mut self, context: &mut AppContext, page: &mut Page<'_>) -> Option<Next> {
        let talk = if self.party.is_some() { TALK } else { 0.0 };
        let plate = page.centred(WIDTH, self.height());
        page.plate("result", plate);
        let inside = plate.shrink(MARGIN);
        let upper = Rect::from_min_max(inside.min, inside.max - vec2(0.0, talk));
        let is_new = is_new(*self.since.get_or_insert(context.now), context.now);
        page.within("result", |page| {
            // The screen opens by itself, while a player may be pressing something else.
            page.is_inert = is_new;
            let next = self.rows(page, upper).or_else(|| self.escape(page, is_new));
            page.is_inert = false;
            let lower = Rect::from_min_max(pos2(inside.left(), upper.bottom() + GAP), inside.max);
            if let Some(party) = &mut self.party {
                match party.talk.on_plate(page, lower) {
                    Some(Ok(line)) => party.game.say(Control::Chat(line)),
                    Some(Err(why)) => context.note(why),
                    None => {}
                }
            }
            next
        })
    }

    /// Handles Esc: closes the chat field if it is open, else leads to the menu.
    fn escape(&mut self, page: &Page<'_>, is_new: bool) -> Option<Next> {
        if !page.escapes() {
            return None;
        }
        match &mut self.party {
            Some(party) if party.talk.is_open() => party.talk.close(),
            _ if !is_new => return Some(Next::Start),
            _ => {}
        }
        None
    }

    /// Returns the size that the screen needs, in points.
    pub(crate) fn room(&self) -> [f32; 2] {
        [WIDTH + 16.0, self.height() + 16.0]
    }

    fn height(&self) -> f32 {
        let lower = if self.party.is_some() { READY + TALK } else { 0.0 };
        LOWER + ROW + 2.0 * MARGIN + lower
    }

    /// Leaves the match, since the window is closing.
    pub(crate) fn close(self) {
        if let Some(party) = self.party {
            party.game.close();
        }
    }

    fn rows(&mut self, page: &mut Page<'_>, inside: Rect) -> Option<Next> {
        let over = &self.over;
        let centre = |top: f32| pos2(inside.center().x, inside.top() + top);
        let mut line = |name: &str, top: f32, size: f32, colour: Color32, text: &str| {
            page.text(name, centre(top), Align2::CENTER_TOP, (size, colour), text, inside.width());
        };
        let (verdict, colour) = over.verdict();
        line("verdict", 0.0, theme::TITLE, colour, verdict);
        line("reason", 56.0, theme::BODY, theme::TEXT, &over.reason());
        let hz = over.summary.config.tick_rate.hz();
        let length = format!("after {}", match_clock(over.summary.ticks, hz));
        line("length", 81.0, theme::SMALL, theme::QUIET, &length);
        let series = over.climbed.clone().or_else(|| over.series());
        line("series", 178.0, theme::SMALL, theme::GOLD, &series.unwrap_or_default());
        line("ready", LOWER, theme::SMALL, theme::GOLD, &self.ready());
        self.scores(page, inside);
        let middle = Rect::from_min_max(
            pos2(inside.left(), inside.top() + 202.0),
            pos2(inside.right(), inside.top() + LOWER),
        );
        if self.shows_details {
            self.details(page, middle);
        } else {
            self.course(page, middle);
        }
        self.buttons(page, inside)
    }

    /// Draws score and army size over time, three highlights, and a tip.
    fn course(&self, page: &mut Page<'_>, area: Rect) {
        const GRAPH: f32 = 92.0;
        let over = &self.over;
        let graph = Rect::from_min_size(area.min, vec2(area.width(), GRAPH));
        let teams: Vec<u8> = over.summary.roster.iter().map(|seat| seat.team).collect();
        result_graph::draw(page, graph, &over.summary.history, &teams);
        let below = pos2(area.left(), graph.bottom() + 8.0);
        let below = result_graph::moments(page, below, area.width(), &over.moments);
        let style = (theme::SMALL, theme::GOLD);
        page.paragraph("tip", pos2(area.left(), below + 4.0), style, &over.tip, area.width());
    }

    /// Draws counts of commands, and their latency.
    fn details(&self, page: &mut Page<'_>, area: Rect) {
        let over = &self.over;
        let mut line = |name: &str, top: f32, size: f32, colour: Color32, text: &str| {
            let at = pos2(area.center().x, area.top() + top);
            page.text(name, at, Align2::CENTER_TOP, (size, colour), text, area.width());
        };
        let [commands, deaths, captures] = over.summary.counts;
        let counts = format!(
            "You gave {}, took {} and lost {}",
            counted(commands, "command", "commands"),
            counted(captures, "circle", "circles"),
            counted(deaths, "unit", "units")
        );
        line("counts", 20.0, theme::SMALL, theme::QUIET, &counts);
        line("latency", 52.0, theme::BODY, theme::TEXT, &over.latency());
        let network = format!(
            "Round trip {:.1} ms; late ticks cost {:.1} s in total",
            over.rtt_ms,
            over.summary.stalls.1 as f64 / 1e6
        );
        line("network", 80.0, theme::SMALL, theme::QUIET, &network);
    }

    /// Draws the hero choice for a rematch, until the player is ready. Returns the rest of the row.
    fn hero_choice(&mut self, page: &mut Page<'_>, row: Rect) -> Rect {
        const HERO: f32 = 105.0;
        if self.has_voted() {
            return row;
        }
        let rules = rules_in_play();
        let left = row.with_max_x(row.left() + HERO * rules.heroes.len().min(3) as f32);
        let chosen = self.over.request.player().hero;
        let mut hero = chosen.and_then(|name| rules.hero_named(name.as_str())).unwrap_or_default();
        if choose_hero(page, left, &rules, &mut hero) {
            self.over.request.set_hero(rules.unit(ControlBehaviour::Player, hero).name);
            if let Some(party) = &self.party {
                party.game.say(Control::Choose(Choice { hero, is_ready: true }));
            }
        }
        row.with_min_x(left.right() + GAP)
    }

    /// Whether this player wants a rematch with those who are still there.
    fn has_voted(&self) -> bool {
        self.party.is_some() && self.wanted.contains(&self.over.summary.player)
    }

    /// Names the players who want a rematch in a line; empty if there are none.
    fn ready(&self) -> String {
        let me = self.over.summary.player;
        let others = self.wanted.iter().filter(|&&player| player != me);
        let own = self.wanted.contains(&me).then_some("You");
        let names: Vec<&str> = own.into_iter().chain(others.map(|&player| self.over.name(player))).collect();
        match (&self.party, &names[..]) {
            (None, _) | (_, []) => String::new(),
            (_, [name]) if *name != "You" => format!("{name} wants a rematch"),
            (_, names) => format!("{} want a rematch", joined(names)),
        }
    }

    fn scores(&self, page: &mut Page<'_>, inside: Rect) {
        let summary = &self.over.summary;
        let row = Rect::from_min_size(inside.left_top() + vec2(0.0, 98.0), vec2(inside.width(), 80.0));
        for (seat, score) in summary.scores.iter().enumerate() {
            let column = part(row, seat, summary.scores.len());
            let player = PlayerId(seat as u8);
            let own = if player == summary.player { " (you)" } else { "" };
            let name = format!("{}{own}", self.over.name(player));
            let at = pos2(column.center().x, column.top());
            let team = summary.roster.get(seat).map_or(0, |seat| seat.team);
            let (colour, width) = (theme::team(team), column.width());
            let name_at = pos2(at.x, at.y + 57.0);
            page.text(
                &format!("score {seat}"),
                at,
                Align2::CENTER_TOP,
                (theme::TITLE, colour),
                &score.to_string(),
                width,
            );
            page.text(
                &format!("name {seat}"),
                name_at,
                Align2::CENTER_TOP,
                (theme::BODY, theme::TEXT),
                &name,
                width,
            );
        }
    }

    fn buttons(&mut self, page: &mut Page<'_>, inside: Rect) -> Option<Next> {
        let row = Rect::from_min_max(pos2(inside.left(), inside.bottom() - ROW), inside.right_bottom());
        let row = self.hero_choice(page, row);
        let (again, rest) = match self.over.request.opponent() {
            // The first may have a name.
            Some(_) => row.split_left_right_at_fraction(0.34),
            None => row.split_left_right_at_x(part(row, 1, 4).left() - 10.0),
        };
        let rest = rest.with_min_x(rest.left() + 10.0);
        match (&self.party, self.over.next) {
            // The others stay in the room.
            (Some(_), _) if self.has_voted() => {
                page.barred("again", again, "Rematch", "waiting");
            }
            (Some(party), _) => {
                if page.button("again", again, "Rematch", Weight::Primary) {
                    party.game.say(Control::Rematch);
                }
            }
            (None, Some(next)) => {
                let text = format!("Next: {}", next.name.as_str());
                if page.button("next", again, &text, Weight::Primary) {
                    return Some(Next::Launch(self.over.request.against(next)));
                }
            }
            (None, None) => {
                if page.button("again", again, "Again", Weight::Primary) {
                    return Some(Next::Launch(self.over.request.clone()));
                }
            }
        }
        match &self.over.summary.replay {
            Some(replay) => {
                if page.button("watch", part(rest, 0, 3), "Watch it", Weight::Normal) {
                    return Some(Next::Watch(replay.clone()));
                }
            }
            None => page.barred("watch", part(rest, 0, 3), "Watch", "not recorded"),
        }
        let weight = if self.shows_details { Weight::Chosen } else { Weight::Normal };
        self.shows_details ^= page.button("details", part(rest, 1, 3), "Details", weight);
        let last = part(rest, 2, 3);
        match self.over.request.opponent() {
            Some(_) => page.button("ladder", last, "Ladder", Weight::Normal).then_some(Next::Ladder),
            None => page.button("menu", last, "Menu", Weight::Normal).then_some(Next::Start),
        }
    }

    pub(crate) fn facts(&self) -> Value {
        let summary = &self.over.summary;
        let rules = rules_in_play();
        let hero_name = |hero| rules.unit(ControlBehaviour::Player, hero).name.capitalised().to_string();
        json!({
            "outcome": summary.outcome.as_str(),
            "reason": self.over.reason(),
            "verdict": self.over.verdict().0,
            "ticks": summary.ticks,
            "hash": format!("{:016x}", summary.hash.whole),
            "replay": summary.replay,
            "latency": self.over.latency(),
            "moments": self.over.moments,
            "tip": self.over.tip,
            "series": self.over.series(),
            "climbed": self.over.climbed,
            "heroes": summary.roster.iter().map(|seat| hero_name(seat.hero)).collect::<Vec<_>>(),
            "can_rematch": self.party.is_some(),
            "wanted": self.wanted.iter().map(|player| player.0).collect::<Vec<_>>(),
            "said": self.party.as_ref().map(|party| party.talk.said()),
        })
    }
}
