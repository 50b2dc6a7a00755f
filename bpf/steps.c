/* The steps as functions, compiled natively and to bytecode that needs no kernel. */
#include "steps.h"

/* Without padding on either side, equal sizes are equal layouts. */
#define FUNCTION(name)                                                                                            \
	const u64 name##_step_size = sizeof(struct name##_step);                                                  \
                                                                                                                  \
	u64 name##_step(struct name##_step *step)                                                                 \
	{                                                                                                         \
		return name##_step_once(step);                                                                    \
	}

EACH_STEP(FUNCTION)
