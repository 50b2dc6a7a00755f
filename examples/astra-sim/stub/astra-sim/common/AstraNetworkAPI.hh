// What astra-sim/common/AstraNetworkAPI.hh of ASTRA-sim 518bd51 asks of a network. Written for the tests of this example.

#ifndef SHALLOWS_STUB_ASTRA_NETWORK_API_HH
#define SHALLOWS_STUB_ASTRA_NETWORK_API_HH

#include "astra-sim/system/Common.hh"

namespace AstraSim {

class AstraNetworkAPI {
  public:
    explicit AstraNetworkAPI(int rank) : rank(rank) {}
    virtual ~AstraNetworkAPI() = default;

    virtual int sim_send(void* buffer, uint64_t count, int type, int dst, int tag, sim_request* request,
                         void (*msg_handler)(void*), void* fun_arg) = 0;
    virtual int sim_recv(void* buffer, uint64_t count, int type, int src, int tag, sim_request* request,
                         void (*msg_handler)(void*), void* fun_arg) = 0;
    virtual void sim_schedule(timespec_t delta, void (*fun_ptr)(void*), void* fun_arg) = 0;
    virtual timespec_t sim_get_time() = 0;
    virtual double get_BW_at_dimension(int) {
        return -1;
    }
    virtual void sim_notify_finished() {}

    int rank;
};

}  // namespace AstraSim

#endif
