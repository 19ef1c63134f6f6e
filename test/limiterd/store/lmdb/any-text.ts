/** Texts of all kinds of characters, from a seed: control characters, halves of surrogate pairs. */
import type { Random } from "../../../sim/random.js";

const ranges: readonly (readonly [from: number, to: number])[] = [
  [0, 0x1f],
  [0, 4],
  [0x20, 0x7e],
  [0x7f, 0xff],
  [0x100, 0xd7ff],
  [0xd800, 0xdfff],
  [0xfff0, 0xffff],
  [0x10000, 0x10ffff],
];

/** Up to `charsMax` characters; most texts are of a few ranges alone. */
export function anyText(random: Random, charsMax: number): string {
  const kinds = Array.from({ length: random.int(1, 3) }, () => random.pick(ranges));
  let text = "";
  for (let left = random.int(0, charsMax); left > 0; left--) {
    const point = random.int(...random.pick(kinds));
    text += point < 0x10000 ? String.fromCharCode(point) : String.fromCodePoint(point);
  }
  return text;
}
