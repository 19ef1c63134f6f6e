/** What is wrong with a configuration, and where it stands: messages begin with a path in the file, a variable or a flag. */

export interface Problem {
  /** The file's path, or `outside`. */
  readonly place: string;
  readonly message: string;
}

/** Messages as they are gathered. */
export interface Problems {
  readonly inFile: string[];
  /** In a variable or a flag. */
  readonly outside: string[];
}

/** What messages call everything that isn't the file. */
const outside = "environment and flags";

/** All of them, the file's first. Without a file there are only the others. */
export function problemList(problems: Problems, file: string | null): readonly Problem[] {
  return [...problems.inFile.map((message) => ({ place: file ?? outside, message })), ...problems.outside.map((message) => ({ place: outside, message }))];
}

/** As an operator reads it: one line. */
export function problemLine({ place, message }: Problem): string {
  return `${place}: ${message.replaceAll("\n", " ")}`;
}
