// Dates as Python's strftime writes them: see time_text.h.
#include "text/jinja/time_text.h"

#include <fmt/format.h>

#include <chrono>

#include "text/jinja/errors.h"

namespace amphora::text::jinja {
namespace {

constexpr std::string_view kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                      "Thursday", "Friday", "Saturday"};
constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};

struct Moment {
  int year;
  unsigned month, day;   ///< from 1
  unsigned weekday;      ///< Sunday is 0
  unsigned day_of_year;  ///< from 0
  unsigned hour, minute, second;
};

Result<Moment> moment_of(int64_t unix_seconds) {
  // Python's datetime: years 1 to 9999.
  if (unix_seconds < -62135596800 || unix_seconds > 253402300799) return render_error("year is out of range");
  using namespace std::chrono;
  const sys_seconds time{seconds{unix_seconds}};
  const sys_days date = floor<days>(time);
  const year_month_day calendar{date};
  const auto in_day = static_cast<unsigned>((time - date).count());
  const sys_days new_year{calendar.year() / January / 1};
  return Moment{static_cast<int>(calendar.year()),
                static_cast<unsigned>(calendar.month()),
                static_cast<unsigned>(calendar.day()),
                weekday{date}.c_encoding(),
                static_cast<unsigned>((date - new_year).count()),
                in_day / 3600,
                in_day / 60 % 60,
                in_day % 60};
}

// The year and week of ISO 8601: weeks begin on Monday and belong to the year of their Thursday.
struct IsoWeek {
  int year;
  unsigned week;  ///< from 1
};

IsoWeek iso_week_of(const Moment& moment) {
  using namespace std::chrono;
  const unsigned monday_based = (moment.weekday + 6) % 7;
  const sys_days date{year{moment.year} / month{moment.month} / day{moment.day}};
  const sys_days thursday = date + days{3 - static_cast<int>(monday_based)};
  const year_month_day calendar{thursday};
  const auto day_of_year = (thursday - sys_days{calendar.year() / January / 1}).count();
  return {static_cast<int>(calendar.year()), static_cast<unsigned>(day_of_year / 7 + 1)};
}

// What a flag makes of a directive's own padding.
std::string padded(unsigned value, int width, char flag, char fill = '0') {
  if (flag == '-') return std::to_string(value);
  if (flag == '_') fill = ' ';
  if (flag == '0') fill = '0';
  return fill == '0' ? fmt::format("{:0{}}", value, width) : fmt::format("{:{}}", value, width);
}

class TimeFormatter {
 public:
  TimeFormatter(Budget& budget, int64_t unix_seconds, const Moment& moment)
      : out_(&budget), unix_seconds_(unix_seconds), moment_(moment) {}

  void append_all(std::string_view format) {
    for (size_t offset = 0; offset < format.size();) {
      if (format[offset] != '%') {
        out_.append(format[offset++]);
        continue;
      }
      const bool has_flag =
          offset + 1 < format.size() && std::string_view("-_0").contains(format[offset + 1]);
      const size_t letter = offset + (has_flag ? 2 : 1);
      if (letter >= format.size() || !append_directive(format[letter], has_flag ? format[offset + 1] : '\0'))
        out_.append(format.substr(offset, letter + 1 - offset));
      offset = letter + 1;
    }
  }
  std::string take() { return out_.take(); }

 private:
  // False if there is no such directive. Flags mean nothing to those that are made of others.
  bool append_directive(char letter, char flag) {
    const unsigned hour12 = moment_.hour % 12 == 0 ? 12 : moment_.hour % 12;
    const auto year = static_cast<unsigned>(moment_.year);
    const unsigned monday_based = (moment_.weekday + 6) % 7;
    switch (letter) {
      case 'a': out_.append(kDays[moment_.weekday].substr(0, 3)); return true;
      case 'A': out_.append(kDays[moment_.weekday]); return true;
      case 'b':
      case 'h': out_.append(kMonths[moment_.month - 1].substr(0, 3)); return true;
      case 'B': out_.append(kMonths[moment_.month - 1]); return true;
      case 'c': append_all("%a %b %e %H:%M:%S %Y"); return true;
      case 'C': out_.append(padded(year / 100, 2, flag)); return true;
      case 'd': out_.append(padded(moment_.day, 2, flag)); return true;
      case 'D':
      case 'x': append_all("%m/%d/%y"); return true;
      case 'e': out_.append(padded(moment_.day, 2, flag, ' ')); return true;
      case 'f': out_.append(flag == '\0' ? "000000" : std::string{'%', flag, 'f'}); return true;
      case 'F': append_all("%Y-%m-%d"); return true;
      case 'g':
        out_.append(padded(static_cast<unsigned>(iso_week_of(moment_).year % 100), 2, flag));
        return true;
      case 'G': out_.append(std::to_string(iso_week_of(moment_).year)); return true;
      case 'H': out_.append(padded(moment_.hour, 2, flag)); return true;
      case 'I': out_.append(padded(hour12, 2, flag)); return true;
      case 'j': out_.append(padded(moment_.day_of_year + 1, 3, flag)); return true;
      case 'k': out_.append(padded(moment_.hour, 2, flag, ' ')); return true;
      case 'l': out_.append(padded(hour12, 2, flag, ' ')); return true;
      case 'm': out_.append(padded(moment_.month, 2, flag)); return true;
      case 'M': out_.append(padded(moment_.minute, 2, flag)); return true;
      case 'n': out_.append('\n'); return true;
      case 'p': out_.append(moment_.hour < 12 ? "AM" : "PM"); return true;
      case 'P': out_.append(moment_.hour < 12 ? "am" : "pm"); return true;
      case 'r': append_all("%I:%M:%S %p"); return true;
      case 'R': append_all("%H:%M"); return true;
      case 's': out_.append(std::to_string(unix_seconds_)); return true;
      case 'S': out_.append(padded(moment_.second, 2, flag)); return true;
      case 't': out_.append('\t'); return true;
      case 'T':
      case 'X': append_all("%H:%M:%S"); return true;
      case 'u': out_.append(std::to_string(monday_based + 1)); return true;
      case 'U': out_.append(padded((moment_.day_of_year + 7 - moment_.weekday) / 7, 2, flag)); return true;
      case 'V': out_.append(padded(iso_week_of(moment_).week, 2, flag)); return true;
      case 'w': out_.append(std::to_string(moment_.weekday)); return true;
      case 'W': out_.append(padded((moment_.day_of_year + 7 - monday_based) / 7, 2, flag)); return true;
      case 'y': out_.append(padded(year % 100, 2, flag)); return true;
      case 'Y': out_.append(std::to_string(moment_.year)); return true;
      case 'z':
      case 'Z': return true;  // empty: Python's now() knows no zone
      case '%': out_.append('%'); return true;
      default: return append_unknown(letter);
    }
  }

  // The C library's modifiers, flags for case and widths; any other letter stands as it is.
  bool append_unknown(char letter) {
    if (!std::string_view("EO^#+123456789-_0").contains(letter)) return false;
    out_.refuse(std::string("'%") + letter + "' in a time format is not supported");
    return true;
  }

  TextBuilder out_;
  int64_t unix_seconds_;
  const Moment& moment_;
};

}  // namespace

Result<std::string> format_time(Budget& budget, int64_t unix_seconds, std::string_view format) {
  AMPHORA_ASSIGN(const Moment moment, moment_of(unix_seconds));
  TimeFormatter formatter(budget, unix_seconds, moment);
  formatter.append_all(format.substr(0, format.find('\0')));  // Python hands it to C
  AMPHORA_TRY(budget.status());
  return formatter.take();
}

}  // namespace amphora::text::jinja
