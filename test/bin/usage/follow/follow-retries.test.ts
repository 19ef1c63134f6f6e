import t from "tap";
import { retryPauseMs } from "../../../../bin/usage/follow/follow-loop.js";
import { answerFailure } from "../../../../bin/usage/sinks/https-sink.js";

t.test("pauses double up to a minute, and are at least what was asked for", async (t) => {
  t.same(
    [1, 2, 3, 7, 8, 5000].map((failures) => retryPauseMs(failures, null, 1)),
    [1000, 2000, 4000, 60_000, 60_000, 60_000],
  );
  t.equal(retryPauseMs(1, null, 0), 500);
  t.equal(retryPauseMs(1, 90_000, 1), 90_000);
  t.equal(retryPauseMs(1, 10 ** 9, 1), 600_000);
});

t.test("which answers of an address pass", async (t) => {
  const at = (status: number, retryAfter?: string): ReturnType<typeof answerFailure> =>
    answerFailure({ displayUrl: "https://c/in", status, retryAfter, text: " some\n reason " });
  for (const status of [408, 409, 423, 425, 429, 500, 502, 503])
    t.equal(at(status).isPassing, true, String(status));
  for (const status of [301, 400, 401, 403, 404, 413, 422])
    t.equal(at(status).isPassing, false, String(status));
  t.equal(at(503, "7").retryAfterMs, 7000);
  t.equal(at(503, "Wed, 21 Oct 2026 07:28:00 GMT").retryAfterMs, null);
  t.match(at(413).message, /answers 413: some reason: send fewer records at once with --batch/);
});
