//! Before a match is opened: how it will be played.

use egui_macroquad::egui::{Align2, Rect, pos2, vec2};

use super::form::{heading, named, part, you_are};
use super::{Attract, Next};
use crate::cli::args::{ArchitectureChoice, HostArguments, usual};
use crate::gui::context::AppContext;
use crate::gui::launch::LaunchRequest;
use crate::gui::page::{Page, Weight};
use crate::gui::theme;

const ROW: f32 = 42.0;

pub(crate) struct HostScreen {
    pub(super) attract: Attract,
    architecture: ArchitectureChoice,
}

impl HostScreen {
    pub(crate) const fn new(attract: Attract) -> Self {
        Self { attract, architecture: ArchitectureChoice::P2p }
    }

    pub(crate) fn page(&mut self, context: &mut AppContext, page: &mut Page<'_>) -> Option<Next> {
        let plate = page.centred(560.0, 392.0);
        page.plate("host", plate);
        let architecture = &mut self.architecture;
        page.within("host", |page| rows(context, page, plate.shrink(22.0), architecture))
    }
}

fn rows(
    context: &mut AppContext,
    page: &mut Page<'_>,
    inside: Rect,
    architecture: &mut ArchitectureChoice,
) -> Option<Next> {
    let mut next = None;
    let mut top = inside.top();
    let mut row = |height: f32, gap: f32| {
        let rect = Rect::from_min_size(pos2(inside.left(), top), vec2(inside.width(), height));
        top += height + gap;
        rect
    };
    let title = row(34.0, 12.0);
    let text = "Host a match";
    page.text("title", title.left_top(), Align2::LEFT_TOP, (theme::LARGE, theme::TEXT), text, title.width());
    heading(page, "you", row(17.0, 5.0), "Your name and your hero");
    you_are(context, page, row(38.0, 14.0));
    heading(page, "architecture", row(17.0, 5.0), "Who computes the match");
    let choices = [
        (ArchitectureChoice::P2p, "p2p", 8.0, "Both computers, in lockstep (P2P)"),
        (ArchitectureChoice::ClientServer, "client-server", 8.0, "This computer, as a server"),
        (ArchitectureChoice::Relay, "relay", 22.0, "Both computers; this one hands on the inputs"),
    ];
    for (choice, name, gap, text) in choices {
        let weight = if choice == *architecture { Weight::Chosen } else { Weight::Normal };
        if page.button(name, row(ROW, gap), text, weight) {
            *architecture = choice;
        }
    }
    let last = row(ROW, 0.0);
    if page.button("open", part(last, 0, 2), "Open the match", Weight::Primary) {
        let hero = context.settings.you.hero;
        let opened = named(context, |name| {
            let mut arguments = HostArguments { architecture: *architecture, ..usual() };
            arguments.game.player.name = Some(name);
            arguments.game.player.hero = hero;
            Next::Launch(LaunchRequest::Host(Box::new(arguments)))
        });
        next = opened.or(next);
    }
    if page.button("back", part(last, 1, 2), "Back", Weight::Normal) || page.escapes() {
        next = Some(Next::Start);
    }
    next
}
