// drift/pure.h in Rust: what a loss needs of it. The header says what each structure holds.
#![allow(dead_code)]

use std::os::raw::{c_char, c_void};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    pub data: *const c_char,
    pub size: usize,
}

impl Text {
    pub const fn of(text: &'static str) -> Text {
        Text { data: text.as_ptr() as *const c_char, size: text.len() }
    }
}

pub type Status = u32;
pub const OK: Status = 0;
pub const FAILED: Status = 1;

/// The first of its functions: the others lie behind it, where `size` says how far it goes.
#[repr(C)]
pub struct Host {
    pub size: usize,
    pub error: unsafe extern "C" fn(*const Host, Text, Text),
    pub log: unsafe extern "C" fn(*const Host, u32, Text),
    pub warn_once: unsafe extern "C" fn(*const Host, Text),
    pub metric: unsafe extern "C" fn(*const Host, Text, f64, f64),
}

pub const NUMBER: u32 = 3;
pub const HAS_MINIMUM: u32 = 1;

#[repr(C)]
pub struct Value {
    pub kind: u32,
    pub truth: u32,
    pub integer: i64,
    pub number: f64,
    pub string: Text,
    pub strings: *const Text,
    pub integers: *const i64,
    pub numbers: *const f64,
    pub count: usize,
}

#[repr(C)]
pub struct Param {
    pub size: usize,
    pub name: Text,
    pub doc: Text,
    pub default_value: Value,
    pub flags: u32,
    pub reserved: u32,
    pub minimum: f64,
    pub maximum: f64,
    pub choices: *const Text,
    pub choice_count: usize,
}

pub const COUPLING_VIEW: u32 = 0;

#[repr(C)]
pub struct LossInput {
    pub size: usize,
    pub views: i64,
    pub length: i64,
    pub responses: i64,
    pub current: *const f64,
    pub old: *const f64,
    pub reference: *const f64,
    pub entropy: *const f64,
    pub reference_entropy: *const f64,
    pub response: *const i64,
    pub forward: *const i64,
    pub masked: *const u8,
    pub target: *const u8,
    pub committed: *const u8,
    pub attended: *const u8,
    pub weight: *const f64,
    pub prompt_masked: *const u8,
    pub prompt_length: i64,
    pub advantage_of_response: *const f64,
    pub advantage: *const f64,
    pub valid: *const u8,
    pub scored: *const i64,
    pub value: *const f64,
    pub value_target: *const f64,
    pub total_responses: i64,
    pub group_size: i64,
    pub forwards: i64,
    pub total_targets: i64,
    pub optimizer_steps: i64,
    pub total_views: i64,
}

#[repr(C)]
pub struct LossResult {
    pub size: usize,
    pub value: f64,
    pub current_gradient: *mut f64,
    pub entropy_gradient: *mut f64,
}

#[repr(C)]
pub struct Loss {
    pub size: usize,
    pub coupling: Option<unsafe extern "C" fn(*const c_void) -> u32>,
    pub needs: Option<unsafe extern "C" fn(*const c_void) -> u32>,
    pub evaluate: Option<unsafe extern "C" fn(*const Host, *const c_void, *const LossInput, *mut LossResult) -> Status>,
}

#[repr(C)]
pub struct Component {
    pub size: usize,
    pub name: Text,
    pub doc: Text,
    pub params: *const Param,
    pub param_count: usize,
    pub data: *mut c_void,
    pub create: Option<unsafe extern "C" fn(*const Host, *mut c_void, *const Value, *mut *mut c_void) -> Status>,
    pub destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    pub loss: *const Loss,
    pub masking_strategy: *const c_void,
    pub reward: *const c_void,
    pub task: *const c_void,
}

#[repr(C)]
pub struct Registry {
    pub size: usize,
    pub error: unsafe extern "C" fn(*const Registry, Text, Text),
    pub add: unsafe extern "C" fn(*const Registry, *const Component),
}

#[repr(C)]
pub struct Descriptor {
    magic: [u8; 16],
    struct_size: u32,
    abi_major: u32,
    abi_minor: u32,
    tier: u32,
    name: [u8; 64],
    version: [u8; 32],
    licence: [u8; 64],
    compiler: [u8; 32],
}

impl Descriptor {
    pub const fn new(name: &str, version: &str, licence: &str) -> Descriptor {
        Descriptor {
            magic: padded("DRIFT PLUGIN"),
            struct_size: 224,
            abi_major: 1,
            abi_minor: 0,
            tier: 2,
            name: padded(name),
            version: padded(version),
            licence: padded(licence),
            compiler: padded("rustc"),
        }
    }
}

const fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let mut i = 0;
    while i < text.len() {
        bytes[i] = text.as_bytes()[i];
        i += 1;
    }
    bytes
}

#[repr(C)]
pub struct Entry {
    pub struct_size: u32,
    pub reserved: u32,
    pub descriptor: *const Descriptor,
    pub register_components: unsafe extern "C" fn(*const Registry),
}

unsafe impl Sync for Entry {}

// What drift/pure.h says of its sizes.
const _: () = {
    use std::mem::size_of;
    assert!(size_of::<Value>() == 72 && size_of::<Param>() == 152 && size_of::<LossInput>() == 240);
    assert!(size_of::<LossResult>() == 32 && size_of::<Loss>() == 32 && size_of::<Component>() == 112);
    assert!(size_of::<Descriptor>() == 224 && size_of::<Entry>() == 24);
};
