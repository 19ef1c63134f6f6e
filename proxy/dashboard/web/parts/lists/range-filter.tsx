/**
 * The time range of a page, in its address: one of the usual ones, or a first and a last moment or
 * day, in UTC.
 */
import { rangeTexts as texts } from "../../texts/range-texts.js";
import { useApp } from "../app.js";

interface Custom {
  readonly type: "date" | "datetime-local";
  /** Of the query's parameters. */
  readonly names: readonly [first: string, last: string];
  /** What the ends are when a custom range is chosen. */
  readonly firstEnds: () => readonly [first: string, last: string];
  readonly toValue: (parameter: string) => string;
  readonly toParameter: (value: string) => string;
}

interface RangeSelectProps {
  readonly name: string;
  readonly label: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly custom: Custom;
}

const isCustom = "custom";

function RangeSelect({ name, label, options, custom }: RangeSelectProps) {
  const { router } = useApp();
  const { query } = router.place.value;
  const [first, last] = custom.names;
  const hasRange = query.has(first);
  const choose = (value: string): void => {
    const [from, to] = value === isCustom ? custom.firstEnds() : [null, null];
    router.setQuery({
      [name]: value === isCustom ? null : value,
      [first]: from,
      [last]: to,
      after: null,
    });
  };
  return (
    <>
      <select
        class="input fit"
        aria-label={label}
        value={hasRange ? isCustom : (query.get(name) ?? "")}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
        <option value={isCustom}>{texts.custom}</option>
      </select>
      {hasRange &&
        custom.names.map((end, at) => (
          <input
            key={end}
            class="input fit"
            type={custom.type}
            aria-label={at === 0 ? texts.from : texts.to}
            title={at === 0 ? texts.from : texts.to}
            value={custom.toValue(query.get(end) ?? "")}
            onChange={({ currentTarget: { value } }) => {
              if (value !== "") router.setQuery({ [end]: custom.toParameter(value), after: null });
            }}
          />
        ))}
    </>
  );
}

/** Days in UTC, both included. */
export function DaysFilter() {
  return <RangeSelect name="days" label={texts.days} options={dayOptions} custom={days} />;
}

const dayOptions = [
  ["1", texts.lastDays["1"]],
  ["7", texts.lastDays["7"]],
  ["", texts.lastDays["30"]],
  ["90", texts.lastDays["90"]],
] as const;

const dayMs = 86_400_000;

const days: Custom = {
  type: "date",
  names: ["start_date", "end_date"],
  firstEnds: () => [dayAt(Date.now() - 6 * dayMs), dayAt(Date.now())],
  toValue: (parameter) => parameter,
  toParameter: (value) => value,
};

function dayAt(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The parameters of the admin API for what `DaysFilter` chose. */
export function daysAsked(query: URLSearchParams): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const name of ["days", ...days.names]) {
    const value = query.get(name);
    if (value !== null && value !== "") parameters.set(name, value);
  }
  return parameters;
}

/** Moments. `initial`: the seconds of the range that isn't in the address. */
export function MomentsFilter({ initial }: { readonly initial: keyof typeof texts.last }) {
  const others = Object.entries(texts.last).filter(([value]) => value !== initial);
  return (
    <RangeSelect
      name="seconds"
      label={texts.range}
      options={[["", texts.last[initial]], ...others]}
      custom={moments}
    />
  );
}

const moments: Custom = {
  type: "datetime-local",
  names: ["start", "end"],
  firstEnds: () => [minuteAt(Date.now() - dayMs), minuteAt(Date.now())],
  // The browser's own field has no zone: it shows the parts as they are.
  toValue: (parameter) => parameter.slice(0, 16),
  toParameter: (value) => `${value.slice(0, 16)}:00Z`,
};

function minuteAt(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16)}:00Z`;
}

/** The parameters of GET /admin/traffic for what `MomentsFilter` chose. */
export function momentsAsked(query: URLSearchParams, initial: string): string {
  const start = query.get("start");
  const end = query.get("end");
  if (start === null || end === null)
    return `seconds=${encodeURIComponent(query.get("seconds") ?? initial)}`;
  return `${new URLSearchParams({ start, end })}`;
}
