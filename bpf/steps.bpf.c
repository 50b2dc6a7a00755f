/* The steps as programs that user space may call: for the equality test in the kernel itself. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "steps.h"

/* A context can be read and written at fixed places only: it is worked on as a copy. */
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
