/**
 * The problems of a configuration and their positions. Each message begins with a path in the file,
 * a variable or a flag.
 */

/** A position in a text, counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface Problem {
  readonly kind: keyof Problems;
  /** The path of the file, `environment` or `flags`. */
  readonly place: string;
  readonly message: string;
  /** The position in the file; absent if unknown. */
  readonly position?: Position;
}

/** Collects messages by source. */
export interface Problems {
  readonly file: string[];
  readonly environment: string[];
  readonly flags: string[];
}

export function noProblems(): Problems {
  return { file: [], environment: [], flags: [] };
}

/**
 * The messages without those that only follow from others: about a value whose variable isn't set,
 * about a misspelt key, and about the period that `rpm` implies.
 */
export function withoutConsequences(messages: readonly string[]): readonly string[] {
  const causes = messages.flatMap((message) => {
    const [, variablePath] = /^(\S+) needs the environment variable /.exec(message) ?? [];
    const [, path] = /^(\S+)\.\w+ is not a known key; write limits: /.exec(message) ?? [];
    const [, above, suggestion] =
      /^(\S+)\.[\w-]+ is not a known key; (?:did you mean|write) (\w+)\b/.exec(message) ?? [];
    const [, limit] = /^(\S+)\.\w+ is not a known key; write \{ period: /.exec(message) ?? [];
    return [
      ...(variablePath === undefined ? [] : [`${variablePath} is required`]),
      ...(above === undefined ? [] : [`${above}.${suggestion} is required`]),
      ...(path === undefined ? [] : [`${path}.limits is required`]),
      ...(limit === undefined ? [] : [`${limit}.period or ${limit}.period_seconds is required`]),
    ];
  });
  return causes.length === 0
    ? messages
    : messages.filter((message) => !causes.some((start) => message.startsWith(start)));
}

/** All problems. Without a file, those of the default configuration are the environment's. */
export function problemList(problems: Problems, file: string | null): readonly Problem[] {
  const places: readonly (readonly [kind: keyof Problems, place: string])[] = [
    ["file", file ?? "environment"],
    ["environment", "environment"],
    ["flags", "flags"],
  ];
  return places.flatMap(([kind, place]) =>
    withoutConsequences(problems[kind]).map((message) => ({ kind, place, message })),
  );
}

/** A problem with a known position, such as invalid YAML. */
export function fileProblem(
  { message, position }: Required<Pick<Problem, "message" | "position">>,
  file: string | null,
): Problem {
  return { kind: "file", place: file ?? "environment", message, position };
}

/** The problem as one line for people. */
export function problemLine({ place, message, position }: Problem): string {
  const suffix = position === undefined ? "" : `:${position.line}:${position.column}`;
  return `${place}${suffix}: ${message.replaceAll("\n", " ")}`;
}

/** The offset in the text at which a value, or its key, begins. */
export interface Place {
  readonly offset: number;
  readonly below: Places;
}

/**
 * The places of the values in a mapping, by key, or in a list, by index; null for any other value.
 */
export type Places = ReadonlyMap<string | number, Place> | null;

/** The positions of offsets, which must ascend. */
export function positionsOf(text: string, offsets: readonly number[]): readonly Position[] {
  let line = 1;
  let lineStart = 0;
  return offsets.map((offset) => {
    for (
      let end = text.indexOf("\n", lineStart);
      end !== -1 && end < offset;
      end = text.indexOf("\n", lineStart)
    ) {
      line++;
      lineStart = end + 1;
    }
    return { line, column: offset - lineStart + 1 };
  });
}

/** Adds positions to the problems in the file. */
export function locateProblems(
  problems: readonly Problem[],
  { text, places }: { readonly text: string; readonly places: Places },
): readonly Problem[] {
  const offsets = problems.map(({ kind, message }) =>
    kind === "file" ? placeOfPath(message, places) : null,
  );
  const ascending = [...new Set(offsets)].flatMap((offset) => offset ?? []).sort((a, b) => a - b);
  const positions = positionsOf(text, ascending);
  return problems.map((problem, i) => {
    const offset = offsets[i];
    return offset == null
      ? problem
      : { ...problem, position: positions[ascending.indexOf(offset)]! };
  });
}

/** The place of the longest path in the file with which a text begins; null if there is none. */
export function placeOfPath(text: string, places: Places): number | null {
  /** A key or a list index. */
  const step = /\.?([\w-]+)|\[(?:(\d+)|("(?:[^"\\]|\\.)*"))\]/y;
  let lastAt: number | null = null;
  let below = places;
  for (let match = step.exec(text); match !== null && below !== null; match = step.exec(text)) {
    const [, key, index, quoted] = match;
    const name: unknown = quoted === undefined ? (key ?? Number(index)) : JSON.parse(quoted);
    const place = below.get(name as string | number);
    if (place === undefined) break;
    lastAt = place.offset;
    below = place.below;
  }
  return lastAt;
}
