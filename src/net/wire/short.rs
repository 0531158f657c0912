//! The short form of inputs: a command to the same units as the player's previous command does not name them
//! again. Most commands in a battle go to the same units as the one before, and naming those takes most of
//! its bytes.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use sim::{PlayerInput, Selection};

/// Removes the units from commands in `input` that repeat `named`, the units of the player's previous
/// command, and updates `named` to those of the last command. No command may be to no units.
pub(crate) fn shorten(input: &mut PlayerInput, named: &mut Selection) {
    for selection in input.commands.iter_mut().filter_map(|command| command.selection_mut()) {
        assert!(!selection.is_empty(), "a command to no units");
        if selection == named {
            selection.clear();
        } else {
            named.clone_from(selection);
        }
    }
}

/// Restores a short input, given the units `named` by the player's previous command. `None` if it is not the
/// canonical short form, or if it refers to units although none were named.
pub(crate) fn restore(input: &mut PlayerInput, named: &mut Selection) -> Option<()> {
    for selection in input.commands.iter_mut().filter_map(|command| command.selection_mut()) {
        if selection.is_empty() {
            selection.clone_from(named);
        } else if selection == named {
            return None;
        }
        named.clone_from(selection);
        (!named.is_empty()).then_some(())?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::{Command, UnitId, When};

    fn units(indices: &[u16]) -> Selection {
        indices.iter().map(|&index| UnitId { index, generation: 0 }).collect()
    }

    fn holds(selections: &[&[u16]]) -> PlayerInput {
        let hold = |of: &&[u16]| Command::Hold(units(of), When::Now);
        PlayerInput { commands: selections.iter().map(hold).collect(), ..PlayerInput::default() }
    }

    #[test]
    fn only_the_units_of_the_previous_command_are_omitted() {
        let whole = [holds(&[&[1, 2], &[1, 2], &[2, 1]]), PlayerInput::default(), holds(&[&[2, 1], &[1, 2]])];
        let short = [holds(&[&[1, 2], &[], &[2, 1]]), PlayerInput::default(), holds(&[&[], &[1, 2]])];
        let (mut said, mut heard) = (Selection::default(), Selection::default());
        for (whole, short) in whole.into_iter().zip(short) {
            let mut input = whole.clone();
            shorten(&mut input, &mut said);
            assert_eq!(input, short);
            assert_eq!(restore(&mut input, &mut heard), Some(()));
            assert_eq!((input, &heard), (whole, &said));
        }
        assert_eq!(said, units(&[1, 2]));
    }

    #[test]
    fn there_is_one_form() {
        assert_eq!(restore(&mut holds(&[&[1]]), &mut units(&[1])), None, "named again");
        assert_eq!(restore(&mut holds(&[&[1], &[1]]), &mut units(&[2])), None, "named again");
        assert_eq!(restore(&mut holds(&[&[]]), &mut Selection::default()), None, "no units were named");
    }
}
