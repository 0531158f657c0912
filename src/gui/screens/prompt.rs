//! Questions that a running match asks by itself. Such a card opens while keys and the pointer are meant for the
//! match below, so no likely input of play may answer it: a new card accepts no answer, its buttons cannot be
//! focused, and its keys must be held and are not used in play.

use egui_macroquad::egui::{Align2, Rect, pos2, vec2};
use macroquad::miniquad::KeyCode;

use crate::gui::bindings::{key_label, unbound_keys};
use crate::gui::input::Input;
use crate::gui::page::{Page, Weight};
use crate::gui::theme;

/// Time for which a card that opened by itself accepts no answer, in seconds: longer than a player needs to notice
/// it.
const NEW_FOR_S: f64 = 0.8;
/// Time for which a key must be held to answer, in seconds.
const HOLD_S: f64 = 1.0;
/// Height of an answer, in points.
const ROW: f32 = 44.0;
const GAP: f32 = 12.0;
const WIDTH: f32 = 440.0;
const MARGIN: f32 = 22.0;

/// Whether something that opened by itself at `since` is so new that a press may still be meant for something else.
pub(super) fn is_new(since: f64, now: f64) -> bool {
    now - since < NEW_FOR_S
}

/// Answer to a question. The first answer of a card changes nothing, and Esc also gives it.
pub(super) struct Answer<'a, T> {
    pub(super) name: &'static str,
    pub(super) text: &'a str,
    pub(super) meaning: T,
    /// Reason why it cannot be given.
    pub(super) bar: Option<&'static str>,
}

impl<'a, T> Answer<'a, T> {
    /// Builds an answer that can be given.
    pub(super) const fn new(name: &'static str, text: &'a str, meaning: T) -> Self {
        Self { name, text, meaning, bar: None }
    }
}

/// Card with a question, and the time at which it opened.
#[derive(Default)]
pub(super) struct Prompt {
    since: f64,
    /// Held key, and the time at which it was pressed.
    held: Option<(KeyCode, f64)>,
}

impl Prompt {
    /// Opens a card now.
    pub(super) const fn new(now: f64) -> Self {
        Self { since: now, held: None }
    }

    /// Whether it accepts no answer yet.
    pub(super) fn is_new(&self, now: f64) -> bool {
        is_new(self.since, now)
    }

    /// Handles an input while the card is shown.
    pub(super) fn take(&mut self, input: Input, now: f64) {
        match input {
            Input::Down(key, _) if !self.is_new(now) => self.held = Some((key, now)),
            Input::Up(key) if self.held.is_some_and(|(held, _)| held == key) => self.held = None,
            Input::FocusLost => self.held = None,
            _ => {}
        }
    }

    /// Returns the share of the required time for which an answer's key has been held.
    fn held_share(&self, key: Option<KeyCode>, now: f64) -> f32 {
        let held = self.held.filter(|&(held, _)| Some(held) == key);
        held.map_or(0.0, |(_, since)| ((now - since) / HOLD_S).min(1.0) as f32)
    }

    /// Draws the card. Returns the answer, if one was given.
    pub(super) fn page<T: Copy>(
        &self,
        page: &mut Page<'_>,
        now: f64,
        (title, text): (&str, &str),
        answers: &[Answer<'_, T>],
    ) -> Option<T> {
        let inner = WIDTH - 2.0 * MARGIN;
        let style = (theme::SMALL, theme::QUIET);
        let below_title = 42.0;
        let rows = below_title + page.paragraph_height(style.0, text, inner) + 18.0;
        let height = rows + answers.len() as f32 * (ROW + GAP) - GAP + 2.0 * MARGIN;
        let plate = page.centred(WIDTH, height);
        page.plate("prompt", plate);
        page.within("prompt", |page| {
            (page.is_inert, page.is_focusable) = (self.is_new(now), false);
            let inside = plate.shrink(MARGIN);
            let (at, width) = (inside.left_top(), inside.width());
            page.text("prompt title", at, Align2::LEFT_TOP, (theme::LARGE, theme::TEXT), title, width);
            page.paragraph("prompt text", at + vec2(0.0, below_title), style, text, width);
            let mut chosen = None;
            let mut keys = unbound_keys();
            for (place, answer) in answers.iter().enumerate() {
                let top = inside.top() + rows + place as f32 * (ROW + GAP);
                let rect = Rect::from_min_size(pos2(inside.left(), top), vec2(width, ROW));
                if let Some(why) = answer.bar {
                    page.barred(answer.name, rect, answer.text, why);
                } else if place == 0 {
                    let text = format!("{} (Esc)", answer.text);
                    let is_pressed = page.button(answer.name, rect, &text, Weight::Primary);
                    if is_pressed || (page.escapes() && !self.is_new(now)) {
                        chosen = Some(answer.meaning);
                    }
                } else if self.held_answer(page, now, (rect, answer), keys.next()) {
                    chosen = Some(answer.meaning);
                }
            }
            (page.is_inert, page.is_focusable) = (false, true);
            chosen
        })
    }

    /// Draws a button that is also pressed by holding its key.
    fn held_answer<T>(
        &self,
        page: &mut Page<'_>,
        now: f64,
        (rect, answer): (Rect, &Answer<'_, T>),
        key: Option<KeyCode>,
    ) -> bool {
        let text = match key.map(key_label) {
            Some(label) => format!("{} (hold {label})", answer.text),
            None => answer.text.to_owned(),
        };
        let is_pressed = page.button(answer.name, rect, &text, Weight::Normal);
        let share = self.held_share(key, now);
        let done =
            Rect::from_min_size(pos2(rect.left(), rect.bottom() - 5.0), vec2(rect.width() * share, 5.0));
        page.ui.painter().rect_filled(done, 2.0, theme::GOLD);
        is_pressed || share >= 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gui::bindings::{Action, KeyChoices, Preset, action_of, put_in_force};
    use crate::gui::key_event::Held;
    use crate::gui::test_page::{PageTest, click, press};
    use egui_macroquad::egui::Key;

    const NOW: f64 = 64.0;
    /// Time shortly after the card opened, when it takes no answers yet.
    const EARLY: f64 = NOW + 0.5;
    /// Time at which the card accepts answers.
    const LATER: f64 = NOW + 1.0;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Meaning {
        Wait,
        Claim,
        Leave,
    }

    fn lay_out(prompt: &Prompt, page: &mut Page<'_>, now: f64) -> Option<Meaning> {
        let answers = [
            Answer::new("wait", "Wait", Meaning::Wait),
            Answer::new("claim", "Claim the win", Meaning::Claim),
            Answer::new("leave", "Leave the match", Meaning::Leave),
        ];
        prompt.page(page, now, ("Ben is lost", "Silent for 3 s."), &answers)
    }

    /// Returns the answer by a key that is pressed at `from` and held until `to`.
    fn answer_to(key: KeyCode, from: f64, to: f64) -> Option<Meaning> {
        let (mut prompt, mut test) = (Prompt::new(NOW), PageTest::new([1280.0, 720.0]));
        prompt.take(Input::Down(key, Held::default()), from);
        test.frame(vec![], |page| lay_out(&prompt, page, to))
    }

    #[test]
    fn no_key_of_play_answers_a_card_that_opens_by_itself() {
        for preset in [Preset::Standard, Preset::Moba] {
            let mut choices = KeyChoices::default();
            choices.reset(preset);
            choices.bind(Action::Hold, KeyCode::F6);
            put_in_force(&choices);
            for (key, _) in choices.keys() {
                assert_eq!(answer_to(key, LATER, LATER + 60.0), None, "{key:?} of {preset:?}");
            }
            assert_eq!(action_of(KeyCode::F6), Some(Action::Hold));
            assert_eq!(answer_to(KeyCode::F5, LATER, LATER + HOLD_S), Some(Meaning::Claim));
            assert_eq!(answer_to(KeyCode::F7, LATER, LATER + HOLD_S), Some(Meaning::Leave));
        }
    }

    #[test]
    fn an_answer_needs_a_held_key_pressed_once_the_card_accepts_answers() {
        assert_eq!(answer_to(KeyCode::F5, LATER, LATER + HOLD_S - 0.25), None, "not held for long enough");
        assert_eq!(answer_to(KeyCode::F5, EARLY, LATER + 60.0), None, "it went down on a new card");
        let mut test = PageTest::new([1280.0, 720.0]);
        let mut prompt = Prompt::new(NOW);
        for (input, at) in [
            (Input::Down(KeyCode::F5, Held::default()), LATER),
            (Input::Up(KeyCode::F5), LATER + 0.5),
            (Input::Down(KeyCode::F5, Held::default()), LATER + 0.6),
        ] {
            prompt.take(input, at);
        }
        assert_eq!(
            test.frame(vec![], |page| lay_out(&prompt, page, LATER + HOLD_S)),
            None,
            "let go meanwhile"
        );
        prompt.take(Input::FocusLost, LATER + 1.1);
        assert_eq!(
            test.frame(vec![], |page| lay_out(&prompt, page, LATER + 9.0)),
            None,
            "the window lost it"
        );
    }

    #[test]
    fn clicks_escape_and_the_keys_of_buttons_do_nothing_on_a_new_card() {
        let prompt = Prompt::new(NOW);
        for (now, clicked, escaped) in
            [(EARLY, None, None), (LATER, Some(Meaning::Claim), Some(Meaning::Wait))]
        {
            let mut test = PageTest::new([1280.0, 720.0]);
            test.frame(vec![], |page| lay_out(&prompt, page, now));
            let steps = click(test.middle("claim"));
            let answers = steps.map(|events| test.frame(events, |page| lay_out(&prompt, page, now)));
            assert_eq!(answers[2], clicked, "{now}");
            assert_eq!(test.frame(vec![press(Key::Escape)], |page| lay_out(&prompt, page, now)), escaped);
            assert_eq!(test.recorder.problems(), Vec::<String>::new());
            // Neither arrows nor Tab focus a button that Enter or Space would press.
            for key in [Key::ArrowDown, Key::ArrowDown, Key::Tab, Key::Enter, Key::Space] {
                for events in [vec![press(key)], vec![]] {
                    assert_eq!(test.frame(events, |page| lay_out(&prompt, page, now)), None, "{key:?} {now}");
                }
            }
        }
    }
}
