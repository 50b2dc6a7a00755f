// The interface through which ASTRA-sim reaches a network, for one rank.

#ifndef SHALLOWS_ASTRA_API_HH
#define SHALLOWS_ASTRA_API_HH

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "astra-sim/common/AstraNetworkAPI.hh"
#include "network.hh"

namespace shallows_astra {

class Api : public AstraSim::AstraNetworkAPI {
  public:
    // `bandwidth` in bytes per ns is what algorithms that weigh dimensions are told.
    Api(int rank, Network& network, int& finished, double bandwidth)
        : AstraNetworkAPI(rank), network(network), finished(finished), bandwidth(bandwidth) {}

    int sim_send(void*, uint64_t count, int, int dst, int tag, AstraSim::sim_request*, void (*handler)(void*),
                 void* argument) override {
        network.send({tag, rank, dst}, count, {handler, argument});
        return 0;
    }

    int sim_recv(void*, uint64_t count, int, int src, int tag, AstraSim::sim_request*, void (*handler)(void*),
                 void* argument) override {
        network.receive({tag, src, rank}, count, {handler, argument});
        return 0;
    }

    void sim_schedule(AstraSim::timespec_t delay, void (*handler)(void*), void* argument) override {
        if (delay.time_res != AstraSim::NS || delay.time_val < 0) {
            std::fprintf(stderr, "shallows: sim_schedule: expected a delay in ns\n");
            std::exit(1);
        }
        network.schedule(static_cast<uint64_t>(delay.time_val), {handler, argument});
    }

    AstraSim::timespec_t sim_get_time() override {
        return {AstraSim::NS, static_cast<long double>(network.now_ns())};
    }

    double get_BW_at_dimension(int) override {
        return bandwidth;
    }

    void sim_notify_finished() override {
        finished++;
    }

  private:
    Network& network;
    int& finished;
    double bandwidth;
};

// Runs until every rank has finished; packets may be under way then. Returns the status of the program.
inline int run_to_end(Network& network, const int& finished, int ranks) {
    while (finished < ranks) {
        if (!network.step()) {
            std::fprintf(stderr, "shallows: nothing is left to happen at %llu ns, and %d of %d ranks have finished\n",
                         static_cast<unsigned long long>(network.now_ns()), finished, ranks);
            return 1;
        }
    }
    return 0;
}

}  // namespace shallows_astra

#endif
