/**
 * Which faults a run plants, and the score. Pure. A fault's lot is made of the seed, its file, its
 * line's text and what is done there, and it is drawn if its lot is below the share: so a room that
 * is run by itself plants what the run over all rooms plants there, and a change in one file draws
 * no other faults in the next.
 */
import { createHash } from "node:crypto";
import { dirname } from "node:path";
import type { Equivalent } from "./equivalents/equivalent.js";
import { equivalents } from "./equivalents/equivalents.js";
import { type Mutation, mutationsOf } from "./mutations.js";

export interface Fault extends Mutation {
  /** Below `dist/`. */
  readonly file: string;
  readonly text: string;
  /** The compiled line, trimmed. */
  readonly lineText: string;
  /** Of those on the line where the same is done: which one, from 1 on. */
  readonly nth: number;
}

/** Every fault of a compiled file, those that are equivalent as well. */
export function faultsOf(file: string, text: string): Fault[] {
  const lines = text.split("\n");
  const before = new Map<string, number>();
  return mutationsOf(text).map((mutation) => {
    const { line, what } = mutation;
    const nth = (before.get(`${line} ${what}`) ?? 0) + 1;
    before.set(`${line} ${what}`, nth);
    return { ...mutation, file, text, lineText: lines[line - 1]!.trim(), nth };
  });
}

/** Those whose lot is below `share`, a number up to 1; they come from one file after the other. */
export function drawn(faults: readonly Fault[], seed: number, share: number): Fault[] {
  const before = new Map<string, number>();
  return faults.filter(({ file, lineText, what }) => {
    const name = JSON.stringify([seed, file, lineText, what]);
    const nth = before.get(name) ?? 0;
    before.set(name, nth + 1);
    const hash = createHash("sha256").update(`${name} ${nth}`).digest();
    return hash.readUInt32BE() / 2 ** 32 < share;
  });
}

export function isEquivalent(
  { file, lineText, what, nth }: Fault,
  list: readonly Equivalent[] = equivalents,
): boolean {
  const source = file.replace(/\.js$/, ".ts");
  return list.some(
    (each) =>
      each.file === source &&
      each.what === what &&
      each.line === lineText &&
      (each.nth ?? nth) === nth,
  );
}

export type Outcome = "noticed" | "survived" | "not run" | "equivalent";

/** A line for each room, and one for all: noticed ÷ (drawn − equivalent). */
export function scores(tried: readonly { readonly file: string; readonly outcome: Outcome }[]) {
  const rooms = [...new Set(tried.map(({ file }) => dirname(file)))];
  return [
    ...rooms.map((room) =>
      scoreLine(
        room,
        tried.filter(({ file }) => dirname(file) === room),
      ),
    ),
    scoreLine("all", tried),
  ];
}

function scoreLine(name: string, tried: readonly { readonly outcome: Outcome }[]): string {
  const count = (some: Outcome): number => tried.filter(({ outcome }) => outcome === some).length;
  const equivalent = count("equivalent");
  const counting = tried.length - equivalent;
  const share = counting === 0 ? 100 : (100 * count("noticed")) / counting;
  return `${name}: ${tried.length} drawn, ${equivalent} equivalent, ${count("noticed")} noticed: ${share.toFixed(1)}%`;
}
