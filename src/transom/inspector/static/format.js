// Numbers, money and times as people read them.

const whole = new Intl.NumberFormat("en-US");
const when = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "numeric", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export const number = (value) => whole.format(value);

// 1234 -> "1.2k": for axes and narrow places
export function short(value) {
  if (Math.abs(value) < 1000) return String(Math.round(value));
  const [size, unit] = Math.abs(value) < 1e6 ? [1e3, "k"] : [1e6, "M"];
  const scaled = value / size;
  return (Math.abs(scaled) < 10 ? scaled.toFixed(1).replace(/\.0$/, "") : Math.round(scaled)) + unit;
}

export function money(dollars) {
  if (dollars == null) return "unknown";
  if (dollars === 0) return "$0";
  return "$" + (dollars < 0.01 ? dollars.toFixed(5) : dollars < 1 ? dollars.toFixed(4) : dollars.toFixed(2));
}

export const percent = (share) => Math.round(100 * share) + "%";

// null and impossible times give ""
function written(format, seconds) {
  const time = new Date(seconds * 1000);
  return seconds == null || Number.isNaN(time.getTime()) ? "" : format.format(time);
}

export function minute(seconds) {
  const isThisYear = new Date(seconds * 1000).getFullYear() === new Date().getFullYear();
  return written(isThisYear ? when : day, seconds);
}

export const second = (seconds) => written(clock, seconds);

export const counted = (count, noun, plural = noun + "s") => `${number(count)} ${count === 1 ? noun : plural}`;

// A text from a log on one line, what is invisible or turns the direction around as "·"
export function oneLine(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, "·");
}
