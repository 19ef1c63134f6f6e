/**
 * The problems of a configuration and their places. Each message begins with a path in the file, a
 * variable or a flag.
 */

/** In a text, counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface Problem {
  readonly kind: keyof Problems;
  /** The path of the file, `environment` or `flags`. */
  readonly place: string;
  readonly message: string;
  /** In the file; absent where it isn't known. */
  readonly position?: Position;
}

/** Messages while they are collected, by their places. */
export interface Problems {
  readonly file: string[];
  readonly environment: string[];
  readonly flags: string[];
}

export function noProblems(): Problems {
  return { file: [], environment: [], flags: [] };
}

/** All problems. Without a file, those of the default configuration come from the environment. */
export function problemList(problems: Problems, file: string | null): readonly Problem[] {
  const places: readonly (readonly [kind: keyof Problems, place: string])[] = [
    ["file", file ?? "environment"],
    ["environment", "environment"],
    ["flags", "flags"],
  ];
  return places.flatMap(([kind, place]) =>
    problems[kind].map((message) => ({ kind, place, message })),
  );
}

/** The problem as one line for people. */
export function problemLine({ place, message, position }: Problem): string {
  const at = position === undefined ? "" : `:${position.line}:${position.column}`;
  return `${place}${at}: ${message.replaceAll("\n", " ")}`;
}
