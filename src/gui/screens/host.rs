//! The form before a match is opened: seats, map, and architecture.

use super::form::{heading, named, part, you_are};
use super::map_preview::draw_map;
use super::offers::{Offer, Offers, choose};
use super::{Attract, Next};
use crate::cli::args::{HostArguments, Teams, usual};
use crate::cli::paths;
use crate::gui::context::AppContext;
use crate::gui::launch::LaunchRequest;
use crate::gui::page::{Page, Weight};
use crate::gui::theme;
use egui_macroquad::egui::{Align2, Rect, pos2, vec2};
use net::{Architecture, RoomCode};
use sim::{Map, Rules};

const ROW: f32 = 38.0;
/// Share of the left part, with all options.
const LEFT: f32 = 0.58;

pub(crate) struct HostScreen {
    pub(super) attract: Attract,
    terms: Terms,
    shows_network: bool,
}

/// Choices of the host.
struct Terms {
    /// Number of seats less two.
    seats: usize,
    /// Teams, 0: every player is a team, 1: partners sit opposite each other.
    teams: usize,
    maps: Offers<Map>,
    /// Index among the maps with enough seats.
    map: usize,
    rules: Offers<Rules>,
    /// Index of the chosen rules.
    rules_at: usize,
    architecture: Architecture,
    /// Code that a guest must type to join; blank for an open match.
    code: String,
    /// Whether guests at one address may take every seat.
    shared_address: bool,
}

impl HostScreen {
    pub(crate) fn new(attract: Attract) -> Self {
        let folder = |kind| paths::data_folder(kind).ok();
        let terms = Terms {
            seats: 0,
            teams: 0,
            maps: Offers::of_maps(folder("maps").as_deref()),
            map: 0,
            rules: Offers::of_rules(folder("rules").as_deref()),
            rules_at: 0,
            architecture: Architecture::P2p,
            code: String::new(),
            shared_address: false,
        };
        Self { attract, terms, shows_network: false }
    }

    pub(crate) fn page(&mut self, context: &mut AppContext, page: &mut Page<'_>) -> Option<Next> {
        // Equally high with the network's part open or closed, so that nothing moves under the pointer.
        let plate = page.centred(880.0, 522.0);
        page.plate("host", plate);
        page.within("host", |page| self.rows(context, page, plate.shrink(22.0)))
    }

    fn rows(&mut self, context: &mut AppContext, page: &mut Page<'_>, inside: Rect) -> Option<Next> {
        let left = Rect::from_min_size(inside.min, vec2(inside.width() * LEFT, inside.height()));
        let mut top = left.top();
        let mut row = |height: f32, gap: f32| {
            let rect = Rect::from_min_size(pos2(left.left(), top), vec2(left.width(), height));
            top += height + gap;
            rect
        };
        let (title, style) = (row(34.0, 12.0), (theme::LARGE, theme::TEXT));
        page.text("title", title.left_top(), Align2::LEFT_TOP, style, "Host a match", title.width());
        heading(page, "you", row(17.0, 5.0), "Your name and your hero");
        you_are(&mut context.settings, page, row(38.0, 10.0));
        heading(page, "players", row(17.0, 5.0), "Players; bots may take seats in the lobby");
        let players = row(ROW, 12.0);
        page.choice("seats", part(players, 0, 2), &[("2", 0), ("3", 1), ("4", 2)], &mut self.terms.seats);
        if self.terms.seats == 2 {
            let options = [("Each alone", 0), ("2 against 2", 1)];
            page.choice("teams", part(players, 1, 2), &options, &mut self.terms.teams);
        }
        heading(page, "map head", row(17.0, 5.0), &self.terms.maps.heading("Map"));
        let mut map = self.terms.map;
        choose(page, "map", row(ROW, 12.0), &self.terms.fitting(), &mut map);
        self.terms.map = map;
        heading(page, "rules head", row(17.0, 5.0), &self.terms.rules.heading("Rules"));
        let rules: Vec<_> = self.terms.rules.all.iter().collect();
        choose(page, "rules", row(ROW, 14.0), &rules, &mut self.terms.rules_at);
        let right = Rect::from_min_max(pos2(left.right() + 22.0, left.top()), inside.max);
        let picture = Rect::from_min_size(right.min, vec2(right.width(), right.width() * 9.0 / 16.0));
        self.chosen(page, picture);
        let fold = row(ROW, 12.0);
        let mark = if self.shows_network { "Network: hide" } else { "Network ..." };
        if page.button("network", part(fold, 0, 3), mark, Weight::Normal) {
            self.shows_network = !self.shows_network;
        }
        if self.shows_network {
            let beside = fold.with_min_x(part(fold, 1, 3).left());
            page.field("code", beside, &mut self.terms.code, "a code, to keep strangers out");
            let is_on = &mut self.terms.shared_address;
            let weight = if *is_on { Weight::Chosen } else { Weight::Normal };
            let text =
                if *is_on { "Seats for one address: all" } else { "Seats for one address: all but one" };
            if page.button("shared address", row(ROW, 0.0), text, weight) {
                *is_on = !*is_on;
            }
            self.network(page, Rect::from_min_max(pos2(left.right() + 22.0, left.top()), inside.max));
        }
        self.last(context, page, inside)
    }

    /// Draws the map, or why a chosen file cannot be used.
    fn chosen(&self, page: &mut Page<'_>, area: Rect) {
        let maps = self.terms.fitting();
        let map = maps.get(self.terms.map).map(|map| &map.loaded);
        match (self.terms.fault(), map) {
            (Some(why), _) => {
                let style = (theme::BODY, theme::TEXT);
                page.paragraph("fault", area.left_top(), style, why, area.width());
            }
            (None, Some(Ok(map))) => draw_map(page, map, &self.terms.teams_by_seat(), area),
            (None, _) => {}
        }
    }

    /// Draws the choice of architecture below the picture of the map.
    fn network(&mut self, page: &mut Page<'_>, area: Rect) {
        let mut top = area.top() + area.width() * 9.0 / 16.0 + 10.0;
        let question = Rect::from_min_size(pos2(area.left(), top), vec2(area.width(), 17.0));
        heading(page, "architecture", question, "Who computes the match");
        top += 17.0 + 5.0;
        for (choice, name, text) in [
            (Architecture::P2p, "p2p", "All players, in lockstep (P2P)"),
            (Architecture::ClientServer, "client-server", "This computer, as a server"),
            (Architecture::Relay, "relay", "All players; this computer relays"),
        ] {
            let is_chosen = choice == self.terms.architecture;
            let weight = if is_chosen { Weight::Chosen } else { Weight::Normal };
            let row = Rect::from_min_size(pos2(area.left(), top), vec2(area.width(), ROW));
            if page.button(name, row, text, weight) {
                self.terms.architecture = choice;
            }
            top += ROW + 8.0;
        }
    }

    fn last(&self, context: &mut AppContext, page: &mut Page<'_>, inside: Rect) -> Option<Next> {
        let row = Rect::from_min_max(pos2(inside.left(), inside.bottom() - ROW), inside.max);
        let row = row.with_min_x(row.left() + row.width() * LEFT + 22.0);
        if self.terms.fault().is_some() {
            page.barred("open", part(row, 0, 2), "Open it", "");
        } else if page.button("open", part(row, 0, 2), "Open it", Weight::Primary) {
            let hero = context.settings.you.hero;
            let opened = named(context, |name| {
                let mut arguments = self.terms.arguments();
                arguments.game.player.name = Some(name);
                arguments.game.player.hero = hero;
                Next::Launch(LaunchRequest::Host(Box::new(arguments)))
            });
            if opened.is_some() {
                return opened;
            }
        }
        let goes_back = page.button("back", part(row, 1, 2), "Back", Weight::Normal) || page.escapes();
        goes_back.then_some(Next::Start)
    }
}

impl Terms {
    /// Returns the maps with enough seats, and the files that are no maps.
    fn fitting(&self) -> Vec<&Offer<Map>> {
        let seats = self.seats + 2;
        let fits = |map: &Map| map.bases.len() >= seats && (seats > 2 || map.bases.len() == 2);
        self.maps.all.iter().filter(|map| map.loaded.as_ref().map_or(true, |map| fits(map))).collect()
    }

    /// Returns why a chosen file cannot be used, if one cannot.
    fn fault(&self) -> Option<&str> {
        let map = self.fitting().get(self.map).and_then(|map| map.loaded.as_ref().err());
        let rules = self.rules.all.get(self.rules_at).and_then(|rules| rules.loaded.as_ref().err());
        map.or(rules).map(String::as_str)
    }

    fn teams_by_seat(&self) -> Vec<Option<u8>> {
        let seats = self.seats as u8 + 2;
        (0..seats).map(|seat| Some(if self.is_paired() { seat % 2 } else { seat })).collect()
    }

    const fn is_paired(&self) -> bool {
        self.seats == 2 && self.teams == 1
    }

    fn arguments(&self) -> HostArguments {
        let mut arguments = HostArguments { architecture: self.architecture, ..usual() };
        arguments.table.players = self.seats as u8 + 2;
        arguments.table.teams = self.is_paired().then_some(Teams::Across);
        arguments.game.terms.map = self.fitting().get(self.map).map(|map| map.source.clone());
        arguments.game.terms.rules = self.rules.all.get(self.rules_at).map(|rules| rules.source.clone());
        arguments.game.player.is_ready = false;
        let code = self.code.trim();
        arguments.game.network.room = (!RoomCode::of(code).is_open()).then(|| code.to_owned());
        arguments.shared_address = self.shared_address;
        arguments
    }
}
