/**
 * The time range of a page, in its address: one of the usual ranges, or a first and a last moment
 * or day, in UTC.
 */
import { rangeTexts as texts } from "../../texts/range-texts.js";
import { useApp } from "../app.js";

interface Custom {
  readonly type: "date" | "datetime-local";
  /** The parameters of the query. */
  readonly names: readonly [first: string, last: string];
  /** The first and last value when a custom range is chosen. */
  readonly firstEnds: () => readonly [first: string, last: string];
  readonly toValue: (parameter: string) => string;
  readonly toParameter: (value: string) => string;
}

interface RangeSelectProps {
  readonly label: string;
  /** Parameters such as `days=7` with their labels; empty for the default range. */
  readonly options: readonly (readonly [parameter: string, text: string])[];
  readonly customs: readonly (readonly [custom: Custom, text: string])[];
}

function RangeSelect({ label, options, customs }: RangeSelectProps) {
  const { router } = useApp();
  const { query } = router.place.value;
  const chosenCustom = customs.find(([{ names }]) => query.has(names[0]))?.[0] ?? null;
  const choose = (value: string): void => {
    const custom = customs.find(([{ type }]) => type === value)?.[0] ?? null;
    const names = [
      ...options.map(([parameter]) => parameter.split("=")[0]!),
      ...customs.flatMap(([{ names }]) => names),
    ];
    const [name = "", chosen = null] = custom === null ? value.split("=") : [];
    const [from, to] = custom?.firstEnds() ?? [];
    router.setQuery({
      ...Object.fromEntries([...names, "after"].map((name) => [name, null])),
      ...(custom === null
        ? { [name]: chosen }
        : { [custom.names[0]]: from!, [custom.names[1]]: to! }),
    });
  };
  const usual = options.find(([parameter]) => {
    const [name = "", value] = parameter.split("=");
    return query.get(name) === value;
  });
  return (
    <>
      <select
        class="input fit"
        aria-label={label}
        value={chosenCustom?.type ?? usual?.[0] ?? ""}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
        {customs.map(([{ type }, text]) => (
          <option key={type} value={type}>
            {text}
          </option>
        ))}
      </select>
      {chosenCustom?.names.map((end, index) => (
        <input
          key={end}
          class="input fit"
          type={chosenCustom.type}
          aria-label={index === 0 ? texts.from : texts.to}
          title={index === 0 ? texts.from : texts.to}
          value={chosenCustom.toValue(query.get(end) ?? "")}
          onChange={({ currentTarget: { value } }) => {
            if (value !== "")
              router.setQuery({ [end]: chosenCustom.toParameter(value), after: null });
          }}
        />
      ))}
    </>
  );
}

/** A range of days in UTC, both inclusive. `times`: a range with times is possible, too. */
export function DaysFilter({ times = false }: { readonly times?: boolean }) {
  return times ? (
    <RangeSelect
      label={texts.range}
      options={[...hourOptions, ...dayOptions]}
      customs={[
        [days, texts.customDays],
        [moments, texts.customTimes],
      ]}
    />
  ) : (
    <RangeSelect label={texts.days} options={dayOptions} customs={[[days, texts.custom]]} />
  );
}

const hourOptions = [
  ["hours=3", texts.lastHours["3"]],
  ["hours=24", texts.lastHours["24"]],
] as const;

const dayOptions = [
  ["days=1", texts.lastDays["1"]],
  ["days=7", texts.lastDays["7"]],
  ["", texts.lastDays["30"]],
  ["days=90", texts.lastDays["90"]],
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

/** A range of moments. `initial`: the length of the default range, in seconds. */
export function MomentsFilter({ initial }: { readonly initial: keyof typeof texts.last }) {
  const further = Object.entries(texts.last).filter(([value]) => value !== initial);
  return (
    <RangeSelect
      label={texts.range}
      options={[
        ["", texts.last[initial]],
        ...further.map(([value, text]) => [`seconds=${value}`, text] as const),
      ]}
      customs={[[moments, texts.custom]]}
    />
  );
}

const moments: Custom = {
  type: "datetime-local",
  names: ["start", "end"],
  firstEnds: () => [minuteAt(Date.now() - dayMs), minuteAt(Date.now())],
  // The browser's field has no zone, and shows the UTC text unchanged.
  toValue: (parameter) => parameter.slice(0, 16),
  toParameter: (value) => `${value.slice(0, 16)}:00Z`,
};

function minuteAt(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16)}:00Z`;
}
