/**
 * What is wrong with a configuration, and where it stands: messages begin with a path in the file,
 * a variable or a flag.
 */

export interface Problem {
  readonly kind: keyof Problems;
  /** The file's path, or what else the place is called. */
  readonly place: string;
  readonly message: string;
}

/** Messages as they are gathered, by where they stand. */
export interface Problems {
  readonly file: string[];
  readonly environment: string[];
  readonly flags: string[];
}

export function noProblems(): Problems {
  return { file: [], environment: [], flags: [] };
}

/** All of them. Without a file its part, which is the default, is decided by the environment. */
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

/** As an operator reads it: one line. */
export function problemLine({ place, message }: Problem): string {
  return `${place}: ${message.replaceAll("\n", " ")}`;
}
