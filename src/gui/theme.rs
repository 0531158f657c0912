//! Colours, sizes and shapes of the screens: a lit war table at night.

use egui_macroquad::egui::{self, Color32};

pub(crate) const GROUND: Color32 = Color32::from_rgb(0x1e, 0x24, 0x30);
pub(crate) const PLATE: Color32 = Color32::from_rgba_premultiplied(0x11, 0x15, 0x1d, 0xf0);
pub(crate) const LINE: Color32 = Color32::from_rgb(0x34, 0x3c, 0x4d);
pub(crate) const LINE_LIT: Color32 = Color32::from_rgb(0x6b, 0x72, 0x80);
pub(crate) const BUTTON: Color32 = Color32::from_rgb(0x26, 0x2d, 0x3b);
pub(crate) const BUTTON_LIT: Color32 = Color32::from_rgb(0x34, 0x3c, 0x4d);
pub(crate) const TEXT: Color32 = Color32::from_rgb(0xe6, 0xea, 0xf0);
pub(crate) const QUIET: Color32 = Color32::from_rgb(0x9a, 0xa3, 0xb2);
pub(crate) const BLUE: Color32 = Color32::from_rgb(0x3f, 0xa7, 0xff);
pub(crate) const ORANGE: Color32 = Color32::from_rgb(0xff, 0x9a, 0x3c);
pub(crate) const GOLD: Color32 = Color32::from_rgb(0xff, 0xd1, 0x66);
pub(crate) const RED: Color32 = Color32::from_rgb(0xff, 0x4d, 0x5e);

/// Font sizes, in points.
pub(crate) const SMALL: f32 = 14.0;
pub(crate) const BODY: f32 = 18.0;
pub(crate) const LARGE: f32 = 28.0;
pub(crate) const TITLE: f32 = 48.0;
/// Duration of every transition of the interface, in seconds.
pub(crate) const EASE_S: f32 = 0.12;
/// Corner radius of plates and buttons, in points.
pub(crate) const ROUNDING: f32 = 6.0;

/// Returns the colour of a team.
pub(crate) fn team(team: u8) -> Color32 {
    const VIOLET: Color32 = Color32::from_rgb(0xb5, 0x8c, 0xff);
    const MINT: Color32 = Color32::from_rgb(0x7f, 0xe0, 0xb0);
    [BLUE, ORANGE, VIOLET, MINT][usize::from(team) % 4]
}

/// Sets the style of egui's own widgets.
pub(crate) fn apply(ctx: &egui::Context) {
    let mut visuals = egui::Visuals::dark();
    visuals.override_text_color = Some(TEXT);
    visuals.extreme_bg_color = GROUND;
    visuals.selection.bg_fill = BUTTON_LIT;
    visuals.selection.stroke = egui::Stroke::new(1.0, BLUE);
    for widget in [&mut visuals.widgets.inactive, &mut visuals.widgets.hovered, &mut visuals.widgets.active] {
        widget.corner_radius = egui::CornerRadius::same(ROUNDING as u8);
        widget.bg_stroke = egui::Stroke::new(1.0, LINE);
    }
    ctx.set_visuals(visuals);
    ctx.style_mut(|style| {
        style.animation_time = EASE_S;
        style.interaction.selectable_labels = false;
    });
}
