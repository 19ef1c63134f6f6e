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
  const first = table.numbersAt(place);
  return {
    startMs: numbers[first]!,
    previousRequests: numbers[first + 1]!,
    currentRequests: numbers[first + 2]!,
    previousTokens: numbers[first + 3]!,
    currentTokens: numbers[first + 4]!,
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
  const first = table.numbersAt(place);
  numbers[first] = window.startMs;
  numbers[first + 1] = window.previousRequests;
  numbers[first + 2] = window.currentRequests;
  numbers[first + 3] = window.previousTokens;
  numbers[first + 4] = window.currentTokens;
  numbers[first + 5] = restoredLsn;
}

/** The position of a counter that is checked out. */
export function readPosition(table: ChildTable, place: number): number {
  return table.numbers(place)[table.numbersAt(place)]!;
}

export function writePosition(table: ChildTable, place: number, position: number): void {
  table.numbers(place)[table.numbersAt(place)] = position;
}
