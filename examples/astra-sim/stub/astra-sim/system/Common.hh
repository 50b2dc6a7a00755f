// What astra-sim/system/Common.hh of ASTRA-sim 518bd51 declares, as far as a network needs it. Written for the tests of this example.

#ifndef SHALLOWS_STUB_COMMON_HH
#define SHALLOWS_STUB_COMMON_HH

#include <cstdint>

namespace AstraSim {

enum time_type_e { SE = 0, MS, US, NS, FS };

struct timespec_t {
    time_type_e time_res;
    long double time_val;
};

struct sim_request;

}  // namespace AstraSim

#endif
