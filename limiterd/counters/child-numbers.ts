/**
 * The six numbers of a child's record: its window, and the log sequence number up to which it was
 * restored. While the child's counter is checked out, they are outdated and the first is the
 * counter's position.
 */
import type { ChildTable } from "./child-table.js";
import type { Window } from "./window.js";

export function readStartMs(table: ChildTable, place: number): number {
  return table.numbers(place)[table.numbersAt(place)]!;
}

export function readWindow(table: ChildTable, place: number): Window {
  const numbers = table.numbers(place);
  const at = table.numbersAt(place);
  return {
    startMs: numbers[at]!,
    previousRequests: numbers[at + 1]!,
    currentRequests: numbers[at + 2]!,
    previousTokens: numbers[at + 3]!,
    currentTokens: numbers[at + 4]!,
  };
}

export function readRestoredLsn(table: ChildTable, place: number): number {
  return table.numbers(place)[table.numbersAt(place) + 5]!;
}

export function writeNumbers(
  table: ChildTable,
  place: number,
  window: Window,
  restoredLsn: number,
): void {
  const numbers = table.numbers(place);
  const at = table.numbersAt(place);
  numbers[at] = window.startMs;
  numbers[at + 1] = window.previousRequests;
  numbers[at + 2] = window.currentRequests;
  numbers[at + 3] = window.previousTokens;
  numbers[at + 4] = window.currentTokens;
  numbers[at + 5] = restoredLsn;
}

/** The position of a counter that is checked out. */
export function readPosition(table: ChildTable, place: number): number {
  return table.numbers(place)[table.numbersAt(place)]!;
}

export function writePosition(table: ChildTable, place: number, position: number): void {
  table.numbers(place)[table.numbersAt(place)] = position;
}
