//! Alerts for what a player must not miss: raised by events, marked where they happened, and recalled with Backspace.

use game::{EventBacklog, View};
use macroquad::math::{Vec2, vec2};
use sim::{CIRCLES_MAX, ControlBehaviour, Event};

use super::draw::{AlertMark, circle_place, place};

/// Time for which an alert is shown, in seconds.
const SHOWN_S: f64 = 4.0;

/// Time after a hit for which a core counts as under attack, in seconds.
const HIT_FOR_S: f64 = 2.0;
/// Minimum time without a hit on a core before the next hit raises an alert, in seconds.
const CALM_S: f64 = 6.0;

/// Alerts of one player.
#[derive(Default)]
pub(crate) struct Alerts {
    /// Team that holds each circle; `None` until the circle is first taken.
    holders: [Option<u8>; CIRCLES_MAX],
    latest: Option<Alert>,
    /// Time of the last hit on the player's core, in seconds since the window opened.
    core_hit_at: Option<f64>,
}

struct Alert {
    text: &'static str,
    /// Position, in tiles.
    at: Vec2,
    /// Time at which the alert is (or was) first shown, in seconds since the window opened.
    since: f64,
}

impl Alerts {
    /// Records events; must be called with every event of the match, in order.
    pub(crate) fn observe(&mut self, view: &View, events: &EventBacklog, now: f64) {
        let Some(me) = view.me else { return };
        let (state, map) = (&view.current, &view.setup.map);
        let mine = state.team_of(me);
        for happened in events.iter() {
            let (text, at) = match happened.event {
                Event::Capture { circle, player } => {
                    let (circle, team) = (usize::from(circle), state.team_of(player));
                    let Some(holder) = self.holders.get_mut(circle) else { continue };
                    if holder.replace(team) != Some(mine) || team == mine {
                        continue;
                    }
                    ("Circle lost", circle_place(map, circle))
                }
                Event::Shield { core, open: true } if state.team_of(core) == mine => {
                    let text = if core == me { "Your core is open" } else { "Your ally's core is open" };
                    (text, place(map.bases.get(core.index())))
                }
                Event::CoreHit { core, .. } if core == me => {
                    let last = self.core_hit_at.replace(now);
                    if last.is_some_and(|at| now - at < CALM_S) {
                        continue;
                    }
                    ("Your core is being hit", place(map.bases.get(core.index())))
                }
                Event::Death { owner, control: ControlBehaviour::Player, at, .. } if owner == me => {
                    ("Your hero is down", vec2(at.x.to_num(), at.y.to_num()))
                }
                _ => continue,
            };
            self.latest = Some(Alert { text, at, since: now });
        }
    }

    /// Shows the last alert again. Returns its position, in tiles.
    pub(crate) fn recall(&mut self, now: f64) -> Option<Vec2> {
        let alert = self.latest.as_mut()?;
        alert.since = now;
        Some(alert.at)
    }

    /// Whether the player's core is under attack.
    pub(crate) fn is_core_hit(&self, now: f64) -> bool {
        self.core_hit_at.is_some_and(|at| now - at < HIT_FOR_S)
    }

    /// Returns the last alert, regardless of its age.
    pub(crate) fn last(&self) -> Option<&'static str> {
        self.latest.as_ref().map(|alert| alert.text)
    }

    /// Returns the alert to show now.
    pub(crate) fn mark(&self, now: f64) -> Option<AlertMark> {
        let alert = self.latest.as_ref().filter(|alert| now - alert.since < SHOWN_S)?;
        Some(AlertMark { text: alert.text, at: alert.at, age_s: (now - alert.since) as f32 })
    }
}

#[cfg(test)]
mod tests {
    use game::data;
    use sim::math;
    use sim::{KindId, PlayerId, Tick, UnitId};

    use super::*;
    use crate::gui::test_view::test_view;

    fn view() -> View {
        test_view(Some(PlayerId(0)))
    }

    /// Returns the alerts that player 0 gets from these events, in order.
    fn told(events: &[Event]) -> Vec<(&'static str, Vec2)> {
        let (view, mut alerts, mut told) = (view(), Alerts::default(), Vec::new());
        for (at, &event) in events.iter().enumerate() {
            let mut backlog = EventBacklog::default();
            backlog.add(Tick(0), &[event]);
            let now = 10.0 * (at + 1) as f64;
            alerts.observe(&view, &backlog, now);
            told.extend(alerts.mark(now).map(|mark| (mark.text, mark.at)));
            assert!(alerts.mark(now + SHOWN_S).is_none(), "it does not stay");
        }
        told
    }

    #[test]
    fn a_circle_is_lost_only_by_its_holder() {
        let takes = |player| Event::Capture { circle: 1, player: PlayerId(player) };
        assert_eq!(told(&[takes(1), takes(0), takes(0)]), []);
        let (x, y) = data::map("standard").expect("built in").circles[1].at;
        let circle = vec2(x as f32 / 1000.0, y as f32 / 1000.0);
        assert_eq!(told(&[takes(0), takes(1), takes(1)]), [("Circle lost", circle)]);
    }

    #[test]
    fn only_the_players_core_and_hero_raise_alerts() {
        let shield = |player, open| Event::Shield { core: PlayerId(player), open };
        let death = |player, control| Event::Death {
            unit: UnitId { index: 0, generation: 0 },
            owner: PlayerId(player),
            control,
            kind: KindId(0),
            at: math::Vec2 { x: math::Fx::from_num(3), y: math::Fx::from_num(-2) },
        };
        use ControlBehaviour::{Minion, Player};
        assert_eq!(told(&[shield(1, true), shield(0, false), death(1, Player), death(0, Minion)]), []);
        let told = told(&[shield(0, true), death(0, Player)]);
        assert_eq!(told[0].0, "Your core is open");
        assert_eq!(told[1], ("Your hero is down", vec2(3.0, -2.0)));
    }

    #[test]
    fn hits_on_a_core_raise_one_alert_until_they_pause() {
        let hit = |core| Event::CoreHit { core: PlayerId(core), by: PlayerId(1 - core), damage: 20 };
        let (x, y) = data::map("standard").expect("built in").bases[0];
        let base = vec2(x as f32 / 1000.0, y as f32 / 1000.0);
        // The events are ten seconds apart.
        assert_eq!(told(&[hit(0), hit(1), hit(0)]), [("Your core is being hit", base); 2]);
        let (view, mut alerts) = (view(), Alerts::default());
        let mut since = Vec::new();
        for now in [1.0, 2.0, 6.0, 11.0, 17.5] {
            let mut backlog = EventBacklog::default();
            backlog.add(Tick(0), &[hit(0)]);
            alerts.observe(&view, &backlog, now);
            assert!(alerts.is_core_hit(now + 1.0) && !alerts.is_core_hit(now + 2.0));
            since.extend(alerts.latest.as_ref().map(|alert| alert.since));
        }
        assert_eq!(since, [1.0, 1.0, 1.0, 1.0, 17.5], "blows in a row are one alert");
    }

    #[test]
    fn the_last_alert_can_be_recalled() {
        let mut alerts = Alerts::default();
        assert_eq!(alerts.recall(1.0), None);
        alerts.latest = Some(Alert { text: "Circle lost", at: vec2(1.0, 2.0), since: 1.0 });
        assert!(alerts.mark(9.0).is_none());
        assert_eq!(alerts.recall(9.0), Some(vec2(1.0, 2.0)));
        assert_eq!(alerts.mark(9.5).map(|mark| mark.age_s), Some(0.5));
    }
}
