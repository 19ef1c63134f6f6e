/** Cells that don't work yet, and why. One that works after all is reported as out of date. */
import type { CellResult } from "./run-cell.js";

interface Known {
  readonly client: RegExp;
  readonly model: RegExp;
  readonly why: string;
}

const known: readonly Known[] = [];

export function whyNotYet({ client, model }: CellResult): string | null {
  return known.find((each) => each.client.test(client) && each.model.test(model))?.why ?? null;
}
