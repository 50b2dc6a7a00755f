//! Where a step of a C core runs besides natively: its bytecode in a virtual machine, and in the kernel.

#[cfg(bytecode)]
pub use bytecode::virtual_machine;
#[cfg(feature = "bpf")]
pub use kernel::kernel;

#[cfg(bytecode)]
mod bytecode {
    use object::{Object, ObjectSection};
    use shallows_live::cores::Step;

    /// The core of this step, on a machine that needs no kernel.
    pub fn virtual_machine<S: Step>() -> impl FnMut(&mut S) -> u64 {
        let program = function(S::NAME);
        move |step| {
            let machine = rbpf::EbpfVmRaw::new(Some(&program)).unwrap();
            machine.execute_program(step.as_mut_bytes()).unwrap()
        }
    }

    /// The instructions of one function.
    fn function(name: &str) -> Vec<u8> {
        let file = object::File::parse(&include_bytes!(concat!(env!("OUT_DIR"), "/steps.o"))[..]).unwrap();
        let section = file.section_by_name(&format!(".text.{name}")).unwrap();
        assert_eq!(section.relocations().count(), 0, "{name} must stand alone");
        section.data().unwrap().to_vec()
    }
}

#[cfg(feature = "bpf")]
mod kernel {
    use libbpf_rs::{ObjectBuilder, ProgramInput};
    use shallows_live::cores::Step;

    /// The core of this step, in the running kernel.
    pub fn kernel<S: Step>() -> impl FnMut(&mut S) -> u64 {
        let object = include_bytes!(concat!(env!("OUT_DIR"), "/steps.bpf.o"));
        let object = ObjectBuilder::default().open_memory(object).unwrap().load().unwrap();
        move |step| {
            let program = object.progs_mut().find(|program| program.name() == S::NAME).unwrap();
            let input = ProgramInput { context_in: Some(step.as_mut_bytes()), ..ProgramInput::default() };
            program.test_run(input).unwrap().return_value.into()
        }
    }
}
