/** The limiter client with a daemon of the release before, as it was recorded. */
import t from "tap";
import { parseFromDaemon } from "../../../shared/wire/parse-from-daemon.js";
import { toWire } from "../../../shared/wire/to-wire.js";
import { RecordedDaemon, recordedLines } from "../../support/recorded-release.js";
import { admissionOf, ClientHarness, llama, nothing, promisesResolved } from "./client-harness.js";

/** Hands what the client has sent to the daemon; false: the daemon has hung up. */
function exchange(harness: ClientHarness, daemon: RecordedDaemon): boolean {
  for (const message of harness.take()) {
    const { answer, stays } = daemon.hears(toWire(message));
    const heard = answer === null ? null : parseFromDaemon(answer);
    if (answer !== null) harness.receive(heard);
    if (!stays) {
      harness.lose();
      return false;
    }
  }
  return true;
}

t.test("each frame of a daemon of the release before is understood", async (t) => {
  for (const { from, frame } of recordedLines())
    if (from === "daemon") t.match(parseFromDaemon(frame), { kind: frame![0] });
});

t.test(
  "a daemon of the release before gets a second hello, of its version, and then all it knows",
  async (t) => {
    const daemon = new RecordedDaemon();
    const harness = new ClientHarness();
    harness.connect();
    t.notOk(exchange(harness, daemon), "it hangs up on the first");
    t.same(harness.refusals, [], "which is no news");
    harness.connect();
    t.ok(exchange(harness, daemon));
    t.ok(harness.client.reachable);

    const asked = harness.ask();
    void harness.client.authorize("x".repeat(43));
    void harness.client.call("explain", {});
    t.ok(exchange(harness, daemon));
    await promisesResolved();
    const admission = admissionOf(asked);
    const rerouted = harness.client.reroute(admission, [llama]);
    t.ok(exchange(harness, daemon));
    t.match(await rerouted, { kind: "admitted" });
    harness.client.settle(admission, { ...nothing, tokens: 5 }, () => {});
    harness.client.noteRefusal(77, "req_1", "gpt-4o");
    t.ok(exchange(harness, daemon), "nothing is sent that it doesn't know");
    t.equal(harness.client.unsettled, 0);
  },
);
