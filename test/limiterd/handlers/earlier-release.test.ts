/** A proxy and a command line of the release before, as they were recorded, with this daemon. */
import t from "tap";
import { handleFrame } from "../../../limiterd/handlers/handle-message.js";
import { newKey } from "../../../shared/domain/key-secret.js";
import { toWire } from "../../../shared/wire/to-wire.js";
import { RecordedProxy, recordedLines } from "../../support/recorded-release.js";
import { ask, counts, pathRule, startDaemon, type TestPeer } from "../in-memory-daemon.js";

const day = pathRule("/team", 86_400, { requests: 1000, tokens: 100_000 });
const small = pathRule("/small", 0, { requests: 1 });

/** Whether an answer has what the recorded one had, in its place; numbers of the log may differ. */
function lacking(answer: readonly unknown[], recorded: readonly unknown[]): string | null {
  const changes = answer[0] === "admitted" ? 4 : -1;
  for (const [at, item] of recorded.entries()) {
    const mine = answer[at];
    if (at === changes ? typeof mine === "number" : lacksNothing(mine, item)) continue;
    return `${JSON.stringify(answer)} lacks ${JSON.stringify(item)} of ${JSON.stringify(recorded)}`;
  }
  return null;
}

/** Texts, such as a message or a time, may be others; what is a number stays the same one. */
function lacksNothing(mine: unknown, recorded: unknown): boolean {
  if (typeof recorded === "string") return typeof mine === "string";
  if (typeof recorded !== "object" || recorded === null) return Object.is(mine, recorded);
  if (typeof mine !== "object" || mine === null) return false;
  return Object.entries(recorded).every(([key, value]) =>
    lacksNothing((mine as Record<string, unknown>)[key], value),
  );
}

t.test(
  "what a proxy of the release before says is understood, and so is each answer",
  async (t) => {
    const daemon = startDaemon([day, small, pathRule("/x", 60, { tokens: 5 })], {
      budgets: [
        {
          scope: "user_path",
          subject: "/spent",
          periodSeconds: 86_400,
          amountUsd: 0.000001,
          perChild: false,
        },
      ],
    });
    const keyHash = recordedLines().flatMap(({ frame }) =>
      frame?.[0] === "authorize" ? [frame[2]] : [],
    )[0];
    const proxy = new RecordedProxy();
    let peer: TestPeer = daemon.connect();
    let read = 0;
    let keyIssued = false;
    const answers: (readonly unknown[])[] = [];
    let settled = 0;
    for (const { event, from, frame } of recordedLines()) {
      if (event === "connect") {
        peer = daemon.connect();
        read = 0;
        answers.length = 0;
      }
      if (event === "close") peer.close();
      if (frame === undefined) continue;
      if (from !== "daemon") {
        const said = proxy.says(frame);
        if (said[2] === 10) break;
        t.ok(handleFrame(daemon.state, peer.state, said, daemon.nowMs), JSON.stringify(said));
        continue;
      }
      if (frame[2] === "keys_exist" && !keyIssued) {
        keyIssued = true;
        await ask(daemon, "keys.issue", {
          key_hash: keyHash,
          redacted_value: newKey().redacted,
          key: { name: "k", user_path: "/team/a" },
        });
      }
      await daemon.commit();
      for (const message of peer.received.slice(read)) {
        const answer = toWire(message);
        proxy.hears(answer);
        answers.push(answer);
        if (answer[0] === "settled") settled = Math.max(settled, answer[1] as number);
      }
      read = peer.received.length;
      // Several commits may be acknowledged in one frame.
      if (frame[0] === "settled") {
        t.ok(settled >= (frame[1] as number), `settled ${frame[1]}`);
        continue;
      }
      const at = answers.findIndex((answer) => answer[0] === frame[0] && answer[1] === frame[1]);
      t.not(at, -1, `an answer like ${JSON.stringify(frame)}`);
      if (at >= 0) t.equal(lacking(answers.splice(at, 1)[0]!, frame), null);
    }
    t.match(counts(daemon, day), { tokens: 30 + 5 + 5 + 11 + 13, inFlight: 0 });
    t.match(counts(daemon, small), { inFlight: 0 });
  },
);
