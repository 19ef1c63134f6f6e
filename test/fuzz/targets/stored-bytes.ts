/**
 * Bytes that lie on the disk: files of settles that a stopped proxy has left, keys and values of
 * the store. Changed anywhere, they are refused, or are what was written.
 */

import {
  keyFromBytes,
  keyToBytes,
  sealValue,
  unsealValue,
} from "../../../limiterd/store/lmdb/entry-bytes.js";
import { parseFileName } from "../../../proxy/limiter/spool/settle-directory.js";
import {
  endFrame,
  headFrame,
  SettleFileReader,
  settleFrame,
} from "../../../proxy/limiter/spool/settle-file.js";
import type { Settle } from "../../../shared/wire/message-to-daemon.js";
import { someSettle } from "../../proxy/limiter/spool/some-settle.js";
import type { Random } from "../../sim/random.js";
import { type FuzzTarget, must } from "../fuzz-target.js";
import { cutBytes, mutateBytes } from "../mutate/mutate-bytes.js";
import { oddText, oddValue } from "../mutate/odd-values.js";

const head = { proxyId: "stopped", writtenAtMs: 1_767_225_600_000, sentAtMs: 0 };

interface ReadFile {
  readonly complete: boolean;
  readonly seqs: readonly number[];
}

function read(pieces: readonly Buffer[]): ReadFile {
  const reader = new SettleFileReader();
  const seqs: number[] = [];
  for (const piece of pieces) if (!reader.feed(piece, ({ seq }: Settle) => seqs.push(seq))) break;
  return { complete: reader.complete, seqs };
}

function trySettleFile(random: Random): void {
  const count = random.int(0, 4);
  const frames = [headFrame(head)];
  for (let seq = 1; seq <= count; seq++) frames.push(settleFrame(someSettle(seq)));
  frames.push(endFrame(count));
  // Frames that are lost, repeated or in another order, too.
  if (random.chance(0.3)) frames.splice(random.int(0, count + 1), 1);
  if (random.chance(0.3)) frames.splice(random.int(0, frames.length), 0, random.pick(frames));
  const whole = Buffer.concat(frames);
  const bytes = random.chance(0.2) ? whole : mutateBytes(whole, random);
  const once = read([bytes]);
  const inPieces = read(cutBytes(bytes, random));
  must(once.complete === inPieces.complete, "it is read alike however it is cut");
  if (!once.complete) return;
  must(
    once.seqs.every((seq, i) => seq === i + 1) && once.seqs.length <= count,
    () => `a complete file holds what was written: ${once.seqs.join()}`,
  );
}

function tryFileName(random: Random): void {
  const name = random.pick(["p-1.settles", "p-1.settles~two", `${oddText(random)}.settles`]);
  const parsed = parseFileName(mutateBytes(Buffer.from(name), random).toString("latin1"));
  must(parsed === null || /^[\w-]{1,64}$/.test(parsed.proxyId), "a name of a proxy");
}

function tryKey(random: Random): void {
  const key = random.chance(0.3) ? random.int(0, 2 ** random.int(1, 52)) : oddText(random);
  must(keyFromBytes(keyToBytes(key)) === key, () => `it comes back: ${JSON.stringify(key)}`);
  const bytes = mutateBytes(keyToBytes(key), random);
  const other = keyFromBytes(bytes);
  must(other === null || keyToBytes(other).equals(bytes), "one key for the same bytes");
}

function tryValue(random: Random): void {
  const value = Array.from({ length: random.int(0, 5) }, () => oddValue(random) ?? null);
  const key = keyToBytes(oddText(random));
  const sealed = sealValue("usage", key, value);
  must(unsealValue("usage", key, sealed) !== null, "it can be read");
  const changed = mutateBytes(sealed, random);
  must(
    changed.equals(sealed) || unsealValue("usage", key, changed) === null,
    "what was changed is refused",
  );
  const otherKey = mutateBytes(key, random);
  must(
    otherKey.equals(key) || unsealValue("usage", otherKey, sealed) === null,
    "what is under another key is refused",
  );
}

const trials = [trySettleFile, tryFileName, tryKey, tryValue];

export const storedBytes: FuzzTarget = {
  name: "stored-bytes",
  share: 1,
  open: () =>
    Promise.resolve({
      run(random) {
        random.pick(trials)(random);
        return 1;
      },
      close: () => Promise.resolve(),
    }),
};
