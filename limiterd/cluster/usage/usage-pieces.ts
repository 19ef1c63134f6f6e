/**
 * The layout of a host's sums of usage in the engine: each day has a few dozen hashes, its pieces,
 * so that each is small and a report reads few of them. A sum's path determines its piece. Pure.
 */
import { type Rollup, rollupFromStored, rollupToStored } from "../../usage/rollup.js";

/** Sums of a path, of a path by model, and of a path by key and requested model. */
type SumKind = "t" | "m" | "o";

/** Pieces per kind and day. */
const piecesPerKind = 32;

/** The place of a sum: `field` is the rest of its key in the store. */
export interface SumPlace {
  readonly day: string;
  readonly piece: string;
  readonly field: string;
}

/** Null for a sum that no report reads, such as a label's. */
export function sumPlaceOf(key: string): SumPlace | null {
  const parts = key.split("\n");
  const [kind, first = "", second = ""] = parts;
  if (kind === "t" && parts.length === 4) {
    const [day, path] = [parts[3]!, childPath(first, second)];
    return { day, piece: pieceOf("t", path), field: `${first}\n${second}` };
  }
  if (kind === "m" && parts.length === 5)
    return {
      day: second,
      piece: pieceOf("m", first),
      field: [first, ...parts.slice(3)].join("\n"),
    };
  if (kind === "o" && parts.length === 6)
    return { day: first, piece: pieceOf("o", second), field: parts.slice(2).join("\n") };
  return null;
}

/** The key in the store of a piece's field. */
export function keyOf({ day, piece, field }: SumPlace): string {
  if (piece.startsWith("t")) return `t\n${field}\n${day}`;
  if (piece.startsWith("o")) return `o\n${day}\n${field}`;
  const end = field.indexOf("\n");
  return `m\n${field.slice(0, end)}\n${day}${field.slice(end)}`;
}

/** The piece that has a path's sums of one kind. */
export function pieceOf(kind: SumKind, path: string): string {
  let hash = 0;
  for (let i = 0; i < path.length; i++) hash = (Math.imul(hash, 31) + path.charCodeAt(i)) | 0;
  return `${kind}${(hash ^ (hash >>> 15)) & (piecesPerKind - 1)}`;
}

function childPath(parent: string, name: string): string {
  return parent === "" || parent === "/" ? `/${name}` : `${parent}/${name}`;
}

/**
 * Counts and parts of money sums as decimals, in the store's order; zeros are empty, and trailing
 * ones are left out.
 */
export function rollupText(sum: Rollup): string {
  const counts = rollupToStored({ ...sum, models: 0 }, 0);
  const length = counts.findLastIndex((count) => count !== 0) + 1;
  return counts
    .slice(0, length)
    .map((count) => (count === 0 ? "" : String(count)))
    .join(",");
}

/** Counts of a sum before its details. */
const countsMin = 18;

/** Null for what `rollupText` never wrote. */
export function rollupFromText(text: string): Rollup | null {
  if (!/^[\d,]+$/.test(text)) return null;
  const counts = text.split(",").map(Number);
  while (counts.length < countsMin) counts.push(0);
  const sum = rollupFromStored(counts);
  if (sum === null) return null;
  const sums = [sum.inputCost, sum.outputCost, sum.totalCost, sum.rewriteCostSaved];
  return sums.every(({ picoUsd }) => picoUsd < 1_000_000) ? sum : null;
}
