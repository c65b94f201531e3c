// PPO's clip replaced by a smooth weight, over plain arrays: the loss of ../soft_clip in Rust.
mod drift;

use std::mem::size_of;
use std::os::raw::c_void;
use std::ptr::null;
use std::slice::from_raw_parts;

struct SoftClip {
    width: f64,
}

unsafe extern "C" fn create(
    _host: *const drift::Host,
    _data: *mut c_void,
    values: *const drift::Value,
    object: *mut *mut c_void,
) -> drift::Status {
    *object = Box::into_raw(Box::new(SoftClip { width: (*values).number })) as *mut c_void;
    drift::OK
}

unsafe extern "C" fn destroy(object: *mut c_void) {
    drop(Box::from_raw(object as *mut SoftClip));
}

// The ratio is taken token by token, so any split of the views into micro-batches gives the same gradient.
unsafe extern "C" fn coupling(_object: *const c_void) -> u32 {
    drift::COUPLING_VIEW
}

// A panic may not leave a function that C calls: with `-C panic=abort` it ends the program and names its line.
unsafe extern "C" fn evaluate(
    _host: *const drift::Host,
    object: *const c_void,
    input: *const drift::LossInput,
    result: *mut drift::LossResult,
) -> drift::Status {
    const BOUND: f64 = 20.0;
    let width = (*(object as *const SoftClip)).width;
    let (input, result) = (&*input, &mut *result);
    let (views, length, responses) = (input.views as usize, input.length as usize, input.responses as usize);
    let current = from_raw_parts(input.current, views * length);
    let old = from_raw_parts(input.old, views * length);
    let target = from_raw_parts(input.target, views * length);
    let response = from_raw_parts(input.response, views);
    let advantages = from_raw_parts(input.advantage, responses * length);
    let gradient = std::slice::from_raw_parts_mut(result.current_gradient, views * length);
    let targets = input.total_targets as f64;
    for at in 0..views * length {
        if target[at] == 0 {
            continue;
        }
        // Bounded, or exp() would be infinite for a token that the old policy all but excluded.
        let difference = current[at] - old[at];
        let log_ratio = difference.clamp(-BOUND, BOUND);
        let advantage = advantages[response[at / length] as usize * length + at % length];
        let divisor = 1.0 + width * log_ratio * log_ratio;
        let gain = advantage * log_ratio.exp() / divisor;
        result.value -= gain / targets;
        let slope = gain * (1.0 - 2.0 * width * log_ratio / divisor);
        gradient[at] = if difference.abs() > BOUND { 0.0 } else { -slope / targets };
    }
    drift::OK
}

unsafe extern "C" fn register(registry: *const drift::Registry) {
    let width = drift::Param {
        size: size_of::<drift::Param>(),
        name: drift::Text::of("width"),
        doc: drift::Text::of("curvature of the weight"),
        default_value: drift::Value {
            kind: drift::NUMBER,
            truth: 0,
            integer: 0,
            number: 4.0,
            string: drift::Text::of(""),
            strings: null(),
            integers: null(),
            numbers: null(),
            count: 0,
        },
        flags: drift::HAS_MINIMUM,
        reserved: 0,
        minimum: 0.0,
        maximum: 0.0,
        choices: null(),
        choice_count: 0,
    };
    let loss = drift::Loss {
        size: size_of::<drift::Loss>(),
        coupling: Some(coupling),
        needs: None,
        evaluate: Some(evaluate),
    };
    let component = drift::Component {
        size: size_of::<drift::Component>(),
        name: drift::Text::of("soft_clip_rust"),
        doc: drift::Text::of("PPO with a smooth clip, in Rust."),
        params: &width,
        param_count: 1,
        data: std::ptr::null_mut(),
        create: Some(create),
        destroy: Some(destroy),
        loss: &loss,
        masking_strategy: null(),
        reward: null(),
        task: null(),
    };
    ((*registry).add)(registry, &component);
}

#[used]
#[link_section = ".drift_plugin"]
static DESCRIPTOR: drift::Descriptor = drift::Descriptor::new("soft_clip_rust", "1.0.0", "Apache-2.0");

#[no_mangle]
pub extern "C" fn drift_plugin_entry() -> *const drift::Entry {
    static ENTRY: drift::Entry = drift::Entry {
        struct_size: 24,
        reserved: 0,
        descriptor: &DESCRIPTOR,
        register_components: register,
    };
    &ENTRY
}
