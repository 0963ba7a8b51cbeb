// Levels of all rows first, then a mean per family, then widths.
#include "package/vbit_plan.h"

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>

#include "base/thread_pool.h"
#include "package/tensor_names.h"
#include "package/tensor_values.h"
#include "quant/codec.h"
#include "quant/vbit_budget.h"

namespace amphora {
namespace {

constexpr uint64_t kValuesAtOnce = uint64_t{1} << 18;

/// One tensor that needs widths.
struct Job {
  PlannedTensor* planned = nullptr;
  std::string family;
  double weight = 1;           ///< of its rows' magnitudes
  std::vector<double> levels;  ///< [rows]
};

std::vector<Job> jobs_of(const Package& package, std::span<PlannedTensor> plan, const RouteStats* stats) {
  const std::vector<std::string> skills = package::skill_ids(package);
  std::vector<Job> jobs;
  for (PlannedTensor& planned : plan) {
    if (planned.verbatim || !is_vbit(planned.dtype)) continue;
    Job job{.planned = &planned, .family = planned.source->name, .weight = 1, .levels = {}};
    if (const auto expert = package::find_expert_weight(planned.source->name, skills)) {
      job.family = expert->family;
      if (stats != nullptr && expert->layer)
        job.weight = route_weight(*stats, *expert->layer, expert->expert);
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Status measure(Job& job) {
  const PackageTensor& tensor = *job.planned->source;
  const uint64_t columns = tensor.shape[1];
  job.levels.reserve(tensor.shape[0]);
  const uint64_t piece = std::max<uint64_t>(1, kValuesAtOnce / columns) * columns;
  return package::read_pieces(tensor, {}, piece, [&](uint64_t, std::span<const float> rows) {
    for (; !rows.empty(); rows = rows.subspan(columns))
      job.levels.push_back(quant::vbit_row_level(rows.first(columns), job.weight));
  });
}

/// Measures side by side. The fault that is reported is that of the first faulty tensor, whichever thread
/// finds one first.
Status measure_all(std::span<Job> jobs, size_t threads, const ProgressFunction& progress) {
  uint64_t total = 0, done = 0;
  for (const Job& job : jobs) total += job.planned->source->stored_bytes;
  std::mutex telling;
  std::vector<Status> measured(jobs.size());
  std::atomic<size_t> first_fault = jobs.size();
  ThreadPool pool(std::min(threads, std::max<size_t>(1, jobs.size())));
  pool.run(jobs.size(), [&](size_t index) {
    if (index > first_fault.load()) return;  // what comes after a fault is not needed
    measured[index] = measure(jobs[index]);
    const std::lock_guard lock(telling);
    if (!measured[index]) first_fault = std::min(first_fault.load(), index);
    done += jobs[index].planned->source->stored_bytes;
    if (progress) progress(done, total);
  });
  return first_fault < jobs.size() ? measured[first_fault] : Status{};
}

std::map<std::string, double> mean_levels(std::span<const Job> jobs) {
  std::map<std::string, std::vector<double>> levels;
  for (const Job& job : jobs) {
    std::vector<double>& family = levels[job.family];
    family.insert(family.end(), job.levels.begin(), job.levels.end());
  }
  std::map<std::string, double> means;
  for (const auto& [family, all] : levels) means[family] = quant::vbit_mean_level(all);
  return means;
}

Status set_widths(const Job& job, double mean_level) {
  PlannedTensor& planned = *job.planned;
  planned.row_widths = quant::vbit_row_widths(job.levels, mean_level, planned.vbit_budget);
  const auto bytes =
      quant::encoded_bytes(*quant::find_codec(planned.dtype), planned.source->shape,
                           quant::EncodeOptions{.importance = {}, .row_widths = planned.row_widths});
  if (!bytes)
    return package::in_tensor(*planned.source,
                              Error{Fault::kRefused, "", "", std::nullopt, "its size overflows"});
  planned.bytes = *bytes;
  return {};
}

}  // namespace

Status plan_vbit_rows(const Package& package, std::span<PlannedTensor> plan, const RouteStats* stats,
                      size_t threads, const ProgressFunction& progress) {
  std::vector<Job> jobs = jobs_of(package, plan, stats);
  if (jobs.empty()) return {};
  AMPHORA_TRY(measure_all(jobs, threads, progress));
  const std::map<std::string, double> means = mean_levels(jobs);
  for (const Job& job : jobs) AMPHORA_TRY(set_widths(job, means.at(job.family)));
  return {};
}

}  // namespace amphora
