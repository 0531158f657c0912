//! Where the interface lies: the share of the window that is the arena, and a record of every text and
//! control of a frame, by which a test can tell whether anything is cut, covered or too small.

use macroquad::math::Rect;

use crate::gui::window::{text_factor, usual_scale};

/// The least size of any text, pixels.
pub(crate) const TEXT_LEAST_PX: f32 = 12.0;
/// Width of the counters of supply and minions, at 1280 x 720.
const COUNTERS: f32 = 92.0;
/// Width of a button that trains, at 1280 x 720.
const TRAIN_BUTTON: f32 = 156.0;
/// How far rectangles may overlap by rounding, pixels.
const SLACK: f32 = 1.0;

/// A text or a control.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// What it is, different from its siblings.
    pub(crate) name: String,
    /// The name of the item it must stay in; empty for the window, its own for what floats over all others.
    pub(crate) parent: String,
    /// Where it is, pixels.
    pub(crate) rect: Rect,
    /// Size of the type, if it is text.
    pub(crate) text_px: Option<f32>,
    /// The text itself; not of a field.
    pub(crate) text: Option<String>,
}

/// What was laid out in the last frame. It records only while `enabled`.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) enabled: bool,
    pub(crate) items: Vec<Item>,
    /// The control that the keyboard would press; empty for none.
    pub(crate) focused: String,
    /// Whether a button takes no press yet.
    pub(crate) is_inert: bool,
    /// Texts that did not fit.
    cut: Vec<String>,
    window: Rect,
}

impl Recorder {
    /// Forgets the last frame.
    pub(crate) fn begin(&mut self, window: Rect) {
        self.items.clear();
        self.focused.clear();
        self.is_inert = false;
        self.cut.clear();
        self.window = window;
    }

    /// Notes an item.
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

    /// Notes that a text does not fit.
    pub(crate) fn note_cut(&mut self, name: &str, text: &str) {
        if self.enabled {
            self.cut.push(format!("{name} is cut: {text}"));
        }
    }

    /// Everything that is cut, leaves its parent, meets a sibling or is too small to read.
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

/// Pixels of the interface over the arena per pixel at 1280 x 720: with the window, the desktop and the player's
/// setting, as far as economy and hero have room side by side.
pub(crate) fn scale(window: Rect) -> f32 {
    const LEAST: f32 = 0.75;
    const SIDE_BY_SIDE: f32 = 840.0;
    (usual_scale(window).max(LEAST) * text_factor()).min((window.w / SIDE_BY_SIDE).max(LEAST))
}

/// The part of the window between the score at the top and the own state at the bottom, where nothing
/// covers the arena.
pub(crate) fn arena_viewport(window: Rect) -> Rect {
    let (top, bottom) = (top_strip(window), bottom_strip(window));
    Rect::new(window.x, window.y + top, window.w, (window.h - top - bottom).max(1.0))
}

/// Height of the strip with the score.
pub(super) fn top_strip(window: Rect) -> f32 {
    (52.0 * scale(window)).max(42.0).round()
}

/// Height of the strip with the own state.
fn bottom_strip(window: Rect) -> f32 {
    (58.0 * scale(window)).max(46.0).round()
}

/// Where the plates of the own state lie.
pub(super) fn bottom_plates(window: Rect) -> Rect {
    let (height, gap) = (bottom_strip(window), 4.0 * scale(window));
    Rect::new(gap, window.h - height + gap, window.w - 2.0 * gap, height - 2.0 * gap)
}

/// The plate with supply, minions and the buttons that train them.
pub(crate) fn economy_plate(window: Rect) -> Rect {
    let (unit, plates) = (scale(window), bottom_plates(window));
    let w = (COUNTERS + 2.0 * (TRAIN_BUTTON + 4.0)) * unit;
    Rect { w, ..plates }
}

/// The button that trains the kind at `place`, in an economy plate.
pub(crate) fn train_button(window: Rect, plate: Rect, place: usize) -> Rect {
    let unit = scale(window);
    let x = plate.x + (COUNTERS + (TRAIN_BUTTON + 4.0) * place as f32) * unit;
    Rect::new(x, plate.y + 4.0 * unit, TRAIN_BUTTON * unit, plate.h - 8.0 * unit)
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
    fn what_is_cut_covered_or_small_is_named() {
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
