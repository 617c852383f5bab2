use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

/// When something happens again and again: a cron expression of five fields, as Kubernetes and Karpenter write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    minutes: Marks,
    hours: Marks,
    days: Marks,
    months: Marks,
    weekdays: Marks,
    /// Where both the day of the month and the day of the week are given, either will do.
    either_day: bool,
    text: Box<str>,
}

/// Why a text is no cron expression.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{text:?} is not a schedule: {problem}")]
pub struct CronError {
    text: String,
    problem: String,
}

/// Numbers below 64 that are marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Marks(u64);

impl Marks {
    fn has(self, number: i8) -> bool {
        u32::try_from(number).is_ok_and(|number| self.0.checked_shr(number).is_some_and(|rest| rest & 1 == 1))
    }
}

/// A field of an expression: what it is called, from where to where it goes, and names for its numbers.
struct Field {
    name: &'static str,
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const MINUTE: Field = Field { name: "minute", least: 0, most: 59, names: &[] };
const HOUR: Field = Field { name: "hour", least: 0, most: 23, names: &[] };
const DAY: Field = Field { name: "day of the month", least: 1, most: 31, names: &[] };
const MONTH: Field = Field {
    name: "month",
    least: 1,
    most: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
/// Sunday is both 0 and 7.
const WEEKDAY: Field = Field {
    name: "day of the week",
    least: 0,
    most: 7,
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
};

/// Short names for common expressions.
const NAMED: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// How many steps through months, days, hours and minutes the next time is looked for. The 29th of February comes within
/// eight years.
const STEPS: usize = 10_000;

impl FromStr for Cron {
    type Err = CronError;

    fn from_str(text: &str) -> Result<Self, CronError> {
        let wrong = |problem: String| CronError { text: text.to_owned(), problem };
        let long = NAMED.iter().find(|(name, _)| *name == text.trim()).map_or(text, |(_, long)| long);
        let fields: Vec<&str> = long.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            let words = "write minute, hour, day of the month, month and day of the week, such as \"0 9 * * mon-fri\"";
            return Err(wrong(words.to_owned()));
        };
        let read = |field: &Field, text: &str| field.read(text).map_err(&wrong);
        let mut weekdays = read(&WEEKDAY, weekday)?;
        weekdays.0 |= weekdays.0 >> 7 & 1;
        Ok(Self {
            minutes: read(&MINUTE, minute)?,
            hours: read(&HOUR, hour)?,
            days: read(&DAY, day)?,
            months: read(&MONTH, month)?,
            weekdays,
            either_day: !day.starts_with('*') && !weekday.starts_with('*'),
            text: text.into(),
        })
    }
}

impl Field {
    fn read(&self, text: &str) -> Result<Marks, String> {
        let mut marks = Marks::default();
        for part in text.split(',') {
            let (range, step) = match part.split_once('/') {
                Some((range, step)) => (range, step.parse::<u32>().ok().filter(|step| *step > 0)),
                None => (part, Some(1)),
            };
            let step = step.ok_or_else(|| format!("{part:?} has no whole number after the slash"))?;
            let (first, last) = match range.split_once('-') {
                _ if range == "*" || range == "?" => (self.least, self.most),
                Some((first, last)) => (self.number(first)?, self.number(last)?),
                None if part.contains('/') => (self.number(range)?, self.most),
                None => (self.number(range)?, self.number(range)?),
            };
            if first > last {
                return Err(format!("{range:?} goes backwards"));
            }
            for number in (first..=last).step_by(step as usize) {
                marks.0 |= 1 << number;
            }
        }
        Ok(marks)
    }

    fn number(&self, text: &str) -> Result<u32, String> {
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let named =
            named.and_then(|position| u32::try_from(position).ok()).map(|position| position + self.least);
        let number = named.or_else(|| text.parse().ok());
        number.filter(|number| (self.least..=self.most).contains(number)).ok_or_else(|| {
            format!("the {} {text:?} is not a number from {} to {}", self.name, self.least, self.most)
        })
    }
}

impl Cron {
    /// The first time at or after a moment, by the clocks of a time zone. A time that a clock skips happens when it jumps.
    fn next(&self, from: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let mut at = zone.to_datetime(from);
        if at.second() > 0 || at.subsec_nanosecond() > 0 {
            at = whole_minute(at).checked_add(1.minute()).ok()?;
        }
        for _ in 0..STEPS {
            if !self.months.has(at.month()) {
                at = at.date().first_of_month().checked_add(1.month()).ok()?.to_datetime(Time::midnight());
            } else if !self.is_day(at) {
                at = at.date().checked_add(1.day()).ok()?.to_datetime(Time::midnight());
            } else if !self.hours.has(at.hour()) {
                at = at.with().minute(0).build().ok()?.checked_add(1.hour()).ok()?;
            } else if !self.minutes.has(at.minute()) {
                at = at.checked_add(1.minute()).ok()?;
            } else {
                let instant = zone.to_timestamp(at).ok()?;
                // Where clocks are set back the same time comes twice, and the first may be over.
                if instant >= from {
                    return Some(instant);
                }
                at = at.checked_add(1.minute()).ok()?;
            }
        }
        None
    }

    fn is_day(&self, at: DateTime) -> bool {
        let day = self.days.has(at.day());
        let weekday = self.weekdays.has(at.weekday().to_sunday_zero_offset());
        if self.either_day { day || weekday } else { day && weekday }
    }
}

fn whole_minute(at: DateTime) -> DateTime {
    at.with().second(0).subsec_nanosecond(0).build().unwrap_or(at)
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Times that begin by a schedule and last for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// When they begin.
    pub begins: Cron,
    /// By the clocks of which time zone.
    pub zone: TimeZone,
    /// How long they last.
    pub lasts: Duration,
}

impl Window {
    /// Whether the moment is within such a time. One that begins while another lasts makes no difference.
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.last_opening(now).is_some()
    }

    /// When the answer may be another one.
    pub fn changes_at(&self, now: Timestamp) -> Option<Timestamp> {
        match self.last_opening(now) {
            Some(opened) => opened.checked_add(self.lasts()).ok(),
            None => self.begins.next(now, &self.zone),
        }
    }

    /// The latest beginning of the time that lasts now.
    fn last_opening(&self, now: Timestamp) -> Option<Timestamp> {
        // A time that began exactly so long ago is over.
        let earliest = now.checked_sub(self.lasts()).and_then(|at| at.checked_add(1.nanosecond())).ok()?;
        let mut opening = self.begins.next(earliest, &self.zone).filter(|at| *at <= now)?;
        while let Some(later) =
            opening.checked_add(1.nanosecond()).ok().and_then(|at| self.begins.next(at, &self.zone))
        {
            if later > now {
                break;
            }
            opening = later;
        }
        Some(opening)
    }

    fn lasts(&self) -> SignedDuration {
        SignedDuration::try_from(self.lasts).unwrap_or(SignedDuration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use jiff::tz::{Offset, TimeZone};

    use super::{Cron, Window};

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn next(cron: &str, from: &str) -> String {
        cron.parse::<Cron>()
            .unwrap()
            .next(at(from), &TimeZone::UTC)
            .map_or("never".to_owned(), |at| at.to_string())
    }

    /// Central European time, by its rules.
    fn berlin() -> TimeZone {
        TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
    }

    #[test]
    fn the_next_time_is_found_through_minutes_hours_days_months_and_years() {
        for (cron, from, expected) in [
            ("* * * * *", "2026-11-16T12:34:00Z", "2026-11-16T12:34:00Z"),
            ("* * * * *", "2026-11-16T12:34:00.5Z", "2026-11-16T12:35:00Z"),
            ("*/15 * * * *", "2026-11-16T12:46:00Z", "2026-11-16T13:00:00Z"),
            ("30 9 * * *", "2026-11-16T09:30:01Z", "2026-11-17T09:30:00Z"),
            ("0 0 1 * *", "2026-12-02T00:00:00Z", "2027-01-01T00:00:00Z"),
            ("0 0 29 2 *", "2026-11-16T00:00:00Z", "2028-02-29T00:00:00Z"),
            ("0 22 * * mon-fri", "2026-11-14T00:00:00Z", "2026-11-16T22:00:00Z"),
            ("0 0 * * 7", "2026-11-16T00:00:00Z", "2026-11-22T00:00:00Z"),
            ("0 0 * * SUN", "2026-11-16T00:00:00Z", "2026-11-22T00:00:00Z"),
            ("5,10-12 8-10/2 * jan,MAR *", "2026-11-16T00:00:00Z", "2027-01-01T08:05:00Z"),
            ("50/5 * * * *", "2026-11-16T00:51:00Z", "2026-11-16T00:55:00Z"),
            ("@weekly", "2026-11-16T00:00:00Z", "2026-11-22T00:00:00Z"),
            ("@hourly", "2026-11-16T00:00:01Z", "2026-11-16T01:00:00Z"),
            ("0 0 30 2 *", "2026-11-16T00:00:00Z", "never"),
        ] {
            assert_eq!(next(cron, from), expected, "{cron} from {from}");
        }
    }

    #[test]
    fn of_a_day_of_the_month_and_one_of_the_week_either_will_do() {
        assert_eq!(next("0 0 13 * fri", "2026-11-14T00:00:00Z"), "2026-11-20T00:00:00Z");
        assert_eq!(next("0 0 13 * fri", "2026-12-12T00:00:00Z"), "2026-12-13T00:00:00Z");
        assert_eq!(next("0 0 13 * *", "2026-11-14T00:00:00Z"), "2026-12-13T00:00:00Z");
    }

    #[test]
    fn what_is_no_schedule_says_what_is_wrong() {
        for (text, problem) in [
            ("", "write minute, hour"),
            ("0 9 * *", "write minute, hour"),
            ("0 0 9 * * *", "write minute, hour"),
            ("60 * * * *", "the minute \"60\" is not a number from 0 to 59"),
            ("* 24 * * *", "the hour"),
            ("* * 0 * *", "the day of the month"),
            ("* * * 13 *", "the month"),
            ("* * * * 8", "the day of the week"),
            ("* * * * mon-", "the day of the week"),
            ("5-1 * * * *", "goes backwards"),
            ("*/0 * * * *", "after the slash"),
            ("*/x * * * *", "after the slash"),
            ("1,, * * * *", "the minute \"\""),
            ("@sometimes", "write minute, hour"),
        ] {
            let error = text.parse::<Cron>().unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }

    #[test]
    fn a_window_is_open_from_its_beginning_until_its_end() {
        let window = Window {
            begins: "0 9 * * mon-fri".parse().unwrap(),
            zone: TimeZone::UTC,
            lasts: Duration::from_hours(8),
        };
        assert!(!window.is_open(at("2026-11-16T08:59:59Z")));
        assert!(window.is_open(at("2026-11-16T09:00:00Z")) && window.is_open(at("2026-11-16T16:59:59Z")));
        assert!(!window.is_open(at("2026-11-16T17:00:00Z")));
        assert!(!window.is_open(at("2026-11-15T12:00:00Z")), "a Sunday");
        assert_eq!(window.changes_at(at("2026-11-16T10:00:00Z")), Some(at("2026-11-16T17:00:00Z")));
        assert_eq!(window.changes_at(at("2026-11-13T18:00:00Z")), Some(at("2026-11-16T09:00:00Z")));
    }

    #[test]
    fn windows_that_overlap_are_one() {
        let window = Window {
            begins: "@hourly".parse().unwrap(),
            zone: TimeZone::UTC,
            lasts: Duration::from_mins(90),
        };
        assert!(window.is_open(at("2026-11-16T10:59:00Z")));
        assert_eq!(window.changes_at(at("2026-11-16T10:20:00Z")), Some(at("2026-11-16T11:30:00Z")));
    }

    #[test]
    fn the_clocks_of_the_time_zone_count() {
        let nine =
            |zone| Window { begins: "0 9 * * *".parse().unwrap(), zone, lasts: Duration::from_hours(1) };
        let summer = at("2026-07-01T07:30:00Z");
        let winter = at("2026-12-01T08:30:00Z");
        assert!(nine(berlin()).is_open(summer) && nine(berlin()).is_open(winter));
        let fixed = TimeZone::fixed(Offset::from_hours(-5).unwrap());
        assert!(nine(fixed).is_open(at("2026-07-01T14:30:00Z")));
    }

    #[test]
    fn a_time_that_clocks_skip_comes_when_they_jump_and_one_that_comes_twice_is_found_after_either() {
        let half_past_two: Cron = "30 2 * * *".parse().unwrap();
        let night_of_jump = at("2026-03-29T00:00:00Z");
        assert_eq!(half_past_two.next(night_of_jump, &berlin()), Some(at("2026-03-29T01:30:00Z")));
        let between = at("2026-10-25T00:45:00Z");
        assert!(half_past_two.next(between, &berlin()).is_some_and(|next| next > between));
    }
}
