// Runs a network and its flows in ns-3, from a file that ns3.py writes, and prints the results as JSON.
//
// Lines of the file: `run nodes warmup_ps stop_ps seed`, where a stop of 0 means "until every flow has ended"; `attribute NAME VALUE`, a default of
// ns-3; `link from to rate_bps delay_ps packets gap_ps [red kmin kmax pmax weight gentle wait ecn | codel target_ps interval_ps ecn]`,
// followed by the link in the other direction; `watch link`, the link whose queue is measured; `flow src dst bytes connect_ps sender
// ecn path... | reverse path...`, where 0 bytes means without end.
//
// A port's queue is a drop-tail queue of the device, or RED or CoDel above a device that holds one packet. The measured queue is the sum of
// both and the unsent part of the packet in transmission.

#include "ns3/boolean.h"
#include "ns3/codel-queue-disc.h"
#include "ns3/config.h"
#include "ns3/double.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv4-route.h"
#include "ns3/ipv4-routing-helper.h"
#include "ns3/net-device-queue-interface.h"
#include "ns3/node-container.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/random-variable-stream.h"
#include "ns3/red-queue-disc.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/uinteger.h"

#include <ctime>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace ns3;

constexpr uint16_t FIRST_PORT = 1000; // flow n is received at this TCP port + n
uint64_t hops = 0;

uint64_t NowPs() { return Simulator::Now().GetPicoSeconds(); }

// An egress port and its counters.
struct Port
{
    uint32_t from, to;
    uint64_t rate, delay, packets, gap;
    std::string discipline, values; // "red" or "codel", and its words
    Ptr<PointToPointNetDevice> device;
    Ptr<UniformRandomVariable> gaps;
    uint32_t interface = 0;
    uint64_t sent = 0, dropped = 0, marked = 0, since = 0, waiting = 0, largest = 0;
    double busy = 0, area = 0; // seconds, byte-seconds

    void Install(Ptr<Node> node);
    void DrawGap(Ptr<const Packet>);
    Ptr<QueueDisc> Discipline() const;
    void Watch();
    void WaitingChanged(uint32_t before, uint32_t after);
    void TransmissionBegins(Ptr<const Packet> packet);
    void Dropped(Ptr<const Packet>) { ++dropped; }
    void Refused(Ptr<const QueueDiscItem>) { ++dropped; }
    void Marked(Ptr<const QueueDiscItem>, const char*) { ++marked; }
    void Settle();
    void EndWarmup();
};

void
Port::Install(Ptr<Node> node)
{
    device = CreateObject<PointToPointNetDevice>();
    device->SetAddress(Mac48Address::Allocate());
    device->SetDataRate(DataRate(rate));
    auto queue = CreateObject<DropTailQueue<Packet>>();
    queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, discipline.empty() ? packets : 1));
    device->SetQueue(queue);
    node->AddDevice(device);
    if (gap)
    {
        gaps = CreateObject<UniformRandomVariable>();
        device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Port::DrawGap, this));
    }
    if (discipline.empty())
    {
        return;
    }
    // With flow control a full device leaves packets to the queueing discipline.
    auto say = CreateObject<NetDeviceQueueInterface>();
    say->GetTxQueue(0)->ConnectQueueTraces(queue);
    device->AggregateObject(say);
    node->GetObject<TrafficControlLayer>()->SetRootQueueDiscOnDevice(device, Discipline());
}

// The device reads its gap after this trace, so the gap follows the packet that begins to leave.
void
Port::DrawGap(Ptr<const Packet>)
{
    device->SetInterframeGap(PicoSeconds(static_cast<uint64_t>(gaps->GetValue(0, gap))));
}

Ptr<QueueDisc>
Port::Discipline() const
{
    std::istringstream words(values);
    bool ecn;
    if (discipline == "codel")
    {
        uint64_t target, interval;
        words >> target >> interval >> ecn;
        auto codel = CreateObject<CoDelQueueDisc>();
        codel->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, packets - 1));
        codel->SetAttribute("Target", TimeValue(PicoSeconds(target)));
        codel->SetAttribute("Interval", TimeValue(PicoSeconds(interval)));
        codel->SetAttribute("UseEcn", BooleanValue(ecn));
        return codel;
    }
    double kmin, kmax, pmax, weight;
    bool gentle, wait;
    words >> kmin >> kmax >> pmax >> weight >> gentle >> wait >> ecn;
    auto red = CreateObject<RedQueueDisc>();
    red->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, packets - 1));
    red->SetTh(kmin, kmax);
    red->SetAttribute("LInterm", DoubleValue(1 / pmax));
    red->SetAttribute("QW", DoubleValue(weight));
    red->SetAttribute("Gentle", BooleanValue(gentle));
    red->SetAttribute("Wait", BooleanValue(wait));
    red->SetAttribute("UseEcn", BooleanValue(ecn));
    red->SetAttribute("UseHardDrop", BooleanValue(false));
    red->SetAttribute("LinkBandwidth", DataRateValue(DataRate(rate)));
    red->SetAttribute("MeanPktSize", UintegerValue(1500));
    return red;
}

void
Port::Watch()
{
    auto queue = device->GetQueue();
    queue->TraceConnectWithoutContext("BytesInQueue", MakeCallback(&Port::WaitingChanged, this));
    queue->TraceConnectWithoutContext("Drop", MakeCallback(&Port::Dropped, this));
    device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Port::TransmissionBegins, this));
    if (auto discipline = device->GetNode()->GetObject<TrafficControlLayer>()->GetRootQueueDiscOnDevice(device))
    {
        discipline->TraceConnectWithoutContext("BytesInQueue", MakeCallback(&Port::WaitingChanged, this));
        discipline->TraceConnectWithoutContext("Drop", MakeCallback(&Port::Refused, this));
        discipline->TraceConnectWithoutContext("Mark", MakeCallback(&Port::Marked, this));
    }
}

void
Port::Settle()
{
    area += waiting * (NowPs() - since) * 1e-12;
    since = NowPs();
}

void
Port::WaitingChanged(uint32_t before, uint32_t after)
{
    Settle();
    waiting += static_cast<int64_t>(after) - before;
    largest = std::max(largest, waiting);
}

void
Port::TransmissionBegins(Ptr<const Packet> packet)
{
    const double bytes = packet->GetSize(), seconds = bytes * 8 / rate;
    ++sent;
    busy += seconds;
    area += bytes * seconds / 2;
}

void
Port::EndWarmup()
{
    Settle();
    sent = dropped = marked = largest = 0;
    busy = area = 0;
}

// One connection: its two ends, and the ports of its path and reverse path.
struct Flow
{
    uint32_t src, dst;
    uint64_t bytes, connect;
    std::string sender;
    bool ecn;
    std::vector<uint32_t> there, back;
    Ptr<Socket> socket, listening;
    uint64_t left = 0, got = 0, got_in_warmup = 0, start = 0, finish = 0;

    Ptr<Socket> Open(Ptr<Node> node) const;
    void Listen(Ptr<Node> node, uint16_t port);
    void Connect(Ptr<Node> node, Ipv4Address to, uint16_t port);
    void Connected(Ptr<Socket>);
    void Fill(Ptr<Socket>, uint32_t);
    void Accepted(Ptr<Socket> socket, const Address&);
    void Received(Ptr<Socket> socket);
};

std::vector<Flow> flows;
uint64_t unfinished = 0;

Ptr<Socket>
Flow::Open(Ptr<Node> node) const
{
    auto opened = node->GetObject<TcpL4Protocol>()->CreateSocket(TypeId::LookupByName(sender));
    opened->SetAttribute("UseEcn", StringValue(ecn ? "On" : "Off"));
    return opened;
}

void
Flow::Listen(Ptr<Node> node, uint16_t port)
{
    listening = Open(node);
    listening->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
    listening->Listen();
    listening->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(), MakeCallback(&Flow::Accepted, this));
}

void
Flow::Connect(Ptr<Node> node, Ipv4Address to, uint16_t port)
{
    left = bytes ? bytes : UINT64_MAX;
    socket = Open(node);
    socket->SetConnectCallback(MakeCallback(&Flow::Connected, this), MakeNullCallback<void, Ptr<Socket>>());
    socket->SetSendCallback(MakeCallback(&Flow::Fill, this));
    socket->Bind();
    socket->Connect(InetSocketAddress(to, port));
}

// Connections are open from the start in Shallows: a flow begins when its handshake is done.
void
Flow::Connected(Ptr<Socket>)
{
    start = NowPs();
    Fill(socket, socket->GetTxAvailable());
}

void
Flow::Fill(Ptr<Socket>, uint32_t)
{
    while (start && left && socket->GetTxAvailable())
    {
        const auto room = std::min<uint64_t>({left, socket->GetTxAvailable(), 1 << 16});
        const int sent = socket->Send(Create<Packet>(room));
        if (sent <= 0)
        {
            return;
        }
        left -= sent;
    }
}

void
Flow::Accepted(Ptr<Socket> socket, const Address&)
{
    socket->SetRecvCallback(MakeCallback(&Flow::Received, this));
}

void
Flow::Received(Ptr<Socket> socket)
{
    while (auto packet = socket->Recv())
    {
        got += packet->GetSize();
    }
    if (got == bytes)
    {
        finish = NowPs();
        if (--unfinished == 0)
        {
            Simulator::Stop();
        }
    }
}

// Routes each flow over its own path, which the TCP ports of a packet identify.
class Ways : public Ipv4RoutingProtocol
{
  public:
    std::vector<uint32_t> there, back; // by flow: the interface, 0 if the flow does not pass

    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("Ways").SetParent<Ipv4RoutingProtocol>().AddConstructor<Ways>();
        return tid;
    }

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header& header, Ptr<NetDevice>, Socket::SocketErrno& error) override
    {
        error = Socket::ERROR_NOTERROR;
        return Through(1, header); // hosts have one link
    }

    bool RouteInput(Ptr<const Packet> packet,
                    const Ipv4Header& header,
                    Ptr<const NetDevice> device,
                    UnicastForwardCallback forward,
                    MulticastForwardCallback,
                    LocalDeliverCallback deliver,
                    ErrorCallback) override
    {
        const uint32_t in = m_ipv4->GetInterfaceForDevice(device);
        if (m_ipv4->IsDestinationAddress(header.GetDestination(), in))
        {
            deliver(packet, header, in);
            return true;
        }
        TcpHeader tcp;
        packet->PeekHeader(tcp);
        const uint32_t to = tcp.GetDestinationPort() - FIRST_PORT, from = tcp.GetSourcePort() - FIRST_PORT;
        forward(Through(to < there.size() ? there[to] : back[from], header), packet, header);
        return true;
    }

    void SetIpv4(Ptr<Ipv4> ipv4) override { m_ipv4 = ipv4; }

    void NotifyInterfaceUp(uint32_t) override {}

    void NotifyInterfaceDown(uint32_t) override {}

    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}

    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}

    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

  private:
    Ptr<Ipv4Route> Through(uint32_t interface, const Ipv4Header& header)
    {
        auto route = Create<Ipv4Route>();
        route->SetDestination(header.GetDestination());
        route->SetSource(m_ipv4->GetAddress(interface, 0).GetLocal());
        route->SetGateway(Ipv4Address::GetZero());
        route->SetOutputDevice(m_ipv4->GetNetDevice(interface));
        return route;
    }

    Ptr<Ipv4> m_ipv4;
};

struct WaysHelper : public Ipv4RoutingHelper
{
    WaysHelper* Copy() const override { return new WaysHelper(*this); }

    Ptr<Ipv4RoutingProtocol> Create(Ptr<Node>) const override { return CreateObject<Ways>(); }
};

std::vector<Port> ports;
uint64_t nodes = 0, warmup = 0, stop = 0, seed = 1, watched = 0;

void
Read(const char* path)
{
    std::ifstream file(path);
    for (std::string line, kind; std::getline(file, line);)
    {
        std::istringstream words(line);
        words >> kind;
        if (kind == "run")
        {
            words >> nodes >> warmup >> stop >> seed;
            RngSeedManager::SetRun(seed);
        }
        else if (kind == "attribute")
        {
            std::string name, value;
            words >> name >> value;
            Config::SetDefault(name, StringValue(value));
        }
        else if (kind == "link")
        {
            Port port;
            words >> port.from >> port.to >> port.rate >> port.delay >> port.packets >> port.gap >> port.discipline;
            std::getline(words, port.values);
            ports.push_back(port);
        }
        else if (kind == "watch")
        {
            words >> watched;
        }
        else if (kind == "flow")
        {
            Flow flow;
            words >> flow.src >> flow.dst >> flow.bytes >> flow.connect >> flow.sender >> flow.ecn;
            auto* way = &flow.there;
            for (std::string word; words >> word;)
            {
                if (word == "|")
                {
                    way = &flow.back;
                }
                else
                {
                    way->push_back(std::stoul(word));
                }
            }
            flows.push_back(flow);
        }
    }
}

void
PacketReceived(Ptr<const Packet>)
{
    ++hops;
}

void
Lay(const NodeContainer& all)
{
    for (size_t at = 0; at < ports.size(); at += 2)
    {
        auto channel = CreateObject<PointToPointChannel>();
        channel->SetAttribute("Delay", TimeValue(PicoSeconds(ports[at].delay)));
        const Ipv4Address net(0x0a000000 + 4 * (at / 2));
        for (size_t end : {at, at + 1})
        {
            Port& port = ports[end];
            port.Install(all.Get(port.from));
            port.device->Attach(channel);
            port.device->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&PacketReceived));
            auto ipv4 = all.Get(port.from)->GetObject<Ipv4>();
            port.interface = ipv4->AddInterface(port.device);
            const Ipv4Address address(net.Get() + 1 + (end - at));
            ipv4->AddAddress(port.interface, Ipv4InterfaceAddress(address, Ipv4Mask("255.255.255.252")));
            ipv4->SetUp(port.interface);
        }
    }
}

void
Begin(const NodeContainer& all)
{
    auto ways = [&](uint32_t node) { return DynamicCast<Ways>(all.Get(node)->GetObject<Ipv4>()->GetRoutingProtocol()); };
    for (uint32_t node = 0; node < nodes; ++node)
    {
        ways(node)->there.assign(flows.size(), 0);
        ways(node)->back.assign(flows.size(), 0);
    }
    for (size_t number = 0; number < flows.size(); ++number)
    {
        Flow& flow = flows[number];
        for (uint32_t at : flow.there)
        {
            ways(ports[at].from)->there[number] = ports[at].interface;
        }
        for (uint32_t at : flow.back)
        {
            ways(ports[at].from)->back[number] = ports[at].interface;
        }
        const uint16_t port = FIRST_PORT + number;
        const auto address = all.Get(flow.dst)->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
        flow.Listen(all.Get(flow.dst), port);
        Simulator::Schedule(PicoSeconds(flow.connect), &Flow::Connect, &flow, all.Get(flow.src), address, port);
        unfinished += flow.bytes > 0;
    }
}

void
EndWarmup()
{
    ports[watched].EndWarmup();
    for (Flow& flow : flows)
    {
        flow.got_in_warmup = flow.got;
    }
}

// Peak memory of this process; getrusage would count its parent's too.
double
PeakMemory()
{
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
    {
        if (word == "VmHWM:")
        {
            double kilobytes;
            status >> kilobytes;
            return kilobytes * 1.024e-3;
        }
    }
    return 0;
}

void
Print(double seconds)
{
    std::cout.precision(12);
    std::cout << "{\"seconds\": " << seconds << ", \"hops\": " << hops << ", \"memory_mb\": " << PeakMemory()
              << ", \"ended_ps\": " << NowPs() << ",\n\"flows\": [";
    const char* comma = "";
    for (const Flow& flow : flows)
    {
        std::cout << comma << "[" << flow.start << ", " << flow.finish << ", " << flow.got - flow.got_in_warmup << "]";
        comma = ", ";
    }
    Port& port = ports[watched];
    port.Settle();
    const double measured = (NowPs() - warmup) * 1e-12;
    std::cout << "],\n\"sent\": " << port.sent << ", \"dropped\": " << port.dropped << ", \"marked\": " << port.marked
              << ", \"utilization\": " << port.busy / measured << ", \"queue_mean\": " << port.area / measured
              << ", \"queue_max\": " << port.largest << "}\n";
}

int
main(int, char** arguments)
{
    Time::SetResolution(Time::PS);
    Read(arguments[1]);
    NodeContainer all(nodes);
    InternetStackHelper stack;
    stack.SetRoutingHelper(WaysHelper());
    stack.SetIpv6StackInstall(false);
    stack.Install(all);
    Lay(all);
    ports[watched].Watch();
    Begin(all);
    if (warmup)
    {
        Simulator::Schedule(PicoSeconds(warmup), &EndWarmup);
    }
    if (stop)
    {
        Simulator::Stop(PicoSeconds(stop));
    }
    const clock_t began = clock();
    Simulator::Run();
    Print(static_cast<double>(clock() - began) / CLOCKS_PER_SEC);
}
