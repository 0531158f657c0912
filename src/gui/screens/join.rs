//! The open matches on the LAN, updated as they appear and disappear.

use egui_macroquad::egui::{Align2, Rect, pos2, vec2};
use std::net::{IpAddr, SocketAddr};

use super::form::{named, part};
use super::{Attract, Next};
use crate::cli::address;
use crate::cli::args::{JoinArguments, usual};
use crate::cli::kept_seats::{KeptSeat, abandoned_seats};
use crate::gui::context::AppContext;
use crate::gui::launch::LaunchRequest;
use crate::gui::page::{FIELD_BYTES_MAX, Page, Weight};
use crate::gui::theme;
use game::phrase::possessive;
use net::discovery::Room;
use net::{Architecture, PlayerName, RoomCode};
use sim::SIMULATION_BUILD;
use transport::DEFAULT_PORT;
use transport::discovery::Browser;

const ROW: f32 = 42.0;
/// Distance of a match's name from the middle of its row, above the line with its map and rules.
const LIFT: f32 = 10.0;
/// Time without a match after which the screen gives advice, in seconds.
const ADVICE_AFTER_S: f64 = 5.0;

pub(crate) struct JoinScreen {
    pub(super) attract: Attract,
    /// Search for matches, or the reason why there is none.
    browser: Result<Browser, String>,
    /// Arguments of the command line.
    arguments: Option<Box<JoinArguments>>,
    since: Option<f64>,
    /// Seats on servers that processes of this user left behind.
    seats: Vec<KeptSeat>,
    /// Locked match that was chosen, while the player types its code.
    locked: Option<Locked>,
}

/// Match that asks for a code.
struct Locked {
    address: SocketAddr,
    name: String,
    code: String,
}

/// Columns of a room's row, as shares of the width.
const COLUMNS: [(&str, f32); 5] =
    [("match", 0.02), ("players", 0.36), ("ping", 0.50), ("version", 0.64), ("address", 0.80)];

impl JoinScreen {
    pub(crate) fn new(attract: Attract, arguments: Option<Box<JoinArguments>>) -> Self {
        let browser = Browser::start().map_err(|error| error.to_string());
        Self { attract, browser, arguments, since: None, seats: abandoned_seats(), locked: None }
    }

    /// Builds the request to join the match at an address.
    pub(crate) fn request_for(&self, address: &str, context: &AppContext) -> Result<LaunchRequest, String> {
        let arguments = match &self.arguments {
            Some(arguments) => arguments.clone(),
            None => {
                let mut arguments: JoinArguments = usual();
                arguments.game.player.name = Some(context.settings.you.player_name()?);
                arguments.game.player.hero = context.settings.you.hero;
                arguments.game.player.is_ready = false;
                Box::new(arguments)
            }
        };
        let hosts = address::resolve(address).map_err(|error| format!("{error:#}"))?;
        Ok(LaunchRequest::Join(arguments, hosts))
    }

    pub(crate) fn page(&mut self, context: &mut AppContext, page: &mut Page<'_>) -> Option<Next> {
        let plate = page.centred(900.0, 500.0);
        page.plate("join", plate);
        let inside = plate.shrink(22.0);
        page.within("join", |page| {
            let title = inside.left_top();
            page.text(
                "title",
                title,
                Align2::LEFT_TOP,
                (theme::LARGE, theme::TEXT),
                "Join a match",
                inside.width(),
            );
            let below = inside.bottom() - ROW;
            let list = Rect::from_min_max(
                pos2(inside.left(), inside.top() + 50.0),
                pos2(inside.right(), below - 18.0),
            );
            let from_list = self.list(context, page, list);
            let last = Rect::from_min_max(pos2(inside.left(), below), inside.right_bottom());
            let below = if self.locked.is_some() {
                self.by_code(context, page, last)
            } else {
                self.by_address(context, page, last)
            };
            from_list.or(below)
        })
    }

    fn list(&mut self, context: &mut AppContext, page: &mut Page<'_>, list: Rect) -> Option<Next> {
        let since = *self.since.get_or_insert(context.now);
        let (rooms, warnings) = match &self.browser {
            Ok(browser) => (browser.rooms(), browser.warnings().iter().map(ToString::to_string).collect()),
            Err(why) => (Vec::new(), vec![why.clone()]),
        };
        for (name, share) in COLUMNS {
            let at = pos2(list.left() + share * list.width(), list.top());
            page.text(
                &format!("{name} head"),
                at,
                Align2::LEFT_TOP,
                (theme::SMALL, theme::QUIET),
                name,
                200.0,
            );
        }
        let mut top = list.top() + 26.0;
        page.rule(pos2(list.left(), top - 4.0), list.width());
        let mut next = None;
        let mut left_out = self.browser.as_ref().map_or(0, Browser::beyond);
        for (index, room) in rooms.iter().enumerate() {
            let row = Rect::from_min_size(pos2(list.left(), top), vec2(list.width(), ROW));
            // Rows that do not fit are left out: such a match can still be joined by its name or address.
            if row.bottom() > list.bottom() - 24.0 {
                left_out += rooms.len() - index;
                break;
            }
            let has_code =
                self.arguments.as_ref().is_some_and(|arguments| arguments.game.network.room.is_some());
            let seat = self.seats.iter().find(|seat| seat.is_in(room.id.0));
            if room_row(page, index, row, room, seat.is_some()) {
                if let Some(seat) = seat {
                    next = named(context, |name| returning_to(seat, name, vec![room.address]));
                    continue;
                }
                if room.locked && !has_code {
                    let name = room.name.as_str().to_owned();
                    self.locked = Some(Locked { address: room.address, name, code: String::new() });
                    continue;
                }
                match self.request_for(&room.address.to_string(), context) {
                    Ok(request) => next = Some(Next::Launch(request)),
                    Err(why) => context.note(why),
                }
            }
            top += ROW + 6.0;
        }
        if rooms.is_empty() {
            let text = empty_text(context.now - since);
            page.paragraph(
                "empty",
                pos2(list.left(), top + 12.0),
                (theme::BODY, theme::QUIET),
                &text,
                list.width(),
            );
        }
        let (at, size, width) = (list.left_bottom(), theme::SMALL, list.width());
        if let Some(warning) = warnings.first() {
            page.open_ended("warning", at, Align2::LEFT_BOTTOM, (size, theme::ORANGE), warning, width);
        } else if left_out > 0 {
            let text = format!("and {left_out} more: type the name of a match, or its address");
            page.open_ended("more", at, Align2::LEFT_BOTTOM, (size, theme::QUIET), &text, width);
        }
        next
    }

    /// Returns the address of the first listed match of this name, else the text itself.
    fn address_of(&self, typed: &str) -> String {
        let rooms = self.browser.as_ref().map_or_else(|_| Vec::new(), Browser::rooms);
        let named = rooms.iter().find(|room| room.name.as_str() == typed.trim());
        named.map_or_else(|| typed.to_owned(), |room| room.address.to_string())
    }

    /// Draws the code field of the locked match that was chosen.
    fn by_code(&mut self, context: &mut AppContext, page: &mut Page<'_>, row: Rect) -> Option<Next> {
        let locked = self.locked.as_mut()?;
        let hint = format!("the code of {} match", possessive(&locked.name));
        let entered = page.line("code", part(row, 0, 2), &mut locked.code, &hint, FIELD_BYTES_MAX);
        let right = part(row, 1, 2);
        let pressed = page.button("join locked", part(right, 0, 2), "Join it", Weight::Primary);
        if page.button("no code", part(right, 1, 2), "Back", Weight::Normal) || page.escapes() {
            self.locked = None;
            return None;
        }
        let (address, code) = (locked.address.to_string(), locked.code.trim().to_owned());
        if !(entered || pressed) || RoomCode::of(&code).is_open() {
            return None;
        }
        match self.request_for(&address, context) {
            Ok(LaunchRequest::Join(mut arguments, address)) => {
                arguments.game.network.room = Some(code);
                Some(Next::Launch(LaunchRequest::Join(arguments, address)))
            }
            Ok(_) => None,
            Err(why) => {
                context.note(why);
                None
            }
        }
    }

    fn by_address(&mut self, context: &mut AppContext, page: &mut Page<'_>, row: Rect) -> Option<Next> {
        let hint = format!("or an address, such as 192.168.1.20:{DEFAULT_PORT}");
        let entered = page.field("address", part(row, 0, 2), &mut context.settings.you.address, &hint);
        let right = part(row, 1, 2);
        let pressed = page.button("join address", part(right, 0, 2), "Join it", Weight::Normal);
        if page.button("back", part(right, 1, 2), "Back", Weight::Normal) || page.escapes() {
            return Some(Next::Start);
        }
        if !entered && !pressed {
            return None;
        }
        let typed = context.settings.you.address.clone();
        let request = if typed.trim().is_empty() {
            Err("type the host's address, or choose a match from the list".into())
        } else {
            self.request_for(&self.address_of(&typed), context)
        };
        match request {
            Ok(request) => Some(Next::Launch(request)),
            Err(why) => {
                context.note(why);
                None
            }
        }
    }
}

/// Builds the request to take a seat back from its server.
pub(super) fn returning(seat: &KeptSeat, name: PlayerName) -> Next {
    returning_to(seat, name, seat.hosts.clone())
}

fn returning_to(seat: &KeptSeat, name: PlayerName, server: Vec<SocketAddr>) -> Next {
    let mut arguments: JoinArguments = usual();
    seat.put_into(&mut arguments);
    arguments.game.player.name.get_or_insert(name);
    Next::Launch(LaunchRequest::Join(Box::new(arguments), server))
}

/// Draws a match of the list, in which this player may have a seat already. Returns whether it was chosen.
fn room_row(page: &mut Page<'_>, index: usize, row: Rect, room: &Room, is_own: bool) -> bool {
    let bar = bar_of(room, is_own);
    let name = format!("room {index}");
    let clicked = page.pressable(&name, row, Weight::Normal, bar.is_none());
    let lock = if room.locked { ", locked" } else { "" };
    let architecture = match room.architecture {
        Architecture::P2p => "",
        Architecture::ClientServer => " (server)",
        Architecture::Relay => " (relay)",
    };
    let version = if is_own { Some("your seat") } else { bar };
    let version = version.map_or_else(|| room.version.as_str().to_owned(), str::to_owned);
    let facts = [
        format!("{}{architecture}{lock}", room.name),
        format!("{} of {}", room.players, room.seats),
        format!("{:.1} ms", room.rtt.as_secs_f64() * 1000.0),
        version,
        room.address.ip().to_string(),
    ];
    let setup = room.names.map(|names| format!("Map: {}, rules: {}", names.map, names.rules));
    page.within(&name, |page| {
        for (place, (fact, (column, share))) in facts.iter().zip(COLUMNS).enumerate() {
            let lifted = if place == 0 && setup.is_some() { LIFT } else { 0.0 };
            let at = pos2(row.left() + share * row.width(), row.center().y - lifted);
            let until = COLUMNS.get(place + 1).map_or(0.99, |next| next.1 - 0.01);
            let width = (until - share) * row.width();
            let colour = if bar.is_some() { theme::LINE_LIT } else { theme::TEXT };
            let size = if place == 0 { theme::BODY } else { theme::SMALL };
            page.text(&format!("{name} {column}"), at, Align2::LEFT_CENTER, (size, colour), fact, width);
        }
        if let Some(setup) = setup {
            let [(_, left), (_, right), ..] = COLUMNS;
            let at = pos2(row.left() + left * row.width(), row.bottom() - 2.0);
            let (style, width) = ((theme::SMALL, theme::QUIET), (right - left - 0.01) * row.width());
            page.open_ended(&format!("{name} setup"), at, Align2::LEFT_BOTTOM, style, &setup, width);
        }
    });
    clicked
}

/// Returns the reason why a match cannot be joined from here.
fn bar_of(room: &Room, is_own: bool) -> Option<&'static str> {
    if room.build < SIMULATION_BUILD {
        Some("older game")
    } else if room.build > SIMULATION_BUILD {
        Some("newer game")
    } else if room.players >= room.seats && !is_own {
        Some("full")
    } else {
        None
    }
}

/// Returns the text while no match is found.
fn empty_text(waited_s: f64) -> String {
    let looking = format!("Looking for matches on {} ...", own_networks());
    if waited_s < ADVICE_AFTER_S {
        return looking;
    }
    format!(
        "{looking}\n\nNothing yet. Has somebody hosted one on the same network? A firewall may block UDP 4123; \
         the host's address below works without it."
    )
}

/// Names the networks of this computer.
pub(super) fn own_networks() -> String {
    let addresses = own_addresses();
    if addresses.is_empty() { "this computer alone: it has no network".into() } else { addresses.join(", ") }
}

/// Lists the addresses at which others reach this computer: IPv6 only without IPv4, since those are harder to type.
pub(super) fn own_addresses() -> Vec<String> {
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    let others: Vec<_> =
        interfaces.iter().filter(|own| !own.is_loopback()).map(if_addrs::Interface::ip).collect();
    let is_global = |ip: &&IpAddr| !matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local());
    let ipv4: Vec<_> = others.iter().filter(|ip| ip.is_ipv4()).map(ToString::to_string).collect();
    if ipv4.is_empty() { others.iter().filter(is_global).map(ToString::to_string).collect() } else { ipv4 }
}
