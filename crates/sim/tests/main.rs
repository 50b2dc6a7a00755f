//! Tests of whole networks, in one program: linked once.

mod application;
mod classes;
mod counts;
mod credit;
mod delivery;
mod dependencies;
mod driven;
mod dumbbell;
mod fabrics;
mod faults;
mod go_back_n;
mod lossless;
mod measurement;
mod multiport;
mod networks;
mod pacer;
mod pulls;
mod queueing;
mod real_time;
mod recovery;
mod seams;
mod settings;
mod soak;
mod stall_detector;
