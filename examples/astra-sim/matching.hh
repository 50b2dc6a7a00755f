// Which receive a message ends: receives of one (tag, source, destination) take the bytes of its messages in their order.

#ifndef SHALLOWS_ASTRA_MATCHING_HH
#define SHALLOWS_ASTRA_MATCHING_HH

#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

namespace shallows_astra {

// A function of ASTRA-sim and its argument, which may be null.
struct Handler {
    void (*call)(void*);
    void* argument;
};

// (tag, source, destination).
using Key = std::tuple<int, int, int>;

class Matching {
  public:
    // Bytes of a message have arrived. Returns the handlers of the receives that have all their bytes now.
    std::vector<Handler> arrive(const Key& key, uint64_t bytes) {
        states[key].arrived += bytes;
        return ready(key);
    }

    // A receive asks for bytes. Returns its handler if they, and those of all receives before it, are there.
    std::vector<Handler> expect(const Key& key, uint64_t bytes, Handler handler) {
        states[key].receives.push_back({bytes, handler});
        return ready(key);
    }

    // The number of (tag, source, destination) with bytes or receives that are left.
    size_t left() const {
        return states.size();
    }

  private:
    struct Receive {
        uint64_t bytes;
        Handler handler;
    };

    struct State {
        uint64_t arrived = 0;
        std::deque<Receive> receives;
    };

    std::vector<Handler> ready(const Key& key) {
        State& state = states[key];
        std::vector<Handler> handlers;
        while (!state.receives.empty() && state.receives.front().bytes <= state.arrived) {
            state.arrived -= state.receives.front().bytes;
            handlers.push_back(state.receives.front().handler);
            state.receives.pop_front();
        }
        if (state.arrived == 0 && state.receives.empty()) {
            states.erase(key);
        }
        return handlers;
    }

    std::map<Key, State> states;
};

}  // namespace shallows_astra

#endif
