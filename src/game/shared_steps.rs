//! Simulation steps that several peers of one match share, if all run in one process.

use std::sync::{Arc, Mutex, PoisonError};

use sim::{StateHash, TickInputs, World};

/// Number of ticks kept: a peer that lags farther behind runs the tick itself.
const KEPT: usize = 32;

/// Cache of the last ticks that any peer of a match has run. A peer that is about to run a tick from an equal state
/// with equal inputs takes the cached result, since a step is a function of the two; from any other state it runs the
/// tick itself. So diverged peers stay diverged, unless only the step itself made them differ.
#[derive(Clone, Debug, Default)]
pub struct SharedSteps(Arc<Mutex<Vec<Option<Step>>>>);

#[derive(Debug)]
struct Step {
    before: StateHash,
    inputs: TickInputs,
    after: World,
    hash: StateHash,
}

impl SharedSteps {
    /// Runs one tick of a world whose state has the hash `before`. Returns the hash after it.
    pub(super) fn run(&self, world: &mut World, before: &StateHash, inputs: &TickInputs) -> StateHash {
        // A panicking peer leaves no inconsistent entry.
        let mut steps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        steps.resize_with(KEPT, || None);
        let place = &mut steps[inputs.tick.0 as usize % KEPT];
        if let Some(step) = place.as_ref().filter(|step| step.before == *before && step.inputs == *inputs) {
            world.follow(&step.after);
            return step.hash;
        }
        world.step(inputs);
        let hash = world.hash();
        match place {
            Some(step) => {
                (step.before, step.hash) = (*before, hash);
                step.inputs.clone_from(inputs);
                step.after.follow(world);
            }
            None => {
                let (inputs, after) = (inputs.clone(), world.clone());
                *place = Some(Step { before: *before, inputs, after, hash });
            }
        }
        hash
    }
}
