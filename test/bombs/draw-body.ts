/** Compressed bodies, drawn from a seed: honest ones, damaged ones, and bombs. */
import * as zlib from "node:zlib";
import type { Random } from "../sim/random.js";

export interface DrawnBody {
  /** What is in it, and what was done to it, for a finding. */
  readonly name: string;
  readonly bytes: Buffer;
  /** Values of `Content-Encoding`; several: as many headers. */
  readonly coding: readonly string[];
}

type Compress = (text: Buffer, random: Random) => Buffer;

const gzip: Compress = (text, random) => zlib.gzipSync(text, { level: random.int(1, 9) });
const codings: readonly (readonly [coding: string, compress: Compress])[] = [
  ["gzip", gzip],
  ["x-gzip", gzip],
  ["gzip", members],
  ["deflate", (text, random) => zlib.deflateSync(text, { level: random.int(1, 9) })],
  ["deflate", (text, random) => zlib.deflateRawSync(text, { level: random.int(1, 9) })],
  ["br", brotli],
  ["br", brotli],
  ...zstd(),
];

function brotli(text: Buffer, random: Random): Buffer {
  const params = { [zlib.constants.BROTLI_PARAM_QUALITY]: random.int(1, 5) };
  return zlib.brotliCompressSync(text, { params });
}

function members(text: Buffer, random: Random): Buffer {
  const cuts = Array.from({ length: random.int(1, 20) }, () => random.int(0, text.length));
  const ends = [...cuts.sort((a, b) => a - b), text.length];
  return Buffer.concat(ends.map((end, i) => gzip(text.subarray(ends[i - 1] ?? 0, end), random)));
}

/** From Node 22.15 on. */
function zstd(): readonly (readonly [string, Compress])[] {
  const { zstdCompressSync } = zlib as unknown as { zstdCompressSync?: (text: Buffer) => Buffer };
  return zstdCompressSync === undefined ? [] : [["zstd", (text) => zstdCompressSync(text)]];
}

const fillers: readonly string[] = [
  " ",
  "\t\r\n ",
  "\0",
  '{"a":',
  "[",
  "{},",
  "0,",
  "\\u0061",
  '\\"',
  '"a":"b",',
  "\ufeff",
  "\xff",
];

const fill = (filler: string, bytes: number): Buffer =>
  Buffer.alloc(bytes, Buffer.from(filler, filler === "\xff" ? "latin1" : "utf8"));

function noise(bytes: number, random: Random): string {
  const words = Array.from({ length: 512 }, () => random.next().toString(36).slice(2));
  let text = "";
  while (text.length < bytes) text += random.pick(words) + (random.chance(0.5) ? " " : "");
  return text.slice(0, bytes);
}

interface Text {
  readonly name: string;
  readonly text: Buffer;
}

/** `honest`: a body that the endpoint takes. */
function drawText(honest: string, random: Random): Text {
  const bytes = Math.round(random.skewed(20, 40_000_000));
  const filler = random.pick(fillers);
  const named = (kind: string, text: Buffer): Text => ({ name: `${kind}, ${text.length}`, text });
  const open = Buffer.from(honest.slice(0, -1));
  const shown = JSON.stringify(filler);
  switch (random.int(0, 5)) {
    case 0:
      return named("honest", Buffer.from(honest));
    case 1:
      return named(`all ${shown}`, fill(filler, bytes));
    case 2:
      return named(`honest, then ${shown}`, Buffer.concat([open, fill(filler, bytes)]));
    case 3: {
      const text = `${honest.slice(0, -1)},"x":"${noise(Math.min(bytes, 3_000_000), random)}"}`;
      return named("noise in a field", Buffer.from(text));
    }
    case 4: {
      const parts = [open, Buffer.from(',"x":"'), fill("\\u0061", bytes - (bytes % 6))];
      return named("escapes in a field", Buffer.concat([...parts, Buffer.from('"}')]));
    }
    default: {
      // Grows at its end, and is JSON.
      const parts = [open, fill(" ", bytes), Buffer.from("}")];
      return named("honest, blanks before its end", Buffer.concat(parts));
    }
  }
}

function damage(bytes: Buffer, random: Random): readonly [how: string, Buffer] {
  switch (random.int(0, 7)) {
    case 0:
      return ["cut", bytes.subarray(0, random.int(0, Math.max(0, bytes.length - 1)))];
    case 1: {
      const rest = fill(random.pick(fillers), Math.round(random.skewed(1, 100_000)));
      return ["with a rest", Buffer.concat([bytes, rest])];
    }
    case 2: {
      const flipped = Buffer.from(bytes);
      for (let i = random.int(1, 8); i > 0 && flipped.length > 0; i--)
        flipped[random.int(0, flipped.length - 1)]! ^= 1 << random.int(0, 7);
      return ["flipped bits", flipped];
    }
    default:
      return ["whole", bytes];
  }
}

export function drawBody(honest: string, random: Random): DrawnBody {
  const { name, text } = drawText(honest, random);
  const [coding, compress] = random.pick(codings);
  const once = compress(text, random);
  const [how, bytes] = damage(once, random);
  const drawn = (bytes: Buffer, ...coding: readonly string[]): DrawnBody => ({
    name: `${name}; ${coding.join(" + ")}, ${bytes.length} bytes, ${how}`,
    bytes,
    coding,
  });
  switch (random.int(0, 11)) {
    case 0: {
      const [outer, compressAgain] = random.pick(codings);
      const twice = compressAgain(bytes, random);
      return random.chance(0.5) ? drawn(twice, `${coding}, ${outer}`) : drawn(twice, coding, outer);
    }
    case 1:
      return drawn(bytes, random.pick(codings)[0]);
    case 2:
      return drawn(
        bytes,
        random.pick(["zstd", "compress", "identity", "", "aes128gcm", "gzip;q=1"]),
      );
    case 3:
      return drawn(
        bytes,
        random.pick([coding.toUpperCase(), ` ${coding} `, `identity, ${coding}`]),
      );
    default:
      return drawn(bytes, coding);
  }
}
