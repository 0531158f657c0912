//! The settings, over the start screen or over a match.

use egui_macroquad::egui::{Align2, Rect, pos2, vec2};
use macroquad::miniquad::KeyCode;

use super::form::{heading, part, you_are};
use crate::gui::bindings::{Action, Preset, key_name};
use crate::gui::input::Input;
use crate::gui::page::{Page, Weight};
use crate::gui::settings::{Settings, TEXT_PERCENTS};
use crate::gui::theme;

/// Size of the plate, in points.
const SIZE: [f32; 2] = [820.0, 456.0];
const ROW: f32 = 38.0;
/// Distance between two choices, in points.
const STEP: f32 = ROW + 34.0;
/// Number of key bindings in a column, and their line height in points.
const KEYS_DOWN: usize = 11;
const KEY_STEP: f32 = 25.0;

/// State of the settings.
#[derive(Default)]
pub(super) struct SettingsPanel {
    tab: Tab,
    /// Action that will be bound to the next key.
    captures: Option<Action>,
    /// Whether the key just bound must be kept from also pressing the button of its action.
    has_bound: bool,
    is_closed: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tab {
    #[default]
    General,
    Keys,
}

impl SettingsPanel {
    /// Binds the next key to the action that waits for it; Esc closes the settings.
    pub(super) fn take(&mut self, input: Input, settings: &mut Settings) {
        let Input::Down(key, _) = input else { return };
        match (self.captures.take(), key) {
            (Some(_), KeyCode::Escape) => {}
            (Some(action), key) => {
                if settings.keys.bind(action, key) {
                    self.has_bound = true;
                } else {
                    self.captures = Some(action);
                }
            }
            (None, KeyCode::Escape) => self.is_closed = true,
            (None, _) => {}
        }
    }

    /// Whether the next key will be bound, regardless of its meaning.
    pub(super) const fn captures(&self) -> bool {
        self.captures.is_some()
    }

    /// Lays out the settings. Returns false once they are closed.
    pub(super) fn page(&mut self, settings: &mut Settings, page: &mut Page<'_>) -> bool {
        let plate = page.centred(SIZE[0], SIZE[1]);
        page.plate("settings", plate);
        let inside = plate.shrink(18.0);
        let bottom = Rect::from_min_max(pos2(inside.left(), inside.bottom() - ROW), inside.max);
        page.within("settings", |page| {
            let title = (theme::LARGE, theme::TEXT);
            page.text("title", inside.left_top(), Align2::LEFT_TOP, title, "Settings", 200.0);
            let tabs = Rect::from_min_size(pos2(inside.right() - 300.0, inside.top()), vec2(300.0, ROW));
            page.choice("tab", tabs, &[("General", Tab::General), ("Keys", Tab::Keys)], &mut self.tab);
            let middle = Rect::from_min_max(
                inside.min + vec2(0.0, ROW + 12.0),
                pos2(inside.right(), bottom.top() - 10.0),
            );
            match self.tab {
                Tab::General => general(settings, page, middle),
                Tab::Keys => self.keys(settings, page, middle),
            }
            if page.button("reset", part(bottom, 0, 4), "Reset", Weight::Normal) {
                settings.reset();
            }
            if page.button("close", part(bottom, 3, 4), "Close", Weight::Primary) {
                self.is_closed = true;
            }
        });
        self.has_bound = false;
        !self.is_closed
    }

    /// Draws the preset, and below it every action with its key.
    fn keys(&mut self, settings: &mut Settings, page: &mut Page<'_>, area: Rect) {
        let top = Rect::from_min_size(area.min, vec2(area.width(), ROW));
        let mut preset = settings.keys.preset;
        let presets = [("Standard", Preset::Standard), ("MOBA", Preset::Moba)];
        if page.choice("preset", part(top, 0, 3), &presets, &mut preset) {
            settings.keys.reset(preset);
        }
        let conflicts = Action::all().find_map(|action| Some((action, settings.keys.conflict(action)?)));
        let (colour, text) = match (conflicts, preset) {
            (Some((action, other)), _) => {
                (theme::RED, format!("{} and {} have the same key.", action.label(), other.label()))
            }
            (None, Preset::Standard) => (
                theme::QUIET,
                "Keys walk the hero; a right click sends the selected minions to fight.".into(),
            ),
            (None, Preset::Moba) => {
                (theme::QUIET, "A right click moves the hero, and the selected minions with him.".into())
            }
        };
        let at = pos2(part(top, 1, 3).left(), top.center().y);
        let width = top.right() - at.x;
        page.text("preset says", at, Align2::LEFT_CENTER, (theme::SMALL, colour), &text, width);
        let below = Rect::from_min_max(area.min + vec2(0.0, ROW + 8.0), area.max);
        // Rules with more kinds have more actions.
        let rows = Action::all().count().div_ceil(3).max(KEYS_DOWN);
        let step = KEY_STEP * KEYS_DOWN as f32 / rows as f32;
        for (place, action) in Action::all().enumerate() {
            let column = part(below, place / rows, 3);
            let at = column.min + vec2(0.0, (place % rows) as f32 * step);
            self.key(settings, page, action, Rect::from_min_size(at, vec2(column.width(), step - 3.0)));
        }
    }

    fn key(&mut self, settings: &Settings, page: &mut Page<'_>, action: Action, row: Rect) {
        const CAP: f32 = 88.0;
        let label = action.label();
        let name = format!("key {}", label.to_lowercase());
        let has_conflict = settings.keys.conflict(action).is_some();
        let colour = if has_conflict { theme::RED } else { theme::TEXT };
        let at = row.left_center();
        let width = row.width() - CAP - 8.0;
        page.text(&format!("{name} label"), at, Align2::LEFT_CENTER, (theme::SMALL, colour), &label, width);
        let cap = Rect::from_min_max(pos2(row.right() - CAP, row.top()), row.max);
        let is_waiting = self.captures == Some(action);
        let shown = if is_waiting { "press a key".into() } else { key_name(action) };
        let weight = if is_waiting { Weight::Chosen } else { Weight::Normal };
        let is_pressed = page.pressable(&name, cap, weight, action.is_rebindable());
        page.within(&name, |page| {
            let style = (theme::SMALL, if has_conflict { theme::RED } else { theme::GOLD });
            page.text(&format!("{name} cap"), cap.center(), Align2::CENTER_CENTER, style, &shown, CAP - 6.0);
        });
        if is_pressed && !self.has_bound {
            self.captures = Some(action);
        }
    }
}

/// Draws name and volumes on the left, the window's settings on the right.
fn general(settings: &mut Settings, page: &mut Page<'_>, area: Rect) {
    let (left, right) = (part(area, 0, 2), part(area, 1, 2));
    let right = Rect::from_min_max(right.min + vec2(14.0, 0.0), right.max);
    heading(page, "you", left, "Your name and your hero, from the next match on");
    you_are(settings, page, below(left, 0.0));
    heading(page, "volume", lower(left, STEP + 4.0), "Volume");
    let volumes = &mut settings.volumes;
    let sliders = [
        ("all", &mut volumes.master),
        ("the match", &mut volumes.effects),
        ("menus and notices", &mut volumes.interface),
        ("music", &mut volumes.music),
    ];
    for (place, (name, value)) in sliders.into_iter().enumerate() {
        let row = below(left, STEP + 4.0 + place as f32 * (ROW + 2.0));
        let style = (theme::SMALL, theme::TEXT);
        page.text(&format!("{name} label"), row.left_center(), Align2::LEFT_CENTER, style, name, 130.0);
        let slider = Rect::from_min_max(row.min + vec2(136.0, 6.0), row.max - vec2(0.0, 6.0));
        let text = format!("{value} %");
        page.slider(&format!("volume {name}"), slider, value, &text);
    }
    let on_off = [("Off", false), ("On", true)];
    let row = below(left, STEP + 4.0 + 4.0 * (ROW + 2.0));
    let label = format!("music ({})", key_name(Action::Music));
    page.text(
        "music switch label",
        row.left_center(),
        Align2::LEFT_CENTER,
        (theme::SMALL, theme::TEXT),
        &label,
        130.0,
    );
    let switch = Rect::from_min_max(row.min + vec2(136.0, 2.0), row.max - vec2(0.0, 2.0));
    page.choice("music", switch, &on_off, &mut settings.music);
    let [whole, picture] = [0, 1].map(|half| part(right, half, 2));
    heading(page, "fullscreen", whole, &format!("Full screen ({})", key_name(Action::Fullscreen)));
    page.choice("fullscreen", below(whole, 0.0), &on_off, &mut settings.fullscreen);
    heading(page, "picture", picture, "Shadows and effects");
    page.choice("picture", below(picture, 0.0), &[("Minimal", true), ("All", false)], &mut settings.minimal);
    heading(page, "frames", lower(right, STEP), "Frame rate limit in a match");
    let frames = [("30", 30), ("60", 60), ("120", 120), ("144", 144), ("None", 0)];
    page.choice("frames", below(right, STEP), &frames, &mut settings.frames_per_s);
    heading(page, "text", lower(right, 2.0 * STEP), "Size of text and buttons");
    let names = TEXT_PERCENTS.map(|percent| format!("{percent} %"));
    let sizes: Vec<(&str, u32)> = names.iter().map(String::as_str).zip(TEXT_PERCENTS).collect();
    page.choice("text", below(right, 2.0 * STEP), &sizes, &mut settings.text_percent);
    let [flashes, shakes] = [0, 1].map(|half| part(lower(right, 3.0 * STEP), half, 2));
    heading(page, "flashes", flashes, "Flashes and lights");
    page.choice("flashes", below(flashes, 0.0), &on_off, &mut settings.flashes);
    heading(page, "shakes", shakes, "Shaking");
    page.choice("shakes", below(shakes, 0.0), &on_off, &mut settings.shakes);
}

/// Returns the area from `by` points below its top.
fn lower(area: Rect, by: f32) -> Rect {
    Rect::from_min_max(area.min + vec2(0.0, by), area.max)
}

/// Returns the row under a heading that is `by` points below the top of an area.
fn below(area: Rect, by: f32) -> Rect {
    Rect::from_min_size(area.min + vec2(0.0, by + 22.0), vec2(area.width(), ROW))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gui::bindings::{key_label, put_in_force};
    use crate::gui::test_page::PageTest;
    use crate::gui::window::SIZE_LEAST;

    /// Returns the available size, in points, of a window of 1280 x 720 at each text size, and of the smallest
    /// window.
    fn rooms() -> Vec<[f32; 2]> {
        let sizes = TEXT_PERCENTS.map(|percent| percent as f32 / 100.0).map(|by| [1280.0 / by, 720.0 / by]);
        sizes.into_iter().chain([SIZE_LEAST.map(|side| f32::from(side) / 0.9375)]).collect()
    }

    #[test]
    fn no_text_of_the_settings_is_cut_with_any_conflict() {
        let mut settings = Settings::default();
        settings.you.name = "W".repeat(16);
        let longest = Action::all().max_by_key(|action| action.label().len()).expect("an action");
        for room in rooms() {
            let mut test = PageTest::new(room);
            for preset in [Preset::Standard, Preset::Moba] {
                for action in Action::all() {
                    settings.keys.reset(preset);
                    for bound in [action, longest] {
                        settings.keys.bind(bound, KeyCode::PageDown);
                    }
                    put_in_force(&settings.keys);
                    let mut panel = SettingsPanel { tab: Tab::Keys, ..SettingsPanel::default() };
                    test.frame(vec![], |page| panel.page(&mut settings, page));
                    assert_eq!(test.recorder.problems(), Vec::<String>::new(), "{room:?} {action:?}");
                }
            }
            let mut panel = SettingsPanel::default();
            test.frame(vec![], |page| panel.page(&mut settings, page));
            assert_eq!(test.recorder.problems(), Vec::<String>::new(), "{room:?}");
        }
        assert!(!key_label(KeyCode::PageDown).is_empty());
    }
}
