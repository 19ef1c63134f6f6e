/**
 * Cells that don't work yet, and why. One that works after all is reported as out of date. Also, in
 * plain words, why some cells fail without Sluice in the same way.
 */
import type { CellResult } from "./run-cell.js";

interface Known {
  readonly client: RegExp;
  readonly model: RegExp;
  readonly why: string;
}

const known: readonly Known[] = [];

const withoutSluice: readonly Known[] = [
  {
    client: /^python-google-genai$/,
    model: /^gemini-/,
    why: "the SDK sends `include_thoughts`, a field that Google's description of the API lacks",
  },
];

export function whyNotYet(cell: CellResult): string | null {
  return whyIn(known, cell);
}

export function whyWithoutSluice(cell: CellResult): string | null {
  return whyIn(withoutSluice, cell);
}

function whyIn(list: readonly Known[], { client, model }: CellResult): string | null {
  return list.find((each) => each.client.test(client) && each.model.test(model))?.why ?? null;
}
