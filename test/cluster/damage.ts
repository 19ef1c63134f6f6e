/** Ways to damage what an engine answers, by a seed. */

export interface Random {
  /** From 0 up to 1. */
  next(): number;
  int(below: number): number;
  pick<T>(of: readonly T[]): T;
}

export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (below: number): number => Math.floor(next() * below);
  return { next, int, pick: (of) => of[int(of.length)]! };
}

/** Whole answers that nothing was asked for, or something else was. */
const answers = [
  ...["*-1", "$-1", "*0", "$0\r\n", ":0", ":-1", ":9007199254740993", ":99999999999999999999"],
  ...["+OK", "+", "_", "%1", "~1", ">3", ",nan", "#t", "(5", "=5", "|1", "hello", ""],
  ...["*99999999999", "*1000000000", "*1000001", "$99999999999", "$536870912", "*-7", "$-7", ":"],
  "-ERR unknown",
  "-",
  "-WRONGTYPE Operation against a key holding the wrong kind of value",
  "-NOSCRIPT No matching script",
  "-OOM command not allowed when used memory > 'maxmemory'.",
  "-READONLY You can't write against a read only replica.",
  "-LOADING",
  "-BUSY",
  "-NOAUTH",
  "-FOREIGN x",
  "-MOVED 99999999999 127.0.0.1:99999",
  "-MOVED 1 nowhere",
  "-MOVED",
  "-ASK 5 127.0.0.1:1",
  "-CLUSTERDOWN",
  "-TRYAGAIN",
  "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx",
  "*3\r\n$7\r\nmessage\r\n$-1\r\n$-1",
  "*2\r\n$7\r\nmessage\r\n:1",
  "*1\r\n$-1",
  "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1",
  "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0",
  "*3\r\n:1\r\n:2\r\n:3",
  "*1\r\n*3\r\n:0\r\n:1638399999999\r\n*2\r\n$9\r\n127.0.0.1\r\n:1",
  "*1\r\n*3\r\n:0\r\n:16383\r\n$-1",
  "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$1\r\nx\r\n:99999",
  `${"*1\r\n".repeat(20_000)}:1`,
  `${"*1\r\n".repeat(7)}:1`,
  `*13\r\n${":0\r\n".repeat(13)}`,
  `*2\r\n*13\r\n${":1\r\n".repeat(13)}$40\r\n${"0".repeat(40)}`,
].map((text) => Buffer.from(`${text}\r\n`));

const numbers = ["-1", "nan", "1e308", "9007199254740993", "0", "-9223372036854775808", ""];
const types = "*$:+-%~>_,#(=";

/** Of one connection or several: a part may be held back until the next one. */
export function createDamage(random: Random): (answer: Buffer) => Buffer | null {
  let held: Buffer | null = null;
  const at = (bytes: Buffer): number => random.int(Math.max(1, bytes.length));
  const ways: readonly ((bytes: Buffer) => Buffer | null)[] = [
    (bytes) => {
      const flipped = Buffer.from(bytes);
      for (let i = 0; i <= random.int(3); i++) {
        const place = at(flipped);
        flipped[place] = flipped[place]! ^ (1 << random.int(8));
      }
      return flipped;
    },
    (bytes) => bytes.subarray(0, at(bytes)),
    (bytes) => Buffer.concat([bytes, bytes]),
    (bytes) => {
      const before = held ?? random.pick(answers);
      held = Buffer.from(bytes);
      return Buffer.concat([bytes, before]);
    },
    () => random.pick(answers),
    (bytes) => Buffer.concat([random.pick(answers), bytes]),
    (bytes) => Buffer.concat([bytes, random.pick(answers)]),
    (bytes) => inText(bytes, /\d+/g, () => random.pick(numbers)),
    (bytes) => inText(bytes, /^[*$:+-]/gm, () => types[random.int(types.length)]!),
    (bytes) => {
      const place = at(bytes);
      return Buffer.concat([bytes.subarray(0, place), random.pick(answers), bytes.subarray(place)]);
    },
    () => null,
  ];
  function inText(bytes: Buffer, pattern: RegExp, put: () => string): Buffer {
    const text = bytes.toString("latin1");
    const places = [...text.matchAll(pattern)];
    if (places.length === 0) return bytes;
    const { index, 0: found } = random.pick(places);
    return Buffer.from(
      `${text.slice(0, index)}${put()}${text.slice(index + found.length)}`,
      "latin1",
    );
  }
  return (bytes) => random.pick(ways)(bytes);
}
