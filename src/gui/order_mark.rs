//! The marker of an order where the player clicked: hollow until the order has run, then solid, then gone.

use macroquad::math::Vec2;

use super::draw::PointerOrder;

/// Lifetime of the marker once the order has run, in seconds.
const SHOWN_S: f64 = 0.7;
/// Maximum time that the marker waits for its order to run, in seconds.
const WAITS_S: f64 = 3.0;

/// Marker of the last order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderMark {
    /// Position, in tiles.
    at: Vec2,
    is_attack: bool,
    /// Time of the order, in seconds since the window opened.
    given_at: f64,
    /// Number of the player's commands that have run once this one has.
    number: Option<u32>,
    /// Time at which it was seen to have run, in seconds since the window opened.
    ran_at: Option<f64>,
}

impl OrderMark {
    pub(crate) const fn new(at: Vec2, is_attack: bool, now: f64) -> Self {
        Self { at, is_attack, given_at: now, number: None, ran_at: None }
    }

    /// Sets the number of its command, unless it has one.
    pub(crate) fn number(&mut self, number: u32) {
        self.number.get_or_insert(number);
    }

    /// Updates the marker by the number of commands that have run in the confirmed world; `None` once it is gone.
    pub(crate) fn after(mut self, commands_run: u32, now: f64) -> Option<Self> {
        if self.ran_at.is_none() && self.number.is_some_and(|number| number <= commands_run) {
            self.ran_at = Some(now);
        }
        let is_shown = match self.ran_at {
            Some(ran_at) => now - ran_at < SHOWN_S,
            None => now - self.given_at < WAITS_S,
        };
        is_shown.then_some(self)
    }

    /// Returns the marker for drawing.
    pub(crate) fn drawn(&self, now: f64) -> PointerOrder {
        let left = self.ran_at.map(|ran_at| 1.0 - ((now - ran_at) / SHOWN_S) as f32);
        PointerOrder { at: self.at, is_attack: self.is_attack, age_s: (now - self.given_at) as f32, left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_hollow_until_its_command_has_run() {
        let mut mark = OrderMark::new(Vec2::ZERO, false, 1.0);
        mark.number(3);
        mark.number(4);
        let waiting = mark.after(2, 1.5).expect("it waits");
        assert_eq!(waiting.drawn(1.5).left, None);
        let ran = waiting.after(3, 2.0).expect("it has run");
        assert_eq!(ran.drawn(2.0).left, Some(1.0));
        assert_eq!(ran.drawn(2.0).age_s, 1.0);
        assert!(ran.after(3, 2.6).is_some() && ran.after(3, 2.8).is_none());
    }

    #[test]
    fn a_mark_expires_without_its_command() {
        let mark = OrderMark::new(Vec2::ZERO, true, 1.0);
        assert!(mark.after(90, 3.9).is_some_and(|mark| mark.drawn(3.9).left.is_none()));
        assert!(mark.after(90, 4.1).is_none());
    }
}
