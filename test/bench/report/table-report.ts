/** The table of `npm run bench` as text: a line for each figure, a column for each contender. */
import { type ContenderName, contenderNames } from "../table/contenders.js";
import { median } from "./report.js";
import { formatTable } from "./table.js";

/** By contender, one value for each round. */
export type Values = Partial<Record<ContenderName, readonly number[]>>;

export interface Line {
  readonly name: string;
  readonly unit: "µs" | "ms" | "MB" | "kB";
  readonly values: Values;
  /** The contender whose values the others are divided by; null if they are shown as they are. */
  readonly base: ContenderName | null;
  /** The largest that Sluice's figure should be, and whose of its two columns. */
  readonly reach: Reach | null;
}

export interface Reach {
  readonly of: "Sluice" | "Sluice, no limits";
  readonly atMost: number;
}

export interface TableMeasures {
  readonly lines: readonly Line[];
  /** By contender, why it takes no part. */
  readonly skipped: Readonly<Record<string, string>>;
  readonly complaints: readonly string[];
}

/** One line's figures, as they are compared with its reach. */
export interface Figure {
  readonly name: string;
  readonly unit: Line["unit"] | "×";
  /** Medians over the rounds; those of the base are in the line's own unit. */
  readonly values: Partial<Record<ContenderName, number>>;
  readonly base: ContenderName | null;
  readonly lineUnit: Line["unit"];
  readonly reach: { readonly atMost: number; readonly measured: number } | null;
}

/** Of a line with a base, the median of the quotients within a round. */
export function figureOf({ name, unit, base, values, reach }: Line): Figure {
  const bases = base === null ? undefined : values[base];
  const medians: Partial<Record<ContenderName, number>> = {};
  for (const [contender, its] of Object.entries(values) as [ContenderName, readonly number[]][]) {
    if (its.length === 0) continue;
    const isBase = base === null || contender === base;
    const ofRounds = isBase ? its : its.map((value, round) => value / (bases?.[round] ?? NaN));
    medians[contender] = median(ofRounds);
  }
  const measured = reach === null ? undefined : medians[reach.of];
  return {
    ...{ name, base, values: medians, lineUnit: unit },
    unit: base === null ? unit : "×",
    reach: reach === null || measured === undefined ? null : { atMost: reach.atMost, measured },
  };
}

export function formatComparison({ lines, skipped, complaints }: TableMeasures): string {
  const figures = lines.map(figureOf);
  const columns = contenderNames.filter((name) =>
    figures.some(({ values }) => values[name] !== undefined),
  );
  const head = ["", ...columns, "at most", ""];
  const rows = figures.map((figure) => [
    figure.name,
    ...columns.map((name) => cell(figure, name)),
    figure.reach === null ? "" : show(figure.reach.atMost, figure.unit),
    figure.reach === null ? "" : verdict(figure.reach),
  ]);
  return [
    ...(complaints.length > 0
      ? ["!!! THIS RUN ISN'T SOUND", ...complaints.map((text) => `!!! ${text}`), ""]
      : []),
    ...formatTable(head, rows),
    ...Object.entries(skipped).map(([name, reason]) => `not measured: ${name} (${reason})`),
  ].join("\n");
}

function cell({ values, base, unit, lineUnit }: Figure, name: ContenderName): string {
  const value = values[name];
  if (value === undefined) return "";
  return show(value, name === base ? lineUnit : unit);
}

function show(value: number, unit: string): string {
  const isSmall = unit === "×" || (value < 10 && unit !== "MB");
  return `${isSmall ? value.toFixed(2) : Math.round(value).toLocaleString("en-US")} ${unit}`;
}

function verdict({ atMost, measured }: NonNullable<Figure["reach"]>): string {
  return measured <= atMost ? "PASS" : `${(measured / atMost).toFixed(2)} × too much`;
}
