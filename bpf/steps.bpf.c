/* The steps as programs that user space can call, for the test that compares them in the kernel. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "steps.h"

/* A context can be read and written at fixed offsets only, so the step works on a copy. */
#define PROGRAM(name)                                                                                             \
	SEC("syscall")                                                                                            \
	int name##_step(struct name##_step *context)                                                              \
	{                                                                                                         \
		struct name##_step step = *context;                                                               \
		u32 told = name##_step_once(&step);                                                             \
                                                                                                                  \
		context->state = step.state;                                                                      \
		return told;                                                                                    \
	}

EACH_STEP(PROGRAM)

char LICENSE[] SEC("license") = "Dual MIT/GPL";
