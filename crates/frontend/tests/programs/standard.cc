// Threads of the C++ library: what they share, wait for, throw and leave behind; fails if anything is wrong.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

bool wrong = false;
thread_local long own = 7;

template <typename Found, typename Expected> void expect(const char *what, const Found &found, const Expected &expected)
{
    if (!(found == expected)) {
        std::cout << what << ": " << found << ", not " << expected << "\n";
        wrong = true;
    }
}

void atomics(unsigned threads)
{
    std::atomic<long> sum{0};
    std::atomic<unsigned> arrived{0};
    std::atomic<bool> go{false};
    std::atomic_flag flag = ATOMIC_FLAG_INIT;
    long guarded = 0;
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; t++)
        all.emplace_back([&] {
            arrived++;
            while (!go.load(std::memory_order_acquire)) {
            }
            for (int i = 0; i < 200; i++) sum.fetch_add(i, std::memory_order_relaxed);
            while (flag.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
            guarded++;
            flag.clear(std::memory_order_release);
            own++;
            expect("thread_local", own, 8);
        });
    while (arrived != threads) std::this_thread::yield();
    go.store(true, std::memory_order_release);
    for (auto &thread : all) thread.join();
    expect("atomic", sum.load(), 19900L * threads);
    expect("spin lock", guarded, long(threads));
    expect("thread_local of the first", own, 7);
}

// Bounded, with several on either side.
class Channel {
    std::mutex mutex;
    std::condition_variable room, news;
    std::deque<std::unique_ptr<std::string>> waiting;
    bool closed = false;

public:
    void put(std::string text)
    {
        std::unique_lock lock(mutex);
        room.wait(lock, [&] { return waiting.size() < 4; });
        waiting.push_back(std::make_unique<std::string>(std::move(text)));
        news.notify_one();
    }
    void close()
    {
        std::lock_guard lock(mutex);
        closed = true;
        news.notify_all();
    }
    std::unique_ptr<std::string> take()
    {
        std::unique_lock lock(mutex);
        news.wait(lock, [&] { return closed || !waiting.empty(); });
        if (waiting.empty()) return nullptr;
        auto first = std::move(waiting.front());
        waiting.pop_front();
        room.notify_one();
        return first;
    }
};

void channel()
{
    Channel channel;
    std::atomic<long> length{0};
    std::vector<std::thread> givers, takers;
    for (int g = 0; g < 3; g++)
        givers.emplace_back([&, g] {
            for (int i = 0; i < 50; i++) channel.put(std::to_string(g * 1000 + i));
        });
    for (int t = 0; t < 2; t++)
        takers.emplace_back([&] {
            while (auto text = channel.take()) length += std::stol(*text);
        });
    for (auto &thread : givers) thread.join();
    channel.close();
    for (auto &thread : takers) thread.join();
    expect("channel", length.load(), 3L * 1225 + 50 * 3000);
}

void readers()
{
    std::shared_mutex mutex;
    std::map<int, int> table;
    std::once_flag once;
    int begun = 0;
    std::atomic<int> seen{0};
    std::vector<std::thread> all;
    for (int t = 0; t < 6; t++)
        all.emplace_back([&, t] {
            std::call_once(once, [&] { begun++; });
            for (int i = 0; i < 20; i++) {
                if (t % 3 == 0) {
                    std::unique_lock lock(mutex);
                    table[t * 100 + i] = i;
                } else {
                    std::shared_lock lock(mutex);
                    seen += !table.empty();
                }
            }
        });
    for (auto &thread : all) thread.join();
    expect("call_once", begun, 1);
    expect("table", table.size(), 40u);
}

void futures()
{
    auto sum = std::async(std::launch::async, [] {
        std::vector<long> numbers(1000);
        std::iota(numbers.begin(), numbers.end(), 0L);
        return std::accumulate(numbers.begin(), numbers.end(), 0L);
    });
    auto thrown = std::async(std::launch::async, []() -> int { throw std::runtime_error("as it should"); });
    std::promise<int> promise;
    auto later = promise.get_future();
    std::atomic<bool> waited{false};
    std::thread giver([&] {
        while (!waited) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        promise.set_value(11);
    });
    expect("future that is not there yet", later.wait_for(std::chrono::microseconds(1)) == std::future_status::timeout, true);
    waited = true;
    expect("promise", later.get(), 11);
    giver.join();
    expect("async", sum.get(), 499500L);
    std::string caught;
    try {
        thrown.get();
    } catch (const std::runtime_error &error) {
        caught = error.what();
    }
    expect("exception of another thread", caught, "as it should");
}

} // namespace

int main(int count, char **words)
{
    unsigned threads = count > 1 ? std::stoul(words[1]) : 4;
    atomics(threads);
    channel();
    readers();
    futures();
    std::cout << threads << " threads: " << (wrong ? "wrong" : "right") << std::endl;
    return wrong;
}
