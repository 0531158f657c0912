//! Layout of the interface: the share of the window for the arena, and a record of every text and control of a frame,
//! with which tests detect text that is cut, covered or too small.

use macroquad::math::Rect;

use crate::gui::bindings::rules_in_play;
use crate::gui::window::{text_factor, usual_scale};

/// Minimum size of any text, in pixels.
pub(crate) const TEXT_LEAST_PX: f32 = 12.0;
/// Width of the counters of supply and minions, in pixels at 1280 x 720.
const COUNTERS: f32 = 92.0;
/// Width of a training button for up to two kinds, for three, and for more, which have no room for their names, in
/// pixels at 1280 x 720; and the gap after it.
const TRAIN_BUTTON: [f32; 3] = [156.0, 140.0, 84.0];
const TRAIN_GAP: f32 = 4.0;
/// Width of the hero's plate and the gap before it, in pixels at 1280 x 720.
const HERO: f32 = 428.0;
/// Gap around the plates at the bottom of the window, in pixels at 1280 x 720.
pub(super) const PLATE_GAP: f32 = 4.0;
/// Tolerated overlap of rectangles due to rounding, in pixels.
const SLACK: f32 = 1.0;

/// Text or control.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Name, unique among its siblings.
    pub(crate) name: String,
    /// Name of the item that must contain it; empty for the window, its own name if it floats over all others.
    pub(crate) parent: String,
    /// Bounds, in pixels.
    pub(crate) rect: Rect,
    /// Font size in pixels, if it is text.
    pub(crate) text_px: Option<f32>,
    /// The text itself; not of a field.
    pub(crate) text: Option<String>,
}

/// Record of the last frame's layout, kept only while `enabled`.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) enabled: bool,
    pub(crate) items: Vec<Item>,
    /// Control with keyboard focus; empty for none.
    pub(crate) focused: String,
    /// Whether a button is not yet accepting presses.
    pub(crate) is_inert: bool,
    /// Texts that did not fit.
    cut: Vec<String>,
    window: Rect,
}

impl Recorder {
    /// Discards the last frame.
    pub(crate) fn begin(&mut self, window: Rect) {
        self.items.clear();
        self.focused.clear();
        self.is_inert = false;
        self.cut.clear();
        self.window = window;
    }

    /// Records an item.
    pub(crate) fn record(&mut self, name: &str, parent: &str, rect: Rect, text_px: Option<f32>) {
        if self.enabled {
            self.items.push(Item { name: name.into(), parent: parent.into(), rect, text_px, text: None });
        }
    }

    /// Notes the text of the item that was noted last.
    pub(crate) fn note_text(&mut self, text: &str) {
        if let Some(item) = self.items.last_mut().filter(|_| self.enabled) {
            item.text = Some(text.into());
        }
    }

    /// Records that a text does not fit.
    pub(crate) fn note_cut(&mut self, name: &str, text: &str) {
        if self.enabled {
            self.cut.push(format!("{name} is cut: {text}"));
        }
    }

    /// Lists everything that is cut, leaves its parent, overlaps a sibling or is too small to read.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = self.cut.clone();
        for (at, item) in self.items.iter().enumerate() {
            match self.parent(item) {
                None => problems.push(format!("{} has no parent {}", item.name, item.parent)),
                Some(parent) if !contains(parent, item.rect) => {
                    problems.push(format!("{} {:?} leaves {} {parent:?}", item.name, item.rect, item.parent));
                }
                Some(_) => {}
            }
            if item.text_px.is_some_and(|px| px < TEXT_LEAST_PX) {
                problems.push(format!("{} is text of {:?} px", item.name, item.text_px));
            }
            let siblings = self.items[at + 1..].iter().filter(|other| other.parent == item.parent);
            for other in siblings.filter(|other| item.parent != item.name && other.parent != other.name) {
                if meet(item.rect, other.rect) {
                    problems.push(format!("{} meets {}", item.name, other.name));
                }
            }
        }
        problems
    }

    fn parent(&self, item: &Item) -> Option<Rect> {
        if item.parent.is_empty() {
            return Some(self.window);
        }
        self.items.iter().find(|other| other.name == item.parent).map(|parent| parent.rect)
    }
}

fn contains(outer: Rect, inner: Rect) -> bool {
    inner.x >= outer.x - SLACK
        && inner.y >= outer.y - SLACK
        && inner.right() <= outer.right() + SLACK
        && inner.bottom() <= outer.bottom() + SLACK
}

fn meet(a: Rect, b: Rect) -> bool {
    a.intersect(b).is_some_and(|common| common.w > SLACK && common.h > SLACK)
}

/// Returns the scale of the interface over the arena, relative to 1280 x 720: it grows with the window, the desktop
/// and the player's setting, as long as economy and hero fit side by side.
pub(crate) fn scale(window: Rect) -> f32 {
    const LEAST: f32 = 0.75;
    // A spectator sees two economies.
    let side_by_side = economy_width() + economy_width().max(HERO) + 3.0 * PLATE_GAP;
    (usual_scale(window).max(LEAST) * text_factor()).min((window.w / side_by_side).max(LEAST))
}

/// Whether the training buttons have room for the names of their kinds.
pub(super) fn names_kinds() -> bool {
    kinds() <= 3
}

/// Returns the number of kinds that can be trained.
fn kinds() -> usize {
    rules_in_play().minions.len()
}

/// Returns the width of a training button, in pixels at 1280 x 720.
fn button_width() -> f32 {
    TRAIN_BUTTON[kinds().clamp(2, 4) - 2]
}

/// Returns the width of the plate with the training buttons, in pixels at 1280 x 720.
fn economy_width() -> f32 {
    COUNTERS + kinds() as f32 * (button_width() + TRAIN_GAP)
}

/// Returns the part of the window between the score at the top and the player's state at the bottom, where nothing
/// covers the arena.
pub(crate) fn arena_viewport(window: Rect) -> Rect {
    let (top, bottom) = (top_strip(window), bottom_strip(window));
    Rect::new(window.x, window.y + top, window.w, (window.h - top - bottom).max(1.0))
}

/// Returns the height of the strip with the score.
pub(super) fn top_strip(window: Rect) -> f32 {
    (52.0 * scale(window)).max(42.0).round()
}

/// Returns the height of the strip with the player's state.
fn bottom_strip(window: Rect) -> f32 {
    (58.0 * scale(window)).max(46.0).round()
}

/// Returns the bounds of the plates with the player's state.
pub(super) fn bottom_plates(window: Rect) -> Rect {
    let (height, gap) = (bottom_strip(window), PLATE_GAP * scale(window));
    Rect::new(gap, window.h - height + gap, window.w - 2.0 * gap, height - 2.0 * gap)
}

/// Returns the bounds of the plate with supply, minions and training buttons.
pub(crate) fn economy_plate(window: Rect) -> Rect {
    let (unit, plates) = (scale(window), bottom_plates(window));
    Rect { w: economy_width() * unit, ..plates }
}

/// Returns the bounds of the training button at index `place` of an economy plate.
pub(crate) fn train_button(window: Rect, plate: Rect, place: usize) -> Rect {
    let (unit, width) = (scale(window), button_width());
    let x = plate.x + (COUNTERS + (width + TRAIN_GAP) * place as f32) * unit;
    Rect::new(x, plate.y + PLATE_GAP * unit, width * unit, plate.h - 2.0 * PLATE_GAP * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorder(items: &[(&str, &str, [f32; 4], Option<f32>)]) -> Recorder {
        let mut recorder = Recorder { enabled: true, ..Recorder::default() };
        recorder.begin(Rect::new(0.0, 0.0, 100.0, 100.0));
        for &(name, parent, [x, y, w, h], px) in items {
            recorder.record(name, parent, Rect::new(x, y, w, h), px);
        }
        recorder
    }

    #[test]
    fn a_good_layout_has_no_problems() {
        let good = [
            ("plate", "", [0.0, 0.0, 50.0, 20.0], None),
            ("name", "plate", [2.0, 2.0, 20.0, 14.0], Some(12.0)),
            ("score", "plate", [24.0, 2.0, 20.0, 14.0], Some(28.0)),
        ];
        assert_eq!(recorder(&good).problems(), Vec::<String>::new());
    }

    #[test]
    fn cut_covered_and_small_items_are_reported() {
        for (bad, why) in [
            (("text", "plate", [40.0, 2.0, 20.0, 14.0], Some(14.0)), "leaves plate"),
            (("text", "plate", [2.0, 2.0, 20.0, 14.0], Some(11.0)), "text of"),
            (("text", "nowhere", [2.0, 2.0, 20.0, 14.0], Some(14.0)), "no parent"),
            (("text", "", [40.0, 10.0, 20.0, 14.0], Some(14.0)), "meets"),
        ] {
            let problems = recorder(&[("plate", "", [0.0, 0.0, 50.0, 20.0], None), bad]).problems();
            assert!(problems.iter().any(|problem| problem.contains(why)), "{why}: {problems:?}");
        }
    }
}
